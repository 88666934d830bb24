#include "server/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace addons {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

std::string FileText(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The fields of /proc/self/stat that follow the name of the program, which may
/// have blanks in it. proc(5) counts from 1, and the first of these is 3.
std::vector<std::string> StatFields() {
  const std::string text = FileText("/proc/self/stat");
  const size_t name_ends = text.rfind(") ");
  if (name_ends == std::string::npos) return {};
  return absl::StrSplit(absl::string_view(text).substr(name_ends + 2), ' ');
}

std::optional<double> Field(const std::vector<std::string>& fields,
                            size_t number) {
  double value = 0;
  const size_t index = number - 3;
  if (index >= fields.size() || !absl::SimpleAtod(fields[index], &value)) {
    return std::nullopt;
  }
  return value;
}

/// When the system was started, in unix seconds.
std::optional<double> BootTime() {
  const std::string text = FileText("/proc/stat");
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    double seconds = 0;
    if (words.size() == 2 && words[0] == "btime" &&
        absl::SimpleAtod(words[1], &seconds)) {
      return seconds;
    }
  }
  return std::nullopt;
}

std::optional<double> OpenDescriptors() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"),
                                                   &closedir);
  if (folder == nullptr) return std::nullopt;
  double count = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of this thread's own
  while (const dirent* entry = readdir(folder.get())) {
    if (entry->d_name[0] != '.') ++count;
  }
  return count - 1;  // the folder's own
}

void Add(MetricType type, const char* name, const char* help,
         std::optional<double> value, std::vector<MetricFamily>* families) {
  if (!value.has_value()) return;
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  prometheus::ClientMetric metric;
  if (type == MetricType::Counter) {
    metric.counter.value = *value;
  } else {
    metric.gauge.value = *value;
  }
  family.metric.push_back(std::move(metric));
  families->push_back(std::move(family));
}

}  // namespace

std::vector<MetricFamily> ProcessMetrics() {
  // Numbers of proc(5).
  constexpr size_t kUserTime = 14;
  constexpr size_t kSystemTime = 15;
  constexpr size_t kThreads = 20;
  constexpr size_t kStart = 22;
  constexpr size_t kVirtual = 23;
  constexpr size_t kResident = 24;
  std::vector<MetricFamily> families;
  const std::vector<std::string> fields = StatFields();
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));

  const auto user = Field(fields, kUserTime);
  const auto system = Field(fields, kSystemTime);
  std::optional<double> cpu;
  if (user.has_value() && system.has_value()) cpu = (*user + *system) / ticks;
  Add(MetricType::Counter, "process_cpu_seconds_total",
      "CPU time of the process, in its own code and in the kernel.", cpu,
      &families);

  std::optional<double> resident = Field(fields, kResident);
  if (resident.has_value()) *resident *= page;
  Add(MetricType::Gauge, "process_resident_memory_bytes",
      "Memory of the process that is in RAM.", resident, &families);
  Add(MetricType::Gauge, "process_virtual_memory_bytes",
      "Address space of the process.", Field(fields, kVirtual), &families);

  std::optional<double> start = Field(fields, kStart);
  const auto boot = BootTime();
  if (start.has_value() && boot.has_value()) {
    *start = *boot + *start / ticks;
  } else {
    start.reset();
  }
  Add(MetricType::Gauge, "process_start_time_seconds",
      "Unix time when the process was started.", start, &families);

  Add(MetricType::Gauge, "process_open_fds", "Descriptors that are open.",
      OpenDescriptors(), &families);
  rlimit limit{};
  std::optional<double> most;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    most = static_cast<double>(limit.rlim_cur);
  }
  Add(MetricType::Gauge, "process_max_fds",
      "How many descriptors the process may have.", most, &families);
  Add(MetricType::Gauge, "process_threads", "Threads of the process.",
      Field(fields, kThreads), &families);
  return families;
}

}  // namespace addons
