// ControllerReclaimSpace through the socket, on a simulated cluster.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "reclaimspace/controller_reclaim_service.h"
#include "tests/rpc/reclaim_call.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kSparsifyCall[] = "rbd_sparsify_with_progress";
constexpr int64_t kObject = int64_t{4} << 20;

class ReclaimServiceTest : public ::testing::Test {
 protected:
  ReclaimServiceTest() { server_.UseRealTime(); }
  void Start() {
    server_.AddPlain();
    server_.a.SetUsage(server_.image, 64, 16);
    server_.Start();
  }
  /// 64 GiB, of which all is zeros: half a minute of work.
  void StartLong() {
    server_.id = server_.pair.AddVolume(server_.a, ReplicationServer::kUuid,
                                        uint64_t{64} << 30);
    server_.a.SetUsage(server_.image, 16384, 16384);
    server_.Start();
  }
  /// Until some of it is done.
  void AwaitWork() {
    const auto limit = std::chrono::steady_clock::now() + seconds(20);
    while (server_.a.UsedObjects(server_.image) > 16300) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit);
      std::this_thread::yield();
    }
  }
  void ExpectCode(const grpc::Status& status, grpc::StatusCode code,
                  const std::string& text = "") {
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(text));
  }

  ReplicationServer server_;
};

TEST_F(ReclaimServiceTest, AnswersUsageBeforeAndAfter) {
  Start();
  const Reclaimed answer = Reclaim(server_);
  ExpectCode(answer.status, grpc::StatusCode::OK);
  EXPECT_EQ(answer.before, 64 * kObject);
  EXPECT_EQ(answer.after, 48 * kObject);
}

TEST_F(ReclaimServiceTest, WhatNoJournalHasIsDoneOnItsNodeAlone) {
  Start();
  Ask ask;
  ask.volume_id = "mongo";
  ask.parameters = {{"clusterID", "site-a"},
                    {"pool", "replicapool"},
                    {"staticVolume", "true"}};
  ExpectCode(Reclaim(server_, ask).status, grpc::StatusCode::UNIMPLEMENTED,
             "a static volume");
  // The handle of a static volume may look like one of ours.
  ask.volume_id = server_.id;
  ExpectCode(Reclaim(server_, ask).status, grpc::StatusCode::UNIMPLEMENTED);
  ask.parameters["staticVolume"] = "perhaps";
  ExpectCode(Reclaim(server_, ask).status, grpc::StatusCode::INVALID_ARGUMENT,
             "'perhaps'");
  ask.parameters["staticVolume"] = "false";
  ExpectCode(Reclaim(server_, ask).status, grpc::StatusCode::OK);
  ask.parameters.clear();
  ask.volume_id = "mig_mons-b7f67366bb43f32e07d8a261a7840da9_image-e0b45b52-x";
  ExpectCode(Reclaim(server_, ask).status, grpc::StatusCode::UNIMPLEMENTED,
             "migrated");
  // Nothing says that this is not one of ours, misspelt.
  ask.volume_id = "mongo";
  ExpectCode(Reclaim(server_, ask).status, grpc::StatusCode::INVALID_ARGUMENT,
             "the handle of a static volume");
}

TEST_F(ReclaimServiceTest, AMisspeltKeyIsRefusedByName) {
  Start();
  Ask ask;
  ask.volume_id = server_.id;
  // What else stands in a volume's attributes is for others.
  ask.parameters = {{"clusterID", "site-a"}, {"pool", "replicapool"}};
  ExpectCode(Reclaim(server_, ask).status, grpc::StatusCode::OK);
  ask.parameters["withSnapshot"] = "true";
  ExpectCode(Reclaim(server_, ask).status, grpc::StatusCode::INVALID_ARGUMENT,
             "is 'withSnapshots' meant?");
}

TEST_F(ReclaimServiceTest, AMissingSecretNamesTheFieldOfTheVolume) {
  Start();
  Ask ask;
  ask.volume_id = server_.id;
  ask.user_key = " ";
  ExpectCode(Reclaim(server_, ask).status, grpc::StatusCode::UNAUTHENTICATED,
             "spec.csi.nodeStageSecretRef of the PersistentVolume");
}

