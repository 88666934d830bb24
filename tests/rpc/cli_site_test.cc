// A whole site is moved on the command line, through the socket, on simulated
// clusters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/json.h"
#include "cli/interrupt.h"
#include "cli/site.h"
#include "tests/rpc/cli_fixture.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kThirdUuid[] = "c3a1d6a4-0d3c-4a5e-9d37-0e1f4a1c7a11";
constexpr char kFourthUuid[] = "d4b2e7b5-1e4d-4b6f-8e48-1f205b2d8b22";

class CliSiteTest : public CliVerbTest {
 protected:
  explicit CliSiteTest(const std::string& site = "b") : CliVerbTest(site) {
    server_.AddMirrored();
    for (const char* uuid :
         {ReplicationServer::kSecondUuid, kThirdUuid, kFourthUuid}) {
      (void)server_.pair.AddMirroredVolume(server_.a, uuid);
    }
    server_.world.Advance(std::chrono::minutes(1));
  }

  /// The second and the fourth volume.
  void MakeGroup() {
    server_.AddGroup(
        {server_.pair.VolumeId(server_.a, ReplicationServer::kSecondUuid),
         server_.pair.VolumeId(server_.a, kFourthUuid)});
    for (FakeSite* site : {&server_.a, &server_.b}) {
      site->AddOmapValue(MirroredPair::kPool, "", "csi.groups.default",
                         "csi.volume.group.vgrcontent-1",
                         ReplicationServer::kGroupUuid);
    }
  }
  void DemoteOnA(const std::vector<std::string>& images) {
    for (const std::string& image : images) server_.a.Demote(image);
    server_.world.Advance(std::chrono::minutes(2));
  }
  /// `site VERB replicapool ...`.
  int Site(const std::string& verb, std::vector<std::string> more = {},
           const std::string& typed = "") {
    more.insert(more.begin(), {"site", verb, MirroredPair::kPool});
    return Run(more, typed);
  }
  int PrimaryOnB() {
    int primary = 0;
    for (const std::string& image : images_) {
      primary += server_.b.Info(image).primary ? 1 : 0;
    }
    return primary;
  }
  /// How many requests of a method came in whose line has `with`.
  int Requests(const std::string& method, const std::string& with = "") const {
    int found = 0;
    for (const absl::string_view line : absl::StrSplit(server_.log(), '\n')) {
      found +=
          absl::StrContains(line, absl::StrCat("request method=replication."
                                               "Controller/",
                                               method, " ")) &&
                  absl::StrContains(line, with)
              ? 1
              : 0;
    }
    return found;
  }
  static std::string Spec(const std::string& image) {
    // As people call it, by its PersistentVolume.
    return absl::StrCat("pvc-", absl::StripPrefix(image, "csi-vol-"));
  }

  const std::string third_ = MirroredPair::ImageOf(kThirdUuid);
  const std::string fourth_ = MirroredPair::ImageOf(kFourthUuid);
  const std::vector<std::string> images_ = {server_.image, server_.second_image,
                                            third_, fourth_};
};

TEST_F(CliSiteTest, ADemotedSiteIsRelocatedWithItsGroup) {
  MakeGroup();
  DemoteOnA(images_);
  server_.Start();
  EXPECT_EQ(Site("relocate"), 0) << out_.str() << err_.str();
  EXPECT_EQ(PrimaryOnB(), 4);
  // Members go with their group, not by themselves.
  EXPECT_EQ(Requests("PromoteVolume"), 3);
  EXPECT_EQ(Requests("PromoteVolume", "force: true"), 0);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("3 volumes and groups: 3 to work on, 0 with "
                              "nothing to do, 0 left alone\n"),
                    HasSubstr("\nRESULT  ROLE HERE  NAME"),
                    HasSubstr("group of pvc-"), HasSubstr("\n3 of 3 done\n")));
  EXPECT_THAT(err_.str(), HasSubstr("done: " + Spec(server_.image)));
  // Once more: it is done.
  EXPECT_EQ(Site("relocate"), 0) << out_.str();
  EXPECT_EQ(Requests("PromoteVolume"), 3);
  EXPECT_THAT(server_.log() + out_.str() + err_.str(),
              Not(HasSubstr(server_.b.user()->key.Reveal())));
}

