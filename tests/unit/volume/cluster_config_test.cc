#include "volume/cluster_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

struct Parsed {
  std::shared_ptr<const ClusterConfig> config;
  std::vector<std::string> warnings;
};

Parsed Parse(const std::string& config, const std::string& mapping = "") {
  Parsed parsed;
  auto result = ClusterConfig::Parse(config, mapping, &parsed.warnings);
  EXPECT_OK(result);
  if (result.ok()) parsed.config = *result;
  return parsed;
}

Parsed ParseMappingOnly(const std::string& mapping) {
  return Parse("[]", mapping);
}

constexpr char kGoodEntry[] = R"({"clusterID": "good", "monitors": ["m"]})";

/// config.json with one entry that has `member` besides the usual ones.
std::string EntryWith(const std::string& member) {
  return R"([{"clusterID": "a", "monitors": ["m"], )" + member + "}]";
}

TEST(ClusterConfigTest, ReadsAnEntry) {
  const auto parsed = Parse(R"([{
    "clusterID": "a", "monitors": ["10.0.0.1:6789", " v2:10.0.0.2:3300 "],
    "rbd": {"radosNamespace": "tenant1", "mirrorDaemonCount": 2},
    "cephFS": {"subvolumeGroup": "csi"}}])");
  const auto entry = parsed.config->Find(ClusterId("a"));
  ASSERT_OK(entry);
  EXPECT_EQ((*entry)->cluster_id, ClusterId("a"));
  EXPECT_THAT((*entry)->monitors,
              ElementsAre("10.0.0.1:6789", "v2:10.0.0.2:3300"));
  EXPECT_EQ((*entry)->rados_namespace, "tenant1");
  EXPECT_FALSE((*entry)->replication_destination.has_value());
  EXPECT_THAT(parsed.warnings, IsEmpty());
}

TEST(ClusterConfigTest, MatchesKeysWithoutRegardToCase) {
  const auto parsed = Parse(
      R"([{"ClusterId": "a", "MONITORS": ["m"], "RBD": {"RadosNameSpace": "n"}}])");
  const auto entry = parsed.config->Find(ClusterId("a"));
  ASSERT_OK(entry);
  EXPECT_EQ((*entry)->rados_namespace, "n");
}

