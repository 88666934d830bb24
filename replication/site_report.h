#ifndef ADDONS_REPLICATION_SITE_REPORT_H_
#define ADDONS_REPLICATION_SITE_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ceph/mirror.h"

namespace addons {

/// The numbers at the end of a mirror status description, as rbd-mirror writes
/// them: "<text>, {json}". Unknown is absent, never zero.
struct SyncNumbers {
  std::optional<int64_t> local_snapshot_time;   // unix seconds on the primary
  std::optional<int64_t> remote_snapshot_time;  // newest one on the primary
  std::optional<int64_t> last_snapshot_bytes;
  std::optional<int64_t> last_snapshot_seconds;
  std::optional<int64_t> syncing_percent;
  std::string replay_state;  // "idle", "syncing" or empty
};

/// The text before the first comma.
std::string DescriptionText(absl::string_view description);

/// nullopt: the description has no numbers. INVALID_ARGUMENT: it has something
/// after the comma that is not one JSON object.
absl::StatusOr<std::optional<SyncNumbers>> ParseSyncNumbers(
    absl::string_view description);

/// What a site's report says about the role of its image.
enum class SiteRole {
  kPrimary,     // its rbd-mirror found the local image primary
  kNotPrimary,  // both images are demoted, as far as it could see
  kSecondary,   // it replays, or starts or stops replaying
  kSplitBrain,
  kError,    // another error
  kUnclear,  // stopped by hand, or a state that this build does not know
};

/// Role from the state; texts only where the state leaves it open.
SiteRole RoleOf(const SiteStatus& status);

/// Whether the site says that it is copying right now.
bool IsSyncing(const SiteStatus& status);

}  // namespace addons

#endif  // ADDONS_REPLICATION_SITE_REPORT_H_
