#include "replication/look/watched_clusters.h"

#include <utility>

namespace addons {

void WatchedClusters::NoteFences(const std::string& cluster_id,
                                 const CephUserRef& user) {
  if (user == nullptr) return;
  const MutexLock lock(mutex_);
  if (fences_.size() >= kMostClusters && !fences_.contains(cluster_id)) return;
  fences_[cluster_id] = {user, clock_.Now()};
}

void WatchedClusters::RefuseFences(const std::string& cluster_id,
                                   const CephUserRef& user) {
  const MutexLock lock(mutex_);
  const auto found = fences_.find(cluster_id);
  if (found != fences_.end() && found->second.user == user) {
    found->second.user = nullptr;
  }
}

std::map<std::string, CephUserRef> WatchedClusters::FenceUsers() {
  const MutexLock lock(mutex_);
  const SteadyTime now = clock_.Now();
  std::erase_if(fences_, [now](const auto& cluster) {
    return now - cluster.second.asked_at >= kForgetAfter;
  });
  std::map<std::string, CephUserRef> users;
  for (const auto& [id, entry] : fences_) users[id] = entry.user;
  return users;
}

void WatchedClusters::NoteGroup(WatchedGroup group) {
  const MutexLock lock(mutex_);
  const std::string id = group.group_id;
  if (groups_.size() >= kMostGroups && !groups_.contains(id)) return;
  groups_[id] = {std::move(group), clock_.Now()};
}

void WatchedClusters::ForgetGroup(const std::string& group_id) {
  const MutexLock lock(mutex_);
  groups_.erase(group_id);
}

std::vector<WatchedGroup> WatchedClusters::Groups() {
  const MutexLock lock(mutex_);
  const SteadyTime now = clock_.Now();
  std::erase_if(groups_, [now](const auto& group) {
    return now - group.second.asked_at >= kForgetAfter;
  });
  std::vector<WatchedGroup> groups;
  groups.reserve(groups_.size());
  for (const auto& [id, entry] : groups_) groups.push_back(entry.group);
  return groups;
}

}  // namespace addons
