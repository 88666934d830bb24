#include "bench/row.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace addons {
namespace {

double Percentile(const std::vector<double>& ascending, double part) {
  const auto last = static_cast<double>(ascending.size() - 1);
  return ascending[static_cast<size_t>(part * last)];
}

}  // namespace

void Print(Row row, bool json, bool header) {
  std::sort(row.took_ms.begin(), row.took_ms.end());
  const auto calls = static_cast<double>(row.took_ms.size());
  const double median = Percentile(row.took_ms, 0.5);
  const double p99 = Percentile(row.took_ms, 0.99);
  const double cpu_ms = (row.after.cpu_s - row.before.cpu_s) * 1000 / calls;
  if (json) {
    const nlohmann::json object = {{"name", row.name},
                                   {"method", row.method},
                                   {"concurrency", row.concurrency},
                                   {"calls", row.took_ms.size()},
                                   {"median_ms", median},
                                   {"p99_ms", p99},
                                   {"calls_per_s", calls / row.wall_s},
                                   {"errors", row.errors},
                                   {"cpu_ms_per_call", cpu_ms},
                                   {"resident_mib", row.after.resident_mib},
                                   {"threads", row.after.threads}};
    std::printf("%s\n", object.dump().c_str());
    return;
  }
  if (header) {
    std::printf("%-36s %4s %6s %10s %10s %9s %8s %8s %7s  %s\n", "what", "c",
                "calls", "median ms", "p99 ms", "calls/s", "CPU ms", "MiB",
                "threads", "errors");
  }
  std::string errors;
  for (const auto& [error, count] : row.errors) {
    absl::StrAppend(&errors, errors.empty() ? "" : ", ", count, " ", error);
  }
  std::printf("%-36s %4d %6zu %10.2f %10.2f %9.1f %8.2f %8.1f %7d  %s\n",
              row.name.c_str(), row.concurrency, row.took_ms.size(), median,
              p99, calls / row.wall_s, cpu_ms, row.after.resident_mib,
              row.after.threads, errors.empty() ? "-" : errors.c_str());
}

}  // namespace addons
