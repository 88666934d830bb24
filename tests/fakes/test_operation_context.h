#ifndef ADDONS_TESTS_FAKES_TEST_OPERATION_CONTEXT_H_
#define ADDONS_TESTS_FAKES_TEST_OPERATION_CONTEXT_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "operation/operation_context.h"
#include "tests/fakes/fake_world.h"

namespace addons {

/// An OperationContext without a table, in simulated time: one caller with a
/// deadline, and what shall happen to the operation meanwhile.
///
/// While it lives, each mutation that is made outside of BeginMutation() is a
/// violation of the world.
class TestOperationContext final : public OperationContext {
 public:
  static constexpr absl::string_view kNobodyWaits = "deadline";

  /// `world` is not owned. The caller waits 60 s.
  explicit TestOperationContext(FakeWorld& world) : world_(world) {
    SetDeadline(std::chrono::seconds(60));
    world_.SetMutationGuard([this] { return mutating_.load(); });
  }
  ~TestOperationContext() override { world_.SetMutationGuard(nullptr); }
  TestOperationContext(const TestOperationContext&) = delete;
  TestOperationContext& operator=(const TestOperationContext&) = delete;

  // --- the script -----------------------------------------------------------
  /// The only caller gives up after this much simulated time.
  void SetDeadline(SteadyDuration after) { deadline_ = world_.Now() + after; }
  /// A forced verb arrives then: ends what has not begun to mutate, ABORTED.
  void SupersedeAfter(SteadyDuration after) {
    supersede_ = world_.Now() + after;
  }
  /// An administrator's cancel or a shutdown then: CANCELLED, also while
  /// mutating.
  void CancelAfter(SteadyDuration after) {
    cancel_ = world_.Now() + after;
    world_.Schedule(after, [stop = stop_]() mutable { stop.request_stop(); });
  }

  /// Called with each step as it begins, on the operation's thread.
  void OnStep(std::function<void(absl::string_view)> action) {
    on_step_ = std::move(action);
  }
  /// Called with each progress, likewise.
  void OnProgress(std::function<void()> action) {
    on_progress_ = std::move(action);
  }
  /// LookAgainAfter() answers as that of a table does before the first change:
  /// the verb is to be run again after Rest().
  void RunAgainInsteadOfWaiting() { runs_again_ = true; }
  /// Not OK: what the operation ends with.
  absl::Status Rest() {
    const SteadyDuration held = held_worker_;
    const SteadyTime begin = world_.Now();
    absl::Status status = SleepFor(rest_);
    held_worker_ = held;
    rested_ += world_.Now() - begin;
    return status;
  }
  /// The verb is to come as far as its first change: BeginMutation() refuses.
  void OnlyLook() { only_looks_ = true; }
  /// The operation reads the time from `clock` (not owned), a view of the
  /// world's.
  void SetClock(Clock& clock) { clock_ = &clock; }

  // --- what the operation did

  const std::vector<std::string>& steps() const { return steps_; }
  /// What it has told last.
  const std::string& clock_text() const { return clock_text_; }
  const std::vector<std::pair<uint64_t, uint64_t>>& progress() const {
    return progress_;
  }
  /// What the caller would have been told at its deadline; OK: nothing was set.
  const absl::Status& pending() const { return pending_; }
  int mutations_begun() const { return mutations_begun_; }
  SteadyDuration slept() const { return slept_; }
  /// For how long of that a worker was held before the first change.
  SteadyDuration held_worker() const { return held_worker_; }
  /// In Rest().
  SteadyDuration rested() const { return rested_; }

  // --- OperationContext

  Clock& clock() override { return *clock_; }
  void Step(absl::string_view step) override {
    steps_.emplace_back(step);
    if (on_step_) on_step_(step);
  }
  void TellClock(absl::string_view clock) override {
    clock_text_ = std::string(clock);
  }
  void Progress(uint64_t done, uint64_t total) override {
    progress_.emplace_back(done, total);
    if (on_progress_) on_progress_();
  }
  void SetPending(absl::Status pending) override {
    pending_ = std::move(pending);
  }

  absl::Status SleepFor(SteadyDuration duration) override {
    const SteadyTime begin = world_.Now();
    SteadyTime until = begin + duration;
    if (const auto end = Earliest(); end && *end < until) until = *end;
    world_.Advance(until - begin);
    slept_ += world_.Now() - begin;
    if (!mutating_) held_worker_ += world_.Now() - begin;
    return Stopped();
  }

  absl::Status LookAgainAfter(SteadyDuration duration) override {
    if (!runs_again_ || mutating_) return SleepFor(duration);
    if (absl::Status stopped = Stopped(); !stopped.ok()) return stopped;
    rest_ = duration;
    return RunAgain();
  }
  WorkMemory& memory() override { return memory_; }
  [[nodiscard]] absl::Status BeginMutation() override {
    if (only_looks_) return absl::FailedPreconditionError("only looks");
    if (absl::Status stopped = Stopped(); !stopped.ok()) return stopped;
    mutating_ = true;
    ++mutations_begun_;
    return absl::OkStatus();
  }
  bool mutating() const override { return mutating_; }
  bool only_looks() const override { return only_looks_; }

  /// nullopt: the caller has gone.
  std::optional<SteadyTime> LatestDeadline() const override {
    if (world_.Now() >= deadline_) return std::nullopt;
    return deadline_;
  }
  std::stop_token stop_token() const override { return stop_.get_token(); }

 private:
  static bool Due(const std::optional<SteadyTime>& at, SteadyTime now) {
    return at && now >= *at;
  }

  // When the next thing happens that ends the operation.
  std::optional<SteadyTime> Earliest() const {
    std::optional<SteadyTime> end = cancel_;
    if (mutating_) return end;
    end = end ? std::min(*end, deadline_) : deadline_;
    if (supersede_) end = std::min(*end, *supersede_);
    return end;
  }

  absl::Status Stopped() const {
    const SteadyTime now = world_.Now();
    if (Due(cancel_, now)) return absl::CancelledError("cancelled");
    if (mutating_) return absl::OkStatus();
    if (Due(supersede_, now)) return absl::AbortedError("superseded");
    if (Due(deadline_, now)) return absl::CancelledError(kNobodyWaits);
    return absl::OkStatus();
  }

  FakeWorld& world_;
  Clock* clock_ = &world_;
  SteadyTime deadline_;
  std::optional<SteadyTime> supersede_;
  std::optional<SteadyTime> cancel_;
  std::stop_source stop_;
  std::function<void(absl::string_view)> on_step_;
  std::function<void()> on_progress_;
  std::vector<std::string> steps_;
  std::string clock_text_;
  std::vector<std::pair<uint64_t, uint64_t>> progress_;
  absl::Status pending_;
  WorkMemory memory_;
  bool runs_again_ = false;
  bool only_looks_ = false;
  SteadyDuration rest_{};
  int mutations_begun_ = 0;
  std::atomic<bool> mutating_{false};  // the world asks from any thread
  SteadyDuration slept_{};
  SteadyDuration held_worker_{};
  SteadyDuration rested_{};
};

}  // namespace addons

#endif  // ADDONS_TESTS_FAKES_TEST_OPERATION_CONTEXT_H_
