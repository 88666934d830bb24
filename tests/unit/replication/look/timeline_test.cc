#include "replication/look/timeline.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ceph/mirror.h"
#include "replication/look/mirror_view.h"
#include "tests/testing/manual_clock.h"

namespace addons {
namespace {

using ::addons::testing::ManualClock;
using std::chrono::minutes;
using std::chrono::seconds;
using State = MirrorStatusState;

SiteView Site(const std::string& uuid, int64_t last_update,
              State state = State::kReplaying,
              const std::string& description = "replaying") {
  SiteView site;
  site.status = {uuid, true, state, description, last_update};
  site.says = SaysOf(site.status);
  return site;
}

class TimelineTest : public ::testing::Test {
 protected:
  /// A look that shows these peers, the last of which is returned as it is
  /// known then.
  SiteView Look(const std::vector<SiteView>& peers,
                const std::string& key = "k") {
    view_ = MirrorView();
    view_.timeline_key = key;
    view_.info.state = MirrorImageState::kEnabled;
    view_.info.primary = primary_;
    view_.local = local_;
    view_.peers = peers;
    timeline_.Note(&view_);
    return view_.peers.empty() ? SiteView() : view_.peers.back();
  }
  SiteView LookAtPeer(int64_t stamp) { return Look({Site("peer", stamp)}); }
  std::optional<SiteView> Claim(const char* uuid = "peer") {
    return timeline_.LastClaim("k", uuid, nullptr);
  }

