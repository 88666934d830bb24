#ifndef ADDONS_REPLICATION_STEPS_IMAGE_ID_H_
#define ADDONS_REPLICATION_STEPS_IMAGE_ID_H_

#include <string>

#include "absl/status/statusor.h"
#include "replication/session.h"

namespace addons {

/// Makes csi.imageid of the volume's journal entry `image_id`, when it is
/// something else: a resync gives the image a new id, and ceph-csi deletes by
/// that key. Writes nothing when it is right already. Returns whether the
/// journal had another id: the image was made anew since it was written.
absl::StatusOr<bool> CorrectImageId(Session& session,
                                    const std::string& image_id);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_IMAGE_ID_H_
