#include "node/luks_header.h"

#include <libcryptsetup.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace addons {
namespace {

/// Where it makes lock files for block devices; its own default.
constexpr char kLocks[] = "/run/cryptsetup";

struct FreeCrypt {
  void operator()(crypt_device* device) const { crypt_free(device); }
};
using CryptDevice = std::unique_ptr<crypt_device, FreeCrypt>;

/// Bytes in memory of libcryptsetup, which wipes it.
struct FreeSafely {
  void operator()(char* bytes) const { crypt_safe_free(bytes); }
};
using SafeBytes = std::unique_ptr<char, FreeSafely>;

class CryptHeader final : public LuksHeader {
 public:
  explicit CryptHeader(std::string path) : path_(std::move(path)) {}

  absl::Status Load() {
    // What it says of no device in particular would go to standard output.
    static const bool quiet =
        (crypt_set_log_callback(
             nullptr, [](int, const char*, void*) {}, nullptr),
         true);
    static_cast<void>(quiet);
    crypt_device* device = nullptr;
    int r = crypt_init(&device, path_.c_str());
    if (r < 0) return Error(r, "open the device");
    device_.reset(device);
    crypt_set_log_callback(device_.get(), KeepError, this);
    r = crypt_load(device_.get(), CRYPT_LUKS, nullptr);
    if (r < 0 && !MayLock()) {
      return absl::FailedPreconditionError(
          absl::StrCat("libcryptsetup cannot lock ", path_, ": ", kLocks,
                       " must be a folder that this daemon can write to"));
    }
    if (r == -EINVAL || r == -ENOENT) {
      return absl::FailedPreconditionError(absl::StrCat(
          path_, " has no LUKS header that libcryptsetup reads", Said()));
    }
    return r < 0 ? Error(r, "read the LUKS header") : absl::OkStatus();
  }

  std::string Format() override {
    const char* format = crypt_get_type(device_.get());
    return format == nullptr ? "" : format;
  }

  std::vector<int> UsedSlots() override {
    std::vector<int> used;
    const int count = crypt_keyslot_max(crypt_get_type(device_.get()));
    for (int slot = 0; slot < count; ++slot) {
      if (!IsFree(slot)) used.push_back(slot);
    }
    return used;
  }

  absl::StatusOr<std::optional<int>> Unlock(const Secret& passphrase) override {
    key_.reset();
    const int size = crypt_get_volume_key_size(device_.get());
    if (size <= 0) return Error(-EINVAL, "learn the size of the volume key");
    key_size_ = static_cast<size_t>(size);
    SafeBytes key(static_cast<char*>(crypt_safe_alloc(key_size_)));
    if (key == nullptr) return Error(-ENOMEM, "unlock");
    said_.clear();
    const std::string& text = passphrase.Reveal();
    const int r = crypt_volume_key_get(device_.get(), CRYPT_ANY_SLOT, key.get(),
                                       &key_size_, text.data(), text.size());
    // EPERM: no slot has this passphrase; ENOENT: there is no slot at all.
    if (r == -EPERM || r == -ENOENT) return std::nullopt;
    if (r < 0) return Error(r, "unlock");
    ADDONS_RETURN_IF_ERROR(KeepDerivation(r));
    key_ = std::move(key);
    return r;
  }

  absl::StatusOr<bool> Opens(int slot, const Secret& passphrase) override {
    if (IsFree(slot)) return false;
    said_.clear();
    const std::string& text = passphrase.Reveal();
    const int r = crypt_activate_by_passphrase(device_.get(), nullptr, slot,
                                               text.data(), text.size(), 0);
    if (r == -EPERM) return false;
    if (r < 0) return Error(r, absl::StrCat("try key slot ", slot));
    return true;
  }

  absl::Status AddKey(int slot, const Secret& passphrase) override {
    if (key_ == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat(path_, " was not unlocked"));
    }
    said_.clear();
    int r = crypt_set_pbkdf_type(device_.get(), &derivation_);
    if (r < 0) return Error(r, "set the key derivation");
    const std::string& text = passphrase.Reveal();
    r = crypt_keyslot_add_by_volume_key(device_.get(), slot, key_.get(),
                                        key_size_, text.data(), text.size());
    return r < 0 ? Error(r, absl::StrCat("write key slot ", slot))
                 : absl::OkStatus();
  }

  absl::Status RemoveKey(int slot) override {
    if (IsFree(slot)) return absl::OkStatus();
    said_.clear();
    const int r = crypt_keyslot_destroy(device_.get(), slot);
    return r < 0 ? Error(r, absl::StrCat("remove key slot ", slot))
                 : absl::OkStatus();
  }

 private:
  /// Without that, no header of a block device can be read; it answers EBUSY or
  /// EINVAL then.
  bool MayLock() const {
    struct stat info {};
    return stat(path_.c_str(), &info) != 0 || !S_ISBLK(info.st_mode) ||
           access(kLocks, W_OK) == 0;
  }
  bool IsFree(int slot) const {
    const crypt_keyslot_info info = crypt_keyslot_status(device_.get(), slot);
    return info == CRYPT_SLOT_INACTIVE || info == CRYPT_SLOT_INVALID;
  }

  /// Of a slot that is removed later, maybe.
  absl::Status KeepDerivation(int slot) {
    const int r = crypt_keyslot_get_pbkdf(device_.get(), slot, &derivation_);
    if (r < 0) return Error(r, "read the key derivation");
    derivation_type_ = derivation_.type;
    derivation_hash_ = derivation_.hash == nullptr ? "" : derivation_.hash;
    derivation_.type = derivation_type_.c_str();
    derivation_.hash =
        derivation_.hash == nullptr ? nullptr : derivation_hash_.c_str();
    derivation_.time_ms = 0;
    derivation_.flags = CRYPT_PBKDF_NO_BENCHMARK;
    return absl::OkStatus();
  }

  /// The last error of libcryptsetup: names of devices and slots, no secret.
  static void KeepError(int level, const char* message, void* self) {
    if (level != CRYPT_LOG_ERROR || message == nullptr) return;
    static_cast<CryptHeader*>(self)->said_ =
        std::string(absl::StripAsciiWhitespace(message));
  }
  std::string Said() const {
    return said_.empty() ? "" : absl::StrCat(" (", said_, ")");
  }

  absl::Status Error(int result, absl::string_view action) const {
    const std::string text =
        absl::StrCat("Failed to ", action, " of ", path_, ": ",
                     std::generic_category().message(-result), Said());
    switch (-result) {
      case EACCES:
      case EPERM:
        return absl::PermissionDeniedError(text);
      case EBUSY:
      case EAGAIN:
        return absl::UnavailableError(text);
      default:
        return absl::InternalError(text);
    }
  }

  const std::string path_;
  CryptDevice device_;
  SafeBytes key_;  // the volume key, once unlocked
  size_t key_size_ = 0;
  crypt_pbkdf_type derivation_{};  // of the slot that was unlocked
  std::string derivation_type_;
  std::string derivation_hash_;
  std::string said_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LuksHeader>> OpenLuksHeader(
    const std::string& path) {
  auto header = std::make_unique<CryptHeader>(path);
  if (absl::Status status = header->Load(); !status.ok()) return status;
  return header;
}

}  // namespace addons
