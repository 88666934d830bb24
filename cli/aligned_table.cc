#include "cli/aligned_table.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "rpc/text.h"

namespace addons {
namespace {

constexpr size_t kMaxCell = 256;

}  // namespace

std::string AlignedTable(std::vector<std::vector<std::string>> rows) {
  if (rows.empty()) return "";
  std::vector<size_t> widths(rows.front().size());
  for (std::vector<std::string>& row : rows) {
    for (size_t i = 0; i < widths.size(); ++i) {
      row.at(i) = row.at(i).empty() ? "-" : CleanLine(row.at(i), kMaxCell);
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    for (size_t i = 0; i + 1 < widths.size(); ++i) {
      absl::StrAppend(&text, row[i],
                      std::string(widths[i] - row[i].size() + 2, ' '));
    }
    absl::StrAppend(&text, row.back(), "\n");
  }
  return text;
}

}  // namespace addons
