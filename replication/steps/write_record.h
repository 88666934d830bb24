#ifndef ADDONS_REPLICATION_STEPS_WRITE_RECORD_H_
#define ADDONS_REPLICATION_STEPS_WRITE_RECORD_H_

#include "absl/status/status.h"
#include "ceph/image.h"
#include "replication/look/local_record.h"
#include "replication/look/mirror_view.h"

namespace addons {

/// Writes `record` in the place of view->own, in one call, and none where they
/// are the same; an empty one is removed. `view` then shows it: what is written
/// next must rest on that, or it would bring back what is gone. Notes of an
/// earlier version go afterwards, a call each. Errors are those of
/// Image::SetMetadata(). Blocks. To be called with the lease, because what is
/// written rests on what was read.
absl::Status WriteLocalRecord(Image& image, const LocalRecord& record,
                              MirrorView* view);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_WRITE_RECORD_H_
