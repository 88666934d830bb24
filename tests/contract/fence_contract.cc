#include "tests/contract/fence_contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/cidr.h"
#include "base/json.h"
#include "ceph/blocklist.h"
#include "ceph/cluster_services.h"
#include "ceph/errors.h"
#include "ceph/pool.h"
#include "nlohmann/json.hpp"
#include "tests/testing/status_matchers.h"

namespace addons {

absl::Status FenceContractTest::Blocklist(const std::string& operation,
                                          const std::string& address,
                                          bool range, double expire) {
  nlohmann::json command = {{"prefix", "osd blocklist"},
                            {"blocklistop", operation},
                            {"addr", address}};
  if (range) command["range"] = "range";
  if (operation == "add") command["expire"] = expire;
  return cluster().MonCommand(command.dump()).status();
}

std::string FenceContractTest::List() {
  const auto text = cluster().MonCommand(
      R"({"prefix": "osd blocklist ls", "format": "json"})");
  EXPECT_OK(text);
  return text.value_or("");
}

std::string FenceContractTest::UntilOf(const std::string& key) {
  const std::string list = List();
  const size_t at = list.find(absl::StrCat("\"", key, "\""));
  if (at == std::string::npos) return "";
  return list.substr(list.find("until", at) + 8, 26);
}

nlohmann::json FenceContractTest::OsdDump() {
  const auto text =
      cluster().MonCommand(R"({"prefix": "osd dump", "format": "json"})");
  EXPECT_OK(text);
  return ParseJson(text.value_or("{}"));
}

namespace {

using ::testing::ContainsRegex;

TEST_P(FenceContractTest, OwnAddressIsWhatOthersSeeOfTheClient) {
  const auto pool = OpenPool(kA, Access::kRead);
  const std::vector<std::string> own = cluster().OwnAddresses();
  ASSERT_FALSE(own.empty());
  for (const std::string& address : own) {
    EXPECT_THAT(address, ContainsRegex(":0/[0-9]+"));
  }
}

TEST_P(FenceContractTest, LatestMapCanBeWaitedFor) {
  EXPECT_OK(cluster().WaitForLatestMap());
}

TEST_P(FenceContractTest, EveryPlacementGroupCanBeReached) {
  const auto pool = OpenPool(kA, Access::kRead);
  for (uint32_t part = 0; part < 8; ++part) {
    EXPECT_OK(pool->ReachPlacementGroups(part, 8)) << part;
  }
}

TEST_P(FenceContractTest, HostBitsOfARangeAreKept) {
  ASSERT_OK(Blocklist("add", "10.201.1.77/24", true));
  EXPECT_NE(UntilOf("10.201.1.77:0/24"), "");
  EXPECT_OK(Blocklist("rm", "10.201.1.0/24", true));
  EXPECT_NE(UntilOf("10.201.1.77:0/24"), "") << "another entry";
  EXPECT_OK(Blocklist("rm", "10.201.1.77/24", true));
  EXPECT_EQ(UntilOf("10.201.1.77:0/24"), "");
}

TEST_P(FenceContractTest, AddingAgainLeavesTheEnd) {
  for (const bool range : {true, false}) {
    const std::string text = range ? "10.202.0.0/16" : "10.202.0.9";
    const std::string key = range ? "10.202.0.0:0/16" : "10.202.0.9:0/0";
    ASSERT_OK(Blocklist("add", text, range, 600));
    const std::string until = UntilOf(key);
    ASSERT_NE(until, "");
    const nlohmann::json before = OsdDump()["modified"];
    EXPECT_OK(Blocklist("add", text, range, 157784760));
    EXPECT_EQ(UntilOf(key), until);
    EXPECT_GT(OsdDump()["modified"], before) << "a new map all the same";
    EXPECT_OK(Blocklist("rm", text, range));
    EXPECT_OK(Blocklist("add", text, range, 157784760));
    EXPECT_GT(UntilOf(key), until);
    EXPECT_OK(Blocklist("rm", text, range));
  }
}

TEST_P(FenceContractTest, TheMapShowsWhatTheListShows) {
  ASSERT_OK(Blocklist("add", "10.205.0.0/16", true));
  ASSERT_OK(Blocklist("add", "10.205.0.9:0/4711", false));
  nlohmann::json dump = OsdDump();
  EXPECT_TRUE(dump["range_blocklist"].contains("cidr:10.205.0.0:0/16"))
      << dump["range_blocklist"];
  EXPECT_TRUE(dump["blocklist"].contains("10.205.0.9:0/4711"))
      << dump["blocklist"];
  EXPECT_OK(Blocklist("rm", "10.205.0.0/16", true));
  EXPECT_OK(Blocklist("rm", "10.205.0.9:0/4711", false));
}

TEST_P(FenceContractTest, RemovalOfWhatIsNotThereIsOk) {
  EXPECT_OK(Blocklist("rm", "10.203.0.0/16", true));
  EXPECT_OK(Blocklist("rm", "10.203.0.1:0/0", false));
}

TEST_P(FenceContractTest, RangeAndOneAddressAreDifferentEntries) {
  ASSERT_OK(Blocklist("add", "10.204.0.1/32", true));
  ASSERT_OK(Blocklist("add", "10.204.0.1:0/0", false));
  EXPECT_OK(Blocklist("rm", "10.204.0.1:0/0", false));
  EXPECT_EQ(UntilOf("10.204.0.1:0/0"), "");
  EXPECT_NE(UntilOf("10.204.0.1:0/32"), "");
  EXPECT_OK(Blocklist("rm", "10.204.0.1/32", true));
  EXPECT_EQ(UntilOf("10.204.0.1:0/32"), "");
}

TEST_P(FenceContractTest, IPv6StandsInBrackets) {
  ASSERT_OK(Blocklist("add", "fd00:2::/64", true));
  ASSERT_OK(Blocklist("add", "[fd00:2::1]:0/77", false));
  EXPECT_NE(UntilOf("[fd00:2::]:0/64"), "");
  EXPECT_NE(UntilOf("[fd00:2::1]:0/77"), "");
  EXPECT_OK(Blocklist("rm", "fd00:2::/64", true));
  EXPECT_OK(Blocklist("rm", "[fd00:2::1]:0/77", false));
  EXPECT_FALSE(absl::StrContains(List(), "fd00:2::"));
}

TEST_P(FenceContractTest, ExpiryWithoutADecimalPointIsRefused) {
  EXPECT_EQ(CephErrno(cluster()
                          .MonCommand(R"({"prefix": "osd blocklist",)"
                                      R"("blocklistop": "add", "expire": 60,)"
                                      R"("addr": "10.205.0.1:0/0"})")
                          .status()),
            EINVAL);
}

// What tells ceph-csi's automatic fence from all others.
TEST_P(FenceContractTest, AnOldMapTellsWhenAnEntryBegan) {
  constexpr double kExpiry = 94670856;
  const uint64_t before = OsdDump()["epoch"].get<uint64_t>();
  // The cluster makes maps of its own, too: the entry's is not the next one.
  ASSERT_OK(Blocklist("add", "10.207.0.2/32", true, kExpiry));
  ASSERT_OK(Blocklist("add", "10.207.0.1/32", true, kExpiry));
  const auto newest = ReadOsdMap(cluster());
  ASSERT_OK(newest);
  ASSERT_GT(newest->epoch, before);
  const auto entry_of = [&](const OsdMapView& map) -> const BlocklistEntry* {
    return map.blocklist.has_value()
               ? map.blocklist->FindRange(*Cidr::Parse("10.207.0.1/32"))
               : nullptr;
  };
  const BlocklistEntry* const entry = entry_of(*newest);
  ASSERT_NE(entry, nullptr);
  ASSERT_TRUE(entry->until.has_value());
  bool found = false;
  for (uint64_t epoch = before; epoch <= newest->epoch && !found; ++epoch) {
    const auto map = ReadOldOsdMap(cluster(), epoch);
    ASSERT_OK(map);
    EXPECT_EQ(map->epoch, epoch);
    const BlocklistEntry* const then = entry_of(*map);
    if (then == nullptr) continue;
    EXPECT_GT(epoch, before);
    found = true;
    EXPECT_EQ(*then, *entry);
    const absl::Duration lasts = *then->until - map->modified;
    EXPECT_LE(lasts, absl::Seconds(kExpiry) + absl::Seconds(1));
    EXPECT_GE(lasts, absl::Seconds(kExpiry) - absl::Seconds(10));
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(CephErrno(ReadOldOsdMap(cluster(), newest->epoch + 1000).status()),
            ENOENT);
  EXPECT_OK(Blocklist("rm", "10.207.0.1/32", true));
  EXPECT_OK(Blocklist("rm", "10.207.0.2/32", true));
}

TEST_P(FenceContractTest, MapSaysWhenItChanged) {
  ASSERT_OK(Blocklist("add", "10.206.0.0/16", true, 600));
  const nlohmann::json dump = OsdDump();
  // Both are the monitor's time: the map of the entry is no later than its end.
  ASSERT_TRUE(dump.value("modified", nlohmann::json()).is_string());
  EXPECT_LT(dump["modified"].get<std::string>(), UntilOf("10.206.0.0:0/16"));
  ASSERT_OK(Blocklist("rm", "10.206.0.0/16", true));
  EXPECT_GT(OsdDump()["modified"], dump["modified"]);
}

}  // namespace
}  // namespace addons
