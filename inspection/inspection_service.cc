#include "inspection/inspection_service.h"

#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "inspection/explain.h"
#include "inspection/explain_group.h"
#include "inspection/failover_check.h"
#include "inspection/find_volume.h"
#include "inspection/inspection_service_failover.h"
#include "inspection/named_pool.h"
#include "operation/run_operation.h"
#include "replication/parameters.h"
#include "rpc/parameters.h"
#include "rpc/secrets.h"
#include "rpc/text.h"
#include "rpc/validate.h"
#include "volume/credentials.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

// So an answer stays below the 4 MiB that gRPC takes.
constexpr size_t kFewFindings = 2000;
constexpr size_t kMostOfCheck = 100000;

/// What is asked: volumes and groups, or a pool, or, where neither is named,
/// all.
struct CheckRequest {
  std::vector<VolumeTarget> volumes;
  std::vector<GroupHandle> groups;
  NamedPool pool;
  std::optional<std::chrono::minutes> interval;
  size_t most_findings = kFewFindings;

  bool Named() const { return !volumes.empty() || !groups.empty(); }
};

using Parameters = google::protobuf::Map<std::string, std::string>;

/// How often the primary takes mirror snapshots, if the caller says so.
absl::StatusOr<std::optional<std::chrono::minutes>> IntervalOf(
    const Parameters& parameters) {
  ADDONS_ASSIGN_OR_RETURN(
      const ReplicationParameters parsed,
      ReplicationParameters::Parse(TakeParameters(parameters)));
  if (!parsed.schedule.has_value()) return std::nullopt;
  return parsed.schedule->interval;
}

absl::StatusOr<CheckRequest> Parse(
    const admin_pb::CheckFailoverRequest& request) {
  const bool named =
      !request.volume_ids().empty() || !request.group_ids().empty();
  const int ways = (named ? 1 : 0) + (request.pool().empty() ? 0 : 1) +
                   (request.all() ? 1 : 0);
  if (ways != 1) {
    return InvalidField(
        "volume_ids", ways == 0 ? "is missing, and so are group_ids, pool and "
                                  "all"
                                : "and group_ids, pool and all exclude each "
                                  "other");
  }
  CheckRequest check;
  if (request.most_findings() > 0) {
    check.most_findings =
        std::min<size_t>(request.most_findings(), kMostOfCheck);
  }
  ADDONS_ASSIGN_OR_RETURN(check.interval, IntervalOf(request.parameters()));
  ADDONS_ASSIGN_OR_RETURN(check.pool.user,
                          UserFromSecrets(TakeSecrets(request.secrets())));
  check.pool.cluster_id = ClusterId(request.cluster_id());
  check.pool.pool = request.pool();
  for (const std::string& id : request.volume_ids()) {
    VolumeHandle volume_id(id);
    ADDONS_RETURN_IF_ERROR(volume_id.id().status());
    check.volumes.push_back({std::move(volume_id), check.pool.user});
  }
  for (const std::string& id : request.group_ids()) {
    GroupHandle group_id(id);
    ADDONS_RETURN_IF_ERROR(group_id.id().status());
    check.groups.push_back(std::move(group_id));
  }
  return check;
}

absl::StatusOr<FailoverFindings> CheckNamed(OperationContext& operation,
                                            ReplicationEnvironment& environment,
                                            const CheckRequest& check) {
  FailoverFindings found;
  ADDONS_ASSIGN_OR_RETURN(
      found.volumes,
      CheckFailover(operation, environment, check.volumes, check.interval));
  ADDONS_ASSIGN_OR_RETURN(
      FailoverFindings of_groups,
      CheckFailoverOfGroups(operation, environment, check.groups,
                            check.pool.user, check.interval));
  std::move(of_groups.volumes.begin(), of_groups.volumes.end(),
            std::back_inserter(found.volumes));
  found.groups = std::move(of_groups.groups);
  return found;
}

/// A pool, or all.
absl::StatusOr<FailoverFindings> CheckPools(OperationContext& operation,
                                            ReplicationEnvironment& environment,
                                            ConfigStore& config,
                                            ClusterProvider& clusters,
                                            const std::vector<ClusterId>& home,
                                            const CheckRequest& check) {
  FailoverFindings found;
  if (!check.pool.pool.empty()) {
    operation.Step("finding the pool");
    ADDONS_ASSIGN_OR_RETURN(const ResolvedPlace place,
                            FindPool(config, clusters, home, check.pool));
    ADDONS_ASSIGN_OR_RETURN(
        found.volumes,
        CheckFailoverOfPool(operation, environment, place, check.interval));
    return found;
  }
  operation.Step("finding the pools");
  ADDONS_ASSIGN_OR_RETURN(
      MirroredPools pools,
      FindMirroredPools(config, clusters, home, check.pool.cluster_id,
                        check.pool.user));
  ADDONS_ASSIGN_OR_RETURN(
      found, CheckFailoverOfPools(operation, environment, pools.places,
                                  check.interval));
  found.unseen.insert(found.unseen.begin(), pools.unseen.begin(),
                      pools.unseen.end());
  return found;
}

