#include "doctor/check_limits.h"

#include <sys/resource.h>

#include <fstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace addons {
namespace {

using Verdict = FindingVerdict;

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
  Finding finding{id, Verdict::kUnclear, "", "", remedy};
  if (!allowed.has_value()) {
    finding.seen = absl::StrCat("how many ", what, " it may have is not known");
  } else if (*allowed == UINT64_MAX) {
    finding.verdict = Verdict::kOk;
    finding.seen = absl::StrCat("there is no limit of ", what);
  } else {
    finding.verdict = *allowed >= wanted ? Verdict::kOk : Verdict::kWarning;
    finding.seen = absl::StrCat("it may have ", *allowed, " ", what,
                                "; in a storm it may want ", wanted);
  }
  if (finding.verdict == Verdict::kOk) finding.remedy.clear();
  return finding;
}

std::optional<uint64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

std::optional<uint64_t> ReadPidsMax() {
  // Within a container the own control group is the root; outside of one the
  // root has no limit of its own.
  std::ifstream own("/proc/self/cgroup");
  std::string group;
  for (std::string line; std::getline(own, line);) {
    if (line.rfind("0::", 0) == 0) group = line.substr(3);
  }
  for (const std::string& path :
       {absl::StrCat("/sys/fs/cgroup", group, "/pids.max"),
        std::string("/sys/fs/cgroup/pids.max"),
        std::string("/sys/fs/cgroup/pids/pids.max")}) {
    std::ifstream file(path);
    std::string text;
    if (!(file >> text)) continue;
    if (text == "max") return UINT64_MAX;
    if (uint64_t limit = 0; absl::SimpleAtoi(text, &limit)) return limit;
  }
  // The root group has no such file: the kernel's own limit holds.
  return ReadNumber("/proc/sys/kernel/threads-max");
}

}  // namespace

ProcessLimits ReadProcessLimits() {
  ProcessLimits limits;
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
    limits.descriptors = descriptors.rlim_cur == RLIM_INFINITY
                             ? UINT64_MAX
                             : descriptors.rlim_cur;
  }
  limits.threads = ReadPidsMax();
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
