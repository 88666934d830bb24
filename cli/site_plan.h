#ifndef ADDONS_CLI_SITE_PLAN_H_
#define ADDONS_CLI_SITE_PLAN_H_

#include <string>
#include <vector>

#include "cli/many_rows.h"
#include "rbdaddons/admin.pb.h"

namespace addons {

/// What is done to all that is in some pools.
enum class SiteVerb { kRelocate, kFailover, kFailback };

/// What check-failover says of the pools on one site, and of the volume groups
/// that have members there.
struct SiteSurvey {
  ::rbdaddons::admin::v1::CheckFailoverResponse volumes;
  ::rbdaddons::admin::v1::CheckFailoverResponse groups;
  /// What could not be looked at.
  std::vector<std::string> unseen;
};

/// The first thing to do with a volume or group.
enum class SiteAction {
  kNothing,          // it is as asked
  kLeave,            // it must not be touched; the reason says why
  kPromote,          // here
  kDemoteThere,      // on the other site, then promote here
  kResync,           // here
  kDemoteAndResync,  // here
};

/// A volume that is in no group, or a volume group.
struct SiteItem {
  bool group = false;
  std::string id;        // as this site would give it out; empty: not known
  std::string id_there;  // as the other site would; of kDemoteThere
  /// "namespace/claim", else "pool/image"; of a group "group of " those of its
  /// members.
  std::string name;
  std::vector<std::string> images;  // "pool/image", sorted
  std::string role;  // here; of a group each role of a member once
  SiteAction action = SiteAction::kNothing;
  /// Its first call needs no waiting, as far as was seen.
  bool ready = false;
  /// After FAILED_PRECONDITION it may be done by force, if a person has said
  /// yes: check-failover has shown what that costs.
  bool may_force = false;
  /// It is likely enough to be forced that a person is asked.
  bool asks = false;
  /// What is seen, and what force would lose.
  std::string reason;
};

struct SitePlan {
  SiteVerb verb = SiteVerb::kRelocate;
  std::vector<SiteItem> items;  // those that are left come first
  std::vector<std::string> unseen;
};

/// What the verb does, from what was seen on this site and, for a relocation
/// that demotes there first, on the other one (else null). Pure.
SitePlan MakeSitePlan(SiteVerb verb, const SiteSurvey& here,
                      const SiteSurvey* there);

/// Whether a person must say yes first.
bool MustAsk(const SitePlan& plan);

/// The plan: two lines for each volume or group that is not as asked and that
/// nobody is asked about, and the numbers. See SelectRows() for many of one
/// reason.
std::string PlanText(const SitePlan& plan, Listing listing = Listing::kCounted);

/// What a person is asked, with how many and which, likewise; empty: nothing.
std::string QuestionText(const SitePlan& plan,
                         Listing listing = Listing::kCounted);

}  // namespace addons

#endif  // ADDONS_CLI_SITE_PLAN_H_
