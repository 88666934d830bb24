#ifndef ADDONS_VOLUME_VOLUME_ID_H_
#define ADDONS_VOLUME_VOLUME_ID_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/cluster_id.h"

namespace addons {

/// A CSI handle as ceph-csi encodes it, of a volume, a snapshot or a group (the
/// text does not say which):
///   VVVV-LLLL-<cluster id>-PPPPPPPPPPPPPPPP-<uuid>
/// with V encoding version, L byte length of the cluster id, P pool id, all
/// lower-case hex, and a uuid of 36 characters.
struct VolumeId {
  uint16_t version = 1;
  ClusterId cluster_id;
  int64_t pool_id = 0;
  std::string uuid;

  /// INVALID_ARGUMENT when the text is no such handle: wrong lengths,
  /// separators or digits, control characters, longer than 128 bytes, or of
  /// another version than 0001. Upper-case hex digits are accepted. The message
  /// names what is wrong, and the handle as `what`.
  static absl::StatusOr<VolumeId> Parse(absl::string_view text,
                                        absl::string_view what = "volume id");

  /// Whether a driver that encodes handles so may have made it, in whatever
  /// version: what has another shape is none of its volumes.
  static bool HasShape(absl::string_view text);

  /// The inverse of Parse(). INVALID_ARGUMENT when the cluster id is longer
  /// than 64 bytes or the uuid is not 36 bytes long.
  absl::StatusOr<std::string> ToString() const;

  friend bool operator==(const VolumeId&, const VolumeId&) = default;
};

}  // namespace addons

#endif  // ADDONS_VOLUME_VOLUME_ID_H_
