#ifndef ADDONS_BASE_SECRET_H_
#define ADDONS_BASE_SECRET_H_

#include <string>

#include "absl/strings/string_view.h"

namespace addons {

/// A string that must not be seen: no printing, no implicit copy, wiped when it
/// dies. Reveal() is for the code that hands it to Ceph and for nothing else.
class Secret {
 public:
  Secret() = default;
  explicit Secret(absl::string_view text) : text_(text) {}
  ~Secret();
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;

  /// An explicit copy.
  Secret Clone() const { return Secret(text_); }
  bool empty() const { return text_.empty(); }
  const std::string& Reveal() const { return text_; }
  /// SHA-256 in hex: tells two keys apart (connection cache) without showing
  /// them.
  std::string Fingerprint() const;

 private:
  void Wipe();
  std::string text_;
};

/// Overwrites `text`'s bytes in a way that the compiler keeps.
void WipeString(std::string& text);

}  // namespace addons

#endif  // ADDONS_BASE_SECRET_H_
