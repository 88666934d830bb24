#ifndef ADDONS_REPLICATION_LOOK_LAST_ROLES_H_
#define ADDONS_REPLICATION_LOOK_LAST_ROLES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/mutex.h"
#include "replication/look/mirror_view.h"
#include "volume/resolved.h"

namespace addons {

enum class LastRole { kOff, kPrimary, kSecondary };

/// The role in which this process has seen a volume last. It may have changed
/// since, so nothing is decided by it: it only tells whether a call is likely
/// to change something, and should have the lease before it looks. Wrong or
/// forgotten, it costs a look or a lease more. Thread-safe.
class LastRoles {
 public:
  /// True: it is another one than was seen last, or the first that is seen of a
  /// volume that is mirrored.
  bool Note(const ResolvedVolume& volume, const MirrorView& view);
  /// nullopt: not seen, or forgotten.
  std::optional<LastRole> Of(const ResolvedVolume& volume) const;

  /// So many are remembered at least, and twice as many at most.
  static constexpr size_t kEnough = 20000;

 private:
  // By a hash of the volume: two that share one only mislead each other.
  using Roles = std::unordered_map<uint64_t, LastRole>;

  std::optional<LastRole> Find(uint64_t hash) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  Roles newer_ ABSL_GUARDED_BY(mutex_);
  Roles older_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_LAST_ROLES_H_
