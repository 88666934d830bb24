// Which ServiceAccounts may mount a volume, as ceph-csi has it in the image's
// metadata: that does not travel, and is there all the same on the site that
// becomes primary.

#include "replication/look/mount_restriction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "replication/steps/upkeep.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MountRestrictionTest : public VerbsTest {
 protected:
  MountRestrictionTest() {
    AddMirrored();
    world_.Advance(minutes(1));
  }
  void Restrict(FakeSite& site, const std::string& accounts) {
    site.SetImageMetadata(image_, kServiceAccountKey, accounts);
  }
  void Lift(FakeSite& site) {
    const auto pool =
        pair_.cluster(site)->OpenPool(pair_.pool_id(site), "", Access::kMutate);
    ASSERT_OK(pool);
    const auto image = (*pool)->OpenImage(ImageName(image_));
    ASSERT_OK(image);
    ASSERT_OK((*image)->RemoveMetadata(kServiceAccountKey));
    ASSERT_OK((*image)->Close());
  }
  /// Empty: anybody may mount.
  std::string Who(FakeSite& site) const {
    const auto metadata = site.ImageMetadata(image_);
    const auto found = metadata.find(kServiceAccountKey);
    return found == metadata.end() ? "" : found->second;
  }
  /// As replication info has it done, where that says that it is due.
  bool KeepUp(Daemon& daemon) {
    const auto info = Info(daemon);
    EXPECT_OK(info);
    if (!info.ok() || info->upkeep.empty()) return false;
    EXPECT_OK(Run([&](OperationContext& context) {
      return addons::KeepUp(context, daemon.environment(),
                            {daemon.Target(id_)});
    }));
    return true;
  }
  void Copy(FakeSite& from) {
    from.CreateMirrorSnapshot(image_);
    world_.Advance(seconds(30));
    ASSERT_TRUE(pair_.InSync(pair_.other(from), image_));
  }
  void Move(Daemon& from, Daemon& to) {
    ASSERT_OK(Demote(from));
    ASSERT_OK(Promote(to));
    world_.Advance(minutes(2));
  }
};

TEST_F(MountRestrictionTest, APlannedMoveTakesItAlong) {
  Restrict(a_, "db,backup");
  Move(on_a_, on_b_);
  EXPECT_EQ(Who(b_), "db,backup");
  // It is b's now, and travels back as it is then.
  Restrict(b_, "db");
  Move(on_b_, on_a_);
  EXPECT_EQ(Who(a_), "db");
}

TEST_F(MountRestrictionTest, WhatWasLiftedIsNotInForceAgainAfterAMoveBack) {
  Restrict(a_, "db");
  Move(on_a_, on_b_);
  Lift(b_);
  EXPECT_EQ(Who(a_), "db");  // where nobody can change it
  Move(on_b_, on_a_);
  EXPECT_FALSE(a_.ImageMetadata(image_).contains(kServiceAccountKey));
  // And one that is set after that is told as well.
  Restrict(a_, "web");
  Move(on_a_, on_b_);
  EXPECT_EQ(Who(b_), "web");
}

TEST_F(MountRestrictionTest, ReplicationInfoHasItToldBeforeADisaster) {
  KeepUp(on_a_);
  Restrict(a_, "db");
  EXPECT_TRUE(KeepUp(on_a_));
  EXPECT_FALSE(KeepUp(on_a_));  // once
  Copy(a_);
  EXPECT_EQ(Who(b_), "");
  LoseA();
  deadline_ = minutes(3);
  ASSERT_OK(Promote(on_b_, Force::kYes));
  EXPECT_EQ(Who(b_), "db");
}

// A later restriction may not have arrived, and is gone with that site.
TEST_F(MountRestrictionTest, ByForceNoneIsLifted) {
  Restrict(a_, "db");
  Move(on_a_, on_b_);
  Move(on_b_, on_a_);
  ASSERT_EQ(Who(b_), "db");
  Lift(a_);
  KeepUp(on_a_);
  Copy(a_);
  LoseA();
  deadline_ = minutes(3);
  ASSERT_OK(Promote(on_b_, Force::kYes));
  EXPECT_EQ(Who(b_), "db");
}

TEST_F(MountRestrictionTest, AVolumeThatAnybodyMayMountGetsNoNote) {
  KeepUp(on_a_);
  EXPECT_FALSE(KeepUp(on_a_));
  Move(on_a_, on_b_);
  EXPECT_FALSE(a_.ImageMetadata(image_).contains(kMountRestrictionMark));
  EXPECT_FALSE(b_.ImageMetadata(image_).contains(kMountRestrictionMark));
}

TEST_F(MountRestrictionTest, AfterAPromotionByAnotherProgramInfoHasItRestored) {
  Restrict(a_, "db");
  ASSERT_OK(Demote(on_a_));
  world_.Advance(seconds(30));
  b_.Promote(image_, Force::kNo);
  EXPECT_EQ(Who(b_), "");
  world_.Advance(minutes(2));
  EXPECT_TRUE(KeepUp(on_b_));
  EXPECT_EQ(Who(b_), "db");
  EXPECT_FALSE(KeepUp(on_b_));
}

// It may be what somebody has just set.
TEST_F(MountRestrictionTest, InfoReplacesNoRestrictionThatIsThere) {
  Restrict(a_, "db");
  ASSERT_OK(Demote(on_a_));
  world_.Advance(seconds(30));
  b_.Promote(image_, Force::kNo);
  Restrict(b_, "web");
  world_.Advance(minutes(2));
  EXPECT_TRUE(KeepUp(on_b_));
  EXPECT_EQ(Who(b_), "web");
  Move(on_b_, on_a_);
  EXPECT_EQ(Who(a_), "web");
}

TEST_F(MountRestrictionTest, ANoteOfAnotherEnablingSaysNothing) {
  a_.SetImageMetadata(image_, kMountRestrictionMark,
                      R"({"global_id":"other","image":"x","accounts":"db"})");
  KeepUp(on_a_);
  Move(on_a_, on_b_);
  EXPECT_EQ(Who(b_), "");
  a_.SetImageMetadata(image_, kMountRestrictionMark, "no JSON");
  Move(on_b_, on_a_);
  EXPECT_EQ(Who(a_), "");
}

// librbd keeps what is no UTF-8 as it is, and a note cannot.
TEST_F(MountRestrictionTest, WhatCannotBeToldAsItIsIsToldOnce) {
  KeepUp(on_a_);
  Restrict(a_, "db\xff");
  EXPECT_TRUE(KeepUp(on_a_));
  EXPECT_FALSE(KeepUp(on_a_));
}

TEST(MountRestrictionOfJournalModeTest, TravelsByItself) {
  MirrorView view;
  view.info.state = MirrorImageState::kEnabled;
  view.info.mode = MirrorMode::kJournal;
  view.info.primary = true;
  view.published[kServiceAccountKey] = "db";
  EXPECT_THAT(MountRestrictionDue(view), IsEmpty());
  EXPECT_THAT(TakeOverMountRestriction(view, Force::kNo), IsEmpty());
  EXPECT_THAT(DescribeMountRestriction(view), HasSubstr("'db'"));
}

}  // namespace
}  // namespace addons::testing
