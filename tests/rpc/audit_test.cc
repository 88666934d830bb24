// The audit of a pool through the command line and the socket, on simulated
// clusters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "tests/rpc/replication_server.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AuditTest : public ::testing::Test {
 protected:
  void AddClone(const std::string& parent) {
    server_.a.AddImage(MirroredPair::kPool, "", parent);
    server_.a.AddClone(parent, server_.image);
    server_.a.EnableMirroring(parent);
    server_.a.EnableMirroring(server_.image);
    // librbd's list of what is mirrored, which the simulated one does not keep.
    for (const std::string& image : {parent, server_.image}) {
      server_.a.AddOmapValue(MirroredPair::kPool, "", "rbd_mirroring",
                             absl::StrCat("image_", server_.a.ImageId(image)),
                             "");
    }
  }
  int Audit(std::vector<std::string> more = {},
            const std::string& what = "clones", const std::string& typed = "") {
    dir_.Write("secrets.json",
               absl::StrCat(R"({"userID": ")", server_.a.user()->id,
                            R"(", "userKey": ")",
                            server_.a.user()->key.Reveal(), R"("})"));
    std::vector<std::string> arguments = {"rbd-addons",
                                          "audit",
                                          what,
                                          "--admin-endpoint",
                                          server_.admin_endpoint(),
                                          "--pool",
                                          MirroredPair::kPool,
                                          "--secrets-file",
                                          dir_.File("secrets.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::istringstream in(typed);
    out_.str("");
    err_.str("");
    return RunCli(arguments, in, out_, err_);
  }

  const TempDir dir_;
  ReplicationServer server_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(AuditTest, APoolWithoutClonesIsSaidToBeInOrder) {
  server_.AddMirrored();
  server_.Start();
  EXPECT_EQ(Audit(), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("nothing found (looked at: clones)"));
}

TEST_F(AuditTest, AMirroredCloneIsNamedWithItsRepair) {
  AddClone("golden");
  server_.Start();
  server_.world.ClearCalls();
  EXPECT_EQ(Audit({"--cluster", "site-a"}), 0) << err_.str();
  const std::string spec = absl::StrCat("replicapool/", server_.image);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr(spec + ": it is a clone of 'replicapool/golden'"),
                    HasSubstr("rbd flatten " + spec),
                    HasSubstr("1 finding, 0 unclear\n")));
  EXPECT_THAT(out_.str(), Not(HasSubstr("replicapool/golden: ")));
  EXPECT_EQ(server_.world.CountMutations(), 0);
  EXPECT_EQ(Audit({"--json"}), 0);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("\"kind\": \"CLONES\""),
                    HasSubstr("\"object\": \"" + spec + "\""),
                    HasSubstr("\"remedy\": \"rbd flatten " + spec + "\"")));
  EXPECT_THAT(server_.log(), Not(HasSubstr(server_.a.user()->key.Reveal())));
}

TEST_F(AuditTest, AllOfAPoolIsLookedAtAndUnclearIsSaid) {
  server_.AddMirrored();
  server_.a.AddOmapValue(MirroredPair::kPool, "", "csi.volumes.default",
                         "csi.volume.pvc-it's", ReplicationServer::kSecondUuid);
  server_.a.AddRangeBlocklistEntry("192.168.7.0:0/24", std::chrono::hours(2));
  server_.Start();
  server_.world.ClearCalls();
  EXPECT_EQ(Audit({}, "all"), 0) << err_.str();
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr("journal  replicapool/csi.volume.b891b493"),
            HasSubstr("  do: rados -p replicapool rmomapkey "
                      "csi.volumes.default 'csi.volume.pvc-it'\\''s'\n"),
            HasSubstr("fences  192.168.7.0/24: this fence ends at "),
            HasSubstr("do: rbd-addons fence 192.168.7.0/24 --cluster site-a")));
  EXPECT_EQ(server_.world.CountMutations(), 0);
  EXPECT_EQ(Audit({"--fence-ends-within", "60"}, "fences"), 0) << err_.str();
  EXPECT_THAT(out_.str(), Not(HasSubstr("192.168.7.0/24")));
  server_.world.SetCallHook(
      [](absl::string_view, absl::string_view call, bool) {
        return call == "rados_read_op_omap_get_vals2" ? ETIMEDOUT : 0;
      });
  EXPECT_EQ(Audit({}, "schedules"), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("schedules, unclear  replicapool/: "
                                          "it could not be looked at"),
                                HasSubstr("2 findings, 2 unclear")));
  server_.world.SetCallHook(nullptr);
}

// It reads both images, so it waits until somebody asks for it.
TEST_F(AuditTest, CopiesAreComparedOnlyWhenNamed) {
  server_.AddMirrored();
  const std::string& image = server_.image;
  // librbd's list of what is mirrored, which the simulated one does not keep.
  server_.a.AddOmapValue(MirroredPair::kPool, "", "rbd_mirroring",
                         absl::StrCat("image_", server_.a.ImageId(image)), "");
  // What a rollback takes back is clean in the object map, so it is not copied.
  server_.a.AddSnapshot(image, "older", SnapshotKind::kUser);
  server_.a.AddSnapshot(image, "restore-point", SnapshotKind::kUser);
  server_.a.CreateMirrorSnapshot(image);
  server_.a.WriteObject(image, 3, 7);
  server_.a.CreateMirrorSnapshot(image);
  server_.a.RollBack(image, "restore-point");
  server_.Start();
  EXPECT_EQ(Audit({}, "all"), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("1 finding, 0 unclear"),
                                HasSubstr("journal  replicapool/"),
                                Not(HasSubstr("copies  "))));
  EXPECT_EQ(Audit({}, "copies"), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("copies  replicapool/" + image),
                    HasSubstr("do: rbd object-map rebuild replicapool/")));
}

