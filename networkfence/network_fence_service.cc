#include "networkfence/network_fence_service.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "networkfence/fence.h"
#include "networkfence/fence_clients.h"
#include "networkfence/list_fences.h"
#include "networkfence/parameters.h"
#include "networkfence/unfence.h"
#include "operation/run_operation.h"
#include "rpc/parameters.h"
#include "rpc/secrets.h"
#include "volume/credentials.h"
#include "volume/patience.h"

namespace addons {
namespace {

namespace pb = ::fence;
using StringMap = google::protobuf::Map<std::string, std::string>;

/// What the four calls have in common.
struct FenceCall {
  FenceParameters parameters;
  FenceTarget target;
  OperationSpec spec;
};

/// The keys of changes to the fences of `ranges` in a cluster; without ranges
/// one for the cluster, for a read. Two entries of config.json may be the same
/// cluster (with two namespaces, say), so its monitors stand for it; a cluster
/// that is not configured fails in the operation. Ranges that overlap have
/// different keys: RangeTurns keeps those apart.
std::vector<std::string> FenceKeys(ConfigStore& config,
                                   const ClusterId& cluster_id,
                                   const std::vector<Cidr>& ranges) {
  std::string cluster = absl::StrCat("fence/", cluster_id.text());
  if (const auto current = config.Current(); current.ok()) {
    if (const auto entry = (*current)->Find(cluster_id); entry.ok()) {
      std::vector<std::string> monitors = (*entry)->monitors;
      std::sort(monitors.begin(), monitors.end());
      cluster = absl::StrCat("fence monitors/", absl::StrJoin(monitors, ","));
    }
  }
  if (ranges.empty()) return {cluster};
  std::vector<std::string> keys;
  keys.reserve(ranges.size());
  for (const Cidr& range : ranges) {
    keys.push_back(absl::StrCat(cluster, "/", range.Text()));
  }
  return keys;
}

/// Validates what all requests share and describes the operation. Asks no
/// cluster.
absl::StatusOr<FenceCall> PrepareCall(ConfigStore& config,
                                      const StringMap& parameters,
                                      const StringMap& secrets,
                                      absl::string_view verb,
                                      const std::vector<Cidr>& ranges = {}) {
  FenceCall call;
  const auto map = TakeParameters(parameters);
  // Only where something is changed: a node that cannot ask for its addresses
  // is not registered at all.
  if (!ranges.empty()) {
    ADDONS_RETURN_IF_ERROR(FenceParameters::CheckKeys(map));
  }
  ADDONS_ASSIGN_OR_RETURN(call.parameters, FenceParameters::Parse(map));
  ADDONS_ASSIGN_OR_RETURN(
      call.target.user,
      UserFromSecrets(TakeSecrets(secrets), SecretSource::kFenceClass));
  call.target.cluster_id = call.parameters.cluster_id;
  call.spec.share = WorkerShare::OfFence(call.target.cluster_id);
  call.spec.keys = FenceKeys(config, call.target.cluster_id, ranges);
  call.spec.verb = std::string(verb);
  call.spec.object = NameOf(call.target);
  call.spec.parameters =
      CallFingerprint(verb, *call.target.user, map, {JoinRanges(ranges)});
  return call;
}

template <typename Request>
absl::StatusOr<std::vector<Cidr>> RangesOf(const Request& request) {
  std::vector<std::string> texts;
  for (const pb::CIDR& cidr : request.cidrs()) texts.push_back(cidr.cidr());
  return ParseRanges(texts);
}

/// What the history says of a call that has not been answered yet. The ranges
/// are part of the verb: fences of others are never the same once more.
HistoryEvent Asked(const FenceCall& call, const std::vector<Cidr>& ranges,
                   const CallContext& rpc_call) {
  HistoryEvent event;
  event.object = call.spec.object;
  event.verb = absl::StrCat(call.spec.verb, " ", JoinRanges(ranges));
  event.user = call.target.user->id;
  event.request = rpc_call.caller.request_id;
  return event;
}

void Fill(const FenceClient& client, pb::GetFenceClientsResponse* response) {
  pb::ClientDetails* const details = response->add_clients();
  details->set_id(client.id);
  for (const Cidr& address : client.addresses) {
    details->add_addresses()->set_cidr(address.Text());
  }
}

}  // namespace

NetworkFenceService::NetworkFenceService(
    Rpc& rpc, OperationTable& operations, ConfigStore& config,
    ClusterProvider& clusters, const FenceOptions& options,
    std::function<void(const FenceTarget&)> asked, EventLog* history)
    : rpc_(rpc),
      operations_(operations),
      environment_{config, clusters, threads_, options} {
  environment_.asked = std::move(asked);
  environment_.history = history;
}

Reply NetworkFenceService::Recorded(HistoryEvent asked, Reply reply) {
  if (environment_.history == nullptr) return reply;
  return std::move(reply).Then(
      [this, asked = std::move(asked)](const absl::Status& status) mutable {
        environment_.history->AddAnswered(std::move(asked), status);
        return status;
      });
}

grpc::ServerUnaryReactor* NetworkFenceService::FenceClusterNetwork(
    grpc::CallbackServerContext* context,
    const pb::FenceClusterNetworkRequest* request,
    pb::FenceClusterNetworkResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(std::vector<Cidr> ranges, RangesOf(*request));
        ADDONS_RETURN_IF_ERROR(CheckNodesCanHave(ranges));
        ADDONS_RETURN_IF_ERROR(CheckWidth(ranges, environment_.options));
        ranges = Merged(std::move(ranges));
        ADDONS_ASSIGN_OR_RETURN(
            FenceCall call,
            PrepareCall(environment_.config, request->parameters(),
                        request->secrets(), "fence", ranges));
        call.spec.action = "fence addresses in";
        HistoryEvent asked = Asked(call, ranges, rpc_call);
        return Recorded(
            std::move(asked),
            RunVerb(operations_, call.spec, rpc_call.caller, environment_,
                    FenceRequest{std::move(call.target), std::move(ranges),
                                 call.parameters},
                    &Fence));
      });
}

