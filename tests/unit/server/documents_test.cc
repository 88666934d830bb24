// What the status page leads to.

#include "server/page/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "server/page/troubles.h"
#include "tests/unit/server/page_testing.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;

std::string FileOf(absl::string_view path) {
  std::ifstream file(std::string(ADDONS_SOURCE "/") + std::string(path));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(DocumentsTest, AreThoseOfTheSource) {
  std::set<std::string> served;
  for (const Document& document : Documents()) {
    EXPECT_EQ(document.text, FileOf(document.path)) << document.path;
    served.insert(std::string(document.path));
  }
  EXPECT_TRUE(served.contains(kAlertsDocument));
  for (const auto& entry :
       std::filesystem::directory_iterator(ADDONS_SOURCE "/docs/runbooks")) {
    EXPECT_TRUE(
        served.contains("docs/runbooks/" + entry.path().filename().string()))
        << entry.path();
  }
}

/// One that has everything that can be wrong.
StatusPage AllTroubles() {
  StatusPage page = WithDeadPeer(PageOf(100), std::chrono::seconds(100));
  auto seen = std::make_shared<WatchSnapshot>(*page.watch);
  WatchedPool pool = EmptyPool(page);
  std::mt19937_64 random(1);
  for (const CopyState state :
       {CopyState::kLate, CopyState::kBroken, CopyState::kUnknown}) {
    WatchedImage image = HealthyImage(random, 1);
    image.copy = state;
    image.missed_snapshots = 1;
    Keep(image, &pool);
  }
  for (const bool parent : {false, true}) {
    WatchedImage image = HealthyImage(random, 1);
    image.copy = CopyState::kBroken;
    image.lacks_parent = parent;
    image.awaits_restore = !parent;
    Keep(image, &pool);
  }
  WatchedImage damaged = HealthyImage(random, 1);
  damaged.copy = CopyState::kBroken;
  damaged.proof = {"first", 1, 2, 3, 0};
  Keep(damaged, &pool);
  WatchedImage rolled = HealthyImage(random, 1);
  rolled.copy = CopyState::kBroken;
  rolled.rolls_back = true;
  Keep(rolled, &pool);
  pool.pool = "second";
  pool.schedules_unseen = "no answer";
  seen->pools.push_back(pool);
  pool.pool = "third";
  pool.local_mirror_up = false;
  seen->pools.push_back(pool);
  pool.pool = "fourth";
  pool.cluster_id = "site-c";
  pool.unseen = "refused";
  seen->pools.push_back(pool);
  pool.pool = "cut off";
  pool.blocklisted_since = page.now;
  seen->pools.push_back(pool);
  pool.blocklisted_since.reset();
  pool.pool = "fifth";
  pool.seen_at.reset();
  seen->pools.push_back(pool);
  WatchedFences silent;
  silent.cluster_id = "site-d";
  silent.silent_since = page.now;
  seen->fences.push_back(silent);
  WatchedFences ends;
  ends.cluster_id = "site-e";
  ends.seen_at = page.now;
  ends.unseen = "refused";
  ends.fences = {{"10.0.0.1/32", kPageNow + 60}};
  seen->fences.push_back(ends);
  seen->pools_left_out = 2;
  page.watch = seen;
  OperationInfo stuck;
  stuck.stuck = true;
  page.operations = {stuck};
  page.broken_configuration = {"config.json"};
  page.not_ready = "starting";
  return page;
}

TEST(DocumentsTest, EachTroubleLeadsToOneThatIsServed) {
  std::set<std::string> served;
  for (const Document& document : Documents()) {
    served.insert(std::string(document.path));
  }
  std::set<std::string> kinds;
  for (const Trouble& trouble : TroublesOf(AllTroubles())) {
    kinds.insert(trouble.kind);
    EXPECT_TRUE(served.contains(trouble.document))
        << trouble.kind << ": " << trouble.document;
    if (trouble.bad) {
      EXPECT_NE(trouble.command, "") << trouble.kind;
    }
    EXPECT_NE(trouble.headline, "");
    // docs/metrics.md has the words for programs.
    EXPECT_THAT(FileOf("docs/metrics.md"), HasSubstr("`" + trouble.kind + "`"));
  }
  EXPECT_EQ(kinds.size(), 22U) << ::testing::PrintToString(kinds);
}

/// What an alert leads to is what the page leads to.
TEST(DocumentsTest, TheAlertsNameTheSameRunbooks) {
  const std::string alerts = FileOf(kAlertsDocument);
  for (const char* runbook :
       {"split-brain", "rbd-mirror-down", "copy-late", "mirrored-clone",
        "forced-promotion-unfinished", "cluster-silent"}) {
    EXPECT_THAT(alerts, HasSubstr(std::string("runbooks/") + runbook + ".md"));
  }
}

}  // namespace
}  // namespace addons::testing
