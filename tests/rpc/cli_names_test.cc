// Volumes by other names than their ids, on the command line, through the
// socket, on simulated clusters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "cli/streams.h"
#include "cli/volume_name.h"
#include "tests/rpc/cli_fixture.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Config OfSiteB() {
  Config config;
  config.site_clusters = {ClusterId("site-b")};
  return config;
}

class CliNamesTest : public CliVerbTest {
 protected:
  CliNamesTest() : CliVerbTest("b", OfSiteB()) {
    server_.AddMirrored();
    server_.world.Advance(std::chrono::minutes(1));
  }
  /// On the error stream.
  std::string SaysItIs(const std::string& name) const {
    return absl::StrCat("volume ", name, " is ", id_, " (image ", spec_,
                        " of cluster site-b)\n");
  }

  /// Of the names that the journals of two pools have.
  void FailSecondRead(int error) {
    const auto reads = std::make_shared<int>(0);
    server_.world.SetCallHook(
        [error, reads](absl::string_view, absl::string_view call, bool) {
          return call == "rados_read_op_omap_get_vals_by_keys2" && ++*reads == 2
                     ? error
                     : 0;
        });
  }

  const std::string spec_ = absl::StrCat("replicapool/", server_.image);
  const std::string pv_ = MirroredPair::RequestName(ReplicationServer::kUuid);
  const std::string id_ =
      server_.pair.VolumeId(server_.b, ReplicationServer::kUuid);
};

TEST_F(CliNamesTest, AVolumeHasThreeNames) {
  server_.Start();
  server_.world.ClearCalls();
  for (const std::string& name : {spec_, pv_}) {
    EXPECT_EQ(Run({"check-failover", name}), 0) << err_.str();
    EXPECT_EQ(err_.str(), SaysItIs(name));
    EXPECT_THAT(out_.str(), HasSubstr(pv_ + " (" + spec_ + ") (secondary)\n"));
  }
  EXPECT_EQ(Run({"explain", pv_, "--pool", "replicapool"}), 0) << err_.str();
  EXPECT_EQ(err_.str(), SaysItIs(pv_));
  EXPECT_EQ(Run({"history", spec_}), 0) << err_.str();
  EXPECT_EQ(server_.world.CountMutations(), 0);
  EXPECT_THAT(server_.log(), Not(HasSubstr(server_.b.user()->key.Reveal())));
}

