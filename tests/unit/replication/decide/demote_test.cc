#include "replication/decide/demote.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <vector>

#include "replication/look/record.h"

namespace addons {
namespace {

using std::chrono::seconds;
using Kind = MirrorSnapshotKind;
using State = MirrorStatusState;

constexpr int64_t kPromoted = 5000;  // since when this site is primary
constexpr char kPeer[] = "uuid-b";
constexpr char kClaim[] = "local image is primary";

/// A primary that was promoted without force after a demotion of the peer.
class DemoteDecisionTest : public ::testing::Test {
 protected:
  DemoteDecisionTest() {
    view_.image_id = "1031a976f30a";
    view_.info.state = MirrorImageState::kEnabled;
    view_.info.mode = MirrorMode::kSnapshot;
    AddSnapshot(Kind::kNonPrimaryDemoted, kPromoted - 10);
    view_.own.promoted_from = PromotedFrom(view_);
    AddSnapshot(Kind::kPrimary, kPromoted);
    view_.info.primary = true;
  }

  void AddSnapshot(Kind kind, int64_t created) {
    MirrorSnapshot snapshot;
    snapshot.id = view_.snapshots.size() + 1;
    snapshot.kind = kind;
    snapshot.complete = true;
    snapshot.created = std::chrono::system_clock::from_time_t(created);
    view_.snapshots.push_back(snapshot);
  }
  void SetPeer(State state, const char* description, int64_t last_update) {
    SiteView site;
    site.status = {kPeer, true, state, description, last_update};
    site.says = SaysOf(site.status);
    view_.peers = {site};
  }
  Next Decide(int rewrites = 0) {
    for (SiteView& peer : view_.peers) peer.rewrites = rewrites;
    DemoteSeen seen{.view = view_,
                    .rescue = rescue_,
                    .site_name = names_,
                    .settle = seconds(90),
                    .spec = "pool/vol",
                    .rescue_spec = "pool/vol.rescue",
                    .image = ImageName("vol"),
                    .workloads = workloads_,
                    .open_by_mirror = open_by_mirror_,
                    .published = published_};
    return DecideDemote(seen);
  }

  /// What the demotion notes that comes next.
  OwnDemotionMark MarkAfter(int rewrites = 0) {
    EXPECT_EQ(Decide(rewrites).step, Step::kDemote);
    return MarkOfDemotion(view_);
  }

