#ifndef ADDONS_BENCH_ROW_H_
#define ADDONS_BENCH_ROW_H_

#include <map>
#include <string>
#include <vector>

namespace addons {

/// What a measured process has used so far.
struct Usage {
  double cpu_s = 0;
  double resident_mib = 0;
  int threads = 0;
};

/// One row of a benchmark: many calls of one kind.
struct Row {
  std::string name;
  std::string method;
  int concurrency = 1;
  std::vector<double> took_ms;        // at least one; in any order
  std::map<std::string, int> errors;  // how many of each
  double wall_s = 0;
  Usage before;
  Usage after;
};

/// Prints it to standard output: as a JSON object on one line, or as a line of
/// a table, with the columns' names before it when `header`.
void Print(Row row, bool json, bool header);

}  // namespace addons

#endif  // ADDONS_BENCH_ROW_H_
