#ifndef ADDONS_VOLUME_RESERVED_NAME_H_
#define ADDONS_VOLUME_RESERVED_NAME_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/pool.h"

namespace addons {

// A name in one of ceph-csi's directories: a key of the object `directory`,
// which leads to a uuid. `pool` is a mutation pool. Threads and blocking as
// Pool, whose errors these hand on.

/// Lets `key` lead to `uuid`, and makes the directory if need be. false: it
/// leads somewhere already, maybe there.
absl::StatusOr<bool> ReserveName(Pool& pool, const std::string& directory,
                                 const std::string& key,
                                 const std::string& uuid);
/// Removes `key` if it leads to `uuid`.
absl::Status ReleaseName(Pool& pool, const std::string& directory,
                         const std::string& key, const std::string& uuid);

}  // namespace addons

#endif  // ADDONS_VOLUME_RESERVED_NAME_H_
