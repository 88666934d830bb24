#include "cli/aligned_table.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "rpc/text.h"

namespace addons {
namespace {

constexpr size_t kMaxCell = 256;

}  // namespace

std::string AlignedTable(std::vector<std::vector<std::string>> rows,
                         const PaintCell& paint) {
  if (rows.empty()) return "";
  std::vector<size_t> widths(rows.front().size());
  for (std::vector<std::string>& row : rows) {
    for (size_t i = 0; i < widths.size(); ++i) {
      row.at(i) = row.at(i).empty() ? "-" : CleanLine(row.at(i), kMaxCell);
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (size_t line = 0; line < rows.size(); ++line) {
    const std::vector<std::string>& row = rows[line];
    for (size_t i = 0; i < widths.size(); ++i) {
      absl::StrAppend(&text, paint ? paint(line, i, row[i]) : row[i]);
      if (i + 1 == widths.size()) break;
      text.append(widths[i] - row[i].size() + 2, ' ');
    }
    text.push_back('\n');
  }
  return text;
}

}  // namespace addons
