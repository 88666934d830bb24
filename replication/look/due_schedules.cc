#include "replication/look/due_schedules.h"

namespace addons {

bool DueSchedules::Add(const VolumeHandle& volume_id, const CephUserRef& user) {
  const MutexLock lock(mutex_);
  const auto known = volumes_.find(volume_id);
  if (known != volumes_.end()) {
    known->second = user;
    return true;
  }
  if (volumes_.size() >= kMost) return false;
  volumes_.emplace(volume_id, user);
  return true;
}

void DueSchedules::Remove(const VolumeHandle& volume_id) {
  const MutexLock lock(mutex_);
  volumes_.erase(volume_id);
}

std::vector<DueSchedules::Due> DueSchedules::All() const {
  const MutexLock lock(mutex_);
  std::vector<Due> all;
  all.reserve(volumes_.size());
  for (const auto& [volume_id, user] : volumes_) {
    all.push_back({volume_id, user});
  }
  return all;
}

}  // namespace addons