  SiteNameFn names_ = [](const std::string& uuid) { return uuid; };
  MirrorView view_;
  std::optional<RescueRecord> rescue_;
  std::vector<Watcher> workloads_;
  std::map<std::string, std::string> published_;
  bool open_by_mirror_ = false;
};

TEST_F(DemoteDecisionTest, NotesWhenTheFollowerWasHeard) {
  SetPeer(State::kReplaying, "replaying", kPromoted + 20);
  const Next decision = Decide();
  ASSERT_EQ(decision.step, Step::kDemote);
  EXPECT_EQ(MarkOfDemotion(view_),
            (OwnDemotionMark{OwnDemotionStep::kDemoted, kPromoted + 20}));
}

// A walk found it: promoted by force and demoted again within a minute, this
// site took its demotion back later, as if the other one had kept in step.
TEST_F(DemoteDecisionTest,
       BesideAPrimaryTheRoleIsGivenBackHoweverShortTheTerm) {
  SetPeer(State::kStopped, kClaim, kPromoted + 40);
  ASSERT_EQ(Decide(1).step, Step::kAwaitFollower);
  const Next decision = Decide(2);
  ASSERT_EQ(decision.step, Step::kDemote);
  EXPECT_EQ(MarkOfDemotion(view_),
            OwnDemotionMark{OwnDemotionStep::kGivenBack});
}

// The peer was promoted after this site, which says "primary" all the time: so
// it cannot note at its own demotion that the two were in step. A minute later
// its report may still be of before that demotion, and nobody copies from here.
TEST_F(DemoteDecisionTest, AClaimIsOneOfNowOnlyLongAfterThisSiteWasPromoted) {
  for (const int later : {0, 60, 100, 149}) {
    SetPeer(State::kStopped, kClaim, kPromoted + later + 30);
    view_.peers.front().reported_before = kPromoted + later;
    EXPECT_EQ(Decide().step, Step::kAwaitFollower) << later;
  }
  SetPeer(State::kStopped, kClaim, kPromoted + 180);
  view_.peers.front().reported_before = kPromoted + 150;
  const Next decision = Decide();
  ASSERT_EQ(decision.step, Step::kDemote);
  EXPECT_EQ(MarkOfDemotion(view_),
            OwnDemotionMark{OwnDemotionStep::kGivenBack});
}

// An operator walk found it: this site was promoted by force while rbd-mirror
// of the other one stood still. What that one knew before it wrote once more,
// and this site gave its role back to a site without its writes.
TEST_F(DemoteDecisionTest, WhatAnRbdMirrorSaysThatStoodStillIsOld) {
  SetPeer(State::kStopped, kClaim, kPromoted + 1000);
  EXPECT_EQ(Decide().step, Step::kAwaitFollower);
  view_.peers.front().reported_before = kPromoted - 40;
  EXPECT_EQ(Decide(1).step, Step::kAwaitFollower);
  view_.peers.front().status.last_update += 30;
  view_.peers.front().reported_before = kPromoted + 1000;
  EXPECT_EQ(Decide(1).step, Step::kDemote);
}

TEST_F(DemoteDecisionTest, AGivenBackRoleOfWhichNobodyWasToldIsNotedAsSuch) {
  view_.own.demotion = {OwnDemotionStep::kTakenBack};
  SetPeer(State::kStopped, kClaim, kPromoted + 40);
  OwnDemotionMark untold{OwnDemotionStep::kGivenBack};
  untold.told_nobody = true;
  EXPECT_EQ(MarkAfter(2), untold);
  // A daemon died inside the promotion, or it was another program's.
  view_.own.demotion = {OwnDemotionStep::kDemoted};
  EXPECT_EQ(MarkAfter(2), OwnDemotionMark{OwnDemotionStep::kGivenBack});
}

// A walk found it: neither verb led out, the other one asked for a resync of a
// site that had gone on and was the right one.
TEST_F(DemoteDecisionTest, WhoToldNobodyGivesTheRoleBackToASiteThatWentOn) {
  SetPeer(State::kError, "split-brain", kPromoted + 40);
  ASSERT_EQ(Decide(1).step, Step::kAwaitFollower);
  view_.own.demotion = {OwnDemotionStep::kTakenBack};
  const Next decision = Decide(1);
  ASSERT_EQ(decision.step, Step::kDemote);
  OwnDemotionMark untold{OwnDemotionStep::kGivenBack};
  untold.told_nobody = true;
  EXPECT_EQ(MarkOfDemotion(view_), untold);
}

// An operator walk found it: the demotion was refused for as long as it was
// asked for, and the other site handed its role to this one later, unseen.
TEST_F(DemoteDecisionTest, WhoToldNobodyYieldsToAClaimOfTheFirstSeconds) {
  view_.own.demotion = {OwnDemotionStep::kTakenBack};
  SetPeer(State::kStopped, kClaim, kPromoted - 1);
  ASSERT_EQ(Decide().step, Step::kAwaitFollower);
  SetPeer(State::kStopped, kClaim, kPromoted);
  const Next decision = Decide();
  ASSERT_EQ(decision.step, Step::kDemote);
  OwnDemotionMark untold{OwnDemotionStep::kGivenBack};
  untold.told_nobody = true;
  EXPECT_EQ(MarkOfDemotion(view_), untold);
}

TEST_F(DemoteDecisionTest, AClaimIsNoWordThatThePeerIsInStep) {
  open_by_mirror_ = true;
  SetPeer(State::kStopped, kClaim, kPromoted + 10);
  const Next decision = Decide();
  ASSERT_EQ(decision.step, Step::kDemote);
  EXPECT_EQ(MarkOfDemotion(view_), OwnDemotionMark{});
}

TEST_F(DemoteDecisionTest, ARoleThatWasGivenBackStaysSo) {
  view_.own.demotion = {OwnDemotionStep::kGivenBack};
  SetPeer(State::kReplaying, "replaying", kPromoted + 20);
  EXPECT_EQ(MarkAfter(), OwnDemotionMark{OwnDemotionStep::kGivenBack});
  // Another program may have promoted it since.
  view_.own.demotion->told_nobody = true;
  EXPECT_EQ(MarkAfter(), OwnDemotionMark{OwnDemotionStep::kGivenBack});
}

// What is left of the snapshots may be a demotion that nobody followed.
TEST_F(DemoteDecisionTest, AfterAPromotionByForceOnlyWhatWasCopiedCounts) {
  open_by_mirror_ = true;
  SetPeer(State::kReplaying, "replaying", kPromoted + 20);
  ASSERT_EQ(Decide().step, Step::kDemote);
  view_.own.promoted_from.reset();
  EXPECT_EQ(Decide().step, Step::kAwaitFollower);
  SetPeer(State::kReplaying, R"(replaying, {"local_snapshot_timestamp":5000})",
          kPromoted + 20);
  EXPECT_EQ(Decide().step, Step::kDemote);
}

}  // namespace
}  // namespace addons
