#ifndef ADDONS_REPLICATION_STEPS_PROMOTION_CLEANUP_H_
#define ADDONS_REPLICATION_STEPS_PROMOTION_CLEANUP_H_

#include <chrono>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "replication/environment.h"
#include "replication/look/mirror_view.h"
#include "replication/look/point.h"
#include "replication/session.h"

namespace addons {

// What has to be made up for on an image that is primary: a promotion that died
// half-way, on this daemon or another one, and what earlier roles left. Each
// changes nothing where nothing is wrong, and may be repeated. `view` is the
// last look, and is replaced by those that look again.
//
// clang-format off
///   MakeWritable()              "waiting until nobody has the lock of the image"
///                               "making a primary writable that refuses writes"
///   RemoveHalfCopies()          "removing half a copy"
///   CompleteHalfDone()          "completing a half-done promotion"
///   RemoveMarks(), RemoveStaleResyncRequest()
// clang-format on

/// A crash inside librbd can leave a primary that refuses all writes, and so
/// does a demotion at a limit of snapshots. The mark as a secondary is taken
/// away where nobody can be in the middle of either: nobody has the exclusive
/// lock, or its owner is dead, and blocklisted then. A living owner is waited
/// for, for ReplicationOptions::watch_timeout. `verb` is for messages.
/// UNAVAILABLE: the mark is there yet, or the image is not primary any more.
absl::Status MakeWritable(Session& session, absl::string_view verb,
                          MirrorView* view);

/// Half a copy is of no use to a primary. Of half a demotion a peer would go
/// on, without a resync, as if it were the whole one, with another content.
absl::Status RemoveHalfCopies(Session& session, const MirrorView& view);

/// Removes these points, and the record of one, through an open handle of a
/// primary. The first error; what cannot be removed keeps nothing else from it.
/// `goes_on` is asked before each; false: the rest stays, which is UNAVAILABLE.
/// Empty: all go.
absl::Status RemovePoints(const std::vector<Point>& points, Image& image,
                          const std::function<bool()>& goes_on = nullptr);

/// With the image promoted a moment ago, as `view` showed it before: points of
/// the other site prove nothing of this term. And who copies the image anew
/// reads such a snapshot where a removed one may answer that nothing is there
/// (docs/ceph-faults.md). A promotion does not wait for hundreds of them: after
/// kFormerPointsTime the rest stays, and is logged. A plan removes its own.
/// Those that a rollback needs stay (rollback_mark.h).
inline constexpr std::chrono::seconds kFormerPointsTime{2};
void RemovePointsOfFormerPrimary(const Session& session, Image& image,
                                 const MirrorView& view);

/// The same of these, which are points of such a site.
void RemoveFormerPoints(const Session& session, Image& image,
                        const std::vector<Point>& points);

/// A primary whose newest snapshot is not complete gets a new one, when the
/// manager makes none: AwaitSnapshotTurn().
absl::Status CompleteHalfDone(Session& session, MirrorView* view);

/// What notes of an earlier move are left; `view` then shows none. The peer's
/// goes with the next snapshot.
absl::Status RemoveMarks(Session& session, MirrorView* view);
/// WriteLocalRecord() of a record without that move, through an open handle;
/// the peer's note goes with it, where `view` shows it, and then there.
absl::Status ForgetMove(Image& image, const LocalRecord& record,
                        MirrorView* view, MetadataChanges also = {});

/// A resync that was requested when this image was a copy would delete it as
/// soon as it is a secondary again. `view` then shows none.
absl::Status RemoveStaleResyncRequest(Session& session, MirrorView* view);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_PROMOTION_CLEANUP_H_
