#include "volume/credentials.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace addons {
namespace {

constexpr char kUserId[] = "userID";
constexpr char kUserKey[] = "userKey";

// A decoded cephx key: type, time of creation (seconds, nanoseconds), length of
// the secret, all little-endian, and the secret.
constexpr size_t kTypeAt = 0;
constexpr size_t kLengthAt = 10;
constexpr size_t kHeaderLength = 12;
constexpr unsigned kAesType = 1;
constexpr size_t kAesLength = 16;

absl::Status Refused(absl::string_view what) {
  return absl::UnauthenticatedError(what);
}

/// Wipes its text when it goes out of scope.
class WipedString {
 public:
  WipedString() = default;
  ~WipedString() { WipeString(text_); }
  WipedString(const WipedString&) = delete;
  WipedString& operator=(const WipedString&) = delete;
  std::string& text() { return text_; }

 private:
  std::string text_;
};

unsigned LittleEndian16(absl::string_view bytes, size_t at) {
  return static_cast<unsigned char>(bytes[at]) |
         static_cast<unsigned>(static_cast<unsigned char>(bytes[at + 1])) << 8;
}

bool IsBase64(absl::string_view text) {
  if (text.size() % 4 != 0) return false;
  absl::string_view digits = text;
  for (int padding = 0; padding < 2; ++padding) {
    if (absl::EndsWith(digits, "=")) digits.remove_suffix(1);
  }
  return std::all_of(digits.begin(), digits.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' ||
           c == '/';
  });
}

/// librados prints a key that it cannot decode to standard error, so each rule
/// of its decoder is checked here first.
absl::Status CheckKey(absl::string_view key) {
  constexpr char kAdvice[] =
      "; it should be the output of 'ceph auth get-key client.<userID>'";
  WipedString decoded;
  if (!IsBase64(key) || !absl::Base64Unescape(key, &decoded.text())) {
    return Refused(
        absl::StrCat("'secrets.userKey' is no cephx key: not base64", kAdvice));
  }
  const absl::string_view bytes = decoded.text();
  if (bytes.size() <= kHeaderLength) {
    return Refused(
        absl::StrCat("'secrets.userKey' is no cephx key: too short", kAdvice));
  }
  if (LittleEndian16(bytes, kLengthAt) != bytes.size() - kHeaderLength) {
    return Refused(
        absl::StrCat("'secrets.userKey' is no cephx key: its length is not the "
                     "one it announces",
                     kAdvice));
  }
  if (const unsigned type = LittleEndian16(bytes, kTypeAt); type != kAesType) {
    return Refused(
        absl::StrCat("'secrets.userKey' has the key type ", type,
                     ", which is not supported by this build; give the "
                     "user a key of type aes (1)"));
  }
  if (bytes.size() - kHeaderLength < kAesLength) {
    return Refused(
        absl::StrCat("'secrets.userKey' is no cephx key: too short", kAdvice));
  }
  return absl::OkStatus();
}

absl::Status CheckUserId(absl::string_view id) {
  if (id.empty()) return Refused("'secrets.userID' is empty");
  if (absl::StartsWith(id, "client.")) {
    return Refused(
        "'secrets.userID' must not begin with 'client.': write the name "
        "without it");
  }
  if (CheckKey(id).ok()) {
    // Ids stand in messages and logs, so a key must not come this far as one.
    return Refused("'secrets.userID' holds a key, not the name of a user");
  }
  const bool visible = std::all_of(id.begin(), id.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
  if (!visible) {
    return Refused(
        "'secrets.userID' has white space or control characters in it");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CephUser> UserFromSecrets(const SecretMap& secrets) {
  if (secrets.empty()) {
    return Refused(
        "the request has no secrets: 'secrets.userID' and 'secrets.userKey' "
        "are needed");
  }
  const auto id = secrets.find(kUserId);
  if (id == secrets.end()) return Refused("'secrets.userID' is missing");
  const auto key = secrets.find(kUserKey);
  if (key == secrets.end()) return Refused("'secrets.userKey' is missing");

  // A line end at the end is what `kubectl create secret --from-file` makes of
  // a file; Ceph would refuse it without a hint.
  const absl::string_view id_text =
      absl::StripAsciiWhitespace(id->second.Reveal());
  if (auto status = CheckUserId(id_text); !status.ok()) return status;
  const absl::string_view key_text =
      absl::StripAsciiWhitespace(key->second.Reveal());
  if (key_text.empty()) return Refused("'secrets.userKey' is empty");
  if (auto status = CheckKey(key_text); !status.ok()) return status;
  return CephUser{std::string(id_text), Secret(key_text)};
}

std::string CallFingerprint(
    absl::string_view verb, const CephUser& user,
    const std::map<std::string, std::string>& parameters,
    const std::vector<std::string>& objects) {
  // Escaped and between quotes nothing looks like the end of a part.
  const auto quoted = [](absl::string_view text) {
    return absl::StrCat("\"", absl::CEscape(text), "\"");
  };
  std::string text =
      absl::StrCat(verb, "\n", user.id, "\n", user.key.Fingerprint());
  for (const auto& [key, value] : parameters) {
    absl::StrAppend(&text, "\n", quoted(key), "=", quoted(value));
  }
  for (const std::string& object : objects) {
    absl::StrAppend(&text, "\n", quoted(object));
  }
  return text;
}

}  // namespace addons
