#include "ceph/librados/snapshot_together.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"
#include "ceph/blocklist_commands.h"
#include "ceph/ceph_address.h"
#include "ceph/librados/snapshot_order.h"

namespace addons {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Stage = SnapshotReport::Stage;

/// As long as Ceph's own entries for clients whose lock is broken.
constexpr seconds kBlocklisted{3600};
/// To close the images, when it has no lock any more.
constexpr milliseconds kClosePatience = seconds(10);

absl::Status Failed(absl::string_view why) {
  return absl::UnavailableError(
      absl::StrCat("Failed to make snapshots at one instant: ", why));
}

/// A process that this one has started. The destructor kills it.
class Child {
 public:
  static absl::StatusOr<Child> Start(const std::string& program) {
    std::array<int, 2> input{};
    std::array<int, 2> output{};
    if (pipe2(input.data(), O_CLOEXEC) != 0) return NotStarted(errno);
    UniqueFd theirs_in(input[0]);
    UniqueFd ours_out(input[1]);
    if (pipe2(output.data(), O_CLOEXEC) != 0) return NotStarted(errno);
    UniqueFd ours_in(output[0]);
    UniqueFd theirs_out(output[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, theirs_in.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, theirs_out.get(), STDOUT_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    // Threads of the daemon have signals blocked.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    std::string name = "rbd-addonsd";
    std::string argument = kSnapshotChildArgument;
    std::array<char*, 3> arguments = {name.data(), argument.data(), nullptr};
    pid_t pid = 0;
    const int started = posix_spawn(&pid, program.c_str(), &actions,
                                    &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (started != 0) return NotStarted(started);
    return Child(pid, std::move(ours_out), std::move(ours_in));
  }

  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)),
        to_(std::move(other.to_)),
        from_(std::move(other.from_)),
        reader_(from_.get()) {}
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { Kill(); }

  bool Tell(absl::string_view line) { return WriteLine(to_.get(), line); }
  /// nullopt: it has died, or says nothing by then, or nothing that is known.
  std::optional<SnapshotReport> Hear(SteadyTime until) {
    const std::optional<std::string> line = reader_.Next(until);
    return line.has_value() ? ParseReport(*line) : std::nullopt;
  }
  /// When this returns it does nothing any more.
  void Kill() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
  }

 private:
  Child(pid_t pid, UniqueFd to, UniqueFd from)
      : pid_(pid),
        to_(std::move(to)),
        from_(std::move(from)),
        reader_(from_.get()) {}
  static absl::Status NotStarted(int error) {
    return Failed(
        absl::StrCat("the process that holds the locks could not be started: ",
                     absl::ErrnoToStatus(error, "").message()));
  }

  pid_t pid_ = 0;
  UniqueFd to_;
  UniqueFd from_;
  LineReader reader_;
};

/// Other clients go on after 10 s, not after 30 s.
void ShutOut(Cluster& cluster, const std::string& addresses) {
  std::set<BlocklistKey> keys;
  for (const CephAddress& address : ParseCephAddresses(addresses)) {
    const std::string ip = address.ip.Text();
    keys.insert(ClientKey(absl::StrCat(
        address.ip.family == IpFamily::kIPv6 ? absl::StrCat("[", ip, "]") : ip,
        ":", address.port, "/", address.nonce)));
  }
  const absl::Status status = FirstError(
      AddEntries(cluster, std::vector(keys.begin(), keys.end()), kBlocklisted));
  Log().warn(
      "a process that had the images of a group open was killed client={} {}",
      Quoted(addresses), Quoted(status.ToString()));
}

}  // namespace

absl::Status SnapshotInChild(const SnapshotOrder& order,
                             const SnapshotChildOptions& options,
                             Cluster& cluster) {
  ADDONS_ASSIGN_OR_RETURN(Child child, Child::Start(options.program));
  std::string text = OrderText(order);
  const bool told = child.Tell(text);
  WipeString(text);
  if (!told) return Failed("the process that holds the locks has died");
  const auto after = [](milliseconds patience) {
    return RealClock().Now() + patience;
  };
  const std::optional<SnapshotReport> connected =
      child.Hear(after(options.open_patience));
  if (!connected.has_value()) {
    return Failed("the process that holds the locks could not connect in time");
  }
  if (connected->stage != Stage::kConnected) return connected->status;
  absl::Status ended = Failed("the images were not opened in time");
  SteadyTime until = after(options.open_patience);
  while (const auto report = child.Hear(until)) {
    switch (report->stage) {
      case Stage::kConnected:
        continue;
      case Stage::kLocking:
        until = after(options.held_patience);
        ended = Failed(absl::StrCat(
            "it took longer than ", WholeMilliseconds(options.held_patience),
            " ms, and was given up, so that their writers go on; repeat the "
            "call"));
        continue;
      case Stage::kReleased:
        until = after(kClosePatience);
        ended =
            Failed("the process that made them did not end; repeat the call");
        continue;
      case Stage::kEnded:
        break;
    }
    if (report->clean) return report->status;
    ended = report->status;
    break;
  }
  child.Kill();
  ShutOut(cluster, connected->client);
  return ended;
}

}  // namespace addons
