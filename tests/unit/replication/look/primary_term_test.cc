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
  const std::string note = PrimaryTermMarkDue(view);
  ASSERT_NE(note, "");
  view.marks[kPrimaryTermMark] = note;
  EXPECT_EQ(PrimaryTermMarkDue(view), "");

  MirrorView later = View({{8, kPrimary, 500}, {9, kPrimary, 600}});
  EXPECT_EQ(PrimaryTermBegan(later), 500);
  later.marks[kPrimaryTermMark] = note;
  EXPECT_EQ(PrimaryTermBegan(later), 200);
  EXPECT_EQ(PrimaryTermMarkDue(later), "");
}

TEST(PrimaryTermTest, ANoteOfAnEarlierTermDoesNotCount) {
  MirrorView view = View({{4, kPrimary, 200}});
  const std::string note = PrimaryTermMarkDue(view);
  MirrorView again =
      View({{4, kPrimary, 200}, {5, kDemoted, 300}, {6, kPrimary, 400}});
  again.marks[kPrimaryTermMark] = note;
  EXPECT_EQ(PrimaryTermBegan(again), 400);
  EXPECT_NE(PrimaryTermMarkDue(again), "");
}

TEST(PrimaryTermTest, ANoteThatAnotherImageHadDoesNotCount) {
  MirrorView view = View({{4, kPrimary, 200}});
  const std::string note = PrimaryTermMarkDue(view);
  view.image_id = "a-clone";
  view.snapshots[0].id = 9;
  view.snapshots[0].created = std::chrono::system_clock::from_time_t(700);
  for (const std::string& text : {note, std::string("{"), std::string("[]")}) {
    view.marks[kPrimaryTermMark] = text;
    EXPECT_EQ(PrimaryTermBegan(view), 700) << text;
    EXPECT_NE(PrimaryTermMarkDue(view), "") << text;
  }
}

TEST(PrimaryTermTest, BeganInStepAfterTheWholeDemotionOfThePeer) {
  MirrorView before = View({{3, kCopyOfDemotion, 100}});
  EXPECT_EQ(PromotedFrom(before), "");
  before.snapshots[0].complete = true;
  MirrorView view = View({{3, kCopyOfDemotion, 100}, {4, kPrimary, 200}});
  view.marks[kPromotedFromMark] = PromotedFrom(before);
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
  view.marks[kPromotedFromMark] = PromotedFrom(other);
  EXPECT_FALSE(PrimaryTermBeganInStep(view));
  // Of the image that this one was cloned from.
  other = View({{3, kCopyOfDemotion, 100}});
  other.snapshots[0].complete = true;
  other.image_id = "another";
  view.marks[kPromotedFromMark] = PromotedFrom(other);
  EXPECT_FALSE(PrimaryTermBeganInStep(view));
}

TEST(PrimaryTermTest, NothingButTheNewestSnapshotIsPromotedFrom) {
  MirrorView view = View({{3, kCopyOfDemotion, 100}, {4, kCopy, 200}});
  for (MirrorSnapshot& snapshot : view.snapshots) snapshot.complete = true;
  EXPECT_EQ(PromotedFrom(view), "");
  EXPECT_EQ(PromotedFrom(MirrorView()), "");
}

TEST(PrimaryTermTest, BeganInStepWhereTheImageWasEnabled) {
  MirrorView view = View({{4, kPrimary, 200}, {5, kPrimary, 300}});
  view.marks[kFirstCopyMark] = "another image";
  EXPECT_FALSE(PrimaryTermBeganInStep(view));
  view.marks[kFirstCopyMark] = view.image_id;
  EXPECT_TRUE(PrimaryTermBeganInStep(view));
}

TEST(PrimaryTermTest, NothingIsNotedOnASecondary) {
  EXPECT_EQ(PrimaryTermMarkDue(View({{4, kCopy, 200}})), "");
}

}  // namespace
}  // namespace addons
