#ifndef ADDONS_KEYROTATION_KMS_CONFIG_H_
#define ADDONS_KEYROTATION_KMS_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"

namespace addons {

/// The KMS that this daemon can rotate keys of.
enum class KmsKind {
  /// ceph-csi's "default": the passphrase stands in the Secret of the call, one
  /// for all volumes.
  kSecret,
  /// ceph-csi's "metadata": each volume has its own, in its image's metadata,
  /// encrypted with the one in the Secret.
  kMetadata,
};

/// What the KMS `id` is, which stands in ceph-csi's journal: "default" or a
/// name in ceph-csi's configuration. That is the file config.json in
/// `directory`, an object with a member for each KMS; where there is none, the
/// file `directory`/`id`, as ceph-csi's other ConfigMap looks when it is
/// mounted. Read anew each time.
///
/// FAILED_PRECONDITION: it is not there, cannot be read, or is a KMS that this
/// daemon does not write to; the message names the KMS.
absl::StatusOr<KmsKind> ReadKmsKind(const std::string& directory,
                                    const std::string& id);

}  // namespace addons

#endif  // ADDONS_KEYROTATION_KMS_CONFIG_H_
