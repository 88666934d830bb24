// Many callers, few keys, everything at random: whatever happens, no two
// operations are on one key at once and every caller gets one answer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/operation/table_testing.h"

namespace addons::testing {
namespace {

using ::testing::IsEmpty;

constexpr int kKeys = 4;
constexpr int kThreads = 12;
constexpr int kCallsPerThread = 120;

/// What one operation was for, to check that joined callers asked for it.
struct Identity {
  std::vector<std::string> keys;
  std::string verb;
};

class StressTest : public ::testing::Test {
 protected:
  static OperationLimits Limits() {
    OperationLimits limits;
    limits.control = {6, 4, 4};
    limits.bulk = {2, 1, 2};
    limits.conflict_wait = milliseconds(20);
    limits.max_wait = milliseconds(200);
    limits.answer_margin = milliseconds(1);
    limits.watchdog = milliseconds(20);
    return limits;
  }

  OperationSpec RandomSpec(std::mt19937& random) {
    const std::array<std::string, 3> verbs = {"promote", "demote", "trim"};
    OperationSpec spec = Spec(verbs[random() % verbs.size()], {});
    const size_t count = 1 + random() % 2;
    for (size_t i = 0; i < count; ++i) {
      spec.keys.push_back(absl::StrCat(random() % kKeys));
    }
    std::sort(spec.keys.begin(), spec.keys.end());
    spec.keys.erase(std::unique(spec.keys.begin(), spec.keys.end()),
                    spec.keys.end());
    spec.share =
        WorkerShare::OfCluster(ClusterId(random() % 2 == 0 ? "a" : "b"));
    spec.lane = spec.verb == "trim" ? Lane::kBulk : Lane::kControl;
    spec.supersedes = spec.verb == "demote";
    spec.keep_result = spec.verb == "promote";
    return spec;
  }

  OperationWork RandomWork(const OperationSpec& spec, std::mt19937& random) {
    const auto naps = random() % 4;
    const bool mutates = random() % 2 == 0;
    const bool throws = random() % 16 == 0;
    return [this, spec, naps, mutates,
            throws](OperationContext& context) -> absl::StatusOr<std::any> {
      const Inside inside(*this, spec.keys);
      context.Step("looking");
      for (size_t i = 0; i < naps; ++i) {
        const absl::Status status = context.SleepFor(milliseconds(i));
        if (!status.ok()) return status;
      }
      if (mutates) {
        const absl::Status status = context.BeginMutation();
        if (!status.ok()) return status;
        ++mutations_begun_;
        context.Progress(1, 2);
        const absl::Status slept = context.SleepFor(milliseconds(1));
        if (!slept.ok() && !draining_) ++cut_short_;
        ++mutations_ended_;
      }
      if (throws) throw 1;
      return std::any(Identity{spec.keys, spec.verb});
    };
  }

  void CallAtRandom(OperationTable& table, unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < kCallsPerThread; ++i) {
      const OperationSpec spec = RandomSpec(random);
      std::stop_source gone;
      std::jthread hangs_up;
      Caller caller;
      caller.request_id = absl::StrCat(seed, "-", i);
      if (random() % 2 == 0) {
        caller.deadline = RealIn(milliseconds(random() % 30));
      }
      if (random() % 4 == 0) {
        caller.gone = gone.get_token();
        hangs_up = std::jthread([&gone, after = random() % 2000] {
          std::this_thread::sleep_for(std::chrono::microseconds(after));
          gone.request_stop();
        });
      }
      Check(spec, table.Run(spec, caller, RandomWork(spec, random)));
      if (random() % 8 == 0) CancelOne(table, random);
    }
  }

  void Check(const OperationSpec& spec,
             const absl::StatusOr<std::any>& result) {
    ++answers_;
    if (result.ok()) {
      const Identity got = std::any_cast<Identity>(*result);
      EXPECT_EQ(got.verb, spec.verb);
      EXPECT_EQ(got.keys, spec.keys);
      ++oks_;
      return;
    }
    switch (result.status().code()) {
      case absl::StatusCode::kAborted:    // conflict, pending, superseded
      case absl::StatusCode::kCancelled:  // gone, or cancelled
      case absl::StatusCode::kDeadlineExceeded:   // passed before the call
      case absl::StatusCode::kInternal:           // the exception
      case absl::StatusCode::kResourceExhausted:  // lane full
        break;
      default:
        ADD_FAILURE() << result.status();
    }
  }

  static void CancelOne(OperationTable& table, std::mt19937& random) {
    const std::vector<OperationInfo> list = table.List();
    if (list.empty()) return;
    // May have ended meanwhile.
    table.Cancel(list[random() % list.size()].id).IgnoreError();
  }

  /// While it lives, its operation is the only one on its keys.
  class Inside {
   public:
    Inside(StressTest& test, const std::vector<std::string>& keys)
        : test_(test), keys_(keys) {
      for (const std::string& key : keys_) {
        EXPECT_EQ(++test_.inside_[std::stoul(key)], 1) << "two on key " << key;
      }
    }
    ~Inside() {
      for (const std::string& key : keys_) --test_.inside_[std::stoul(key)];
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    StressTest& test_;
    const std::vector<std::string> keys_;
  };

  LogCapture log_;  // the table logs a lot here
  std::array<std::atomic<int>, kKeys> inside_{};
  std::atomic<int> answers_{0};
  std::atomic<int> oks_{0};
  std::atomic<int> mutations_begun_{0};
  std::atomic<int> mutations_ended_{0};
  std::atomic<int> cut_short_{0};
  std::atomic<bool> draining_{false};
};

TEST_F(StressTest, OneOperationPerKeyAndOneAnswerPerCaller) {
  const std::random_device::result_type seed = std::random_device{}();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  OperationTable table(Limits(), RealClock());
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back(
        [this, &table, seed, i] { CallAtRandom(table, seed + i); });
  }
  for (std::thread& thread : threads) thread.join();
  draining_ = true;
  EXPECT_THAT(table.Drain(minutes(1)), IsEmpty());
  const OperationStats stats = table.stats();
  EXPECT_EQ(answers_, kThreads * kCallsPerThread);
  EXPECT_GT(oks_, 0);
  EXPECT_GT(mutations_begun_, 0);
  EXPECT_EQ(mutations_begun_, mutations_ended_);
  EXPECT_EQ(stats.started, stats.finished);
  // So that this test does not pass by never meeting anything.
  EXPECT_GT(stats.joined, 0U);
  EXPECT_GT(stats.superseded, 0U);
}

TEST_F(StressTest, ADrainInTheMiddleAnswersEveryone) {
  OperationTable table(Limits(), RealClock());
  std::atomic<int> answered{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, &table, &answered, i] {
      std::mt19937 random(i);
      // Until the table refuses: every thread meets the drain.
      for (;;) {
        const OperationSpec spec = RandomSpec(random);
        const absl::Status status =
            table.Run(spec, Caller{}, RandomWork(spec, random)).status();
        ++answered;
        if (absl::IsUnavailable(status)) break;
      }
    });
  }
  EXPECT_TRUE(Eventually([&] { return answered > 200; }));
  draining_ = true;
  EXPECT_THAT(table.Drain(minutes(1)), IsEmpty());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mutations_begun_, mutations_ended_);
  EXPECT_EQ(cut_short_, 0);
}

}  // namespace
}  // namespace addons::testing
