#ifndef ADDONS_CEPH_LIBRADOS_OBJECT_WATCHERS_H_
#define ADDONS_CEPH_LIBRADOS_OBJECT_WATCHERS_H_

#include <rados/librados.h>

#include <cstdint>
#include <string>
#include <vector>

namespace addons {

/// Watcher of ceph/image.h: this file is compiled as C++17 and stands alone.
struct ObjectWatcher {
  std::string address;
  uint64_t client_id = 0;
  uint64_t cookie = 0;
};

/// Fills `watchers` with everybody who watches `object`; returns 0 or a
/// negative errno. In librados' C++ interface, because the C one has no such
/// call. librados::IoCtx::list_watchers
int ListObjectWatchers(rados_ioctx_t ioctx, const std::string& object,
                       std::vector<ObjectWatcher>& watchers);

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_OBJECT_WATCHERS_H_
