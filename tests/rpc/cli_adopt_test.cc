// Volumes that this site does not know yet, on the command line, through the
// socket, on simulated clusters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/streams.h"
#include "tests/rpc/cli_fixture.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CliAdoptTest : public CliVerbTest {
 protected:
  CliAdoptTest() : CliVerbTest("b") {
    // On a as ceph-csi makes it, and mirrored; the journal of b has nothing.
    FakeSite& a = server_.a;
    a.AddImage(kPool, "", image_);
    a.SetImageMetadata(image_, "csi.storage.k8s.io/pv/name", "pvc-1");
    a.SetImageMetadata(image_, "csi.storage.k8s.io/pvc/namespace", "ns1");
    EXPECT_OK(a.Write(image_, 1));
    a.EnableMirroring(image_);
    EXPECT_TRUE(server_.world.AdvanceUntil(
        [&] { return server_.pair.InSync(server_.b, image_); },
        std::chrono::minutes(2)));
    // librbd's lists of images, which the simulated one does not keep.
    const std::string id = server_.b.ImageId(image_);
    const auto size = static_cast<char>(image_.size());
    server_.b.AddOmapValue(kPool, "", "rbd_directory", "id_" + id,
                           std::string({size, 0, 0, 0}) + image_);
    server_.b.AddOmapValue(kPool, "", "rbd_mirroring", "image_" + id, "");
  }
  bool Known() {
    return server_.b.HasOmap(
        kPool, "", absl::StrCat("csi.volume.", ReplicationServer::kUuid));
  }

  static constexpr const char* kPool = MirroredPair::kPool;
  const std::string image_ = server_.image;
  const std::string spec_ = absl::StrCat("replicapool/", image_);
  const std::string id_ =
      server_.pair.VolumeId(server_.b, ReplicationServer::kUuid);
};

TEST_F(CliAdoptTest, VerbsNameTheWayOut) {
  server_.Start();
  for (const char* const verb : {"info", "promote", "explain", "history"}) {
    EXPECT_EQ(Run({verb, spec_}), grpc::NOT_FOUND);
    EXPECT_THAT(err_.str(),
                AllOf(HasSubstr("is there and mirrored"),
                      HasSubstr("rbd-addons adopt " + spec_ + " --yes")));
  }
  EXPECT_EQ(Run({"promote", id_}), grpc::NOT_FOUND);
  EXPECT_THAT(err_.str(), HasSubstr("rbd-addons adopt " + spec_ + " --yes"));
  EXPECT_EQ(Run({"check-failover", "--pool", kPool}), 9);
  EXPECT_THAT(out_.str(), HasSubstr("rbd-addons adopt"));
  EXPECT_FALSE(Known());
}

TEST_F(CliAdoptTest, AnImageThatNoVolumeHasIsToldSo) {
  server_.b.AddImage(kPool, "", "vm-101-disk-0");
  server_.Start();
  EXPECT_EQ(Run({"promote", "replicapool/vm-101-disk-0"}), grpc::NOT_FOUND);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("ceph-csi did not make it"),
                                Not(HasSubstr("rbd-addons adopt"))));
}

TEST_F(CliAdoptTest, ThePlanComesFirst) {
  server_.Start();
  server_.world.ClearCalls();
  EXPECT_EQ(Run({"adopt", "--pool", kPool}), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("would write"), HasSubstr("pvc-1"),
                    HasSubstr("ns1"), HasSubstr(spec_), HasSubstr(id_),
                    HasSubstr("nothing was changed: run it again with --yes")));
  EXPECT_EQ(server_.world.CountMutations(), 0);
  EXPECT_FALSE(Known());
}

TEST_F(CliAdoptTest, WhatIsWrittenIsFoundByEachName) {
  server_.Start();
  EXPECT_EQ(Run({"adopt", spec_, "--yes"}), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("written"), HasSubstr(id_),
                    HasSubstr("0 known, 1 written, 0 refused or failed"),
                    Not(HasSubstr("nothing was changed"))));
  EXPECT_TRUE(Known());
  for (const std::string& name : {spec_, id_, std::string("pvc-1")}) {
    EXPECT_EQ(Run({"check-failover", name}), 0) << err_.str();
  }
  EXPECT_EQ(Run({"adopt", spec_, "--yes", "--json"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr(R"("outcome": "KNOWN")"),
                                HasSubstr(R"("volume_id": ")" + id_)));
  EXPECT_EQ(Run({"promote", id_, "--force", "--yes"}), 0) << err_.str();
  EXPECT_TRUE(server_.b.Info(image_).primary);
  EXPECT_THAT(server_.log(),
              AllOf(HasSubstr("adopted image="),
                    Not(HasSubstr(server_.b.user()->key.Reveal()))));
}

TEST_F(CliAdoptTest, WhatIsRefusedMakesTheExitCode) {
  server_.b.AddImage(kPool, "", "vm-101-disk-0");
  server_.Start();
  EXPECT_EQ(Run({"adopt", spec_, "replicapool/none", "--yes"}), 9);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("refused"), HasSubstr("there is no such image"),
                    HasSubstr("1 written, 1 refused")));
  EXPECT_TRUE(Known());
  EXPECT_EQ(Run({"adopt", "replicapool/vm-101-disk-0"}), 9);
  EXPECT_THAT(out_.str(), HasSubstr("no volume"));
}

