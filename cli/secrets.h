#ifndef ADDONS_CLI_SECRETS_H_
#define ADDONS_CLI_SECRETS_H_

#include <istream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace addons {

/// Variables of the environment that say with which Ceph user calls are made,
/// where no option does.
inline constexpr char kUserIdVariable[] = "RBD_ADDONS_USER_ID";
inline constexpr char kUserKeyVariable[] = "RBD_ADDONS_USER_KEY";
inline constexpr char kSecretsFileVariable[] = "RBD_ADDONS_SECRETS_FILE";

/// The file's name that stands for standard input.
inline constexpr char kStandardInput[] = "-";

/// Where a Ceph user and its key come from. A key is never an option: what
/// stands on a command line is seen by every user of the machine.
struct SecretsSource {
  std::string file;       // a JSON object of strings, or a Secret
  std::string input;      // what TakeSecretsFrom() has read for kStandardInput
  std::string ceph_user;  // of this host, with or without "client."
  std::string keyring;    // its file; empty: where Ceph looks for it first
  bool environment = true;  // where no option says it
  bool required = true;
};

/// Reads the JSON object at the beginning of `in` into `source`, where its file
/// is kStandardInput; once, because what was read is not there any more. What
/// follows the object's last line stays in `in`: answers to questions, or a
/// request. Blocks until that line has ended. INVALID_ARGUMENT: there is no
/// object, it does not end, something else is in its last line, or it is longer
/// than a Secret may be. Messages never repeat what was read.
absl::Status TakeSecretsFrom(std::istream& in, SecretsSource& source);

/// The secrets as MakeRequest() takes them: those of an option; else of the
/// variables, the user's before the file's; else nothing, where none are
/// required. A Secret of Kubernetes, as `kubectl get secret -o json` prints it,
/// counts as its decoded data. INVALID_ARGUMENT when they cannot be read.
absl::StatusOr<std::string> ReadSecrets(const SecretsSource& source);

/// The key of "client.NAME" in the text of a keyring. NOT_FOUND: it has none.
absl::StatusOr<std::string> KeyOfUser(absl::string_view keyring,
                                      absl::string_view name);

/// The options that say what `source` says, for a command that is printed;
/// "--secrets-file SECRETS-FILE" where the environment says it.
std::string OptionsFor(const SecretsSource& source);

}  // namespace addons

#endif  // ADDONS_CLI_SECRETS_H_
