#ifndef ADDONS_SERVER_PAGE_HTML_H_
#define ADDONS_SERVER_PAGE_HTML_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "watch/watch_snapshot.h"

namespace addons {

// Pieces of the status page.

/// All of its style.
extern const char kPageStyle[];

/// `text` as HTML shows it, also within an attribute in quotes.
std::string Escaped(absl::string_view text);
/// "45 s", "12 min", "3 h", "5 d".
std::string Lasting(int64_t seconds);
/// How long ago `then` was, or "never".
std::string Ago(std::optional<SteadyTime> then, SteadyTime now);
int64_t SecondsBetween(SteadyTime begin, SteadyTime end);
/// "5 min" of an interval that is whole minutes, hours or days; else as above.
std::string Interval(int64_t seconds);
/// "1.5 MiB".
std::string Bytes(int64_t bytes);
/// A word with a colour; `kind` is good, warn, bad or old. Escapes `text`.
std::string Tag(absl::string_view kind, absl::string_view text);
/// A cell of a table; `label` is that of its column, for narrow screens, where
/// each cell is a line. `html` is escaped already.
std::string Cell(absl::string_view label, absl::string_view html,
                 absl::string_view kind = "");
/// A link within the page or beside it; escapes both.
std::string Link(absl::string_view address, absl::string_view text);
/// "cluster/pool" or "cluster/pool/namespace", not escaped.
std::string PlaceOf(const WatchedPool& pool);

/// The heading of a part of the page, to which "#id" leads; escapes `title`.
void AddHeading(absl::string_view id, absl::string_view title,
                std::string* html);
/// A table from its first row to EndTable(). `columns` are separated by '|'.
void BeginTable(absl::string_view columns, std::string* html);
void EndTable(std::string* html);

}  // namespace addons

#endif  // ADDONS_SERVER_PAGE_HTML_H_
