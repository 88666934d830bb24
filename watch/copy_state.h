#ifndef ADDONS_WATCH_COPY_STATE_H_
#define ADDONS_WATCH_COPY_STATE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "ceph/mirror.h"
#include "replication/look/mirror_view.h"
#include "watch/watch_snapshot.h"

namespace addons {

// How a volume's copy is, in one word. Nothing here asks Ceph or blocks; all of
// it is thread-safe.

/// Of a look at an image whose `seen` is complete otherwise. `peers` are those
/// of the pool; `schedule_known`: the schedules that apply to it are known.
/// Only what was seen to be in step is kInStep; the worst of several peers
/// counts.
CopyState JudgeCopy(const MirrorView& view,
                    const std::vector<MirrorPeer>& peers, bool schedule_known,
                    SteadyDuration settle, const WatchedImage& seen);

/// The same at the time `now`. What cannot be seen any more is in step no
/// longer, and may have turned late since.
CopyState CopyStateAt(const WatchedPool& pool, const WatchedImage& image,
                      SteadyTime now);

/// How old the last complete copy is at the time `now`; nullopt: not known.
std::optional<int64_t> CopyAgeAt(const WatchedPool& pool,
                                 const WatchedImage& image, SteadyTime now);

/// How many images of the pool are in each state at the time `now`. Those that
/// are counted and not kept are kUnknown while the pool cannot be seen.
CopyStateCounts CountStatesAt(const WatchedPool& pool, SteadyTime now);

}  // namespace addons

#endif  // ADDONS_WATCH_COPY_STATE_H_
