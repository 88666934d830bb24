#include <string>

#include "ceph/mirror.h"
#include "replication/look/report.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;

SiteStatus Status(MirrorStatusState state, const char* description) {
  SiteStatus status;
  status.up = true;
  status.state = state;
  status.description = description;
  return status;
}

constexpr char kReplaying[] =
    R"(replaying, {"bytes_per_second":0.0,"bytes_per_snapshot":81920.0,)"
    R"("last_snapshot_bytes":81920,"last_snapshot_sync_seconds":3,)"
    R"("local_snapshot_timestamp":1684675261,)"
    R"("remote_snapshot_timestamp":1684675262,"replay_state":"idle"})";

TEST(SiteReportTest, ReadsTheNumbersOfAReplayingImage) {
  const auto numbers = ParseSyncNumbers(kReplaying);
  ASSERT_OK(numbers);
  ASSERT_TRUE(numbers->has_value());
  EXPECT_EQ((*numbers)->local_snapshot_time, 1684675261);
  EXPECT_EQ((*numbers)->remote_snapshot_time, 1684675262);
  EXPECT_EQ((*numbers)->last_snapshot_bytes, 81920);
  EXPECT_EQ((*numbers)->last_snapshot_seconds, 3);
  EXPECT_EQ((*numbers)->replay_state, "idle");
  EXPECT_FALSE((*numbers)->syncing_percent.has_value());
}

TEST(SiteReportTest, UnknownNumbersAreAbsentNotZero) {
  const auto numbers = ParseSyncNumbers(
      R"(replaying, {"replay_state":"syncing","syncing_percent":12,)"
      R"("local_snapshot_timestamp":0})");
  ASSERT_OK(numbers);
  ASSERT_TRUE(numbers->has_value());
  EXPECT_FALSE((*numbers)->local_snapshot_time.has_value());
  EXPECT_FALSE((*numbers)->last_snapshot_bytes.has_value());
  EXPECT_EQ((*numbers)->syncing_percent, 12);
}

TEST(SiteReportTest, WhatIsLeftToReplayIsUnclearInAnyOtherForm) {
  constexpr auto kState = MirrorStatusState::kReplaying;
  for (const char* const unclear :
       {"replaying, in a way", "replaying, [3]",
        R"(replaying, {"entries_behind_primary":"3"})",
        R"(replaying, {"entries_behind_primary":-1})",
        R"(replaying, {"entries_behind_primary":1e300})"}) {
    EXPECT_TRUE(BehindIsUnclear(Status(kState, unclear))) << unclear;
  }
  for (const char* const clear :
       {"replaying", R"(replaying, {"entries_behind_primary":0})",
        R"(replaying, {"entries_behind_primary":7})"}) {
    EXPECT_FALSE(BehindIsUnclear(Status(kState, clear))) << clear;
  }
  EXPECT_FALSE(BehindIsUnclear(
      Status(MirrorStatusState::kUnknown, "remote image demoted, or so")));
}

TEST(SiteReportTest, NumbersThatDoNotFitAreUnknown) {
  const auto numbers = ParseSyncNumbers(
      R"(replaying, {"last_snapshot_bytes":18446744073709551615,)"
      R"("syncing_percent":1e300,"entries_behind_primary":-1e300,)"
      R"("last_snapshot_sync_seconds":2.9,)"
      R"("remote_snapshot_timestamp":9223372036854775807})");
  ASSERT_OK(numbers);
  ASSERT_TRUE(numbers->has_value());
  EXPECT_FALSE((*numbers)->last_snapshot_bytes.has_value());
  EXPECT_FALSE((*numbers)->syncing_percent.has_value());
  EXPECT_FALSE((*numbers)->entries_behind.has_value());
  EXPECT_EQ((*numbers)->last_snapshot_seconds, 2);
  EXPECT_EQ((*numbers)->remote_snapshot_time, 9223372036854775807);
}

TEST(SiteReportTest, WhatIsUnreadableIsShownEscaped) {
  const auto numbers = ParseSyncNumbers("replaying,\n\x01\xff");
  EXPECT_EQ(numbers.status().message(),
            "the mirror status 'replaying,\\n\\x01\\xff' does not end in a "
            "JSON object");
}

