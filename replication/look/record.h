#ifndef ADDONS_REPLICATION_LOOK_RECORD_H_
#define ADDONS_REPLICATION_LOOK_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "ceph/image.h"
#include "replication/look/mirror_view.h"
#include "replication/look/point.h"
#include "volume/resolver.h"

namespace addons {

// A demotion notes in the image's metadata when the image was made, as ceph-csi
// does: a resync sees from it whether this is the image that was demoted. The
// leading dot keeps the mark on this site.
inline constexpr char kDemotionMark[] = ".rbd.image.creation_time";

/// What the mark says about an image that was made at `created`.
inline std::string DemotionMark(const Timestamp& created) {
  return absl::StrCat("seconds:", created.seconds,
                      " nanos:", created.nanoseconds);
}

/// Metadata of an image whose mirroring was switched on for the volume group
/// that it is in: it ends when the volume leaves the group. Without it the
/// mirroring is the volume's own. Written before mirroring is switched on,
/// removed after it is off; it arrives on the peer site with the first mirror
/// snapshot. The value is the uuid of the volume, because clones inherit
/// metadata.
inline constexpr char kGroupMark[] = "rbd-addons.mirrored-for-group";

inline bool HasGroupMark(const MirrorView& view) {
  return view.marks.contains(kGroupMark);
}

/// Whether the mark counts for this volume.
inline bool MirroredForGroup(const MirrorView& view,
                             const ResolvedVolume& volume) {
  const auto mark = view.marks.find(kGroupMark);
  return mark != view.marks.end() && mark->second == volume.uuid;
}

// Whether a whole copy of an image was ever made cannot be seen from its
// snapshots: the newest one that was copied lists its peer still, like one that
// was not. Journal mode has none. So enabling replication notes that the first
// copy is awaited, and what sees a whole one takes the note away. An image
// without it counts as copied: it may be older than this daemon.

/// Replication was enabled, and nothing has shown a whole copy since.
bool FirstCopyAwaited(const MirrorView& view);

/// That is noted, and a whole copy is there all the same.
bool FirstCopyNoteIsOver(const MirrorView& view);

// Since when an image is primary shows the oldest snapshot of the present term.
// librbd drops it after a few more, so its time is noted while it is there.

/// As MirrorView::PrimarySince(). Journal mode has no snapshots: nullopt.
std::optional<int64_t> PrimaryTermBegan(const MirrorView& view);

/// A snapshot with this id was made here in the present term of a primary;
/// false also where that is not known.
bool MadeInThisTerm(const MirrorView& view, uint64_t snapshot);

/// The newest copy of another site that is complete; nullptr: there is none.
/// What a forced promotion leaves that died is none.
const MirrorSnapshot* LastCopy(const MirrorView& view);

/// A point of a secondary is whole here: a copy that came after it is complete.
bool ArrivedWhole(const MirrorView& view, const Point& point);

/// The present term of a primary went back to a point of this name, and nothing
/// has gone back to another one since.
bool WentBackTo(const MirrorView& view, const std::string& point);

/// No other site had gone on from another content when the present term began:
/// with the enabling of the image, or with the demotion of the peer, whose copy
/// librbd keeps until the peer has copied something in turn, and which is noted
/// as such. The peer may take that demotion back later. False where nothing
/// shows how it began: snapshots alone do not, because a forced promotion drops
/// the copies before it, and leaves a demotion that is older than those
/// (16.2.15; rbd-mirror of 20.2.4 has removed it with the next copy).
bool PrimaryTermBeganInStep(const MirrorView& view);

/// LocalRecord::promoted_from after a promotion without force of the image that
/// `before` shows; nullopt: no demotion of a peer has arrived whole.
std::optional<uint64_t> PromotedFrom(const MirrorView& before);

/// What is to be noted of the present term; nullopt: nothing, because that is
/// noted already or the image is not primary.
std::optional<TermNote> TermNoteDue(const MirrorView& view);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_RECORD_H_
