#include "base/json.h"

namespace addons {

using nlohmann::json;

json ParseJson(absl::string_view text,
               const json::parser_callback_t& callback) {
  return json::parse(text.begin(), text.end(), callback,
                     /*allow_exceptions=*/false);
}

std::string JsonText(const json& value) { return value.dump(); }

std::string ReplacedJsonText(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string AsciiJsonText(const json& value) {
  return value.dump(-1, ' ', true, json::error_handler_t::replace);
}

const json* JsonFields::Find(const char* key,
                             bool (json::*is)() const noexcept) {
  const auto found = object_.find(key);
  if (found != object_.end() && ((*found).*is)()) return &*found;
  if (wrong_.empty()) wrong_ = key;
  return nullptr;
}

uint64_t JsonFields::Number(const char* key, uint64_t most) {
  const json* const found = Find(key, &json::is_number_unsigned);
  const uint64_t number = found == nullptr ? 0 : found->get<uint64_t>();
  if (number <= most) return number;
  if (wrong_.empty()) wrong_ = key;
  return 0;
}

std::string JsonFields::Text(const char* key) {
  const json* const found = Find(key, &json::is_string);
  return found == nullptr ? "" : found->get<std::string>();
}

bool JsonFields::Flag(const char* key) {
  const json* const found = Find(key, &json::is_boolean);
  return found != nullptr && found->get<bool>();
}

}  // namespace addons