TEST(ClusterConfigTest, ShowsWhatCannotBeReadEscapedAndShortened) {
  const auto config = ClusterConfig::Parse(
      "[{\"clusterID\":\"" + std::string(1000, 'x') + "\xdc\"}]", "", nullptr);
  EXPECT_THAT(config.status(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_LT(config.status().message().size(), 512U);
  const auto escaped = ClusterConfig::Parse("[\"\x01\xdc\"]", "", nullptr);
  EXPECT_THAT(std::string(escaped.status().message()),
              ::testing::MatchesRegex("config.json: [ -~]*"));
}

TEST(ClusterConfigTest, TakesTheLastOfSeveralSpellings) {
  const auto parsed =
      Parse(R"([{"clusterID": "a", "monitors": ["m1"], "Monitors": ["m2"]}])");
  EXPECT_THAT((*parsed.config->Find(ClusterId("a")))->monitors,
              ElementsAre("m2"));
}

TEST(ClusterConfigTest, TakesNullForAbsent) {
  const auto parsed = Parse(
      EntryWith(R"("rbd": {"radosNamespace": null}, "readAffinity": null)"));
  EXPECT_OK(parsed.config->Find(ClusterId("a")));
  EXPECT_THAT(parsed.warnings, IsEmpty());
}

TEST(ClusterConfigTest, IgnoresTypeErrorsInSectionsThatItDoesNotUse) {
  const auto parsed = Parse(EntryWith(
      R"("readAffinity": {"enabled": "false"}, "cephFS": 7, "nfs": [],
         "rbd": {"mirrorDaemonCount": "two"})"));
  EXPECT_OK(parsed.config->Find(ClusterId("a")));
  EXPECT_THAT(parsed.warnings, IsEmpty());
}

TEST(ClusterConfigTest, AnEmptyMonitorListMakesTheEntryUnusable) {
  for (const std::string monitors : {"[]", "[\" \"]", "null"}) {
    const auto parsed =
        Parse(R"([{"clusterID": "a", "monitors": )" + monitors + "}]");
    EXPECT_THAT(parsed.config->Find(ClusterId("a")),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("monitors is empty")));
    EXPECT_THAT(parsed.warnings, ElementsAre(HasSubstr("cluster 'a'")));
  }
}

TEST(ClusterConfigTest, OneBrokenEntryLeavesTheOthersUsable) {
  for (
      const std::string broken :
      {R"({"clusterID": "bad", "monitors": "m"})",
       R"({"clusterID": "bad", "monitors": [1]})",
       R"({"clusterID": "bad", "monitors": ["m"], "rbd": "x"})",
       R"({"clusterID": "bad", "monitors": ["m"], "rbd": {"radosNamespace": 1}})"}) {
    const auto parsed = Parse("[" + broken + "," + kGoodEntry + "]");
    EXPECT_OK(parsed.config->Find(ClusterId("good")));
    EXPECT_THAT(parsed.config->Find(ClusterId("bad")),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("'bad' in config.json is not usable")));
    EXPECT_THAT(parsed.config->entries(), SizeIs(1));
    EXPECT_THAT(parsed.warnings, SizeIs(1));
  }
}

TEST(ClusterConfigTest, AnEntryWithoutAnIdIsIgnoredWithAWarning) {
  for (const std::string broken :
       {R"({"monitors": ["m"]})", R"({"clusterID": "", "monitors": ["m"]})",
        R"({"clusterID": 5, "monitors": ["m"]})", "7", "[]"}) {
    const auto parsed = Parse("[" + broken + "," + kGoodEntry + "]");
    EXPECT_OK(parsed.config->Find(ClusterId("good")));
    EXPECT_THAT(parsed.warnings,
                ElementsAre(HasSubstr("config.json: entry 1 ignored")));
  }
}

TEST(ClusterConfigTest, TheFirstOfTwoEntriesWithOneIdWins) {
  const auto parsed = Parse(R"([{"clusterID": "a", "monitors": ["first"]},
                                {"clusterID": "a", "monitors": ["second"]}])");
  EXPECT_THAT((*parsed.config->Find(ClusterId("a")))->monitors,
              ElementsAre("first"));
  EXPECT_THAT(parsed.warnings, ElementsAre(AllOf(HasSubstr("entry 2 ignored"),
                                                 HasSubstr("cluster 'a'"))));
}

TEST(ClusterConfigTest, AnUnknownClusterIsNotFound) {
  EXPECT_THAT(Parse("[]").config->Find(ClusterId("nowhere")),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("'nowhere' is not in config.json")));
}

TEST(ClusterConfigTest, RefusesWhatIsNoArrayNamingTheFile) {
  for (const std::string text : {"", "{}", "[{", "7", "[] []"}) {
    EXPECT_THAT(ClusterConfig::Parse(text, "", nullptr),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         ::testing::StartsWith("config.json: ")));
  }
  for (const std::string text : {"{}", "[{", " "}) {
    EXPECT_THAT(ClusterConfig::Parse("[]", text, nullptr),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         ::testing::StartsWith("cluster-mapping.json: ")));
  }
}

TEST(ClusterConfigTest, ReadsTheReplicationDestination) {
  const auto parsed = Parse(EntryWith(R"("replicationDestination": {
      "remoteClusterID": "b",
      "rbd": {"remotePoolMapping": {"rbd": {"poolID": "5"},
                                    "other": {"poolid": 6}}}})"));
  const auto& destination =
      (*parsed.config->Find(ClusterId("a")))->replication_destination;
  ASSERT_TRUE(destination.has_value());
  EXPECT_EQ(destination->remote_cluster_id, ClusterId("b"));
  EXPECT_THAT(destination->remote_pool_id,
              ElementsAre(Pair("other", 6), Pair("rbd", 5)));
}