grpc::ServerUnaryReactor* NetworkFenceService::UnfenceClusterNetwork(
    grpc::CallbackServerContext* context,
    const pb::UnfenceClusterNetworkRequest* request,
    pb::UnfenceClusterNetworkResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(std::vector<Cidr> ranges, RangesOf(*request));
        ADDONS_ASSIGN_OR_RETURN(
            FenceCall call,
            PrepareCall(environment_.config, request->parameters(),
                        request->secrets(), "unfence", ranges));
        call.spec.action = "unfence addresses in";
        HistoryEvent asked = Asked(call, ranges, rpc_call);
        return Recorded(
            std::move(asked),
            RunVerb(operations_, call.spec, rpc_call.caller, environment_,
                    UnfenceRequest{std::move(call.target), std::move(ranges),
                                   call.parameters},
                    &Unfence));
      });
}

grpc::ServerUnaryReactor* NetworkFenceService::ListClusterFence(
    grpc::CallbackServerContext* context,
    const pb::ListClusterFenceRequest* request,
    pb::ListClusterFenceResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(
            FenceCall call,
            PrepareCall(environment_.config, request->parameters(),
                        request->secrets(), "list fences"));
        call.spec.action = "list the fences of";
        MakeRead(&call.spec);
        auto target =
            std::make_shared<const FenceTarget>(std::move(call.target));
        return RunOperation<std::vector<Cidr>>(
                   operations_, call.spec, rpc_call.caller,
                   [this, target](OperationContext&) {
                     return ListFences(environment_, *target);
                   })
            .Then([response](const absl::StatusOr<std::vector<Cidr>>& ranges) {
              if (!ranges.ok()) return ranges.status();
              for (const Cidr& range : *ranges) {
                response->add_cidrs()->set_cidr(range.Text());
              }
              return absl::OkStatus();
            });
      });
}

grpc::ServerUnaryReactor* NetworkFenceService::GetFenceClients(
    grpc::CallbackServerContext* context,
    const pb::GetFenceClientsRequest* request,
    pb::GetFenceClientsResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(
            FenceCall call,
            PrepareCall(environment_.config, request->parameters(),
                        request->secrets(), "fence clients"));
        auto target =
            std::make_shared<const FenceTarget>(std::move(call.target));
        Caller caller = rpc_call.caller;
        // The operator sets no deadline, and waits in the middle of something
        // else.
        const SteadyTime patience = RealClock().Now() + kFindPatience;
        caller.deadline =
            std::min(caller.deadline.value_or(patience), patience);
        OperationSpec change = call.spec;
        call.spec.action = "find the addresses of this node in";
        MakeRead(&call.spec);
        return RunOperation<FenceClient>(operations_, call.spec, caller,
                                         [this, target](OperationContext&) {
                                           return FindFenceClient(environment_,
                                                                  *target);
                                         })
            .Then([this, change, caller,
                   target](absl::StatusOr<FenceClient> client)
                      -> Later<absl::StatusOr<FenceClient>> {
              if (!client.ok() || !environment_.options.auto_unfence) {
                return client;
              }
              return LiftAutomaticFence(change, caller, target, *client);
            })
            .Then([response](const absl::StatusOr<FenceClient>& client) {
              if (client.ok()) Fill(*client, response);
              return client.status();
            });
      });
}

Later<absl::StatusOr<FenceClient>> NetworkFenceService::LiftAutomaticFence(
    OperationSpec change, const Caller& caller,
    const std::shared_ptr<const FenceTarget>& target,
    const FenceClient& client) {
  change.verb = "lift the automatic fence";
  change.action = "lift the automatic fence of this node in";
  change.keys =
      FenceKeys(environment_.config, target->cluster_id, client.addresses);
  change.parameters = absl::StrCat(change.verb, "\n", change.parameters, "\n",
                                   JoinRanges(client.addresses));
  return RunOperation(operations_, change, caller,
                      [this, target, addresses = client.addresses](
                          OperationContext& operation) {
                        return auto_unfence_.Run(operation, environment_,
                                                 *target, addresses);
                      })
      .Then([target, client](
                const absl::Status& lifted) -> absl::StatusOr<FenceClient> {
        if (!lifted.ok()) {
          Log().warn("automatic fence not lifted cluster={} error={}",
                     Quoted(target->cluster_id.text()),
                     Quoted(lifted.ToString()));
        }
        return client;
      });
}

}  // namespace addons
