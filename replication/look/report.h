#ifndef ADDONS_REPLICATION_LOOK_REPORT_H_
#define ADDONS_REPLICATION_LOOK_REPORT_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "ceph/mirror.h"

namespace addons {

struct ImageStatuses;
struct SiteStatus;

/// rbd-mirror looks at its images every 30 s and writes its reports every 30 s,
/// so what it says can be out of date for so long, also in a report that is
/// new. Two rewritten reports are as good.
inline constexpr std::chrono::seconds kReportLag{60};

/// Stamps of snapshots and of reports are written by several OSDs: they are
/// compared with this margin.
inline constexpr std::chrono::seconds kStampMargin{15};

/// Reports are rewritten every 30 s. One that is younger than this was written
/// by an rbd-mirror that lived as lately as the flag "up" would tell. Well
/// below the settle time: when both sites' rbd-mirrors stop at once, this
/// site's must be seen to be down before the peer's counts as dead.
inline constexpr std::chrono::seconds kJustReported{45};

/// The numbers at the end of a mirror status description, as rbd-mirror writes
/// them: "<text>, {json}". Unknown is absent, never zero.
struct SyncNumbers {
  std::optional<int64_t> local_snapshot_time;   // unix seconds on the primary
  std::optional<int64_t> remote_snapshot_time;  // newest one on the primary
  std::optional<int64_t> last_snapshot_bytes;
  std::optional<int64_t> last_snapshot_seconds;
  std::optional<int64_t> syncing_percent;
  std::optional<int64_t> bytes_per_snapshot;  // a mean, while this daemon runs
  std::optional<int64_t> bytes_per_second;    // a mean of the last half minute
  std::optional<int64_t> entries_behind;      // journal mode: not replayed yet
  bool entries_behind_unclear = false;        // it is told, in another form
  /// Journal mode: false: nothing in it tells of an entry that was replayed.
  bool entry_replayed = true;
  std::string replay_state;  // "idle", "syncing", empty, or an unknown word
};

/// "has not reported for at least 61 s", of an rbd-mirror that is not seen to
/// live. That it is down is known at once, since when is not.
std::string DescribeSilence(SteadyDuration age);

/// The text before the first comma.
std::string DescriptionText(absl::string_view description);

/// nullopt: the description has no numbers. INVALID_ARGUMENT: it has something
/// after the comma that is not one JSON object.
absl::StatusOr<std::optional<SyncNumbers>> ParseSyncNumbers(
    absl::string_view description);

/// When the newest snapshot of the primary that is whole on that site was
/// taken, unix seconds of the primary; nullopt: the description does not say.
std::optional<int64_t> CopiedUpTo(absl::string_view description);

/// The part of a description that changes when something arrives from the
/// primary: which of its snapshots are known and copied, how far a copy is, the
/// journal's positions, the speed. Empty: it tells nothing of this kind.
std::string ArrivalText(absl::string_view description);

/// Whether something arrived between two such texts, of which `before` was
/// first. What is not told any more is no news: the speed falls to zero a
/// report after the last thing that arrived.
bool ShowsArrival(absl::string_view before, absl::string_view now);

/// Journal mode: it replays, and says in no form that this build knows how much
/// is left to replay. That is no word that nothing is.
bool BehindIsUnclear(const SiteStatus& status);

/// Journal mode: it makes a copy of all that the primary has, before it replays
/// anything. Until that ends its image is half empty.
bool CopiesAll(const SiteStatus& status);

/// Journal mode: it replays, and has replayed something. In its first report it
/// only says that it is about to, when no entry was read yet (16.2.15).
bool HasReplayed(const SiteStatus& status);

/// What a site's report says about the role of its image.
enum class Says {
  kPrimary,     // its rbd-mirror found the local image primary
  kNotPrimary,  // both images are demoted, as far as it could see
  kSecondary,   // it replays, or stops replaying
  kSplitBrain,
  kError,  // another error
  /// It starts, which a primary's rbd-mirror does, too; it was stopped, or has
  /// a state that this build does not know.
  kUnclear,
};

/// Role from the state; texts only where the state leaves it open.
Says SaysOf(const SiteStatus& status);

/// rbd-mirror of this site, which reports on its own primary images, too, says
/// that this one is.
bool IsReportedPrimary(const ImageStatuses& image);

/// When rbd-mirror of this site has reported last, on any of these images, unix
/// seconds by its cluster; 0: it has not.
int64_t NewestLocalReport(const std::vector<ImageStatuses>& statuses);

/// Whether the site follows its peer, idle or copying, by the state alone. One
/// that starts or stops does not.
bool IsReplaying(const SiteStatus& status);

/// Whether the site follows its peer and says nothing of a copy under way. A
/// description that this build does not understand is no such word.
bool IsIdle(const SiteStatus& status);

/// Whether the site says that it is copying right now.
bool IsSyncing(const SiteStatus& status);

/// Takes away the reports of sites that are no peers any more. Ceph keeps them
/// until this site's rbd-mirror is started again, and they would count as those
/// of a peer that is silent, or claims to be primary. All stay while one of
/// `peers` has no uuid yet, because theirs cannot be told then.
void DropFormerPeers(const std::vector<MirrorPeer>& peers,
                     std::vector<SiteStatus>* sites);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_REPORT_H_
