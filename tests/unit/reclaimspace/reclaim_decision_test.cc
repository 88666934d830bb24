#include "reclaimspace/reclaim_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "reclaimspace/image_usage.h"

namespace addons {
namespace {

using ::testing::HasSubstr;

constexpr auto kNo = WithSnapshots::kNo;
constexpr auto kYes = WithSnapshots::kYes;

const Watcher kWorkload{"10.0.0.7:0/1", 4464, 1};
const Locker kLock{"client.4464", "auto 1", "10.0.0.7:0/1"};

void ExpectSkip(const std::optional<SkipReason>& skip, ReclaimOutcome outcome,
                const std::string& reason) {
  ASSERT_TRUE(skip.has_value());
  EXPECT_EQ(skip->outcome, outcome) << skip->reason;
  EXPECT_THAT(skip->reason, HasSubstr(reason));
}

TEST(ReclaimDecisionTest, AnImageThatNobodyUsesMayBeSparsified) {
  EXPECT_FALSE(WhySkip({}, kNo).has_value());
}

TEST(ReclaimDecisionTest, ASecondaryIsSkippedWhateverElseIsSeen) {
  ImageFacts facts;
  facts.secondary = true;
  facts.workloads = {kWorkload};
  facts.snapshots = {{4, "", SnapshotKind::kMirror}};
  ExpectSkip(WhySkip(facts, kYes), ReclaimOutcome::kSecondary, "secondary");
}

TEST(ReclaimDecisionTest, AMigrationIsNotDisturbed) {
  ImageFacts facts;
  facts.features.migrating = true;
  ExpectSkip(WhySkip(facts, kYes), ReclaimOutcome::kMigrating, "migrated");
}

TEST(ReclaimDecisionTest, AWatcherOrALockMeansInUseAndIsNamed) {
  ImageFacts watched;
  watched.workloads = {kWorkload};
  ExpectSkip(WhySkip(watched, kYes), ReclaimOutcome::kInUse,
             "client.4464 at 10.0.0.7:0/1");
  ImageFacts locked;
  locked.lockers = {kLock};
  ExpectSkip(WhySkip(locked, kYes), ReclaimOutcome::kInUse,
             "locked by client.4464 at 10.0.0.7:0/1");
}

TEST(ReclaimDecisionTest, ADaemonAtWorkIsNoWorkload) {
  ImageFacts facts;
  facts.workloads = {kWorkload};
  facts.lockers = {kLock};
  facts.sparsifiers = {4464, 4465};
  ExpectSkip(WhySkip(facts, kNo), ReclaimOutcome::kOtherDaemon, "client.4464");
  facts.workloads.push_back({"10.0.0.8:0/1", 5000, 2});
  ExpectSkip(WhySkip(facts, kNo), ReclaimOutcome::kInUse, "client.5000");
}

TEST(ReclaimDecisionTest, ALockLeftByAKilledDaemonIsNoObstacle) {
  ImageFacts facts;
  facts.lockers = {kLock};
  facts.sparsifiers = {4464};
  EXPECT_FALSE(WhySkip(facts, kNo).has_value());
  facts.lockers.front().client = "client.4470";
  ExpectSkip(WhySkip(facts, kNo), ReclaimOutcome::kInUse, "client.4470");
}

TEST(ReclaimDecisionTest, AUsageThatIsNotKnownIsSaid) {
  EXPECT_EQ(UsageText(std::nullopt), "unknown");
  EXPECT_EQ(UsageText(uint64_t{3} << 20), "3 MiB");
}

TEST(ReclaimDecisionTest, SnapshotsOfEveryKindCountUnlessAllowed) {
  for (const SnapshotKind kind :
       {SnapshotKind::kUser, SnapshotKind::kGroup, SnapshotKind::kTrash,
        SnapshotKind::kMirror, SnapshotKind::kUnknown}) {
    ImageFacts facts;
    facts.snapshots = {{4, "s", kind}};
    ExpectSkip(WhySkip(facts, kNo), ReclaimOutcome::kSnapshots, "1 ");
    EXPECT_FALSE(WhySkip(facts, kYes).has_value());
  }
}

}  // namespace
}  // namespace addons