TEST(SiteReportTest, ATextWithoutNumbersIsNoError) {
  const auto numbers = ParseSyncNumbers("local image is primary");
  ASSERT_OK(numbers);
  EXPECT_FALSE(numbers->has_value());
}

TEST(SiteReportTest, WhatIsNotJsonIsSaidToBeUnreadable) {
  EXPECT_THAT(ParseSyncNumbers("replaying, soon"),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseSyncNumbers("replaying, [1]"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(SiteReportTest, TextEndsAtTheFirstComma) {
  EXPECT_EQ(DescriptionText(kReplaying), "replaying");
  EXPECT_EQ(DescriptionText("local image is primary"),
            "local image is primary");
}

TEST(SiteReportTest, RolesComeFromTheState) {
  using S = MirrorStatusState;
  EXPECT_EQ(SaysOf(Status(S::kStopped, "local image is primary")),
            Says::kPrimary);
  EXPECT_EQ(SaysOf(Status(S::kStopped, "stopped")), Says::kUnclear);
  EXPECT_EQ(SaysOf(Status(S::kStopped, "remote image is non-primary")),
            Says::kUnclear);
  EXPECT_EQ(SaysOf(Status(S::kUnknown, "remote image demoted")),
            Says::kNotPrimary);
  EXPECT_EQ(SaysOf(Status(S::kReplaying, kReplaying)), Says::kSecondary);
  EXPECT_EQ(SaysOf(Status(S::kSyncing, "bootstrapping")), Says::kSecondary);
  EXPECT_EQ(SaysOf(Status(S::kError, "split-brain")), Says::kSplitBrain);
  EXPECT_EQ(SaysOf(Status(S::kError, "failed to open")), Says::kError);
  EXPECT_EQ(SaysOf(Status(S::kUnrecognized, "remote image is not primary")),
            Says::kUnclear);
}

TEST(SiteReportTest, IsIdleOnlyInWordsThatItKnows) {
  using S = MirrorStatusState;
  EXPECT_TRUE(IsIdle(Status(S::kReplaying, kReplaying)));
  EXPECT_TRUE(IsIdle(Status(S::kReplaying, "replaying")));
  for (const char* other :
       {R"(replaying, {"replay_state":"syncing"})",
        R"(replaying, {"replay_state":"rearranging"})", "replaying, soon"}) {
    EXPECT_FALSE(IsIdle(Status(S::kReplaying, other))) << other;
  }
  EXPECT_FALSE(IsIdle(Status(S::kUnknown, kReplaying)));
  EXPECT_FALSE(IsIdle(Status(S::kUnrecognized, kReplaying)));
}

TEST(SiteReportTest, SyncingIsAStateOrAReplayState) {
  EXPECT_TRUE(IsSyncing(Status(MirrorStatusState::kSyncing, "bootstrapping")));
  EXPECT_TRUE(IsSyncing(Status(MirrorStatusState::kReplaying,
                               R"(replaying, {"replay_state":"syncing"})")));
  EXPECT_FALSE(IsSyncing(Status(MirrorStatusState::kReplaying, kReplaying)));
}

// As Ceph 16.2.15 writes them, one after the other. The journal of the copy
// tells of an entry from somewhere between the second and the third on.
TEST(SiteReportTest, AFirstCopyInJournalModeIsWholeWithTheFirstEntry) {
  const auto replaying = [](const std::string& numbers) {
    return Status(MirrorStatusState::kReplaying,
                  ("replaying, {" + numbers + "}").c_str());
  };
  const SiteStatus copying = Status(MirrorStatusState::kSyncing,
                                    "bootstrapping, IMAGE_SYNC/COPY_IMAGE 40%");
  EXPECT_TRUE(CopiesAll(copying));
  EXPECT_FALSE(HasReplayed(copying));

  const std::string primary =
      R"("primary_position":{"entry_tid":3,"object_number":3,"tag_tid":2})";
  const std::string still =
      R"("bytes_per_second":0.0,"entries_behind_primary":3,)"
      R"("entries_per_second":0.0,)";
  const SiteStatus begins =
      replaying(still + R"("non_primary_position":{},)" + primary);
  EXPECT_FALSE(CopiesAll(begins));
  EXPECT_FALSE(HasReplayed(begins));
  // One that was written to before it was mirrored begins elsewhere.
  const std::string there =
      R"("non_primary_position":{"entry_tid":8193,"object_number":1,)"
      R"("tag_tid":1},)";
  EXPECT_FALSE(HasReplayed(replaying(still + there + primary)));

  EXPECT_TRUE(HasReplayed(
      replaying(R"("bytes_per_second":0.0,"entries_behind_primary":0,)"
                R"("entries_per_second":0.0,)" +
                there + primary)));
  // A workload that goes on writing is never caught up with.
  EXPECT_TRUE(HasReplayed(
      replaying(R"("bytes_per_second":17.5,"entries_behind_primary":9,)"
                R"("entries_per_second":0.2,)" +
                there + primary)));
  // A release that does not tell it.
  EXPECT_TRUE(HasReplayed(Status(MirrorStatusState::kReplaying, "replaying")));
}

TEST(ArrivalTextTest, ChangesWithWhatArrivesAndWithNothingElse) {
  const std::string idle = ArrivalText(
      R"(replaying, {"bytes_per_second":0.0,"local_snapshot_timestamp":7,)"
      R"("remote_snapshot_timestamp":7,"replay_state":"idle"})");
  EXPECT_NE(idle, "");
  EXPECT_EQ(
      ArrivalText(R"(replaying, {"bytes_per_second":0.0,)"
                  R"("local_snapshot_timestamp":7,)"
                  R"("remote_snapshot_timestamp":7,"replay_state":"syncing"})"),
      idle);
  for (const char* news :
       {R"(replaying, {"bytes_per_second":0.0,"local_snapshot_timestamp":7,)"
        R"("remote_snapshot_timestamp":8})",
        R"(replaying, {"bytes_per_second":9.5,"local_snapshot_timestamp":7,)"
        R"("remote_snapshot_timestamp":7})",
        R"(replaying, {"bytes_per_second":0.0,"local_snapshot_timestamp":7,)"
        R"("remote_snapshot_timestamp":7,"syncing_percent":3})"}) {
    EXPECT_NE(ArrivalText(news), idle) << news;
  }
  EXPECT_NE(ArrivalText(R"(replaying, {"entries_behind_primary":3})"),
            ArrivalText(R"(replaying, {"entries_behind_primary":2})"));
}

// 16.2.15 tells the speed of the time since its report before: of a primary
// that has died the last but one still has one, and the last has none.
TEST(ArrivalTextTest, ASpeedThatFallsToZeroIsNoArrival) {
  const auto text = [](const std::string& speed, const std::string& entry) {
    return ArrivalText(R"(replaying, {"bytes_per_second":)" + speed +
                       R"(,"entries_behind_primary":0,"entries_per_second":)" +
                       speed + R"(,"non_primary_position":{"entry_tid":)" +
                       entry + "}}");
  };
  EXPECT_TRUE(ShowsArrival(text("0.0", "3"), text("17.5", "3")));
  EXPECT_TRUE(ShowsArrival(text("17.5", "3"), text("9.5", "3")));
  EXPECT_TRUE(ShowsArrival(text("17.5", "3"), text("0.0", "4")));
  EXPECT_TRUE(ShowsArrival(text("0.0", "3"), text("0.0", "30")));
  EXPECT_FALSE(ShowsArrival(text("17.5", "3"), text("0.0", "3")));
  EXPECT_FALSE(ShowsArrival(text("17.5", "3"), text("17.5", "3")));
  EXPECT_FALSE(ShowsArrival(text("0.0", "3"), text("0.0", "3")));
}

TEST(ArrivalTextTest, IsEmptyWhereNothingIsToldOfThat) {
  for (const char* text : {"", "starting replay", "replaying, {broken",
                           "replaying, 17", "replaying, {}"}) {
    EXPECT_EQ(ArrivalText(text), "") << text;
  }
}

TEST(RoleOfTest, AStateThatIsNotKnownIsUnclear) {
  EXPECT_EQ(SaysOf(Status(MirrorStatusState::kUnrecognized,
                          "local image is primary")),
            Says::kUnclear);
}

}  // namespace
}  // namespace addons
