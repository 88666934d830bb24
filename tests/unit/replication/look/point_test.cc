#include "replication/look/point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/utc.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

TEST(PointTest, ANameIsOneThatCephAndAShellTake) {
  for (const char* name :
       {"a", "before-upgrade", "20261201T070300Z", "v1.2_3"}) {
    EXPECT_OK(CheckPointName(name)) << name;
  }
  EXPECT_OK(CheckPointName(std::string(64, 'x')));
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("a/b"),
        std::string("a@b"), std::string("\n"), std::string(65, 'x')}) {
    EXPECT_THAT(CheckPointName(name),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << name;
  }
}

TEST(PointTest, AMomentIsAName) {
  const std::string name = FormatUtcForName(absl::FromUnixSeconds(1796108580));
  EXPECT_EQ(name, "20261201T070300Z");
  EXPECT_OK(CheckPointName(name));
}

TEST(PointTest, OnlyUsersSnapshotsOfThatNameArePoints) {
  const std::vector<ImageSnapshot> snapshots = {
      {4, "backup", SnapshotKind::kUser},
      {5, SnapshotNameOf("one"), SnapshotKind::kUser},
      {6, SnapshotNameOf("two"), SnapshotKind::kTrash},
      {9, SnapshotNameOf("three"), SnapshotKind::kUser}};
  const std::vector<Point> points = PointsIn(snapshots);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].name, "one");
  EXPECT_EQ(points[1].snapshot, 9U);
  EXPECT_FALSE(FindPoint(snapshots, "two").has_value());
  EXPECT_EQ(FindPoint(snapshots, "three")->snapshot, 9U);
}

}  // namespace
}  // namespace addons::testing
