#ifndef ADDONS_REPLICATION_LOOK_FIRST_COPY_H_
#define ADDONS_REPLICATION_LOOK_FIRST_COPY_H_

#include "replication/look/mirror_view.h"

namespace addons {

// Whether a whole copy of an image was ever made cannot be seen from its
// snapshots: the newest one that was copied lists its peer still, like one that
// was not. Journal mode has none. So enabling replication notes that the first
// copy is awaited, and what sees a whole one takes the note away. An image
// without it counts as copied: it may be older than this daemon.

/// Its value is the id of the image, because clones inherit metadata. With the
/// prefix ".rbd", so that it stays on this site.
inline constexpr char kFirstCopyMark[] = ".rbd-addons.first-copy-awaited";

/// The note is there: the image is primary since it was enabled. What shows a
/// whole copy takes it away, and so does a promotion.
bool FirstCopyMarked(const MirrorView& view);

/// Replication was enabled, and nothing has shown a whole copy since.
bool FirstCopyAwaited(const MirrorView& view);

/// The note is there, and a whole copy is, too.
bool FirstCopyMarkIsOver(const MirrorView& view);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_FIRST_COPY_H_
