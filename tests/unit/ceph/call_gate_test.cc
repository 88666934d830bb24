#include "ceph/librados/call_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>

#include "tests/testing/manual_clock.h"

namespace addons {
namespace {

using ::addons::testing::ManualClock;
using std::chrono::milliseconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The fault-point builds read faults from the environment of the test run,
// which has none.
TEST(CallGateTest, ReturnsWhatTheCallReturns) {
  ManualClock clock;
  CallGate gate(clock);
  EXPECT_EQ(gate.Call("rbd_open", [] { return -2; }), -2);
  EXPECT_EQ(gate.Call("rbd_snap_list", [] { return 7; }), 7);
}

TEST(CallGateTest, HasNoHistogramsBeforeTheFirstCall) {
  ManualClock clock;
  EXPECT_THAT(CallGate(clock).Snapshot(), IsEmpty());
}

TEST(CallGateTest, TimesCallsByName) {
  ManualClock clock;
  CallGate gate(clock);
  const auto take = [&](milliseconds time, int result) {
    return [&clock, time, result] {
      clock.Advance(time);
      return result;
    };
  };
  gate.Call("rbd_open", take(milliseconds(7), 0));
  gate.Call("rbd_open", take(milliseconds(70), -2));
  gate.Call("rbd_close", take(milliseconds(1), 0));

  const std::vector<CallHistogram> snapshot = gate.Snapshot();
  ASSERT_THAT(snapshot, SizeIs(2));
  EXPECT_EQ(snapshot[0].call, "rbd_close");
  EXPECT_EQ(snapshot[1].call, "rbd_open");
  EXPECT_EQ(snapshot[1].count, 2U);
  EXPECT_EQ(snapshot[1].failures, 1U);
  EXPECT_DOUBLE_EQ(snapshot[1].sum.count(), 0.077);
}

TEST(CallGateTest, PutsABoundIntoItsOwnBucketAndTheRestIntoTheLast) {
  ManualClock clock;
  CallGate gate(clock);
  gate.Call("rbd_open", [&] {
    clock.Advance(milliseconds(5));  // == kBounds[2]
    return 0;
  });
  gate.Call("rbd_open", [&] {
    clock.Advance(std::chrono::hours(1));
    return 0;
  });
  const std::vector<CallHistogram> snapshot = gate.Snapshot();
  ASSERT_THAT(snapshot, SizeIs(1));
  EXPECT_EQ(snapshot[0].buckets[2], 1U);
  EXPECT_EQ(snapshot[0].buckets.back(), 1U);
}

#ifdef ADDONS_FAULT_POINTS

CallGate MakeGate(Clock& clock, absl::string_view faults) {
  return CallGate(clock, ParseFaults(faults).value());
}

TEST(CallGateFaultTest, ErrnoReplacesTheCall) {
  ManualClock clock;
  CallGate gate = MakeGate(clock, "rbd_open#2:errno=16");
  int calls = 0;
  const auto call = [&] { return ++calls, 0; };
  EXPECT_EQ(gate.Call("rbd_open", call), 0);
  EXPECT_EQ(gate.Call("rbd_open", call), -16);
  EXPECT_EQ(gate.Call("rbd_open", call), 0);
  EXPECT_EQ(calls, 2);
}

TEST(CallGateFaultTest, ErrnoAfterMakesTheCallAndHidesItsResult) {
  ManualClock clock;
  CallGate gate = MakeGate(clock, "rbd_open:errno-after=110");
  int calls = 0;
  EXPECT_EQ(gate.Call("rbd_open", [&] { return ++calls, 0; }), -110);
  EXPECT_EQ(calls, 1);
}

TEST(CallGateFaultTest, HangDelaysTheCallAndCountsIntoItsTime) {
  ManualClock clock;
  CallGate gate = MakeGate(clock, "rbd_open:hang=250");
  const SteadyTime begin = clock.Now();
  SteadyTime called_at;
  gate.Call("rbd_open", [&] { return called_at = clock.Now(), 0; });
  EXPECT_EQ(called_at - begin, milliseconds(250));
  EXPECT_DOUBLE_EQ(gate.Snapshot().at(0).sum.count(), 0.25);
}

TEST(CallGateFaultTest, InjectedErrorsCountAsFailures) {
  ManualClock clock;
  CallGate gate = MakeGate(clock, "rbd_open:errno=5");
  gate.Call("rbd_open", [] { return 0; });
  EXPECT_EQ(gate.Snapshot().at(0).failures, 1U);
}

TEST(CallGateFaultDeathTest, KillEndsTheProcessBeforeTheCall) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  ManualClock clock;
  CallGate gate = MakeGate(clock, "rbd_open#2:kill");
  EXPECT_EQ(gate.Call("rbd_open", [] { return 0; }), 0);
  // A call that is made would end the process in another way.
  EXPECT_EXIT(gate.Call("rbd_open", [] { return std::_Exit(3), 0; }),
              ::testing::KilledBySignal(SIGKILL), "");
}

TEST(CallGateFaultDeathTest, KillAfterEndsTheProcessOnceTheCallIsMade) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  ManualClock clock;
  CallGate gate = MakeGate(clock, "rbd_open:kill-after");
  EXPECT_EXIT(gate.Call("rbd_open",
                        [] {
                          std::fputs("called", stderr);
                          return 0;
                        }),
              ::testing::KilledBySignal(SIGKILL), "called");
}

TEST(CallGateFaultDeathTest, AWrongEnvironmentEndsTheProcess) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        setenv("RBD_ADDONS_FAULTS", "rbd_open:explode", 1);
        ManualClock clock;
        CallGate gate(clock);
      },
      "");
}

TEST(CallGateFaultDeathTest, TakesItsFaultsFromTheEnvironment) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("RBD_ADDONS_FAULTS", "rbd_open:errno=77", 1);
        ManualClock clock;
        CallGate gate(clock);
        std::_Exit(-gate.Call("rbd_open", [] { return 0; }));
      },
      ::testing::ExitedWithCode(77), "");
}

#endif  // ADDONS_FAULT_POINTS

}  // namespace
}  // namespace addons
