#ifndef ADDONS_KEYROTATION_ROTATE_H_
#define ADDONS_KEYROTATION_ROTATE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/secret.h"
#include "base/slots.h"
#include "ceph/cluster.h"
#include "node/linux_roots.h"
#include "node/luks_header.h"
#include "node/mapped_devices.h"
#include "operation/operation_context.h"
#include "volume/csi_handle.h"
#include "volume/resolver.h"

namespace addons {

/// What rotating a key works with. What is a reference outlives it.
struct RotationEnvironment {
  Resolver& resolver;
  /// Of ReadKmsKind().
  std::string kms_config_dir = "/etc/ceph-csi-encryption-kms-config";
  LinuxRoots roots = {};
  /// See IdentifyImage(); empty: loop devices are no images.
  std::string image_exports = {};
  /// How many keys are rotated on this node at a time: each takes the memory
  /// and processors of a key derivation. Shared by copies.
  Slots turns{2};
  /// The device's side, which tests replace.
  std::function<absl::Status(const LinuxRoots& roots,
                             const MappedDevice& device)>
      check_node = CheckDeviceNode;
  std::function<absl::StatusOr<std::unique_ptr<LuksHeader>>(
      const std::string& path)>
      open_header = OpenLuksHeader;
};

struct RotationRequest {
  VolumeHandle volume_id;
  CephUserRef user;
  /// `encryptionPassphrase` of the Secret, which ceph-csi uses.
  Secret secret_passphrase;
  /// `previousEncryptionPassphrase`, for KmsKind::kSecret; empty: none.
  Secret previous_passphrase;
  /// The key to change to; empty: one is made.
  Secret wanted;
};

/// Gives an encrypted volume that is mapped on this node a new key:
///
// clang-format off
///   TakeTurn()           "waiting for other rotations on this node"
///   FindVolume()         "finding the volume and its KMS"
///                        ReadKmsKind(), CheckImageEncrypted()
///   FindDevice()         "finding the volume's device"
///                        ListMappedDevices(), ProveByCeph(), check_node()
///   TakeLock()           "waiting for the lock on the rotation": ceph-csi's
///   -- BeginMutation(): nothing is changed above this line --
///   RotateInMetadata()   KmsKind::kMetadata
///                        "looking which key slot the key opens"
///                        Find()    the slot that the KMS's key opens
///                        Tidy()    what an earlier rotation has left
///                        Add()     a new key beside it, verified
///                        "storing the key"
///                        Store()   from here on it is the KMS's
///                        Remove()  the old key
///   MoveToSecret()       KmsKind::kSecret: the new key stands in the Secret
///                        already, so there is nothing to store
// clang-format on
///
/// At every moment a key that the KMS knows opens the volume, and a call after
/// one that died anywhere does the rest. It can be cancelled until
/// BeginMutation().
///
/// INVALID_ARGUMENT: the volume is not encrypted, or the wanted key does not
/// fit the KMS. FAILED_PRECONDITION: it is encrypted in another way, is not
/// mapped on this node (the message names the clients that have it), the KMS is
/// none that this daemon writes to, or its key does not open the volume.
/// ABORTED: another node rotates it, Ceph or the device did not answer.
/// NOT_FOUND, UNAUTHENTICATED: Resolver::Resolve(). PERMISSION_DENIED: the
/// device, or the Ceph user.
absl::Status Rotate(OperationContext& context,
                    const RotationEnvironment& environment,
                    const RotationRequest& request);

}  // namespace addons

#endif  // ADDONS_KEYROTATION_ROTATE_H_
