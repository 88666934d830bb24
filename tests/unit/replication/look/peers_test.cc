#include "replication/look/peers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "replication/look/record.h"

namespace addons {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using Kind = MirrorSnapshotKind;
using State = MirrorStatusState;

constexpr int64_t kSince = 5000;  // the newest snapshot
constexpr seconds kSettle{90};

class PeersTest : public ::testing::Test {
 protected:
  PeersTest() {
    view_.image_id = "1031a976f30a";
    view_.info.state = MirrorImageState::kEnabled;
    view_.info.mode = MirrorMode::kSnapshot;
  }

  void AddSnapshot(Kind kind, int64_t created = kSince) {
    MirrorSnapshot snapshot;
    snapshot.id = view_.snapshots.size() + 1;
    snapshot.kind = kind;
    snapshot.complete = true;
    snapshot.created = std::chrono::system_clock::from_time_t(created);
    view_.snapshots.push_back(snapshot);
  }
  static SiteView Site(State state, const std::string& description,
                       int64_t told) {
    SiteView site;
    site.status = {"uuid-b", true, state, description, told};
    site.says = SaysOf(site.status);
    return site;
  }
  static SiteView SaysItIsPrimary(int64_t told) {
    return Site(State::kStopped, "local image is primary", told);
  }
  static SiteView Replays(int64_t told, const std::string& numbers = "") {
    return Site(State::kReplaying, "replaying" + numbers, told);
  }
  Word Of(const SiteView& site) const { return WordOf(site, view_); }

