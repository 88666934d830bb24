#ifndef ADDONS_REPLICATION_STEPS_PARENT_H_
#define ADDONS_REPLICATION_STEPS_PARENT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "replication/environment.h"
#include "replication/parameters.h"
#include "replication/session.h"

namespace addons {

/// An entry of the manager's task queue.
struct FlattenTask {
  std::optional<double> progress;  // 0 to 1; nullopt: it has not begun
};

/// The task that flattens the image `spec` ("pool/image",
/// "pool/namespace/image"), from the answer to `rbd task list`; nullopt: none
/// is queued. INTERNAL naming the command: the answer is not understood, so
/// that nobody takes it for an empty queue.
absl::StatusOr<std::optional<FlattenTask>> FindFlattenTask(
    const std::string& list, const std::string& spec);

/// Makes sure that a clone can be mirrored; `view` is a look of this call. OK:
/// the image has no parent (any more), or, in journal mode with
/// FlattenMode::kNever, its parent is mirrored. FAILED_PRECONDITION (only with
/// kNever): snapshot mode, which loses what a clone has from its parent; or, in
/// journal mode, the parent is in the trash or not mirrored.
///
/// With FlattenMode::kForce the image is flattened, by the manager's task queue
/// or, where that does not exist, in this process; progress is reported; the
/// work goes on without callers.
absl::Status PrepareParent(Session& session, const MirrorView& view,
                           MirrorMode mirror_mode, FlattenMode mode);

/// Writes down that an image which is mirrored by snapshots has a parent, see
/// mirrored_clone.h. Changes nothing when that is written already, or on a
/// secondary, where nothing can be written. `view` is a look of this call, and
/// shows it afterwards.
absl::Status RememberClone(Session& session, MirrorView* view);

/// "pool/image" of each clone of `image` that is mirrored; librbd disables no
/// parent of such a one, also by force. One question for each clone.
absl::StatusOr<std::vector<std::string>> MirroredClones(Cluster& cluster,
                                                        Image& image);
/// "it is the parent of pool/c1, which is mirrored, ...", and what to do.
std::string DescribeMirroredClones(const std::vector<std::string>& clones);

/// Says in the log what a forced promotion of a clone goes without.
void WarnOfCloneLoss(const Session& session, const MirrorView& view);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_PARENT_H_
