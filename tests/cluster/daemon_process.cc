#include "tests/cluster/daemon_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/cluster/process_end.h"
#include "tests/cluster/testbed.h"

namespace addons::testing {
namespace {

std::string FolderOf(const std::string& file) {
  return std::filesystem::absolute(file).parent_path().string();
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

std::string DaemonProgram() {
  const char* const other = std::getenv("RBD_ADDONS_TEST_DAEMON");
  // Absolute, since the process has another working folder.
  return std::filesystem::absolute(
             other != nullptr && *other != '\0' ? other : ADDONS_DAEMON)
      .string();
}

DaemonProcess::DaemonProcess(std::string socket, std::string log_file,
                             std::vector<std::string> flags)
    : socket_(std::move(socket)),
      log_file_(std::move(log_file)),
      flags_(std::move(flags)) {}

DaemonProcess::~DaemonProcess() {
  if (Running()) Stop(SIGTERM);
  if (watch_.joinable()) watch_.join();
}

bool DaemonProcess::Start(
    const std::map<std::string, std::string>& environment) {
  if (watch_.joinable()) watch_.join();  // of the one before, which has ended
  std::vector<std::string> arguments;
  if (in_container_) arguments = ContainerCommand();
  arguments.insert(arguments.end(),
                   {DaemonProgram(), "--csi-addons-endpoint=unix://" + socket_,
                    "--admin-endpoint=unix://" + admin_socket()});
  arguments.insert(arguments.end(), flags_.begin(), flags_.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  {
    const MutexLock lock(mutex_);
    started_ = false;
    end_wanted_ = environment.contains("RBD_ADDONS_FAULTS");
  }
  watch_ = std::thread([&] { Watch(argv, environment); });
  {
    const MutexLock lock(mutex_);
    while (!started_) changed_.Wait(mutex_);
  }
  return Eventually([this] { return !Running() || Accepts(socket_); },
                    std::chrono::seconds(20)) &&
         Running();
}

void DaemonProcess::Execute(
    const std::vector<char*>& argv,
    const std::map<std::string, std::string>& environment) const {
  AllowCore();
  setenv("RBD_ADDONS_CORE_DUMPS", "true", 0);  // it forbids them by itself
  const int log =
      open(log_file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dup2(log, STDERR_FILENO);
  dup2(log, STDOUT_FILENO);
  if (chdir(FolderOf(log_file_).c_str()) != 0) _exit(127);
  for (const auto& [name, value] : environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  execvp(argv[0], argv.data());
  _exit(127);
}

void DaemonProcess::Watch(
    const std::vector<char*>& argv,
    const std::map<std::string, std::string>& environment) {
  using std::chrono::steady_clock;
  const auto start = steady_clock::now();
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    // Nothing may be left behind when the test program is killed.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    Execute(argv, environment);
  }
  {
    const MutexLock lock(mutex_);
    pid_ = pid;
    started_ = true;
    changed_.NotifyAll();
  }
  if (pid < 0) return;
  siginfo_t end{};
  while (waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
  const auto lived = std::chrono::duration_cast<std::chrono::seconds>(
      steady_clock::now() - start);
  std::string ending =
      absl::StrCat("process ", pid, " of ", socket_, " ended by ", EndText(end),
                   ", ", lived.count(), " s after its start");
  if (!EndIsWanted()) {
    absl::StrAppend(&ending, ", which the test did not ask for\n",
                    Details(pid, end.si_code == CLD_DUMPED));
    std::cerr << ending << std::endl;
  }
  const MutexLock lock(mutex_);
  ending_ = std::move(ending);
  waitpid(pid, nullptr, 0);
  pid_ = -1;
}

bool DaemonProcess::EndIsWanted() const {
  const MutexLock lock(mutex_);
  return end_wanted_;
}

std::string DaemonProcess::Details(pid_t pid, bool left_core) const {
  constexpr size_t kLines = 50;
  const std::string trace =
      left_core ? BackTrace(DaemonProgram(), FolderOf(log_file_), pid) : "";
  return absl::StrCat(
      MachineText(), "\n--- the last lines of its log\n",
      LastLines(log_file_, kLines),
      trace.empty() ? "\n--- no back trace" : "\n--- back trace\n", trace);
}

bool DaemonProcess::Running() const { return pid() > 0; }

pid_t DaemonProcess::pid() const {
  const MutexLock lock(mutex_);
  return pid_;
}

std::string DaemonProcess::Ending() const {
  const MutexLock lock(mutex_);
  return ending_;
}

bool DaemonProcess::Signal(int signal) {
  const MutexLock lock(mutex_);
  if (pid_ <= 0) return false;
  end_wanted_ = end_wanted_ || (signal != SIGSTOP && signal != SIGCONT);
  return kill(pid_, signal) == 0;
}

bool DaemonProcess::WaitForEnd(int seconds) {
  return Eventually([this] { return !Running(); },
                    std::chrono::seconds(seconds));
}

void DaemonProcess::Stop(int signal) {
  if (!Signal(signal) || WaitForEnd(40)) return;
  Signal(SIGKILL);
  WaitForEnd(10);
}

std::string DaemonProcess::Log() const {
  if (const pid_t running = pid(); running > 0) {
    Eventually([running] { return LogIsWritten(running); });
  }
  std::ifstream file(log_file_);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace addons::testing
