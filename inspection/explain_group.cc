#include "inspection/explain_group.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "ceph/retry_when_blocklisted.h"
#include "inspection/group_forecast.h"
#include "lease/target.h"
#include "lease/who_holds.h"
#include "replication/group/disable.h"
#include "replication/group/members.h"
#include "replication/group/resync.h"
#include "replication/session.h"
#include "volume/group_images.h"

namespace addons {
namespace {

constexpr size_t kMembersAtOnce = 16;

/// One explanation, from the id to the forecasts.
class ExplainingGroup {
 public:
  ExplainingGroup(OperationContext& context,
                  ReplicationEnvironment& environment,
                  const GroupHandle& group_id, const CephUserRef& user,
                  std::optional<std::chrono::minutes> interval)
      : context_(context),
        environment_(environment),
        group_id_(group_id),
        user_(user),
        interval_(interval) {}

  absl::StatusOr<GroupExplanation> Run();

 private:
  void Add(std::string topic, std::string name, std::string value) {
    explained_.group.facts.push_back(
        {std::move(topic), std::move(name), std::move(value)});
  }
  void Unseen(absl::string_view what, const absl::Status& status) {
    explained_.group.unseen.push_back(
        absl::StrCat(what, ": ", status.message()));
  }
  void AddForecast(const char* verb, Force force, Forecast forecast) {
    explained_.group.forecasts.push_back({verb, force, std::move(forecast)});
  }
  void AddId(const VolumeId& id);
  void AddPlace(const ResolvedGroup& group);
  void AddRbdGroup(const ResolvedGroup& group);
  void AddLease(const ResolvedGroup& group);
  absl::Status AddPromotes();
  absl::Status AddOthers();
  void ForgiveGoneMembers(
      std::vector<std::vector<VerbForecast>>* of_members) const;
  void AddOther(const char* verb, Force force, const GroupText& text,
                const std::vector<std::vector<VerbForecast>>& of_members);

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const GroupHandle& group_id_;
  const CephUserRef& user_;
  const std::optional<std::chrono::minutes> interval_;
  JournalMembers members_;
  GroupExplanation explained_;
};

void ExplainingGroup::AddId(const VolumeId& id) {
  Add("id", "volume group", group_id_.text());
  Add("id", "cluster", id.cluster_id.text());
  Add("id", "pool id", absl::StrCat(id.pool_id));
  Add("id", "uuid", id.uuid);
}

void ExplainingGroup::AddPlace(const ResolvedGroup& group) {
  Add("place", "cluster", group.cluster_id.text());
  Add("place", "fsid", group.cluster->fsid());
  Add("place", "pool",
      absl::StrCat(group.pool_name, " (id ", group.pool_id, ")"));
  if (!group.rados_namespace.empty()) {
    Add("place", "namespace", group.rados_namespace);
  }
  Add("journal", "name", group.attributes.request_name);
  Add("journal", "rbd group", group.Spec(group.attributes.group_name));
  if (!group.attributes.creation_time.empty()) {
    Add("journal", "created", group.attributes.creation_time);
  }
  Add("journal", "members", absl::StrCat(group.members().size()));
}

/// A replicated group has none on the site where its members are secondary.
void ExplainingGroup::AddRbdGroup(const ResolvedGroup& group) {
  const GroupImages images(group);
  const auto all = images.All();
  const auto complete = images.Complete();
  if (!all.ok() || !complete.ok()) {
    Unseen("the rbd group", all.ok() ? complete.status() : all.status());
    return;
  }
  Add("rbd group", "images", absl::StrCat(all->size()));
  if (complete->size() < all->size()) {
    Add("rbd group", "incomplete",
        absl::StrCat(all->size() - complete->size()));
  }
}

void ExplainingGroup::AddLease(const ResolvedGroup& group) {
  const auto pool = group.OpenPool(Access::kRead);
  const auto holder = pool.ok() ? WhoHoldsLease(**pool, LeaseOf(group))
                                : absl::StatusOr<std::string>(pool.status());
  if (!holder.ok()) {
    Unseen("which daemon changes the group", holder.status());
  } else {
    Add("daemons", "lease", holder->empty() ? "nobody has it" : *holder);
  }
}

absl::Status ExplainingGroup::AddPromotes() {
  ADDONS_ASSIGN_OR_RETURN(FailoverFindings found,
                          CheckFailoverOfGroups(context_, environment_,
                                                {group_id_}, user_, interval_));
  explained_.members = std::move(found.volumes);
  AddForecast("promote", Force::kNo, std::move(found.groups.front().planned));
  AddForecast("promote", Force::kYes, std::move(found.groups.front().forced));
  return absl::OkStatus();
}

void ExplainingGroup::AddOther(
    const char* verb, Force force, const GroupText& text,
    const std::vector<std::vector<VerbForecast>>& of_members) {
  std::vector<MemberVerbForecast> members;
  for (size_t i = 0; i < of_members.size(); ++i) {
    for (const VerbForecast& forecast : of_members[i]) {
      if (forecast.verb == verb && forecast.force == force) {
        members.push_back({members_.volumes[i], forecast.forecast});
      }
    }
  }
  AddForecast(verb, force, ForecastAllOrNone(text, members));
}

/// A member that is gone must not keep the group for ever.
void ExplainingGroup::ForgiveGoneMembers(
    std::vector<std::vector<VerbForecast>>* of_members) const {
  for (size_t i = 0; i < of_members->size(); ++i) {
    for (VerbForecast& one : (*of_members)[i]) {
      const absl::Status answer(one.forecast.code, one.forecast.reason);
      if (one.verb == "disable" &&
          NeedsNoDisable(members_.volumes[i], answer)) {
        one.forecast = {Verdict::kWorks, absl::StatusCode::kOk, "it is gone"};
      }
    }
  }
}

absl::Status ExplainingGroup::AddOthers() {
  const size_t count = members_.volumes.size();
  if (count == 0) {
    AddForecast("demote", Force::kNo,
                {Verdict::kWorks, absl::StatusCode::kOk,
                 "the journal of this site lists no members (yet)"});
    const absl::Status none = NoMembersToResync(group_id_);
    const Forecast waits{Verdict::kWaits, none.code(),
                         std::string(none.message())};
    AddForecast("resync", Force::kNo, waits);
    AddForecast("resync", Force::kYes, waits);
    for (const Force force : {Force::kNo, Force::kYes}) {
      AddForecast("disable", force,
                  {Verdict::kWorks, absl::StatusCode::kOk,
                   "the journal of this site lists no members"});
    }
    return absl::OkStatus();
  }
  std::vector<std::vector<VerbForecast>> forecasts(count);
  std::vector<absl::Status> looks(count);
  const std::stop_token stop = context_.stop_token();
  RunParallel(count, kMembersAtOnce, [&](size_t i) {
    if (stop.stop_requested()) return;
    auto looked = ForecastOtherVerbs(
        context_, environment_, {members_.volumes[i], user_, members_.fsid()});
    looks[i] = looked.status();
    if (looked.ok()) forecasts[i] = *std::move(looked);
  });
  if (stop.stop_requested()) {
    return absl::CancelledError("nobody waits for the explanation any more");
  }
  for (const absl::Status& look : looks) ADDONS_RETURN_IF_ERROR(look);
  AddOther("demote", Force::kNo,
           {group_id_, "demote", "being demoted", "demoted"}, forecasts);
  const GroupText resync{group_id_, "resync", "being resynced", "in step"};
  AddOther("resync", Force::kNo, resync, forecasts);
  AddOther("resync", Force::kYes, resync, forecasts);
  ForgiveGoneMembers(&forecasts);
  const GroupText disable = DisableText(group_id_);
  AddOther("disable", Force::kNo, disable, forecasts);
  AddOther("disable", Force::kYes, disable, forecasts);
  return absl::OkStatus();
}

absl::StatusOr<GroupExplanation> ExplainingGroup::Run() {
  ADDONS_ASSIGN_OR_RETURN(const VolumeId id, group_id_.id());
  AddId(id);
  context_.Step("finding the group");
  const SteadyTime deadline = ResolveDeadline(context_);
  const auto group = environment_.resolver.ResolveGroup(
      group_id_, user_, Access::kRead, deadline);
  if (absl::IsUnauthenticated(group.status()) ||
      SaysBlocklisted(group.status())) {
    return group.status();
  }
  if (!group.ok()) {
    Unseen("the volume group", group.status());
    for (const char* verb : {"promote", "demote", "resync", "disable"}) {
      AddForecast(verb, Force::kNo, NotSeen(group.status()));
    }
    return std::move(explained_);
  }
  ADDONS_ASSIGN_OR_RETURN(
      members_,
      ReadGroupMembers(environment_.resolver, group_id_, user_, deadline));
  AddPlace(*group);
  AddRbdGroup(*group);
  AddLease(*group);
  ADDONS_RETURN_IF_ERROR(AddPromotes());
  context_.Step("looking ahead");
  ADDONS_RETURN_IF_ERROR(AddOthers());
  return std::move(explained_);
}

}  // namespace

absl::StatusOr<GroupExplanation> ExplainGroup(
    OperationContext& context, ReplicationEnvironment& environment,
    const GroupHandle& group_id, const CephUserRef& user,
    std::optional<std::chrono::minutes> interval) {
  return RetryWhenBlocklisted([&] {
    return ExplainingGroup(context, environment, group_id, user, interval)
        .Run();
  });
}

}  // namespace addons
