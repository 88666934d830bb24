#ifndef ADDONS_CLI_ALIGNED_TABLE_H_
#define ADDONS_CLI_ALIGNED_TABLE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace addons {

/// Gives a cell colours, which take no place; the heading is row 0.
using PaintCell = std::function<std::string(size_t row, size_t column,
                                            const std::string& cell)>;

/// A line for each row, the first of which is the heading, its cells below each
/// other. All rows are as long as the first. What is not clean in a cell is
/// made so, and an empty one is "-". Without `paint` cells are as they are.
std::string AlignedTable(std::vector<std::vector<std::string>> rows,
                         const PaintCell& paint = nullptr);

}  // namespace addons

#endif  // ADDONS_CLI_ALIGNED_TABLE_H_
