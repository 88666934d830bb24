#include "cli/site_plan.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/utc.h"
#include "cli/inspection.h"
#include "cli/streams.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

bool Works(const admin_pb::Forecast& forecast) {
  return forecast.verdict() == admin_pb::Forecast::WORKS;
}

std::string Clean(const std::string& text) {
  return CleanLine(text, kMaxShownText);
}

/// A volume or group as one site sees it.
struct Seen {
  SiteItem item;  // without action
  admin_pb::Forecast planned;
  admin_pb::Forecast forced;
  std::vector<const admin_pb::FailoverFinding*> members;  // of a volume itself
  std::string outside;  // an image of the group that no named pool has
};

bool AllPrimary(const Seen& seen) { return seen.item.role == "primary"; }

bool AnyPrimary(const Seen& seen) {
  return std::any_of(
      seen.members.begin(), seen.members.end(),
      [](const auto* member) { return member->role() == "primary"; });
}

/// The time that a forced promotion returns to, of a group its oldest.
std::string Loss(const Seen& seen) {
  if (!Works(seen.forced)) return "";
  std::optional<int64_t> oldest;
  bool loses = false;
  std::string returns_to;
  for (const admin_pb::FailoverFinding* member : seen.members) {
    if (member->returns_to().empty()) continue;
    loses = true;
    returns_to = member->returns_to();
    if (!member->has_returns_to_time()) continue;
    oldest = oldest.has_value() ? std::min(*oldest, member->returns_to_time())
                                : member->returns_to_time();
  }
  if (!loses) return "loses nothing";
  if (oldest.has_value()) {
    return absl::StrCat("loses what was written since ",
                        FormatUtc(absl::FromUnixSeconds(*oldest)));
  }
  return absl::StrCat("returns to ", Clean(returns_to),
                      " and loses what was written since");
}

/// As check-failover says it, of a group with the oldest of its times.
std::string WhatForceDoes(const Seen& seen) {
  const bool told = !seen.item.group && !seen.forced.reason().empty() &&
                    std::all_of(seen.members.begin(), seen.members.end(),
                                [](const auto* member) {
                                  return !member->returns_to().empty();
                                });
  return told ? Clean(seen.forced.reason()) : absl::StrCat("it ", Loss(seen));
}

/// As people call it.
std::string NameOf(const admin_pb::FailoverFinding& finding) {
  const std::string& known = KnownName(finding);
  return !known.empty()             ? known
         : !finding.image().empty() ? finding.image()
                                    : finding.volume_id();
}

Seen SeenVolume(const admin_pb::FailoverFinding& finding) {
  Seen seen;
  seen.item.id = finding.volume_id();
  seen.item.name = CleanLine(NameOf(finding), kMaxShownName);
  seen.item.images = {finding.image()};
  seen.item.role = CleanLine(finding.role(), kMaxShownName);
  seen.planned = finding.planned();
  seen.forced = finding.forced();
  seen.members = {&finding};
  return seen;
}

Seen SeenGroup(const admin_pb::GroupFailoverFinding& group,
               const std::vector<const admin_pb::FailoverFinding*>& members,
               const std::set<std::string>& in_pools) {
  Seen seen;
  seen.item.group = true;
  seen.item.id = group.group_id();
  std::set<std::string> roles;
  std::set<std::string> names;
  for (const admin_pb::FailoverFinding* member : members) {
    seen.item.images.push_back(member->image().empty() ? member->volume_id()
                                                       : member->image());
    roles.insert(CleanLine(member->role(), kMaxShownName));
    names.insert(NameOf(*member));
    if (!member->image().empty() && in_pools.count(member->image()) == 0) {
      seen.outside = member->image();
    }
  }
  std::sort(seen.item.images.begin(), seen.item.images.end());
  seen.item.role = absl::StrJoin(roles, ", ");
  seen.item.name = CleanLine(
      absl::StrCat("group of ", absl::StrJoin(names, ", ")), kMaxShownName);
  seen.planned = group.planned();
  seen.forced = group.forced();
  seen.members = members;
  return seen;
}

/// All of a survey: groups, then volumes that are in none.
std::vector<Seen> SeenOn(const SiteSurvey& survey) {
  std::set<std::string> in_pools;
  for (const auto& finding : survey.volumes.findings()) {
    in_pools.insert(finding.image());
  }
  std::map<std::string, std::vector<const admin_pb::FailoverFinding*>> members;
  std::set<std::string> in_groups;
  for (const auto& finding : survey.groups.findings()) {
    members[finding.group_id()].push_back(&finding);
    if (!finding.image().empty()) in_groups.insert(finding.image());
  }
  std::vector<Seen> all;
  for (const auto& group : survey.groups.groups()) {
    all.push_back(SeenGroup(group, members[group.group_id()], in_pools));
  }
  for (const auto& finding : survey.volumes.findings()) {
    if (in_groups.count(finding.image()) == 0) {
      all.push_back(SeenVolume(finding));
    }
  }
  return all;
}

