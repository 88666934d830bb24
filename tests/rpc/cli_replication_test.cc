// The verbs of replication on the command line, through the socket, on
// simulated clusters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "replication/look/point.h"
#include "tests/rpc/cli_fixture.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CliReplicationTest : public CliVerbTest {
 protected:
  using CliVerbTest::CliVerbTest;
};

class CliReplicationOnBTest : public CliReplicationTest {
 protected:
  CliReplicationOnBTest() : CliReplicationTest("b") {}
};

TEST_F(CliReplicationTest, AVolumeIsEnabledShownAndDisabled) {
  server_.AddPlain();
  server_.Start();
  EXPECT_EQ(Run({"enable", server_.id, "--parameter", "mirroringMode=snapshot",
                 "--parameter", "schedulingInterval=5m"}),
            0)
      << err_.str();
  EXPECT_EQ(out_.str(), "replication is enabled\n");
  EXPECT_TRUE(server_.a.Info(server_.image).primary);
  EXPECT_EQ(Run({"promote", server_.id, "--parameter=schedulingInterval=5m"}),
            0)
      << err_.str();
  EXPECT_EQ(out_.str(), "this site is primary\n");
  EXPECT_EQ(Run({"disable", server_.id}, "no\n"), kCliUsage);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("delete its copy"),
                                HasSubstr("nothing was changed")));
  EXPECT_EQ(Calls("rbd_mirror_image_disable"), 0);
  EXPECT_EQ(Run({"disable", server_.id, "--yes"}), 0) << err_.str();
  EXPECT_EQ(Calls("rbd_mirror_image_disable"), 1);
}

