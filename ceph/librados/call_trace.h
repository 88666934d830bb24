#ifndef ADDONS_CEPH_LIBRADOS_CALL_TRACE_H_
#define ADDONS_CEPH_LIBRADOS_CALL_TRACE_H_

#ifndef ADDONS_FAULT_POINTS
#error "call_trace.h belongs to builds with ADDONS_FAULT_POINTS"
#endif

#include "absl/strings/string_view.h"
#include "base/unique_fd.h"

namespace addons {

/// Writes down which calls of librados and librbd are made, in their order: one
/// name a line, at the end of a file. Thread-safe.
class CallTrace {
 public:
  /// `path` null or empty: nothing is written. A file that cannot be opened
  /// ends the process: a run without its trace would prove nothing.
  explicit CallTrace(const char* path);

  /// Before the call is made, so that one that ends the process is in it.
  void Arrive(absl::string_view call) const;

 private:
  UniqueFd file_;
};

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_CALL_TRACE_H_
