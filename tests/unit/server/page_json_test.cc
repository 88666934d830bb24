// The status page for programs: what it says in each state, as the page does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "tests/unit/server/page_testing.h"

namespace addons::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using ::testing::HasSubstr;

json Read(const StatusPage& page) {
  json read = ParseJson(StatusJson(page));
  EXPECT_TRUE(read.is_object()) << StatusJson(page);
  return read;
}

std::shared_ptr<WatchSnapshot> Copied(const StatusPage& page) {
  return std::make_shared<WatchSnapshot>(*page.watch);
}

TEST(PageJsonTest, SaysWhereItIsAndWhatIsTheCase) {
  json said = Read(PageOf(5));
  EXPECT_EQ(said["site"], "site-a");
  EXPECT_EQ(said["host"], "rbd-addons-controller-6d5f7c9b8d-x2x7k");
  EXPECT_EQ(said["version"], "1.2.3");
  EXPECT_EQ(said["time"], "2026-11-18T11:06:40Z");
  EXPECT_EQ(said["headline"], "no trouble seen");
  EXPECT_EQ(said["watched"], true);
  EXPECT_EQ(said["troubles"], json::array());
  EXPECT_EQ(said["totals"]["volumes"], 5);
  EXPECT_EQ(said["totals"]["protected"], 5);
  EXPECT_EQ(said["totals"]["primary_here"], 4);
  EXPECT_EQ(said["totals"]["stale"], 0);
  EXPECT_EQ(said["pools"][0]["states"]["in step"], 5);
  EXPECT_EQ(said["pools"][0]["seen_seconds_ago"], 12);
  EXPECT_FALSE(said["pools"][0].contains("peer_silent_seconds"));
  EXPECT_FALSE(said["clusters"][0].contains("silent_seconds"));
}

TEST(PageJsonTest, AVolumeHasWhatIsKnownOfIt) {
  StatusPage page = PageOf(1);
  auto seen = Copied(page);
  WatchedImage& image = seen->pools[0].images[0];
  image.lag_seconds = 100;
  page.watch = seen;
  json volume = Read(page)["volumes"][0];
  EXPECT_EQ(volume["name"], "shop-00/data-postgres-0");
  EXPECT_EQ(volume["claim"], "shop-00/data-postgres-0");
  EXPECT_EQ(volume["volume_name"], image.volume_name);
  EXPECT_EQ(volume["volume_id"], image.volume_id);
  EXPECT_EQ(volume["image"], "replicapool/" + image.image);
  EXPECT_EQ(volume["cluster"], "site-a");
  EXPECT_EQ(volume["role"], "primary");
  EXPECT_EQ(volume["state"], "in step");
  EXPECT_EQ(volume["copy_age_seconds"], 112);
  EXPECT_EQ(volume["interval_seconds"], 300);
  EXPECT_EQ(volume["bytes_remaining"], 0);
  for (const char* unknown : {"percent", "bytes_per_second", "seconds_left",
                              "missed_snapshots", "stale", "split_brain"}) {
    EXPECT_FALSE(volume.contains(unknown)) << unknown;
  }
  image.copy = CopyState::kCopying;
  image.percent = 50;
  image.bytes_remaining = 3000;
  image.bytes_per_second = 100;
  image.missed_snapshots = 2;
  image.split_brain = true;
  volume = Read(page)["volumes"][0];
  EXPECT_EQ(volume["state"], "copying");
  EXPECT_EQ(volume["percent"], 50);
  EXPECT_EQ(volume["bytes_per_second"], 100);
  EXPECT_EQ(volume["seconds_left"], 30);
  EXPECT_EQ(volume["missed_snapshots"], 2);
  EXPECT_EQ(volume["split_brain"], true);
}

TEST(PageJsonTest, ADeadClusterRunsOn) {
  json said = Read(WithDeadCluster(PageOf(100), seconds(700)));
  EXPECT_EQ(said["headline"],
            "no monitor of site-a has answered for 11 min (and 1 more)");
  EXPECT_EQ(said["troubles"][0]["kind"], "cluster-silent");
  EXPECT_EQ(said["troubles"][0]["severity"], "bad");
  EXPECT_EQ(said["troubles"][0]["command"], "ceph -s");
  EXPECT_EQ(said["troubles"][0]["runbook"], "docs/runbooks/cluster-silent.md");
  EXPECT_EQ(said["clusters"][0]["silent_seconds"], 700);
  EXPECT_EQ(said["totals"]["stale"], 100);
  EXPECT_EQ(said["totals"]["protected"], 0);
  EXPECT_GE(said["totals"]["oldest_copy_seconds"], 1400);
  EXPECT_EQ(said["pools"][0]["seen_seconds_ago"], 700);
  EXPECT_THAT(said["pools"][0]["unseen"].get<std::string>(),
              HasSubstr("timed out"));
  for (const json& volume : said["volumes"]) {
    EXPECT_TRUE(volume.value("stale", false));
    EXPECT_GE(volume.value("copy_age_seconds", 0), 700);
    EXPECT_NE(volume["state"], "in step");
  }
}

