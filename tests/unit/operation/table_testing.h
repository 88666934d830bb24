#ifndef ADDONS_TESTS_UNIT_OPERATION_TABLE_TESTING_H_
#define ADDONS_TESTS_UNIT_OPERATION_TABLE_TESTING_H_

#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <any>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "operation/operation_table.h"
#include "tests/testing/gate.h"
#include "tests/testing/manual_clock.h"

namespace addons::testing {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// Whether `condition` comes true within a time that only a failure needs.
inline bool Eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

/// A deadline that a test waits for, and before which even a loaded machine has
/// begun the work.
inline constexpr milliseconds kShortDeadline{2000};

inline SteadyTime RealIn(milliseconds duration) {
  return std::chrono::steady_clock::now() + duration;
}

/// One call of Start().
class BackgroundCall {
 public:
  BackgroundCall(OperationTable& table, const OperationSpec& spec,
                 OperationWork work, const std::string& request_id = "r1",
                 std::optional<SteadyTime> deadline = std::nullopt) {
    Caller caller;
    caller.deadline = deadline;
    caller.request_id = request_id;
    caller.gone = gone_.get_token();
    table.Start(spec, caller, std::move(work),
                [answer = answer_](absl::StatusOr<std::any> result) {
                  ++answer->times;
                  answer->promise.set_value(std::move(result));
                });
  }
  /// Hangs up, so that a test that failed ends.
  ~BackgroundCall() { HangUp(); }
  BackgroundCall(const BackgroundCall&) = delete;
  BackgroundCall& operator=(const BackgroundCall&) = delete;

  /// The caller goes away.
  void HangUp() { gone_.request_stop(); }
  bool returned() const { return answer_->times > 0; }
  /// Blocks until the call has been answered.
  const absl::StatusOr<std::any>& Result() { return result_.get(); }
  int Value() {
    const absl::StatusOr<std::any>& result = Result();
    return result.ok() ? std::any_cast<int>(*result) : -1;
  }

