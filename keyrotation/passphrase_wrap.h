#ifndef ADDONS_KEYROTATION_PASSPHRASE_WRAP_H_
#define ADDONS_KEYROTATION_PASSPHRASE_WRAP_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/secret.h"

namespace addons {

/// How ceph-csi's KMS "metadata" keeps the passphrase of a volume in the
/// metadata of its image: {"dek":"...","nonce":"..."}, each in base64. `dek` is
/// the passphrase in AES-256-GCM with its tag behind, `nonce` are 12 random
/// bytes. The key comes by scrypt (N 32768, r 8, p 1) from the passphrase of
/// the Secret, with the volume id as the salt.
class PassphraseWrap {
 public:
  /// Takes 0.1 s and 32 MiB. INTERNAL: no memory for it.
  static absl::StatusOr<PassphraseWrap> Derive(const Secret& secret_passphrase,
                                               absl::string_view volume_id);

  /// Another text each time. INTERNAL: no random bytes, no memory.
  absl::StatusOr<std::string> Wrap(const Secret& passphrase) const;
  /// FAILED_PRECONDITION: `text` is not written so, or with another Secret or
  /// for another volume.
  absl::StatusOr<Secret> Unwrap(absl::string_view text) const;

 private:
  explicit PassphraseWrap(Secret key) : key_(std::move(key)) {}
  Secret key_;
};

/// A passphrase as ceph-csi makes them: 20 random bytes in base64 for URLs, 28
/// characters. INTERNAL: no random bytes.
absl::StatusOr<Secret> NewPassphrase();

}  // namespace addons

#endif  // ADDONS_KEYROTATION_PASSPHRASE_WRAP_H_
