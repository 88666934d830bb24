// An image that was renamed with `rbd rename`: the journal calls it by its old
// name, and it must not count as gone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RenamedImageTest : public VerbsTest {
 protected:
  RenamedImageTest() {
    AddMirrored();
    world_.Advance(minutes(1));
  }
  /// The verbs of `daemon` say so, and change nothing.
  void ExpectNamed(Daemon& daemon) {
    const auto named = [](absl::StatusCode code) {
      return StatusIs(code, AllOf(HasSubstr("was renamed"),
                                  HasSubstr("'replicapool/mine' now"),
                                  HasSubstr("`rbd rename replicapool/mine ")));
    };
    const int before = world_.CountMutations();
    // NOT_FOUND would end a disable for the operator.
    EXPECT_THAT(Disable(daemon), named(absl::StatusCode::kUnavailable));
    EXPECT_THAT(Enable(daemon), named(absl::StatusCode::kUnavailable));
    EXPECT_THAT(Demote(daemon), named(absl::StatusCode::kUnavailable));
    EXPECT_THAT(Promote(daemon), named(absl::StatusCode::kUnavailable));
    EXPECT_THAT(Resync(daemon).status(), named(absl::StatusCode::kUnavailable));
    const auto info = Info(daemon);
    ASSERT_OK(info);
    EXPECT_EQ(info->health, ReplicationHealth::kError);
    EXPECT_THAT(info->message, HasSubstr("was renamed"));
    EXPECT_EQ(world_.CountMutations(), before);
  }
};

TEST_F(RenamedImageTest, IsNamedOnThePrimary) {
  a_.RenameImage(image_, "mine");
  ExpectNamed(on_a_);
  a_.RenameImage("mine", image_);
  EXPECT_OK(Demote(on_a_));
}

TEST_F(RenamedImageTest, IsNamedOnTheSecondary) {
  b_.RenameImage(image_, "mine");
  ExpectNamed(on_b_);
}

// That it was renamed could not be read: it is not gone for that.
TEST_F(RenamedImageTest, AReadThatFailsIsNoEvidence) {
  a_.RenameImage(image_, "mine");
  bool failed = true;
  for (int nth = 1; failed; ++nth) {
    failed = false;
    int reads = 0;
    world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
      if (call != "rados_read_op_omap_get_vals_by_keys2" || ++reads != nth) {
        return 0;
      }
      failed = true;
      return ETIMEDOUT;
    });
    EXPECT_THAT(Disable(on_a_), Not(StatusIs(absl::StatusCode::kNotFound)))
        << "read " << nth;
    EXPECT_THAT(Info(on_a_).status(),
                Not(StatusIs(absl::StatusCode::kNotFound)));
    EXPECT_LT(nth, 50);
  }
}

// Where the primary's site is lost: a secondary cannot be renamed.
TEST_F(RenamedImageTest, TheJournalCanBeToldTheNewName) {
  b_.RenameImage(image_, "mine");
  a_.SetClusterUp(false);
  a_.SetMirrorDaemon(DaemonState::kDown);
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(10));
  const absl::Status refused = Promote(on_b_, Force::kYes);
  EXPECT_THAT(
      refused,
      StatusIs(absl::StatusCode::kUnavailable,
               HasSubstr(absl::StrCat("`rados -p replicapool setomapval "
                                      "csi.volume.",
                                      kUuid, " csi.imagename mine`"))));
  b_.AddOmapValue(MirroredPair::kPool, "", absl::StrCat("csi.volume.", kUuid),
                  "csi.imagename", "mine");
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_TRUE(b_.Info("mine").primary);
}

// The id that the journal has may be of an image that is no more.
TEST_F(RenamedImageTest, AnImageThatIsGoneWasNotRenamed) {
  b_.SetMirrorDaemon(DaemonState::kDown);
  b_.RemoveImage(image_);
  EXPECT_THAT(Promote(on_b_), StatusIs(absl::StatusCode::kNotFound,
                                       AllOf(HasSubstr("the journal names it"),
                                             Not(HasSubstr("renamed")))));
}

}  // namespace
}  // namespace addons::testing
