// A newer Ceph may say what this build does not know. Nothing is concluded from
// that: it is neither "not primary" nor "off" nor "in step".

#include <chrono>

#include "ceph/mirror.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::addons::testing::VerbsTest;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

class UnclearStateTest : public VerbsTest {
 protected:
  UnclearStateTest() { deadline_ = seconds(10); }
};

TEST_F(UnclearStateTest, AnUnknownImageStateAllowsNothing) {
  AddMirrored();
  b_.SetMirrorImageState(image_, MirrorImageState::kUnknown);
  const auto unclear =
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("does not know"));
  EXPECT_THAT(Promote(on_b_), unclear);
  EXPECT_EQ(mutations_begun_, 0);
  EXPECT_THAT(Promote(on_b_, Force::kYes), unclear);
  EXPECT_EQ(mutations_begun_, 0);
  EXPECT_THAT(Demote(on_b_), unclear);
  EXPECT_THAT(Enable(on_b_), unclear);
  EXPECT_THAT(Disable(on_b_), unclear);
  EXPECT_EQ(mutations_begun_, 0);
  EXPECT_THAT(Resync(on_b_), unclear);
  EXPECT_THAT(Info(on_b_), unclear);
}

TEST_F(UnclearStateTest, AnUnknownReportIsNotThatOfADemotedSide) {
  AddMirrored();
  world_.Advance(seconds(40));
  a_.Demote(image_);
  world_.Advance(minutes(1));
  a_.SetMirrorDaemon(DaemonState::kFrozen);
  b_.SetStatus(image_, a_.mirror_uuid(), MirrorStatusState::kUnrecognized,
               "something new");
  EXPECT_THAT(Promote(on_b_), StatusIs(absl::StatusCode::kUnavailable,
                                       HasSubstr("'something new'")));
  EXPECT_EQ(mutations_begun_, 0);
  // A report of long ago says nothing.
  world_.Advance(minutes(3));
  EXPECT_OK(Promote(on_b_));
}

TEST_F(UnclearStateTest, AnUnknownReplayStateIsNotInStep) {
  AddMirrored();
  world_.Advance(minutes(1));
  b_.SetMirrorDaemon(DaemonState::kFrozen);
  for (const char* description :
       {R"(replaying, {"replay_state":"rearranging"})",
        "replaying, in a way"}) {
    b_.SetStatus(image_, "", MirrorStatusState::kReplaying, description);
    const auto result = Resync(on_b_);
    EXPECT_FALSE(result.ok() && result->ready) << description;
  }
  b_.SetStatus(image_, "", MirrorStatusState::kReplaying,
               R"(replaying, {"replay_state":"idle"})");
  const auto result = Resync(on_b_);
  ASSERT_OK(result);
  EXPECT_TRUE(result->ready);
}

}  // namespace
}  // namespace addons
