#ifndef ADDONS_CEPH_LIBRADOS_WRITE_CONDITIONS_H_
#define ADDONS_CEPH_LIBRADOS_WRITE_CONDITIONS_H_

#include <rados/librados.h>

#include "absl/strings/string_view.h"

namespace addons {

/// From here on `op` changes only an object that is there and has `value` at
/// `key` of its omap; an absent key counts as empty. It ends with ENOENT or
/// ECANCELED otherwise, and makes no object.
inline void OnlyWhere(rados_write_op_t op, absl::string_view key,
                      absl::string_view value) {
  rados_write_op_assert_exists(op);
  rados_write_op_omap_cmp2(op, key.data(), LIBRADOS_CMPXATTR_OP_EQ,
                           value.data(), key.size(), value.size(), nullptr);
}

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_WRITE_CONDITIONS_H_
