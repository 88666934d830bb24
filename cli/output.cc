#include "cli/output.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/status_macros.h"
#include "cli/call.h"
#include "cli/yaml.h"

namespace addons {

using google::protobuf::Message;
using nlohmann::ordered_json;

absl::StatusOr<ordered_json> JsonOf(const Message& message) {
  ADDONS_ASSIGN_OR_RETURN(const std::string text, ToJson(message));
  ordered_json json =
      ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return absl::InternalError("Failed to print the answer as JSON");
  }
  return json;
}

int Yield(const ordered_json& result, const std::string& text,
          Streams& streams) {
  switch (streams.format) {
    case OutputFormat::kText:
      streams.out << text;
      break;
    case OutputFormat::kJson:
      // Text that is no UTF-8 is somebody else's.
      streams.out << result.dump(2, ' ', false,
                                 ordered_json::error_handler_t::replace)
                  << "\n";
      break;
    case OutputFormat::kYaml:
      streams.out << ToYaml(result);
      break;
  }
  return 0;
}

int YieldMessage(const Message& answer, const std::string& text,
                 Streams& streams) {
  if (streams.format == OutputFormat::kText) return Yield({}, text, streams);
  const auto json = JsonOf(answer);
  if (!json.ok()) return Fail(json.status(), json.status().raw_code(), streams);
  return Yield(*json, text, streams);
}

int YieldChange(ordered_json result, const Message& answer,
                const std::string& text, Streams& streams) {
  auto fields = JsonOf(answer);
  if (!fields.ok()) {
    return Fail(fields.status(), fields.status().raw_code(), streams);
  }
  const std::string& request_id = streams.trailers.request_id;
  if (!request_id.empty()) result["request_id"] = request_id;
  for (auto& [name, value] : fields->items()) result[name] = std::move(value);
  return Yield(result, text, streams);
}

}  // namespace addons
