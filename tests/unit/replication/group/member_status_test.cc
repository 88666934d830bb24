#include "replication/group/member_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_format.h"

namespace addons {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

const GroupText kText = {GroupHandle("group-1"), "promote", "being promoted",
                         "primary"};

GroupMember In(MemberState state, absl::Status status = absl::OkStatus(),
               std::string id = "v") {
  return {VolumeHandle(std::move(id)), state, std::move(status), SteadyTime()};
}
GroupMember Failed(absl::StatusCode code) {
  return In(MemberState::kFailed, absl::Status(code, "why"));
}

constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

TEST(GroupCodeTest, WorseCodesWin) {
  const absl::StatusCode order[] = {absl::StatusCode::kInternal,
                                    absl::StatusCode::kUnauthenticated,
                                    absl::StatusCode::kPermissionDenied,
                                    absl::StatusCode::kInvalidArgument,
                                    kFailedPrecondition,
                                    kUnavailable};
  for (size_t worse = 0; worse < std::size(order); ++worse) {
    for (size_t better = worse; better < std::size(order); ++better) {
      EXPECT_EQ(GroupCode({In(MemberState::kDone), Failed(order[better]),
                           Failed(order[worse])}),
                order[worse]);
    }
  }
}

TEST(GroupCodeTest, MissingMemberIsNotAMissingGroup) {
  EXPECT_EQ(GroupCode({Failed(absl::StatusCode::kNotFound)}), kUnavailable);
}

TEST(PromoteGroupCodeTest, ForceIsSuggestedOnlyWhenAllTheOthersAreReady) {
  const GroupMember refused = Failed(kFailedPrecondition);
  EXPECT_EQ(PromoteGroupCode({refused, refused}), kFailedPrecondition);
  EXPECT_EQ(PromoteGroupCode(
                {refused, In(MemberState::kReady), In(MemberState::kDone)}),
            kFailedPrecondition);
  for (const MemberState state :
       {MemberState::kUnseen, MemberState::kWaiting, MemberState::kRunning}) {
    EXPECT_EQ(PromoteGroupCode({refused, In(state)}), kUnavailable);
  }
  for (const auto code :
       {absl::StatusCode::kNotFound, absl::StatusCode::kDeadlineExceeded,
        kUnavailable, absl::StatusCode::kAborted}) {
    EXPECT_EQ(PromoteGroupCode({refused, Failed(code)}), kUnavailable);
  }
  EXPECT_EQ(
      PromoteGroupCode({refused, Failed(absl::StatusCode::kPermissionDenied)}),
      absl::StatusCode::kPermissionDenied);
}

TEST(DescribeFailureTest, NamesMembersByStateFailuresFirst) {
  const std::string text = DescribeFailure(
      kText,
      {In(MemberState::kDone, absl::OkStatus(), "d"),
       In(MemberState::kWaiting, absl::UnavailableError("soon"), "w"),
       In(MemberState::kFailed, absl::FailedPreconditionError("no"), "f")});
  EXPECT_EQ(text,
            "Failed to promote volume group 'group-1' with 3 members: 1 "
            "refused: 'f' (no); 1 waiting: 'w' (soon); 1 primary: 'd'");
}

TEST(DescribeFailureTest, ShowsTheFirstOfManyMembers) {
  GroupMembers members;
  for (int i = 0; i < 100; ++i) {
    members.push_back(In(MemberState::kFailed, absl::UnavailableError("why"),
                         absl::StrFormat("volume-%03d", i)));
  }
  EXPECT_THAT(DescribeFailure(kText, members),
              AllOf(HasSubstr("100 not available: 'volume-000' (why)"),
                    HasSubstr("and 97 more"), Not(HasSubstr("volume-003"))));
}

TEST(DescribeFailureTest, IsBoundedWhateverTheReasons) {
  GroupMembers members;
  for (int code = 1; code <= 16; ++code) {
    for (int i = 0; i < 10; ++i) {
      members.push_back(In(MemberState::kFailed,
                           absl::Status(static_cast<absl::StatusCode>(code),
                                        std::string(5000, 'x')),
                           absl::StrFormat("%0128d", i)));
    }
  }
  EXPECT_LE(DescribeFailure(kText, members).size(), kLongestGroupMessage);
}

TEST(ClipTextTest, EndsBetweenCharacters) {
  EXPECT_EQ(ClipText("abc", 3), "abc");
  EXPECT_EQ(ClipText("abcdefgh", 6), "abc...");
  // Each of these has two bytes.
  EXPECT_EQ(ClipText("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4", 6), "\xc3\xa4...");
}

TEST(CountMembersTest, CountsByState) {
  EXPECT_EQ(
      CountMembers(kText, {In(MemberState::kReady), In(MemberState::kRunning),
                           In(MemberState::kReady)}),
      "1 being promoted, 2 ready");
}

}  // namespace
}  // namespace addons
