#include "volume/credentials.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ceph/cephx_key.h"

namespace addons {
namespace {

constexpr char kUserId[] = "userID";
constexpr char kUserKey[] = "userKey";

absl::Status Refused(absl::string_view what) {
  return absl::UnauthenticatedError(what);
}

absl::Status CheckKey(absl::string_view key) {
  absl::Status status = CephxKeyType(key).status();
  if (status.ok()) return status;
  return Refused(absl::StrCat(
      "'secrets.userKey' is not a valid cephx key: ", status.message(),
      "; it should be the output of 'ceph auth get-key "
      "client.<userID>'"));
}

absl::Status CheckUserId(absl::string_view id) {
  if (id.empty()) return Refused("'secrets.userID' is empty");
  if (absl::StartsWith(id, "client.")) {
    return Refused(
        "'secrets.userID' must not begin with 'client.': write the name "
        "without it");
  }
  if (CephxKeyType(id).ok()) {
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

/// The field that names the secret.
absl::string_view NameOf(SecretSource source) {
  switch (source) {
    case SecretSource::kCaller:
      break;
    case SecretSource::kVolume:
      return "spec.csi.nodeStageSecretRef of the PersistentVolume";
    case SecretSource::kReplicationClass:
      return "replication.storage.openshift.io/replication-secret-name and "
             "replication-secret-namespace of the VolumeReplicationClass";
    case SecretSource::kGroupClass:
      return "replication.storage.openshift.io/group-replication-secret-name "
             "and group-replication-secret-namespace of the "
             "VolumeGroupReplicationClass";
    case SecretSource::kFenceClass:
      return "csiaddons.openshift.io/networkfence-secret-name and "
             "networkfence-secret-namespace of the NetworkFenceClass (or "
             "spec.secret of the NetworkFence)";
  }
  return "";
}

absl::StatusOr<CephUserRef> ParseUser(const SecretMap& secrets) {
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
  return MakeCephUser(std::string(id_text), Secret(key_text));
}

}  // namespace

absl::StatusOr<CephUserRef> UserFromSecrets(const SecretMap& secrets,
                                            SecretSource source) {
  auto user = ParseUser(secrets);
  if (user.ok() || source == SecretSource::kCaller) return user;
  return Refused(absl::StrCat(user.status().message(),
                              "; the secret is the one named by ",
                              NameOf(source)));
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
