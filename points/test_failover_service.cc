#include "points/test_failover_service.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "inspection/named_pool.h"
#include "operation/run_operation.h"
#include "points/long_read.h"
#include "points/test_failover.h"
#include "replication/replication_service_call.h"
#include "rpc/secrets.h"
#include "rpc/text.h"
#include "volume/credentials.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

struct FoundTests {
  std::vector<ListedTest> tests;
  std::vector<std::string> unseen;
};

admin_pb::TestFailover::State StateOf(ListedTest::State state) {
  switch (state) {
    case ListedTest::State::kMaking:
      return admin_pb::TestFailover::MAKING;
    case ListedTest::State::kReady:
      return admin_pb::TestFailover::READY;
    case ListedTest::State::kGone:
      break;
  }
  return admin_pb::TestFailover::GONE;
}

void Fill(const ResolvedPlace& place, const StartedTest& test,
          ListedTest::State state, const std::string& driver_name,
          admin_pb::TestFailover* filled) {
  filled->set_driver_name(driver_name);
  filled->set_volume_id(CleanLine(test.volume_id, kMaxTextBytes));
  filled->set_volume_name(CleanLine(test.request_name(), kMaxTextBytes));
  filled->set_image(CleanLine(place.Spec(test.image()), kMaxTextBytes));
  filled->set_cluster_id(place.cluster_id.text());
  filled->set_pool(CleanLine(place.pool_name, kMaxTextBytes));
  filled->set_bytes(test.bytes);
  filled->set_source_volume_id(CleanLine(test.source, kMaxTextBytes));
  filled->set_source_image(
      CleanLine(place.Spec(test.source_image), kMaxTextBytes));
  filled->set_point(CleanLine(test.point, kMaxTextBytes));
  filled->set_digested_time(test.made);
  filled->set_began(test.began);
  filled->set_state(StateOf(state));
}

}  // namespace

TestFailoverService::TestFailoverService(Rpc& rpc, OperationTable& operations,
                                         ReplicationEnvironment& environment,
                                         ClusterProvider& clusters,
                                         std::vector<ClusterId> home,
                                         std::string driver_name)
    : rpc_(rpc),
      operations_(operations),
      environment_(environment),
      clusters_(clusters),
      home_(std::move(home)),
      driver_name_(std::move(driver_name)) {}

grpc::ServerUnaryReactor* TestFailoverService::StartTest(
    grpc::CallbackServerContext* context,
    const admin_pb::StartTestRequest* request,
    admin_pb::StartTestResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall call,
            PrepareVolumeCall(
                environment_.resolver, *request, "start test",
                {{"name", request->name()},
                 {"rate", absl::StrCat(request->bytes_per_second())}}));
        MakeLongRead("start a test of", request->volume_id(), &call.spec);
        const TestFailoverOptions options{request->name(),
                                          request->bytes_per_second()};
        return RunOperation<StartedFailover>(
                   operations_, call.spec, rpc_call.caller,
                   [this, target = call.target,
                    options](OperationContext& operation) {
                     return addons::StartTest(operation, environment_, target,
                                              options);
                   })
            .Then([this, call, request_id = rpc_call.caller.request_id,
                   response](const absl::StatusOr<StartedFailover>& started) {
              RecordAnswer(
                  environment_.history, call, request_id, started.status(),
                  started.ok() ? absl::StrCat("point ", started->test.point,
                                              ": ", started->test.volume_id)
                               : "");
              if (!started.ok()) return started.status();
              Fill(started->place, started->test, ListedTest::State::kReady,
                   driver_name_, response->mutable_test());
              response->set_bytes_read(started->proof.found.bytes_read);
              response->set_not_cleared_bytes(
                  started->proof.found.not_cleared_bytes);
              return absl::OkStatus();
            });
      });
}

