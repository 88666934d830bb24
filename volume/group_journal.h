#ifndef ADDONS_VOLUME_GROUP_JOURNAL_H_
#define ADDONS_VOLUME_GROUP_JOURNAL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/pool.h"
#include "volume/csi_handle.h"

namespace addons {

class Pool;

/// What ceph-csi's journal object csi.volume.group.<uuid> says about a volume
/// group.
struct GroupAttributes {
  std::string request_name;   // csi.volname: the name of the Create request
  std::string group_name;     // csi.groupname: the rbd group
  std::string creation_time;  // csi.creationtime, RFC 3339; may be empty
  std::vector<VolumeHandle> members;  // sorted, each once
};

/// Reads and writes the objects csi.volume.group.<uuid> of ceph-csi's journal.
/// Threads and blocking as Pool.
class GroupJournal {
 public:
  /// `pool` is not owned.
  explicit GroupJournal(Pool& pool) : pool_(pool) {}

  /// One read, whatever the number of members. NOT_FOUND: no such object, or
  /// one without csi.groupname (a reservation that was not finished): both mean
  /// that the journal has no such group here. INVALID_ARGUMENT: the object is
  /// that of a volume group snapshot, which ceph-csi keeps under the same names
  /// (its members have a snapshot id as value).
  absl::StatusOr<GroupAttributes> Read(const std::string& uuid);

  /// The name for which an object without a group is claimed (Claim()); empty:
  /// for none, or there is no such object, or it is that of a group.
  absl::StatusOr<std::string> ReadClaim(const std::string& uuid);

  // These need a mutation pool.
  /// Makes the object of a group if there is none, and sets everything but the
  /// members.
  absl::Status Create(const std::string& uuid,
                      const GroupAttributes& attributes);
  /// Claims the object for a group of this name, and makes it if there is none.
  /// The group is not seen before Publish(). Idempotent. false: the object has
  /// another name, so another client writes it.
  absl::StatusOr<bool> Claim(const std::string& uuid,
                             const std::string& request_name);
  /// Gives a claimed object everything else, members included, in one atomic
  /// step: the group is seen with all of them or not at all.
  absl::Status Publish(const std::string& uuid,
                       const GroupAttributes& attributes);
  /// OK also when there is none.
  absl::Status Remove(const std::string& uuid);
  /// Members come and leave in one atomic step; those that are there or absent
  /// already are OK. ABORTED: the group was deleted at the same moment.
  absl::Status AddMembers(const std::string& uuid,
                          const std::vector<VolumeHandle>& volumes);
  absl::Status RemoveMembers(const std::string& uuid,
                             const std::vector<VolumeHandle>& volumes);

 private:
  Pool& pool_;
};

}  // namespace addons

#endif  // ADDONS_VOLUME_GROUP_JOURNAL_H_
