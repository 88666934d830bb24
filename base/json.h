#ifndef ADDONS_BASE_JSON_H_
#define ADDONS_BASE_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/string_view.h"

namespace addons {

// json::parse() and json::dump() are templates of a thousand lines. These are
// compiled once; each file that calls those takes seconds more.

/// json::parse() without exceptions: is_discarded() for what is no JSON.
nlohmann::json ParseJson(
    absl::string_view text,
    const nlohmann::json::parser_callback_t& callback = nullptr);

/// json::parse(); throws json::parse_error.
nlohmann::json ParseJsonOrThrow(absl::string_view text);

/// json::dump() on one line; throws json::type_error for what is no UTF-8.
std::string JsonText(const nlohmann::json& json);

/// The same, with U+FFFD for what is no UTF-8; never throws for it.
std::string ReplacedJsonText(const nlohmann::json& json);

/// The same with all that is not ASCII escaped.
std::string AsciiJsonText(const nlohmann::json& json);

}  // namespace addons

#endif  // ADDONS_BASE_JSON_H_