TEST_F(CliSiteTest, WhatIsNotDemotedIsWaitedForAndHoldsNothingUp) {
  DemoteOnA({server_.image});
  // Simulated time is quicker than that of --timeout.
  server_.SetTakeoverTime(std::chrono::hours(1000));
  server_.Start();
#if defined(ADDONS_SANITIZED)
  constexpr char kSeconds[] = "20";  // enough for a promotion
#else
  constexpr char kSeconds[] = "2";
#endif
  EXPECT_EQ(Site("relocate", {"--timeout", kSeconds, "--at-once", "1"}), 14)
      << out_.str() << err_.str();
  EXPECT_TRUE(server_.b.Info(server_.image).primary);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("\nwaits "), HasSubstr("demote it there"),
                    HasSubstr("\n1 of 4 done\n")));
}

// In several lines, where it is longer than one.
TEST_F(CliSiteTest, OnATerminalTheWaitIsToldWhole) {
  server_.a.SetClusterUp(false);
  server_.world.Advance(std::chrono::minutes(2));
  server_.Start();
  dir_.Write("secrets.json",
             absl::StrCat(R"({"userID": ")", server_.b.user()->id,
                          R"(", "userKey": ")", server_.b.user()->key.Reveal(),
                          R"("})"));
  SiteCommand command;
  command.verb = SiteVerb::kRelocate;
  command.endpoint = server_.endpoint();
  command.admin_endpoint = server_.admin_endpoint();
  command.pools = {MirroredPair::kPool};
  command.secrets.file = dir_.File("secrets.json");
  command.timeout = std::chrono::seconds(20);
  std::istringstream in;
  Streams streams{in, out_, err_};
  streams.err_is_terminal = true;
  // It is offered to force them in the end.
  EXPECT_NE(RunSite(command, streams), 0);
  const std::string drawn = absl::StrReplaceAll(err_.str(), {{"\n", " "}});
  EXPECT_THAT(drawn, AllOf(HasSubstr(" for: the peer's demotion has not "
                                     "arrived yet; no sign of site 'site-a' "),
                           HasSubstr(" UTC if nothing changes\r\x1b[K")));
}

TEST_F(CliSiteTest, WhatIsNotDemotedIsNeverForced) {
  DemoteOnA({server_.image});
  server_.Start();
  // The daemon says in the end that it could be forced.
  EXPECT_EQ(Site("relocate", {"--timeout", "30"}), 9) << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("\nrefused "));
  EXPECT_EQ(PrimaryOnB(), 1);
  EXPECT_EQ(Requests("PromoteVolume", "force: true"), 0);
}

TEST_F(CliSiteTest, AFailoverForcesOnlyWhatCannotGoOtherwise) {
  DemoteOnA({server_.image, server_.second_image});
  server_.b.Promote(server_.image, Force::kNo);
  server_.a.SetClusterUp(false);
  server_.world.Advance(std::chrono::minutes(2));
  server_.b.RemoveMirrorSnapshots(fourth_);
  server_.Start();
  EXPECT_EQ(Site("failover", {"--timeout", "25"}, "yes\n"), 9)
      << out_.str() << err_.str();
  EXPECT_TRUE(server_.b.Info(server_.second_image).primary);
  EXPECT_TRUE(server_.b.Info(third_).primary);
  EXPECT_FALSE(server_.b.Info(fourth_).primary);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("what was written on the other site "
                              "since is lost"),
                    HasSubstr(", of 1 of 4 volumes and groups:\n  " +
                              Spec(third_) + ": by force it returns to "),
                    HasSubstr(" and loses what was written since\n"),
                    // Not the one that is primary already.
                    HasSubstr("\n3 volumes and groups of replicapool: type "
                              "yes to go on")));
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("is not forced: "),
                                HasSubstr("promoted by force"),
                                HasSubstr("\n3 of 4 done\n")));
  // The others were never asked to.
  EXPECT_EQ(Requests("PromoteVolume", "force: true"), 1);
  EXPECT_EQ(Requests("PromoteVolume", server_.pair.VolumeId(
                                          server_.b, ReplicationServer::kUuid)),
            0);
}

