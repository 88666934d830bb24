#include "volumegroup/parameters.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/parameter_keys.h"
#include "base/status_macros.h"

namespace addons {
namespace {

constexpr size_t kMaxPrefix = 128;

std::string Get(const GroupParameterMap& map, const char* key) {
  const auto found = map.find(key);
  return found == map.end() ? "" : found->second;
}

absl::Status Wrong(absl::string_view key, absl::string_view value,
                   absl::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("parameters[", key, "] '",
                   absl::CHexEscape(value.substr(0, 128)), "' ", reason));
}

absl::Status CheckPrefix(absl::string_view key, const std::string& prefix) {
  // rbd takes '/' and '@' for separators.
  const bool bad = std::any_of(prefix.begin(), prefix.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f || c == '/' || c == '@';
  });
  if (bad || prefix.size() > kMaxPrefix) {
    return Wrong(key, prefix,
                 "is not a prefix of an rbd name: at most 128 bytes without "
                 "control characters, '/' and '@'");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FlattenMode> ParseFlattenMode(const GroupParameterMap& map) {
  const std::string mode = Get(map, "flattenMode");
  if (mode.empty()) return FlattenMode::kNever;
  if (const auto known = ToFlattenMode(mode)) return *known;
  return Wrong("flattenMode", mode, "is neither 'never' nor 'force'");
}

absl::StatusOr<std::string> ParseNamePrefix(const GroupParameterMap& map) {
  std::string prefix = Get(map, "volumeGroupNamePrefix");
  ADDONS_RETURN_IF_ERROR(CheckPrefix("volumeGroupNamePrefix", prefix));
  return prefix.empty() ? std::string(kDefaultGroupPrefix) : prefix;
}

absl::Status CheckGroupParameterKeys(const GroupParameterMap& map) {
  return CheckParameterKeys(
      map, {"clusterID", "pool", "journalPool", "volumeGroupNamePrefix",
            "volumeNamePrefix", "flattenMode"});
}

absl::StatusOr<GroupParameters> GroupParameters::Parse(
    const GroupParameterMap& map) {
  ADDONS_RETURN_IF_ERROR(CheckGroupParameterKeys(map));
  GroupParameters parameters;
  parameters.cluster_id = ClusterId(Get(map, "clusterID"));
  parameters.pool = Get(map, "pool");
  for (const char* const key : {"clusterID", "pool"}) {
    if (Get(map, key).empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("parameters[", key, "] is missing"));
    }
  }
  const std::string journal_pool = Get(map, "journalPool");
  if (!journal_pool.empty() && journal_pool != parameters.pool) {
    return Wrong("journalPool", journal_pool,
                 "differs from parameters[pool]: the id of a group names one "
                 "pool, which holds both; leave journalPool out");
  }
  parameters.old_name_prefix = Get(map, "volumeNamePrefix");
  ADDONS_ASSIGN_OR_RETURN(parameters.name_prefix, ParseNamePrefix(map));
  ADDONS_ASSIGN_OR_RETURN(parameters.flatten, ParseFlattenMode(map));
  return parameters;
}

bool GroupParameters::Fits(const std::string& group_name,
                           const std::string& uuid) const {
  return group_name == absl::StrCat(name_prefix, uuid) ||
         (!old_name_prefix.empty() &&
          group_name == absl::StrCat(old_name_prefix, uuid));
}

}  // namespace addons
