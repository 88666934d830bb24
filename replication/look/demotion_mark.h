#ifndef ADDONS_REPLICATION_LOOK_DEMOTION_MARK_H_
#define ADDONS_REPLICATION_LOOK_DEMOTION_MARK_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "ceph/image.h"

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

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_DEMOTION_MARK_H_