TEST_F(CliSiteTest, NothingIsChangedWithoutAYes) {
  server_.a.SetClusterUp(false);
  server_.world.Advance(std::chrono::minutes(2));
  server_.Start();
  for (const std::string typed : {"", "y\n", "no\n"}) {
    EXPECT_EQ(Site("failover", {}, typed), kCliUsage);
    EXPECT_THAT(err_.str(), HasSubstr("nothing was changed"));
  }
  EXPECT_EQ(Site("failover", {"--dry-run"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("4 of 4 volumes and groups:\n"),
                                HasSubstr("nothing was changed")));
  EXPECT_THAT(out_.str(), Not(HasSubstr("site failback")));
  EXPECT_EQ(Site("failover", {"--dry-run", "--output", "json"}), 0);
  const nlohmann::json plan = ParseJson(out_.str());
  EXPECT_EQ(plan["items"].size(), 4U);
  EXPECT_EQ(plan["items"][0]["result"], "not begun");
  EXPECT_EQ(Requests("PromoteVolume"), 0);
  EXPECT_EQ(server_.world.CountMutations(), 0);
}

TEST_F(CliSiteTest, AFailoverEndsWithWhatComesNext) {
  server_.a.SetClusterUp(false);
  server_.world.Advance(std::chrono::minutes(2));
  server_.Start();
  EXPECT_EQ(Site("failover", {}, "yes\n"), 0) << out_.str() << err_.str();
  EXPECT_EQ(PrimaryOnB(), 4);
  EXPECT_THAT(out_.str(),
              HasSubstr("when the other site is back, on that site"));
  EXPECT_THAT(out_.str(), HasSubstr("\n  rbd-addons site failback replicapool "
                                    "--secrets-file ITS-SECRETS.json\n"));
}

TEST_F(CliSiteTest, AnInterruptedRunIsGoneOnWith) {
  DemoteOnA(images_);
  server_.UseRealTime();
  server_.Hold("rbd_mirror_image_promote");
  server_.Start();
  auto run = std::async(std::launch::async, [&] {
    return Site("relocate", {"--at-once", "2"});
  });
  server_.AwaitHeld();
  ASSERT_EQ(std::raise(SIGINT), 0);
  EXPECT_EQ(run.get(), kCliInterrupted) << out_.str() << err_.str();
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("interrupted: nothing was cancelled\n"),
                    HasSubstr("goes on: promote of volume '"),
                    HasSubstr("the same command goes on")));
  EXPECT_THAT(out_.str(), HasSubstr("not begun"));
  server_.Release();
  EXPECT_EQ(Site("relocate"), 0) << out_.str() << err_.str();
  EXPECT_EQ(PrimaryOnB(), 4);
}

TEST_F(CliSiteTest, GroupsThatCannotBeListedAreNotTakenApart) {
  MakeGroup();
  DemoteOnA(images_);
  // The directory of groups leads to one whose journal cannot be read then.
  server_.b.SetOmap(
      MirroredPair::kPool, "",
      absl::StrCat("csi.volume.group.", ReplicationServer::kGroupUuid),
      {{"csi.volname", "vgrcontent-1"},
       {"csi.groupname", "csi-vol-group"},
       {server_.pair.VolumeId(server_.a, kFourthUuid), ""},
       {server_.pair.VolumeId(server_.a,
                              "ef99f915-2181-4dff-a96e-bb1ee41d9f46"),
        ""}});
  server_.Start();
  EXPECT_NE(Site("relocate", {"--timeout", "5"}), 0) << out_.str();
  EXPECT_FALSE(server_.b.Info(fourth_).primary);
  EXPECT_EQ(PrimaryOnB(), 3);
  EXPECT_EQ(Site("relocate", {"--without-groups"}), 0)
      << out_.str() << err_.str();
  EXPECT_EQ(PrimaryOnB(), 4);
}