// Of adopt, check-failover and site.
TEST_F(CliAdoptTest, ManyOfOneReasonAreListedInTheWideFormAlone) {
  std::vector<std::string> adopt = {"adopt"};
  std::vector<std::string> check = {"check-failover"};
  for (int i = 10; i < 31; ++i) {
    const std::string image = absl::StrCat("none-", i);
    adopt.push_back(absl::StrCat("replicapool/not-", image));
    check.push_back(server_.pair.VolumeId(
        server_.b, absl::StrCat("5ef79ce1-81e8-439b-8405-35138edf5b", i)));
    if (i == 10) continue;  // the fixture has one image
    server_.a.AddImage(kPool, "", image);
    server_.a.EnableMirroring(image);
    ASSERT_TRUE(server_.world.AdvanceUntil(
        [&] { return server_.pair.InSync(server_.b, image); },
        std::chrono::minutes(2)));
  }
  server_.Start();
  const std::vector<std::vector<std::string>> commands = {
      adopt, check, {"site", "relocate", kPool, "--dry-run"}};
  for (std::vector<std::string> command : commands) {
    Run(command);
    EXPECT_THAT(out_.str(), AllOf(HasSubstr("more than 20 of one reason are "
                                            "counted:\n  21: "),
                                  HasSubstr(" and 18 more)\n"),
                                  HasSubstr("-o wide lists all\n")))
        << command.front();
    const std::string counted = out_.str();
    command.insert(command.end(), {"-o", "wide"});
    Run(command);
    EXPECT_THAT(out_.str(), AllOf(HasSubstr("\n  21: "),
                                  Not(HasSubstr("-o wide lists all"))));
    const std::string all = out_.str();
    EXPECT_GE(std::count(all.begin(), all.end(), '\n'),
              std::count(counted.begin(), counted.end(), '\n') + 17)
        << all;
    command.back() = "json";
    Run(command);
    EXPECT_THAT(out_.str(), Not(HasSubstr("more than 20")));
  }
}

TEST_F(CliAdoptTest, APersonMayTellTheName) {
  server_.Start();
  EXPECT_EQ(
      Run({"adopt", spec_, "--yes", "--pv-name", "pvc-9", "--owner", "ns9"}), 0)
      << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("pvc-9"), HasSubstr("ns9")));
  EXPECT_EQ(Run({"check-failover", "pvc-9"}), 0) << err_.str();
}

TEST_F(CliAdoptTest, WrongUseChangesNothing) {
  server_.Start();
  server_.world.ClearCalls();
  EXPECT_EQ(Run({"adopt", "--yes"}), kCliUsage);
  EXPECT_THAT(err_.str(), HasSubstr("POOL/IMAGE"));
  EXPECT_EQ(Run({"adopt", image_, "--yes"}), kCliUsage);
  EXPECT_THAT(err_.str(), HasSubstr("is neither POOL/IMAGE"));
  EXPECT_EQ(Run({"adopt", spec_, "--pool", kPool}), kCliUsage);
  EXPECT_EQ(Run({"adopt", spec_, "--rados-namespace", "x"}), kCliUsage);
  // What is not there is told, and not what its value is taken for.
  EXPECT_EQ(Run({"check-failover", "--pool", kPool, "--namespace", "x"}),
            kCliUsage);
  EXPECT_THAT(err_.str(), HasSubstr("not expected: --namespace"));
  EXPECT_EQ(Run({"adopt", spec_, "--encryption-type", "block"}), kCliUsage);
  EXPECT_EQ(Run({"adopt", spec_, "--kms", "k", "--encryption-type", "all"}),
            kCliUsage);
  EXPECT_EQ(Run({"adopt", spec_, absl::StrCat("replicapool/x", image_), "--yes",
                 "--pv-name", "pvc-1"}),
            grpc::INVALID_ARGUMENT);
  EXPECT_THAT(err_.str(), HasSubstr("--pv-name: is for one image"));
  EXPECT_EQ(Run({"adopt", "replicapool/tenant2/x", "--yes"}),
            grpc::FAILED_PRECONDITION);
  EXPECT_THAT(err_.str(), HasSubstr("the namespace 'tenant2'"));
  EXPECT_EQ(Run({"adopt", "--pool", "none"}), grpc::NOT_FOUND);
  EXPECT_EQ(server_.world.CountMutations(), 0);
}

}  // namespace
}  // namespace addons::testing
