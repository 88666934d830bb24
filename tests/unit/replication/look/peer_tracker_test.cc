#include "replication/look/peer_tracker.h"

#include <gtest/gtest.h>

#include "ceph/mirror.h"
#include "tests/testing/manual_clock.h"

namespace addons {
namespace {

using ::addons::testing::ManualClock;
using std::chrono::minutes;
using std::chrono::seconds;

SiteStatus Entry(const char* uuid, int64_t last_update) {
  SiteStatus entry;
  entry.mirror_uuid = uuid;
  entry.last_update = last_update;
  return entry;
}

class PeerTrackerTest : public ::testing::Test {
 protected:
  ManualClock clock_;
  PeerTracker tracker_{clock_};
};

TEST_F(PeerTrackerTest, AnEntryAgesUntilItIsRewritten) {
  EXPECT_EQ(tracker_.Age("k", Entry("peer", 100), nullptr), seconds(0));
  clock_.Advance(seconds(40));
  EXPECT_EQ(tracker_.Age("k", Entry("peer", 100), nullptr), seconds(40));
  EXPECT_FALSE(tracker_.RewrittenWithin("k", "peer", minutes(10)));
  clock_.Advance(seconds(40));
  EXPECT_EQ(tracker_.Age("k", Entry("peer", 130), nullptr), seconds(0));
  // It may have been right after the look before.
  EXPECT_FALSE(tracker_.RewrittenWithin("k", "peer", seconds(40)));
  EXPECT_TRUE(tracker_.RewrittenWithin("k", "peer", seconds(41)));
}

TEST_F(PeerTrackerTest, TheReportBeforeIsKnownOnceItWasRewritten) {
  EXPECT_EQ(tracker_.ReportedBefore("k", "peer"), std::nullopt);
  tracker_.Age("k", Entry("peer", 100), nullptr);
  tracker_.Age("k", Entry("peer", 100), nullptr);
  EXPECT_EQ(tracker_.ReportedBefore("k", "peer"), std::nullopt);
  tracker_.Age("k", Entry("peer", 900), nullptr);
  EXPECT_EQ(tracker_.ReportedBefore("k", "peer"), 100);
  tracker_.Age("k", Entry("peer", 900), nullptr);
  EXPECT_EQ(tracker_.ReportedBefore("k", "peer"), 100);
  tracker_.Age("k", Entry("peer", 930), nullptr);
  EXPECT_EQ(tracker_.ReportedBefore("k", "peer"), 900);
  EXPECT_EQ(tracker_.ReportedBefore("k", "other"), std::nullopt);
}

TEST_F(PeerTrackerTest, AClaimIsKeptUntilItsSiteSaysOtherwise) {
  EXPECT_EQ(tracker_.LastClaim("k", "peer"), std::nullopt);
  tracker_.NoteClaim("k", Entry("peer", 100), true);
  tracker_.NoteClaim("k", Entry("peer", 130), std::nullopt);
  ASSERT_TRUE(tracker_.LastClaim("k", "peer").has_value());
  EXPECT_EQ(tracker_.LastClaim("k", "peer")->last_update, 100);
  EXPECT_EQ(tracker_.LastClaim("k", "other"), std::nullopt);
  tracker_.NoteClaim("k", Entry("peer", 160), false);
  EXPECT_EQ(tracker_.LastClaim("k", "peer"), std::nullopt);
}

TEST_F(PeerTrackerTest, SilenceBeginsAnewAfterEachReport) {
  EXPECT_EQ(tracker_.SilentFor("k", true), seconds(0));
  clock_.Advance(seconds(100));
  EXPECT_EQ(tracker_.SilentFor("k", true), seconds(100));
  EXPECT_EQ(tracker_.SilentFor("k", false), seconds(0));
  clock_.Advance(seconds(100));
  EXPECT_EQ(tracker_.SilentFor("k", true), seconds(0));
}

TEST_F(PeerTrackerTest, ReportsAreCountedSinceTheImageTurnedPrimary) {
  const auto look = [&](bool primary, int64_t stamp) {
    tracker_.NoteRole("k", primary);
    (void)tracker_.Age("k", Entry("peer", stamp), nullptr);
    return tracker_.RewrittenSinceTurn("k", "peer");
  };
  EXPECT_EQ(look(false, 100), std::nullopt);
  clock_.Advance(seconds(30));
  EXPECT_EQ(look(true, 130), 0) << "it may have come just before";
  EXPECT_EQ(tracker_.PrimaryFor("k"), seconds(0));
  clock_.Advance(seconds(30));
  EXPECT_EQ(look(true, 160), 1);
  clock_.Advance(seconds(30));
  EXPECT_EQ(look(true, 190), 2);
  EXPECT_EQ(tracker_.PrimaryFor("k"), seconds(60));
  EXPECT_EQ(look(false, 190), std::nullopt);
  clock_.Advance(seconds(5));
  EXPECT_EQ(look(true, 190), 0);
}

TEST_F(PeerTrackerTest, AnImageThatWasPrimaryAllAlongHasNotTurned) {
  tracker_.NoteRole("k", true);
  (void)tracker_.Age("k", Entry("peer", 100), nullptr);
  EXPECT_EQ(tracker_.PrimaryFor("k"), std::nullopt);
  EXPECT_EQ(tracker_.RewrittenSinceTurn("k", "peer"), std::nullopt);
}

TEST_F(PeerTrackerTest, TwoPrimariesAreCountedFromTheFirstReportInARow) {
  EXPECT_EQ(tracker_.BothPrimaryFor("k", Entry("peer", 100), true), seconds(0));
  EXPECT_EQ(tracker_.BothPrimaryFor("k", Entry("peer", 160), true),
            seconds(60));
  EXPECT_EQ(tracker_.BothPrimaryFor("k", Entry("peer", 190), false),
            seconds(0));
  EXPECT_EQ(tracker_.BothPrimaryFor("k", Entry("peer", 220), true), seconds(0));
}

TEST_F(PeerTrackerTest, ALongDeadPeerIsOldAtTheFirstLook) {
  const SiteStatus local = Entry("", 1000);
  EXPECT_EQ(tracker_.Age("k", Entry("peer", 700), &local), seconds(300));
}

TEST_F(PeerTrackerTest, ALocalEntryThatIsOlderProvesNothing) {
  const SiteStatus local = Entry("", 500);
  EXPECT_EQ(tracker_.Age("k", Entry("peer", 700), &local), seconds(0));
}

TEST_F(PeerTrackerTest, ImagesAndSitesAreKeptApart) {
  tracker_.Age("a", Entry("peer", 1), nullptr);
  clock_.Advance(seconds(50));
  EXPECT_EQ(tracker_.Age("b", Entry("peer", 1), nullptr), seconds(0));
  EXPECT_EQ(tracker_.Age("a", Entry("other", 1), nullptr), seconds(0));
  EXPECT_EQ(tracker_.Age("a", Entry("peer", 1), nullptr), seconds(50));
}

TEST_F(PeerTrackerTest, QuietTimeRestartsWhenSomethingIsCopied) {
  tracker_.QuietFor("k", "7/0/16");
  clock_.Advance(seconds(5));
  EXPECT_EQ(tracker_.QuietFor("k", "7/0/16"), seconds(5));
  EXPECT_EQ(tracker_.QuietFor("k", "7/0/32"), seconds(0));
}

TEST_F(PeerTrackerTest, ANoteOfThePeerAgesUntilItIsRenewed) {
  EXPECT_EQ(tracker_.MarkAge("k", "note 1"), seconds(0));
  clock_.Advance(seconds(400));
  EXPECT_EQ(tracker_.MarkAge("k", "note 1"), seconds(400));
  EXPECT_EQ(tracker_.MarkAge("other", "note 1"), seconds(0));
  EXPECT_EQ(tracker_.MarkAge("k", "note 2"), seconds(0));
}

TEST_F(PeerTrackerTest, ADisturbanceLastsTwoMinutes) {
  EXPECT_FALSE(tracker_.Disturbed("fsid"));
  tracker_.NoteDisturbance("fsid");
  clock_.Advance(seconds(119));
  EXPECT_TRUE(tracker_.Disturbed("fsid"));
  clock_.Advance(seconds(2));
  EXPECT_FALSE(tracker_.Disturbed("fsid"));
}

TEST_F(PeerTrackerTest, LastGoodNumbersTellTheirAge) {
  EXPECT_FALSE(tracker_.LastNumbers("k", "peer").has_value());
  SyncNumbers numbers;
  numbers.local_snapshot_time = 42;
  tracker_.KeepNumbers("k", Entry("peer", 1700000000), numbers);
  clock_.Advance(seconds(7));
  const auto last = tracker_.LastNumbers("k", "peer");
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->numbers.local_snapshot_time, 42);
  EXPECT_EQ(last->age, seconds(7));
  EXPECT_EQ(last->reported, 1700000000);
}

TEST_F(PeerTrackerTest, ForgetsImagesThatNobodyAsksFor) {
  SyncNumbers numbers;
  numbers.local_snapshot_time = 42;
  tracker_.KeepNumbers("k", Entry("peer", 1700000000), numbers);
  clock_.Advance(minutes(31));
  tracker_.QuietFor("another", "");
  EXPECT_FALSE(tracker_.LastNumbers("k", "peer").has_value());
}

}  // namespace
}  // namespace addons
