#ifndef ADDONS_REPLICATION_RESCUE_RECORD_H_
#define ADDONS_REPLICATION_RESCUE_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ceph/image.h"
#include "ceph/pool.h"
#include "replication/mirror_view.h"

namespace addons {

/// How far the rescue of an image is; see rescue.h.
enum class RescueStep {
  kSaving,     // its rescue image is not whole yet
  kSaved,      // the rescue image holds the last whole state
  kPromoting,  // and the image itself need not hold anything whole any more
  kRestored,   // the image holds it again; the rescue image can go
};

/// What a rescue image says about itself. Kept as its metadata, so that every
/// daemon finds it at any time.
struct RescueRecord {
  RescueStep step = RescueStep::kSaving;
  std::string image_id;      // of the image that is rescued
  uint64_t snapshot_id = 0;  // the incomplete one, which reads as that state
};

/// The name of the rescue image of `image`, in the same pool and namespace.
std::string RescueImageName(absl::string_view image);

/// nullopt: `image` has no rescue image. One without a record that can be read
/// is one that was not even begun: kSaving for no image. Opens read-only.
absl::StatusOr<std::optional<RescueRecord>> ReadRescueRecord(
    Pool& pool, const std::string& image);
absl::StatusOr<RescueRecord> ReadRescueRecord(Image& rescue_image);
absl::Status WriteRescueRecord(Image& rescue_image, const RescueRecord& record);

/// The newest snapshot that came from a peer when that one is incomplete and an
/// earlier one is whole, so that it reads as the last whole state; nullptr:
/// there is none. What a broken-off forced promotion left behind (complete, and
/// from no peer) does not count.
const MirrorSnapshot* RescueSnapshot(const MirrorView& view);

/// The snapshots that came from a peer and are incomplete. Once the image is
/// primary they are of no use, and half a demotion is harmful: the peer that
/// made it takes it for what it has itself, and would go on from there, without
/// a resync, with another content.
std::vector<uint64_t> HalfCopies(const MirrorView& view);

/// The newest snapshot that came from a peer is incomplete.
bool InMidCopy(const MirrorView& view);

/// Whether the image must still get its last whole state back from the rescue
/// image: it was about to be promoted for that, and nothing whole has arrived
/// since.
bool AwaitsRestore(const RescueRecord& record, const MirrorView& view);

/// For messages, about an image that AwaitsRestore().
std::string DescribeAwaitedRestore(absl::string_view image);

/// Whether the rescue image may still be needed: AwaitsRestore(), or it is made
/// for the snapshot that is incomplete now.
bool RescueIsLive(const RescueRecord& record, const MirrorView& view);

}  // namespace addons

#endif  // ADDONS_REPLICATION_RESCUE_RECORD_H_
