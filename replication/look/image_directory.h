#ifndef ADDONS_REPLICATION_LOOK_IMAGE_DIRECTORY_H_
#define ADDONS_REPLICATION_LOOK_IMAGE_DIRECTORY_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/image_name.h"
#include "ceph/pool.h"

namespace addons {

// What librbd keeps of all images of a pool and RADOS namespace, so that they
// can be looked through without opening each. Blocking and errors as Pool.

/// The names of all images by internal id, without those in the trash. An empty
/// name: its entry cannot be read. None where no image was ever made.
absl::StatusOr<std::map<std::string, ImageName>> ReadImageNames(Pool& pool);

/// The internal ids of the images that are mirrored, ascending.
absl::StatusOr<std::vector<std::string>> ReadMirroredImageIds(Pool& pool);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_IMAGE_DIRECTORY_H_
