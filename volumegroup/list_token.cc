#include "volumegroup/list_token.h"

#include "absl/strings/escaping.h"
#include "base/json.h"

namespace addons {

std::string EncodeListToken(const ListPosition& position) {
  const nlohmann::json token = {position.cluster_id.text(), position.pool_id,
                                position.name};
  return absl::WebSafeBase64Escape(ReplacedJsonText(token));
}

absl::StatusOr<ListPosition> DecodeListToken(const std::string& token) {
  std::string text;
  const bool decoded = absl::WebSafeBase64Unescape(token, &text);
  const auto parts = ParseJson(decoded ? text : "");
  if (!parts.is_array() || parts.size() != 3 || !parts[0].is_string() ||
      !parts[1].is_number_integer() || !parts[2].is_string()) {
    return absl::AbortedError(
        "starting_token is not one that ListVolumeGroups gave out: start over "
        "without it");
  }
  return ListPosition{ClusterId(parts[0].get<std::string>()),
                      parts[1].get<int64_t>(), parts[2].get<std::string>()};
}

}  // namespace addons