/// One question of this user, which reads.
void MakeQuestion(const CephUser& user, const Parameters& parameters,
                  const std::vector<std::string>& objects,
                  OperationSpec* spec) {
  spec->parameters =
      CallFingerprint(spec->verb, user, TakeParameters(parameters), objects);
  MakeRead(spec);
}

OperationSpec SpecOf(const CheckRequest& check,
                     const admin_pb::CheckFailoverRequest& request) {
  OperationSpec spec;
  spec.verb = "check failover";
  spec.action = "check the failover of";
  std::vector<std::string> objects;
  for (const VolumeTarget& target : check.volumes) {
    objects.push_back(absl::StrCat("volume '", target.volume_id.text(), "'"));
  }
  for (const GroupHandle& group : check.groups) {
    objects.push_back(absl::StrCat("volume group '", group.text(), "'"));
  }
  if (objects.empty()) {
    spec.share = WorkerShare::OfCluster(check.pool.cluster_id);
    spec.object = check.pool.pool.empty() ? "all mirrored images of this site"
                                          : Describe(check.pool);
    objects = {spec.object, check.pool.cluster_id.text()};
  } else {
    spec.share = WorkerShare::OfCluster(
        check.volumes.empty()
            ? check.groups.front().id()->cluster_id
            : check.volumes.front().volume_id.id()->cluster_id);
    spec.object = objects.size() == 1
                      ? objects.front()
                      : absl::StrCat(objects.size(), " objects, of which ",
                                     objects.front(), " is the first");
  }
  MakeQuestion(*check.pool.user, request.parameters(), objects, &spec);
  return spec;
}

/// What runs on `object` in this daemon, but for questions like this one.
template <typename Response>
void AddOperations(const OperationTable& operations, const std::string& object,
                   Response* response) {
  for (const OperationInfo& info : operations.List()) {
    if (info.lane == Lane::kRead || info.object != object) continue;
    admin_pb::Fact& fact = *response->add_facts();
    fact.set_topic("daemons");
    fact.set_name(absl::StrCat("operation ", info.id));
    fact.set_value(absl::StrCat(
        info.verb, info.running ? ", " : ", queued ", info.step, ", for ",
        std::chrono::duration_cast<std::chrono::seconds>(info.age).count(),
        " s, request ", info.request_id));
  }
}

template <typename Response>
void Fill(const Explanation& explained, Response* response) {
  for (const Fact& fact : explained.facts) {
    admin_pb::Fact& filled = *response->add_facts();
    filled.set_topic(fact.topic);
    filled.set_name(fact.name);
    filled.set_value(CleanLine(fact.value, kMaxTextBytes));
  }
  for (const std::string& unseen : explained.unseen) {
    response->add_unseen(CleanLine(unseen, kMaxTextBytes));
  }
  for (const VerbForecast& verb : explained.forecasts) {
    FillForecast(verb.forecast, verb.verb, verb.force,
                 response->add_forecasts());
  }
}

}  // namespace

InspectionService::InspectionService(Rpc& rpc, OperationTable& operations,
                                     ConfigStore& config,
                                     ClusterProvider& clusters,
                                     ReplicationEnvironment& environment,
                                     std::vector<ClusterId> home,
                                     std::string instance_id)
    : rpc_(rpc),
      operations_(operations),
      config_(config),
      clusters_(clusters),
      environment_(environment),
      home_(std::move(home)),
      instance_id_(std::move(instance_id)) {}

grpc::ServerUnaryReactor* InspectionService::CheckFailover(
    grpc::CallbackServerContext* context,
    const admin_pb::CheckFailoverRequest* request,
    admin_pb::CheckFailoverResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(CheckRequest parsed, Parse(*request));
        const auto check =
            std::make_shared<const CheckRequest>(std::move(parsed));
        return RunOperation<FailoverFindings>(
                   operations_, SpecOf(*check, *request), call.caller,
                   [this, check](OperationContext& operation) {
                     return check->Named()
                                ? CheckNamed(operation, environment_, *check)
                                : CheckPools(operation, environment_, config_,
                                             clusters_, home_, *check);
                   })
            .Then([response, check](absl::StatusOr<FailoverFindings> found) {
              if (!found.ok()) return found.status();
              FillFindings(*std::move(found), check->most_findings, response);
              return absl::OkStatus();
            });
      });
}

