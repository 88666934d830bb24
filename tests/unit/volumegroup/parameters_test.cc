#include "volumegroup/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/uuid.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kUuid[] = "1603eb04-e188-4ec4-a750-bec38d49ac0a";

absl::StatusOr<GroupParameters> Parse(const GroupParameterMap& more) {
  GroupParameterMap map = {{"clusterID", "c"}, {"pool", "p"}};
  for (const auto& [key, value] : more) map[key] = value;
  return GroupParameters::Parse(map);
}

TEST(GroupParametersTest, HaveTheDriversDefaults) {
  const auto parameters = Parse({});
  ASSERT_OK(parameters);
  EXPECT_EQ(parameters->cluster_id, ClusterId("c"));
  EXPECT_EQ(parameters->pool, "p");
  EXPECT_EQ(parameters->name_prefix, "csi-vol-group-");
}

TEST(GroupParametersTest, NameWhatIsMissingOrWrong) {
  EXPECT_THAT(GroupParameters::Parse({{"pool", "p"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("parameters[clusterID]")));
  EXPECT_THAT(GroupParameters::Parse({{"clusterID", "c"}, {"pool", ""}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("parameters[pool]")));
  EXPECT_THAT(Parse({{"journalPool", "other"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("journalPool"), HasSubstr("'other'"))));
  EXPECT_THAT(Parse({{"flattenMode", "always"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("flattenMode"), HasSubstr("never"))));
  for (const char* prefix : {"a/b", "a@b", "a\nb"}) {
    EXPECT_THAT(Parse({{"volumeGroupNamePrefix", prefix}}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("volumeGroupNamePrefix")));
  }
}

TEST(GroupParametersTest, AllowWhatIsForOthers) {
  EXPECT_OK(Parse({{"journalPool", "p"},
                   {"flattenMode", "force"},
                   {"mirroringMode", "snapshot"},
                   {"groupReplication", "members"}}));
}

TEST(GroupParametersTest, FitGroupsOfTheirOwnAndOfTheOlderPrefix) {
  const auto plain = Parse({});
  EXPECT_TRUE(plain->Fits(std::string("csi-vol-group-") + kUuid, kUuid));
  EXPECT_FALSE(plain->Fits(std::string("team-") + kUuid, kUuid));
  const auto old = Parse({{"volumeNamePrefix", "team-"}});
  EXPECT_EQ(old->name_prefix, "csi-vol-group-");
  EXPECT_TRUE(old->Fits(std::string("csi-vol-group-") + kUuid, kUuid));
  EXPECT_TRUE(old->Fits(std::string("team-") + kUuid, kUuid));
  const auto current = Parse({{"volumeGroupNamePrefix", "team-"}});
  EXPECT_TRUE(current->Fits(std::string("team-") + kUuid, kUuid));
  EXPECT_FALSE(current->Fits(std::string("csi-vol-group-") + kUuid, kUuid));
}

TEST(NewUuidTest, GivesRandomUuidsOfVersionFour) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string uuid = NewUuid();
    ASSERT_THAT(uuid,
                ::testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-"
                                        "[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
    EXPECT_TRUE(seen.insert(uuid).second);
  }
}

}  // namespace
}  // namespace addons
