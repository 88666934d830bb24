#ifndef ADDONS_NODE_LUKS_HEADER_H_
#define ADDONS_NODE_LUKS_HEADER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/secret.h"

namespace addons {

/// The LUKS header of one device or file: which of its key slots are in use,
/// and what passphrases open. The data and a mapping that is open are never
/// touched, and the volume key stays what it is.
///
/// Each passphrase that is tried costs one run of the slot's key derivation
/// (half a second to some seconds, and its memory). All methods block for that
/// and for the device's I/O. One thread at a time.
class LuksHeader {
 public:
  virtual ~LuksHeader() = default;
  LuksHeader() = default;
  LuksHeader(const LuksHeader&) = delete;
  LuksHeader& operator=(const LuksHeader&) = delete;

  /// "LUKS1", "LUKS2".
  virtual std::string Format() = 0;
  /// The slots that are not free, ascending. crypt_keyslot_status
  virtual std::vector<int> UsedSlots() = 0;
  /// The slot that `passphrase` opens; nullopt: it opens none. What is learnt
  /// stays in this object, in memory that is wiped, for AddKey().
  /// crypt_volume_key_get
  virtual absl::StatusOr<std::optional<int>> Unlock(
      const Secret& passphrase) = 0;
  /// Whether `passphrase` opens this slot; a free one never.
  /// crypt_activate_by_passphrase without a name
  virtual absl::StatusOr<bool> Opens(int slot, const Secret& passphrase) = 0;
  /// Lets `passphrase` open the free slot `slot` as well, with the key
  /// derivation of the slot that Unlock() found: nothing is measured anew.
  /// FAILED_PRECONDITION: Unlock() has found none.
  /// crypt_keyslot_add_by_volume_key
  virtual absl::Status AddKey(int slot, const Secret& passphrase) = 0;
  /// Destroys the slot's key on the device. OK when it is free already.
  /// crypt_keyslot_destroy
  virtual absl::Status RemoveKey(int slot) = 0;
};

/// Reads the header of a device (or file) as it is there now. crypt_init,
/// crypt_load
///
/// FAILED_PRECONDITION: it has no LUKS header that libcryptsetup reads.
/// PERMISSION_DENIED: it may not be opened. UNAVAILABLE: it is busy. INTERNAL:
/// anything else, an I/O error for instance. So do the errors of its methods.
absl::StatusOr<std::unique_ptr<LuksHeader>> OpenLuksHeader(
    const std::string& path);

}  // namespace addons

#endif  // ADDONS_NODE_LUKS_HEADER_H_