SiteItem Leave(SiteItem item, std::string reason) {
  item.action = SiteAction::kLeave;
  item.may_force = false;
  item.asks = false;
  item.reason = std::move(reason);
  return item;
}

/// Why nothing can be called for it; empty: it can.
std::string NotCallable(const Seen& seen) {
  if (seen.item.id.empty()) {
    return "no entry of the journal on this site is of this image, so no call "
           "can name it";
  }
  if (!seen.outside.empty()) {
    return absl::StrCat("the group has ", Clean(seen.outside),
                        ", which is in none of the named pools, and moves as a "
                        "whole: name that pool, too");
  }
  return "";
}

SiteItem Promotion(const Seen& seen, SiteVerb verb) {
  SiteItem item = seen.item;
  if (AllPrimary(seen) && Works(seen.planned)) {
    item.reason = "primary here already";
    return item;
  }
  if (const std::string why = NotCallable(seen); !why.empty()) {
    return Leave(std::move(item), why);
  }
  item.action = SiteAction::kPromote;
  item.ready = Works(seen.planned);
  item.reason = Clean(seen.planned.reason());
  if (verb == SiteVerb::kRelocate) return item;
  item.may_force = Works(seen.forced) && !AllPrimary(seen);
  item.asks = item.may_force && !Works(seen.planned);
  if (item.asks) {
    item.reason = absl::StrCat("by force ", WhatForceDoes(seen));
  } else if (!Works(seen.planned)) {
    item.reason = absl::StrCat("is not forced: ", Clean(seen.forced.reason()));
  }
  return item;
}

/// A promotion after a demotion on the other site, as `there` sees it (null: it
/// does not).
SiteItem MoveFrom(const Seen& here, const Seen* there) {
  SiteItem item = Promotion(here, SiteVerb::kRelocate);
  if (item.action != SiteAction::kPromote) return item;
  if (there == nullptr) {
    const auto* const why =
        item.group ? "the other site knows no volume group of just these "
                     "volumes"
                   : "the other site knows no such image";
    return Leave(std::move(item), why);
  }
  if (const std::string why = NotCallable(*there); !why.empty()) {
    return Leave(std::move(item), absl::StrCat("on the other site: ", why));
  }
  if (!AnyPrimary(*there)) {
    const bool seen =
        std::none_of(there->members.begin(), there->members.end(),
                     [](const auto* member) { return member->role().empty(); });
    return seen ? item
                : Leave(std::move(item),
                        "what it is on the other site could not be seen");
  }
  // Where this site has no whole copy a demotion there only stops the work.
  if (!Works(here.forced) && !Works(here.planned)) {
    return Leave(std::move(item),
                 absl::StrCat("is not demoted there, because this site could "
                              "not take it over: ",
                              Clean(here.forced.reason())));
  }
  item.action = SiteAction::kDemoteThere;
  item.id_there = there->item.id;
  item.reason = "is demoted on the other site first";
  return item;
}

SiteItem ComingBack(const Seen& seen) {
  SiteItem item = seen.item;
  std::string primary_there;
  bool reported = !seen.members.empty();
  bool split = false;
  for (const admin_pb::FailoverFinding* member : seen.members) {
    if (!member->primary_elsewhere().empty()) {
      primary_there = Clean(member->primary_elsewhere());
    }
    reported = reported && member->others_report();
    split = split || member->split_brain();
  }
  const bool primary = AnyPrimary(seen);
  if (primary && primary_there.empty()) {
    // What was written before this site fell out may be the last report still:
    // it is no proof that nobody has taken over, so this is never "done".
    return Leave(std::move(item),
                 reported ? "stays primary here: no other site says that it is "
                            "(where one has taken over, its report takes a "
                            "minute after both sites are up: run it again)"
                          : "is primary here, and no other site has reported "
                            "lately who is: run it again when rbd-mirror of "
                            "both sites is up");
  }
  if (const std::string why = NotCallable(seen); !why.empty()) {
    return Leave(std::move(item), why);
  }
  item.action = primary ? SiteAction::kDemoteAndResync : SiteAction::kResync;
  item.may_force = primary || split;
  item.asks = item.may_force;
  item.reason = primary ? absl::StrCat(primary_there,
                                       " is primary, and this site is, too")
                : split ? "split brain"
                        : "waits until it is in step with the other site";
  return item;
}

std::string Key(const std::vector<std::string>& images) {
  return absl::StrJoin(images, "\n");
}

/// Those that nothing is done to although something should be come first.
int Rank(const SiteItem& item) {
  if (item.action == SiteAction::kLeave) return 0;
  if (item.asks) return 1;
  return item.action == SiteAction::kNothing ? 3 : 2;
}

