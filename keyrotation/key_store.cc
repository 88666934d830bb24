#include "keyrotation/key_store.h"

#include <memory>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/image.h"

namespace addons {
namespace {

constexpr char kIsEncrypted[] = "encrypted";

/// The value under the first of two keys that is there.
absl::StatusOr<std::optional<std::string>> MetadataOfEither(
    Image& image, const char* key, const char* old_key) {
  ADDONS_ASSIGN_OR_RETURN(auto value, image.Metadata(key));
  if (value.has_value()) return value;
  return image.Metadata(old_key);
}

}  // namespace

absl::Status CheckImageEncrypted(Pool& pool, const ResolvedVolume& volume) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                          pool.OpenImageReadOnly(volume.image_name()));
  ADDONS_ASSIGN_OR_RETURN(const bool secondary, image->MarkedNonPrimary());
  if (secondary) {
    return absl::FailedPreconditionError(
        "the image is a secondary on this site; rotate the key on the site "
        "where it is primary, and this one follows");
  }
  ADDONS_ASSIGN_OR_RETURN(
      const std::optional<std::string> state,
      MetadataOfEither(*image, kEncryptedKey, kOldEncryptedKey));
  if (absl::StripAsciiWhitespace(state.value_or("")) == kIsEncrypted) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the image is not encrypted yet (its metadata ",
                   kEncryptedKey, " is '", state.value_or(""),
                   "'): ceph-csi does that when a pod uses the volume "
                   "for the first time"));
}

absl::StatusOr<Secret> MetadataKeyStore::Current() {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                          reads_.OpenImageReadOnly(volume_.image_name()));
  ADDONS_ASSIGN_OR_RETURN(
      const std::optional<std::string> text,
      MetadataOfEither(*image, kPassphraseKey, kOldPassphraseKey));
  if (!text.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the image's metadata has no passphrase (", kPassphraseKey, ")"));
  }
  return wrap_.Unwrap(*text);
}

absl::Status MetadataKeyStore::Store(const Secret& passphrase) {
  ADDONS_ASSIGN_OR_RETURN(const std::string text, wrap_.Wrap(passphrase));
  {
    ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                            changes_.OpenImage(volume_.image_name()));
    ADDONS_RETURN_IF_ERROR(image->SetMetadata(kPassphraseKey, text));
    // ceph-csi does not look at the old one any more.
    ADDONS_ASSIGN_OR_RETURN(const auto old, image->Metadata(kOldPassphraseKey));
    if (old.has_value()) {
      ADDONS_RETURN_IF_ERROR(image->RemoveMetadata(kOldPassphraseKey));
    }
    ADDONS_RETURN_IF_ERROR(image->Close());
  }
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                          reads_.OpenImageReadOnly(volume_.image_name()));
  ADDONS_ASSIGN_OR_RETURN(const auto stored, image->Metadata(kPassphraseKey));
  if (stored == text) return absl::OkStatus();
  return absl::UnavailableError(
      "the image's metadata has another passphrase than was written just now");
}

}  // namespace addons
