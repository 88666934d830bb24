#ifndef ADDONS_REPLICATION_LOOK_DUE_SCHEDULES_H_
#define ADDONS_REPLICATION_LOOK_DUE_SCHEDULES_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "ceph/cluster.h"
#include "volume/csi_handle.h"

namespace addons {

/// The volumes that this process has promoted while the manager was away, whose
/// mirror snapshot schedule is therefore still to be set. What is wanted stands
/// in the image's metadata, so a restart loses only the reminder: replication
/// info finds the schedule missing, and so does the next promote. Thread-safe.
class DueSchedules {
 public:
  struct Due {
    VolumeHandle volume_id;
    CephUserRef user;
  };

  /// Keeps the newest user of a volume. Beyond kMost volumes nothing more is
  /// remembered, and false returned.
  bool Add(const VolumeHandle& volume_id, const CephUserRef& user);
  void Remove(const VolumeHandle& volume_id);
  std::vector<Due> All() const;

  static constexpr size_t kMost = 2000;

 private:
  mutable Mutex mutex_;
  std::map<VolumeHandle, CephUserRef> volumes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_DUE_SCHEDULES_H_