const char* Doing(SiteVerb verb, const SiteItem& item) {
  switch (item.action) {
    case SiteAction::kLeave:
      return "is left alone";
    case SiteAction::kPromote:
      if (verb == SiteVerb::kFailover && item.asks) {
        return "promote, by force where that is refused";
      }
      return "promote";
    case SiteAction::kDemoteThere:
      return "demote there, promote here";
    case SiteAction::kResync:
      return item.asks ? "resync by force" : "resync";
    case SiteAction::kDemoteAndResync:
      return "demote, then resync by force";
    case SiteAction::kNothing:
      break;
  }
  return "nothing to do";
}

/// Nothing is changed to see all of it.
constexpr char kListsAllOfPlan[] = "--dry-run -o wide";

Reasoned ReasonOf(const SiteItem& item, const std::string& doing) {
  std::vector<std::string> objects = item.images;
  objects.push_back(item.id);
  return {item.name, item.reason, doing, "", std::move(objects)};
}

}  // namespace

SitePlan MakeSitePlan(SiteVerb verb, const SiteSurvey& here,
                      const SiteSurvey* there) {
  SitePlan plan;
  plan.verb = verb;
  plan.unseen = here.unseen;
  const std::vector<Seen> seen = SeenOn(here);
  std::vector<Seen> seen_there;
  std::map<std::pair<bool, std::string>, const Seen*> by_images;
  if (there != nullptr) {
    for (const std::string& unseen : there->unseen) {
      plan.unseen.push_back(absl::StrCat("on the other site: ", unseen));
    }
    seen_there = SeenOn(*there);
    for (const Seen& one : seen_there) {
      by_images[{one.item.group, Key(one.item.images)}] = &one;
    }
  }
  for (const Seen& one : seen) {
    if (verb == SiteVerb::kFailback) {
      plan.items.push_back(ComingBack(one));
    } else if (there == nullptr) {
      plan.items.push_back(Promotion(one, verb));
    } else {
      const auto found = by_images.find({one.item.group, Key(one.item.images)});
      plan.items.push_back(
          MoveFrom(one, found == by_images.end() ? nullptr : found->second));
    }
  }
  std::stable_sort(plan.items.begin(), plan.items.end(),
                   [](const SiteItem& a, const SiteItem& b) {
                     return std::pair(Rank(a), a.name) <
                            std::pair(Rank(b), b.name);
                   });
  return plan;
}

bool MustAsk(const SitePlan& plan) {
  return std::any_of(plan.items.begin(), plan.items.end(),
                     [](const SiteItem& item) { return item.asks; });
}

std::string PlanText(const SitePlan& plan, Listing listing) {
  size_t idle = 0;
  size_t left = 0;
  std::vector<Reasoned> rows;
  std::vector<const SiteItem*> items;
  for (const SiteItem& item : plan.items) {
    if (item.action == SiteAction::kNothing) {
      ++idle;
      continue;
    }
    left += item.action == SiteAction::kLeave ? 1 : 0;
    if (item.asks) continue;
    rows.push_back(ReasonOf(item, Doing(plan.verb, item)));
    items.push_back(&item);
  }
  std::string text = ListRows(
      rows, listing,
      [&](size_t i) {
        const std::string& role = items[i]->role;
        return absl::StrCat(rows[i].name,
                            role.empty() ? "" : absl::StrCat(" (", role, ")"),
                            "\n  ", rows[i].kind, ": ", rows[i].reason, "\n");
      },
      kListsAllOfPlan);
  for (const std::string& unseen : plan.unseen) {
    absl::StrAppend(&text, "not looked at: ", Clean(unseen), "\n");
  }
  absl::StrAppend(&text, plan.items.size(),
                  " volumes and groups: ", plan.items.size() - idle - left,
                  " to work on, ", idle, " with nothing to do, ", left,
                  " left alone\n");
  return text;
}

std::string QuestionText(const SitePlan& plan, Listing listing) {
  std::vector<Reasoned> asked;
  for (const SiteItem& item : plan.items) {
    if (item.asks) asked.push_back(ReasonOf(item, ""));
  }
  const size_t count = asked.size();
  if (count == 0) return "";
  const std::string which = ListRows(
      asked, listing,
      [&asked](size_t i) {
        return absl::StrCat("  ", asked[i].name, ": ", asked[i].reason, "\n");
      },
      kListsAllOfPlan);
  if (plan.verb == SiteVerb::kFailback) {
    return absl::StrCat(
        "To resync by force deletes this site's copies where the two sites "
        "differ, and copies them anew: what only this site has is lost. That "
        "is about ",
        count, " of ", plan.items.size(), " volumes and groups:\n", which);
  }
  return absl::StrCat(
      "To promote by force returns to the last complete copy on this site: "
      "what was written on the other site since is lost, and where that site "
      "lives, both are primary until it is demoted. Those that cannot be "
      "promoted otherwise are forced, of ",
      count, " of ", plan.items.size(), " volumes and groups:\n", which);
}

}  // namespace addons
