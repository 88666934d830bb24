#ifndef ADDONS_TESTS_RPC_ERROR_CODE_TABLE_H_
#define ADDONS_TESTS_RPC_ERROR_CODE_TABLE_H_

#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace addons::testing {

/// One row's (RPC, code), as docs/error-codes.md writes them: the RPC may be
/// "*" or "replication.Controller/*".
using ErrorCodeRow = std::pair<std::string, std::string>;

/// The first two cells of the rows of all tables of the document at `path`
/// whose first column is called `column`; empty when it cannot be read.
inline std::set<ErrorCodeRow> ReadTables(const std::string& path,
                                         const std::string& column) {
  std::set<ErrorCodeRow> rows;
  std::ifstream file(path);
  bool wanted = false;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() < 4) {
      wanted = false;
      continue;
    }
    const std::string first(absl::StripAsciiWhitespace(cells[1]));
    const std::string second(absl::StripAsciiWhitespace(cells[2]));
    if (first == column) {
      wanted = true;
    } else if (wanted && !absl::StartsWith(first, "---")) {
      rows.emplace(first, second);
    }
  }
  return rows;
}

/// Which codes each call can answer, as docs/error-codes.md at `path` says.
inline std::set<ErrorCodeRow> ReadErrorCodeRows(const std::string& path) {
  return ReadTables(path, "RPC");
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_RPC_ERROR_CODE_TABLE_H_
