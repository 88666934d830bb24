#include "replication/look/peer_tracker.h"

#include <algorithm>

namespace addons {
namespace {

constexpr std::chrono::minutes kForgetAfter{30};
constexpr std::chrono::minutes kDisturbedFor{2};

}  // namespace

PeerTracker::Image& PeerTracker::Touch(const std::string& key) {
  const SteadyTime now = clock_.Now();
  if (now - swept_at_ > kForgetAfter) {
    swept_at_ = now;
    std::erase_if(images_, [&](const auto& entry) {
      return now - entry.second.used_at > kForgetAfter;
    });
  }
  Image& image = images_[key];
  image.used_at = now;
  return image;
}

const PeerTracker::Seen& PeerTracker::SeenOf(const Image& image,
                                             const std::string& mirror_uuid) {
  static const Seen kNever;
  const auto entry = image.entries.find(mirror_uuid);
  return entry == image.entries.end() ? kNever : entry->second;
}

SteadyDuration PeerTracker::Age(const std::string& key, const SiteStatus& entry,
                                const SiteStatus* local) {
  MutexLock lock(mutex_);
  Image& image = Touch(key);
  const SteadyTime now = clock_.Now();
  const auto [it, first] = image.entries.try_emplace(entry.mirror_uuid);
  Seen& seen = it->second;
  if (first || seen.last_update != entry.last_update) {
    if (!first) {
      seen.written_after = seen.looked_at;
      seen.before = seen.last_update;
    }
    seen.last_update = entry.last_update;
    seen.changed_at = now;
    // What is new in the look that sees the turn may be older than it.
    if (image.turned_primary_at.has_value() && now > *image.turned_primary_at) {
      ++seen.rewrites;
    }
  }
  seen.looked_at = now;
  SteadyDuration age = now - seen.changed_at;
  // Both stamps come from one OSD's clock. Ours is at most as new as now, so
  // the difference is a lower bound, also when our own daemon has stopped
  // since.
  if (local != nullptr && local->last_update > entry.last_update) {
    age = std::max<SteadyDuration>(
        age, std::chrono::seconds(local->last_update - entry.last_update));
  }
  return age;
}

bool PeerTracker::RewrittenWithin(const std::string& key,
                                  const std::string& mirror_uuid,
                                  SteadyDuration time) {
  MutexLock lock(mutex_);
  const auto& after = SeenOf(Touch(key), mirror_uuid).written_after;
  return after.has_value() && clock_.Now() - *after < time;
}

std::optional<int64_t> PeerTracker::ReportedBefore(
    const std::string& key, const std::string& mirror_uuid) {
  MutexLock lock(mutex_);
  return SeenOf(Touch(key), mirror_uuid).before;
}

void PeerTracker::NoteClaim(const std::string& key, const SiteStatus& entry,
                            std::optional<bool> primary) {
  if (!primary.has_value()) return;
  MutexLock lock(mutex_);
  Seen& seen = Touch(key).entries[entry.mirror_uuid];
  if (*primary) {
    seen.claim = entry;
  } else {
    seen.claim.reset();
  }
}

std::optional<SiteStatus> PeerTracker::LastClaim(
    const std::string& key, const std::string& mirror_uuid) {
  MutexLock lock(mutex_);
  return SeenOf(Touch(key), mirror_uuid).claim;
}

SteadyDuration PeerTracker::SilentFor(const std::string& key, bool silent) {
  MutexLock lock(mutex_);
  Image& image = Touch(key);
  if (!silent) {
    image.silent_since.reset();
    return SteadyDuration(0);
  }
  const SteadyTime now = clock_.Now();
  if (!image.silent_since.has_value()) image.silent_since = now;
  return now - *image.silent_since;
}

SteadyDuration PeerTracker::QuietFor(const std::string& key,
                                     const std::string& progress) {
  MutexLock lock(mutex_);
  Image& image = Touch(key);
  const SteadyTime now = clock_.Now();
  if (!image.progress_seen || image.progress != progress) {
    image.progress_seen = true;
    image.progress = progress;
    image.progress_at = now;
  }
  return now - image.progress_at;
}

void PeerTracker::NoteRole(const std::string& key, bool primary) {
  MutexLock lock(mutex_);
  Image& image = Touch(key);
  if (!primary) {
    image.turned_primary_at.reset();
  } else if (image.primary == false) {
    image.turned_primary_at = clock_.Now();
    for (auto& [uuid, seen] : image.entries) seen.rewrites = 0;
  }
  image.primary = primary;
}

std::optional<SteadyDuration> PeerTracker::PrimaryFor(const std::string& key) {
  MutexLock lock(mutex_);
  const Image& image = Touch(key);
  if (!image.turned_primary_at.has_value()) return std::nullopt;
  return clock_.Now() - *image.turned_primary_at;
}

std::optional<int> PeerTracker::RewrittenSinceTurn(
    const std::string& key, const std::string& mirror_uuid) {
  MutexLock lock(mutex_);
  const Image& image = Touch(key);
  if (!image.turned_primary_at.has_value()) return std::nullopt;
  return SeenOf(image, mirror_uuid).rewrites;
}

std::chrono::seconds PeerTracker::BothPrimaryFor(const std::string& key,
                                                 const SiteStatus& peer,
                                                 bool both) {
  MutexLock lock(mutex_);
  Image& image = Touch(key);
  if (!both) {
    image.both_primary.erase(peer.mirror_uuid);
    return std::chrono::seconds(0);
  }
  const auto [first, added] =
      image.both_primary.try_emplace(peer.mirror_uuid, peer.last_update);
  return std::chrono::seconds(
      std::max<int64_t>(0, peer.last_update - first->second));
}

SteadyDuration PeerTracker::MarkAge(const std::string& key,
                                    const std::string& mark) {
  MutexLock lock(mutex_);
  Image& image = Touch(key);
  const SteadyTime now = clock_.Now();
  if (image.mark != mark) {
    image.mark = mark;
    image.mark_at = now;
  }
  return now - image.mark_at;
}

void PeerTracker::NoteDisturbance(const std::string& fsid) {
  MutexLock lock(mutex_);
  disturbed_[fsid] = clock_.Now();
}

bool PeerTracker::Disturbed(const std::string& fsid) {
  MutexLock lock(mutex_);
  const auto it = disturbed_.find(fsid);
  return it != disturbed_.end() && clock_.Now() - it->second < kDisturbedFor;
}

void PeerTracker::KeepNumbers(const std::string& key, const SiteStatus& entry,
                              const SyncNumbers& numbers) {
  MutexLock lock(mutex_);
  Touch(key).numbers[entry.mirror_uuid] =
      Numbers{numbers, clock_.Now(), entry.last_update};
}

std::optional<PeerTracker::LastGood> PeerTracker::LastNumbers(
    const std::string& key, const std::string& mirror_uuid) {
  MutexLock lock(mutex_);
  const auto image = images_.find(key);
  if (image == images_.end()) return std::nullopt;
  const auto it = image->second.numbers.find(mirror_uuid);
  if (it == image->second.numbers.end()) return std::nullopt;
  return LastGood{it->second.numbers, clock_.Now() - it->second.at,
                  it->second.reported};
}

}  // namespace addons
