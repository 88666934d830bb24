#include "base/secret.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "absl/strings/escaping.h"

namespace addons {

void WipeString(std::string& text) {
  OPENSSL_cleanse(text.data(), text.size());
  text.clear();
}

Secret::~Secret() { Wipe(); }

// A moved-from short string keeps its bytes in place, so it is wiped as well.
// NOLINTNEXTLINE(performance-move-constructor-init): copied on purpose.
Secret::Secret(Secret&& other) noexcept : text_(other.text_) { other.Wipe(); }

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    Wipe();
    text_ = other.text_;
    other.Wipe();
  }
  return *this;
}

void Secret::Wipe() { WipeString(text_); }

std::string Secret::Fingerprint() const {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(text_.data()), text_.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return absl::BytesToHexString(digest);
}

}  // namespace addons
