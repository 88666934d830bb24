#ifndef ADDONS_VOLUME_TOLD_ENTRY_H_
#define ADDONS_VOLUME_TOLD_ENTRY_H_

#include <map>
#include <string>

#include "volume/volume_journal.h"

namespace addons {

// ceph-csi's journal does not travel to the other site; metadata of an image
// does, unless its key begins with ".rbd". So the image itself tells there what
// the entry of its volume is.

/// What ceph-csi notes on the image of an encrypted volume. The second names
/// are those of old volumes; a value is taken from the first that is there.
inline constexpr char kEncryptedKey[] = "rbd.csi.ceph.com/encrypted";
inline constexpr char kOldEncryptedKey[] = ".rbd.csi.ceph.com/encrypted";
inline constexpr char kPassphraseKey[] = "rbd.csi.ceph.com/dek";
inline constexpr char kOldPassphraseKey[] = ".rbd.csi.ceph.com/dek";

/// Where ceph-csi's own metadata does not tell all of the entry (it writes none
/// without --setmetadata, and never which KMS an encrypted volume has), Enable
/// adds this note.
inline constexpr char kVolumeNoteKey[] = "rbd-addons.volume";

/// What an image tells of its volume's entry.
struct ToldEntry {
  enum class Source { kNothing, kCephCsi, kNote };
  Source source = Source::kNothing;
  /// Empty: not told.
  std::string request_name;
  std::string owner;
  std::string kms_id;
  std::string encryption_type;
  /// The image is encrypted, also where kms_id is not told.
  bool encrypted = false;
};

/// `metadata` is that of the image of volume `uuid`. A note for another volume
/// says nothing, because clones inherit metadata; nor does one that is not in
/// the form that this version knows, or a text that is no name.
ToldEntry ReadToldEntry(const std::map<std::string, std::string>& metadata,
                        const std::string& uuid);

/// "namespace/name" of the volume's claim in Kubernetes, as ceph-csi notes it
/// (--setmetadata); empty: it has not, or no name of Kubernetes is so long.
std::string ReadToldClaim(const std::map<std::string, std::string>& metadata);

/// What has to stand under kVolumeNoteKey for `entry` to be told. Empty: it is
/// told already, or has only a generated name, which says nothing.
std::string VolumeNoteDue(const VolumeAttributes& entry,
                          const std::string& uuid,
                          const std::map<std::string, std::string>& metadata);

/// The name that a volume gets where nobody tells the one of its
/// PersistentVolume: that of its image, which ceph-csi never gives as a name.
inline std::string GeneratedRequestName(const ImageName& image) {
  return image.text();
}

}  // namespace addons

#endif  // ADDONS_VOLUME_TOLD_ENTRY_H_
