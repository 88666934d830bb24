#ifndef ADDONS_TESTS_CLUSTER_DAEMON_PROCESS_H_
#define ADDONS_TESTS_CLUSTER_DAEMON_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace addons::testing {

/// The built rbd-addonsd as a child process that dies with this test program.
/// Its log is a file. One thread at a time.
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
  bool Running();
  pid_t pid() const { return pid_; }

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
  pid_t pid_ = -1;  // in a container: of what made the namespace
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_DAEMON_PROCESS_H_