TEST(ClusterConfigTest, AReplicationDestinationNeedsNoPools) {
  const auto parsed =
      Parse(EntryWith(R"("replicationDestination": {"remoteClusterID": "b"})"));
  const auto& destination =
      (*parsed.config->Find(ClusterId("a")))->replication_destination;
  ASSERT_TRUE(destination.has_value());
  EXPECT_EQ(destination->remote_cluster_id, ClusterId("b"));
  EXPECT_THAT(parsed.warnings, IsEmpty());
}

TEST(ClusterConfigTest, ABrokenReplicationDestinationHasNoClusterToDeriveFrom) {
  for (const std::string destination :
       {R"(7)", R"({})", R"({"remoteClusterID": 7})",
        R"({"remoteClusterID": "b", "rbd": 7})",
        R"({"remoteClusterID": "b", "rbd": {"remotePoolMapping": {"p": {}}}})",
        R"({"remoteClusterID": "b",
            "rbd": {"remotePoolMapping": {"p": {"poolID": "x"}}}})"}) {
    const auto parsed =
        Parse(EntryWith("\"replicationDestination\": " + destination));
    const auto entry = parsed.config->Find(ClusterId("a"));
    ASSERT_OK(entry);
    ASSERT_TRUE((*entry)->replication_destination.has_value());
    EXPECT_EQ((*entry)->replication_destination->remote_cluster_id,
              ClusterId(""));
    EXPECT_THAT(
        parsed.warnings,
        ElementsAre(HasSubstr("replicationDestination of cluster 'a'")));
  }
}

constexpr char kMapping[] = R"([
    {"clusterIDMapping": {"site1": "site2"},
     "RBDPoolIDMapping": [{"1": "2", "11": "12"}],
     "CephFSFscIDMapping": [{"13": "34"}]}])";

TEST(ClusterMappingTest, IsSymmetric) {
  const auto config = ParseMappingOnly(kMapping).config;
  EXPECT_THAT(config->Mapped(ClusterId("site1"), 1),
              ElementsAre(Pair(ClusterId("site2"), 2)));
  EXPECT_THAT(config->Mapped(ClusterId("site2"), 2),
              ElementsAre(Pair(ClusterId("site1"), 1)));
  EXPECT_THAT(config->Mapped(ClusterId("site1"), 11),
              ElementsAre(Pair(ClusterId("site2"), 12)));
  EXPECT_THAT(config->Mapped(ClusterId("site2"), 11),
              ElementsAre(Pair(ClusterId("site1"), 12)));
}

TEST(ClusterMappingTest, NeedsBothTheClusterAndThePool) {
  const auto config = ParseMappingOnly(kMapping).config;
  EXPECT_THAT(config->Mapped(ClusterId("site1"), 3), IsEmpty());
  EXPECT_THAT(config->Mapped(ClusterId("site3"), 1), IsEmpty());
}

TEST(ClusterMappingTest, MatchesTheSpellingOfTheOperator) {
  const auto parsed = ParseMappingOnly(
      R"([{"clusterIdMapping": {"a": "b"}, "rbdPoolIDMapping": [{"1": "1"}]}])");
  EXPECT_THAT(parsed.config->Mapped(ClusterId("a"), 1),
              ElementsAre(Pair(ClusterId("b"), 1)));
}

TEST(ClusterMappingTest, AcceptsPoolIdsAsNumbers) {
  const auto parsed = ParseMappingOnly(
      R"([{"clusterIDMapping": {"a": "b"}, "RBDPoolIDMapping": [{"1": 5}]}])");
  EXPECT_THAT(parsed.config->Mapped(ClusterId("a"), 1),
              ElementsAre(Pair(ClusterId("b"), 5)));
}

TEST(ClusterMappingTest, MapsPoolsOfSitesWithTheSameClusterId) {
  const auto parsed = ParseMappingOnly(
      R"([{"clusterIDMapping": {"a": "a"}, "RBDPoolIDMapping": [{"1": "2"}]}])");
  EXPECT_THAT(parsed.config->Mapped(ClusterId("a"), 1),
              ElementsAre(Pair(ClusterId("a"), 2)));
}

