#ifndef ADDONS_CLI_SITE_RUN_H_
#define ADDONS_CLI_SITE_RUN_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace addons {

enum class SiteState {
  kNotBegun,  // no call was made for it
  kWaiting,   // it is called again
  kDone,
  kRefused,  // it ended with an error that a repetition does not change
};

/// Begins the message of one whose demotion on the other site was refused.
inline constexpr char kNotDemotedThere[] = "not demoted on the other site: ";

/// How far one volume or group is.
struct SiteProgress {
  SiteState state = SiteState::kNotBegun;
  absl::StatusCode code = absl::StatusCode::kOk;  // of kRefused, kWaiting
  std::string message;                            // the last one
};

/// What one call brought.
struct SiteStep {
  SiteState state = SiteState::kWaiting;
  /// Of kWaiting: without a pause, because the next call is another one.
  bool at_once = false;
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string message;
};

struct SiteRunOptions {
  size_t at_once = 16;                   // threads, and calls at a time
  std::chrono::milliseconds timeout{};   // for all of it
  std::chrono::milliseconds pause{};     // before the same call again
  std::chrono::milliseconds one_call{};  // at most, so that reasons are seen
};

/// Calls for many volumes and groups, a bounded number of them at a time. Those
/// that have to wait go to the end of the queue, so they do not hold up others.
class SiteRun {
 public:
  /// Makes one call for item `index`, bounded by `limit`, ended by `stop`. Runs
  /// on several threads, for one item on one at a time.
  using Work =
      std::function<SiteStep(size_t index, std::chrono::milliseconds limit,
                             const std::stop_token& stop)>;
  /// A new state or message of an item. On several threads, one at a time.
  using Changed = std::function<void(size_t index, const SiteProgress& item)>;

  SiteRun(size_t items, const SiteRunOptions& options, Work work,
          Changed changed);
  /// Stops, and waits for the threads.
  ~SiteRun();
  SiteRun(const SiteRun&) = delete;
  SiteRun& operator=(const SiteRun&) = delete;

  /// Waits until all items have ended or the time is over, for `patience` at
  /// most. False: not yet.
  bool Await(std::chrono::milliseconds patience);
  /// Ends the waiting for all calls. What the daemon has begun it goes on with.
  void Stop();
  /// How far all are. Thread-safe.
  std::vector<SiteProgress> Progress() const;

 private:
  class State;
  const std::unique_ptr<State> state_;
};

}  // namespace addons

#endif  // ADDONS_CLI_SITE_RUN_H_