TEST(PageJsonTest, ThatTheClientIsOnTheBlocklistIsSaid) {
  StatusPage page = PageOf(5);
  auto seen = Copied(page);
  seen->pools[0].unseen = "on the blocklist";
  seen->pools[0].blocklisted_since = page.now - seconds(540);
  seen->pools.push_back(seen->pools[0]);
  page.watch = seen;
  json said = Read(page);
  ASSERT_EQ(said["troubles"].size(), 1U);
  EXPECT_EQ(said["troubles"][0]["kind"], "blocklisted");
  EXPECT_EQ(said["troubles"][0]["severity"], "bad");
  EXPECT_EQ(said["troubles"][0]["command"], "ceph osd blocklist ls");
  EXPECT_EQ(said["troubles"][0]["runbook"], "docs/runbooks/node-back.md");
  EXPECT_THAT(said["headline"].get<std::string>(),
              HasSubstr("this daemon's client on the blocklist: somebody has "
                        "fenced this node, or evicted the client, first seen "
                        "9 min ago"));
  EXPECT_EQ(said["pools"][0]["blocklisted_seconds"], 540);
  EXPECT_FALSE(Read(PageOf(5))["pools"][0].contains("blocklisted_seconds"));
}

TEST(PageJsonTest, ADeadPeerIsCounted) {
  json said = Read(WithDeadPeer(PageOf(100), seconds(131)));
  EXPECT_EQ(said["troubles"][0]["kind"], "peer-silent");
  EXPECT_EQ(said["pools"][0]["peer_silent_seconds"], 131);
  EXPECT_EQ(said["pools"][0]["peer_mirror_reports"], false);
  EXPECT_EQ(said["totals"]["protected"], 0);
}

TEST(PageJsonTest, TheQueryIsThatOfThePage) {
  StatusPage page = PageOf(300);
  page.query = "role=secondary&state=in-step&sort=age";
  json said = Read(page);
  ASSERT_GT(said["volumes"].size(), 10U);
  EXPECT_EQ(said["fitting"], said["volumes"].size());
  EXPECT_EQ(said["totals"]["volumes"], 300);
  int64_t before = said["volumes"][0]["copy_age_seconds"];
  for (const json& volume : said["volumes"]) {
    EXPECT_EQ(volume["role"], "secondary");
    EXPECT_EQ(volume["state"], "in step");
    EXPECT_LE(volume["copy_age_seconds"], before);
    before = volume["copy_age_seconds"];
  }
}

TEST(PageJsonTest, OperationsAreThereByName) {
  StatusPage page = PageOf(2);
  OperationInfo running;
  running.id = 3;
  running.verb = "demote";
  running.object = "volume '" + page.watch->pools[0].images[1].volume_id + "'";
  running.step = "waiting";
  running.age = seconds(41);
  running.done = 1;
  running.total = 2;
  page.operations = {running};
  EndedOperation ended;
  ended.verb = "promote";
  ended.object = "volume 'elsewhere'";
  ended.status = absl::UnavailableError("later");
  ended.ended_at = page.now - seconds(9);
  page.ended = {ended};
  json said = Read(page);
  EXPECT_EQ(said["operations"][0]["object"],
            "volume 'shop-00/data-postgres-1'");
  EXPECT_EQ(said["operations"][0]["age_seconds"], 41);
  EXPECT_EQ(said["operations"][0]["done"], 1);
  EXPECT_EQ(said["ended"][0]["object"], "volume 'elsewhere'");
  EXPECT_EQ(said["ended"][0]["outcome"], "UNAVAILABLE");
  EXPECT_EQ(said["ended"][0]["message"], "later");
  EXPECT_EQ(said["ended"][0]["ended_seconds_ago"], 9);
}

TEST(PageJsonTest, WhatOthersWroteIsEscaped) {
  StatusPage page = PageOf(1);
  auto seen = Copied(page);
  WatchedImage& image = seen->pools[0].images[0];
  const std::string evil = "a\"b\\c\n\x01</script>\xC3\xA4";
  image.claim = evil;
  image.message = "no UTF-8: \xFF\xFE";
  image.copy = CopyState::kLate;
  page.watch = seen;
  json said = Read(page);
  EXPECT_EQ(said["volumes"][0]["name"], evil);
  EXPECT_EQ(said["volumes"][0]["message"],
            "no UTF-8: \xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(PageJsonTest, WithoutAWatchTheRestIsSaid) {
  StatusPage page = EmptyPage();
  page.not_ready = "starting";
  json said = Read(page);
  EXPECT_EQ(said["watched"], false);
  EXPECT_EQ(said["headline"], "not ready: starting");
  EXPECT_FALSE(said.contains("volumes"));
}

}  // namespace
}  // namespace addons::testing
