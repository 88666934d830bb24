#include "cli/secrets.h"

#include <cstddef>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/json.h"
#include "base/keyring.h"
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

/// Kubernetes allows a Secret of 1 MiB, which base64 makes a third longer, and
/// the object has fields of its own.
constexpr size_t kLongestInput = 4 << 20;

absl::Status NoObject(absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("--secrets-file - takes a JSON object with userID and "
                   "userKey, or a Secret as JSON, from standard input: ",
                   why));
}

/// The rest of the object's line, which must be empty.
absl::Status EndOfLine(std::istream& in) {
  for (char byte = 0; in.get(byte) && byte != '\n';) {
    if (!absl::ascii_isspace(static_cast<unsigned char>(byte))) {
      return NoObject("something follows the object in its last line");
    }
  }
  return absl::OkStatus();
}

/// Whether a JSON object is whole, byte by byte.
class ObjectEnd {
 public:
  /// True: `byte` is its last one.
  bool Take(char byte) {
    if (in_text_) {
      const bool escaped = std::exchange(escaped_, false);
      if (escaped) return false;
      escaped_ = byte == '\\';
      in_text_ = byte != '"';
      return false;
    }
    if (byte == '"') in_text_ = true;
    if (byte == '{') ++depth_;
    return byte == '}' && --depth_ == 0;
  }

 private:
  int depth_ = 0;
  bool in_text_ = false;
  bool escaped_ = false;
};

absl::StatusOr<std::string> OfSecret(const nlohmann::json& secret) {
  const auto data = secret.find("data");
  if (data == secret.end() || !data->is_object()) {
    return absl::InvalidArgumentError("the Secret has no data");
  }
  nlohmann::json secrets = nlohmann::json::object();
  for (const auto& [key, value] : data->items()) {
    std::string decoded;
    if (!value.is_string() ||
        !absl::Base64Unescape(value.get_ref<const std::string&>(), &decoded)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the value of '", key, "' in the Secret's data is not base64"));
    }
    secrets[key] = decoded;
  }
  return ReplacedJsonText(secrets);
}

/// A Secret as its data, all else as it is.
absl::StatusOr<std::string> OfText(std::string text) {
  const auto object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) return text;
  const auto kind = object.find("kind");
  if (kind == object.end() || *kind != "Secret") return text;
  return OfSecret(object);
}

absl::StatusOr<std::string> OfFile(const SecretsSource& source) {
  if (source.file == kStandardInput) return OfText(source.input);
  ADDONS_ASSIGN_OR_RETURN(std::string text, ReadFile(source.file));
  return OfText(std::move(text));
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
  ADDONS_ASSIGN_OR_RETURN(std::string text,
                          ReadOptionalFile(Variable(kSecretsFileVariable)));
  return OfText(std::move(text));
}

}  // namespace

absl::Status TakeSecretsFrom(std::istream& in, SecretsSource& source) {
  if (source.file != kStandardInput) return absl::OkStatus();
  char byte = 0;
  if (!(in >> std::ws).get(byte)) return NoObject("it is empty");
  if (byte != '{') return NoObject("it begins with something else");
  ObjectEnd end;
  source.input.clear();
  do {
    source.input.push_back(byte);
    if (end.Take(byte)) return EndOfLine(in);
    if (source.input.size() >= kLongestInput) {
      return NoObject("the object is longer than 4 MiB");
    }
  } while (in.get(byte));
  return NoObject("it ends before the object does");
}

absl::StatusOr<std::string> ReadSecrets(const SecretsSource& source) {
  if (!source.file.empty()) return OfFile(source);
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
  for (const KeyringUser& user : UsersOfKeyring(keyring)) {
    if (user.name == name) return user.key.Reveal();
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
