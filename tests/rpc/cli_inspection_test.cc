// What administrators ask about volumes, on the command line, through the
// socket, on simulated clusters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "tests/rpc/cli_fixture.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CliInspectionTest : public CliVerbTest {
 protected:
  CliInspectionTest() : CliVerbTest("b") {
    server_.AddMirrored();
    server_.world.Advance(std::chrono::minutes(1));
  }
  void DemoteOnA() {
    server_.a.Demote(server_.image);
    server_.world.Advance(std::chrono::minutes(2));
  }
  nlohmann::json Answer() { return ParseJson(out_.str()); }

  const std::string spec_ = absl::StrCat("replicapool/", server_.image);
  /// As a check names the volume: its PersistentVolume first.
  const std::string named_ =
      absl::StrCat("pvc-", ReplicationServer::kUuid, " (", spec_, ")");
};

TEST_F(CliInspectionTest, ACheckSaysWhatBothWaysWouldDo) {
  server_.Start();
  server_.world.ClearCalls();
  EXPECT_EQ(Run({"check-failover", server_.id}), 0) << err_.str();
  EXPECT_THAT(
      out_.str(),
      AllOf(StartsWith(named_ + " (secondary)\n"),
            HasSubstr("\n  planned   waits: site 'site-a' still reports its "
                      "image as primary: demote it there"),
            HasSubstr("\n  by force  works: it returns to the state of "),
            HasSubstr("\n1 volume: 0 would be promoted planned, 1 by force; 0 "
                      "in no way\n")));
  EXPECT_EQ(server_.world.CountMutations(), 0);
  EXPECT_EQ(Calls("rbd_open"), 0);
  EXPECT_THAT(server_.log(), Not(HasSubstr(server_.b.user()->key.Reveal())));
}

TEST_F(CliInspectionTest, ACheckTellsSinceWhenTheOtherSiteIsSilent) {
  server_.a.SetClusterUp(false);
  server_.a.SetMirrorDaemon(DaemonState::kDown);
  server_.world.Advance(std::chrono::minutes(3));
  server_.Start();
  EXPECT_EQ(Run({"check-failover", server_.id}), 0) << err_.str();
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr("; no sign of site 'site-a' for 0 s of 90 s while calls "
                      "wait (last report "),
            HasSubstr(" s ago); forcing is offered about 90 s after a call "
                      "begins to wait if nothing changes\n")));
  EXPECT_EQ(Run({"check-failover", server_.id, "--json"}), 0);
  const nlohmann::json planned = Answer()["findings"][0]["planned"];
  EXPECT_EQ(planned["seen_seconds"], "0");
  EXPECT_EQ(planned["needed_seconds"], "90");
  EXPECT_EQ(planned["forcible_seconds"], "90");
  EXPECT_GT(std::stoi(planned["report_age_seconds"].get<std::string>()), 90);
  EXPECT_THAT(planned["clock"].get<std::string>(), StartsWith("no sign of "));
  EXPECT_EQ(Run({"explain", server_.id}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("; no sign of site 'site-a' for 0 s of "));
}

TEST_F(CliInspectionTest, TheExitCodeIsAboutTheWayThatIsAskedFor) {
  server_.Start();
  EXPECT_EQ(Run({"check-failover", server_.id, "--planned"}), 9);
  EXPECT_EQ(Run({"check-failover", server_.id, "--force"}), 0);
  DemoteOnA();
  EXPECT_EQ(Run({"check-failover", server_.id, "--planned"}), 0) << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("planned   works"));
}

