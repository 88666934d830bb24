#ifndef ADDONS_VOLUME_USER_FILE_H_
#define ADDONS_VOLUME_USER_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "ceph/cluster.h"

namespace addons {

/// The Ceph user at `path`: the folder of a mounted Secret with the files
/// userID and userKey, a JSON object with both, or a keyring with one client.
/// Blocks for reads of small files. FAILED_PRECONDITION: it cannot be read, or
/// holds no user; UNAUTHENTICATED as UserFromSecrets(). Messages name the path
/// and never repeat what it holds.
absl::StatusOr<CephUserRef> ReadUserFile(const std::string& path);

}  // namespace addons

#endif  // ADDONS_VOLUME_USER_FILE_H_
