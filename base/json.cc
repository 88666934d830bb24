#include "base/json.h"

namespace addons {

using nlohmann::json;

json ParseJson(absl::string_view text,
               const json::parser_callback_t& callback) {
  return json::parse(text.begin(), text.end(), callback,
                     /*allow_exceptions=*/false);
}

json ParseJsonOrThrow(absl::string_view text) {
  return json::parse(text.begin(), text.end());
}

std::string JsonText(const json& value) { return value.dump(); }

std::string ReplacedJsonText(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string AsciiJsonText(const json& value) {
  return value.dump(-1, ' ', true, json::error_handler_t::replace);
}

}  // namespace addons
