// A rollback, as an administrator asks for it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/points.h"
#include "replication/look/point.h"
#include "replication/look/rollback_mark.h"
#include "tests/rpc/cli_fixture.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CliPointsTest : public CliVerbTest {
 protected:
  CliPointsTest() {
    server_.AddMirrored();
    server_.a.AddSnapshot(server_.image, SnapshotNameOf("first"),
                          SnapshotKind::kUser);
    then_ = server_.a.Data(server_.image);
    EXPECT_OK(server_.a.Write(server_.image, then_ + 1));
  }
  /// The exit code; `typed` is what the person says.
  int RollBack(const std::vector<std::string>& more,
               const std::string& typed = "") {
    std::vector<std::string> arguments = {"point", "rollback", server_.id,
                                          "first"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(std::move(arguments), typed);
  }
  bool Unchanged() { return server_.a.Data(server_.image) == then_ + 1; }

  uint64_t then_ = 0;
};

TEST_F(CliPointsTest, APersonIsAskedBeforeAnythingIsChanged) {
  server_.Start();
  EXPECT_EQ(RollBack({}, "no\n"), kCliUsage);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("over what it holds now, on both sites"),
                    HasSubstr("kept as a point of its own first"),
                    HasSubstr("nothing was changed")));
  EXPECT_TRUE(Unchanged());
  EXPECT_EQ(RollBack({"--discard"}, ""), kCliUsage);
  EXPECT_THAT(err_.str(), HasSubstr("What it holds now is lost"));
  EXPECT_TRUE(Unchanged());
}

TEST_F(CliPointsTest, WhatItHoldsIsGivenUpWhereAsked) {
  server_.Start();
  ASSERT_EQ(RollBack({"--discard"}, "yes\n"), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("what it held at point first"),
                                HasSubstr("rbd-addons sync " + server_.id),
                                Not(HasSubstr("before-"))));
  EXPECT_EQ(server_.a.Data(server_.image), then_);
  EXPECT_EQ(server_.a.OtherSnapshots(server_.image).size(), 1U);
}

TEST(VerdictTextTest, ADamagedCopyIsNamedWhereItIsToBeMadeAnew) {
  ::rbdaddons::admin::v1::VerifyPointResponse found;
  found.set_verdict(::rbdaddons::admin::v1::VerifyPointResponse::DAMAGED);
  found.set_image("replicapool/tenant1/csi-vol-1");
  EXPECT_THAT(VerdictText(found, Palette()),
              HasSubstr("rbd mirror image resync replicapool/tenant1/csi-vol-1"
                        "\n"));
  // What reads the primary has nothing to copy anew there.
  found.set_primary(true);
  EXPECT_THAT(VerdictText(found, Palette()), Not(HasSubstr("resync")));
}

// No peer has told that it is in step.
TEST_F(CliPointsTest, WhatCannotBeKeptIsNotGivenUp) {
  server_.b.SetMirrorDaemon(DaemonState::kDown);
  server_.a.RemoveStatuses(server_.image);
  server_.Start();
  EXPECT_NE(RollBack({"--yes", "--timeout", "10"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("could not be kept"));
  EXPECT_TRUE(Unchanged());
}

TEST_F(CliPointsTest, WhoHasItOpenIsNamed) {
  server_.a.AddWatcher(server_.image, "10.0.0.5:0/1", 4711);
  server_.Start();
  EXPECT_EQ(RollBack({"--yes", "--discard", "--timeout", "30"}), 9);
  EXPECT_THAT(err_.str(), HasSubstr("10.0.0.5:0/1"));
  EXPECT_TRUE(Unchanged());
}

// Somebody else has begun it, and kept nothing.
TEST_F(CliPointsTest, OneThatHasBegunGoesOn) {
  server_.a.SetImageMetadata(
      server_.image, kRollbackKey,
      absl::StrCat(R"({"global_id":")", server_.a.Info(server_.image).global_id,
                   R"(","point":"first","kept":"","since":"then"})"));
  server_.Start();
  ASSERT_EQ(RollBack({}, "yes\n"), 0) << err_.str();
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("has not ended: it holds a mixture"),
                                HasSubstr("What it holds now is lost")));
  EXPECT_EQ(server_.a.Data(server_.image), then_);
  EXPECT_FALSE(server_.a.ImageMetadata(server_.image).contains(kRollbackKey));
}

// What it holds is whole, and the daemon keeps it.
TEST_F(CliPointsTest, APromotionToAPointThatWroteNothingGoesOn) {
  server_.a.SetImageMetadata(
      server_.image, kRollbackKey,
      absl::StrCat(R"({"global_id":")", server_.a.Info(server_.image).global_id,
                   R"(","image":")", server_.a.ImageId(server_.image),
                   R"(","point":"first","kept":"","since":"then",)"
                   R"("promotion":true,"untouched":true})"));
  server_.Start();
  ASSERT_EQ(RollBack({"--discard"}, "yes\n"), 0) << err_.str();
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("A promotion to a point has not ended"),
                    HasSubstr("kept as a point of its own first"),
                    Not(HasSubstr("mixture")), Not(HasSubstr("is lost"))));
  EXPECT_THAT(out_.str(), HasSubstr("point before-"));
  EXPECT_EQ(server_.a.Data(server_.image), then_);
}

}  // namespace
}  // namespace addons::testing
