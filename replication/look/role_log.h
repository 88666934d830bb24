#ifndef ADDONS_REPLICATION_LOOK_ROLE_LOG_H_
#define ADDONS_REPLICATION_LOOK_ROLE_LOG_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "ceph/mirror.h"
#include "replication/look/mirror_view.h"

namespace addons {

/// What changes the role of an image.
enum class RoleVerb { kEnable, kPromote, kDemote, kDisable, kResync };
inline constexpr size_t kRoleVerbs = 5;
/// "enable", "promote", "demote", "disable", "resync".
absl::string_view Name(RoleVerb verb);

/// Changes of roles since the process began, by verb and force. Thread-safe.
class RoleChangeCounts {
 public:
  void Count(RoleVerb verb, Force force) {
    At(verb, force).fetch_add(1, std::memory_order_relaxed);
  }
  uint64_t count(RoleVerb verb, Force force) const {
    return At(verb, force).load(std::memory_order_relaxed);
  }

 private:
  using Counter = std::atomic<uint64_t>;
  static size_t IndexOf(RoleVerb verb, Force force) {
    return 2 * static_cast<size_t>(verb) + (force == Force::kYes ? 1 : 0);
  }
  Counter& At(RoleVerb verb, Force force) {
    return counts_.at(IndexOf(verb, force));
  }
  const Counter& At(RoleVerb verb, Force force) const {
    return counts_.at(IndexOf(verb, force));
  }

  std::array<Counter, 2 * kRoleVerbs> counts_{};
};

inline constexpr absl::string_view kRolePrimary = "primary";

/// What the image is on this site: "off", "primary", "secondary", "demoted" (a
/// demotion, of this site or of its peer, is its newest state), "creating",
/// "disabling" or "unclear".
absl::string_view RoleName(const MirrorView& view);

/// "promoted by force, back to the state of 2026-11-20T03:00:00Z".
std::string ForcedPromotion(const MirrorView& before);

/// One line for a change of an image's role that was seen to have happened:
/// `role changed volume=... from=secondary to=primary by="promoted"`. Who looks
/// into what happened to a volume looks for these.
void LogRoleChange(const ResolvedVolume& volume, absl::string_view from,
                   absl::string_view to, absl::string_view by);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_ROLE_LOG_H_
