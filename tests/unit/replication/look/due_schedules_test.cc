#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "replication/look/watched.h"

namespace addons::testing {
namespace {

CephUserRef User(const std::string& id) {
  return MakeCephUser(id, Secret("key"));
}

TEST(DueSchedulesTest, KeepsEachVolumeOnceWithItsLatestUser) {
  DueSchedules due;
  EXPECT_TRUE(due.Add(VolumeHandle("volume"), User("one")));
  EXPECT_TRUE(due.Add(VolumeHandle("volume"), User("two")));
  ASSERT_EQ(due.All().size(), 1U);
  EXPECT_EQ(due.All()[0].volume_id, "volume");
  EXPECT_EQ(due.All()[0].user->id, "two");
  due.Remove(VolumeHandle("volume"));
  due.Remove(VolumeHandle("volume"));
  EXPECT_TRUE(due.All().empty());
}

TEST(DueSchedulesTest, HasABound) {
  DueSchedules due;
  for (size_t i = 0; i < DueSchedules::kMost; ++i) {
    EXPECT_TRUE(due.Add(VolumeHandle(absl::StrCat(i)), User("one")));
  }
  EXPECT_FALSE(due.Add(VolumeHandle("one too many"), User("one")));
  EXPECT_TRUE(due.Add(VolumeHandle("1"), User("two"))) << "known already";
  EXPECT_EQ(due.All().size(), DueSchedules::kMost);
}

}  // namespace
}  // namespace addons::testing
