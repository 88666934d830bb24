#include "keyrotation/passphrase_wrap.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"

namespace addons {
namespace {

constexpr uint64_t kScryptN = 32768;
constexpr uint64_t kScryptR = 8;
constexpr uint64_t kScryptP = 1;
/// It takes 32 MiB and a little more.
constexpr uint64_t kScryptMemory = uint64_t{64} << 20;
constexpr size_t kKeyBytes = 32;
constexpr size_t kNonceBytes = 12;
constexpr size_t kTagBytes = 16;
constexpr size_t kPassphraseBytes = 20;

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* cipher) const { EVP_CIPHER_CTX_free(cipher); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

// OpenSSL takes bytes as unsigned char.
unsigned char* BytesOf(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}
const unsigned char* BytesOf(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// AES-256-GCM of `text`, its tag behind; empty: it failed.
std::string Seal(const Secret& key, absl::string_view nonce,
                 const std::string& text) {
  const Cipher cipher(EVP_CIPHER_CTX_new());
  std::string sealed(text.size() + kTagBytes, '\0');
  int size = 0;
  if (cipher == nullptr ||
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr,
                         BytesOf(key.Reveal()), BytesOf(nonce)) != 1 ||
      EVP_EncryptUpdate(cipher.get(), BytesOf(sealed), &size, BytesOf(text),
                        static_cast<int>(text.size())) != 1 ||
      EVP_EncryptFinal_ex(cipher.get(), BytesOf(sealed) + size, &size) != 1 ||
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes,
                          BytesOf(sealed) + text.size()) != 1) {
    return "";
  }
  return sealed;
}

/// False: not sealed with this key and nonce, or not at all.
bool Open(const Secret& key, absl::string_view nonce, std::string sealed,
          std::string* text) {
  if (nonce.size() != kNonceBytes || sealed.size() < kTagBytes) return false;
  const Cipher cipher(EVP_CIPHER_CTX_new());
  const size_t size = sealed.size() - kTagBytes;
  text->assign(size, '\0');
  int done = 0;
  return cipher != nullptr &&
         EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr,
                            BytesOf(key.Reveal()), BytesOf(nonce)) == 1 &&
         EVP_DecryptUpdate(cipher.get(), BytesOf(*text), &done, BytesOf(sealed),
                           static_cast<int>(size)) == 1 &&
         EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes,
                             BytesOf(sealed) + size) == 1 &&
         EVP_DecryptFinal_ex(cipher.get(), BytesOf(*text) + done, &done) == 1;
}

/// A member of the object, in base64; false: it is missing or written wrongly.
bool Decode(const nlohmann::json& object, const char* key, std::string* bytes) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() &&
         absl::Base64Unescape(it->get_ref<const std::string&>(), bytes);
}

}  // namespace

absl::StatusOr<PassphraseWrap> PassphraseWrap::Derive(
    const Secret& secret_passphrase, absl::string_view volume_id) {
  std::string key(kKeyBytes, '\0');
  const absl::Cleanup wipe = [&key] { WipeString(key); };
  const std::string& text = secret_passphrase.Reveal();
  if (EVP_PBE_scrypt(text.data(), text.size(), BytesOf(volume_id),
                     volume_id.size(), kScryptN, kScryptR, kScryptP,
                     kScryptMemory, BytesOf(key), key.size()) != 1) {
    return absl::InternalError(
        "Failed to derive a key from the passphrase of the Secret");
  }
  return PassphraseWrap(Secret(key));
}

absl::StatusOr<std::string> PassphraseWrap::Wrap(
    const Secret& passphrase) const {
  std::string nonce(kNonceBytes, '\0');
  const bool random =
      RAND_bytes(BytesOf(nonce), static_cast<int>(nonce.size())) == 1;
  const std::string sealed =
      random ? Seal(key_, nonce, passphrase.Reveal()) : "";
  if (sealed.empty()) {
    return absl::InternalError(
        "Failed to encrypt the passphrase of the volume");
  }
  return absl::StrCat(R"({"dek":")", absl::Base64Escape(sealed),
                      R"(","nonce":")", absl::Base64Escape(nonce), R"("})");
}

absl::StatusOr<Secret> PassphraseWrap::Unwrap(absl::string_view text) const {
  const auto json = ParseJson(text);
  std::string sealed;
  std::string nonce;
  if (!json.is_object() || !Decode(json, "dek", &sealed) ||
      !Decode(json, "nonce", &nonce)) {
    return absl::FailedPreconditionError(
        "the passphrase in the image's metadata is not written as ceph-csi "
        "does");
  }
  std::string passphrase;
  const absl::Cleanup wipe = [&passphrase] { WipeString(passphrase); };
  if (!Open(key_, nonce, std::move(sealed), &passphrase)) {
    return absl::FailedPreconditionError(
        "encryptionPassphrase of the Secret does not decrypt the passphrase in "
        "the image's metadata: it was encrypted with another one, or for "
        "another volume id");
  }
  return Secret(passphrase);
}

absl::StatusOr<Secret> NewPassphrase() {
  std::string bytes(kPassphraseBytes, '\0');
  std::string text;
  const absl::Cleanup wipe = [&bytes, &text] {
    WipeString(bytes);
    WipeString(text);
  };
  if (RAND_priv_bytes(BytesOf(bytes), static_cast<int>(bytes.size())) != 1) {
    return absl::InternalError("Failed to make a passphrase: no random bytes");
  }
  text = absl::Base64Escape(bytes);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return Secret(text);
}

}  // namespace addons