TEST(ClusterMappingTest, NeverMapsToItself) {
  const auto parsed = ParseMappingOnly(
      R"([{"clusterIDMapping": {"a": "a"}, "RBDPoolIDMapping": [{"1": "1"}]}])");
  EXPECT_THAT(parsed.config->Mapped(ClusterId("a"), 1), IsEmpty());
}

TEST(ClusterMappingTest, KeepsTheOrderOfTheFileWithoutDuplicates) {
  const auto parsed = ParseMappingOnly(R"([
      {"clusterIDMapping": {"a": "z", "y": "a"},
       "RBDPoolIDMapping": [{"1": "9"}, {"1": "3"}]},
      {"clusterIDMapping": {"a": "b"}, "RBDPoolIDMapping": [{"1": "1"}]},
      {"clusterIDMapping": {"a": "z"}, "RBDPoolIDMapping": [{"1": "9"}]}])");
  EXPECT_THAT(parsed.config->Mapped(ClusterId("a"), 1),
              ElementsAre(Pair(ClusterId("z"), 9), Pair(ClusterId("z"), 3),
                          Pair(ClusterId("y"), 9), Pair(ClusterId("y"), 3),
                          Pair(ClusterId("b"), 1)));
}

TEST(ClusterMappingTest, OneBrokenElementLeavesTheOthersUsable) {
  for (const std::string broken :
       {R"(7)", R"({"clusterIDMapping": []})",
        R"({"clusterIDMapping": {"a": "x"}, "RBDPoolIDMapping": {"1": "2"}})",
        R"({"clusterIDMapping": {"a": "x"}, "RBDPoolIDMapping": ["1"]})"}) {
    const auto parsed = ParseMappingOnly("[" + broken + R"(,
        {"clusterIDMapping": {"a": "b"}, "RBDPoolIDMapping": [{"1": "2"}]}])");
    EXPECT_THAT(parsed.config->Mapped(ClusterId("a"), 1),
                ElementsAre(Pair(ClusterId("b"), 2)));
    EXPECT_THAT(
        parsed.warnings,
        ElementsAre(HasSubstr("cluster-mapping.json: element 1 ignored")));
    EXPECT_THAT(parsed.config->mapping_problem(), HasSubstr("element 1"));
  }
}

TEST(ClusterMappingTest, OneBrokenPairLeavesTheOthersUsable) {
  for (const std::string broken :
       {R"("x": "2")", R"("1": "-2")", R"("1": true)", R"("1": 1.5)",
        R"("1": "99999999999999999999")"}) {
    const auto parsed =
        ParseMappingOnly(R"([{"clusterIDMapping": {"a": "b", "c": 7},
                          "RBDPoolIDMapping": [{)" +
                         broken + R"(, "5": "6"}]}])");
    EXPECT_THAT(parsed.config->Mapped(ClusterId("a"), 5),
                ElementsAre(Pair(ClusterId("b"), 6)));
    EXPECT_THAT(parsed.config->Mapped(ClusterId("a"), 1), IsEmpty());
    EXPECT_THAT(parsed.warnings,
                ElementsAre(HasSubstr("clusterIDMapping of 'c'"),
                            HasSubstr("RBDPoolIDMapping of")));
  }
}

TEST(ClusterMappingTest, IsKnownWhenThereIsNone) {
  const auto config = Parse("[]").config;
  EXPECT_THAT(config->Mapped(ClusterId("a"), 1), IsEmpty());
  EXPECT_EQ(config->mapping_problem(), "");
}

TEST(ClusterMappingTest, CanBeUnknown) {
  const auto config = ClusterConfig::ParseWithUnknownMapping(
      std::string("[") + kGoodEntry + "]", "half written", nullptr);
  ASSERT_OK(config);
  EXPECT_OK((*config)->Find(ClusterId("good")));
  EXPECT_EQ((*config)->mapping_problem(), "half written");
}

}  // namespace
}  // namespace addons
