#include "keyrotation/key_slots.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace addons {
namespace {

constexpr int kDriverSlots = 2;

bool IsDrivers(int slot) { return slot < kDriverSlots; }
int OtherThan(int slot) { return 1 - slot; }

bool Contains(const std::vector<int>& slots, int slot) {
  return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

}  // namespace

absl::Status KeySlots::Load() {
  ADDONS_ASSIGN_OR_RETURN(header_, open_());
  return absl::OkStatus();
}

absl::StatusOr<std::optional<int>> KeySlots::Find(const Secret& passphrase) {
  ADDONS_RETURN_IF_ERROR(Load());
  return header_->Unlock(passphrase);
}

absl::Status KeySlots::AddTo(int slot, const Secret& passphrase) {
  ADDONS_RETURN_IF_ERROR(
      before_change_(absl::StrCat("writing key slot ", slot)));
  ADDONS_RETURN_IF_ERROR(header_->AddKey(slot, passphrase));
  // What the next one who opens the device will find is what counts.
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<LuksHeader> written, open_());
  ADDONS_ASSIGN_OR_RETURN(const bool opens, written->Opens(slot, passphrase));
  if (opens) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("key slot ", slot,
                   " was written, and its passphrase does not open it; the "
                   "old key still does"));
}

absl::Status KeySlots::Remove(int slot) {
  ADDONS_RETURN_IF_ERROR(
      before_change_(absl::StrCat("removing key slot ", slot)));
  ADDONS_RETURN_IF_ERROR(header_->RemoveKey(slot));
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<LuksHeader> written, open_());
  if (Contains(written->UsedSlots(), slot)) {
    return absl::InternalError(
        absl::StrCat("key slot ", slot, " was removed, and is still there"));
  }
  removed_.push_back(slot);
  return absl::OkStatus();
}

absl::StatusOr<int> KeySlots::Tidy(int live, const Secret& passphrase,
                                   const std::vector<const Secret*>& former) {
  const std::vector<int> used = header_->UsedSlots();
  // LUKS2 tries slots in the order in which they were written, so one of the
  // driver's may have the same key.
  for (int slot = 0; !IsDrivers(live) && IsDrivers(slot); ++slot) {
    if (!Contains(used, slot)) continue;
    ADDONS_ASSIGN_OR_RETURN(const bool opens, header_->Opens(slot, passphrase));
    if (opens) live = slot;
  }
  const bool drivers = IsDrivers(live);
  if (!drivers && (Contains(used, 0) || Contains(used, 1))) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the volume's key is in key slot ", live,
        ", and slots 0 and 1, which the driver rotates in, are in use by keys "
        "that the KMS does not know (slots in use: ",
        absl::StrJoin(used, ", "),
        "); free 0 and 1 with 'cryptsetup luksKillSlot'; nothing was changed"));
  }
  std::vector<int> surplus;
  for (const int slot : used) {
    if (slot == live) continue;
    bool known = IsDrivers(slot);
    if (!known) {
      ADDONS_ASSIGN_OR_RETURN(known, header_->Opens(slot, passphrase));
    }
    for (const Secret* const secret : former) {
      if (known) break;
      ADDONS_ASSIGN_OR_RETURN(known, header_->Opens(slot, *secret));
    }
    if (known) surplus.push_back(slot);
  }
  if (!drivers) {
    ADDONS_RETURN_IF_ERROR(AddTo(0, passphrase));
    surplus.push_back(live);
    live = 0;
  }
  for (const int slot : surplus) ADDONS_RETURN_IF_ERROR(Remove(slot));
  return live;
}

absl::StatusOr<int> KeySlots::Add(int live, const Secret& next) {
  const int slot = OtherThan(live);
  ADDONS_RETURN_IF_ERROR(AddTo(slot, next));
  return slot;
}

std::string KeySlots::removed() const { return absl::StrJoin(removed_, ", "); }

std::string KeySlots::kept() const {
  std::vector<int> kept;
  if (header_ != nullptr) kept = header_->UsedSlots();
  std::erase_if(kept, IsDrivers);
  return absl::StrJoin(kept, ", ");
}

std::string KeySlots::format() const {
  return header_ == nullptr ? "" : header_->Format();
}

}  // namespace addons
