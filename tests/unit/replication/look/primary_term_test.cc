#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "ceph/mirror.h"
#include "replication/look/record.h"

namespace addons {
namespace {

constexpr auto kPrimary = MirrorSnapshotKind::kPrimary;
constexpr auto kDemoted = MirrorSnapshotKind::kPrimaryDemoted;
constexpr auto kCopy = MirrorSnapshotKind::kNonPrimary;
constexpr auto kCopyOfDemotion = MirrorSnapshotKind::kNonPrimaryDemoted;

struct Seen {
  uint64_t id;
  MirrorSnapshotKind kind;
  int64_t created;
};

MirrorView View(const std::vector<Seen>& snapshots) {
  MirrorView view;
  view.image_id = "1031a976f30a";
  view.info.primary = snapshots.back().kind == kPrimary;
  for (const Seen& seen : snapshots) {
    MirrorSnapshot& snapshot = view.snapshots.emplace_back();
    snapshot.id = seen.id;
    snapshot.kind = seen.kind;
    snapshot.created = std::chrono::system_clock::from_time_t(seen.created);
  }
  return view;
}

TEST(PrimaryTermTest, BeganWithTheFirstSnapshotAfterAnotherRole) {
  EXPECT_EQ(PrimaryTermBegan(View(
                {{3, kCopy, 100}, {4, kPrimary, 200}, {5, kPrimary, 300}})),
            200);
  EXPECT_EQ(PrimaryTermBegan(View({{4, kPrimary, 200}, {5, kDemoted, 300}})),
            std::nullopt);
}

TEST(PrimaryTermTest, IsKnownFromTheNoteWhenItsSnapshotIsGone) {
  MirrorView view = View({{3, kDemoted, 100}, {4, kPrimary, 200}});
  const std::optional<TermNote> note = TermNoteDue(view);
  ASSERT_TRUE(note.has_value());
  view.own.term = note;
  EXPECT_FALSE(TermNoteDue(view).has_value());

  MirrorView later = View({{8, kPrimary, 500}, {9, kPrimary, 600}});
  EXPECT_EQ(PrimaryTermBegan(later), 500);
  later.own.term = note;
  EXPECT_EQ(PrimaryTermBegan(later), 200);
  EXPECT_FALSE(TermNoteDue(later).has_value());
}

TEST(PrimaryTermTest, ANoteOfAnEarlierTermDoesNotCount) {
  MirrorView view = View({{4, kPrimary, 200}});
  const std::optional<TermNote> note = TermNoteDue(view);
  MirrorView again =
      View({{4, kPrimary, 200}, {5, kDemoted, 300}, {6, kPrimary, 400}});
  again.own.term = note;
  EXPECT_EQ(PrimaryTermBegan(again), 400);
  EXPECT_TRUE(TermNoteDue(again).has_value());
}

TEST(PrimaryTermTest, BeganInStepAfterTheWholeDemotionOfThePeer) {
  MirrorView before = View({{3, kCopyOfDemotion, 100}});
  EXPECT_FALSE(PromotedFrom(before).has_value());
  before.snapshots[0].complete = true;
  MirrorView view = View({{3, kCopyOfDemotion, 100}, {4, kPrimary, 200}});
  view.own.promoted_from = PromotedFrom(before);
  EXPECT_FALSE(PrimaryTermBeganInStep(view));
  view.snapshots[0].complete = true;
  EXPECT_TRUE(PrimaryTermBeganInStep(view));
  // A forced promotion leaves nothing, or an older demotion of its own site.
  for (const MirrorSnapshotKind kind : {kDemoted, kCopy}) {
    view.snapshots[0].kind = kind;
    EXPECT_FALSE(PrimaryTermBeganInStep(view));
  }
  view.snapshots.erase(view.snapshots.begin());
  EXPECT_FALSE(PrimaryTermBeganInStep(view));
}

// The peer took that demotion back, what it wrote was copied, and this site was
// promoted by force: librbd drops the copies, and not the demotion.
TEST(PrimaryTermTest, DemotionThatNoPromotionFollowedShowsNoStep) {
  MirrorView view = View({{3, kCopyOfDemotion, 100}, {9, kPrimary, 200}});
  view.snapshots[0].complete = true;
  EXPECT_FALSE(PrimaryTermBeganInStep(view));
  MirrorView other = View({{2, kCopyOfDemotion, 50}});
  other.snapshots[0].complete = true;
  view.own.promoted_from = PromotedFrom(other);
  EXPECT_FALSE(PrimaryTermBeganInStep(view));
}

TEST(PrimaryTermTest, NothingButTheNewestSnapshotIsPromotedFrom) {
  MirrorView view = View({{3, kCopyOfDemotion, 100}, {4, kCopy, 200}});
  for (MirrorSnapshot& snapshot : view.snapshots) snapshot.complete = true;
  EXPECT_FALSE(PromotedFrom(view).has_value());
  EXPECT_FALSE(PromotedFrom(MirrorView()).has_value());
}

TEST(PrimaryTermTest, BeganInStepWhereTheImageWasEnabled) {
  MirrorView view = View({{4, kPrimary, 200}, {5, kPrimary, 300}});
  EXPECT_FALSE(PrimaryTermBeganInStep(view));
  view.own.first_copy_awaited = true;
  EXPECT_TRUE(PrimaryTermBeganInStep(view));
}

TEST(PrimaryTermTest, NothingIsNotedOnASecondary) {
  EXPECT_FALSE(TermNoteDue(View({{4, kCopy, 200}})).has_value());
}

}  // namespace
}  // namespace addons
