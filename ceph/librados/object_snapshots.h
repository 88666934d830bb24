#ifndef ADDONS_CEPH_LIBRADOS_OBJECT_SNAPSHOTS_H_
#define ADDONS_CEPH_LIBRADOS_OBJECT_SNAPSHOTS_H_

#include <rados/librados.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace addons {

/// ObjectSnapshots of ceph/pool.h: this file is compiled as C++17 and stands
/// alone.
struct ListedClone {
  uint64_t id = 0;
  bool head = false;
  std::vector<uint64_t> snapshots;
  std::vector<std::pair<uint64_t, uint64_t>> overlap;  // offset, length
  uint64_t bytes = 0;
};
struct ListedObject {
  uint64_t newest_snapshot = 0;
  std::vector<ListedClone> clones;
};

/// Fills `listed` for each of `objects`, of which 64 are asked at a time;
/// returns 0 or the first negative errno. An absent object has no clones. The C
/// interface has no such call. librados::ObjectReadOperation::list_snaps
int ListObjectSnapshots(rados_ioctx_t ioctx,
                        const std::vector<std::string>& objects,
                        std::vector<ListedObject>& listed);

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_OBJECT_SNAPSHOTS_H_
