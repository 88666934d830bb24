// How long a disaster takes with rbd-mirror's default intervals: volumes of
// snapshot mode alone, and beside volumes of journal mode in their pool. The
// forced promotion of the first ends the copying of all, which silences this
// site's rbd-mirror.

#include <iostream>
#include <string>

#include "tests/orchestrator/orchestrated_sites.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::steady_clock;

/// Reports are half a minute apart, so that a disaster takes so much more or
/// less by the moment at which it begins.
constexpr seconds kReports{30};

class LongDisasterTimeTest : public OrchestratedSitesTest {
 public:
  static void SetUpTestSuite() {
    StartDaemonsWithDefaultTimes();
    // Otherwise an rbd-mirror with four volumes of journal mode hangs beside
    // the dead site: docs/compatibility.md.
    for (const std::string site : {"a", "b"}) {
      Testbed("ceph", {site, "config", "set", "client",
                       "objecter_inflight_op_bytes", "2147483648"});
    }
    for (const std::string site : {"a", "b"}) {
      Testbed("end", {site, "rbd-mirror"});
      Testbed("start", {site, "rbd-mirror"});
    }
  }

 protected:
  void ProtectMore(int count, const Parameters& parameters, Volumes* volumes) {
    for (int i = 0; i < count; ++i) volumes->push_back(Protect(parameters, {}));
  }
  /// The first copy is whole once replication info says more than NOT_FOUND.
  static void AwaitCopies(const Volumes& volumes) {
    for (const auto& volume : volumes) {
      EXPECT_TRUE(Eventually(
          [&] {
            ::replication::GetVolumeReplicationInfoResponse info;
            return Info("a", volume->volume, &info).ok();
          },
          minutes(10)));
    }
  }
  /// From the death of site a until all of them are primary on site b; puts all
  /// back in order afterwards.
  seconds Disaster(const Volumes& volumes) {
    AwaitCopies(volumes);
    StopSite("a");
    const auto begin = steady_clock::now();
    ForEach(volumes, [&](Volume& volume) {
      Create(volume, "b", Role::kPrimary);
      AwaitState(volume, "b", Role::kPrimary, minutes(15));
    });
    const auto took =
        std::chrono::duration_cast<seconds>(steady_clock::now() - begin);
    ContinueSite("a");
    ForEach(volumes, [&](Volume& volume) {
      EXPECT_TRUE(WasForced(volume, "b"));
      Want(volume, "a", Role::kSecondary);
      CleanUp(volume, "a", minutes(30));
    });
    return took;
  }
};

TEST_F(LongDisasterTimeTest, JournalVolumesBesideOthersTakeNoLonger) {
  Volumes alone;
  ProtectMore(4, {}, &alone);
  const seconds of_snapshots = Disaster(alone);
  Volumes both;
  ProtectMore(4, {}, &both);
  ProtectMore(4, {{"mirroringMode", "journal"}}, &both);
  const seconds of_both = Disaster(both);
  std::cerr << "volumes of snapshot mode alone: " << of_snapshots.count()
            << " s; beside volumes of journal mode: " << of_both.count() << " s"
            << std::endl;
  EXPECT_LE(of_both * 10, of_snapshots * 11 + kReports * 10);
}

}  // namespace
}  // namespace addons::testing