TEST_F(CliSiteTest, WrongUseAndAnEmptyPoolAreNoSuccess) {
  server_.b.AddPool(9, "empty");
  server_.Start();
  EXPECT_EQ(Run({"site", "relocate"}), kCliUsage);
  EXPECT_EQ(Run({"site", "relocate", "empty"}), 9) << out_.str();
  EXPECT_EQ(Run({"site", "relocate", "no-such-pool"}), grpc::NOT_FOUND);
  EXPECT_EQ(Run({"site", "relocate", "replicapool", "--yes"}), kCliUsage);
  EXPECT_EQ(Run({"site", "failback", "replicapool", "--parameter", "a=b"}),
            kCliUsage);
  EXPECT_EQ(Run({"site", "relocate", "replicapool", "--from", "unix:///x"}),
            kCliUsage);
}

/// The daemon of the other site, in the same world.
class OtherDaemon {
 public:
  OtherDaemon(ReplicationServer& server, FakeSite& site) {
    dir_.Write("config.json",
               absl::StrCat(R"([{"clusterID": ")", site.cluster_id(),
                            R"(", "monitors": [")", site.cluster_id(),
                            R"(:6789"]}])"));
    dir_.Write("cluster-mapping.json", server.pair.MappingJson());
    dir_.Write(
        "secrets.json",
        absl::StrCat(R"({"userID": ")", site.user()->id, R"(", "userKey": ")",
                     site.user()->key.Reveal(), R"("})"));
    Config config;
    config.socket_path = dir_.File("s");
    config.admin_socket_path = dir_.File("a");
    config.config_dir = dir_.path();
    config.modes.controller = true;
    AppParts parts;
    parts.clusters = std::make_unique<FakeClusterProvider>(server.world);
    parts.clock = &server.world;
    auto app = App::Create(config, std::move(parts));
    EXPECT_OK(app);
    app_ = *std::move(app);
  }
  std::vector<std::string> From() const {
    return {"--from",
            "unix://" + dir_.File("s"),
            "--from-admin",
            "unix://" + dir_.File("a"),
            "--from-secrets-file",
            dir_.File("secrets.json")};
  }

 private:
  const TempDir dir_;
  std::unique_ptr<App> app_;
};

TEST_F(CliSiteTest, WhatIsNotDemotedThereIsNotPromotedHere) {
  MakeGroup();
  server_.a.AddWatcher(third_, "10.0.0.9:0/1", 4711);
  server_.Start();
  const OtherDaemon other(server_, server_.a);
  EXPECT_EQ(Site("relocate", other.From()), 9) << out_.str() << err_.str();
  EXPECT_EQ(PrimaryOnB(), 3);
  EXPECT_FALSE(server_.b.Info(third_).primary);
  EXPECT_TRUE(server_.a.Info(third_).primary);
  EXPECT_FALSE(server_.a.Info(server_.image).primary);
  EXPECT_EQ(Requests("PromoteVolume", kThirdUuid), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("demote there, promote here"),
                                HasSubstr("not demoted on the other site: "
                                          "FAILED_PRECONDITION: "),
                                HasSubstr("10.0.0.9")));
  server_.a.RemoveWatcher(third_, 4711);
  EXPECT_EQ(Site("relocate", other.From()), 0) << out_.str() << err_.str();
  EXPECT_EQ(PrimaryOnB(), 4);
}

// Where this site could not take it over a demotion would only end the work.
TEST_F(CliSiteTest, WhatCannotBeTakenOverIsNotDemotedThere) {
  server_.b.RemoveMirrorSnapshots(fourth_);
  server_.Start();
  const OtherDaemon other(server_, server_.a);
  EXPECT_EQ(Site("relocate", other.From()), 9) << out_.str() << err_.str();
  EXPECT_TRUE(server_.a.Info(fourth_).primary);
  EXPECT_EQ(PrimaryOnB(), 3);
  EXPECT_THAT(out_.str(), HasSubstr("is not demoted there"));
}

class CliSiteOnATest : public CliSiteTest {
 protected:
  CliSiteOnATest() : CliSiteTest("a") {}
  /// Time passes on both sites while a command waits.
  std::jthread LetTimePass() {
    return std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        server_.world.Advance(std::chrono::seconds(2));
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    });
  }
};

