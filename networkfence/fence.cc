#include "networkfence/fence.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/blocklist_commands.h"
#include "networkfence/auto_unfence.h"
#include "networkfence/extend_expiry.h"
#include "networkfence/fence_view.h"
#include "networkfence/find_services.h"

namespace addons {
namespace {

class Fencing {
 public:
  Fencing(OperationContext& context, FenceEnvironment& environment,
          const FenceRequest& request, std::shared_ptr<Cluster> cluster)
      : context_(context),
        environment_(environment),
        request_(request),
        cluster_(std::move(cluster)) {}

  absl::Status Run() {
    context_.Step("looking at the blocklist");
    ADDONS_ASSIGN_OR_RETURN(const FenceRounds::View looked,
                            environment_.rounds.Look(cluster_));
    const FenceView& before = *looked;
    if (!before.list.has_ranges) return NoRangeBlocklists();
    before.WarnOfUnreadable(request_.target.cluster_id);
    ADDONS_RETURN_IF_ERROR(CheckServices(before));
    ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
    const absl::Status status = Change(before);
    return status.ok() ? status : AfterFailure(status);
  }

 private:
  std::chrono::seconds expiry() const {
    return AutoUnfence::NotAutomatic(request_.parameters.expiry);
  }

  /// What is fenced already is not looked at: it would be cut off already, and
  /// a repeated request must not fail because a node came back.
  absl::Status CheckServices(const FenceView& before) {
    std::vector<Cidr> fresh;
    for (const Cidr& range : request_.ranges) {
      if (!before.IsFenced(range)) fresh.push_back(range);
    }
    if (fresh.empty() || request_.parameters.allow_service_clients) {
      return absl::OkStatus();
    }
    context_.Step("looking for services in the ranges");
    ADDONS_ASSIGN_OR_RETURN(
        const FenceRounds::Services services,
        environment_.rounds.LookForServices(
            environment_.threads, cluster_, context_.clock().Now(),
            environment_.options.services_patience));
    for (const std::string& unknown : services->unknown) {
      Log().warn("not checked before fencing cluster={} {}",
                 Quoted(request_.target.cluster_id.text()), Quoted(unknown));
    }
    const std::vector<std::string> alive = Covered(*services, fresh);
    if (alive.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "Failed to fence ", JoinRanges(fresh), " in cluster '",
        request_.target.cluster_id.text(),
        "': services are alive there: ", absl::StrJoin(alive, ", "),
        ". Stop them, wait until Ceph sees that they are down, or set the "
        "parameter allowServiceClients: \"true\" to cut them off"));
  }

  absl::Status Change(const FenceView& before) {
    context_.Step("adding entries");
    ADDONS_RETURN_IF_ERROR(
        AdoptHelpers(*cluster_, before.list, request_.ranges, expiry()));
    // Also those that are there: with this change the map's time becomes the
    // present, and how long their entries last can be told.
    std::vector<BlocklistKey> keys;
    for (const Cidr& range : request_.ranges) keys.push_back(RangeKey(range));
    const absl::Status added =
        FirstError(AddEntries(*cluster_, keys, expiry()));

    context_.Step("reading back");
    ADDONS_ASSIGN_OR_RETURN(
        const FenceRounds::AfterChange after,
        environment_.rounds.ReadBack(environment_.threads, cluster_,
                                     environment_.options.barrier_patience));
    FenceRounds::View view = after.view;
    std::vector<Cidr> early;
    for (const Cidr& range : request_.ranges) {
      if (view->list.FindRange(range) != nullptr &&
          !view->InForce(range, expiry())) {
        early.push_back(range);
      }
    }
    if (!early.empty()) {
      ADDONS_RETURN_IF_ERROR(ExtendEntries(context_, environment_.rounds,
                                           cluster_, early, expiry()));
      ADDONS_ASSIGN_OR_RETURN(view, environment_.rounds.Look(cluster_));
    }
    ADDONS_RETURN_IF_ERROR(StandBeside(&view));
    // What is in the list counts, not what the commands answered: the answer
    // may have been lost.
    for (const Cidr& range : request_.ranges) {
      if (view->InForce(range, expiry())) continue;
      ADDONS_RETURN_IF_ERROR(added);
      return absl::UnavailableError(
          absl::StrCat("the entry of ", range.Text(),
                       " is not in the blocklist, or ends too early; "
                       "somebody else may be changing it"));
    }
    context_.Step("removing helper entries");
    ADDONS_RETURN_IF_ERROR(
        RemoveHelpers(*cluster_, view->list, request_.ranges));
    // Entries that came later are not known to all OSDs by that.
    return view == after.view ? TellSilent(after.silent) : Spread();
  }