TEST_F(CliReplicationTest, InfoIsShownToPeopleAndAsJson) {
  server_.AddMirrored();
  server_.Start();
  EXPECT_EQ(Run({"info", server_.id}), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("replication  "), HasSubstr("message      "),
                    HasSubstr("last sync    ")));
  EXPECT_EQ(Run({"info", server_.id, "--json"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("\"status_message\": "));
}

TEST_F(CliReplicationTest, AnErrorThatStaysIsNotRepeated) {
  server_.AddPlain();
  server_.Start();
  EXPECT_EQ(Run({"demote", server_.id}), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(err_.str(), AllOf(StartsWith("FAILED_PRECONDITION: "),
                                HasSubstr("replication is not enabled"),
                                Not(HasSubstr("waiting"))));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(CliReplicationTest, ADaemonThatIsNotThereIsNotWaitedFor) {
  server_.AddPlain();
  EXPECT_EQ(Run({"demote", server_.id}), grpc::UNAVAILABLE);
  EXPECT_THAT(err_.str(), Not(HasSubstr("waiting")));
}

TEST_F(CliReplicationTest, AGroupIsPromoted) {
  server_.AddMirroredGroup();
  server_.Start();
  EXPECT_EQ(Run({"promote", "--group", server_.group_id}), 0) << err_.str();
}

TEST_F(CliReplicationTest, AParameterNeedsAKeyAndAValue) {
  EXPECT_EQ(Run({"enable", "some-id", "--parameter", "5m"}), kCliUsage);
  EXPECT_THAT(err_.str(), HasSubstr("'5m' is not KEY=VALUE"));
}

TEST_F(CliReplicationTest, DemoteHasNoForce) {
  EXPECT_EQ(Run({"demote", "some-id", "--force"}), kCliUsage);
}

TEST_F(CliReplicationOnBTest, APromotionToAPointAsksAndSaysWhatItHolds) {
  server_.AddMirrored();
  const std::string& image = server_.image;
  const uint64_t then = server_.b.Data(image);
  server_.a.AddSnapshot(image, SnapshotNameOf("first"), SnapshotKind::kUser);
  EXPECT_OK(server_.a.Write(image, then + 1));
  server_.a.CreateMirrorSnapshot(image);
  server_.world.Advance(std::chrono::minutes(1));
  server_.a.Demote(image);
  server_.world.Advance(std::chrono::minutes(1));
  ASSERT_EQ(server_.b.Data(image), then + 1);
  server_.Start();
  const std::vector<std::string> promote = {"promote", server_.id, "--point",
                                            "first"};
  EXPECT_EQ(Run(promote, "no\n"), kCliUsage);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("goes back to point 'first'"),
                                HasSubstr("'before-...'"),
                                HasSubstr("nothing was changed")));
  EXPECT_FALSE(server_.b.Info(image).primary);
  EXPECT_EQ(Run(promote, "yes\n"), 0) << err_.str();
  EXPECT_EQ(out_.str(),
            "this site is primary, and the volume holds point 'first'\n");
  EXPECT_EQ(server_.b.Data(image), then);
  // Of a group only a point of one instant.
  server_.AddGroup({server_.id});
  EXPECT_EQ(Run({"promote", server_.group_id, "--group", "--point", "first",
                 "--yes"}),
            grpc::INVALID_ARGUMENT);
  EXPECT_THAT(err_.str(), HasSubstr("of one volume"));
}

TEST_F(CliReplicationOnBTest, WhoPromotesIsToldThatNoScheduleIsSet) {
  constexpr char kNone[] =
      "no mirror snapshot schedule is set: nothing is copied back until there "
      "is one; promote it again with one (--parameter "
      "schedulingInterval=5m)\n";
  server_.AddMirrored();
  server_.world.Advance(std::chrono::minutes(1));
  server_.a.Demote(server_.image);
  server_.world.Advance(std::chrono::minutes(1));
  server_.Start();
  const std::string id =
      server_.pair.VolumeId(server_.b, ReplicationServer::kUuid);
  EXPECT_EQ(Run({"promote", id}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "this site is primary\n");
  EXPECT_THAT(err_.str(), HasSubstr(kNone));
  EXPECT_EQ(Run({"promote", id, "--parameter=schedulingInterval=5m"}), 0)
      << err_.str();
  EXPECT_THAT(err_.str(), Not(HasSubstr("no mirror snapshot schedule")));
}

TEST_F(CliReplicationOnBTest, WithoutALookAtSchedulesNothingIsSaidOfThem) {
  server_.AddMirrored();
  server_.world.Advance(std::chrono::minutes(1));
  server_.a.Demote(server_.image);
  server_.world.Advance(std::chrono::minutes(1));
  server_.Start();
  server_.world.SetCallHook(
      [](absl::string_view, absl::string_view call, bool) {
        return call == "rados_mgr_command" ? EPERM : 0;
      });
  EXPECT_EQ(Run({"promote",
                 server_.pair.VolumeId(server_.b, ReplicationServer::kUuid)}),
            0)
      << err_.str();
  EXPECT_THAT(err_.str(), Not(HasSubstr("no mirror snapshot schedule")));
  server_.world.SetCallHook(nullptr);
}

TEST_F(CliReplicationOnBTest, OfAGroupThoseWithoutAScheduleAreCounted) {
  server_.AddMirroredGroup();
  server_.world.Advance(std::chrono::minutes(1));
  for (const std::string& image : {server_.image, server_.second_image}) {
    server_.a.Demote(image);
  }
  server_.world.Advance(std::chrono::minutes(1));
  server_.Start();
  EXPECT_EQ(
      Run({"promote", "--group",
           server_.pair.VolumeId(server_.b, ReplicationServer::kGroupUuid)}),
      0)
      << err_.str();
  EXPECT_THAT(err_.str(),
              HasSubstr("no mirror snapshot schedule is set for 2 of its "
                        "volumes: nothing is copied back"));
}

TEST_F(CliReplicationOnBTest, ForceAsksFirstAndTakesOnlyYes) {
  server_.AddMirrored();
  server_.id = server_.pair.VolumeId(server_.b, ReplicationServer::kUuid);
  server_.Start();
  for (const std::string typed : {"", "y\n", "no\n"}) {
    EXPECT_EQ(Run({"promote", server_.id, "--force"}, typed), kCliUsage);
    EXPECT_THAT(
        err_.str(),
        AllOf(HasSubstr("\n  by force  works: it returns to "),
              HasSubstr("both are primary until one is demoted\nvolume '" +
                        server_.id + "': type yes"),
              HasSubstr("nothing was changed")));
  }
  EXPECT_EQ(Calls("rbd_mirror_image_promote"), 0);
  server_.a.SetClusterUp(false);
  EXPECT_EQ(Run({"promote", server_.id, "--force"}, "yes\n"), 0) << err_.str();
  EXPECT_TRUE(server_.b.Info(server_.image).primary);
}

TEST_F(CliReplicationTest, WhoTakesItsOwnDemotionBackIsToldOfNoLoss) {
  server_.AddMirrored();
  server_.Start();
  ASSERT_EQ(Run({"demote", server_.id}), 0) << err_.str();
  server_.world.Advance(std::chrono::minutes(1));
  EXPECT_EQ(Run({"promote", server_.id, "--force"}, "no\n"), kCliUsage);
  EXPECT_THAT(
      err_.str(),
      AllOf(HasSubstr("\n  by force  waits: this site demoted itself"),
            Not(HasSubstr("both are primary")), Not(HasSubstr("is lost"))));
}

// What a person is asked is complete without the administrators' socket, too.
TEST_F(CliReplicationOnBTest, WhereTheLossIsNotSeenThatIsSaid) {
  server_.AddMirrored();
  server_.id = server_.pair.VolumeId(server_.b, ReplicationServer::kUuid);
  server_.Start();
  ASSERT_EQ(Run({"info", server_.id}), 0) << err_.str();  // writes the secrets
  std::istringstream in("no\n");
  EXPECT_EQ(RunCli({"rbd-addons", "promote", server_.id, "--force",
                    "--endpoint", server_.endpoint(), "--admin-endpoint",
                    absl::StrCat("unix://", dir_.File("none")),
                    "--secrets-file", dir_.File("secrets.json")},
                   in, out_, err_),
            kCliUsage);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("what was written on the other site since is "
                              "lost"),
                    HasSubstr("What this one would lose was not seen: "),
                    HasSubstr("type yes")));
}

TEST_F(CliReplicationOnBTest, YesAnswersBeforehand) {
  server_.AddMirrored();
  server_.id = server_.pair.VolumeId(server_.b, ReplicationServer::kUuid);
  server_.Start();
  server_.a.SetClusterUp(false);
  EXPECT_EQ(Run({"promote", server_.id, "--force", "--yes"}), 0) << err_.str();
  EXPECT_THAT(err_.str(), Not(HasSubstr("type yes")));
}

// The first call is answered with the reason, and then it is asked again.
TEST_F(CliReplicationOnBTest, ACallThatMustBeRepeatedIs) {
  server_.AddMirrored();
  server_.id = server_.pair.VolumeId(server_.b, ReplicationServer::kUuid);
  server_.Start();
  EXPECT_EQ(Run({"promote", server_.id, "--timeout", "60"}),
            grpc::FAILED_PRECONDITION);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("waiting: UNAVAILABLE: "),
                                HasSubstr("FAILED_PRECONDITION: ")));
}

TEST_F(CliReplicationOnBTest, AResyncIsRepeatedUntilTheCopyIsInStep) {
  server_.AddMirrored();
  server_.id = server_.pair.VolumeId(server_.b, ReplicationServer::kUuid);
  server_.Start();
  EXPECT_EQ(Run({"resync", server_.id}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "this copy is in step with the other site\n");
}

}  // namespace
}  // namespace addons::testing
