#ifndef ADDONS_BASE_JSON_LOG_LINE_H_
#define ADDONS_BASE_JSON_LOG_LINE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace addons {

/// A line of the log as one JSON object, without a line feed:
///
///   {"time":"...","level":"info","message":"promoted","fields":{"volume":"v"}}
///
/// `text` is what was logged: a message, then fields `key=value`, the values as
/// Quoted() writes them. Their quotes and escapes are undone; all values are
/// strings. Text that does not end in such fields is the message as a whole,
/// and "fields" is empty then. Bytes that are no UTF-8 are replaced.
std::string JsonLogLine(absl::string_view time, absl::string_view level,
                        absl::string_view text);

}  // namespace addons

#endif  // ADDONS_BASE_JSON_LOG_LINE_H_