TEST_F(CliInspectionTest, APoolIsCheckedWhole) {
  (void)server_.pair.AddMirroredVolume(server_.a,
                                       ReplicationServer::kSecondUuid);
  DemoteOnA();
  server_.Start();
  EXPECT_EQ(Run({"check-failover", "--pool", "replicapool", "--json"}), 0)
      << err_.str();
  const nlohmann::json found = Answer();
  EXPECT_EQ(found["volumes"], 2);
  EXPECT_EQ(found["planned"], 1);
  EXPECT_EQ(found["forced"], 2);
  ASSERT_EQ(found["findings"].size(), 2U);
  // What is not ready comes first.
  const nlohmann::json& first = found["findings"][0];
  EXPECT_EQ(first["image"], absl::StrCat("replicapool/", server_.second_image));
  EXPECT_EQ(first["planned"]["verdict"], "WAITS");
  EXPECT_EQ(first["planned"]["code"], "UNAVAILABLE");
  EXPECT_TRUE(first.contains("returns_to_time"));
  EXPECT_EQ(found["findings"][1]["planned"]["verdict"], "WORKS");
  EXPECT_EQ(found["findings"][1]["lost_bytes"], "0");
}

TEST_F(CliInspectionTest, WhatItCostsIsSaidByWhatWasMeasured) {
  server_.Start();
  server_.b.SetMirrorDaemon(DaemonState::kFrozen);
  server_.b.SetStatus(
      server_.image, "", MirrorStatusState::kReplaying,
      R"(replaying, {"bytes_per_snapshot":4096.0,"last_snapshot_bytes":4096,)"
      R"("last_snapshot_sync_seconds":10,"local_snapshot_timestamp":100,)"
      R"("remote_snapshot_timestamp":160,"replay_state":"syncing",)"
      R"("syncing_percent":50})");
  EXPECT_EQ(Run({"check-failover", server_.id}), 0) << err_.str();
  EXPECT_THAT(
      out_.str(),
      AllOf(
          HasSubstr("\n  planned costs   about 2048 bytes (2.0 KiB) are still "
                    "to come; about 15 s of copying from the other site's "
                    "demotion on\n"),
          HasSubstr("\n  by force costs  about 4096 bytes (4.0 KiB) of a "
                    "snapshot that is not whole here are lost, and what was "
                    "written since\n")));
  EXPECT_EQ(Run({"check-failover", server_.id, "--json"}), 0);
  EXPECT_EQ(Answer()["findings"][0]["lost_bytes_about"], "4096");
  EXPECT_EQ(Answer()["findings"][0]["bytes_to_come"], "2048");
  EXPECT_EQ(Answer()["findings"][0]["planned_seconds"], "15");
  EXPECT_EQ(Run({"check-failover", server_.id, "--output", "yaml"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("planned_seconds: \"15\""));
}

TEST_F(CliInspectionTest, ThatNothingWasMeasuredIsSaidAndIsNoNumber) {
  server_.Start();
  server_.b.SetMirrorDaemon(DaemonState::kFrozen);
  server_.b.SetStatus(server_.image, "", MirrorStatusState::kReplaying,
                      R"(replaying, {"replay_state":"idle"})");
  EXPECT_EQ(Run({"check-failover", server_.id}), 0) << err_.str();
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr("\n  planned costs   how many bytes are still to come is "
                      "not known; how long the copying takes is not known\n"),
            HasSubstr("\n  by force costs  how many bytes are lost is not "
                      "known\n")));
  EXPECT_EQ(Run({"check-failover", server_.id, "--json"}), 0);
  for (const char* number :
       {"lost_bytes", "lost_bytes_about", "bytes_to_come", "planned_seconds"}) {
    EXPECT_FALSE(Answer()["findings"][0].contains(number)) << number;
  }
}

TEST_F(CliInspectionTest, WhereTheDemotionIsHereNothingIsLost) {
  DemoteOnA();
  server_.Start();
  EXPECT_EQ(Run({"check-failover", server_.id}), 0) << err_.str();
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr("\n  planned costs   nothing is to be copied first\n"),
            HasSubstr("\n  by force costs  nothing is lost\n")));
}

TEST_F(CliInspectionTest, WhatCannotBeSeenIsNeverZero) {
  server_.Start();
  server_.b.SetClusterUp(false);
  EXPECT_EQ(Run({"check-failover", server_.id}), 9) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("planned   unclear: "),
                    HasSubstr("1 in no way, of which 1 is unclear\n")));
}

