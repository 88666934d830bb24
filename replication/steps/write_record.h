#ifndef ADDONS_REPLICATION_STEPS_WRITE_RECORD_H_
#define ADDONS_REPLICATION_STEPS_WRITE_RECORD_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "ceph/image.h"
#include "replication/look/local_record.h"
#include "replication/look/mirror_view.h"

namespace addons {

/// Writes `record` in the place of view->own, and `also`, in one call, which
/// takes notes of an earlier version away; none where nothing is to be changed.
/// An empty record is removed. `view` then shows it: what is written next must
/// rest on that, or it would bring back what is gone. Errors are those of
/// Image::ChangeMetadata(). Blocks. To be called with the lease, because what
/// is written rests on what was read.
absl::Status WriteLocalRecord(Image& image, const LocalRecord& record,
                              MirrorView* view,
                              const MetadataChanges& also = {});

/// Notes since when this primary is one, where that is due (TermNoteDue()).
/// Otherwise likewise.
absl::Status NoteTerm(Image& image, MirrorView* view);

/// Puts the record of a point, by key (kPointRecordKey), in the place of the
/// one before, in one operation; empty: that goes. Otherwise likewise.
absl::Status ReplacePointRecord(
    Image& image, const std::map<std::string, std::string>& record);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_WRITE_RECORD_H_
