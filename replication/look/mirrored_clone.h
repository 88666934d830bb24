#ifndef ADDONS_REPLICATION_LOOK_MIRRORED_CLONE_H_
#define ADDONS_REPLICATION_LOOK_MIRRORED_CLONE_H_

#include <string>

#include "replication/look/mirror_view.h"

namespace addons {

// Snapshot mirroring of a clone copies what was written to the clone itself.
// What it has from its parent never arrives whole, while every status says that
// all is well; and flattening a clone that is mirrored already leaves zeros on
// the other site. Journal mode copies both.

/// That an image had a parent while it was mirrored: so the flattening that
/// ceph-csi does by itself is seen, too. Without the prefix ".rbd", so that it
/// arrives on the peer site with the next mirror snapshot. It counts for one
/// enabling only: clones inherit metadata, and a new enabling copies anew.
inline constexpr char kCloneMark[] = "rbd-addons.mirrored-clone";

enum class CloneState {
  kWhole,         // nothing of a parent is missing on a secondary site
  kHasParent,     // a clone, mirrored by snapshots
  kWasFlattened,  // it was one under the present enabling, and is none any more
};

CloneState CloneStateOf(const MirrorView& view);

/// What kCloneMark says about an image with a parent; empty: the mark is not
/// due, because it is there or the image is no clone that is mirrored by
/// snapshots.
std::string CloneMarkDue(const MirrorView& view);

/// What is lost and how it is repaired; empty for kWhole. `spec` is
/// "pool/image" or "pool/namespace/image".
std::string DescribeCloneLoss(const MirrorView& view, const std::string& spec);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_MIRRORED_CLONE_H_