  /// An entry that was there before may be ceph-csi's automatic fence, which is
  /// lifted when the node is back. Then this request gets an entry of its own
  /// beside it: the one-address form, which nobody lifts unasked. One that is
  /// there and ends too early is replaced while the automatic one covers.
  absl::Status StandBeside(FenceRounds::View* view) {
    const std::vector<Cidr> alone = WithoutEntryBeside(**view);
    if (alone.empty()) return absl::OkStatus();
    std::vector<BlocklistKey> early;
    std::vector<BlocklistKey> missing;
    for (const Cidr& range : alone) {
      const bool there = (*view)->list.FindAddress(range.address()) != nullptr;
      (there ? early : missing).push_back(AddressKey(range.address()));
    }
    ADDONS_RETURN_IF_ERROR(
        FirstError(AddEntries(*cluster_, missing, expiry())));
    ADDONS_RETURN_IF_ERROR(ReplaceEntries(*cluster_, early, expiry()));
    ADDONS_ASSIGN_OR_RETURN(*view, environment_.rounds.Look(cluster_));
    const std::vector<Cidr> left = WithoutEntryBeside(**view);
    if (left.empty()) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat(
        "the entry beside the automatic fence of ", left.front().Text(),
        " is not in the blocklist, or ends too early; somebody "
        "else may be changing it"));
  }

  /// Those in force by an entry that may be automatic, and by no other one that
  /// lasts.
  std::vector<Cidr> WithoutEntryBeside(const FenceView& view) const {
    std::vector<Cidr> alone;
    for (const Cidr& range : request_.ranges) {
      if (!range.IsSingle() || !view.InForce(range, expiry())) continue;
      const BlocklistEntry* const beside =
          view.list.FindAddress(range.address());
      if (beside != nullptr && view.LastsFor(*beside, expiry())) continue;
      const absl::Duration left =
          *view.list.FindRange(range)->until - view.map.modified;
      const absl::Duration slack = absl::FromChrono(AutoUnfence::kExpirySlack);
      const bool just_made =
          absl::AbsDuration(left - absl::FromChrono(expiry())) <= slack;
      if (just_made || !AutoUnfence::MayBeAutomatic(left)) continue;
      alone.push_back(range);
    }
    return alone;
  }

  absl::Status Spread() {
    context_.Step("waiting for the OSDs to know it");
    return TellSilent(environment_.rounds.Spread(
        environment_.threads, cluster_, environment_.options.barrier_patience));
  }

  absl::Status TellSilent(const FenceRounds::Silent& spread) {
    ADDONS_RETURN_IF_ERROR(spread.status());
    const std::vector<std::string>& silent = *spread;
    if (silent.empty()) {
      Log().info("fenced cluster={} ranges={}; all OSDs asked know it",
                 Quoted(request_.target.cluster_id.text()),
                 Quoted(JoinRanges(request_.ranges)));
    } else {
      Log().warn(
          "fenced cluster={} ranges={}; OSDs that did not answer learn of it "
          "when they do: {}",
          Quoted(request_.target.cluster_id.text()),
          Quoted(JoinRanges(request_.ranges)),
          Quoted(absl::StrJoin(silent, "; ")));
    }
    return absl::OkStatus();
  }

  /// `status` with what has been reached all the same.
  absl::Status AfterFailure(const absl::Status& status) {
    std::string state = "which ranges are in force is not known";
    if (const auto view = environment_.rounds.Look(cluster_); view.ok()) {
      std::vector<Cidr> in_force;
      std::vector<Cidr> missing;
      for (const Cidr& range : request_.ranges) {
        ((*view)->InForce(range, expiry()) ? in_force : missing)
            .push_back(range);
      }
      state = absl::StrCat(
          "in force: ", in_force.empty() ? "none" : JoinRanges(in_force),
          "; not in force, or for too short a time: ",
          missing.empty() ? "none" : JoinRanges(missing));
    }
    return Annotate(status, absl::StrCat("Failed to fence in cluster '",
                                         request_.target.cluster_id.text(),
                                         "' (", state, ")"));
  }

  OperationContext& context_;
  FenceEnvironment& environment_;
  const FenceRequest& request_;
  const std::shared_ptr<Cluster> cluster_;
};

}  // namespace

absl::Status Fence(OperationContext& context, FenceEnvironment& environment,
                   const FenceRequest& request) {
  context.Step("connecting");
  ADDONS_ASSIGN_OR_RETURN(std::shared_ptr<Cluster> cluster,
                          ConnectCluster(environment, request.target));
  ADDONS_ASSIGN_OR_RETURN(
      const RangeTurns::TurnRef turn,
      environment.turns.Await(context, cluster->fsid(), request.ranges));
  return Fencing(context, environment, request, std::move(cluster)).Run();
}

}  // namespace addons
