#include "cli/many_rows.h"

#include "absl/strings/str_cat.h"

namespace addons {

Listing ListingOf(const Streams& streams) {
  return streams.wide ? Listing::kAll : Listing::kCounted;
}

SelectedRows SelectRows(const std::vector<Reasoned>& rows, Listing listing,
                        absl::string_view lists_all) {
  SelectedRows selected{"", std::vector<bool>(rows.size(), true)};
  for (const CountedReason& group : GroupReasons(rows)) {
    if (group.count <= kMostListed) break;  // the most frequent come first
    absl::StrAppend(&selected.counted, "  ", group.count, ": ", group.reason,
                    " (", group.reasons_differ ? "as the first of " : "",
                    NamesOf(group), ")\n");
    if (!group.remedy.empty()) {
      absl::StrAppend(&selected.counted, "    do",
                      group.remedies_differ
                          ? absl::StrCat(", for ", group.names.front())
                          : "",
                      ": ", group.remedy, "\n");
    }
    if (listing == Listing::kAll) continue;
    for (size_t i = kMostNamed; i < group.members.size(); ++i) {
      selected.listed[group.members[i]] = false;
    }
  }
  if (selected.counted.empty()) return selected;
  selected.counted =
      absl::StrCat("more than ", kMostListed, " of one reason are counted:\n",
                   selected.counted);
  if (listing == Listing::kCounted) {
    absl::StrAppend(&selected.counted, "  the first ", kMostNamed,
                    " of each are listed; ", lists_all, " lists all\n");
  }
  return selected;
}

std::string ListRows(const std::vector<Reasoned>& rows, Listing listing,
                     const std::function<std::string(size_t row)>& text_of,
                     absl::string_view lists_all) {
  const SelectedRows selected = SelectRows(rows, listing, lists_all);
  std::string text = selected.counted;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (selected.listed[i]) absl::StrAppend(&text, text_of(i));
  }
  return text;
}

}  // namespace addons
