#ifndef ADDONS_TESTS_CLUSTER_HOST_PROCESS_H_
#define ADDONS_TESTS_CLUSTER_HOST_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace addons::testing {

/// A program that runs until this object ends, or this process does.
class HostProcess {
 public:
  /// Appends what it prints to `log_file`.
  HostProcess(std::vector<std::string> command, const std::string& log_file);
  ~HostProcess();
  HostProcess(const HostProcess&) = delete;
  HostProcess& operator=(const HostProcess&) = delete;

 private:
  pid_t pid_ = -1;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_HOST_PROCESS_H_
