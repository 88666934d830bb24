// What a fence reads of the monitors, on the answers of every recorded release.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ceph/blocklist.h"
#include "ceph/cluster_services.h"
#include "ceph/pool.h"
#include "tests/testing/answering_cluster.h"
#include "tests/testing/recorded_ceph.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;
using Kind = BlocklistEntry::Kind;

class RecordedServicesTest : public ::testing::TestWithParam<std::string> {
 protected:
  RecordedServicesTest() {
    cluster_.Answer("osd dump", Recorded(GetParam(), "osd-dump.json"));
    cluster_.Answer("quorum_status",
                    Recorded(GetParam(), "quorum-status.json"));
    cluster_.Answer("mgr dump", Recorded(GetParam(), "mgr-dump.json"));
  }

  AnsweringCluster cluster_;
  const IpAddress loopback_ = *IpAddress::Parse("127.0.0.1");
};

TEST_P(RecordedServicesTest, TheOsdsAndThePoolsForRbd) {
  const auto view = ReadOsdMap(cluster_);
  ASSERT_OK(view);
  ASSERT_THAT(view->osds, SizeIs(1));
  EXPECT_EQ(view->osds[0].name, "osd.0");
  EXPECT_THAT(view->osds[0].addresses, ElementsAre(loopback_));
  ASSERT_THAT(view->pools, SizeIs(1));
  EXPECT_EQ(view->pools[0].id, 1);
  EXPECT_EQ(view->pools[0].name, "replicapool");
  EXPECT_EQ(view->pools[0].placement_groups, 8U);
  EXPECT_GT(view->modified, absl::FromUnixSeconds(1700000000));
  EXPECT_TRUE(view->lists_addresses);
  EXPECT_TRUE(view->lists_ranges);
}

TEST_P(RecordedServicesTest, RemovedSnapshotsThatAreNotTrimmed) {
  const auto view = ReadOsdMap(cluster_);
  ASSERT_OK(view);
  EXPECT_FALSE(view->trims_no_snapshots);
  EXPECT_THAT(view->untrimmed, IsEmpty());

  std::string map = Recorded(GetParam(), "osd-dump.json");
  for (const auto& [is, becomes] :
       {std::pair(R"("flags": "sort)", R"("flags": "nosnaptrim,sort)"),
        // As 16.2.15, 18.2.7 and 20.2.4 write it.
        std::pair(R"("removed_snaps_queue": [])",
                  R"("removed_snaps_queue":[{"pool":2,"snaps":[)"
                  R"({"begin":5,"length":1},{"begin":9,"length":3}]},)"
                  R"({"pool":7,"snaps":[{"begin":2,"length":1}]}])")}) {
    ASSERT_TRUE(absl::StrContains(map, is)) << is;
    map = absl::StrReplaceAll(map, {{is, becomes}});
  }
  cluster_.Answer("osd dump", map);
  const auto busy = ReadOsdMap(cluster_);
  ASSERT_OK(busy);
  EXPECT_TRUE(busy->trims_no_snapshots);
  EXPECT_THAT(busy->untrimmed, ElementsAre(std::pair(2, 4U), std::pair(7, 1U)));
  EXPECT_THAT(busy->pools, SizeIs(1));
  EXPECT_EQ(busy->modified, view->modified);
}

TEST_P(RecordedServicesTest, TheMonitorsInTheQuorum) {
  const auto quorum = ReadQuorum(cluster_);
  ASSERT_OK(quorum);
  ASSERT_THAT(*quorum, SizeIs(1));
  EXPECT_EQ(quorum->front().name, "mon.a");
  EXPECT_THAT(quorum->front().addresses, ElementsAre(loopback_));
}

TEST_P(RecordedServicesTest, TheActiveManager) {
  const auto managers = ReadManager(cluster_);
  ASSERT_OK(managers);
  ASSERT_THAT(*managers, SizeIs(1));
  EXPECT_EQ(managers->front().name, "mgr.x");
  EXPECT_THAT(managers->front().addresses, ElementsAre(loopback_));
}

TEST_P(RecordedServicesTest, TheBlocklist) {
  const auto empty =
      Blocklist::Parse(Recorded(GetParam(), "osd-blocklist-ls/empty.txt"));
  ASSERT_OK(empty);
  EXPECT_THAT(empty->entries, IsEmpty());
  EXPECT_TRUE(empty->has_ranges);

  const auto clients = Blocklist::Parse(
      Recorded(GetParam(), "osd-blocklist-ls/without-ranges.txt"));
  ASSERT_OK(clients);
  EXPECT_THAT(clients->unreadable, IsEmpty());
  EXPECT_THAT(clients->entries, SizeIs(3));

  const auto all = Blocklist::Parse(
      Recorded(GetParam(), "osd-blocklist-ls/with-ranges.txt"));
  ASSERT_OK(all);
  EXPECT_THAT(all->unreadable, IsEmpty());
  ASSERT_THAT(all->entries, SizeIs(6));
  for (const BlocklistEntry& entry : all->entries) {
    EXPECT_TRUE(entry.until.has_value()) << entry.key;
  }
  const auto* const range = all->FindRange(*Cidr::Parse("198.51.100.0/24"));
  ASSERT_NE(range, nullptr);
  EXPECT_EQ(range->Argument(), "198.51.100.0/24");
  EXPECT_NE(all->FindRange(*Cidr::Parse("2001:db8:1::/64")), nullptr);
  // Given with host bits, and stored with them.
  EXPECT_EQ(all->FindRange(*Cidr::Parse("203.0.113.0/28")), nullptr);
  EXPECT_NE(all->FindAddress(*IpAddress::Parse("192.0.2.8")), nullptr);
}

