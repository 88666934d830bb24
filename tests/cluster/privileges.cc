#include "tests/cluster/privileges.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace addons::testing {

bool CanMakeNamespaces(int flags) {
  const pid_t child = fork();
  if (child == 0) _exit(unshare(flags) == 0 ? 0 : 1);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace addons::testing