  ManualClock clock_;
  Timeline timeline_{clock_};
  MirrorView view_;
  bool primary_ = false;
  std::optional<SiteView> local_;
};

TEST_F(TimelineTest, AReportAgesUntilItIsRewritten) {
  EXPECT_EQ(LookAtPeer(100).age, seconds(0));
  clock_.Advance(seconds(40));
  EXPECT_EQ(LookAtPeer(100).age, seconds(40));
  clock_.Advance(seconds(40));
  EXPECT_EQ(LookAtPeer(130).age, seconds(0));
}

TEST_F(TimelineTest, ThatALocalReportWasRewrittenIsKnownForAWhile) {
  local_ = Site("", 100);
  Look({});
  EXPECT_FALSE(view_.local->rewritten) << "the first one may be an old one";
  clock_.Advance(seconds(20));
  local_ = Site("", 130);
  Look({});
  EXPECT_TRUE(view_.local->rewritten);
  clock_.Advance(seconds(24));
  Look({});
  EXPECT_TRUE(view_.local->rewritten);
  // It may have been right after the look before.
  clock_.Advance(seconds(1));
  Look({});
  EXPECT_FALSE(view_.local->rewritten);
}

TEST_F(TimelineTest, TheReportBeforeIsKnownOnceItWasRewritten) {
  EXPECT_EQ(LookAtPeer(100).reported_before, std::nullopt);
  EXPECT_EQ(LookAtPeer(100).reported_before, std::nullopt);
  EXPECT_EQ(LookAtPeer(900).reported_before, 100);
  EXPECT_EQ(LookAtPeer(900).reported_before, 100);
  EXPECT_EQ(LookAtPeer(930).reported_before, 900);
}

TEST_F(TimelineTest, AClaimIsKeptUntilItsSiteSaysOtherwise) {
  EXPECT_FALSE(Claim().has_value());
  Look({Site("peer", 100, State::kStopped, "local image is primary")});
  Look({Site("peer", 130, State::kStartingReplay, "starting replay")});
  ASSERT_TRUE(Claim().has_value());
  EXPECT_EQ(Claim()->status.last_update, 100);
  EXPECT_FALSE(Claim()->status.up);
  EXPECT_FALSE(Claim("other").has_value());
  LookAtPeer(160);
  EXPECT_FALSE(Claim().has_value());
}

TEST_F(TimelineTest, SilenceBeginsAnewAfterEachReport) {
  const auto silent = [this] {
    return timeline_.HeldFor("k", Since::kSilent, "silent");
  };
  EXPECT_EQ(silent(), seconds(0));
  clock_.Advance(seconds(100));
  Look({});
  EXPECT_EQ(silent(), seconds(100));
  LookAtPeer(100);
  clock_.Advance(seconds(100));
  EXPECT_EQ(silent(), seconds(0));
}

TEST_F(TimelineTest, ReportsAreCountedSinceTheImageHasItsRole) {
  const auto rewrites = [this](bool primary, int64_t stamp) {
    primary_ = primary;
    return LookAtPeer(stamp).rewrites;
  };
  EXPECT_EQ(rewrites(false, 100), 0);
  EXPECT_EQ(view_.primary_for, std::nullopt);
  clock_.Advance(seconds(30));
  EXPECT_EQ(rewrites(true, 130), 0) << "it may have come just before";
  EXPECT_EQ(view_.primary_for, seconds(0));
  clock_.Advance(seconds(30));
  EXPECT_EQ(rewrites(true, 160), 1);
  EXPECT_EQ(rewrites(true, 160), 1);
  clock_.Advance(seconds(30));
  EXPECT_EQ(rewrites(true, 190), 2);
  EXPECT_EQ(view_.primary_for, seconds(60));
  EXPECT_EQ(rewrites(false, 190), 0);
  clock_.Advance(seconds(5));
  EXPECT_EQ(rewrites(true, 190), 0);
}

TEST_F(TimelineTest, AReportThatComesAfterTheTurnCounts) {
  Look({});
  primary_ = true;
  clock_.Advance(seconds(5));
  Look({});
  clock_.Advance(seconds(5));
  EXPECT_EQ(LookAtPeer(100).rewrites, 1);
}

TEST_F(TimelineTest, AnImageThatWasPrimaryAllAlongHasNotTurned) {
  primary_ = true;
  EXPECT_EQ(LookAtPeer(100).rewrites, 0);
  EXPECT_EQ(view_.primary_for, std::nullopt);
  clock_.Advance(seconds(30));
  EXPECT_EQ(LookAtPeer(130).rewrites, 1);
  EXPECT_EQ(view_.primary_for, std::nullopt);
}

TEST_F(TimelineTest, ATermThatBeganBetweenTwoLooksCountsAnew) {
  const auto rewrites = [this](int64_t since, int64_t stamp) {
    view_ = MirrorView();
    view_.timeline_key = "k";
    view_.info.state = MirrorImageState::kEnabled;
    view_.info.primary = true;
    MirrorSnapshot snapshot;
    snapshot.kind = MirrorSnapshotKind::kPrimary;
    snapshot.created = std::chrono::system_clock::from_time_t(since);
    view_.snapshots = {snapshot};
    view_.peers = {Site("peer", stamp)};
    timeline_.Note(&view_);
    return view_.peers.front().rewrites;
  };
  EXPECT_EQ(rewrites(50, 100), 0);
  EXPECT_EQ(rewrites(50, 130), 1);
  EXPECT_EQ(rewrites(140, 160), 0);
  EXPECT_EQ(rewrites(140, 190), 1);
}

// rbd-mirror that is in split brain says each 30 s that it begins.
TEST_F(TimelineTest, ThatAPeerWentOnIsRememberedForTheTerm) {
  const auto went_on = [this](bool primary, int64_t stamp, State state,
                              const char* description) {
    primary_ = primary;
    return Look({Site("peer", stamp, state, description)}).went_on;
  };
  EXPECT_FALSE(went_on(true, 100, State::kReplaying, "replaying"));
  EXPECT_TRUE(went_on(true, 130, State::kError, "split-brain"));
  EXPECT_TRUE(went_on(true, 131, State::kStartingReplay, "starting replay"));
  EXPECT_TRUE(went_on(true, 160, State::kReplaying, "replaying"));
  EXPECT_FALSE(went_on(false, 190, State::kReplaying, "replaying"));
  EXPECT_FALSE(went_on(true, 220, State::kReplaying, "replaying"));
}

TEST_F(TimelineTest, OfAListingTheRoleIsToldAfterwards) {
  const auto look = [this](bool primary, int64_t stamp) {
    view_ = MirrorView();
    view_.timeline_key = "k";
    view_.peers = {Site("peer", stamp)};
    timeline_.NoteListed(&view_);
    timeline_.NoteRole(primary, &view_);
    return view_.peers.front().rewrites;
  };
  EXPECT_EQ(look(false, 100), 0);
  EXPECT_EQ(look(true, 130), 0);
  EXPECT_EQ(look(true, 160), 1);
}

TEST_F(TimelineTest, ALongDeadPeerIsOldAtTheFirstLook) {
  local_ = Site("", 1000);
  EXPECT_EQ(LookAtPeer(700).age, seconds(300));
  EXPECT_EQ(timeline_.OldestAge("k", {local_->status, Site("b", 600).status}),
            seconds(400));
}

TEST_F(TimelineTest, ALocalReportThatIsOlderProvesNothing) {
  local_ = Site("", 500);
  EXPECT_EQ(LookAtPeer(700).age, seconds(0));
}

TEST_F(TimelineTest, ImagesAndSitesAreKeptApart) {
  Look({Site("peer", 1)}, "a");
  clock_.Advance(seconds(50));
  EXPECT_EQ(Look({Site("peer", 1)}, "b").age, seconds(0));
  EXPECT_EQ(Look({Site("other", 1)}, "a").age, seconds(0));
  EXPECT_EQ(Look({Site("peer", 1)}, "a").age, seconds(50));
}

TEST_F(TimelineTest, QuietTimeRestartsWhenSomethingIsCopied) {
  const auto quiet = [this](uint64_t copied) {
    view_ = MirrorView();
    view_.timeline_key = "k";
    MirrorSnapshot copy;
    copy.id = 7;
    copy.last_copied_object = copied;
    view_.snapshots = {copy};
    timeline_.Note(&view_);
    return view_.quiet_for;
  };
  quiet(16);
  clock_.Advance(seconds(5));
  EXPECT_EQ(quiet(16), seconds(5));
  EXPECT_EQ(quiet(32), seconds(0));
}

TEST_F(TimelineTest, WhatIsHeldAgesUntilItChanges) {
  const auto held = [this](const char* key, const char* value) {
    return timeline_.HeldFor(key, Since::kRefused, value);
  };
  EXPECT_EQ(held("k", "note 1"), seconds(0));
  clock_.Advance(seconds(400));
  EXPECT_EQ(held("k", "note 1"), seconds(400));
  EXPECT_EQ(held("other", "note 1"), seconds(0));
  EXPECT_EQ(timeline_.HeldFor("k", Since::kDisabling, "note 1"), seconds(0));
  EXPECT_EQ(held("k", "note 2"), seconds(0));
  EXPECT_EQ(timeline_.See("k", Since::kRefused, "note 3").changes, 2);
  clock_.Advance(seconds(10));
  EXPECT_EQ(timeline_.SinceSeen("k", Since::kRefused), seconds(10));
  timeline_.Forget("k", Since::kRefused);
  EXPECT_FALSE(timeline_.SinceSeen("k", Since::kRefused).has_value());
  EXPECT_EQ(timeline_.See("k", Since::kRefused, "note 3").changes, 0);
}

TEST_F(TimelineTest, WhatOnlyAsksChangesNothing) {
  timeline_.See("k", Since::kErrorReport, "100");
  EXPECT_EQ(timeline_.See("k", Since::kErrorReport, "130", Counts::kNo).changes,
            1);
  EXPECT_EQ(timeline_.See("k", Since::kErrorReport, "160").changes, 1);
  timeline_.See("other", Since::kError, "error", Counts::kNo);
  EXPECT_FALSE(timeline_.SinceSeen("other", Since::kError).has_value());
}

TEST_F(TimelineTest, ADisturbanceLastsTwoMinutes) {
  EXPECT_FALSE(timeline_.Disturbed("fsid"));
  timeline_.NoteDisturbance("fsid");
  clock_.Advance(seconds(119));
  EXPECT_TRUE(timeline_.Disturbed("fsid"));
  clock_.Advance(seconds(2));
  EXPECT_FALSE(timeline_.Disturbed("fsid"));
}

TEST_F(TimelineTest, LastGoodNumbersTellTheirAge) {
  EXPECT_FALSE(timeline_.LastNumbers("k", "peer").has_value());
  SyncNumbers numbers;
  numbers.local_snapshot_time = 42;
  timeline_.KeepNumbers("k", Site("peer", 1700000000), numbers);
  clock_.Advance(seconds(30));
  const auto last = timeline_.LastNumbers("k", "peer");
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->numbers.local_snapshot_time, 42);
  EXPECT_EQ(last->age, seconds(30));
  EXPECT_EQ(last->reported, 1700000000);
}

TEST_F(TimelineTest, ForgetsImagesThatNobodyAsksFor) {
  timeline_.KeepNumbers("k", Site("peer", 1700000000), SyncNumbers());
  timeline_.See("k", Since::kLivingPrimary, "seen");
  clock_.Advance(minutes(31));
  Look({}, "another");
  EXPECT_FALSE(timeline_.LastNumbers("k", "peer").has_value());
  EXPECT_FALSE(timeline_.SinceSeen("k", Since::kLivingPrimary).has_value());
}

}  // namespace
}  // namespace addons
