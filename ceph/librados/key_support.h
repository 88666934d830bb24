#ifndef ADDONS_CEPH_LIBRADOS_KEY_SUPPORT_H_
#define ADDONS_CEPH_LIBRADOS_KEY_SUPPORT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace addons {

/// The release of the librados in this process, such as "16.2.15"; empty when
/// it does not tell.
std::string LibradosVersion();

/// Why rados_connect answered `result` to a decodable key of `key_type`, when
/// it is known that librados `version` cannot use keys of that type; empty when
/// something else may be the cause.
std::string UnusableKeyType(int result, unsigned key_type,
                            absl::string_view version);

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_KEY_SUPPORT_H_
