#include "history/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "history/store.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/rpc/log_capture.h"
#include "tests/testing/manual_clock.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class HistoryWriterTest : public ::testing::Test {
 protected:
  static HistoryWriterOptions Quick() {
    HistoryWriterOptions options;
    options.interval = milliseconds(5);
    options.most = 10;
    return options;
  }
  void Happen(FakeSite& site, const std::string& object,
              const std::string& text = "") {
    ResolvedPlace place;
    place.cluster = &site == &pair_.a() ? on_a_ : on_b_;
    place.pool_id = pair_.pool_id(site);
    log_.Locate(object, place, "");
    HistoryEvent event;
    event.object = object;
    event.code = "OK";
    event.text = text;
    log_.Add(event);
  }
  static size_t Written(FakeSite& site) {
    return site.HasOmap(MirroredPair::kPool, "", kHistoryObject)
               ? site.Omap(MirroredPair::kPool, "", kHistoryObject).size()
               : 0;
  }
  static bool Eventually(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return true;
  }
  static SteadyTime Soon() { return RealClock().Now() + seconds(30); }

  FakeWorld world_;
  MirroredPair pair_{world_};
  std::shared_ptr<Cluster> on_a_ = pair_.cluster(pair_.a());
  std::shared_ptr<Cluster> on_b_ = pair_.cluster(pair_.b());
  ManualClock clock_;
  EventLog log_{clock_, "csi"};
};

TEST_F(HistoryWriterTest, WritesByItself) {
  HistoryWriter writer(log_, clock_, Quick());
  Happen(pair_.a(), "v1");
  Happen(pair_.b(), "v2");
  EXPECT_TRUE(Eventually(
      [&] { return Written(pair_.a()) == 1 && Written(pair_.b()) == 1; }));
  EXPECT_TRUE(Eventually([&] { return log_.stats().written == 2; }));
}

// A fence is about all of a cluster, which has no history of its own.
TEST_F(HistoryWriterTest, WhatHappensToAClusterIsInEachPoolWithVolumes) {
  pair_.a().AddPool(7, "volumes-too");
  pair_.a().AddPool(8, "others");
  for (const char* pool : {MirroredPair::kPool, "volumes-too"}) {
    pair_.a().SetOmap(pool, "", "csi.volumes.default", {{"csi.volume.x", "u"}});
  }
  HistoryWriter writer(log_, clock_, Quick());
  ResolvedPlace everywhere;
  everywhere.cluster = on_a_;
  everywhere.pool_id = kEveryPool;
  log_.Locate("cluster 'site-a'", everywhere, "");
  HistoryEvent event;
  event.object = "cluster 'site-a'";
  event.verb = "fence 10.0.0.0/24";
  event.code = "OK";
  log_.Add(event);
  EXPECT_TRUE(Eventually([&] { return log_.stats().written == 1; }));
  for (const char* pool : {MirroredPair::kPool, "volumes-too"}) {
    EXPECT_EQ(pair_.a().Omap(pool, "", kHistoryObject).size(), 1U) << pool;
  }
  EXPECT_FALSE(pair_.a().HasOmap("others", "", kHistoryObject));
}

// Nobody could read it there: it waits until there is a volume.
TEST_F(HistoryWriterTest, WhatHappensToAClusterWaitsForAPoolWithVolumes) {
  const LogCapture log;
  HistoryWriter writer(log_, clock_, Quick());
  ResolvedPlace everywhere;
  everywhere.cluster = on_a_;
  everywhere.pool_id = kEveryPool;
  log_.Locate("cluster 'site-a'", everywhere, "");
  HistoryEvent event;
  event.object = "cluster 'site-a'";
  log_.Add(event);
  EXPECT_TRUE(
      Eventually([&] { return absl::StrContains(log.text(), "no pool"); }));
  EXPECT_EQ(log_.stats().written, 0U);
  pair_.a().SetOmap(MirroredPair::kPool, "", "csi.volumes.default",
                    {{"csi.volume.x", "u"}});
  clock_.Advance(minutes(1));
  EXPECT_TRUE(Eventually([&] { return Written(pair_.a()) == 1; }));
}

TEST_F(HistoryWriterTest, AClusterThatDoesNotAnswerKeepsItsEventsForLater) {
  const LogCapture log;
  HistoryWriter writer(log_, clock_, Quick());
  pair_.a().SetClusterUp(false);
  Happen(pair_.a(), "v1");
  Happen(pair_.b(), "v2");
  EXPECT_TRUE(Eventually([&] { return Written(pair_.b()) == 1; }));
  EXPECT_TRUE(Eventually(
      [&] { return absl::StrContains(log.text(), "cannot be written now"); }));
  pair_.a().SetClusterUp(true);
  // It is left alone for a while, in which others are written.
  for (size_t i = 0; i < 5; ++i) {
    Happen(pair_.b(), absl::StrCat("v3.", i));
    EXPECT_TRUE(Eventually([&] { return Written(pair_.b()) == i + 2; }));
  }
  EXPECT_EQ(Written(pair_.a()), 0U);
  EXPECT_TRUE(Eventually([&] {
    clock_.Advance(seconds(1));
    return Written(pair_.a()) == 1;
  }));
  EXPECT_EQ(log_.stats().dropped, 0U);
}

TEST_F(HistoryWriterTest, TheLastEventsAreWrittenAtTheEnd) {
  HistoryWriterOptions options = Quick();
  options.interval = std::chrono::hours(1);
  HistoryWriter writer(log_, clock_, options);
  Happen(pair_.a(), "v1");
  Happen(pair_.a(), "v1");
  EXPECT_TRUE(writer.Flush(Soon()));
  const OmapValues values =
      pair_.a().Omap(MirroredPair::kPool, "", kHistoryObject);
  ASSERT_EQ(values.size(), 1U);
  const auto event = ParseHistoryEvent(values.begin()->second);
  ASSERT_OK(event);
  EXPECT_EQ(event->times, 2U);
}

TEST_F(HistoryWriterTest, APoolRemembersTheNewestOnly) {
  HistoryWriter writer(log_, clock_, Quick());
  for (int i = 0; i < 25; ++i) {
    Happen(pair_.a(), "v1", std::string(1, static_cast<char>('a' + i)));
  }
  ASSERT_TRUE(writer.Flush(Soon()));
  // The first of them are trimmed with the first write of a process, and then
  // now and again.
  HistoryWriter next(log_, clock_, Quick());
  Happen(pair_.a(), "v1", "the last");
  ASSERT_TRUE(next.Flush(Soon()));
  const OmapValues values =
      pair_.a().Omap(MirroredPair::kPool, "", kHistoryObject);
  EXPECT_EQ(values.size(), Quick().most);
  EXPECT_THAT(values.rbegin()->second, ::testing::HasSubstr("the last"));
}

}  // namespace
}  // namespace addons::testing
