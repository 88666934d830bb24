// Disable ends replication where that is right, and nothing by accident.

#include <chrono>

#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;

const Parameters kForce = {{"force", "true"}};

class DisableTest : public TwoSitesTest {
 protected:
  static void ExpectPlainAndWritable(const std::string& site,
                                     const TestVolume& volume) {
    EXPECT_EQ(MirrorState(site, volume), "disabled");
    Write(site, volume, "plain");
    EXPECT_EQ(ReadText(site, volume), "plain");
  }
};

TEST_F(DisableTest, OnThePrimaryItEndsOnBothSites) {
  const TestVolume volume =
      MakeReplicatedVolume({{"schedulingInterval", "7h"}});
  ASSERT_THAT(Schedules("a", volume), HasSubstr("7h"));

  EXPECT_THAT(Disable("a", volume), HasCode(Code::OK));
  EXPECT_EQ(MirrorState("a", volume), "disabled");
  EXPECT_TRUE(Eventually([&] { return MirrorState("b", volume) == "absent"; }));
  ExpectPlainAndWritable("a", volume);
  EXPECT_THAT(Disable("a", volume), HasCode(Code::OK));

  // The old schedule does not come back with the image.
  EXPECT_THAT(Enable("a", volume), HasCode(Code::OK));
  EXPECT_EQ(Schedules("a", volume), "");
}

// What it removes are snapshots; a lease is an object of its own. The manager
// would wait for space with the schedule in its hands: it is not told.
TEST_F(DisableTest, AFullPoolDoesNotKeepItsSnapshots) {
  const TestVolume volume =
      MakeReplicatedVolume({{"schedulingInterval", "7h"}});
  SetQuota("a", "max_objects", "1");
  EXPECT_TRUE(Eventually([] { return IsFull("a"); }));
  const grpc::Status disabled = Disable("a", volume);
  const std::string state = MirrorState("a", volume);
  // Before anything can end the test: other tests share the pool.
  SetQuota("a", "max_objects", "0");
  EXPECT_TRUE(Eventually([] { return !IsFull("a"); }));
  EXPECT_THAT(disabled, HasCode(Code::OK));
  EXPECT_EQ(state, "disabled");
  ExpectPlainAndWritable("a", volume);
}

// The image of a site that has demoted itself is removed with its primary only
// when that site's rbd-mirror has noticed the new primary before.
TEST_F(DisableTest, RightAfterAMoveItWaitsUntilTheOtherSiteFollows) {
  TestVolume volume;
  // a's rbd-mirror may be quicker than the test.
  const auto unnoticed = [&] {
    return NewestSnapshot("a", volume).demoted &&
           Status("b", volume).find("replay") == std::string::npos;
  };
  for (int tries = 0; tries < 8; ++tries) {
    volume = MakeReplicatedVolume();
    Write("a", volume, "moved");
    ASSERT_THAT(Demote("a", volume), HasCode(Code::OK));
    ASSERT_THAT(PromoteAtLast("b", volume), HasCode(Code::OK));
    Stop("a", "rbd-mirror");
    if (unnoticed()) break;
    Continue("a", "rbd-mirror");
  }
  ASSERT_TRUE(unnoticed());
  const grpc::Status early = Disable("b", volume, {}, std::chrono::seconds(5));
  EXPECT_THAT(early, HasCode(Code::UNAVAILABLE));
  EXPECT_THAT(early.error_message(), HasSubstr("not noticed"));
  Continue("a", "rbd-mirror");
  EXPECT_THAT(Disable("b", volume), HasCode(Code::OK));
  EXPECT_TRUE(Eventually([&] { return MirrorState("a", volume) == "absent"; }));

  EXPECT_THAT(Enable("b", volume), HasCode(Code::OK));
  EXPECT_THAT(Promote("b", volume), HasCode(Code::OK));
  ASSERT_TRUE(
      Eventually([&] { return MirrorState("a", volume) == "enabled"; }));
  Synchronize("b", volume);
  EXPECT_EQ(ReadText("a", volume), "moved");
}

TEST_F(DisableTest, OnTheSecondaryOfALivingPrimaryNothingChanges) {
  const TestVolume volume = MakeReplicatedVolume();
  const std::string image_id = ImageId("b", volume);

  EXPECT_THAT(Disable("b", volume), HasCode(Code::OK));
  // By force neither: it would split the pair.
  EXPECT_THAT(Disable("b", volume, kForce), HasCode(Code::OK));

  EXPECT_EQ(MirrorState("b", volume), "enabled");
  EXPECT_EQ(ImageId("b", volume), image_id);
  Write("a", volume, "still copied");
  Synchronize("a", volume);
  EXPECT_EQ(ReadText("b", volume), "still copied");
}

TEST_F(DisableTest, WithoutAPrimaryItTakesForce) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "kept");
  ASSERT_THAT(Demote("a", volume), HasCode(Code::OK));
  // Site b hears of the demotion through rbd-mirror.
  grpc::Status refused;
  ASSERT_TRUE(Eventually([&] {
    refused = Disable("b", volume);
    return refused.error_code() == Code::FAILED_PRECONDITION;
  })) << refused.error_message();
  EXPECT_THAT(refused.error_message(), HasSubstr("neither site is primary"));
  EXPECT_EQ(MirrorState("b", volume), "enabled");

  EXPECT_THAT(Disable("b", volume, kForce), HasCode(Code::OK));
  EXPECT_EQ(MirrorState("b", volume), "disabled");
  EXPECT_EQ(ReadText("b", volume), "kept");
  ExpectPlainAndWritable("b", volume);
}

TEST_F(DisableTest, APeerThatDiedBeforeItsFirstReportIsNotTakenForAlive) {
  // Copying onto site b takes the daemon of site b only.
  Stop("a", "rbd-mirror");
  const TestVolume volume = MakeReplicatedVolume();
  Synchronize("a", volume);
  Stop("a", "all");

  const grpc::Status refused = Disable("b", volume);
  EXPECT_THAT(refused, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(refused.error_message(), HasSubstr("no sign of life"));
  EXPECT_EQ(MirrorState("b", volume), "enabled");
}

TEST_F(DisableTest, WithADeadPeerItWaitsThenTakesForce) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "kept");
  Synchronize("a", volume);
  Stop("a", "all");
  // Its rbd-mirror turns down first; for a while the peer is neither alive nor
  // dead.
  grpc::Status early;
  EXPECT_TRUE(Eventually([&] {
    early = Disable("b", volume, {}, std::chrono::seconds(3));
    return !early.ok();
  }));
  EXPECT_THAT(early, HasCode(Code::UNAVAILABLE));
  EXPECT_EQ(MirrorState("b", volume), "enabled");

  const grpc::Status refused = Disable("b", volume);
  EXPECT_THAT(refused, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(refused.error_message(), HasSubstr("no sign of life"));
  EXPECT_EQ(MirrorState("b", volume), "enabled");

  EXPECT_THAT(Disable("b", volume, kForce), HasCode(Code::OK));
  EXPECT_EQ(ReadText("b", volume), "kept");
  ExpectPlainAndWritable("b", volume);
}

}  // namespace
}  // namespace addons::testing
