#ifndef ADDONS_KEYROTATION_KEY_STORE_H_
#define ADDONS_KEYROTATION_KEY_STORE_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/secret.h"
#include "ceph/pool.h"
#include "keyrotation/passphrase_wrap.h"
#include "volume/resolved.h"
#include "volume/told_entry.h"

namespace addons {

/// Whether the image of the volume holds a LUKS header, as ceph-csi notes it
/// there. OK: it does. FAILED_PRECONDITION: not yet, or it is a secondary,
/// which only follows.
absl::Status CheckImageEncrypted(Pool& pool, const ResolvedVolume& volume);

/// The passphrase of one volume in ceph-csi's KMS "metadata". One thread at a
/// time. Blocks, and errors, as Pool and Image do.
class MetadataKeyStore {
 public:
  /// The volume's pool, for reads and for changes; nothing is owned.
  MetadataKeyStore(Pool& reads, Pool& changes, const ResolvedVolume& volume,
                   PassphraseWrap wrap)
      : reads_(reads),
        changes_(changes),
        volume_(volume),
        wrap_(std::move(wrap)) {}

  /// By which ceph-csi opens the volume. FAILED_PRECONDITION: there is none, or
  /// it does not decrypt.
  absl::StatusOr<Secret> Current();
  /// From now on ceph-csi opens the volume by this one; read back. Not OK:
  /// Current() tells which of the two it is.
  absl::Status Store(const Secret& passphrase);

 private:
  Pool& reads_;
  Pool& changes_;
  const ResolvedVolume& volume_;
  const PassphraseWrap wrap_;
};

}  // namespace addons

#endif  // ADDONS_KEYROTATION_KEY_STORE_H_
