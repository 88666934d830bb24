#ifndef ADDONS_BASE_KEYRING_H_
#define ADDONS_BASE_KEYRING_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/secret.h"

namespace addons {

/// A user of a keyring, as `ceph auth get` writes one.
struct KeyringUser {
  std::string name;  // without "client."
  Secret key;
};

/// The clients with a key in the text of a keyring, in its order; other
/// daemons' sections and lines that are not understood are left out.
std::vector<KeyringUser> UsersOfKeyring(absl::string_view keyring);

}  // namespace addons

#endif  // ADDONS_BASE_KEYRING_H_
