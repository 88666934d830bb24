#ifndef ADDONS_VOLUME_GROUP_IMAGES_H_
#define ADDONS_VOLUME_GROUP_IMAGES_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/image_name.h"
#include "ceph/image.h"
#include "volume/resolved.h"

namespace addons {

/// The images in the rbd group of a volume group on this site. librbd notes an
/// image first in the group, then in the image, then that it is complete; and
/// takes one out in reverse. A call that dies in between leaves it incomplete,
/// and the same call once more finishes it (measured, 16.2.15). Then the image
/// may not name the group, while the group still has it.
///
/// Every call opens the pool anew and blocks as that of Pool. Thread-safe.
class GroupImages {
 public:
  /// Pool id and image name.
  using Names = std::set<std::pair<int64_t, ImageName>>;

  /// `group` is not owned.
  explicit GroupImages(const ResolvedGroup& group) : group_(group) {}

  /// Whether this is the group that an image says it is in. That does not mean
  /// that it is complete there.
  bool NamedBy(const std::optional<GroupSpec>& image) const;
  /// All that the group has, or those that are complete there. Empty when one
  /// of the images is gone: then librbd shows none of them.
  absl::StatusOr<Names> All() const;
  absl::StatusOr<Names> Complete() const;
  /// Puts the image into the group, which exists. Idempotent. ALREADY_EXISTS:
  /// it is in another group. NOT_FOUND: no such group or image.
  absl::Status Add(const ResolvedVolume& volume) const;
  /// Takes the image with this internal id, of the volume's pool, which is in
  /// no other group, out of this one. OK also when it is not in it, or there is
  /// no such group.
  absl::Status Remove(const ResolvedVolume& volume,
                      const std::string& image_id) const;

 private:
  absl::StatusOr<Names> List(bool incomplete_too) const;

  const ResolvedGroup& group_;
};

}  // namespace addons

#endif  // ADDONS_VOLUME_GROUP_IMAGES_H_
