#ifndef ADDONS_CLI_ALIGNED_TABLE_H_
#define ADDONS_CLI_ALIGNED_TABLE_H_

#include <string>
#include <vector>

namespace addons {

/// A line for each row, the first of which is the heading, its cells below each
/// other. All rows are as long as the first. What is not clean in a cell is
/// made so, and an empty one is "-".
std::string AlignedTable(std::vector<std::vector<std::string>> rows);

}  // namespace addons

#endif  // ADDONS_CLI_ALIGNED_TABLE_H_
