#include "ceph/omap_object.h"

namespace addons {

absl::Status SetOmapValuesCreating(Pool& pool, const std::string& object,
                                   const OmapValues& values) {
  absl::Status written = pool.SetOmapValues(object, values);
  if (!absl::IsNotFound(written)) return written;
  absl::Status made = pool.CreateObject(object);
  // Somebody else may have made it meanwhile.
  if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
  return pool.SetOmapValues(object, values);
}

}  // namespace addons
