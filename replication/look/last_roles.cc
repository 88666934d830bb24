#include "replication/look/last_roles.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace addons {
namespace {

uint64_t HashOf(const ResolvedVolume& volume) {
  return std::hash<std::string>()(
      absl::StrCat(PoolKey(volume), "/", volume.uuid));
}

LastRole RoleIn(const MirrorView& view) {
  if (!view.enabled()) return LastRole::kOff;
  return view.info.primary ? LastRole::kPrimary : LastRole::kSecondary;
}

}  // namespace

bool LastRoles::Note(const ResolvedVolume& volume, const MirrorView& view) {
  const uint64_t hash = HashOf(volume);
  const LastRole role = RoleIn(view);
  MutexLock lock(mutex_);
  const LastRole before = Find(hash).value_or(LastRole::kOff);
  newer_[hash] = role;
  if (newer_.size() >= kEnough) older_ = std::exchange(newer_, {});
  return role != before;
}

std::optional<LastRole> LastRoles::Of(const ResolvedVolume& volume) const {
  const uint64_t hash = HashOf(volume);
  MutexLock lock(mutex_);
  return Find(hash);
}

std::optional<LastRole> LastRoles::Find(uint64_t hash) const {
  for (const Roles* roles : {&newer_, &older_}) {
    const auto found = roles->find(hash);
    if (found != roles->end()) return found->second;
  }
  return std::nullopt;
}

}  // namespace addons
