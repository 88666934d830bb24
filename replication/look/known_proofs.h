#ifndef ADDONS_REPLICATION_LOOK_KNOWN_PROOFS_H_
#define ADDONS_REPLICATION_LOOK_KNOWN_PROOFS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/pool.h"

namespace addons {

struct MirrorView;

// What comparisons with points (docs/points.md) have found on this site is kept
// in its pool and namespace, so that each replica and the next daemon know it.

/// The omap object, which has one value for each image, by its internal id.
inline constexpr char kProofsObject[] = "rbd_addons.proofs";

struct KnownProof {
  std::string point;     // its name
  int64_t made = 0;      // when it was read where it was made, unix seconds
  int64_t compared = 0;  // when that was done here, by the daemon's host
  uint64_t damaged = 0;  // objects that differ, or groups of objects
  uint64_t not_cleared_bytes = 0;

  bool whole() const { return damaged == 0; }
};

/// By image id. Empty: there is none, also where the object is not there. What
/// another version wrote is left out. One read for each thousand images.
absl::StatusOr<std::map<std::string, KnownProof>> ReadProofs(Pool& pool);
/// Of one image; whole and without a name: there is none. One read.
absl::StatusOr<KnownProof> ReadProof(Pool& pool, const std::string& image_id);

/// In the place of the one before, unless that is of a later point. Forgets
/// those of images that have not been compared for a year. `pool` is one of the
/// mutation connection.
absl::Status WriteProof(Pool& pool, const std::string& image_id,
                        const KnownProof& proof);
/// The image has been promoted: from now on what it holds is right. OK also
/// where nothing was known.
absl::Status ForgetProof(Pool& pool, const std::string& image_id);

/// What the image holds came from another site. What this site has demoted
/// itself is no copy before it follows again.
bool IsCopy(const MirrorView& view);

/// Reads what is known of the copy that `view` shows (IsCopy()). One read, of a
/// secondary.
absl::Status AddProof(Pool& pool, MirrorView* view);
/// The same of what ReadProofs() has read.
void AddProof(const std::map<std::string, KnownProof>& proofs,
              MirrorView* view);

/// "whole at point 'x', compared at ...", "damaged at point 'x': 3 objects
/// differ, compared at ..."; empty without a name.
std::string DescribeProof(const KnownProof& proof);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_KNOWN_PROOFS_H_