TEST_F(ReclaimServiceTest, AnImageInUseIsOkAndTheLogSaysWhy) {
  Start();
  server_.a.AddWatcher(server_.image, "10.0.0.7:0/1", 4464);
  const Reclaimed answer = Reclaim(server_);
  ExpectCode(answer.status, grpc::StatusCode::OK);
  EXPECT_EQ(answer.before, answer.after);
  EXPECT_EQ(server_.world.CountCalls("a", kSparsifyCall), 0);
  EXPECT_THAT(server_.log(), AllOf(HasSubstr("outcome=in-use"),
                                   HasSubstr("client.4464 at 10.0.0.7:0/1")));
}

TEST_F(ReclaimServiceTest, TheParametersAreTheVolumesAttributes) {
  Start();
  Ask ask;
  ask.volume_id = server_.id;
  ask.parameters = {{"clusterID", "site-a"}, {"sparseSize", "64Ki"}};
  ExpectCode(Reclaim(server_, ask).status, grpc::StatusCode::OK);
  ask.parameters["sparseSize"] = "5000";
  ExpectCode(Reclaim(server_, ask).status, grpc::StatusCode::INVALID_ARGUMENT,
             "sparseSize");
}

TEST_F(ReclaimServiceTest, RetriesJoinAndAllGetTheResult) {
  server_.Hold(kSparsifyCall);
  Start();
  std::vector<std::future<Reclaimed>> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(
        std::async(std::launch::async, [this] { return Reclaim(server_); }));
  }
  server_.AwaitHeld();
  Ask impatient;
  impatient.volume_id = server_.id;
  impatient.deadline = milliseconds(600);
  ExpectCode(Reclaim(server_, impatient).status, grpc::StatusCode::ABORTED,
             "%");
  server_.Release();
  for (auto& call : calls) {
    const Reclaimed answer = call.get();
    ExpectCode(answer.status, grpc::StatusCode::OK);
    EXPECT_EQ(answer.after, 48 * kObject);
  }
  EXPECT_EQ(server_.world.CountCalls("a", kSparsifyCall), 1);
}

TEST_F(ReclaimServiceTest, WorkOutlivesItsCallerAndTheRetryGetsTheKeptResult) {
  server_.Hold(kSparsifyCall);
  Start();
  Ask impatient;
  impatient.volume_id = server_.id;
  impatient.deadline = milliseconds(600);
  ExpectCode(Reclaim(server_, impatient).status, grpc::StatusCode::ABORTED);
  server_.Release();
  while (server_.log().find("outcome=sparsified") == std::string::npos) {
    std::this_thread::yield();
  }
  const Reclaimed answer = Reclaim(server_);
  ExpectCode(answer.status, grpc::StatusCode::OK);
  EXPECT_EQ(answer.before, 64 * kObject);
  EXPECT_EQ(answer.after, 48 * kObject);
  EXPECT_EQ(server_.world.CountCalls("a", kSparsifyCall), 1);
}

TEST_F(ReclaimServiceTest, AFailoverEndsAReclaim) {
  server_.Hold(kSparsifyCall);
  server_.AddMirrored();
  server_.Start();
  Ask ask;
  ask.volume_id = server_.id;
  ask.parameters = {{"withSnapshots", "true"}};
  auto reclaim = std::async(std::launch::async,
                            [&] { return Reclaim(server_, ask).status; });
  server_.AwaitHeld();
  auto demote = std::async(std::launch::async,
                           [&] { return server_.Call("DemoteVolume").status; });
  ExpectCode(reclaim.get(), grpc::StatusCode::ABORTED, "superseded by demote");
  server_.Release();
  ExpectCode(demote.get(), grpc::StatusCode::OK);
  EXPECT_FALSE(server_.a.Info(server_.image).primary);
}