 private:
  struct Answer {
    std::atomic<int> times{0};
    std::promise<absl::StatusOr<std::any>> promise;
  };
  std::stop_source gone_;
  const std::shared_ptr<Answer> answer_ = std::make_shared<Answer>();
  const std::shared_future<absl::StatusOr<std::any>> result_ =
      answer_->promise.get_future().share();
};

/// Work that blocks, as in a Ceph call, until it is released. Shared, because
/// the operation may outlive the test's call.
struct Job {
  Gate started;
  Gate release;
  std::atomic<int> runs{0};
};

/// Looks (blocked), changes nothing, returns `value`.
inline OperationWork Blocked(std::shared_ptr<Job> job, int value) {
  return [job = std::move(job),
          value](OperationContext&) -> absl::StatusOr<std::any> {
    ++job->runs;
    job->started.Open();
    job->release.Pass();
    return std::any(value);
  };
}

/// Begins to mutate, blocks, returns `value`.
inline OperationWork Mutating(std::shared_ptr<Job> job, int value) {
  return [job = std::move(job),
          value](OperationContext& context) -> absl::StatusOr<std::any> {
    ++job->runs;
    const absl::Status begun = context.BeginMutation();
    job->started.Open();
    if (!begun.ok()) return begun;
    job->release.Pass();
    return std::any(value);
  };
}

/// Waits for a state that never comes; `seen` gets what it was told.
inline OperationWork Waiting(std::shared_ptr<Job> job,
                             std::shared_ptr<absl::Status> seen = nullptr) {
  return [job = std::move(job), seen = std::move(seen)](
             OperationContext& context) -> absl::StatusOr<std::any> {
    ++job->runs;
    job->started.Open();
    for (;;) {
      const absl::Status status = context.SleepFor(hours(1));
      if (status.ok()) continue;
      if (seen != nullptr) *seen = status;
      return status;
    }
  };
}

inline OperationWork Returning(int value) {
  return [value](OperationContext&) -> absl::StatusOr<std::any> {
    return std::any(value);
  };
}

inline OperationSpec Spec(const std::string& verb,
                          std::vector<std::string> keys = {"k1"}) {
  OperationSpec spec;
  spec.keys = std::move(keys);
  spec.share = WorkerShare::OfCluster(ClusterId("c1"));
  spec.verb = verb;
  spec.object = "volume 'v1'";
  return spec;
}

inline OperationSpec Superseding(OperationSpec spec) {
  spec.supersedes = true;
  return spec;
}

inline OperationSpec Yielding(OperationSpec spec) {
  spec.yields = true;
  return spec;
}

/// Begins to mutate and goes on until it is told to stop.
inline OperationWork MutatingUntilStopped(std::shared_ptr<Job> job) {
  return [job = std::move(job)](
             OperationContext& context) -> absl::StatusOr<std::any> {
    const absl::Status begun = context.BeginMutation();
    job->started.Open();
    if (!begun.ok()) return begun;
    for (;;) {
      if (absl::Status told = context.SleepFor(hours(1)); !told.ok()) {
        return told;
      }
    }
  };
}

/// What the process logs while this lives.
class LogCapture {
 public:
  LogCapture() : sink_(std::make_shared<Sink>()) {
    previous_ = spdlog::default_logger();
    auto logger = std::make_shared<spdlog::logger>("test", sink_);
    logger->set_pattern("%l %v");
    logger->set_level(spdlog::level::trace);
    spdlog::set_default_logger(std::move(logger));
  }
  ~LogCapture() { spdlog::set_default_logger(previous_); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  std::vector<std::string> Lines() const { return sink_->Lines(); }

 private:
  class Sink final : public spdlog::sinks::base_sink<std::mutex> {
   public:
    std::vector<std::string> Lines() {
      const std::lock_guard<std::mutex> lock(mutex_);
      return lines_;
    }

   protected:
    void sink_it_(const spdlog::details::log_msg& msg) override {
      spdlog::memory_buf_t formatted;
      formatter_->format(msg, formatted);
      lines_.emplace_back(formatted.data(), formatted.size());
    }
    void flush_() override {}

   private:
    std::vector<std::string> lines_;
  };

  std::shared_ptr<Sink> sink_;
  std::shared_ptr<spdlog::logger> previous_;
};

/// A table on a manual clock. Jobs are released before the table dies.
class TableTest : public ::testing::Test {
 protected:
  explicit TableTest(const OperationLimits& limits = OperationLimits{}) {
    Restart(limits);
  }
  ~TableTest() override {
    for (const std::shared_ptr<Job>& job : jobs_) job->release.Open();
    table_.reset();
  }

  void Restart(const OperationLimits& limits) {
    table_ = std::make_unique<OperationTable>(limits, clock_);
  }
  std::shared_ptr<Job> NewJob() {
    jobs_.push_back(std::make_shared<Job>());
    return jobs_.back();
  }
  OperationTable& table() { return *table_; }
  absl::StatusOr<std::any> Run(const OperationSpec& spec, OperationWork work) {
    Caller caller;
    caller.request_id = "direct";
    return table_->Run(spec, caller, std::move(work));
  }
  bool AwaitEmpty() {
    return Eventually([this] { return table_->List().empty(); });
  }
  /// Calls and goes away once the work has begun.
  void RunWithoutCaller(const OperationSpec& spec, const OperationWork& work,
                        const std::shared_ptr<Job>& job) {
    BackgroundCall call(table(), spec, work);
    job->started.Pass();
    call.HangUp();
    call.Result().IgnoreError();  // CANCELLED: the caller has gone
  }

  ManualClock clock_{ManualClock::Sleep::kWaits};

 private:
  std::vector<std::shared_ptr<Job>> jobs_;
  std::unique_ptr<OperationTable> table_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_UNIT_OPERATION_TABLE_TESTING_H_
