#include "ceph/librados/call_trace.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace addons {

CallTrace::CallTrace(const char* path) {
  if (path == nullptr || *path == '\0') return;
  file_ = UniqueFd(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (file_.valid()) return;
  Log().critical("RBD_ADDONS_CALL_TRACE: cannot write to '{}'", path);
  std::abort();
}

void CallTrace::Arrive(absl::string_view call) const {
  if (!file_.valid()) return;
  // One write: lines of two threads do not mix.
  const std::string line = absl::StrCat(call, "\n");
  if (write(file_.get(), line.data(), line.size()) !=
      static_cast<ssize_t>(line.size())) {
    Log().critical("RBD_ADDONS_CALL_TRACE: cannot write");
    std::abort();
  }
}

}  // namespace addons