TEST_F(ReclaimServiceTest, TwentyAtOnceAreTwoAtATime) {
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    const std::string uuid =
        absl::StrFormat("5ef79ce1-81e8-439b-8405-35138edf5b%02d", i);
    ids.push_back(server_.pair.AddVolume(server_.a, uuid));
    server_.a.SetUsage(MirroredPair::ImageOf(uuid), 64, 16);
  }
  // The image is opened before the work, and its mark removed after it.
  std::atomic<int> at_once{0};
  std::atomic<int> most{0};
  server_.world.SetCallHook(
      [&](absl::string_view, absl::string_view call, bool) {
        if (call != "rbd_open") return 0;
        const int now = ++at_once;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        return 0;
      },
      [&](absl::string_view, absl::string_view call, bool) {
        if (call == "rados_write_op_omap_rm_keys2") --at_once;
        return 0;
      });
  server_.Start();
  std::vector<std::future<Reclaimed>> calls;
  for (const std::string& id : ids) {
    calls.push_back(std::async(std::launch::async, [this, id] {
      Ask ask;
      ask.volume_id = id;
      ask.deadline = seconds(120);
      return Reclaim(server_, ask);
    }));
  }
  for (auto& call : calls) {
    const Reclaimed answer = call.get();
    ExpectCode(answer.status, grpc::StatusCode::OK);
    EXPECT_EQ(answer.after, 48 * kObject);
  }
  EXPECT_EQ(most, 2);
  server_.world.SetCallHook(nullptr);
}

TEST_F(ReclaimServiceTest, AShutdownEndsItAtOnceWithAborted) {
  StartLong();
  auto reclaim = std::async(std::launch::async,
                            [this] { return Reclaim(server_).status; });
  AwaitWork();
  EXPECT_TRUE(server_.Shutdown(seconds(20)));
  ExpectCode(reclaim.get(), grpc::StatusCode::ABORTED, "shutting down");
  EXPECT_GT(server_.a.UsedObjects(server_.image), 0U);
  EXPECT_FALSE(server_.a.HasLock(server_.image));
}

/// The service with a table of its own, to see and cancel what runs.
class CancelTest : public ReclaimServiceTest {
 protected:
  CancelTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    own_server_ = builder.BuildAndStart();
  }
  ~CancelTest() override {
    own_server_->Shutdown();
    operations_.Drain(seconds(10));
  }

  const TempDir dir_;
  ConfigStore config_{dir_.path()};
  FakeClusterProvider clusters_{server_.world};
  Resolver resolver_{config_, clusters_};
  Rpc rpc_{RealClock()};
  OperationTable operations_{OperationLimits{}, RealClock()};
  LeaseKeeper leases_{server_.world};
  ControllerReclaimService service_{rpc_, operations_, resolver_, leases_};
  std::unique_ptr<grpc::Server> own_server_;
};

TEST_F(CancelTest, AnAdministratorsCancelEndsItForTheOperatorToo) {
  StartLong();
  dir_.Write("config.json",
             R"([{"clusterID": "site-a", "monitors": ["site-a:6789"]}])");
  dir_.Write("cluster-mapping.json", "[]");
  auto reclaim = std::async(std::launch::async, [this] {
    Ask ask;
    ask.volume_id = server_.id;
    return Reclaim(server_, ask, nullptr,
                   own_server_->InProcessChannel(grpc::ChannelArguments()));
  });
  AwaitWork();
  const std::vector<OperationInfo> running = operations_.List();
  ASSERT_EQ(running.size(), 1U);
  EXPECT_EQ(running[0].verb, "sparsify");
  EXPECT_EQ(running[0].total, uint64_t{64} << 30);
  ASSERT_OK(operations_.Cancel(running[0].id));
  const Reclaimed answer = reclaim.get();
  ExpectCode(answer.status, grpc::StatusCode::OK);
  EXPECT_EQ(answer.after, std::nullopt);
  EXPECT_GT(server_.a.UsedObjects(server_.image), 0U);
  EXPECT_FALSE(server_.a.HasLock(server_.image));
  EXPECT_EQ(service_.stats().count(ReclaimOutcome::kStopped), 1U);
}

}  // namespace
}  // namespace addons::testing
