#include "replication/look/mirrored_clone.h"

#include <gtest/gtest.h>

#include <string>

namespace addons {
namespace {

MirrorView WithMark(const std::string& mark) {
  MirrorView view;
  view.info.state = MirrorImageState::kEnabled;
  view.info.mode = MirrorMode::kSnapshot;
  view.info.global_id = "11111111-2222";
  view.marks[kCloneMark] = mark;
  return view;
}

TEST(CloneMarkTest, IsThatOfThePresentEnabling) {
  const MirrorView own =
      WithMark(R"({"global_id":"11111111-2222","parent":"pool/golden@one"})");
  EXPECT_EQ(CloneStateOf(own), CloneState::kWasFlattened);
  EXPECT_NE(DescribeCloneLoss(own, "pool/image").find("pool/golden@one"),
            std::string::npos);
  EXPECT_EQ(CloneStateOf(WithMark(R"({"global_id":"another"})")),
            CloneState::kWhole);
}

// A newer version may write it in another form. That is no word that the copy
// has all the data.
TEST(CloneMarkTest, ThatIsNotUnderstoodIsNoWordThatNothingIsLost) {
  for (const char* const mark :
       {"of a newer version", "", "7", "[]", "{}", R"({"global_id":7})",
        R"({"global_id":"11111111-2222","parent":7})"}) {
    const MirrorView view = WithMark(mark);
    EXPECT_EQ(CloneStateOf(view), CloneState::kWasFlattened) << mark;
    EXPECT_NE(DescribeCloneLoss(view, "pool/image").find("clone of '?'"),
              std::string::npos)
        << mark;
    EXPECT_EQ(CloneMarkDue(view), "") << "it is left alone: " << mark;
  }
}

}  // namespace
}  // namespace addons
