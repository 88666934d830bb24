// Each change of a role that a verb makes is one line of the log.

#include <algorithm>
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/rpc/log_capture.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

class RoleChangesTest : public VerbsTest {
 protected:
  // The lines about roles so far, and no others.
  std::string Lines() const {
    std::string lines;
    const std::string text = log_.text();
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      if (line.find("role changed ") != std::string::npos) lines += line + "\n";
      at = end + 1;
    }
    return lines;
  }
  std::string Line(const std::string& change) const {
    return absl::StrCat("info role changed volume=", id_, " image=", image_,
                        " ", change, "\n");
  }

  /// Of one site's daemon: "promote true 1 " for each that is not 0.
  static std::string Counted(Daemon& daemon) {
    std::string text;
    for (size_t i = 0; i < kRoleVerbs; ++i) {
      const auto verb = static_cast<RoleVerb>(i);
      for (const Force force : {Force::kNo, Force::kYes}) {
        const uint64_t count =
            daemon.environment().role_changes.count(verb, force);
        if (count == 0) continue;
        absl::StrAppend(&text, Name(verb),
                        force == Force::kYes ? " by force " : " ", count, " ");
      }
    }
    return text;
  }

  const LogCapture log_;
};

TEST_F(RoleChangesTest, AreCountedByVerbAndForce) {
  AddPlain();
  ASSERT_OK(Enable(on_a_));
  ASSERT_OK(Enable(on_a_));
  EXPECT_EQ(Counted(on_a_), "enable 1 ");
  world_.Advance(minutes(2));
  ASSERT_OK(Demote(on_a_));
  ASSERT_OK(Demote(on_a_));
  EXPECT_EQ(Counted(on_a_), "enable 1 demote 1 ");
  world_.Advance(minutes(2));
  pair_.AddJournal(b_, kUuid);
  ASSERT_OK(Promote(on_b_));
  EXPECT_EQ(Counted(on_b_), "promote 1 ");
  ASSERT_OK(Disable(on_b_));
  EXPECT_EQ(Counted(on_b_), "promote 1 disable 1 ");
}

TEST_F(RoleChangesTest, ForceIsCountedApart) {
  AddMirrored();
  LoseA();
  ASSERT_OK(Promote(on_b_, Force::kYes));
  EXPECT_EQ(Counted(on_b_), "promote by force 1 ");
}

TEST_F(RoleChangesTest, WhatFailedIsNotCounted) {
  AddMirrored();
  Fail("rbd_mirror_image_demote", EIO, 1);
  EXPECT_FALSE(Demote(on_a_).ok());
  EXPECT_EQ(Counted(on_a_), "");
}

TEST_F(RoleChangesTest, AMoveIsTwoLines) {
  AddMirrored();
  ASSERT_OK(Demote(on_a_));
  const std::string demoted = Line("from=primary to=demoted by=demoted");
  EXPECT_EQ(Lines(), demoted);
  ASSERT_OK(Demote(on_a_));  // changes nothing
  EXPECT_EQ(Lines(), demoted);
  ASSERT_OK(Promote(on_b_));
  EXPECT_EQ(Lines(), demoted + Line("from=demoted to=primary by=promoted"));
}

TEST_F(RoleChangesTest, ForceSaysWhereItReturnsTo) {
  AddMirrored();
  ASSERT_OK(Promote(on_b_, Force::kYes));
  EXPECT_THAT(Lines(), HasSubstr("from=secondary to=primary by=\"promoted by "
                                 "force, back to the state of "));
}

TEST_F(RoleChangesTest, ForceBesideAUserSnapshotSaysThatItReturnsFurther) {
  AddMirrored(kSmallImage);
  ASSERT_OK(a_.Write(image_, 5));
  a_.CreateMirrorSnapshot(image_);
  world_.Advance(minutes(1));
  b_.AddSnapshot(image_, "backup", SnapshotKind::kUser);
  StopMidCopy(MirrorSnapshotKind::kNonPrimary, DaemonState::kDown);
  LoseA();
  ASSERT_OK(Promote(on_b_, Force::kYes));
  EXPECT_THAT(Lines(), HasSubstr("by=\"promoted by force, back to what this "
                                 "site held before its last complete copy"));
}

