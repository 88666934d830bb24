#ifndef ADDONS_CEPH_OMAP_OBJECT_H_
#define ADDONS_CEPH_OMAP_OBJECT_H_

#include <string>

#include "absl/status/status.h"
#include "ceph/pool.h"

namespace addons {

/// Pool::SetOmapValues() of an object that is made when there is none. Not one
/// atomic step: an object without values may be left. Blocks as for Pool.
absl::Status SetOmapValuesCreating(Pool& pool, const std::string& object,
                                   const OmapValues& values);

}  // namespace addons

#endif  // ADDONS_CEPH_OMAP_OBJECT_H_
