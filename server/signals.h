#ifndef ADDONS_SERVER_SIGNALS_H_
#define ADDONS_SERVER_SIGNALS_H_

#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/start_thread.h"
#include "base/unique_fd.h"

namespace addons {

/// From now on SIGHUP ends nothing: it waits until TerminationSignals reads it.
/// The first thing in main().
void HoldHangups();

/// SIGTERM, SIGINT and SIGHUP as something to wait for. Make it before the
/// first thread, so that all threads have them blocked; SIGPIPE is ignored from
/// then on. One per process.
class TerminationSignals {
 public:
  /// INTERNAL when the operating system refuses. Starts the thread of OnNext():
  /// when the daemon stops there may be none left.
  static absl::StatusOr<std::unique_ptr<TerminationSignals>> Block(
      const ThreadStarter& start = StartThread);
  /// Waits for a call of the OnNext() handler under way.
  ~TerminationSignals();
  TerminationSignals(const TerminationSignals&) = delete;
  TerminationSignals& operator=(const TerminationSignals&) = delete;

  /// Blocks until SIGTERM or SIGINT arrives; returns its number. For each
  /// SIGHUP calls `reload`.
  int Wait(absl::FunctionRef<void()> reload);

  /// From now on calls `handler` once, on another thread, when SIGTERM or
  /// SIGINT arrives; SIGHUP means nothing any more. Call after Wait(), at most
  /// once.
  void OnNext(std::function<void(int signal)> handler);

 private:
  TerminationSignals(UniqueFd signals, UniqueFd wake);
  // 0: woken up by the destructor.
  int Next();

  void CallOnNext();

  UniqueFd signals_;
  UniqueFd wake_;
  Mutex mutex_;
  CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void(int)> handler_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::jthread> thread_;  // last: it uses what is above
};

}  // namespace addons

#endif  // ADDONS_SERVER_SIGNALS_H_
