#ifndef ADDONS_TESTS_TESTING_DOCUMENTED_CALLS_H_
#define ADDONS_TESTS_TESTING_DOCUMENTED_CALLS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace addons::testing {

/// How often each Ceph call is made.
using CallCounts = std::map<std::string, int>;

/// The column `title` of the table that has it in the document at `path`:
///   | call | <title> | ... | why |
/// Fails when there is none, and for a row without a reason.
inline CallCounts DocumentedCalls(const std::string& path,
                                  const std::string& title) {
  std::ifstream file(path);
  CallCounts counts;
  size_t column = 0;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells = absl::StrSplit(line, '|');
    for (std::string& cell : cells) absl::StripAsciiWhitespace(&cell);
    if (absl::StartsWith(line, "| call |")) {
      const auto found = std::find(cells.begin(), cells.end(), title);
      // Of another table the rows do not count.
      column = found == cells.end()
                   ? 0
                   : static_cast<size_t>(std::distance(cells.begin(), found));
    }
    if (column == 0 || !absl::StartsWith(line, "| `")) continue;
    EXPECT_FALSE(cells[cells.size() - 2].empty()) << "no reason: " << line;
    if (int times = 0; absl::SimpleAtoi(cells[column], &times)) {
      counts[cells[1].substr(1, cells[1].size() - 2)] = times;
    }
  }
  EXPECT_FALSE(counts.empty()) << path << " has no column '" << title << "'";
  return counts;
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_DOCUMENTED_CALLS_H_
