#include "cli/secrets.h"

#include <cstdlib>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/streams.h"

namespace addons {
namespace {

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

std::string SecretsOf(const std::string& id, const std::string& key) {
  const nlohmann::json secrets = {{"userID", id}, {"userKey", key}};
  return ReplacedJsonText(secrets);
}

std::string NameOf(const SecretsSource& source) {
  return std::string(absl::StripPrefix(source.ceph_user, "client."));
}

std::string KeyringOf(const SecretsSource& source) {
  if (!source.keyring.empty()) return source.keyring;
  return absl::StrCat("/etc/ceph/ceph.client.", NameOf(source), ".keyring");
}

absl::StatusOr<std::string> OfKeyring(const SecretsSource& source) {
  const std::string path = KeyringOf(source);
  ADDONS_ASSIGN_OR_RETURN(const std::string keyring, ReadFile(path));
  const auto key = KeyOfUser(keyring, NameOf(source));
  if (!key.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Failed to read the keyring '", path, "': ", key.status().message()));
  }
  return SecretsOf(NameOf(source), *key);
}

absl::StatusOr<std::string> OfEnvironment() {
  const std::string id = Variable(kUserIdVariable);
  const std::string key = Variable(kUserKeyVariable);
  if (id.empty() != key.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(kUserIdVariable, " and ", kUserKeyVariable,
                     " are set together, or neither of them"));
  }
  if (!id.empty()) return SecretsOf(id, key);
  return ReadOptionalFile(Variable(kSecretsFileVariable));
}

}  // namespace

absl::StatusOr<std::string> ReadSecrets(const SecretsSource& source) {
  if (!source.file.empty()) return ReadFile(source.file);
  if (!source.ceph_user.empty()) return OfKeyring(source);
  std::string secrets;
  if (source.environment) {
    ADDONS_ASSIGN_OR_RETURN(secrets, OfEnvironment());
  }
  if (secrets.empty() && source.required) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no Ceph user is given: use --secrets-file, --ceph-user, or the "
        "variables ",
        kUserIdVariable, " and ", kUserKeyVariable));
  }
  return secrets;
}

absl::StatusOr<std::string> KeyOfUser(absl::string_view keyring,
                                      absl::string_view name) {
  const std::string wanted = absl::StrCat("[client.", name, "]");
  bool here = false;
  for (absl::string_view line : absl::StrSplit(keyring, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line[0] == '[') {
      here = line == wanted;
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> entry =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    if (!here || absl::StripAsciiWhitespace(entry.first) != "key") continue;
    const absl::string_view key = absl::StripAsciiWhitespace(entry.second);
    if (!key.empty()) return std::string(key);
  }
  return absl::NotFoundError(absl::StrCat("it has no key of client.", name));
}

std::string OptionsFor(const SecretsSource& source) {
  if (!source.file.empty()) return "--secrets-file " + source.file;
  if (source.ceph_user.empty()) return "--secrets-file SECRETS-FILE";
  return absl::StrCat("--ceph-user ", source.ceph_user,
                      source.keyring.empty() ? "" : " --keyring ",
                      source.keyring);
}

}  // namespace addons
