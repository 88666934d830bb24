#include "tests/cluster/daemon_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/cluster/testbed.h"

namespace addons::testing {
namespace {

/// The program under test: the one built with this test, unless the environment
/// names another one, such as a daemon built on another release of Debian.
std::string DaemonProgram() {
  const char* const other = std::getenv("RBD_ADDONS_TEST_DAEMON");
  return other != nullptr && *other != '\0' ? other : ADDONS_DAEMON;
}

/// Runs what follows. The shell is the namespace's first process, which the
/// kernel protects from signals of its own namespace, and all of it ends with
/// the one that is killed.
std::vector<std::string> ContainerCommand() {
  return {"unshare",
          "--pid",
          "--fork",
          "--mount-proc",
          "--kill-child=SIGKILL",
          "sh",
          "-c",
          R"("$@"; exit $?)",
          "sh"};
}

bool Accepts(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const bool connected =
      connect(fd, reinterpret_cast<const sockaddr*>(&address),
              sizeof(address)) == 0;
  close(fd);
  return connected;
}

/// Whether the daemon's thread that writes its log has nothing to write: what a
/// call logs is queued before its answer, and wakes that thread. Linux,
/// /proc/PID/task/TID/{comm,status}.
bool LogIsWritten(pid_t daemon) {
  std::error_code error;
  std::filesystem::directory_iterator task(
      absl::StrCat("/proc/", daemon, "/task"), error);
  while (!error && task != std::filesystem::directory_iterator()) {
    std::string name;
    std::ifstream(task->path() / "comm") >> name;
    if (name == "log-writer") {
      std::ostringstream status;
      status << std::ifstream(task->path() / "status").rdbuf();
      return !absl::StrContains(status.str(), "State:\tR") &&
             !absl::StrContains(status.str(), "State:\tD");
    }
    task.increment(error);
  }
  return true;  // it has ended, and has written all that it will
}

}  // namespace

DaemonProcess::DaemonProcess(std::string socket, std::string log_file,
                             std::vector<std::string> flags)
    : socket_(std::move(socket)),
      log_file_(std::move(log_file)),
      flags_(std::move(flags)) {}

DaemonProcess::~DaemonProcess() {
  if (Running()) Stop(SIGTERM);
}

bool DaemonProcess::Start(
    const std::map<std::string, std::string>& environment) {
  std::vector<std::string> arguments;
  if (in_container_) arguments = ContainerCommand();
  arguments.insert(arguments.end(),
                   {DaemonProgram(), "--csi-addons-endpoint=unix://" + socket_,
                    "--admin-endpoint=unix://" + admin_socket()});
  arguments.insert(arguments.end(), flags_.begin(), flags_.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    // Nothing may be left behind when the test program is killed.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    const int log = open(log_file_.c_str(),
                         O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(log, STDERR_FILENO);
    dup2(log, STDOUT_FILENO);
    for (const auto& [name, value] : environment) {
      setenv(name.c_str(), value.c_str(), 1);
    }
    execvp(argv[0], argv.data());
    _exit(127);
  }
  return Eventually([this] { return !Running() || Accepts(socket_); },
                    std::chrono::seconds(20)) &&
         Running();
}

bool DaemonProcess::Running() {
  if (pid_ <= 0) return false;
  if (waitpid(pid_, nullptr, WNOHANG) == 0) return true;
  pid_ = -1;
  return false;
}

bool DaemonProcess::WaitForEnd(int seconds) {
  return Eventually([this] { return !Running(); },
                    std::chrono::seconds(seconds));
}

void DaemonProcess::Stop(int signal) {
  if (!Running()) return;
  kill(pid_, signal);
  if (WaitForEnd(40)) return;
  kill(pid_, SIGKILL);
  WaitForEnd(10);
}

std::string DaemonProcess::Log() const {
  if (pid_ > 0) Eventually([this] { return LogIsWritten(pid_); });
  std::ifstream file(log_file_);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace addons::testing
