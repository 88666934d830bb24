#ifndef ADDONS_CEPH_LIBRADOS_CEPHX_KEY_H_
#define ADDONS_CEPH_LIBRADOS_CEPHX_KEY_H_

#include "absl/strings/string_view.h"

namespace addons {

/// Has `text` the shape of a cephx key: base64 of type (16 bits, not 0),
/// creation time (64 bits), length (16 bits) and that many bytes,
/// little-endian? Checked before librados sees a key, because librados can
/// print one that it cannot decode to standard error.
bool HasCephxKeyShape(absl::string_view text);

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_CEPHX_KEY_H_
