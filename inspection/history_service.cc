#include "inspection/history_service.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "history/store.h"
#include "inspection/named_pool.h"
#include "operation/run_operation.h"
#include "rpc/secrets.h"
#include "rpc/text.h"
#include "rpc/validate.h"
#include "volume/credentials.h"
#include "volume/patience.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

// So an answer stays below the 4 MiB that gRPC takes.
constexpr uint32_t kMostEvents = 2000;
constexpr uint32_t kEventsByDefault = 100;
constexpr size_t kMostShown = 1200;  // bytes of a text
constexpr std::chrono::milliseconds kWritingPoll{50};

void Fill(const HistoryFound& found, const HistoryService::NameOf& name_of,
          admin_pb::ListHistoryResponse* response) {
  for (const HistoryEvent& event : found.events) {
    admin_pb::HistoryEvent& filled = *response->add_events();
    const auto shown = [](const std::string& text) {
      return CleanLine(text, kMostShown);
    };
    filled.set_time(absl::ToUnixMillis(event.time));
    filled.set_until(absl::ToUnixMillis(event.until));
    filled.set_times(event.times);
    filled.set_object(shown(event.object));
    filled.set_image(shown(event.image));
    filled.set_verb(shown(event.verb));
    filled.set_user(shown(event.user));
    filled.set_request(shown(event.request));
    filled.set_code(shown(event.code));
    filled.set_from(shown(event.from));
    filled.set_to(shown(event.to));
    filled.set_text(shown(event.text));
    filled.set_daemon(shown(event.daemon));
    filled.set_name(shown(name_of(event.object)));
  }
  response->set_more(found.more);
  response->set_unreadable(static_cast<uint32_t>(found.unreadable));
}

/// Who asks right after a call is told of that call.
absl::Status AwaitWritten(OperationContext& context, const EventLog& log,
                          const Cluster& cluster) {
  const SteadyTime until = context.DeadlineWithin(EventLog::kSoon);
  context.Step("writing what happened last");
  while (log.IsOnItsWay(cluster.fsid()) && context.clock().Now() < until) {
    ADDONS_RETURN_IF_ERROR(context.SleepFor(kWritingPoll));
  }
  return absl::OkStatus();
}

}  // namespace

/// A volume, or a group, or else a pool.
struct HistoryService::Asked {
  std::optional<VolumeHandle> volume;
  std::optional<GroupHandle> group;
  NamedPool pool;
  HistoryQuery query;

  const CephUserRef& user() const { return pool.user; }
  std::string Describe() const {
    if (volume.has_value())
      return absl::StrCat("volume '", volume->text(), "'");
    if (group.has_value()) {
      return absl::StrCat("volume group '", group->text(), "'");
    }
    return addons::Describe(pool);
  }
};

HistoryService::HistoryService(Rpc& rpc, OperationTable& operations,
                               Resolver& resolver, ConfigStore& config,
                               ClusterProvider& clusters, const EventLog& log,
                               std::vector<ClusterId> home, NameSource names)
    : rpc_(rpc),
      operations_(operations),
      resolver_(resolver),
      config_(config),
      clusters_(clusters),
      log_(log),
      home_(std::move(home)),
      names_(std::move(names)) {}

absl::StatusOr<ResolvedPlace> HistoryService::Find(OperationContext& context,
                                                   const Asked& asked) {
  const SteadyTime deadline = context.DeadlineWithin(kFindPatience);
  if (asked.volume.has_value()) {
    context.Step("finding the volume");
    return resolver_.Resolve(*asked.volume, asked.user(), Access::kRead,
                             deadline);
  }
  if (asked.group.has_value()) {
    context.Step("finding the group");
    return resolver_.ResolveGroup(*asked.group, asked.user(), Access::kRead,
                                  deadline);
  }
  context.Step("finding the pool");
  return FindPool(config_, clusters_, home_, asked.pool);
}

grpc::ServerUnaryReactor* HistoryService::ListHistory(
    grpc::CallbackServerContext* context,
    const admin_pb::ListHistoryRequest* request,
    admin_pb::ListHistoryResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        auto asked = std::make_shared<Asked>();
        if (!request->volume_id().empty()) {
          asked->volume.emplace(request->volume_id());
          asked->query.objects.insert(request->volume_id());
          ADDONS_ASSIGN_OR_RETURN(const VolumeId id, asked->volume->id());
          asked->query.uuid = id.uuid;
        }
        if (!request->group_id().empty()) {
          asked->group.emplace(request->group_id());
          asked->query.objects.insert(request->group_id());
          ADDONS_ASSIGN_OR_RETURN(const VolumeId id, asked->group->id());
          asked->query.uuid = id.uuid;
        }
        const int named = static_cast<int>(asked->volume.has_value()) +
                          static_cast<int>(asked->group.has_value()) +
                          static_cast<int>(!request->pool().empty());
        if (named != 1) {
          return InvalidField("volume_id",
                              "or group_id or pool: name one of them");
        }
        asked->pool.cluster_id = ClusterId(request->cluster_id());
        asked->pool.pool = request->pool();
        if (request->since() > 0) {
          asked->query.since = absl::FromUnixSeconds(request->since());
        }
        asked->query.most = std::min(
            request->limit() == 0 ? kEventsByDefault : request->limit(),
            kMostEvents);
        ADDONS_ASSIGN_OR_RETURN(
            asked->pool.user, UserFromSecrets(TakeSecrets(request->secrets())));
        OperationSpec spec;
        if (asked->volume.has_value()) {
          ADDONS_ASSIGN_OR_RETURN(const OperationKey key,
                                  resolver_.KeyOfVolume(*asked->volume));
          spec.share = WorkerShare::OfCluster(key.cluster_id);
        } else if (asked->group.has_value()) {
          ADDONS_ASSIGN_OR_RETURN(const OperationKey key,
                                  resolver_.KeyOfGroup(*asked->group));
          spec.share = WorkerShare::OfCluster(key.cluster_id);
        } else {
          spec.share = WorkerShare::OfCluster(asked->pool.cluster_id);
        }
        spec.verb = "history";
        spec.action = "read the history of";
        spec.object = asked->Describe();
        spec.parameters =
            CallFingerprint(spec.verb, *asked->user(), {},
                            {spec.object, absl::StrCat(request->since()),
                             absl::StrCat(asked->query.most)});
        MakeRead(&spec);
        return RunOperation<HistoryFound>(
                   operations_, spec, call.caller,
                   [this, asked](OperationContext& operation)
                       -> absl::StatusOr<HistoryFound> {
                     ADDONS_ASSIGN_OR_RETURN(const ResolvedPlace place,
                                             Find(operation, *asked));
                     ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                                             place.OpenPool(Access::kRead));
                     ADDONS_RETURN_IF_ERROR(
                         AwaitWritten(operation, log_, *place.cluster));
                     operation.Step("reading the history");
                     return ReadHistory(*pool, asked->query);
                   })
            .Then([this, response](const absl::StatusOr<HistoryFound>& found) {
              if (found.ok()) Fill(*found, names_(), response);
              return found.status();
            });
      });
}

}  // namespace addons
