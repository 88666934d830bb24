#include "volume/user_file.h"

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/keyring.h"
#include "base/status_macros.h"
#include "volume/credentials.h"

namespace addons {
namespace {

namespace fs = std::filesystem;

constexpr char kUserId[] = "userID";
constexpr char kUserKey[] = "userKey";
constexpr size_t kLongestFile = 64 << 10;

absl::Status Unusable(const std::string& path, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("Failed to read the Ceph user in '", path, "': ", why));
}

/// The buffers are wiped where the key passes.
class FileText {
 public:
  FileText() = default;
  ~FileText() { WipeString(text); }
  FileText(const FileText&) = delete;
  FileText& operator=(const FileText&) = delete;

  absl::Status Read(const std::string& path) {
    std::error_code error;
    const auto size = fs::file_size(path, error);
    if (error) return Unusable(path, error.message());
    if (size > kLongestFile) return Unusable(path, "it is longer than 64 KiB");
    text.resize(size);
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file.is_open() || file.bad()) {
      return Unusable(
          path, std::error_code(errno, std::generic_category()).message());
    }
    text.resize(static_cast<size_t>(file.gcount()));
    return absl::OkStatus();
  }

  std::string text;
};

absl::StatusOr<SecretMap> OfFolder(const std::string& path) {
  SecretMap secrets;
  for (const char* const name : {kUserId, kUserKey}) {
    FileText file;
    ADDONS_RETURN_IF_ERROR(file.Read(absl::StrCat(path, "/", name)));
    // Who makes such files by hand ends them with a line.
    secrets.emplace(name, Secret(absl::StripAsciiWhitespace(file.text)));
  }
  return secrets;
}

absl::StatusOr<SecretMap> OfJson(const std::string& path,
                                 const nlohmann::json& object) {
  SecretMap secrets;
  for (const char* const name : {kUserId, kUserKey}) {
    const auto value = object.find(name);
    if (value == object.end() || !value->is_string()) {
      return Unusable(path, absl::StrCat("it has no text '", name, "'"));
    }
    secrets.emplace(name, Secret(value->get_ref<const std::string&>()));
  }
  return secrets;
}

absl::StatusOr<SecretMap> OfFile(const std::string& path) {
  FileText file;
  ADDONS_RETURN_IF_ERROR(file.Read(path));
  if (const auto object = ParseJson(file.text); object.is_object()) {
    return OfJson(path, object);
  }
  std::vector<KeyringUser> users = UsersOfKeyring(file.text);
  if (users.empty()) {
    return Unusable(path,
                    "it is neither a JSON object with userID and userKey nor a "
                    "keyring with a client");
  }
  if (users.size() > 1) {
    return Unusable(path, "the keyring has several clients; leave one");
  }
  SecretMap secrets;
  secrets.emplace(kUserId, Secret(users.front().name));
  secrets.emplace(kUserKey, std::move(users.front().key));
  return secrets;
}

}  // namespace

absl::StatusOr<CephUserRef> ReadUserFile(const std::string& path) {
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  ADDONS_ASSIGN_OR_RETURN(const SecretMap secrets,
                          folder ? OfFolder(path) : OfFile(path));
  auto user = UserFromSecrets(secrets);
  if (user.ok()) return user;
  return absl::Status(user.status().code(),
                      Unusable(path, user.status().message()).message());
}

}  // namespace addons
