#ifndef ADDONS_BASE_JSON_H_
#define ADDONS_BASE_JSON_H_

#include <cstdint>
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

/// json::dump() on one line; throws json::type_error for what is no UTF-8.
std::string JsonText(const nlohmann::json& json);

/// The same, with U+FFFD for what is no UTF-8; never throws for it.
std::string ReplacedJsonText(const nlohmann::json& json);

/// The same with all that is not ASCII escaped.
std::string AsciiJsonText(const nlohmann::json& json);

/// The fields of an object in a text. What is missing, of another type or out
/// of bounds is empty, and so is each field of what is no object.
class JsonFields {
 public:
  explicit JsonFields(absl::string_view text) : object_(ParseJson(text)) {}

  bool is_object() const { return object_.is_object(); }
  bool Has(const char* key) const { return object_.contains(key); }
  uint64_t Number(const char* key, uint64_t most = UINT64_MAX);
  std::string Text(const char* key);
  bool Flag(const char* key);
  /// The first that was empty for that; empty: none was.
  const std::string& wrong() const { return wrong_; }

 private:
  /// nullptr: it is not of that type.
  const nlohmann::json* Find(const char* key,
                             bool (nlohmann::json::*is)() const noexcept);
  const nlohmann::json object_;
  std::string wrong_;
};

}  // namespace addons

#endif  // ADDONS_BASE_JSON_H_
