#ifndef ADDONS_VOLUME_VOLUME_JOURNAL_H_
#define ADDONS_VOLUME_VOLUME_JOURNAL_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/image_name.h"

namespace addons {

class Pool;

/// What ceph-csi's journal object csi.volume.<uuid> says about a volume.
struct VolumeAttributes {
  std::string request_name;  // csi.volname
  ImageName image_name;      // csi.imagename, or the default name
  std::string image_id;      // csi.imageid; empty while creation is unfinished
  std::string owner;
  std::string kms_id;  // of encrypted volumes; the KMS itself is not needed
  std::string encryption_type;
};

/// Reads ceph-csi's volume journal, and writes of it the image id, and the
/// object of a volume that has none, or that ended. Threads and blocking as
/// Pool.
class VolumeJournal {
 public:
  /// `pool` is not owned.
  explicit VolumeJournal(Pool& pool) : pool_(pool) {}

  /// NOT_FOUND: no such object, or a stub without csi.volname (left behind by
  /// an older driver's lookup): both mean that the journal has no such volume
  /// here.
  absl::StatusOr<VolumeAttributes> Read(const std::string& uuid);

  /// Makes csi.imageid `image_id` if it is something else and csi.volname
  /// exists; never creates the object. Returns whether it changed anything.
  /// `pool` must be a mutation pool. ABORTED: somebody else changed it at the
  /// same moment.
  absl::StatusOr<bool> CorrectImageId(const std::string& uuid,
                                      const std::string& image_id);

  /// Writes the object of a volume as ceph-csi does, csi.journalpool aside, and
  /// makes it if there is none. csi.volname comes last, so that no reader sees
  /// it before it is whole. Finishes one that was interrupted. One that has
  /// this csi.volname is left as it is; where that is `former` (not empty), it
  /// is replaced. false: it is another one, which stays. `pool` must be a
  /// mutation pool. ABORTED: somebody else changed the object at the same
  /// moment.
  absl::StatusOr<bool> Write(const std::string& uuid,
                             const VolumeAttributes& attributes,
                             const std::string& former);

  /// Removes the object of a volume. OK also where there is none. `pool` must
  /// be a mutation pool.
  absl::Status Remove(const std::string& uuid);

 private:
  absl::Status Put(const std::string& uuid, const std::string& key,
                   const std::optional<std::string>& current,
                   const std::string& value);

  Pool& pool_;
};

}  // namespace addons

#endif  // ADDONS_VOLUME_VOLUME_JOURNAL_H_
