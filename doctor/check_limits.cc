#include "doctor/check_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace addons {
namespace {

// Beside workers: gRPC, timers, HTTP, log; and for each cluster the three
// connections of librados and the barriers (docs/architecture.md, "Threads").
constexpr uint64_t kOwnThreads = 64;
constexpr uint64_t kThreadsOfACluster = 256;
// A connection for each OSD, of three clients; a hundred OSDs.
constexpr uint64_t kOwnDescriptors = 256;
constexpr uint64_t kDescriptorsOfACluster = 512;

Finding Judge(const char* id, const char* what,
              const std::optional<uint64_t>& allowed, uint64_t wanted,
              const char* remedy) {
  Finding finding{id, FindingVerdict::kUnclear, "", "", remedy};
  if (!allowed.has_value()) {
    finding.seen = absl::StrCat("how many ", what, " it may have is not known");
  } else if (*allowed == UINT64_MAX) {
    finding.verdict = FindingVerdict::kOk;
    finding.seen = absl::StrCat("there is no limit of ", what);
  } else {
    finding.verdict =
        *allowed >= wanted ? FindingVerdict::kOk : FindingVerdict::kWarning;
    finding.seen = absl::StrCat("it may have ", *allowed, " ", what,
                                "; in a storm it may want ", wanted);
  }
  if (finding.verdict == FindingVerdict::kOk) finding.remedy.clear();
  return finding;
}

std::optional<uint64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

std::optional<uint64_t> ReadLimit(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  if (!(file >> text)) return std::nullopt;
  if (text == "max") return UINT64_MAX;
  uint64_t limit = 0;
  return absl::SimpleAtoi(text, &limit) ? std::make_optional(limit)
                                        : std::nullopt;
}

std::optional<uint64_t> ReadPidsMax(const std::string& root) {
  std::ifstream own(absl::StrCat(root, "/proc/self/cgroup"));
  std::string group;
  for (std::string line; std::getline(own, line);) {
    if (line.rfind("0::", 0) == 0) group = line.substr(3);
  }
  // The group's own limit may be above that of one over it.
  std::optional<uint64_t> lowest;
  const auto take = [&lowest](const std::optional<uint64_t>& limit) {
    if (limit.has_value()) lowest = std::min(lowest.value_or(*limit), *limit);
  };
  while (true) {
    take(ReadLimit(absl::StrCat(root, "/sys/fs/cgroup", group, "/pids.max")));
    const size_t parent = group.rfind('/');
    if (parent == std::string::npos || group == "/") break;
    group.erase(parent);
  }
  if (!lowest.has_value()) {
    take(ReadLimit(absl::StrCat(root, "/sys/fs/cgroup/pids/pids.max")));
  }
  if (lowest.has_value()) return lowest;
  // The root group has no such file: the kernel's own limit holds.
  return ReadNumber(absl::StrCat(root, "/proc/sys/kernel/threads-max"));
}

}  // namespace

ProcessLimits ReadProcessLimits(const std::string& root) {
  ProcessLimits limits;
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
    limits.descriptors = descriptors.rlim_cur == RLIM_INFINITY
                             ? UINT64_MAX
                             : descriptors.rlim_cur;
  }
  limits.threads = ReadPidsMax(root);
  return limits;
}

Findings CheckLimits(const ProcessLimits& limits, uint64_t workers,
                     uint64_t clusters) {
  return {Judge("limits.descriptors", "open descriptors", limits.descriptors,
                kOwnDescriptors + kDescriptorsOfACluster * clusters,
                "raise LimitNOFILE, or the container's limit"),
          Judge("limits.threads", "threads", limits.threads,
                kOwnThreads + workers + kThreadsOfACluster * clusters,
                "raise pids.max (TasksMax, the kubelet's podPidsLimit), or "
                "lower --control-workers, --bulk-workers and "
                "--read-workers")};
}

}  // namespace addons
