#include "keyrotation/kms_config.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "volume/stamped_file.h"

namespace addons {
namespace {

constexpr char kDefault[] = "default";
constexpr char kMetadata[] = "metadata";

absl::Status Refused(const std::string& id, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("KMS '", id, "' ", why, "; nothing was changed"));
}

/// A text member; empty: there is none.
std::string TextOf(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

/// The section of the KMS, from either kind of file.
absl::StatusOr<nlohmann::json> ReadSection(const std::string& directory,
                                           const std::string& id) {
  const std::string file = directory + "/config.json";
  const FileContent all = ReadStampedFile(file);
  if (all.problem.empty()) {
    const auto json = ParseJson(all.text);
    if (!json.is_object()) {
      return Refused(id,
                     absl::StrCat("is unknown: ", file, " is no JSON object"));
    }
    const auto it = json.find(id);
    if (it == json.end() || !it->is_object()) {
      return Refused(id, absl::StrCat("is not in ", file));
    }
    return *it;
  }
  // The id comes from the journal, and becomes a part of the path.
  if (absl::StrContains(id, '/') || absl::StartsWith(id, ".")) {
    return Refused(id, absl::StrCat("is unknown: ", file, ": ", all.problem));
  }
  const std::string own = absl::StrCat(directory, "/", id);
  const FileContent one = ReadStampedFile(own);
  if (!one.problem.empty()) {
    return Refused(id, absl::StrCat("is unknown: ", file, ": ", all.problem,
                                    ", and ", own, ": ", one.problem));
  }
  auto json = ParseJson(one.text);
  if (!json.is_object()) {
    return Refused(id, absl::StrCat("is unknown: ", own, " is no JSON object"));
  }
  return json;
}

}  // namespace

absl::StatusOr<KmsKind> ReadKmsKind(const std::string& directory,
                                    const std::string& id) {
  if (id == kDefault) return KmsKind::kSecret;
  ADDONS_ASSIGN_OR_RETURN(const nlohmann::json section,
                          ReadSection(directory, id));
  std::string type = TextOf(section, "encryptionKMSType");
  if (type.empty()) type = TextOf(section, "KMS_PROVIDER");
  if (type == kDefault) return KmsKind::kSecret;
  if (type != kMetadata) {
    return Refused(
        id, type.empty()
                ? "has neither encryptionKMSType nor KMS_PROVIDER"
                : absl::StrCat("is of type '", type,
                               "', to which this daemon writes no keys"));
  }
  const std::string secret = TextOf(section, "secretName");
  if (!secret.empty()) {
    return Refused(
        id, absl::StrCat("takes its passphrase from the Secret '", secret,
                         "' (secretName), which this daemon is not given"));
  }
  return KmsKind::kMetadata;
}

}  // namespace addons