TEST_F(CliNamesTest, ACheckNamesTheClaim) {
  server_.b.SetImageMetadata(server_.image, "csi.storage.k8s.io/pvc/namespace",
                             "shop");
  server_.b.SetImageMetadata(server_.image, "csi.storage.k8s.io/pvc/name",
                             "data-0");
  server_.Start();
  EXPECT_EQ(Run({"check-failover", server_.id}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("shop/data-0 (" + spec_ + ") (secondary)"));
  EXPECT_EQ(Run({"site", "failover", "replicapool", "--dry-run"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("shop/data-0"));
}

TEST_F(CliNamesTest, AVerbSaysWhatItActsOn) {
  server_.Start();
  EXPECT_EQ(Run({"promote", pv_, "--force", "--yes"}), 0) << err_.str();
  EXPECT_THAT(err_.str(), HasSubstr(SaysItIs(pv_)));
  EXPECT_EQ(Run({"check-failover", server_.id}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("(primary)"));
}

TEST_F(CliNamesTest, AnIdIsTakenAsItIs) {
  server_.Start();
  EXPECT_EQ(Run({"info", server_.id}), 0) << err_.str();
  EXPECT_THAT(err_.str(), IsEmpty());
  EXPECT_EQ(Run({"info", server_.id, "--pool", "replicapool"}), kCliUsage);
}

/// On the site where the volumes are primary, so that verbs have work to do.
class CliTypedNamesTest : public CliVerbTest {
 protected:
  CliTypedNamesTest() {
    server_.AddMirroredGroup();
    server_.world.Advance(std::chrono::minutes(1));
    server_.world.AdvanceToSecond(30);
  }
  /// What a person reads, but for the lines that say which volume is meant.
  std::string Shown() const {
    std::string shown = out_.str();
    for (const absl::string_view line : absl::StrSplit(err_.str(), '\n')) {
      if (!absl::StrContains(line, " (image ")) {
        absl::StrAppend(&shown, line, "\n");
      }
    }
    return shown;
  }

  const std::string one_ = MirroredPair::RequestName(ReplicationServer::kUuid);
  const std::string two_ = absl::StrCat("replicapool/", server_.second_image);
};

TEST_F(CliTypedNamesTest, VerbsShowWhatWasTypedAndIdsOnlyWhereTheyAreWide) {
  struct Case {
    std::vector<std::string> typed;
    int code = 0;
    std::string shows;
    std::string shows_wide;  // empty: it has no wide form
    std::string says = {};   // to a question
  };
  const std::vector<Case> cases = {
      {{"promote", one_, "--parameter", "schedulingInterval=5m"},
       0,
       "this site is primary",
       ""},
      {{"promote", two_, "--parameter", "schedulingInterval=5m"},
       0,
       "this site is primary",
       ""},
      {{"info", one_, two_}, 0, "\n" + two_ + "  ", "  " + server_.id + "  "},
      {{"sync", one_, two_},
       0,
       "\n" + two_ + ": what was written",
       one_ + " (" + server_.id + "): what was written"},
      {{"pause", one_, two_}, 0, one_ + ": ", one_ + " (" + server_.id + "): "},
      {{"resume", one_, two_},
       0,
       one_ + ": ",
       one_ + " (" + server_.id + "): "},
      {{"check-failover", one_}, 0, one_ + " (", ", " + server_.id},
      {{"check-failover", "--group", server_.group_id},
       0,
       "\ngroup vgrcontent-1 (2 members)\n",
       "\ngroup vgrcontent-1, " + server_.group_id + " (2 members)\n"},
      {{"point", "list", one_},
       0,
       "volume " + one_ +
           " has no points on this site; where it is primary `rbd-addons "
           "point create " +
           one_ + "` makes one\n",
       ""},
      {{"point", "remove", one_, "night"},
       0,
       "volume " + one_ + " has no point night; `rbd-addons point list " +
           one_ + "` shows",
       ""},
      {{"test", "manifest", two_, "--claim-namespace", "drill", "--secret",
        "rook-ceph/node"},
       9,
       "volume '" + two_ +
           "' has no test that is ready; `rbd-addons test start " + two_ +
           "` makes one\n",
       ""},
      {{"point", "create", one_, "--name", "night"}, 0, "point night is", ""},
      {{"point", "remove", one_, "night"},
       0,
       "point night of volume " + one_ + " is removed\n",
       ""},
      {{"disable", two_},
       kCliUsage,
       "volume '" + two_ + "': type yes",
       "",
       "no\n"},
  };
  server_.Start();
  for (const Case& one : cases) {
    SCOPED_TRACE(one.typed.front());
    EXPECT_EQ(Run(one.typed, one.says), one.code) << err_.str();
    EXPECT_THAT(Shown(), AllOf(HasSubstr(one.shows), Not(HasSubstr("0001-"))));
    if (one.shows_wide.empty()) continue;
    std::vector<std::string> wide = one.typed;
    wide.insert(wide.end(), {"-o", "wide"});
    EXPECT_EQ(Run(wide, one.says), one.code) << err_.str();
    EXPECT_THAT(Shown(), HasSubstr(one.shows_wide));
  }
}

// What is to be typed next has the name, too.
TEST_F(CliTypedNamesTest, ATestNamesItsVolumeAsItWasTyped) {
  server_.Start();
  ASSERT_EQ(Run({"point", "create", one_, "--name", "night"}), 0) << err_.str();
  EXPECT_EQ(Run({"test", "start", one_}), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("rbd-addons test manifest " + one_ + " --claim"),
                    HasSubstr("rbd-addons test stop " + one_ + "\n")));
}

TEST(TypedNamesTest, StandInThePlaceOfIds) {
  std::istringstream in;
  std::ostringstream out;
  Streams streams(in, out, out);
  EXPECT_EQ(WithTypedNames("volume 'id-1'", streams), "volume 'id-1'");
  streams.typed_names = {{"id-1", "pvc-1"}};
  EXPECT_EQ(WithTypedNames("volume 'id-1' and 'id-2'", streams),
            "volume 'pvc-1' and 'id-2'");
}

TEST_F(CliNamesTest, WhatIsNowhereIsNotFoundWhereItWasLookedFor) {
  server_.b.AddPool(9, "other");
  server_.Start();
  server_.world.ClearCalls();
  EXPECT_EQ(Run({"promote", "pvc-none", "--force", "--yes"}), grpc::NOT_FOUND);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("there is no volume 'pvc-none'; looked at: "),
                    HasSubstr("pool 'replicapool' of cluster 'site-b'"),
                    HasSubstr("pool 'other' of cluster 'site-b'")));
  EXPECT_EQ(Run({"promote", "none/image"}), grpc::NOT_FOUND);
  EXPECT_THAT(err_.str(), HasSubstr("which has no pool 'none'"));
  EXPECT_EQ(server_.world.CountMutations(), 0);
}

TEST_F(CliNamesTest, ASilentClusterIsNamedAndNothingIsChanged) {
  server_.Start();
  server_.b.SetClusterUp(false);
  server_.world.ClearCalls();
  EXPECT_EQ(Run({"demote", pv_}), grpc::UNAVAILABLE);
  EXPECT_THAT(err_.str(), HasSubstr("not looked at: cluster 'site-b'"));
  EXPECT_EQ(server_.world.CountMutations(), 0);
}

TEST_F(CliNamesTest, APoolThatCannotBeReadMayHaveTheNameToo) {
  server_.b.AddPool(9, "other");
  server_.Start();
  FailSecondRead(EIO);
  EXPECT_EQ(Run({"promote", pv_, "--force", "--yes"}), grpc::INTERNAL);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("pool 'other' of cluster 'site-b'"),
                                HasSubstr("found so far: '" + id_ + "'")));
  EXPECT_EQ(server_.world.CountMutations(), 0);
  server_.world.SetCallHook(nullptr);
}

