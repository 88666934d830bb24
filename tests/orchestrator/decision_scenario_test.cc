// The decisions of a failover as the operator carries them out: what it makes
// of each answer, which it repeats, forces or gives up, is part of the result.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/orchestrator/orchestrated_sites.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

/// Longer than the settle time and the takeover time of the suites' daemons.
constexpr seconds kLongerThanAnyPatience{150};

/// Planned moves while something stands in their way. Nobody is ever forced.
class HinderedMoveTest : public OrchestratedSitesTest {
 protected:
  static void ExpectMoved(Volume& volume, uint64_t written) {
    AwaitState(volume, "b", Role::kPrimary, minutes(4));
    EXPECT_FALSE(WasForced(volume, "b")) << volume.logs.at("b")->Text();
    EXPECT_EQ(Digest("b", volume.volume), written);
  }
};

TEST_F(HinderedMoveTest, WaitsWhileTheMirrorsOfBothSitesAreAway) {
  Volumes volumes;
  volumes.push_back(Protect(ScheduleNotDue(), {}));
  Volume& volume = *volumes.back();
  Stop("a", "rbd-mirror");
  Stop("b", "rbd-mirror");
  Write("a", volume.volume, "the last word");
  const uint64_t written = Digest("a", volume.volume);
  Want(volume, "a", Role::kSecondary);
  Create(volume, "b", Role::kPrimary);
  ExpectWaits(volume, "b", kLongerThanAnyPatience);
  EXPECT_THAT(volume.on("b").Get().status.message,
              HasSubstr("rbd-mirror of this site is down"));
  Continue("a", "rbd-mirror");
  Continue("b", "rbd-mirror");
  ExpectMoved(volume, written);
  CleanUp(volume, "a", minutes(4));
  ExpectInStep(volume, "b");
  ExpectNothingLeft(volumes);
}

TEST_F(HinderedMoveTest, WaitsForAWorkloadThatStopsSlowly) {
  Volumes volumes;
  volumes.push_back(Protect({{"schedulingInterval", "1m"}}, {}));
  Volume& volume = *volumes.back();
  auto workload = OpenDisk("a", volume.volume);
  // Both resources are changed at once.
  Want(volume, "a", Role::kSecondary);
  Create(volume, "b", Role::kPrimary);
  ExpectWaits(volume, "b", kLongerThanAnyPatience);
  // The first answer may be from before that was told; the next one comes when
  // the operator's call ends that waits.
  EXPECT_TRUE(Eventually(
      [&] {
        return absl::StrContains(volume.on("b").Get().status.message,
                                 "workload");
      },
      minutes(4)))
      << volume.on("b").Get().status.message;
  workload.reset();
  Write("a", volume.volume, "the last word");
  const uint64_t written = Digest("a", volume.volume);
  // By now the operator comes back to a after minutes only.
  volume.on("a").RestartOperator();
  ExpectMoved(volume, written);
  CleanUp(volume, "a", minutes(4));
  ExpectInStep(volume, "b");
  ExpectNothingLeft(volumes);
}

/// A suite of its own, because each takes minutes.
class MoveThatGoesBackTest : public HinderedMoveTest {};

TEST_F(MoveThatGoesBackTest, BothResourcesGoBack) {
  Volumes volumes;
  volumes.push_back(Protect(ScheduleNotDue(), {}));
  Volume& volume = *volumes.back();
  Write("a", volume.volume, "the last word");
  const uint64_t written = Digest("a", volume.volume);
  Stop("b", "rbd-mirror");
  Want(volume, "a", Role::kSecondary);
  Create(volume, "b", Role::kPrimary);
  AwaitState(volume, "a", Role::kSecondary, minutes(1));
  Want(volume, "b", Role::kSecondary);
  // The operator's call that waits ends first, after --max-wait.
  AwaitState(volume, "b", Role::kSecondary, minutes(5));
  Want(volume, "a", Role::kPrimary);
  Continue("b", "rbd-mirror");
  AwaitState(volume, "a", Role::kPrimary, minutes(5));
  EXPECT_FALSE(WasForced(volume, "a")) << volume.logs.at("a")->Text();
  EXPECT_FALSE(WasForced(volume, "b")) << volume.logs.at("b")->Text();
  EXPECT_EQ(Digest("a", volume.volume), written);
  Write("a", volume.volume, "goes on");
  CleanUp(volume, "b", minutes(4));
  ExpectInStep(volume, "a");
  ExpectNothingLeft(volumes);
}

/// The other site lives and is primary, and nobody can reach its resource.
class PrimaryTakeoverTest : public OrchestratedSitesTest {};

TEST_F(PrimaryTakeoverTest, ALivingPrimaryIsForcedAsideAndFollowsLater) {
  Volumes volumes;
  volumes.push_back(Protect(ScheduleNotDue(), {}));
  Volume& volume = *volumes.back();
  Write("a", volume.volume, "arrived");
  Synchronize("a", volume.volume);
  const uint64_t arrived = Digest("b", volume.volume);
  Write("a", volume.volume, "lost");
  Create(volume, "b", Role::kPrimary);
  AwaitState(volume, "b", Role::kPrimary, minutes(6));
  EXPECT_TRUE(WasForced(volume, "b")) << volume.logs.at("b")->Text();
  EXPECT_EQ(Digest("b", volume.volume), arrived);
  Write("b", volume.volume, "from b");
  Want(volume, "a", Role::kSecondary);
  CleanUp(volume, "a", minutes(8));
  ExpectInStep(volume, "b");
  ExpectNothingLeft(volumes);
}

class GroupScenarioTest : public OrchestratedSitesTest {};

TEST_F(GroupScenarioTest, MovesAsOneAndComesBackFromADisaster) {
  ProtectedGroup group = ProtectGroup(3);
  Volume& resource = *group.resource;
  uint64_t number = 0;
  const auto write = [&](const std::string& site) {
    ++number;
    for (const TestVolume& member : group.members) {
      Write(site, member, absl::StrCat(member.image, " ", number));
    }
  };
  const auto digests = [&](const std::string& site) {
    std::vector<uint64_t> all;
    for (const TestVolume& member : group.members) {
      all.push_back(Digest(site, member));
    }
    return all;
  };
  write("a");
  const std::vector<uint64_t> written = digests("a");
  Want(resource, "a", Role::kSecondary);
  Create(resource, "b", Role::kPrimary);
  AwaitState(resource, "b", Role::kPrimary, minutes(4));
  EXPECT_FALSE(WasForced(resource, "b")) << resource.logs.at("b")->Text();
  EXPECT_EQ(digests("b"), written);
  write("b");
  CleanUp(resource, "a", minutes(4));
  for (const TestVolume& member : group.members) ExpectInStep(member, "b");

  const std::vector<uint64_t> arrived = digests("b");
  write("b");
  StopSite("b");
  Create(resource, "a", Role::kPrimary);
  AwaitState(resource, "a", Role::kPrimary, minutes(6));
  EXPECT_TRUE(WasForced(resource, "a")) << resource.logs.at("a")->Text();
  EXPECT_EQ(digests("a"), arrived);
  write("a");
  ContinueSite("b");
  Want(resource, "b", Role::kSecondary);
  CleanUp(resource, "b", minutes(8));
  for (const TestVolume& member : group.members) ExpectInStep(member, "a");
  ExpectNothingLeft(group.members);
}

}  // namespace
}  // namespace addons::testing