TEST_P(RecordedServicesTest, TheMapShowsTheSameBlocklistAsTheListing) {
  const auto view = ReadOsdMap(cluster_);
  ASSERT_OK(view);
  ASSERT_TRUE(view->blocklist.has_value());
  EXPECT_TRUE(view->blocklist->has_ranges);
  EXPECT_THAT(view->blocklist->unreadable, IsEmpty());
  const auto listed = Blocklist::Parse(
      Recorded(GetParam(), "osd-blocklist-ls/with-ranges.txt"));
  ASSERT_OK(listed);
  EXPECT_THAT(view->blocklist->entries,
              UnorderedElementsAreArray(listed->entries));
}

INSTANTIATE_TEST_SUITE_P(Releases, RecordedServicesTest,
                         ::testing::ValuesIn(RecordedReleases()), ReleaseName);

// A fence asks these what it would hit: nothing understood is not nothing hit.
TEST(ServicesShapeTest, AnUnknownShapeIsAnErrorThatNamesTheCommand) {
  constexpr char kStamp[] = R"("modified":"2026-11-22T01:54:00.534338+0000")";
  for (const char* const rest :
       {R"("pools":[])", R"("osds":[])", R"("osds":{"0":{}},"pools":[])",
        R"("pools":[],"osds":[{"osd":0}])",
        R"("pools":[],"osds":[{"osd":0,"up":true}])",
        R"("pools":[],"osds":[{"osd":0,"up":1}])",
        R"("pools":[],"osds":[{"osd":0,"up":1,"public_addrs":{"addrvec":)"
        R"([{"addr":"(unrecognized address family 7)/0"}]}}])"}) {
    AnsweringCluster cluster;
    cluster.Answer("osd dump", absl::StrCat("{", kStamp, ",", rest, "}"));
    const auto view = ReadOsdMap(cluster);
    EXPECT_EQ(view.status().code(), absl::StatusCode::kInternal) << rest;
    EXPECT_THAT(view.status().message(), HasSubstr("osd dump"));
  }
  for (const char* const answer :
       {"{}", R"({"quorum":[0]})", R"({"monmap":{"mons":[]}})",
        R"({"quorum":[0],"monmap":{"mons":{}}})",
        R"({"quorum":[0],"monmap":{"mons":[{"name":"a","rank":0}]}})"}) {
    AnsweringCluster cluster;
    cluster.Answer("quorum_status", std::string(answer));
    const auto quorum = ReadQuorum(cluster);
    EXPECT_EQ(quorum.status().code(), absl::StatusCode::kInternal) << answer;
    EXPECT_THAT(quorum.status().message(), HasSubstr("quorum_status"));
  }
}

TEST(ServicesShapeTest, AManagerOfAnotherShapeIsNoWordThatNoneLives) {
  for (const char* const answer :
       {"{}", R"({"available":1,"active_name":"x"})",
        R"({"available":"true","active_name":"x"})", R"({"available":true})",
        R"({"available":true,"active_name":"x"})",
        R"({"available":true,"active_name":7,"active_addrs":{"addrvec":)"
        R"([{"addr":"10.0.0.1:6800"}]}})"}) {
    AnsweringCluster cluster;
    cluster.Answer("mgr dump", std::string(answer));
    const auto managers = ReadManager(cluster);
    EXPECT_EQ(managers.status().code(), absl::StatusCode::kInternal) << answer;
    EXPECT_THAT(managers.status().message(), HasSubstr("mgr dump"));
  }
  AnsweringCluster cluster;
  cluster.Answer("mgr dump",
                 std::string(R"({"available":false,"active_name":""})"));
  const auto none = ReadManager(cluster);
  ASSERT_OK(none);
  EXPECT_THAT(*none, IsEmpty());
}

