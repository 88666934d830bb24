#ifndef ADDONS_CEPH_CEPHX_KEY_H_
#define ADDONS_CEPH_CEPHX_KEY_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace addons {

/// The types of cephx keys that this build knows by name. Which of them work is
/// for librados and the cluster to say.
inline constexpr unsigned kCephxAes = 1;
inline constexpr unsigned kCephxAes256k = 2;

/// The type of the cephx key `text`, without white space around it.
/// INVALID_ARGUMENT with the reason (never the key) for a text that no librados
/// could decode: it would write that text to its log.
absl::StatusOr<unsigned> CephxKeyType(absl::string_view text);

}  // namespace addons

#endif  // ADDONS_CEPH_CEPHX_KEY_H_
