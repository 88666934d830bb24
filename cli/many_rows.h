#ifndef ADDONS_CLI_MANY_ROWS_H_
#define ADDONS_CLI_MANY_ROWS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cli/count_reasons.h"
#include "cli/streams.h"

namespace addons {

/// Whether all rows are listed, or of many that share a reason the first ones.
enum class Listing { kCounted, kAll };
/// As the person wants it.
Listing ListingOf(const Streams& streams);

/// What a person types to see all rows.
inline constexpr char kListsAll[] = "-o wide";

/// What is shown of the rows of a table for people.
struct SelectedRows {
  /// Stands before the rows: a line for each reason that more than kMostListed
  /// rows share, with what to do about it. Empty: there is none.
  std::string counted;
  std::vector<bool> listed;  // of each row
};

/// All rows are listed but those of a reason that more than kMostListed share:
/// of these the first kMostNamed are. With Listing::kAll these are counted,
/// too, and all rows are listed. `lists_all` is named as what does that.
SelectedRows SelectRows(const std::vector<Reasoned>& rows, Listing listing,
                        absl::string_view lists_all = kListsAll);

/// The same as text. `text_of` gives that of a row, with its end of line.
std::string ListRows(const std::vector<Reasoned>& rows, Listing listing,
                     const std::function<std::string(size_t row)>& text_of,
                     absl::string_view lists_all = kListsAll);

}  // namespace addons

#endif  // ADDONS_CLI_MANY_ROWS_H_
