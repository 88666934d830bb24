#include "cli/site_run.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/start_thread.h"

namespace addons {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class SiteRun::State {
 public:
  State(size_t items, const SiteRunOptions& options, Work work, Changed changed)
      : options_(options),
        end_(steady_clock::now() + options.timeout),
        work_(std::move(work)),
        changed_(std::move(changed)),
        items_(items),
        left_(items) {
    for (size_t i = 0; i < items; ++i) queue_.insert({SteadyTime(), i});
    const size_t threads =
        std::min(std::max<size_t>(options.at_once, 1), items);
    for (size_t i = 0; i < threads; ++i) {
      auto thread = StartThread("site-call", [this] { Serve(); });
      if (!thread.has_value()) break;
      threads_.push_back(*std::move(thread));
    }
    // The system has not even one: nothing is begun, and that is seen.
    if (threads_.empty()) stop_.request_stop();
  }
  ~State() {
    Stop();
    threads_.clear();  // waits for them
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  bool Await(milliseconds patience) {
    const SteadyTime until = steady_clock::now() + patience;
    const MutexLock lock(mutex_);
    while (!Ended()) {
      if (!changed_state_.WaitUntil(mutex_, until)) break;
    }
    return Ended();
  }
  void Stop() {
    stop_.request_stop();
    const MutexLock lock(mutex_);
    changed_state_.NotifyAll();
  }
  std::vector<SiteProgress> Progress() const {
    const MutexLock lock(mutex_);
    return items_;
  }

 private:
  // That what waits for its turn waits in vain is found out at the end.
  bool Ended() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return busy_ == 0 && (left_ == 0 || Over());
  }
  bool Over() const {
    return stop_.stop_requested() || steady_clock::now() >= end_;
  }
  /// The next item whose pause is over; false: there is none any more.
  bool Take(size_t* index) {
    const MutexLock lock(mutex_);
    while (!Over() && left_ > 0) {
      SteadyTime until = end_;
      if (!queue_.empty()) {
        const auto first = queue_.begin();
        if (first->first <= steady_clock::now()) {
          *index = first->second;
          queue_.erase(first);
          ++busy_;
          return true;
        }
        until = std::min(until, first->first);
      }
      changed_state_.WaitUntil(mutex_, until);
    }
    return false;
  }
  void Note(size_t index, const SiteStep& step) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    --busy_;
    SiteProgress& item = items_[index];
    const bool news = item.state != step.state || item.message != step.message;
    item = {step.state, step.code, step.message};
    if (step.state == SiteState::kWaiting) {
      const SteadyTime now = steady_clock::now();
      queue_.insert(
          {step.at_once ? SteadyTime() : now + options_.pause, index});
    } else {
      --left_;
    }
    if (news) changed_(index, item);
    changed_state_.NotifyAll();
  }
  void Serve() {
    size_t index = 0;
    while (Take(&index)) {
      const auto left =
          std::chrono::duration_cast<milliseconds>(end_ - steady_clock::now());
      Note(index,
           work_(index, std::clamp(left, milliseconds(1), options_.one_call),
                 stop_.get_token()));
    }
    const MutexLock lock(mutex_);
    changed_state_.NotifyAll();
  }

  const SiteRunOptions options_;
  const SteadyTime end_;
  const Work work_;
  const Changed changed_;
  std::stop_source stop_;
  mutable Mutex mutex_;
  CondVar changed_state_;
  std::vector<SiteProgress> items_ ABSL_GUARDED_BY(mutex_);
  /// When each is due; an item that a call is made for is not in it.
  std::set<std::pair<SteadyTime, size_t>> queue_ ABSL_GUARDED_BY(mutex_);
  size_t left_ ABSL_GUARDED_BY(mutex_);
  size_t busy_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::jthread> threads_;
};

SiteRun::SiteRun(size_t items, const SiteRunOptions& options, Work work,
                 Changed changed)
    : state_(std::make_unique<State>(items, options, std::move(work),
                                     std::move(changed))) {}
SiteRun::~SiteRun() = default;
bool SiteRun::Await(milliseconds patience) { return state_->Await(patience); }
void SiteRun::Stop() { state_->Stop(); }
std::vector<SiteProgress> SiteRun::Progress() const {
  return state_->Progress();
}

}  // namespace addons
