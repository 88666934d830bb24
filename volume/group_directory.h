#ifndef ADDONS_VOLUME_GROUP_DIRECTORY_H_
#define ADDONS_VOLUME_GROUP_DIRECTORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace addons {

class Pool;

/// ceph-csi's directory of volume groups in one pool and namespace: the object
/// csi.groups.<instance id>, which leads from the name in a Create request to
/// the uuid of the group. Volume group snapshots stand in it, too. Threads and
/// blocking as Pool.
class GroupDirectory {
 public:
  struct Page {
    std::map<std::string, std::string> uuids;  // by request name
    bool more = false;
  };

  /// `pool` is not owned. `instance_id` is the driver's --instanceid.
  GroupDirectory(Pool& pool, const std::string& instance_id)
      : pool_(pool), object_("csi.groups." + instance_id) {}

  /// nullopt: no group has this name.
  absl::StatusOr<std::optional<std::string>> Find(
      const std::string& request_name);
  /// At most `limit` entries whose name comes after `after` (nullopt: from the
  /// first, whose name may be empty), by name.
  absl::StatusOr<Page> List(const std::optional<std::string>& after,
                            uint64_t limit);

  // These need a mutation pool.
  /// Makes `uuid` the group of this name, and the directory if need be. false:
  /// the name is taken.
  absl::StatusOr<bool> Reserve(const std::string& request_name,
                               const std::string& uuid);
  /// Frees the name if it is that of `uuid`.
  absl::Status Release(const std::string& request_name,
                       const std::string& uuid);

 private:
  Pool& pool_;
  const std::string object_;
};

}  // namespace addons

#endif  // ADDONS_VOLUME_GROUP_DIRECTORY_H_
