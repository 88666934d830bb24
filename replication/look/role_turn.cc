#include "replication/look/role_turn.h"

#include <algorithm>

#include "ceph/mirror.h"
#include "replication/look/mirror_view.h"
#include "replication/look/peers.h"

namespace addons {
namespace {

SeenAs RoleIn(const MirrorView& view) {
  if (view.info.primary) return SeenAs::kPrimary;
  if (view.resync_requested) return SeenAs::kMadeAnew;
  const MirrorSnapshot* const newest = view.Newest();
  return newest != nullptr && newest->demoted() ? SeenAs::kDemoted
                                                : SeenAs::kSecondary;
}

/// By this cluster's clock the report was written since the image has that
/// role.
bool IsNewer(const SiteView& local, const MirrorView& view, SeenAs as) {
  // In journal mode no snapshot tells of a demotion.
  const bool copy =
      as == SeenAs::kSecondary && (view.info.mode != MirrorMode::kJournal ||
                                   !view.own.demotion.has_value());
  const bool dated = copy || (as == SeenAs::kDemoted && view.OwnDemotion());
  return dated && local.says != Says::kPrimary &&
         WordOf(local, view) >= Word::kLagging;
}

/// What the call has seen itself.
bool Agrees(Says says, SeenAs as) {
  switch (as) {
    case SeenAs::kPrimary:
      return says == Says::kPrimary;
    case SeenAs::kDemoted:
      return says == Says::kNotPrimary;
    case SeenAs::kSecondary:
      return says == Says::kSecondary;
    case SeenAs::kMadeAnew:
      break;
  }
  return false;
}

}  // namespace

SeenRole SeenRoleOf(const MirrorView& view) {
  SeenRole role;
  role.as = RoleIn(view);
  if (view.local.has_value() && !IsNewer(*view.local, view, role.as)) {
    role.said = view.local->says;
    role.reported = view.local->status.last_update;
  }
  return role;
}

bool TellsOfBefore(const SiteView& local, const RoleTurn& turn,
                   SteadyTime now) {
  // The image is about to be deleted. One that stays is as it is reported.
  if (turn.to.as == SeenAs::kMadeAnew && now - turn.at < kReportsAwaited) {
    return true;
  }
  if (Agrees(local.says, turn.to.as)) return false;
  if (local.status.last_update <= turn.to.reported) return true;
  // A report that is new may say once more what the one before it said.
  return local.says == turn.to.said && now - turn.at < kReportLag;
}

bool SaysPrimarySince(const MirrorView& view, const RoleTurn& turn) {
  return std::any_of(view.peers.begin(), view.peers.end(),
                     [&turn](const SiteView& peer) {
                       return peer.says == Says::kPrimary &&
                              peer.status.last_update > turn.to.reported;
                     });
}

void LeaveOutWords(SiteView* local) {
  local->says = Says::kUnclear;
  local->status.state = MirrorStatusState::kUnknown;
  local->status.description.clear();
}

}  // namespace addons
