#ifndef ADDONS_CLI_CALL_WATCH_H_
#define ADDONS_CLI_CALL_WATCH_H_

#include <grpcpp/channel.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "base/periodic.h"
#include "cli/changing_lines.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/streams.h"

namespace addons {

/// While a call waits: looks every second at what the daemon does with the
/// object of the call, and shows on the error stream how far that is, and of a
/// wait for another site since when, for how long and until when: on a terminal
/// in one line that changes, or several where it is narrow, else in a line
/// every half minute. Says that a wait may be interrupted, which changes
/// nothing. And notes Ctrl-C. Nobody else writes to the error stream meanwhile.
class CallWatch {
 public:
  struct Options {
    /// The object as the daemon's list of operations has it; empty: nothing is
    /// shown.
    std::string subject;
    /// Before the first look, and between two.
    std::chrono::milliseconds look_every{1000};
    /// Where the error stream is no terminal.
    std::chrono::milliseconds line_every{30000};
    /// Of the terminal; 0: it is asked, each time.
    size_t columns = 0;
  };

  /// `channel` is that of the administrators' services; null: nothing is
  /// shown. `streams` is not owned.
  CallWatch(std::shared_ptr<grpc::Channel> channel, Options options,
            Streams& streams);
  /// Takes the line that changes away.
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  /// Is requested when the command was interrupted.
  std::stop_token interrupted() const { return interrupted_.get_token(); }

  /// Why the call is repeated: a line where it says something new. Progress in
  /// it is shown as that of an operation.
  void SayReason(const std::string& reason);

 private:
  void Tick();
  /// Asks what the daemon does with the object.
  void Look();
  void Show(const std::string& doing, const std::string& progress)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ShowLine(const std::string& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<grpc::Channel> channel_;
  const Options options_;
  Streams& streams_;
  const Interrupt interrupt_;
  std::stop_source interrupted_;
  std::stop_source ended_;
  std::chrono::steady_clock::time_point next_look_;  // of Tick() only
  Mutex mutex_;
  ChangingLines lines_ ABSL_GUARDED_BY(mutex_);
  std::string last_reason_ ABSL_GUARDED_BY(mutex_);
  std::string last_clock_ ABSL_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point next_line_ ABSL_GUARDED_BY(mutex_);
  bool said_safe_ ABSL_GUARDED_BY(mutex_) = false;  // to interrupt it
  ProgressMeter operation_ ABSL_GUARDED_BY(mutex_);
  ProgressMeter reason_ ABSL_GUARDED_BY(mutex_);
  std::optional<Periodic> ticks_;  // last: it uses what is above
};

/// What goes on in the daemon with `subject` (all of it where that is empty)
/// although nobody waits for it any more, and what to do then, for a person who
/// has interrupted the command. `where` is said with each. Asks the daemon's
/// administrators' socket for two seconds at most, where it is known.
void SayWhatGoesOn(const std::shared_ptr<grpc::Channel>& channel,
                   const std::string& subject, const std::string& where,
                   Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_CALL_WATCH_H_
