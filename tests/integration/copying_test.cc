// What was written is copied now, or not for a while, because an administrator
// wants it so, on real clusters.

#include <chrono>
#include <cstdint>
#include <iostream>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "tests/cluster/two_sites.h"
#include "tests/integration/command_line.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CopyingTest : public TwoSitesTest {
 protected:
  static CliResult On(const std::string& site,
                      std::vector<std::string> arguments) {
    return ShownRbdAddons(Daemon(site), std::move(arguments),
                          Bed().Path(absl::StrCat(site, "/secrets.json")));
  }
  static int64_t Newest(const TestVolume& volume) {
    return NewestSnapshot("a", volume).id;
  }
  static void Pass(seconds time) {
    RealClock().SleepFor(time, std::stop_token());
  }
};

TEST_F(CopyingTest, WhatWasWrittenIsAtTheOtherSiteAfterASync) {
  const TestVolume first = MakeReplicatedVolume(ScheduleNotDue());
  const TestVolume second = MakeReplicatedVolume(ScheduleNotDue());
  for (int round = 0; round < 3; ++round) {
    const std::string text = absl::StrCat("round ", round);
    Write("a", first, text);
    Write("a", second, text);
    const CliResult synced =
        On("a", {"sync", first.id("a"), ImageSpec(second), "--timeout", "120"});
    ASSERT_EQ(synced.code, 0);
    EXPECT_THAT(synced.out, HasSubstr("is at site 'site-b'"));
    // At once: the call has ended for what was seen.
    EXPECT_EQ(ReadText("b", first), text);
    EXPECT_EQ(ReadText("b", second), text);
  }
  EXPECT_EQ(On("b", {"sync", first.id("b")}).code, 9);
}

TEST_F(CopyingTest, ASyncWaitsForAnRbdMirrorThatIsDown) {
  const TestVolume volume = MakeReplicatedVolume(ScheduleNotDue());
  Stop("b", "rbd-mirror");
  Write("a", volume, "while it is down");
  const CliResult waits = On("a", {"sync", volume.id("a"), "--timeout", "100"});
  EXPECT_EQ(waits.code, Code::UNAVAILABLE);
  EXPECT_THAT(waits.err, AllOf(HasSubstr("not complete at site 'site-b'"),
                               HasSubstr("has not reported")));
  Continue("b", "rbd-mirror");
  EXPECT_EQ(On("a", {"sync", volume.id("a"), "--timeout", "180"}).code, 0);
  EXPECT_EQ(ReadText("b", volume), "while it is down");
}

TEST_F(CopyingTest, WhilePausedNothingIsMadeByScheduleAndResumeBringsItBack) {
  const TestVolume volume =
      MakeReplicatedVolume({{"schedulingInterval", "1m"}});
  const std::string before = Schedules("a", volume);
  EXPECT_THAT(before, HasSubstr("every 1m"));
  // Its schedule runs.
  const int64_t first = Newest(volume);
  ASSERT_TRUE(Eventually([&] { return Newest(volume) > first; }, seconds(180)));

  const CliResult paused = On("a", {"pause", volume.id("a")});
  ASSERT_EQ(paused.code, 0);
  EXPECT_THAT(paused.out,
              AllOf(HasSubstr("paused since 2"), HasSubstr("kept: every 1m")));
  EXPECT_THAT(Schedules("a", volume), Not(HasSubstr("every 1m")));
  // One may be in the making; the operator goes on calling.
  Pass(seconds(5));
  const int64_t last = Newest(volume);
  for (int i = 0; i < 10; ++i) {
    Pass(seconds(20));
    EXPECT_THAT(Enable("a", volume, {{"schedulingInterval", "1m"}}),
                HasCode(Code::OK));
    EXPECT_THAT(Promote("a", volume, false, {{"schedulingInterval", "1m"}}),
                HasCode(Code::OK));
    ASSERT_EQ(Newest(volume), last) << "after " << i << " times 20 s";
  }
  EXPECT_THAT(On("a", {"info", volume.id("a")}).out,
              HasSubstr("paused since 2"));
  EXPECT_THAT(On("a", {"explain", volume.id("a")}).out,
              HasSubstr("paused since 2"));
  EXPECT_THAT(On("a", {"check-failover", volume.id("a")}).out,
              HasSubstr("paused since 2"));
  EXPECT_EQ(On("a", {"pause", volume.id("a")}).code, 0);

  const CliResult resumed = On("a", {"resume", volume.id("a")});
  ASSERT_EQ(resumed.code, 0);
  EXPECT_THAT(resumed.out, HasSubstr("put back: every 1m"));
  EXPECT_EQ(Schedules("a", volume), before);
  EXPECT_TRUE(Eventually([&] { return Newest(volume) > last; }, seconds(180)));
  EXPECT_EQ(On("a", {"resume", volume.id("a")}).code, 0);
}

}  // namespace
}  // namespace addons::testing
