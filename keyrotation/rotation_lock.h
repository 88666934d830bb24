#ifndef ADDONS_KEYROTATION_ROTATION_LOCK_H_
#define ADDONS_KEYROTATION_ROTATION_LOCK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/pool.h"
#include "volume/csi_handle.h"

namespace addons {

/// The lock that ceph-csi takes while it rotates the key of a volume, on every
/// node: an exclusive one on an object of the volume's pool and namespace, all
/// named after the volume id. Ours has an end 60 s after it was taken or
/// renewed last, so a daemon that dies holds nobody up for longer.
class RotationLock {
 public:
  /// The volume's pool, for reads and for changes, which outlive this.
  RotationLock(Pool& reads, Pool& changes, const VolumeHandle& volume_id);
  /// What is still held ends by itself: as if the process had died.
  ~RotationLock() = default;
  RotationLock(const RotationLock&) = delete;
  RotationLock& operator=(const RotationLock&) = delete;

  /// Who has it now; empty: nobody. Changes nothing. Errors of
  /// Pool::ObjectLockers().
  absl::StatusOr<std::string> Holder();
  /// false: somebody else has it. Errors of Pool::TakeObjectLock().
  absl::StatusOr<bool> Take();
  /// Before each change. UNAVAILABLE: it has ended, so another node may be at
  /// it. Errors of Pool::RenewObjectLock().
  absl::Status Renew();
  /// Removes the object, too. What fails here is over in 60 s.
  void GiveBack();

 private:
  Pool& reads_;
  Pool& changes_;
  const ObjectLock lock_;
};

/// What ceph-csi names the lock of a volume.
ObjectLock RotationLockOf(const VolumeHandle& volume_id);

}  // namespace addons

#endif  // ADDONS_KEYROTATION_ROTATION_LOCK_H_