TEST_F(CliInspectionTest, APoolWithoutMirroredImagesIsNoFailoverThatWorks) {
  server_.b.AddPool(9, "empty");
  server_.Start();
  EXPECT_EQ(Run({"check-failover", "--pool", "empty"}), 9) << err_.str();
  EXPECT_THAT(out_.str(), StartsWith("0 volumes: "));
}

TEST_F(CliInspectionTest, AllIsEachMirroredPool) {
  server_.b.AddPool(9, "not-mirrored");
  (void)server_.pair.AddMirroredVolume(server_.a,
                                       ReplicationServer::kSecondUuid);
  server_.Start();
  EXPECT_EQ(Run({"check-failover", "--all", "--json"}), 0) << err_.str();
  const nlohmann::json found = Answer();
  EXPECT_EQ(found["volumes"], 2);
  EXPECT_EQ(found["forced"], 2);
  EXPECT_EQ(found["findings"][0]["cluster_id"], "site-b");
  EXPECT_TRUE(found["unseen"].empty());
}

TEST_F(CliInspectionTest, APoolOfAllThatCannotBeReadIsSaidAndNeverZero) {
  server_.b.AddPool(1, "first");
  server_.Start();
  std::atomic<int> asked = 0;
  server_.world.SetCallHook(
      [&asked](absl::string_view, absl::string_view call, bool) {
        return call == "rbd_mirror_mode_get" && ++asked == 1 ? EACCES : 0;
      });
  EXPECT_EQ(Run({"check-failover", "--all"}), 9) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("\nnot looked at: pool 'first' of cluster "
                              "'site-b': "),
                    HasSubstr("1 volume: 0 would be promoted planned, 1 by "
                              "force")));
  server_.world.SetCallHook(nullptr);
}

TEST_F(CliInspectionTest, AllOfASilentClusterIsAnError) {
  server_.Start();
  server_.b.SetClusterUp(false);
  EXPECT_EQ(Run({"check-failover", "--all"}), grpc::UNAVAILABLE);
  EXPECT_THAT(err_.str(), HasSubstr("site-b"));
}

TEST_F(CliInspectionTest, AGroupIsItsMembersAndOneAnswer) {
  server_.AddGroup({server_.id});
  const std::string group = server_.group_id;
  DemoteOnA();
  server_.Start();
  EXPECT_EQ(Run({"check-failover", "--group", group, "--planned"}), 0)
      << out_.str() << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(StartsWith(named_ + " (demoted)\n"),
                    HasSubstr("\ngroup vgrcontent-1"
                              " (1 member)\n  planned   works: 1 ready\n")));
  // One that is not there leaves the answer about the other, and no zero.
  const std::string stranger =
      server_.pair.VolumeId(server_.a, ReplicationServer::kSecondUuid);
  EXPECT_EQ(Run({"check-failover", "--group", group, "--group", stranger}), 9);
  EXPECT_THAT(out_.str(), HasSubstr("group " + stranger +
                                    " (0 members)\n  planned   refuses: "));
}

