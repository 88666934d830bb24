#include "lease/holder.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lease/namespace_id.h"

namespace addons {
namespace {

constexpr absl::string_view kMagic = "rbd-addons-lease-1";
// Together with the names less than 512 bytes.
constexpr size_t kLongText = 64;
constexpr size_t kShortText = 36;  // a uuid
constexpr size_t kNumber = 20;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

/// Field 22 of /proc/PID/stat. The second one, the name, may hold anything.
std::optional<uint64_t> StartOf(const std::string& stat) {
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<std::string> fields =
      absl::StrSplit(stat.substr(name_end + 1), ' ', absl::SkipEmpty());
  constexpr size_t kStart = 22 - 3;  // the first one here is the third
  uint64_t started = 0;
  if (fields.size() <= kStart || !absl::SimpleAtoi(fields[kStart], &started)) {
    return std::nullopt;
  }
  return started;
}

/// Both say what they are, and pids mean the same to them.
bool SameNamespace(const ProcessIdentity& one, const ProcessIdentity& other) {
  return !one.boot.empty() && !one.pid_namespace.empty() && one.pid > 0 &&
         one.started != 0 && one.boot == other.boot &&
         one.pid_namespace == other.pid_namespace;
}

std::string Clean(absl::string_view text, size_t at_most) {
  std::string clean(text.substr(0, at_most));
  for (char& c : clean) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) &&
        !absl::StrContains(".-_:", c)) {
      c = '_';
    }
  }
  return clean;
}

}  // namespace

ProcessIdentity ThisProcess() {
  ProcessIdentity self;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) self.host = host.data();
  self.boot = std::string(
      absl::StripAsciiWhitespace(ReadFile("/proc/sys/kernel/random/boot_id")));
  self.pid_namespace = NamespaceId("pid");
  self.pid = getpid();
  self.started = StartOf(ReadFile("/proc/self/stat")).value_or(0);
  self.net_namespace = NamespaceId("net");
  self.life = LifeSign();
  return self;
}

// kill() tells of every process of the namespace; /proc may be mounted so that
// it hides those of other users.
ProcessState ProbeProcess(int64_t pid) {
  ProcessState state;
  // No process has it, so what wrote it is not understood.
  if (pid <= 0 || pid > std::numeric_limits<pid_t>::max()) return state;
  state.exists = kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH;
  if (state.exists) {
    state.started = StartOf(ReadFile(absl::StrCat("/proc/", pid, "/stat")));
  }
  return state;
}

bool SameProcess(const ProcessIdentity& one, const ProcessIdentity& other) {
  return SameNamespace(one, other) && one.pid == other.pid &&
         one.started == other.started;
}

bool ProvenDead(const ProcessIdentity& process, const ProcessIdentity& self,
                const ProcessProbe& probe) {
  if (!SameNamespace(process, self)) return false;
  const ProcessState state = probe(process.pid);
  return !state.exists ||
         (state.started.has_value() && *state.started != process.started);
}

bool LifeEnded(const ProcessIdentity& process, const ProcessIdentity& self,
               const LifeSignProbe& gone) {
  return !process.boot.empty() && process.boot == self.boot &&
         !process.net_namespace.empty() &&
         process.net_namespace == self.net_namespace && !process.life.empty() &&
         gone(process.life);
}

bool OfInstance(const LeaseHolder& holder, absl::string_view instance) {
  return holder.instance == Clean(instance, kLongText);
}

std::string FormatLeaseHolder(const LeaseHolder& holder) {
  const ProcessIdentity& process = holder.process;
  return absl::StrCat(kMagic, " host=", Clean(process.host, kLongText),
                      " instance=", Clean(holder.instance, kLongText),
                      " boot=", Clean(process.boot, kShortText),
                      " ns=", Clean(process.pid_namespace, kNumber),
                      " pid=", process.pid, " start=", process.started,
                      " net=", Clean(process.net_namespace, kNumber),
                      " life=", Clean(process.life, kShortText),
                      " since=", Clean(holder.since, kShortText),
                      " token=", Clean(holder.token, kShortText),
                      " verb=", Clean(holder.verb, kShortText));
}

std::optional<LeaseHolder> ParseLeaseHolder(absl::string_view cookie) {
  const std::vector<absl::string_view> words = absl::StrSplit(cookie, ' ');
  if (words.front() != kMagic) return std::nullopt;
  std::map<absl::string_view, std::string> fields;
  for (const absl::string_view word : words) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(word, absl::MaxSplits('=', 1));
    fields[field.first] = std::string(field.second);
  }
  LeaseHolder holder;
  holder.process.host = fields["host"];
  holder.process.boot = fields["boot"];
  holder.process.pid_namespace = fields["ns"];
  holder.process.net_namespace = fields["net"];
  holder.process.life = fields["life"];
  if (!absl::SimpleAtoi(fields["pid"], &holder.process.pid) ||
      !absl::SimpleAtoi(fields["start"], &holder.process.started)) {
    return std::nullopt;
  }
  holder.instance = fields["instance"];
  holder.verb = fields["verb"];
  holder.since = fields["since"];
  holder.token = fields["token"];
  return holder;
}

std::string DescribeLeaseHolder(const LeaseHolder& holder) {
  return absl::StrCat("'", holder.verb, "' by instance '", holder.instance,
                      "' on host '", holder.process.host, "' (process ",
                      holder.process.pid, ") since ", holder.since);
}

}  // namespace addons