TEST_F(CliSiteOnATest, ASiteThatIsBackFollowsAfterAYes) {
  // b has taken over all but one volume, two of them from a living site.
  server_.a.Demote(fourth_);
  server_.world.Advance(std::chrono::minutes(2));
  server_.b.Promote(fourth_, Force::kNo);
  for (const std::string& image : {server_.image, server_.second_image}) {
    server_.b.Promote(image, Force::kYes);
  }
  server_.world.Advance(std::chrono::minutes(3));
  server_.Start();
  EXPECT_EQ(Site("failback", {}, "no\n"), kCliUsage);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("deletes this site's copies"),
                    HasSubstr("about 2 of 4 volumes and groups:\n"),
                    HasSubstr("  " + Spec(server_.image) + ": "),
                    HasSubstr("  " + Spec(server_.second_image) + ": "),
                    Not(HasSubstr("  " + Spec(fourth_)))));
  EXPECT_EQ(Requests("DemoteVolume"), 0);
  EXPECT_EQ(Requests("ResyncVolume"), 0);
  {
    const std::jthread time = LetTimePass();
    EXPECT_EQ(Site("failback", {"--timeout", "120"}, "yes\n"), 9)
        << out_.str() << err_.str();
  }
  EXPECT_FALSE(server_.a.Info(server_.image).primary);
  EXPECT_FALSE(server_.a.Info(server_.second_image).primary);
  // The one that never moved stays.
  EXPECT_TRUE(server_.a.Info(third_).primary);
  // Again until the other site was heard twice.
  EXPECT_GE(Requests("DemoteVolume"), 2);
  EXPECT_EQ(Requests("ResyncVolume", "force: true"), 2);
  EXPECT_EQ(Requests("PromoteVolume"), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("stays primary here"),
                                HasSubstr("\n3 of 4 done\n")));
}

// One is left alone, and three have to follow, one of them by force.
TEST_F(CliSiteOnATest, TheQuestionCountsWhatWillBeChanged) {
  for (const std::string& image : {server_.second_image, fourth_}) {
    server_.a.Demote(image);
    server_.world.Advance(std::chrono::minutes(2));
    server_.b.Promote(image, Force::kNo);
  }
  server_.b.Promote(server_.image, Force::kYes);
  server_.world.Advance(std::chrono::minutes(3));
  server_.Start();
  EXPECT_EQ(Site("failback", {}, "no\n"), kCliUsage);
  EXPECT_THAT(out_.str(),
              HasSubstr("4 volumes and groups: 3 to work on, 0 with nothing to "
                        "do, 1 left alone\n"));
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("about 1 of 4 volumes and groups:\n"),
                    HasSubstr("\n3 volumes and groups of replicapool: type yes "
                              "to go on")));
}

TEST_F(CliSiteOnATest, ASplitBrainIsNamedAndResyncedAfterAYes) {
  for (const std::string& image : images_) {
    server_.a.Demote(image);
    server_.world.Advance(std::chrono::minutes(2));
    server_.b.Promote(image, Force::kNo);
  }
  server_.world.Advance(std::chrono::minutes(2));
  server_.a.ForceSplitBrain(third_);
  // rbd-mirror has looked at it, and looks again later only.
  server_.world.Advance(std::chrono::seconds(130));
  server_.Start();
  EXPECT_EQ(Site("failback", {}, "\n"), kCliUsage) << out_.str();
  EXPECT_THAT(err_.str(), HasSubstr("about 1 of 4 volumes and groups:\n  " +
                                    Spec(third_) + ": split brain\n"));
  EXPECT_EQ(Requests("ResyncVolume"), 0);
  const std::jthread time = LetTimePass();
  EXPECT_EQ(Site("failback", {"--yes", "--timeout", "120"}), 0)
      << out_.str() << err_.str();
  EXPECT_EQ(Requests("ResyncVolume", "force: true"), 1);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("\n4 of 4 done\nto move back"),
                                HasSubstr("site relocate replicapool --from")));
}

TEST_F(CliSiteOnATest, WithoutAReportOfTheOtherSiteNothingIsDemoted) {
  server_.b.SetMirrorDaemon(DaemonState::kDown);
  server_.world.Advance(std::chrono::minutes(5));
  server_.Start();
  EXPECT_EQ(Site("failback", {"--yes"}), 9) << out_.str() << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("no other site has reported lately"));
  EXPECT_EQ(Requests("DemoteVolume"), 0);
}

}  // namespace
}  // namespace addons::testing
