#include "history/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fakes/fake_cluster.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/testing/manual_clock.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class EventLogTest : public ::testing::Test {
 protected:
  EventLogTest() { log_.Begin(); }

  ResolvedPlace Place(FakeSite& site) {
    ResolvedPlace place;
    place.cluster = &site == &pair_.a() ? on_a_ : on_b_;
    place.pool_id = pair_.pool_id(site);
    place.pool_name = MirroredPair::kPool;
    return place;
  }
  void Found(const std::string& object) {
    log_.Locate(object, Place(pair_.a()), "replicapool/" + object);
  }
  static HistoryEvent Answer(const std::string& object, const std::string& code,
                             const std::string& text = "") {
    HistoryEvent event;
    event.object = object;
    event.verb = "promote";
    event.user = "csi-rbd";
    event.request = "r1";
    event.code = code;
    event.text = text;
    return event;
  }
  /// All events of what is taken, in the order of their keys.
  std::vector<HistoryEvent> TakeAll(bool all = false) {
    std::vector<HistoryEvent> events;
    for (const HistoryBatch& batch : log_.Take({}, all)) {
      for (const auto& [key, event] : batch.events) events.push_back(event);
    }
    return events;
  }

  FakeWorld world_;
  MirroredPair pair_{world_};
  std::shared_ptr<Cluster> on_a_ = pair_.cluster(pair_.a());
  std::shared_ptr<Cluster> on_b_ = pair_.cluster(pair_.b());
  ManualClock clock_;
  EventLog log_{clock_, "csi on host 'h'"};
};

TEST_F(EventLogTest, SaysWhereWhenAndWho) {
  Found("v1");
  log_.Add(Answer("v1", "OK"));
  const std::vector<HistoryBatch> batches = log_.Take({}, false);
  ASSERT_THAT(batches, SizeIs(1));
  EXPECT_EQ(batches[0].place.fsid, on_a_->fsid());
  EXPECT_EQ(batches[0].place.pool_id, pair_.pool_id(pair_.a()));
  ASSERT_THAT(batches[0].events, SizeIs(1));
  const HistoryEvent& event = batches[0].events.begin()->second;
  EXPECT_EQ(event.image, "replicapool/v1");
  EXPECT_EQ(event.daemon, "csi on host 'h'");
  EXPECT_EQ(event.time, absl::FromChrono(clock_.WallNow()));
  EXPECT_EQ(event.times, 1U);
  EXPECT_THAT(TakeAll(), IsEmpty());
}

TEST_F(EventLogTest, TheOrderOfKeysIsThatOfTime) {
  Found("v1");
  for (int i = 0; i < 20; ++i) {
    log_.Add(Answer("v1", "OK", std::string(1, static_cast<char>('a' + i))));
    if (i % 3 == 0) clock_.Advance(seconds(7));
  }
  std::string order;
  for (const HistoryEvent& event : TakeAll()) order += event.text;
  EXPECT_EQ(order, "abcdefghijklmnopqrst");
}

TEST_F(EventLogTest, WhatRepeatsItselfIsOneEventWithANumber) {
  Found("v1");
  const absl::Time begin = absl::FromChrono(clock_.WallNow());
  log_.Add(Answer("v1", "UNAVAILABLE", "waits since 1 s"));
  ASSERT_THAT(TakeAll(), SizeIs(1));
  for (int i = 0; i < 9; ++i) {
    clock_.Advance(seconds(20));
    log_.Add(
        Answer("v1", "UNAVAILABLE", absl::StrCat("waits since ", i, " s")));
  }
  // Not written anew each time, only after a while or at the end.
  EXPECT_THAT(TakeAll(), IsEmpty());
  const std::vector<HistoryEvent> at_the_end = TakeAll(/*all=*/true);
  ASSERT_THAT(at_the_end, SizeIs(1));
  EXPECT_EQ(at_the_end[0].times, 10U);
  EXPECT_EQ(at_the_end[0].time, begin);
  EXPECT_EQ(at_the_end[0].until, begin + absl::Seconds(180));
  EXPECT_THAT(TakeAll(/*all=*/true), IsEmpty());
}

TEST_F(EventLogTest, ANumberIsWrittenAnewAfterAWhileAndBeforeWhatFollows) {
  Found("v1");
  log_.Add(Answer("v1", "UNAVAILABLE"));
  ASSERT_THAT(TakeAll(), SizeIs(1));
  clock_.Advance(EventLog::kRewrite);
  log_.Add(Answer("v1", "UNAVAILABLE"));
  std::vector<HistoryEvent> events = TakeAll();
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].times, 2U);
  log_.Add(Answer("v1", "UNAVAILABLE"));
  log_.Add(Answer("v1", "OK"));
  events = TakeAll();
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].times, 3U);
  EXPECT_EQ(events[1].code, "OK");
}

