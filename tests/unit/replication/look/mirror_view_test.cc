#include "replication/look/mirror_view.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "replication/look/move_marks.h"

namespace addons {
namespace {

using Kind = MirrorSnapshotKind;

/// A site that demoted itself.
MirrorView Demoted() {
  MirrorView view;
  view.info.state = MirrorImageState::kEnabled;
  view.info.mode = MirrorMode::kSnapshot;
  MirrorSnapshot demotion;
  demotion.id = 7;
  demotion.kind = Kind::kPrimaryDemoted;
  demotion.complete = true;
  view.snapshots.push_back(demotion);
  return view;
}

SiteView LocalSite(MirrorStatusState state, const char* description) {
  SiteView site;
  site.status = {"", true, state, description, 5000};
  site.says = SaysOf(site.status);
  return site;
}

// Each of the three alone says that what is here is not what is to be promoted.
TEST(MirrorViewTest, ThePeerWentOnWhereThisSiteMustNotTakeItsDemotionBack) {
  EXPECT_FALSE(Demoted().PeerDiverged());

  MirrorView asked = Demoted();
  asked.resync_requested = true;
  EXPECT_TRUE(asked.PeerDiverged()) << "this copy is to be made anew";

  MirrorView split = Demoted();
  split.local = LocalSite(MirrorStatusState::kError, "split-brain");
  EXPECT_TRUE(split.PeerDiverged()) << "the peer has another content";
  split.local = LocalSite(MirrorStatusState::kError, "some other error");
  EXPECT_FALSE(split.PeerDiverged());

  MirrorView given = Demoted();
  given.own.demotion = {OwnDemotionStep::kGivenBack};
  EXPECT_TRUE(given.PeerDiverged()) << "the peer was primary, too";
  given.own.demotion = {OwnDemotionStep::kDemoted};
  EXPECT_FALSE(given.PeerDiverged());
}

TEST(MirrorViewTest, ThePeerWentOnInJournalModeLikewise) {
  MirrorView view;
  view.info.state = MirrorImageState::kEnabled;
  view.info.mode = MirrorMode::kJournal;
  view.resync_requested = true;
  EXPECT_FALSE(view.PeerDiverged()) << "the last demotion is not this site's";
  view.own.demotion = {OwnDemotionStep::kDemoted};
  EXPECT_TRUE(view.PeerDiverged());
  view.resync_requested = false;
  EXPECT_FALSE(view.PeerDiverged());
}

TEST(MirrorViewTest, NobodyWentOnBesideAPrimaryOrAfterThePeersOwnDemotion) {
  MirrorView view = Demoted();
  view.resync_requested = true;
  view.info.primary = true;
  EXPECT_FALSE(view.PeerDiverged());

  view = Demoted();
  view.resync_requested = true;
  view.snapshots.back().kind = Kind::kNonPrimaryDemoted;
  EXPECT_FALSE(view.PeerDiverged());
}

// That nothing is left to replay is what a promotion in journal mode waits for.
TEST(MirrorViewTest, ABacklogInAnotherFormIsNotNone) {
  constexpr std::chrono::seconds kSettle{90};
  MirrorView view;
  view.info.mode = MirrorMode::kJournal;
  for (const char* const unclear :
       {"replaying, in a way",
        R"(replaying, {"entries_behind_primary":"3"})"}) {
    view.local = LocalSite(MirrorStatusState::kReplaying, unclear);
    view.local->age = std::chrono::seconds(5);
    EXPECT_NE(view.UnclearReport(kSettle).find("left to replay"),
              std::string::npos)
        << unclear;
  }
  // A report of long ago says nothing.
  view.local->age = std::chrono::seconds(91);
  EXPECT_EQ(view.UnclearReport(kSettle), "");
  view.local->age = std::chrono::seconds(5);
  // Nor does it in snapshot mode.
  view.info.mode = MirrorMode::kSnapshot;
  EXPECT_EQ(view.UnclearReport(kSettle), "");
  view.info.mode = MirrorMode::kJournal;
  view.local = LocalSite(MirrorStatusState::kReplaying,
                         R"(replaying, {"entries_behind_primary":3})");
  view.local->age = std::chrono::seconds(5);
  EXPECT_EQ(view.UnclearReport(kSettle), "");
}

}  // namespace
}  // namespace addons