TEST_F(CliInspectionTest, WrongUseAsksNobody) {
  server_.Start();
  EXPECT_EQ(Run({"check-failover"}), 64);
  EXPECT_THAT(err_.str(), HasSubstr("--group, --pool or --all"));
  EXPECT_EQ(Run({"check-failover", server_.id, "--pool", "replicapool"}), 64);
  EXPECT_EQ(Run({"check-failover", server_.id, "--all"}), 64);
  EXPECT_EQ(Run({"check-failover", "--pool", "replicapool", "--all"}), 64);
  EXPECT_EQ(Run({"check-failover", "--group", "no-id"}),
            grpc::INVALID_ARGUMENT);
  EXPECT_EQ(Run({"check-failover", server_.id, "--planned", "--force"}), 64);
  EXPECT_EQ(Run({"check-failover", "0001-0006-no-id"}), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(Run({"check-failover", server_.id, "--parameter", "x"}), 64);
}

TEST_F(CliInspectionTest, AVolumeIsExplained) {
  server_.Start();
  server_.world.ClearCalls();
  EXPECT_EQ(Run({"explain", server_.id}), 0) << err_.str();
  EXPECT_THAT(
      out_.str(),
      AllOf(StartsWith("id\n  volume: " + server_.id + "\n"),
            HasSubstr("\nplace\n  cluster: site-b, to which the id's is "
                      "mapped\n"),
            HasSubstr("\nimage\n  name: " + spec_ + "\n"),
            HasSubstr("\n  role: secondary\n"),
            HasSubstr("\nwhat would be answered now\n  promote waits "
                      "(UNAVAILABLE): site 'site-a' still reports"),
            HasSubstr("\n  promote by force works (OK): it returns to ")));
  EXPECT_THAT(out_.str(), Not(HasSubstr("could not be seen")));
  EXPECT_EQ(server_.world.CountMutations(), 0);
  EXPECT_EQ(Calls("rbd_open"), 0);
  EXPECT_THAT(out_.str() + server_.log(),
              Not(HasSubstr(server_.b.user()->key.Reveal())));
  EXPECT_EQ(Run({"explain", server_.id, "--json"}), 0);
  const nlohmann::json explained = Answer();
  EXPECT_EQ(explained["forecasts"].size(), 7U);
  EXPECT_EQ(explained["facts"][0]["topic"], "id");
}

TEST_F(CliInspectionTest, AGroupIsExplainedWithItsMembers) {
  server_.AddGroup({server_.id});
  server_.Start();
  server_.world.ClearCalls();
  EXPECT_EQ(Run({"explain", "--group", server_.group_id}), 0) << err_.str();
  EXPECT_THAT(
      out_.str(),
      AllOf(StartsWith("id\n  volume group: " + server_.group_id + "\n"),
            HasSubstr("\njournal\n  name: vgrcontent-1\n"),
            HasSubstr("\n  members: 1\n"),
            HasSubstr("\nwhat would be answered now\n  promote waits "
                      "(UNAVAILABLE): Failed to promote volume group '"),
            HasSubstr("\n  promote by force works (OK): 1 ready\n"),
            HasSubstr("\n  demote works (OK): 1 ready\n"),
            HasSubstr("\nits members\n" + named_ + " (secondary)\n")));
  EXPECT_THAT(out_.str(), Not(HasSubstr("could not be seen")));
  EXPECT_EQ(server_.world.CountMutations(), 0);
  EXPECT_EQ(Run({"explain", "--group", server_.group_id, "--json"}), 0);
  EXPECT_EQ(Answer()["forecasts"].size(), 7U);
  EXPECT_EQ(Answer()["members"][0]["group_id"], server_.group_id);
  // Of a volume nothing is seen.
  EXPECT_EQ(Run({"explain", "--group", server_.id}), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("could not be seen\n  the volume "
                              "group: "),
                    HasSubstr("\n  promote refuses (INVALID_ARGUMENT)")));
}

TEST_F(CliInspectionTest, WhatRunsOnAVolumeIsPartOfItsExplanation) {
  server_.Hold("rbd_mirror_image_promote");
  DemoteOnA();
  server_.Start();
  auto promote = std::async(std::launch::async, [&] {
    Ask ask;
    ask.volume_id = server_.id;
    return server_.Call("PromoteVolume", ask).status;
  });
  server_.AwaitHeld();
  EXPECT_EQ(Run({"explain", server_.id}), 0) << err_.str();
  server_.Release();
  EXPECT_THAT(out_.str(),
              HasSubstr("\n  operation 1: promote, promoting, for "));
  EXPECT_TRUE(promote.get().ok());
}

TEST_F(CliInspectionTest, WhatAnExplanationCouldNotSeeIsSaid) {
  server_.Start();
  server_.b.SetClusterUp(false);
  EXPECT_EQ(Run({"explain", server_.id}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("could not be seen\n  the volume: "),
                                HasSubstr("promote unclear")));
  EXPECT_EQ(Run({"explain", "0001-0006-no-id"}), grpc::INVALID_ARGUMENT);
}

TEST_F(CliInspectionTest, ThatNoDaemonAnswersIsNoAnswer) {
  EXPECT_EQ(Run({"check-failover", server_.id}), grpc::UNAVAILABLE);
}

}  // namespace
}  // namespace addons::testing
