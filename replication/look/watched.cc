#include "replication/look/watched.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace addons {

namespace {

constexpr size_t kMostLeftOut = 1000;

WatchedPools::Key KeyOf(const ResolvedPlace& place) {
  return {place.cluster_id.text(), place.pool_id, place.rados_namespace};
}

}  // namespace

WatchedPools::Entry* WatchedPools::Find(const Key& key) {
  auto found = pools_.find(key);
  if (found == pools_.end()) {
    if (pools_.size() >= kMost) {
      if (left_out_.size() < kMostLeftOut) left_out_.insert(key);
      return nullptr;
    }
    left_out_.erase(key);
    found = pools_.emplace(key, Entry()).first;
  }
  return &found->second;
}

void WatchedPools::Note(const ResolvedVolume& volume,
                        const std::string& image_id, const CephUserRef& user,
                        bool lacks_parent, const std::string& claim,
                        const std::optional<SeenRole>& role) {
  if (user == nullptr) return;
  const MutexLock lock(mutex_);
  Entry* const found = Find(KeyOf(volume));
  if (found == nullptr) return;
  Entry& entry = *found;
  entry.pool_name = volume.pool_name;
  entry.user = user;
  const SteadyTime now = clock_.Now();
  entry.asked_at = now;
  Named named{volume.image_name().text(), volume.volume_id.text(),
              volume.attributes.request_name, claim, lacks_parent};
  named.role = role;
  const auto known = entry.images.find(image_id);
  bool turned = false;
  if (known != entry.images.end()) {
    const Named& before = known->second;
    named.awaits_restore = before.awaits_restore;
    named.rolls_back = before.rolls_back;
    named.turn = before.turn;
    if (!role.has_value()) named.role = before.role;
    turned = role.has_value() && before.role.has_value() &&
             role->as != before.role->as;
  } else {
    // One that was made anew has another id.
    turned = role.has_value() &&
             std::erase_if(entry.images, [&named](const auto& other) {
               return other.second.image == named.image;
             }) > 0;
    if (entry.images.size() >= kMostImages) return;
    Changed(volume.cluster_id.text(), now);
  }
  if (turned) {
    named.turn = RoleTurn{now, *role};
    ++turns_;
    Changed(volume.cluster_id.text(), now);
  }
  entry.images.insert_or_assign(image_id, std::move(named));
}

void WatchedPools::NoteChange(const std::string& cluster_id) {
  const MutexLock lock(mutex_);
  Changed(cluster_id, clock_.Now());
}

void WatchedPools::Changed(const std::string& cluster_id, SteadyTime now) {
  changes_.emplace(cluster_id, Changes{now, now + kAtLatest})
      .first->second.when_quiet = now + kQuiet;
}

void WatchedPools::AwaitReports(const std::string& cluster_id) {
  const MutexLock lock(mutex_);
  const SteadyTime due = clock_.Now() + kLookAgain;
  SteadyTime& at_latest =
      changes_.emplace(cluster_id, Changes{due, due}).first->second.at_latest;
  at_latest = std::min(at_latest, due);
}

uint64_t WatchedPools::turns() const {
  const MutexLock lock(mutex_);
  return turns_;
}

std::vector<WatchedPools::Named> WatchedPools::TurnedSince(
    const Key& key, SteadyTime time) const {
  std::vector<Named> turned;
  const MutexLock lock(mutex_);
  const auto pool = pools_.find(key);
  if (pool == pools_.end()) return turned;
  for (const auto& [id, named] : pool->second.images) {
    if (named.turn.has_value() && named.turn->at > time) {
      turned.push_back(named);
    }
  }
  return turned;
}

std::set<std::string> WatchedPools::ChangesDue() const {
  const MutexLock lock(mutex_);
  const SteadyTime now = clock_.Now();
  std::set<std::string> due;
  for (const auto& [cluster_id, changes] : changes_) {
    if (now >= std::min(changes.when_quiet, changes.at_latest)) {
      due.insert(cluster_id);
    }
  }
  return due;
}

void WatchedPools::ForgetChanges(const std::string& cluster_id) {
  const MutexLock lock(mutex_);
  changes_.erase(cluster_id);
}

void WatchedPools::NoteMixture(const ResolvedVolume& volume,
                               const std::string& image_id, bool awaits_restore,
                               bool rolls_back) {
  const MutexLock lock(mutex_);
  const auto pool = pools_.find(KeyOf(volume));
  if (pool == pools_.end()) return;
  const auto image = pool->second.images.find(image_id);
  if (image == pool->second.images.end()) return;
  image->second.awaits_restore = awaits_restore;
  image->second.rolls_back = rolls_back;
}

bool WatchedPools::SetOwn(const std::vector<ResolvedPlace>& places,
                          const CephUserRef& own, bool all) {
  const MutexLock lock(mutex_);
  const SteadyTime now = clock_.Now();
  std::set<Key> named;
  bool news = false;
  for (const ResolvedPlace& place : places) {
    Entry* const entry = Find(KeyOf(place));
    if (entry == nullptr) continue;
    named.insert(KeyOf(place));
    news |= entry->own == nullptr && entry->user == nullptr;
    entry->pool_name = place.pool_name;
    entry->own = own;
    entry->asked_at = now;
  }
  if (!all) return news;
  for (auto pool = pools_.begin(); pool != pools_.end();) {
    if (named.contains(pool->first) || pool->second.own == nullptr) {
      ++pool;
      continue;
    }
    pool->second.own = nullptr;
    pool = pool->second.user == nullptr ? pools_.erase(pool) : std::next(pool);
  }
  return news;
}

void WatchedPools::SetOwnTrouble(const std::string& why) {
  const MutexLock lock(mutex_);
  own_trouble_ = why;
}

std::string WatchedPools::own_trouble() const {
  const MutexLock lock(mutex_);
  return own_trouble_;
}

void WatchedPools::Refuse(const Key& key, const CephUserRef& user) {
  const MutexLock lock(mutex_);
  const auto found = pools_.find(key);
  if (found == pools_.end()) return;
  if (found->second.user == user) found->second.user = nullptr;
  if (found->second.own == user) found->second.own = nullptr;
}

std::vector<WatchedPools::Watched> WatchedPools::All() {
  const MutexLock lock(mutex_);
  const SteadyTime now = clock_.Now();
  const size_t forgotten = std::erase_if(pools_, [now](const auto& pool) {
    return now - pool.second.asked_at >= kForgetAfter;
  });
  // Those that are still called for come back by themselves.
  if (forgotten > 0) left_out_.clear();
  std::vector<Watched> all;
  all.reserve(pools_.size());
  for (const auto& [key, entry] : pools_) {
    all.push_back({key, entry.pool_name, entry.user, entry.own});
  }
  return all;
}

std::optional<WatchedPools::Named> WatchedPools::NameOf(
    const Key& key, const std::string& image_id) const {
  const MutexLock lock(mutex_);
  const auto pool = pools_.find(key);
  if (pool == pools_.end()) return std::nullopt;
  const auto found = pool->second.images.find(image_id);
  if (found == pool->second.images.end()) return std::nullopt;
  return found->second;
}

size_t WatchedPools::left_out() const {
  const MutexLock lock(mutex_);
  return left_out_.size();
}

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
