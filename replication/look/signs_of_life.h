#ifndef ADDONS_REPLICATION_LOOK_SIGNS_OF_LIFE_H_
#define ADDONS_REPLICATION_LOOK_SIGNS_OF_LIFE_H_

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "replication/look/mirror_view.h"
#include "replication/look/promote_series.h"
#include "replication/options.h"

namespace addons {

/// What tells whether the other side lives. Nothing is owned.
struct LifeEvidence {
  const MirrorView& view;
  const SeriesClocks& clocks;
  /// rbd-mirror of this site was blocklisted by us a moment ago.
  bool disturbed = false;
  /// How often the primary takes mirror snapshots, if the caller said so.
  std::optional<std::chrono::minutes> interval{};
};

/// Whether this site's rbd-mirror could receive something now.
bool LocalMirrorWorks(const MirrorView& view,
                      const ReplicationOptions& options);

/// Half a copy, or entries of the journal that were not replayed: what the peer
/// tells in its image's metadata may be among them.
bool SomethingArrives(const MirrorView& view, SteadyDuration settle);

/// Whether this site's copy follows the peer, as its rbd-mirror says.
PromoteSeries::Copy CopyState(const MirrorView& view,
                              const ReplicationOptions& options);

/// The same where its last word counts.
bool CopyFollows(const LifeEvidence& seen, const ReplicationOptions& options);

/// The last word of this site's rbd-mirror counts: it works, or its silence is
/// of this daemon's making.
bool LocalWordCounts(const LifeEvidence& seen,
                     const ReplicationOptions& options);

/// This site's rbd-mirror is silent because this daemon ended the copying, and
/// it has not found its peer since.
bool SilencedByUs(const SeriesClocks& clocks);

/// No peer had reported for the settle time, and nothing had arrived, when the
/// copying was ended: that nothing does since then tells nothing else.
bool WasDeadBeforeEviction(const LifeEvidence& seen, SteadyDuration settle);

/// This site's rbd-mirror is silent because it was started while the peer's
/// cluster could not be reached. Not with one-way mirroring: there it is the
/// only one who could tell that the other site lives.
bool SilentForThePeer(const LifeEvidence& seen);

/// No peer has reported for the settle time, and nothing has arrived in the
/// pool meanwhile.
bool NoSignOfLife(const LifeEvidence& seen, const ReplicationOptions& options);

/// For how long that is not enough yet: no peer has reported, and nothing has
/// arrived in the pool while calls waited.
SteadyDuration SilentFor(const LifeEvidence& seen);
/// How long it has to be.
SteadyDuration SilenceNeeded(const LifeEvidence& seen,
                             const ReplicationOptions& options);

/// As far as this image alone shows: no peer has reported for the settle time
/// and nothing is being copied here. Too little to force a promotion on.
bool ImageShowsNoLife(const MirrorView& view,
                      const ReplicationOptions& options);

/// Who is dead, for a person. `site_name` gives a peer's name.
std::string DescribeDeath(const LifeEvidence& seen,
                          const SiteNameFn& site_name);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_SIGNS_OF_LIFE_H_
