// What rbd-mirror says of an image, as every recorded release writes it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/json.h"
#include "ceph/mirror.h"
#include "replication/look/report.h"
#include "tests/testing/recorded_ceph.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using nlohmann::json;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

/// As librbd numbers the words that `rbd` prints.
MirrorStatusState StateOf(const std::string& word) {
  if (word == "error") return MirrorStatusState::kError;
  if (word == "syncing") return MirrorStatusState::kSyncing;
  if (word == "starting_replay") return MirrorStatusState::kStartingReplay;
  if (word == "replaying") return MirrorStatusState::kReplaying;
  if (word == "stopping_replay") return MirrorStatusState::kStoppingReplay;
  if (word == "stopped") return MirrorStatusState::kStopped;
  EXPECT_EQ(word, "unknown");
  return MirrorStatusState::kUnknown;
}

SiteStatus StatusOf(const json& report) {
  const auto word = report.value("state", "");
  SiteStatus status;
  status.up = word.substr(0, 3) == "up+";
  status.state = StateOf(word.substr(word.find('+') + 1));
  status.description = report.value("description", "");
  return status;
}

class RecordedStatusTest : public ::testing::TestWithParam<std::string> {
 protected:
  json Answer(const std::string& name) {
    return ParseJson(Recorded(GetParam(), "mirror-status/" + name + ".json"));
  }
  /// What the site says that was asked.
  SiteStatus Here(const std::string& name) { return StatusOf(Answer(name)); }
  /// What it has from the other one.
  SiteStatus There(const std::string& name) {
    const json answer = Answer(name);
    EXPECT_EQ(answer.at("peer_sites").size(), 1U);
    return StatusOf(answer.at("peer_sites").at(0));
  }
  SyncNumbers Numbers(const SiteStatus& status) {
    const auto numbers = ParseSyncNumbers(status.description);
    EXPECT_OK(numbers);
    if (!numbers.ok() || !numbers->has_value()) {
      ADD_FAILURE() << "no numbers: " << status.description;
      return {};
    }
    return **numbers;
  }
};

TEST_P(RecordedStatusTest, ASecondaryInStepHasNumbers) {
  const SiteStatus status = Here("secondary-replaying");
  EXPECT_EQ(SaysOf(status), Says::kSecondary);
  EXPECT_FALSE(IsSyncing(status));
  const SyncNumbers numbers = Numbers(status);
  EXPECT_EQ(numbers.replay_state, "idle");
  EXPECT_GT(numbers.local_snapshot_time.value_or(0), 1700000000);
  EXPECT_EQ(numbers.remote_snapshot_time, numbers.local_snapshot_time);
  EXPECT_EQ(numbers.last_snapshot_bytes, int64_t{1} << 30);
  EXPECT_TRUE(numbers.last_snapshot_seconds.has_value());
  EXPECT_FALSE(numbers.syncing_percent.has_value());
  EXPECT_EQ(DescriptionText(status.description), "replaying");
}

TEST_P(RecordedStatusTest, ASecondaryThatCopiesSaysHowFar) {
  const SiteStatus status = Here("secondary-copying");
  EXPECT_EQ(SaysOf(status), Says::kSecondary);
  EXPECT_TRUE(IsSyncing(status));
  const SyncNumbers numbers = Numbers(status);
  EXPECT_EQ(numbers.replay_state, "syncing");
  EXPECT_TRUE(numbers.syncing_percent.has_value());
  EXPECT_GT(numbers.remote_snapshot_time, numbers.local_snapshot_time);
}

TEST_P(RecordedStatusTest, AFirstCopyIsNoStateToGoBackTo) {
  const SiteStatus status = Here("first-copy");
  EXPECT_EQ(SaysOf(status), Says::kSecondary);
  EXPECT_TRUE(IsSyncing(status));
  const SyncNumbers numbers = Numbers(status);
  EXPECT_TRUE(numbers.syncing_percent.has_value());
  EXPECT_GT(numbers.remote_snapshot_time.value_or(0), 1700000000);
  EXPECT_FALSE(numbers.local_snapshot_time.has_value());
  // The other site's rbd-mirror has not looked at its own image yet.
  EXPECT_TRUE(There("first-copy").up);
  EXPECT_NE(SaysOf(There("first-copy")), Says::kPrimary);
}

TEST_P(RecordedStatusTest, ThePrimaryIsKnownHereAndAtItsPeer) {
  EXPECT_EQ(SaysOf(Here("primary")), Says::kPrimary);
  EXPECT_EQ(SaysOf(There("primary")), Says::kSecondary);
  EXPECT_EQ(SaysOf(There("secondary-replaying")), Says::kPrimary);
}

TEST_P(RecordedStatusTest, WithBothDemotedNoSiteIsPrimary) {
  EXPECT_EQ(SaysOf(Here("both-demoted")), Says::kNotPrimary);
  EXPECT_EQ(SaysOf(Here("both-demoted-old-primary")), Says::kNotPrimary);
}

TEST_P(RecordedStatusTest, ASplitBrainIsNoOrdinaryError) {
  EXPECT_EQ(SaysOf(Here("split-brain")), Says::kSplitBrain);
  EXPECT_EQ(SaysOf(There("split-brain")), Says::kPrimary);
}

TEST_P(RecordedStatusTest, AJournalHasNoSnapshotNumbers) {
  const SiteStatus status = Here("journal-replaying");
  EXPECT_EQ(SaysOf(status), Says::kSecondary);
  const SyncNumbers numbers = Numbers(status);
  EXPECT_EQ(numbers.replay_state, "");
  EXPECT_FALSE(numbers.local_snapshot_time.has_value());
  EXPECT_FALSE(numbers.last_snapshot_bytes.has_value());
  // Its first report, from before the first entry was read.
  EXPECT_FALSE(HasReplayed(status));
}

TEST_P(RecordedStatusTest, ADemotedJournalHasNoPrimary) {
  EXPECT_EQ(SaysOf(Here("journal-demoted")), Says::kNotPrimary);
  EXPECT_EQ(SaysOf(There("journal-demoted")), Says::kNotPrimary);
}

TEST_P(RecordedStatusTest, ADeadRbdMirrorLeavesItsLastWords) {
  const SiteStatus status = Here("daemon-down");
  EXPECT_FALSE(status.up);
  EXPECT_EQ(SaysOf(status), Says::kSecondary);
  EXPECT_TRUE(There("daemon-down").up);
}

// Those that docs/compatibility.md promises, and no folder under a wrong name.
TEST(RecordedReleasesTest, AreThoseOfTheSupportedDebians) {
  std::set<std::string> series;
  for (const std::string& release : RecordedReleases()) {
    EXPECT_THAT(Recorded(release, "version.txt"),
                StartsWith("ceph version " + release + " "));
    series.insert(release.substr(0, release.rfind('.')));
  }
  EXPECT_THAT(series, IsSupersetOf({"16.2", "18.2", "20.2"}));
}

INSTANTIATE_TEST_SUITE_P(Releases, RecordedStatusTest,
                         ::testing::ValuesIn(RecordedReleases()), ReleaseName);

}  // namespace
}  // namespace addons::testing
