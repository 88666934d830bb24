#ifndef ADDONS_TESTS_CLUSTER_DAEMON_PROCESS_H_
#define ADDONS_TESTS_CLUSTER_DAEMON_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace addons::testing {

/// The program under test: the one built with this test, unless the environment
/// names another one, such as a daemon built on another release of Debian.
std::string DaemonProgram();

/// The built rbd-addonsd as a child process that dies with this test program.
/// Its log is a file. An end that the test did not ask for is told on standard
/// error at once, with all that is known about it. One thread at a time.
class DaemonProcess {
 public:
  DaemonProcess(std::string socket, std::string log_file,
                std::vector<std::string> flags);
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  /// From the next start on in a pid namespace of its own, as each container of
  /// a pod has one; network and files stay those of the test. Needs
  /// CanMakeNamespaces(CLONE_NEWPID | CLONE_NEWNS).
  void RunInContainer() { in_container_ = true; }
  /// Starts it with these variables added to the environment and waits until
  /// the socket accepts. False: it ended or did not answer within 20 s.
  bool Start(const std::map<std::string, std::string>& environment = {});
  /// Sends `signal` and waits for the end (SIGTERM, SIGKILL).
  void Stop(int signal);
  /// Waits until it has ended by itself; false after `seconds`.
  bool WaitForEnd(int seconds);
  bool Running() const;
  /// Sends `signal` and returns at once; false: it does not run.
  bool Signal(int signal);
  /// -1: it does not run.
  pid_t pid() const;
  /// How the last one that ended did: "process 4711 ended by signal 9 (Killed),
  /// 12 s after its start, which the test did not ask for", and in that case
  /// the last lines of its log and a back trace, where there is one. Empty:
  /// none has ended.
  std::string Ending() const;

  const std::string& socket() const { return socket_; }
  /// Of the administrators' services: beside the other one.
  std::string admin_socket() const { return socket_ + ".admin"; }
  /// Everything it has logged so far, over all starts, with what it logged
  /// before its last answer.
  std::string Log() const;

 private:
  const std::string socket_;
  const std::string log_file_;
  const std::vector<std::string> flags_;
  bool in_container_ = false;

  /// The body of the process: does not return.
  [[noreturn]] void Execute(
      const std::vector<char*>& argv,
      const std::map<std::string, std::string>& environment) const;
  bool EndIsWanted() const;
  /// What is known of an end that nobody asked for.
  std::string Details(pid_t pid, bool left_core) const;
  /// Starts it, says so, and stays until it has ended: the kernel ends a child
  /// with the thread that started it. Its arguments are not used after that.
  void Watch(const std::vector<char*>& argv,
             const std::map<std::string, std::string>& environment);

  mutable Mutex mutex_;
  CondVar changed_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  // Not yet waited for: no other process has it. In a container: of what made
  // the namespace.
  pid_t pid_ ABSL_GUARDED_BY(mutex_) = -1;
  bool end_wanted_ ABSL_GUARDED_BY(mutex_) = false;
  std::string ending_ ABSL_GUARDED_BY(mutex_);
  std::thread watch_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_DAEMON_PROCESS_H_
