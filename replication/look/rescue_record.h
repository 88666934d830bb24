#ifndef ADDONS_REPLICATION_LOOK_RESCUE_RECORD_H_
#define ADDONS_REPLICATION_LOOK_RESCUE_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/image_name.h"
#include "ceph/image.h"
#include "ceph/pool.h"
#include "replication/look/mirror_view.h"

namespace addons {

/// How far the rescue of an image is; see rescue.h.
enum class RescueStep {
  kSaving,     // its rescue image is not complete yet
  kSaved,      // the rescue image holds what the last complete state needs
  kPromoting,  // and the image itself need not hold anything whole any more
  kMarked,     // likewise, and the incomplete snapshot may be noted as complete
  kWritten,    // so it was, and somebody has written to the image since
  kWhole,      // the image holds it again, but no mirror snapshot does
  kRestored,   // the rescue image can go
};

/// "promoting" and the like, as the rescue image says it.
absl::string_view StepName(RescueStep step);

/// What a rescue image says about itself. Kept as its metadata, so that every
/// daemon finds it at any time.
struct RescueRecord {
  RescueStep step = RescueStep::kSaving;
  std::string image_id;      // of the image that is rescued
  uint64_t snapshot_id = 0;  // the incomplete one, which reads as that state
  /// The one that reads as the state to return to; 0: that is `snapshot_id`.
  /// Set where a snapshot of a user is between the two.
  uint64_t state_snapshot_id = 0;
  /// How many objects of `snapshot_id` are noted while it is noted as complete:
  /// a copy that became so has others.
  uint64_t marked_objects = 0;
  uint64_t bytes = 0;  // the size of the image in that state
  /// Which metadata says where the rescue image holds something, and in how
  /// many values.
  uint64_t ranges_generation = 0;
  uint64_t ranges_values = 0;
  /// The primary snapshot that the promotion made: what is newer was written
  /// since. 0: not known.
  uint64_t promotion_snapshot_id = 0;
};

/// The name of the rescue image of `image`, in the same pool and namespace.
ImageName RescueImageName(const ImageName& image);

/// nullopt: `image` has no rescue image. One without a record is one that was
/// not even begun: kSaving for no image. UNAVAILABLE: its record has a step or
/// a form that this version does not know; who is told so leaves the rescue
/// image alone. Opens read-only.
absl::StatusOr<std::optional<RescueRecord>> ReadRescueRecord(
    Pool& pool, const ImageName& image);
/// The same of the image that `view` shows, which ShowMarked() then.
absl::StatusOr<std::optional<RescueRecord>> ReadRescueRecord(
    Pool& pool, const ImageName& image, MirrorView* view);
absl::StatusOr<RescueRecord> ReadRescueRecord(Image& rescue_image);
absl::Status WriteRescueRecord(Image& rescue_image, const RescueRecord& record);

/// Where the rescue image holds what the last complete state needs, ascending.
/// Writing them changes no record: `record`, which is to be written afterwards,
/// is told where they are. INTERNAL: they cannot be read.
absl::StatusOr<std::vector<ImageRange>> ReadRescueRanges(
    Image& rescue_image, const RescueRecord& record);
absl::Status WriteRescueRanges(Image& rescue_image,
                               const std::vector<ImageRange>& ranges,
                               RescueRecord* record);

/// What an administrator has decided about writes that came after the
/// promotion: metadata of the rescue image under this key.
inline constexpr char kRescueDecision[] = "rbd-addons.rescue.decision";
inline constexpr char kKeepWhatWasWritten[] = "keep";
inline constexpr char kOverwriteWhatWasWritten[] = "restore";

/// The newest snapshot that came from a peer when that one is incomplete and an
/// earlier one is whole, so that it reads as the last complete state; nullptr:
/// there is none. What a broken-off forced promotion left behind (complete, and
/// from no peer) does not count.
const MirrorSnapshot* RescueSnapshot(const MirrorView& view);
/// The newest whole one before RescueSnapshot(), which librbd returns to;
/// nullptr where that is.
const MirrorSnapshot* WholeBeforeRescue(const MirrorView& view);

/// A snapshot of a user that came with RescueSnapshot(), nullptr: none. Then
/// the incomplete snapshot reads as a mixture: what is left complete is what
/// WholeBeforeRescue() reads as, the state before its own copy. A forced
/// promotion (or disabling) crashes librbd 16.2 and 17 to 20 then
/// (tracker.ceph.com/issues/70075).
const ImageSnapshot* UserSnapshotInMidCopy(const MirrorView& view);
/// All of them.
std::vector<uint64_t> UserSnapshotsInMidCopy(
    const std::vector<ImageSnapshot>& snapshots, uint64_t whole_id,
    uint64_t incomplete_id);
/// Of a secondary: those that are newer than all mirror snapshots. rbd-mirror
/// brings the names of a user's snapshots first, then the mirror snapshot, and
/// then what both hold. None where the newest one is of this site.
std::vector<uint64_t> UserSnapshotsWithoutCopy(const MirrorView& view);
/// For messages, after "Failed to ...: ".
std::string DescribeUserSnapshotInMidCopy(const ImageSnapshot& snapshot);

/// `snapshot`, of the image that `record` is about, is noted as complete by a
/// promotion (RescueStep::kMarked), and is not.
bool IsMarked(const RescueRecord& record, const MirrorSnapshot& snapshot);
/// `view` then shows it as what it is: incomplete.
void ShowMarked(const std::optional<RescueRecord>& record, MirrorView* view);
/// And something was copied on top of it since: nothing on this site is
/// complete any more.
bool MarkedCopyWentOn(const std::optional<RescueRecord>& record,
                      const MirrorView& view);
/// For messages, after "Failed to ...: ".
inline constexpr char kMarkedCopyWentOn[] =
    "a forced promotion died here and left a copy noted as complete that was "
    "not, and rbd-mirror has copied on top of it since: nothing on this site "
    "is complete any more; resync the image here";

/// The snapshots that came from a peer and are incomplete. Once the image is
/// primary they are of no use, and half a demotion is harmful: the peer that
/// made it takes it for what it has itself, and would go on from there, without
/// a resync, with another content.
std::vector<uint64_t> HalfCopies(const MirrorView& view);
/// Also the one that `record` says is not complete, although it is noted so.
std::vector<uint64_t> HalfCopies(const std::vector<MirrorSnapshot>& snapshots,
                                 const std::optional<RescueRecord>& record);

/// The newest snapshot that came from a peer is incomplete.
bool InMidCopy(const MirrorView& view);

/// Whether the image must still get its last complete state back from the
/// rescue image: it was about to be promoted for that, and nothing whole has
/// arrived since.
bool AwaitsRestore(const RescueRecord& record, const MirrorView& view);

/// For messages, about an image that AwaitsRestore(); `rescue_spec` names its
/// rescue image with the pool.
std::string DescribeAwaitedRestore(const RescueRecord& record,
                                   const ImageName& image,
                                   absl::string_view rescue_spec);

/// The promotion's own snapshot: that of the record, or else the oldest primary
/// one since. 0: there is none.
uint64_t PromotionSnapshot(const RescueRecord& record, const MirrorView& view);

/// Of a primary: a copy began between the last look of a forced promotion and
/// librbd's own, so that nobody has saved what its incomplete snapshot reads
/// as, which is the last complete state; `record` is that of the rescue image,
/// if there is one. nullptr: there is none, or this site has gone on since.
const MirrorSnapshot* UnsavedHalfCopy(
    const MirrorView& view, const std::optional<RescueRecord>& record);

/// Whether the rescue image may still be needed: AwaitsRestore(), or it is made
/// for the snapshot that is incomplete now, or it alone tells that the image is
/// not complete, MarkedCopyWentOn().
bool RescueIsLive(const RescueRecord& record, const MirrorView& view);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_RESCUE_RECORD_H_