// The operator's calls for a secondary that is not in step: each half minute.
TEST_F(EventLogTest, TwoCallsThatTakeTurnsAreTwoEvents) {
  Found("v1");
  const auto answer = [this](const char* verb, const char* code) {
    HistoryEvent event = Answer("v1", code);
    event.verb = verb;
    log_.Add(event);
  };
  for (int i = 0; i < 20; ++i) {
    answer("demote", "OK");
    answer("resync", "UNAVAILABLE");
    clock_.Advance(seconds(30));
  }
  EXPECT_THAT(TakeAll(/*all=*/true), SizeIs(2));
  // Another answer of one of them is one event more, and the other one goes on.
  answer("resync", "OK");
  answer("demote", "OK");
  answer("resync", "OK");
  EXPECT_THAT(TakeAll(/*all=*/true), SizeIs(2));
  // What changes ends both: later ones stand after it.
  HistoryEvent change = Answer("v1", "");
  change.from = "secondary";
  change.to = "primary";
  log_.Add(change);
  answer("demote", "OK");
  const std::vector<HistoryEvent> after = TakeAll();
  ASSERT_THAT(after, SizeIs(2));
  EXPECT_EQ(after[1].verb, "demote");
}

TEST_F(EventLogTest, ACallOfAnotherKindEndsTheRowsOfTwo) {
  Found("v1");
  for (const char* const verb :
       {"demote", "resync", "promote", "demote", "resync"}) {
    HistoryEvent event = Answer("v1", "OK");
    event.verb = verb;
    log_.Add(event);
  }
  EXPECT_THAT(TakeAll(/*all=*/true), SizeIs(5));
}

TEST_F(EventLogTest, ARowEndsAfterAnHour) {
  Found("v1");
  log_.Add(Answer("v1", "OK"));
  clock_.Advance(EventLog::kLongestRow);
  log_.Add(Answer("v1", "OK"));
  EXPECT_THAT(TakeAll(), SizeIs(2));
}

TEST_F(EventLogTest, WaitsUntilItIsKnownWhereTheVolumeIs) {
  log_.Add(Answer("v1", "UNAVAILABLE"));
  EXPECT_THAT(TakeAll(), IsEmpty());
  Found("v1");
  const std::vector<HistoryEvent> events = TakeAll();
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].image, "replicapool/v1");
}

TEST_F(EventLogTest, NobodyWaitsForAPlaceForEver) {
  log_.Add(Answer("v1", "UNAVAILABLE"));
  clock_.Advance(EventLog::kLongestWait + seconds(1));
  EXPECT_THAT(TakeAll(), IsEmpty());
  EXPECT_EQ(log_.stats().waiting, 0U);
  EXPECT_EQ(log_.stats().dropped, 1U);
}

TEST_F(EventLogTest, AConnectionIsNotKeptAlive) {
  auto connections = std::make_unique<FakeClusterProvider>(world_);
  ResolvedPlace place = Place(pair_.a());
  place.cluster = connections->Get(pair_.a());
  log_.Locate("v1", place, "");
  log_.Add(Answer("v1", "OK"));
  place.cluster.reset();
  connections.reset();
  EXPECT_THAT(TakeAll(), IsEmpty());
  EXPECT_EQ(log_.stats().waiting, 1U);
  Found("v1");
  EXPECT_THAT(TakeAll(), SizeIs(1));
}

TEST_F(EventLogTest, ABusyClusterKeepsItsOwn) {
  Found("v1");
  log_.Locate("v2", Place(pair_.b()), "");
  log_.Add(Answer("v1", "OK"));
  log_.Add(Answer("v2", "OK"));
  const auto batches = log_.Take({on_a_->fsid()}, false);
  ASSERT_THAT(batches, SizeIs(1));
  EXPECT_EQ(batches[0].place.fsid, on_b_->fsid());
  EXPECT_THAT(TakeAll(), SizeIs(1));
}

TEST_F(EventLogTest, WhatWasNotWrittenComesAgainUnlessItIsTooOld) {
  Found("v1");
  log_.Add(Answer("v1", "OK"));
  auto batches = log_.Take({}, false);
  ASSERT_THAT(batches, SizeIs(1));
  log_.Return(std::move(batches[0]));
  batches = log_.Take({}, false);
  ASSERT_THAT(batches, SizeIs(1));
  clock_.Advance(EventLog::kLongestWait + seconds(1));
  log_.Return(std::move(batches[0]));
  EXPECT_THAT(TakeAll(), IsEmpty());
  EXPECT_EQ(log_.stats().dropped, 1U);
}

TEST_F(EventLogTest, AnOlderNumberDoesNotReplaceANewerOne) {
  Found("v1");
  log_.Add(Answer("v1", "UNAVAILABLE"));
  auto batches = log_.Take({}, false);
  ASSERT_THAT(batches, SizeIs(1));
  clock_.Advance(EventLog::kRewrite);
  log_.Add(Answer("v1", "UNAVAILABLE"));
  log_.Return(std::move(batches[0]));
  const std::vector<HistoryEvent> events = TakeAll();
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].times, 2U);
}

TEST_F(EventLogTest, IsBounded) {
  for (size_t i = 0; i < EventLog::kMostWaiting + 10; ++i) {
    const std::string object = absl::StrCat("v", i);
    Found(object);
    log_.Add(Answer(object, "OK"));
  }
  EXPECT_EQ(log_.stats().waiting, EventLog::kMostWaiting);
  EXPECT_EQ(log_.stats().dropped, 10U);
}

TEST_F(EventLogTest, NothingIsKeptWhenNobodyWrites) {
  EventLog log(clock_, "csi");
  log.Locate("v1", Place(pair_.a()), "");
  log.Add(Answer("v1", "OK"));
  EXPECT_EQ(log.stats().waiting, 0U);
}

}  // namespace
}  // namespace addons::testing
