#include "replication/look/resync_history.h"

#include <chrono>
#include <utility>

namespace addons {
namespace {

constexpr std::chrono::minutes kForgetResyncAfter{30};
constexpr std::chrono::minutes kSweepEvery{1};

}  // namespace

ResyncHistory::Volume& ResyncHistory::Touch(const std::string& key) {
  const SteadyTime now = clock_.Now();
  if (now - swept_at_ > kSweepEvery) {
    std::erase_if(volumes_, [&](const auto& entry) {
      return now - entry.second.used_at > kForgetResyncAfter;
    });
    swept_at_ = now;
  }
  Volume& volume = volumes_[key];
  volume.used_at = now;
  return volume;
}

void ResyncHistory::SawPrimary(const std::string& key) {
  const MutexLock lock(mutex_);
  Touch(key).primary_at = clock_.Now();
}

std::optional<SteadyDuration> ResyncHistory::SincePrimary(
    const std::string& key) {
  const MutexLock lock(mutex_);
  const Volume& volume = Touch(key);
  if (!volume.primary_at.has_value()) return std::nullopt;
  return clock_.Now() - *volume.primary_at;
}

ResyncHistory::Standing ResyncHistory::SawError(const std::string& key,
                                                int64_t last_update) {
  const MutexLock lock(mutex_);
  Volume& volume = Touch(key);
  if (!volume.error.has_value()) {
    volume.error = Error{clock_.Now(), last_update, 0};
  } else if (volume.error->last_update != last_update) {
    volume.error->last_update = last_update;
    ++volume.error->rewrites;
  }
  return {clock_.Now() - volume.error->since, volume.error->rewrites};
}

void ResyncHistory::SawNoError(const std::string& key) {
  const MutexLock lock(mutex_);
  Touch(key).error.reset();
}

void ResyncHistory::CopyTo(ResyncHistory& copy) const {
  std::map<std::string, Volume> volumes;
  {
    const MutexLock lock(mutex_);
    volumes = volumes_;
  }
  const MutexLock lock(copy.mutex_);
  copy.volumes_ = std::move(volumes);
}

}  // namespace addons
