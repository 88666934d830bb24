#ifndef ADDONS_SERVER_CONTENT_ENCODING_H_
#define ADDONS_SERVER_CONTENT_ENCODING_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace addons {

/// Whether the header lines of an HTTP request say that the client takes gzip,
/// and not rather the plain text (RFC 9110, 12.5.3). `head` begins with the
/// request line. A field that does not follow the grammar counts as missing:
/// false. Does not block; for any thread.
bool AcceptsGzip(absl::string_view head);

/// `text` as one gzip stream (RFC 1952), by zlib's deflate(); nullopt when it
/// has no memory, or `text` has 4 GiB or more. Some 30 ms for each MiB of
/// metrics. Does not block; for any thread.
std::optional<std::string> Gzip(absl::string_view text);

}  // namespace addons

#endif  // ADDONS_SERVER_CONTENT_ENCODING_H_
