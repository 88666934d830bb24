#ifndef ADDONS_REPLICATION_LOOK_ROLE_TURN_H_
#define ADDONS_REPLICATION_LOOK_ROLE_TURN_H_

#include <chrono>
#include <cstdint>

#include "base/clock.h"
#include "replication/look/report.h"

namespace addons {

struct MirrorView;
struct SiteView;

// What a call has changed, or has seen to be changed, is newer than what
// rbd-mirror of this site has reported, for up to a minute.

/// What a call has seen an image to be. Demoted: not primary, and its newest
/// mirror snapshot is a demotion. Made anew: a resync is requested.
enum class SeenAs { kPrimary, kSecondary, kDemoted, kMadeAnew };

struct SeenRole {
  SeenAs as = SeenAs::kSecondary;
  /// What rbd-mirror of this site said then, and the stamp of that report,
  /// where it may be older than the role.
  Says said = Says::kUnclear;
  int64_t reported = 0;
};
SeenRole SeenRoleOf(const MirrorView& view);

/// A call has seen that it is another one than calls had seen before.
struct RoleTurn {
  SteadyTime at;
  SeenRole to;
};

/// A report that has not come for so long does not come soon.
inline constexpr std::chrono::minutes kReportsAwaited{2};

/// The report of this site's rbd-mirror may be about what was so before `turn`.
bool TellsOfBefore(const SiteView& local, const RoleTurn& turn, SteadyTime now);

/// Another site's rbd-mirror has reported since what `turn` knew of this one's
/// that the image is primary there. By this cluster's stamps.
bool SaysPrimarySince(const MirrorView& view, const RoleTurn& turn);

/// As if it had told nothing but that it runs.
void LeaveOutWords(SiteView* local);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_ROLE_TURN_H_
