// Every daemon of a Ceph cluster dies and is started again, while ours runs on.

#include "tests/cluster/reclaim_bed.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;

/// On bluestore, because the OSD has to come back with its data. It gets other
/// addresses then.
class OutageTest : public ReclaimBed {
 protected:
  static bool Known(const TestVolume& volume) {
    ::replication::GetVolumeReplicationInfoResponse info;
    return Info("a", volume, &info).ok();
  }
};

TEST_F(OutageTest, TheDaemonServesAgainWhenTheClusterIsBack) {
  const TestVolume volume = MakeReplicatedVolume();
  ASSERT_TRUE(Eventually([&] { return Known(volume); }));
  const TestVolume hollow = MakeHollowVolume();
  // Both connections are in use before the outage.
  ASSERT_THAT(Reclaim(hollow).status, HasCode(Code::OK));
  Testbed("kill", {"a", "all"});
  EXPECT_FALSE(Known(volume));
  Testbed("start", {"a", "all"});
  EXPECT_TRUE(Eventually([&] { return Known(volume); }, seconds(40)));
  EXPECT_THAT(Reclaim(hollow).status, HasCode(Code::OK));
  EXPECT_EQ(Outcome(hollow), "sparsified");
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
}

}  // namespace
}  // namespace addons::testing