TEST_F(RoleChangesTest, ARoleThatIsGivenBackIsTold) {
  AddMirrored();
  b_.SetNoticeDelay(seconds(28));
  ASSERT_OK(Demote(on_a_));
  ASSERT_TRUE(world_.AdvanceUntil(
      [&] { return Newest(b_).demoted() && Newest(b_).complete; }, seconds(9)));
  world_.Advance(seconds(40));
  // The other site is promoted while this one takes its demotion back.
  deadline_ = minutes(2);
  on_a_.options().first_answer = seconds(5);
  while (!a_.Info(image_).primary) Promote(on_a_).IgnoreError();
  ASSERT_OK(Promote(on_b_));
  const std::string before = Lines();
  EXPECT_THAT(Promote(on_a_), StatusIs(absl::StatusCode::kUnavailable,
                                       HasSubstr("given the role back")));
  EXPECT_EQ(Lines(),
            before + Line("from=primary to=demoted by=\"demoted again: site "
                          "'site-b' was promoted while this site took its own "
                          "demotion back\""));
}

TEST_F(RoleChangesTest, TheRepairOfADemotionIsTold) {
  AddMirrored();
  a_.LeaveNextSnapshotIncomplete(image_);
  ASSERT_OK(Demote(on_a_));
  EXPECT_EQ(Lines(), Line("from=primary to=demoted by=demoted") +
                         Line("from=demoted to=primary by=\"promoted, to "
                              "repair a half-done demotion\"") +
                         Line("from=primary to=demoted by=demoted"));
}

TEST_F(RoleChangesTest, AResyncBeginsAndEndsWithBothRoles) {
  AddMirrored();
  ASSERT_OK(Promote(on_b_, Force::kYes));
  a_.ReconnectMirrorDaemon();
  b_.ReconnectMirrorDaemon();
  world_.Advance(minutes(3));
  b_.CreateMirrorSnapshot(image_);
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(3));
  const std::string before = Lines();
  bool begun = false;
  ASSERT_TRUE(world_.AdvanceUntil(
      [&] {
        const auto result = Resync(on_a_, Force::kYes);
        begun |= result.ok() && !result->ready;
        return begun && result.ok() && result->ready;
      },
      minutes(10)));
  const std::string after =
      before +
      Line(
          "from=demoted to=\"being made anew\" by=\"resync begun: rbd-mirror "
          "deletes this copy and copies again\"") +
      Line(
          "from=\"being made anew\" to=secondary by=\"resync ended: rbd-mirror "
          "has recreated this copy\"");
  EXPECT_EQ(Lines(), after);
  // A copy that falls behind and catches up is no end of a resync.
  b_.CreateMirrorSnapshot(image_);
  ASSERT_TRUE(world_.AdvanceUntil(
      [&] {
        const auto result = Resync(on_a_);
        return result.ok() && result->ready;
      },
      minutes(5)));
  EXPECT_EQ(Lines(), after);
}

TEST_F(RoleChangesTest, EnableAndDisableAreTold) {
  AddPlain();
  ASSERT_OK(Enable(on_a_));
  const std::string enabled = Line("from=off to=primary by=enabled");
  EXPECT_EQ(Lines(), enabled);
  ASSERT_OK(Enable(on_a_));  // changes nothing
  EXPECT_EQ(Lines(), enabled);
  ASSERT_OK(Disable(on_a_));
  const std::string disabled = Line("from=primary to=off by=disabled");
  EXPECT_EQ(Lines(), enabled + disabled);
  ASSERT_OK(Disable(on_a_));
  EXPECT_EQ(Lines(), enabled + disabled);
}

}  // namespace
}  // namespace addons::testing
