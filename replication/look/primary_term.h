#ifndef ADDONS_REPLICATION_LOOK_PRIMARY_TERM_H_
#define ADDONS_REPLICATION_LOOK_PRIMARY_TERM_H_

#include <cstdint>
#include <optional>
#include <string>

#include "replication/look/mirror_view.h"

namespace addons {

// Since when an image is primary shows the oldest snapshot of the present term.
// librbd drops it after a few more, so its time is noted while it is there.

/// The note. With the prefix ".rbd", so that it stays on this site.
inline constexpr char kPrimaryTermMark[] = ".rbd-addons.primary-since";

/// The note of a promotion that followed a demotion of the peer. It names this
/// image, because clones inherit metadata, and the copy of that demotion.
inline constexpr char kPromotedFromMark[] = ".rbd-addons.promoted-from";

/// What is noted of a term, and goes with it.
inline constexpr const char* kTermMarks[] = {kPrimaryTermMark,
                                             kPromotedFromMark};

/// As MirrorView::PrimarySince(). Journal mode has no snapshots: nullopt.
std::optional<int64_t> PrimaryTermBegan(const MirrorView& view);

/// No other site can have gone on from another content: the present term began
/// with the enabling of the image, or with the demotion of the peer, whose copy
/// librbd keeps until the peer has copied something in turn, and which is noted
/// as such. False where nothing shows that: snapshots alone do not, because a
/// forced promotion drops the copies before it, and leaves a demotion that is
/// older than those.
bool PrimaryTermBeganInStep(const MirrorView& view);

/// What kPromotedFromMark says after a promotion without force of the image
/// that `before` shows; empty: no demotion of a peer has arrived whole.
std::string PromotedFrom(const MirrorView& before);

/// What kPrimaryTermMark says about the present term; empty: it is not due,
/// because it says that already or the image is not primary.
std::string PrimaryTermMarkDue(const MirrorView& view);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_PRIMARY_TERM_H_