// No verb of this user could change anything there.
TEST_F(CliNamesTest, APoolThatTheUserMayNotReadIsLeftOut) {
  server_.b.AddPool(9, "other");
  server_.Start();
  FailSecondRead(EPERM);
  EXPECT_EQ(Run({"check-failover", pv_}), 0) << err_.str();
  EXPECT_EQ(err_.str(),
            SaysItIs(pv_) +
                "not looked for it, because this user may not read there: pool "
                "'other' of cluster 'site-b'\n");
  // It may be the one that has it.
  FailSecondRead(EPERM);
  EXPECT_EQ(Run({"promote", "pvc-none", "--force", "--yes"}),
            grpc::PERMISSION_DENIED);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("is nowhere that this user may read"),
                                HasSubstr("pool 'other' of cluster 'site-b'"),
                                HasSubstr("POOL/IMAGE"),
                                HasSubstr("adopt --pool replicapool")));
  EXPECT_EQ(server_.world.CountMutations(), 0);
  server_.world.SetCallHook(nullptr);
}

TEST_F(CliNamesTest, OneNameOfTwoVolumesIsRefused) {
  // In a namespace that config.json has for no cluster of this site: not meant.
  server_.pair.AddJournal(server_.b, ReplicationServer::kUuid,
                          MirroredPair::kNamespace);
  server_.b.AddPool(9, "other");
  server_.b.AddOmapValue("other", "", "csi.volumes.default",
                         "csi.volume." + pv_, ReplicationServer::kSecondUuid);
  server_.b.SetOmap("other", "",
                    absl::StrCat("csi.volume.", ReplicationServer::kSecondUuid),
                    {{"csi.volname", pv_}});
  server_.Start();
  server_.world.ClearCalls();
  EXPECT_EQ(Run({"promote", pv_, "--force", "--yes"}),
            grpc::FAILED_PRECONDITION);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("names several volumes"),
                                HasSubstr(id_), HasSubstr("other/")));
  EXPECT_EQ(server_.world.CountMutations(), 0);
  EXPECT_EQ(Run({"info", pv_, "--pool", "replicapool"}), 0) << err_.str();
  EXPECT_EQ(err_.str(), SaysItIs(pv_));
}

}  // namespace
}  // namespace addons::testing