TEST_F(AuditTest, ManyOfOneReasonAreListedInTheWideFormAlone) {
  server_.AddMirrored();
  for (int i = 10; i < 31; ++i) {
    server_.a.AddOmapValue(
        MirroredPair::kPool, "", "rbd_mirror_snapshot_schedule",
        absl::StrCat(server_.pair.pool_id(server_.a), "//12", i, "gone"),
        R"([{"interval": "5m"}])");
  }
  server_.Start();
  EXPECT_EQ(Audit({}, "schedules"), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("counted:\n  21: schedules: the manager keeps"),
                    HasSubstr(" and 18 more)\n    do, for "),
                    HasSubstr("-o wide lists all\n"), HasSubstr("//1212gone"),
                    Not(HasSubstr("//1213gone")),
                    HasSubstr("\n21 findings, 0 unclear\n")));
  EXPECT_EQ(Audit({"-o", "wide"}, "schedules"), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("counted:\n  21: schedules: "),
                                HasSubstr("rbd_mirror_snapshot_schedule "),
                                HasSubstr("//1230gone\n")));
  // What is asked about is named, each.
  EXPECT_EQ(Audit({"--repair"}, "schedules"), 64);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("counted:\n  21: "),
                                HasSubstr("//1230gone: remove the schedule")));
  // And of what has come of it the first ones are listed.
  EXPECT_EQ(Audit({"--repair", "--yes"}, "schedules"), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("counted:\n  21: done: remove the schedule"),
                    HasSubstr("\ndone  "), HasSubstr("//1212gone: remove"),
                    Not(HasSubstr("//1213gone"))));
}

TEST_F(AuditTest, TheDaemonRepairsWhatWasShownAndAgreedTo) {
  server_.AddMirrored();
  const std::string level =
      absl::StrCat(server_.pair.pool_id(server_.a), "//1234gone");
  const char kSchedules[] = "rbd_mirror_snapshot_schedule";
  server_.a.AddOmapValue(MirroredPair::kPool, "", kSchedules, level,
                         R"([{"interval": "5m"}])");
  server_.Start();
  const auto there = [&] {
    return server_.a.Omap(MirroredPair::kPool, "", kSchedules).contains(level);
  };
  server_.world.ClearCalls();
  // The plan stands before the question, and no answer is none.
  EXPECT_EQ(Audit({"--repair"}, "schedules"), 64);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("do: rados -p replicapool rmomapkey"),
                                HasSubstr("the daemon would\n"),
                                HasSubstr(level + ": remove the schedule"),
                                HasSubstr("nothing was changed")));
  EXPECT_EQ(server_.world.CountMutations(), 0);
  EXPECT_TRUE(there());
  EXPECT_EQ(Audit({"--repair"}, "schedules", "yes\n"), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("done  " + level));
  EXPECT_FALSE(there());
  EXPECT_EQ(Audit({"--repair", "--yes"}, "schedules"), 0);
  EXPECT_THAT(err_.str(), HasSubstr("nothing that the daemon may repair"));
  // Only with a plan.
  EXPECT_EQ(Audit({"--yes"}, "schedules"), 64);
}

TEST_F(AuditTest, WhatCannotBeRepairedIsSaid) {
  server_.AddMirrored();
  server_.a.AddOmapValue(
      MirroredPair::kPool, "", "rbd_mirror_snapshot_schedule",
      absl::StrCat(server_.pair.pool_id(server_.a), "//1234gone"),
      R"([{"interval": "5m"}])");
  server_.Start();
  server_.world.SetCallHook(
      [](absl::string_view, absl::string_view call, bool) {
        return call == "rados_write_op_omap_rm_keys2" ? EPERM : 0;
      });
  EXPECT_EQ(Audit({"--repair", "--yes"}, "schedules"), 9);
  EXPECT_THAT(out_.str(), HasSubstr("failed  "));
  EXPECT_EQ(Audit({"--repair", "--yes", "--json"}, "schedules"), 9);
  EXPECT_THAT(out_.str(), HasSubstr("\"outcome\": \"FAILED\""));
  server_.world.SetCallHook(nullptr);
}

TEST_F(AuditTest, WhatIsNotKnownIsWrongUse) {
  server_.Start();
  EXPECT_EQ(Audit({}, "everything"), 64);
}

TEST_F(AuditTest, ClusterOfAnotherSiteIsNotAsked) {
  Config config;
  config.site_clusters = {ClusterId("site-b")};
  ReplicationServer server("a", config);
  server.Start();
  std::istringstream in;
  dir_.Write("secrets.json", R"({"userID": "x", "userKey": ")"
                             R"(AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg=="})");
  EXPECT_EQ(RunCli({"rbd-addons", "audit", "clones", "--admin-endpoint",
                    server.admin_endpoint(), "--pool", MirroredPair::kPool,
                    "--cluster", "site-a", "--secrets-file",
                    dir_.File("secrets.json")},
                   in, out_, err_),
            grpc::FAILED_PRECONDITION);
  EXPECT_THAT(err_.str(), HasSubstr("--site-clusters (site-b)"));
}

}  // namespace
}  // namespace addons::testing
