#ifndef ADDONS_CLI_HIDE_KEYS_H_
#define ADDONS_CLI_HIDE_KEYS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace addons {

/// Puts *** in place of keys of Ceph users in texts that leave the site: of
/// those that are known, and of all that has the form of one, each also as
/// base64. The last line of defence: no key should be in such a text.
/// Thread-safe.
class KeyHider {
 public:
  /// `known` of less than eight bytes are no keys, and left alone.
  explicit KeyHider(const std::vector<std::string>& known);

  std::string Hide(std::string text) const;

 private:
  std::vector<std::string> known_;
};

/// `word` has the form of a cephx key.
bool LooksLikeCephKey(absl::string_view word);

}  // namespace addons

#endif  // ADDONS_CLI_HIDE_KEYS_H_