grpc::ServerUnaryReactor* InspectionService::ExplainVolume(
    grpc::CallbackServerContext* context,
    const admin_pb::ExplainVolumeRequest* request,
    admin_pb::ExplainVolumeResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        ADDONS_RETURN_IF_ERROR(Require("volume_id", request->volume_id()));
        VolumeTarget target{VolumeHandle(request->volume_id()), nullptr};
        ADDONS_ASSIGN_OR_RETURN(const VolumeId id, target.volume_id.id());
        ADDONS_ASSIGN_OR_RETURN(const auto interval,
                                IntervalOf(request->parameters()));
        ADDONS_ASSIGN_OR_RETURN(
            target.user, UserFromSecrets(TakeSecrets(request->secrets())));
        OperationSpec spec;
        spec.share = WorkerShare::OfCluster(id.cluster_id);
        spec.verb = "explain";
        spec.object = absl::StrCat("volume '", request->volume_id(), "'");
        MakeQuestion(*target.user, request->parameters(), {spec.object}, &spec);
        return RunOperation<Explanation>(
                   operations_, spec, call.caller,
                   [this, target, interval](OperationContext& operation) {
                     return addons::ExplainVolume(operation, environment_,
                                                  target, interval);
                   })
            .Then([this, response, object = spec.object](
                      const absl::StatusOr<Explanation>& explained) {
              if (!explained.ok()) return explained.status();
              Fill(*explained, response);
              AddOperations(operations_, object, response);
              return absl::OkStatus();
            });
      });
}

grpc::ServerUnaryReactor* InspectionService::ExplainGroup(
    grpc::CallbackServerContext* context,
    const admin_pb::ExplainGroupRequest* request,
    admin_pb::ExplainGroupResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        ADDONS_RETURN_IF_ERROR(Require("group_id", request->group_id()));
        const GroupHandle group_id(request->group_id());
        ADDONS_ASSIGN_OR_RETURN(const VolumeId id, group_id.id());
        ADDONS_ASSIGN_OR_RETURN(const auto interval,
                                IntervalOf(request->parameters()));
        ADDONS_ASSIGN_OR_RETURN(
            const CephUserRef user,
            UserFromSecrets(TakeSecrets(request->secrets())));
        OperationSpec spec;
        spec.share = WorkerShare::OfCluster(id.cluster_id);
        spec.verb = "explain";
        spec.object = absl::StrCat("volume group '", group_id.text(), "'");
        MakeQuestion(*user, request->parameters(), {spec.object}, &spec);
        return RunOperation<GroupExplanation>(
                   operations_, spec, call.caller,
                   [this, group_id, user,
                    interval](OperationContext& operation) {
                     return addons::ExplainGroup(operation, environment_,
                                                 group_id, user, interval);
                   })
            .Then([this, response, object = spec.object](
                      const absl::StatusOr<GroupExplanation>& explained) {
              if (!explained.ok()) return explained.status();
              Fill(explained->group, response);
              for (const FailoverFinding& member : explained->members) {
                FillFinding(member, response->add_members());
              }
              AddOperations(operations_, object, response);
              return absl::OkStatus();
            });
      });
}

grpc::ServerUnaryReactor* InspectionService::FindVolume(
    grpc::CallbackServerContext* context,
    const admin_pb::FindVolumeRequest* request,
    admin_pb::FindVolumeResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        ADDONS_RETURN_IF_ERROR(Require("name", request->name()));
        ADDONS_ASSIGN_OR_RETURN(
            VolumeName name,
            VolumeName::Parse(request->name(), request->pool()));
        ADDONS_ASSIGN_OR_RETURN(
            name.user, UserFromSecrets(TakeSecrets(request->secrets())));
        name.cluster_id = ClusterId(request->cluster_id());
        OperationSpec spec;
        spec.share = WorkerShare::OfCluster(name.cluster_id);
        spec.verb = "find";
        spec.object = absl::StrCat("volume '", request->name(), "'");
        MakeQuestion(*name.user, {},
                     {spec.object, request->pool(), request->cluster_id()},
                     &spec);
        return RunOperation<FoundVolume>(
                   operations_, spec, call.caller,
                   [this, name](OperationContext& operation) {
                     operation.Step("looking for the name");
                     return addons::FindVolume(config_, clusters_, home_,
                                               instance_id_, name);
                   })
            .Then([response](const absl::StatusOr<FoundVolume>& found) {
              if (!found.ok()) return found.status();
              response->set_volume_id(found->volume_id);
              response->set_cluster_id(found->cluster_id.text());
              response->set_image(found->image);
              for (const std::string& place : found->refused_places) {
                response->add_refused_places(CleanLine(place, kMaxTextBytes));
              }
              return absl::OkStatus();
            });
      });
}

}  // namespace addons
