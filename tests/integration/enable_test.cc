// Enable says what is missing before it changes anything; the schedule is the
// wanted one, and the only one.

#include <chrono>
#include <string>

#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class EnableTest : public TwoSitesTest {
 protected:
  static bool HasParent(const TestVolume& volume) {
    return Rbd("a", {"info", "--format", "json", ImageSpec(volume)})
               .find("\"parent\"") != std::string::npos;
  }
};

TEST_F(EnableTest, AnotherModeIsRefused) {
  const TestVolume volume = MakeVolume();
  ASSERT_THAT(Enable("a", volume), HasCode(Code::OK));
  const grpc::Status status =
      Enable("a", volume, {{"mirroringMode", "journal"}});
  EXPECT_THAT(status, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("snapshot mode"), HasSubstr("mirroringMode")));
  EXPECT_EQ(MirrorState("a", volume), "enabled");
}

TEST_F(EnableTest, ACloneIsRefusedInSnapshotMode) {
  const std::string parent = MakeParent("golden");
  const TestVolume volume = MakeVolume({"--parent", parent + "@origin"});
  Rbd("a", {"mirror", "image", "enable", parent, "snapshot"});
  const grpc::Status status = Enable("a", volume);
  EXPECT_THAT(status, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr(parent), HasSubstr("loses"),
                    HasSubstr("flattenMode"), HasSubstr("journal")));
  EXPECT_EQ(MirrorState("a", volume), "disabled");
  EXPECT_TRUE(HasParent(volume));
}

TEST_F(EnableTest, InJournalModeACloneNeedsAMirroredParent) {
  const Parameters journal = {{"mirroringMode", "journal"}};
  const std::string parent = MakeParent("journaled");
  const TestVolume volume = MakeVolume({"--parent", parent + "@origin"});
  const grpc::Status status = Enable("a", volume, journal);
  EXPECT_THAT(status, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr(parent), HasSubstr("is not mirrored"),
                    HasSubstr("flattenMode")));
  EXPECT_EQ(MirrorState("a", volume), "disabled");

  Rbd("a", {"mirror", "image", "enable", parent, "journal"});
  EXPECT_THAT(Enable("a", volume, journal), HasCode(Code::OK));
  EXPECT_EQ(MirrorState("a", volume), "enabled");
  EXPECT_TRUE(HasParent(volume));
}

TEST_F(EnableTest, AParentInTheTrashIsToldApart) {
  const std::string parent = MakeParent("forgotten");
  const TestVolume volume = MakeVolume({"--parent", parent + "@origin"});
  Rbd("a", {"trash", "mv", parent});
  const grpc::Status status =
      Enable("a", volume, {{"mirroringMode", "journal"}});
  EXPECT_THAT(status, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("in the trash"), HasSubstr("flattenMode")));
  EXPECT_EQ(MirrorState("a", volume), "disabled");
  EXPECT_TRUE(HasParent(volume));
}

TEST_F(EnableTest, FlattenModeForceDetachesACloneFirst) {
  if (const auto why = NoFlattenTasks()) GTEST_SKIP() << *why;
  const std::string parent = MakeParent("flattened");
  const TestVolume volume = MakeVolume({"--parent", parent + "@origin"});
  EXPECT_THAT(Enable("a", volume, {{"flattenMode", "force"}}),
              HasCode(Code::OK));
  EXPECT_EQ(MirrorState("a", volume), "enabled");
  EXPECT_FALSE(HasParent(volume));
}

TEST_F(EnableTest, APoolThatIsNotReadyIsRefusedWithTheCommandThatHelps) {
  Testbed("ceph", {"a", "osd", "pool", "create", "plain", "8"});
  Rbd("a", {"pool", "init", "plain"});
  const TestVolume volume = MakeVolume({"--pool", "plain"});
  const auto refusal = [&] {
    const grpc::Status status = Enable("a", volume);
    EXPECT_THAT(status, HasCode(Code::FAILED_PRECONDITION));
    return status.error_message();
  };
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("pool 'plain' is not mirrored"),
                    HasSubstr("rbd mirror pool enable plain image")));
  Rbd("a", {"mirror", "pool", "enable", "plain", "image"});
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("no peer"), HasSubstr("peer bootstrap create")));
  Rbd("a", {"mirror", "pool", "disable", "plain"});
  Rbd("a", {"mirror", "pool", "enable", "plain", "pool"});
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("as a whole"),
                    HasSubstr("rbd mirror pool enable plain image")));
  EXPECT_THAT(Rbd("a", {"info", "plain/" + volume.image}),
              Not(HasSubstr("mirroring")));
}

class ScheduleTest : public TwoSitesTest {
 protected:
  static Parameters Every(const std::string& interval,
                          const std::string& start = "") {
    Parameters parameters = {{"schedulingInterval", interval}};
    if (!start.empty()) parameters["schedulingStartTime"] = start;
    return parameters;
  }
};

TEST_F(ScheduleTest, TheWantedOneReplacesAnyOther) {
  const TestVolume volume = MakeVolume();
  ASSERT_THAT(Enable("a", volume), HasCode(Code::OK));
  EXPECT_EQ(Schedules("a", volume), "");
  const auto promoted = [&](const Parameters& parameters) {
    EXPECT_THAT(Promote("a", volume, false, parameters), HasCode(Code::OK));
    return Schedules("a", volume);
  };

  const std::string hourly = promoted(Every("1h"));
  EXPECT_EQ(hourly, "every 1h");
  EXPECT_EQ(promoted(Every("1h")), hourly);
  EXPECT_EQ(promoted({}), hourly) << "no interval means: leave it";
  EXPECT_EQ(promoted(Every("2h")), "every 2h");
  const std::string morning = promoted(Every("2h", "03:00:00Z"));
  EXPECT_THAT(morning, AllOf(HasSubstr("every 2h starting at 03:00:00"),
                             Not(HasSubstr("\n"))));
  EXPECT_EQ(promoted(Every("2h", "05:00:00+02:00")), morning)
      << "the same time, written otherwise";
  EXPECT_EQ(promoted(Every("1d")), "every 1d");
  EXPECT_EQ(promoted(Every("24h")), "every 1d")
      << "the same, written otherwise";
  // Somebody added one by hand.
  Schedule("a", volume, "add", {"9h"});
  EXPECT_EQ(promoted(Every("1d")), "every 1d");
}

TEST_F(ScheduleTest, ItIsThereForTheImageThatAResyncMade) {
  const TestVolume volume = MakeSplitBrain();
  ASSERT_THAT(Promote("b", volume, false, Every("4h")), HasCode(Code::OK));
  // Of the time when this site was primary; the manager keeps it under the id.
  Schedule("a", volume, "add", {"7h"});
  const std::string old_id = ImageId("a", volume);
  const auto levels = [] {
    return Testbed("rados", {"a", "-p", RealBed::kPool, "listomapkeys",
                             "rbd_mirror_snapshot_schedule"});
  };
  ASSERT_THAT(levels(), HasSubstr(old_id));
  bool ready = false;
  ASSERT_TRUE(Eventually(
      [&] { return Resync("a", volume, true, &ready).ok() && ready; },
      std::chrono::seconds(150)))
      << Status("a", volume);
  EXPECT_THAT(levels(), Not(HasSubstr(old_id)));
  ASSERT_THAT(Demote("b", volume), HasCode(Code::OK));
  EXPECT_THAT(PromoteAtLast("a", volume, Every("4h")), HasCode(Code::OK));
  EXPECT_EQ(Schedules("a", volume), "every 4h");
}

}  // namespace
}  // namespace addons::testing
