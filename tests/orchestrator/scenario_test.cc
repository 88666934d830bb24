// Relocation, failover and failback as the operator and an orchestrator carry
// them out, with daemons restarted in between. What counts is the end.

#include <map>
#include <string>

#include "tests/orchestrator/orchestrated_sites.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;

class RelocationTest : public OrchestratedSitesTest {};

TEST_F(RelocationTest, NothingIsForcedAndNothingLostThroughRestarts) {
  Volumes volumes;
  ProtectAllKinds(&volumes);
  std::map<std::string, uint64_t> written;
  for (const auto& volume : volumes) {
    Write("a", volume->volume, "from a: " + volume->volume.image);
    written[volume->volume.image] = Digest("a", volume->volume);
  }
  // rbd-mirror of the source is being rescheduled, the manager of the target
  // as well, and both sides are asked at once.
  Stop("a", "rbd-mirror");
  Testbed("kill", {"b", "mgr"});
  for (const auto& volume : volumes) {
    Want(*volume, "a", Role::kSecondary);
    Create(*volume, "b", Role::kPrimary);
  }
  Restart("a");
  Testbed("start", {"b", "mgr"});
  Restart("b");
  for (const auto& volume : volumes) volume->on("b").RestartOperator();
  ForEach(volumes, [&](Volume& volume) {
    AwaitState(volume, "b", Role::kPrimary, minutes(3));
    EXPECT_FALSE(WasForced(volume, "b")) << volume.logs.at("b")->Text();
    EXPECT_EQ(Digest("b", volume.volume), written.at(volume.volume.image));
  });
  Continue("a", "rbd-mirror");
  ForEach(volumes, [&](Volume& volume) {
    Write("b", volume.volume, "from b: " + volume.volume.image);
    CleanUp(volume, "a", minutes(3));
    ExpectInStep(volume, "b");
  });
  ExpectNothingLeft(volumes);
}

class FailoverTest : public OrchestratedSitesTest {};

TEST_F(FailoverTest, TheSiteThatComesBackFollowsAfterItsResourceIsGone) {
  Volumes volumes;
  ProtectAllKinds(&volumes);
  std::map<std::string, uint64_t> arrived;
  for (const auto& volume : volumes) {
    Write("a", volume->volume, "arrived: " + volume->volume.image);
    Synchronize("a", volume->volume);
    arrived[volume->volume.image] = Digest("b", volume->volume);
    Write("a", volume->volume, "lost: " + volume->volume.image);
  }
  StopSite("a");
  for (const auto& volume : volumes) Create(*volume, "b", Role::kPrimary);
  // The daemon that decides is restarted once; it must wait anew.
  Restart("b");
  ForEach(volumes, [&](Volume& volume) {
    AwaitState(volume, "b", Role::kPrimary, minutes(6));
    EXPECT_TRUE(WasForced(volume, "b")) << volume.logs.at("b")->Text();
    EXPECT_EQ(Digest("b", volume.volume), arrived.at(volume.volume.image));
    Write("b", volume.volume, "from b: " + volume.volume.image);
  });
  ContinueSite("a");
  for (const auto& volume : volumes) Want(*volume, "a", Role::kSecondary);
  Restart("a");
  ForEach(volumes, [&](Volume& volume) {
    CleanUp(volume, "a", minutes(6));
    ExpectInStep(volume, "b");
  });
  ExpectNothingLeft(volumes);
}

}  // namespace
}  // namespace addons::testing
