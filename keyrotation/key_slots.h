#ifndef ADDONS_KEYROTATION_KEY_SLOTS_H_
#define ADDONS_KEYROTATION_KEY_SLOTS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/secret.h"
#include "node/luks_header.h"

namespace addons {

/// Reads the LUKS header of the volume's device as it is now.
using OpenHeader = std::function<absl::StatusOr<std::unique_ptr<LuksHeader>>()>;
/// Called before each change of the header with what is about to be done; not
/// OK: nothing more is changed.
using BeforeChange = std::function<absl::Status(const std::string& step)>;

/// The key slots of a volume, as ceph-csi uses them: slots 0 and 1 are the
/// driver's, one of which holds the volume's key, and the other one is empty
/// but for a rotation that is under way or has died. All others are kept for
/// whoever put a key there. One thread at a time; blocks as LuksHeader does.
class KeySlots {
 public:
  KeySlots(OpenHeader open, BeforeChange before_change)
      : open_(std::move(open)), before_change_(std::move(before_change)) {}

  /// Reads the header and finds the slot that `passphrase` opens. nullopt: it
  /// opens none. Errors of OpenLuksHeader() and LuksHeader::Unlock().
  absl::StatusOr<std::optional<int>> Find(const Secret& passphrase);

  /// Removes what rotations have left, when `passphrase` was found in `live`:
  /// the driver's other slot, and each slot that this passphrase or one of
  /// `former` opens as well. A passphrase in a slot that is not the driver's is
  /// moved to one of those. Returns where it is then; from then on the other
  /// one of the driver's slots is free. FAILED_PRECONDITION, nothing changed:
  /// it is elsewhere, and the driver's slots are in use by keys that the KMS
  /// does not know.
  absl::StatusOr<int> Tidy(int live, const Secret& passphrase,
                           const std::vector<const Secret*>& former = {});

  /// Lets `next` open the driver's other slot than `live`, and returns it once
  /// the header, read anew, is opened by it. Find() was the last to unlock.
  absl::StatusOr<int> Add(int live, const Secret& next);
  /// Removes the key of a slot, and reads the header anew to see it.
  absl::Status Remove(int slot);

  /// "1, 3": the slots that Tidy() and Remove() have removed so far.
  std::string removed() const;
  /// The slots in use that are not the driver's. Reads nothing.
  std::string kept() const;
  /// "LUKS2"; empty before Find().
  std::string format() const;

 private:
  absl::Status Load();
  /// Writes and verifies one key in a free slot.
  absl::Status AddTo(int slot, const Secret& passphrase);

  const OpenHeader open_;
  const BeforeChange before_change_;
  std::unique_ptr<LuksHeader> header_;
  std::vector<int> removed_;
};

}  // namespace addons

#endif  // ADDONS_KEYROTATION_KEY_SLOTS_H_
