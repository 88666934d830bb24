#ifndef ADDONS_SERVER_SIGNALS_H_
#define ADDONS_SERVER_SIGNALS_H_

#include <functional>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace addons {

/// SIGTERM and SIGINT as something to wait for. Make it before the first
/// thread, so that all threads have them blocked; SIGPIPE is ignored from then
/// on. One per process.
class TerminationSignals {
 public:
  /// INTERNAL when the operating system refuses.
  static absl::StatusOr<std::unique_ptr<TerminationSignals>> Block();
  /// Waits for a call of the OnNext() handler under way.
  ~TerminationSignals();
  TerminationSignals(const TerminationSignals&) = delete;
  TerminationSignals& operator=(const TerminationSignals&) = delete;

  /// Blocks until one arrives; returns its number.
  int Wait();

  /// From now on calls `handler` once, on another thread, when one arrives.
  /// Call after Wait(), at most once.
  void OnNext(std::function<void(int signal)> handler);

 private:
  TerminationSignals(UniqueFd signals, UniqueFd wake);
  // 0: woken up by the destructor.
  int Next();

  UniqueFd signals_;
  UniqueFd wake_;
  std::jthread thread_;
};

}  // namespace addons

#endif  // ADDONS_SERVER_SIGNALS_H_