  MirrorView view_;
};

/// This site is primary since kSince.
class BesidePrimaryTest : public PeersTest {
 protected:
  BesidePrimaryTest() {
    AddSnapshot(Kind::kPrimary);
    view_.info.primary = true;
  }
  void SetJournalMode() {
    view_.info.mode = MirrorMode::kJournal;
    view_.snapshots.clear();
  }
};

TEST_F(BesidePrimaryTest, AStampTellsOfWhichTimeAReportSpeaks) {
  const std::pair<int64_t, Word> rows[] = {{kSince - 1, Word::kBefore},
                                           {kSince, Word::kLagging},
                                           {kSince + 59, Word::kLagging},
                                           {kSince + 60, Word::kCurrent},
                                           {kSince + 9999, Word::kCurrent}};
  for (const auto& [told, word] : rows) {
    EXPECT_EQ(Of(SaysItIsPrimary(told)), word) << told - kSince;
    EXPECT_EQ(Of(Replays(told)), word) << told - kSince;
  }
}

// One that stood still writes what it knew once more before it looks again.
TEST_F(BesidePrimaryTest, TheReportBeforeTellsThatNothingStoodStill) {
  SiteView site = SaysItIsPrimary(kSince + 9999);
  site.reported_before = kSince + 149;
  EXPECT_EQ(Of(site), Word::kCurrent);
  site.reported_before = kSince + 150;
  EXPECT_EQ(Of(site), Word::kSettled);
}

TEST_F(BesidePrimaryTest, WhatWasRewrittenTwiceHoldsWhateverItsStamp) {
  SiteView site = SaysItIsPrimary(kSince - 20);  // by a clock that is late
  site.rewrites = 1;
  EXPECT_EQ(Of(site), Word::kLagging);
  site.rewrites = 2;
  EXPECT_EQ(Of(site), Word::kSettled);
}

TEST_F(BesidePrimaryTest, TwoThatSayPrimaryForAMinuteAreBothPrimary) {
  const SiteView late = SaysItIsPrimary(kSince + 59);
  EXPECT_FALSE(SaysPrimary(late, view_, Word::kCurrent));
  EXPECT_TRUE(MayBePrimary(late, view_));
  const SiteView both = SaysItIsPrimary(kSince + 60);
  EXPECT_TRUE(SaysPrimary(both, view_, Word::kCurrent));
  EXPECT_FALSE(MayBePrimary(both, view_));
  EXPECT_FALSE(MayBePrimary(Replays(kSince - 1), view_));
}

TEST_F(BesidePrimaryTest, InJournalModeOnlyWhatWasCountedTells) {
  SetJournalMode();
  SiteView site = Replays(kSince + 9999);
  EXPECT_EQ(Of(site), Word::kUndated) << "it was primary all along";
  view_.primary_for = seconds(10);
  EXPECT_EQ(Of(site), Word::kBefore) << "it has turned, and nothing came since";
  site.rewrites = 1;
  EXPECT_EQ(Of(site), Word::kLagging);
}

TEST_F(BesidePrimaryTest, WhatAPeerNamesIsWhatItHasCopied) {
  const std::string before = R"(, {"local_snapshot_timestamp":4999})";
  const std::string since = R"(, {"local_snapshot_timestamp":5000})";
  EXPECT_EQ(CopiedBy(Replays(kSince), view_), Copied::kTries);
  EXPECT_EQ(CopiedBy(Replays(kSince, before), view_), Copied::kSays);
  EXPECT_EQ(CopiedBy(Replays(kSince, since), view_), Copied::kOfThisTerm);
  EXPECT_EQ(
      CopiedBy(Site(State::kStoppingReplay, "stopping" + since, kSince), view_),
      Copied::kNothing);
  EXPECT_EQ(CopiedBy(SaysItIsPrimary(kSince), view_), Copied::kNothing);
}

TEST_F(BesidePrimaryTest, AReportTellsThatASnapshotIsWhole) {
  const auto copied = [](int64_t time) {
    return Replays(
        kSince, absl::StrCat(R"(, {"local_snapshot_timestamp":)", time, "}"));
  };
  const uint64_t newest = view_.snapshots.back().id;
  EXPECT_TRUE(HasCopied(copied(kSince), "peer", view_, newest, kSince));
  EXPECT_TRUE(HasCopied(copied(kSince + 1), "peer", view_, newest, kSince));
  EXPECT_FALSE(HasCopied(copied(kSince - 1), "peer", view_, newest, kSince));
  EXPECT_FALSE(HasCopied(Replays(kSince), "peer", view_, newest, kSince));
  EXPECT_FALSE(HasCopied(Site(State::kError,
                              "x"
                              R"(, {"local_snapshot_timestamp":5000})",
                              kSince),
                         "peer", view_, newest, kSince));
}

// Its report may be half a minute old, and what it has linked is not.
TEST_F(BesidePrimaryTest, WhatAPeerHasUnlinkedTellsThatTheNewestIsWhole) {
  const SiteView site =
      Replays(kSince, R"(, {"local_snapshot_timestamp":4000})");
  view_.snapshots.clear();
  AddSnapshot(Kind::kPrimary, kSince - 100);
  AddSnapshot(Kind::kPrimary);
  view_.snapshots.front().unsynced_peer_uuids = {"peer"};
  view_.snapshots.back().unsynced_peer_uuids = {"peer"};
  EXPECT_FALSE(HasCopied(site, "peer", view_, 2, kSince));
  view_.snapshots.front().unsynced_peer_uuids.clear();
  EXPECT_TRUE(HasCopied(site, "peer", view_, 2, kSince));
  EXPECT_FALSE(HasCopied(site, "peer", view_, 1, kSince)) << "not the newest";
  EXPECT_FALSE(HasCopied(site, "another", view_, 2, kSince));
  // It was no peer when the first one was made, or is none of the second.
  EXPECT_FALSE(HasCopied(Replays(kSince), "peer", view_, 2, kSince));
  view_.snapshots.back().unsynced_peer_uuids.clear();
  EXPECT_FALSE(HasCopied(site, "peer", view_, 2, kSince));
}

// It has whole seconds.
TEST_F(BesidePrimaryTest, OfTwoSnapshotsOfOneSecondTheOlderOneIsNotTheNewer) {
  const SiteView site =
      Replays(kSince, R"(, {"local_snapshot_timestamp":5000})");
  view_.snapshots.clear();
  AddSnapshot(Kind::kPrimary);
  AddSnapshot(Kind::kPrimary);
  view_.snapshots.front().unsynced_peer_uuids = {"peer"};
  view_.snapshots.back().unsynced_peer_uuids = {"peer"};
  EXPECT_TRUE(HasCopied(site, "peer", view_, 1, kSince));
  EXPECT_FALSE(HasCopied(site, "peer", view_, 2, kSince));
  view_.snapshots.front().unsynced_peer_uuids.clear();
  EXPECT_TRUE(HasCopied(site, "peer", view_, 2, kSince));
}

TEST_F(BesidePrimaryTest, OnlyWhatWasCopiedFollowsATermThatBeganOutOfStep) {
  const std::string since = R"(, {"local_snapshot_timestamp":5000})";
  view_.snapshots.clear();
  AddSnapshot(Kind::kNonPrimaryDemoted, kSince - 10);
  const std::optional<uint64_t> copy = PromotedFrom(view_);
  AddSnapshot(Kind::kPrimary);
  EXPECT_TRUE(MustHaveCopied(view_));
  EXPECT_FALSE(Follows(Replays(kSince + 9999), view_));
  EXPECT_TRUE(Follows(Replays(kSince, since), view_));
  view_.own.promoted_from = copy;
  EXPECT_FALSE(MustHaveCopied(view_));
  EXPECT_TRUE(Follows(Replays(kSince), view_));
  EXPECT_FALSE(Follows(Replays(kSince - 1), view_));
  // It took its demotion back.
  view_.peers = {Replays(kSince)};
  view_.peers.front().went_on = true;
  EXPECT_TRUE(MustHaveCopied(view_));
  EXPECT_FALSE(Follows(view_.peers.front(), view_));
  EXPECT_TRUE(Follows(Replays(kSince, since), view_));
}

TEST_F(BesidePrimaryTest, APeerWentOnThatIsPrimaryNowOrInSplitBrain) {
  EXPECT_TRUE(WentOn(Site(State::kError, "split-brain", kSince), view_));
  EXPECT_FALSE(WentOn(Site(State::kError, "split-brain", kSince - 1), view_));
  EXPECT_TRUE(WentOn(SaysItIsPrimary(kSince + 60), view_));
  EXPECT_FALSE(WentOn(SaysItIsPrimary(kSince + 59), view_));
  EXPECT_FALSE(WentOn(Replays(kSince + 60), view_));
  view_.info.primary = false;
  EXPECT_FALSE(WentOn(SaysItIsPrimary(kSince + 9999), view_));
}

// In a split brain rbd-mirror says "replaying", too, each time that it looks.
TEST_F(BesidePrimaryTest, InJournalModeAReportFollowsUnlessTheRoleIsTakenBack) {
  SetJournalMode();
  SiteView site = Replays(kSince);
  EXPECT_FALSE(Follows(site, view_));
  site.rewrites = 1;
  EXPECT_TRUE(Follows(site, view_));
  view_.own.demotion = OwnDemotionMark{OwnDemotionStep::kTakenBack};
  EXPECT_FALSE(Follows(site, view_));
  site.rewrites = 2;
  EXPECT_TRUE(Follows(site, view_));
}

TEST_F(BesidePrimaryTest, ASplitBrainOfBeforeIsNone) {
  EXPECT_FALSE(Diverged(Site(State::kError, "split-brain", kSince - 1), view_));
  EXPECT_TRUE(Diverged(Site(State::kError, "split-brain", kSince), view_));
  EXPECT_FALSE(Diverged(Site(State::kError, "timed out", kSince), view_));
}

TEST_F(BesidePrimaryTest, ThePeerThatWasSilentForLongestIsTheOneHeardOf) {
  EXPECT_EQ(HeardOfAll(view_), std::nullopt);
  view_.peers = {Replays(kSince + 30), Replays(kSince + 10)};
  EXPECT_EQ(HeardOfAll(view_), kSince + 10);
}

class BesideSecondaryTest : public PeersTest {};

TEST_F(BesideSecondaryTest, AReportCountsSinceTheOwnDemotion) {
  view_.created.seconds = kSince - 500;
  EXPECT_EQ(Of(Replays(kSince - 501)), Word::kBefore);
  EXPECT_EQ(Of(Replays(kSince - 500)), Word::kLagging);
  // The stamps are of several OSDs.
  AddSnapshot(Kind::kPrimaryDemoted);
  EXPECT_EQ(Of(Replays(kSince + 14)), Word::kBefore);
  EXPECT_EQ(Of(Replays(kSince + 15)), Word::kLagging);
}

TEST_F(BesideSecondaryTest, TwoReportsOfACallTellOfNow) {
  SiteView site = Replays(kSince);
  site.rewrites_in_call = 1;
  EXPECT_EQ(Of(site), Word::kLagging);
  site.rewrites_in_call = 2;
  EXPECT_EQ(Of(site), Word::kSettled);
}

TEST_F(BesideSecondaryTest, ADemotionThatArrivedOutdatesAnOlderClaim) {
  AddSnapshot(Kind::kNonPrimaryDemoted);
  EXPECT_EQ(Of(SaysItIsPrimary(kSince - 15)), Word::kOutdated);
  EXPECT_EQ(Of(SaysItIsPrimary(kSince - 14)), Word::kLagging);
  EXPECT_EQ(Of(Replays(kSince - 15)), Word::kLagging) << "no claim";
  // rbd-mirror of this site has found it not primary since.
  view_.local = Site(State::kUnknown, "remote image is not primary", kSince);
  EXPECT_EQ(Of(SaysItIsPrimary(kSince - 14)), Word::kOutdated);
  EXPECT_EQ(Of(SaysItIsPrimary(kSince)), Word::kLagging);
}

TEST_F(BesideSecondaryTest, OnlyADenialOutdatesAClaimBesideTheOwnDemotion) {
  AddSnapshot(Kind::kPrimaryDemoted);
  EXPECT_EQ(Of(SaysItIsPrimary(kSince - 999)), Word::kBefore);
  view_.local =
      Site(State::kUnknown, "remote image is not primary", kSince + 79);
  EXPECT_EQ(Of(SaysItIsPrimary(kSince + 20)), Word::kLagging);
  view_.local->status.last_update = kSince + 80;
  EXPECT_EQ(Of(SaysItIsPrimary(kSince + 20)), Word::kOutdated);
  view_.local->status.up = false;
  EXPECT_EQ(Of(SaysItIsPrimary(kSince + 20)), Word::kLagging);
}

TEST_F(BesideSecondaryTest, WhoIsFoundSaysSoInTimeAndLives) {
  view_.peers = {SaysItIsPrimary(kSince)};
  SiteView& peer = view_.peers.front();
  const auto found = [&](Word word) {
    return FindPeer(view_, Says::kPrimary, word, kSettle) != nullptr;
  };
  EXPECT_TRUE(found(Word::kLagging));
  EXPECT_FALSE(found(Word::kCurrent));
  EXPECT_TRUE(AnyLives(view_, Says::kPrimary, kSettle));
  EXPECT_FALSE(AnyLives(view_, Says::kSecondary, kSettle));
  peer.status.up = false;
  EXPECT_TRUE(found(Word::kLagging));
  EXPECT_FALSE(AnyLives(view_, Says::kPrimary, kSettle));
  peer.age = kSettle;
  EXPECT_FALSE(found(Word::kOutdated));
  view_.created.seconds = kSince + 1;
  peer = SaysItIsPrimary(kSince);
  EXPECT_FALSE(AnyLives(view_, Says::kPrimary, kSettle)) << "of another image";
}

// A daemon that has just begun does not know how long the note has been here.
TEST_F(BesideSecondaryTest, ANoteOfARefusedDemotionStandsForTenMinutes) {
  EXPECT_FALSE(RefusalStands(view_));
  view_.refused_demotion = RefusedDemotion{};
  view_.refused_demotion->told = kSince;
  EXPECT_TRUE(RefusalStands(view_));
  view_.refused_demotion_age = minutes(10);
  EXPECT_FALSE(RefusalStands(view_));
  view_.refused_demotion_age = minutes(9);
  view_.peers = {SaysItIsPrimary(kSince + 660)};
  EXPECT_TRUE(RefusalStands(view_));
  view_.peers = {SaysItIsPrimary(kSince + 661)};
  EXPECT_FALSE(RefusalStands(view_));
  view_.refused_demotion->unclear = true;
  EXPECT_TRUE(RefusalStands(view_));
}

TEST_F(BesideSecondaryTest, ADenialIsOfAfterTheTimeThatItIsAskedFor) {
  const auto at = std::chrono::system_clock::from_time_t(kSince);
  EXPECT_FALSE(DeniedSince(view_, at));
  view_.local = Site(State::kUnknown, "remote image is not primary", kSince);
  EXPECT_FALSE(DeniedSince(view_, at));
  view_.local->status.last_update = kSince + 1;
  EXPECT_TRUE(DeniedSince(view_, at));
}

}  // namespace
}  // namespace addons