grpc::ServerUnaryReactor* TestFailoverService::ListTests(
    grpc::CallbackServerContext* context,
    const admin_pb::ListTestsRequest* request,
    admin_pb::ListTestsResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        const ClusterId cluster_id(request->cluster_id());
        ADDONS_ASSIGN_OR_RETURN(
            const CephUserRef user,
            UserFromSecrets(TakeSecrets(request->secrets())));
        OperationSpec spec;
        spec.share = WorkerShare::OfCluster(cluster_id);
        spec.verb = "list tests";
        spec.object = "the mirrored pools";
        spec.parameters =
            CallFingerprint(spec.verb, *user, {}, {cluster_id.text()});
        MakeRead(&spec);
        return RunOperation<FoundTests>(
                   operations_, spec, rpc_call.caller,
                   [this, cluster_id, user](OperationContext& operation)
                       -> absl::StatusOr<FoundTests> {
                     operation.Step("looking for tests");
                     ADDONS_ASSIGN_OR_RETURN(
                         MirroredPools pools,
                         FindMirroredPools(environment_.config, clusters_,
                                           home_, cluster_id, user));
                     FoundTests found;
                     found.unseen = std::move(pools.unseen);
                     ADDONS_ASSIGN_OR_RETURN(
                         found.tests, addons::ListTests(operation, pools.places,
                                                        &found.unseen));
                     return found;
                   })
            .Then([this, response](const absl::StatusOr<FoundTests>& found) {
              if (!found.ok()) return found.status();
              for (const ListedTest& test : found->tests) {
                Fill(test.place, test.test, test.state, driver_name_,
                     response->add_tests());
              }
              for (const std::string& unseen : found->unseen) {
                response->add_unseen(CleanLine(unseen, kMaxTextBytes));
              }
              return absl::OkStatus();
            });
      });
}

/// A volume that the journal does not know any more may have a test all the
/// same.
absl::StatusOr<StartedTest> TestFailoverService::Stop(
    OperationContext& operation, const VolumeTarget& target) {
  auto stopped = addons::StopTest(operation, environment_, target);
  if (!absl::IsNotFound(stopped.status())) return stopped;
  ADDONS_ASSIGN_OR_RETURN(const VolumeId id, target.volume_id.id());
  ADDONS_ASSIGN_OR_RETURN(const MirroredPools pools,
                          FindMirroredPools(environment_.config, clusters_,
                                            home_, ClusterId(), target.user));
  for (ResolvedPlace place : pools.places) {
    place.uuid = id.uuid;
    ADDONS_ASSIGN_OR_RETURN(StartedTest there,
                            StopTestAt(operation, environment_, place));
    if (!there.uuid.empty()) return there;
  }
  return stopped;
}

grpc::ServerUnaryReactor* TestFailoverService::StopTest(
    grpc::CallbackServerContext* context,
    const admin_pb::StopTestRequest* request,
    admin_pb::StopTestResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall call,
            PrepareVolumeCall(environment_.resolver, *request, "stop test"));
        // The removal of a large image takes long, and no verb waits for it.
        call.spec.keys = {absl::StrCat("test of ", request->volume_id())};
        call.spec.lane = Lane::kBulk;
        call.spec.supersedes = false;
        call.spec.action = "stop the test of";
        return RunOperation<StartedTest>(
                   operations_, call.spec, rpc_call.caller,
                   [this, target = call.target](OperationContext& operation) {
                     return Stop(operation, target);
                   })
            .Then([this, call, request_id = rpc_call.caller.request_id,
                   response](const absl::StatusOr<StartedTest>& stopped) {
              RecordAnswer(environment_.history, call, request_id,
                           stopped.status(),
                           stopped.ok() ? stopped->volume_id : "");
              if (!stopped.ok()) return stopped.status();
              response->set_removed(!stopped->uuid.empty());
              response->set_volume_id(
                  CleanLine(stopped->volume_id, kMaxTextBytes));
              return absl::OkStatus();
            });
      });
}

}  // namespace addons