TEST(ServicesShapeTest, ANumberOfPlacementGroupsThatDoesNotFitIsNotCut) {
  AnsweringCluster cluster;
  cluster.Answer(
      "osd dump",
      std::string(R"({"modified":"2026-11-22T01:54:00+0000","osds":[],)"
                  R"("pools":[{"pool":1,"pool_name":"p","pg_num":4294967296,)"
                  R"("application_metadata":{"rbd":{}}}]})"));
  const auto view = ReadOsdMap(cluster);
  ASSERT_OK(view);
  ASSERT_EQ(view->pools.size(), 1U);
  EXPECT_EQ(view->pools[0].placement_groups, 4294967295U);
}

// A blocklist that is not understood must not look like an empty one.
TEST(ServicesShapeTest, ABlocklistInAnotherFormIsNone) {
  constexpr char kMap[] =
      R"({"modified":"2026-11-22T01:54:00+0000","osds":[],"pools":[])";
  const auto read = [&](const std::string& lists) {
    AnsweringCluster cluster;
    cluster.Answer("osd dump", absl::StrCat(kMap, lists, "}"));
    const auto view = ReadOsdMap(cluster);
    EXPECT_OK(view);
    return *view;
  };
  for (const char* const lists :
       {"", R"(,"blocklist":{})", R"(,"range_blocklist":{})",
        R"(,"blocklist":[],"range_blocklist":{})",
        R"(,"blocklist":{},"range_blocklist":null)",
        R"(,"blocklist":{},"range_blocklist":[{"range":"10.0.0.0:0/8"}])",
        R"(,"blocklist":{"10.0.0.1:0/5":7},"range_blocklist":{})",
        R"(,"blocklist":{"10.0.0.1:0/5":{"until":"x"}},"range_blocklist":{})",
        R"(,"blocklist":{"10.0.0.1:0/5":[]},"range_blocklist":{})"}) {
    EXPECT_FALSE(read(lists).blocklist.has_value()) << lists;
  }
  EXPECT_TRUE(read(R"(,"blocklist":[{"addr":"x"}])").lists_addresses);
  EXPECT_TRUE(read(R"(,"range_blocklist":[["x"]])").lists_ranges);
  const OsdMapView known = read(
      R"(,"blocklist":{"v1:10.0.0.1:0/5":"x","(other)/0":"y"},)"
      R"("range_blocklist":{"cidr:10.0.0.0:0/8":"2026-11-22T01:54:00+0000"})");
  ASSERT_TRUE(known.blocklist.has_value());
  EXPECT_THAT(known.blocklist->unreadable, ElementsAre(HasSubstr("(other)/0")));
  ASSERT_THAT(known.blocklist->entries, SizeIs(2));
  EXPECT_EQ(known.blocklist->entries[0].key, "10.0.0.1:0/5");
  EXPECT_EQ(known.blocklist->entries[1].key, "10.0.0.0:0/8");
  EXPECT_EQ(known.blocklist->entries[1].Argument(), "10.0.0.0/8");
}

TEST(ServicesShapeTest, AMapOfTenThousandEntriesKeepsOnlyWhatIsNeeded) {
  std::string text =
      R"({"epoch":9,"modified":"2026-11-22T01:54:00+0000","osd_xinfo":[{"osd":0}],)"
      R"("pools":[{"pool":3,"pool_name":"p","pg_num":8,"options":{"x":[1]},)"
      R"("application_metadata":{"rbd":{}}}],"blocklist":{)";
  for (int i = 0; i < 10000; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",", "\"10.0.", i / 100, ".", i % 100,
                    ":0/", i, "\":\"2026-11-22T01:54:00.5+0000\"");
  }
  absl::StrAppend(&text, R"(},"range_blocklist":{},"osds":[]})");
  AnsweringCluster cluster;
  cluster.Answer("osd dump", text);
  const auto view = ReadOsdMap(cluster);
  ASSERT_OK(view);
  ASSERT_TRUE(view->blocklist.has_value());
  EXPECT_THAT(view->blocklist->entries, SizeIs(10000));
  EXPECT_TRUE(view->lists_addresses);
  EXPECT_FALSE(view->lists_ranges);
  ASSERT_THAT(view->pools, SizeIs(1));
}

TEST(ServicesShapeTest, ANameInAnErrorIsEscaped) {
  AnsweringCluster cluster;
  cluster.Answer("quorum_status",
                 std::string(R"({"quorum":[0],"monmap":{"mons":[)"
                             R"({"name":"a\n","rank":0}]}})"));
  EXPECT_THAT(ReadQuorum(cluster).status().message(),
              HasSubstr("where 'mon.a\\n' is"));
}

TEST(ServicesShapeTest, AnOsdThatIsDownIsNowhere) {
  AnsweringCluster cluster;
  cluster.Answer("osd dump",
                 std::string(R"({"modified":"2026-11-22T01:54:00+0000",)"
                             R"("pools":[],"osds":[{"osd":0,"up":0}]})"));
  const auto view = ReadOsdMap(cluster);
  ASSERT_OK(view);
  EXPECT_THAT(view->osds, IsEmpty());
}

}  // namespace
}  // namespace addons::testing
