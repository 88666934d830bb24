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

/// The rows of the document at `path`; empty when it cannot be read.
inline std::set<ErrorCodeRow> ReadErrorCodeRows(const std::string& path) {
  std::set<ErrorCodeRow> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() < 4) continue;
    const std::string rpc(absl::StripAsciiWhitespace(cells[1]));
    const std::string code(absl::StripAsciiWhitespace(cells[2]));
    if (rpc == "RPC" || absl::StartsWith(rpc, "---")) continue;
    rows.emplace(rpc, code);
  }
  return rows;
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_RPC_ERROR_CODE_TABLE_H_
