// What a call costs the OSDs of a real cluster, by their own counters: no more
// than docs/performance.md says.

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "base/json.h"
#include "tests/cluster/reclaim_bed.h"
#include "tests/testing/documented_calls.h"

namespace addons::testing {
namespace {

/// Served operations, reads and writes, of one call each. The least that was
/// seen counts: managers and watches ask the OSDs, too, and more so in a call
/// that a busy machine makes long.
class OsdBudgetTest : public ReclaimBed {
 public:
  /// What is looked at when no call asks would be counted, too.
  static void SetUpTestSuite() { SetUpWith({"--watch-interval=0"}); }

 protected:
  static int Served(const std::string& site) {
    const auto counters = ParseJson(
        Testbed("ceph", {site, "tell", "osd.0", "perf", "dump", "osd"}));
    return counters.at("osd").at("op").get<int>();
  }
  /// The rbd-mirrors stand still meanwhile, so librbd waits in vain for them to
  /// hear of a change, some seconds each time. False: the call was not OK.
  bool Count(const std::string& name, const std::string& site,
             const std::function<grpc::Status()>& call) {
    for (const std::string each : {"a", "b"}) Stop(each, "rbd-mirror");
    const int before = Served(site);
    const grpc::Status status = call();
    const int cost = Served(site) - before;
    for (const std::string each : {"a", "b"}) Continue(each, "rbd-mirror");
    std::cout << name << ": " << cost << " OSD operations, code "
              << status.error_code() << " " << status.error_message()
              << std::endl;
    if (!status.ok()) return false;
    const auto [it, first] = least_.try_emplace(name, cost);
    it->second = std::min(it->second, cost);
    return true;
  }
  /// The same several times, for a call that finds all done.
  bool CountAgain(const std::string& name, const std::string& site,
                  const std::function<grpc::Status()>& call) {
    constexpr int kTries = 3;
    for (int i = 0; i < kTries; ++i) {
      if (!Count(name, site, call)) return false;
    }
    return true;
  }
  bool CountLifeOfAVolume();
  bool IsWithin(const CallCounts& most) {
    return std::all_of(most.begin(), most.end(), [&](const auto& row) {
      const auto found = least_.find(row.first);
      return found != least_.end() && found->second <= row.second;
    });
  }
  void ExpectWithin(const CallCounts& most) {
    for (const auto& [name, cost] : least_) {
      RecordProperty(name, cost);
      const auto found = most.find(name);
      if (found == most.end()) {
        ADD_FAILURE() << name << " has no row";
      } else {
        EXPECT_LE(cost, found->second) << name;
      }
    }
    EXPECT_EQ(least_.size(), most.size()) << "a row that nothing measures";
  }
  bool IsFollowed(const std::string& site, const TestVolume& volume) {
    return Eventually([&] {
      return absl::StrContains(Rbd(site, {"status", ImageSpec(volume)}),
                               "watcher=");
    });
  }

  std::map<std::string, int> least_;
};

/// From its first replication to its last. False: a call was not OK.
bool OsdBudgetTest::CountLifeOfAVolume() {
  const Parameters schedule = ScheduleNotDue();
  TestVolume volume = MakeVolume();
  const TestVolume written = MakeVolume();
  if (OpenDisk("a", written)->Write(0, "x") != 0) return false;
  const auto reclaim = [&] { return Reclaim(volume).status; };
  const auto work = [&] { return Reclaim(written).status; };
  const auto enable = [&] { return Enable("a", volume, schedule); };
  const auto promote = [&] { return Promote("a", volume, false, schedule); };
  if (!CountAgain("ControllerReclaimSpace, no object", "a", reclaim) ||
      !CountAgain("ControllerReclaimSpace, one object", "a", work) ||
      !Count("EnableVolumeReplication", "a", enable) ||
      !CountAgain("EnableVolumeReplication, again", "a", enable) ||
      !promote().ok() || !CountAgain("PromoteVolume, again", "a", promote)) {
    return false;
  }
  volume.id_b = Testbed("peer-journal", {"b", volume.id_a});
  Synchronize("a", volume);
  // Otherwise a demotion waits for it.
  if (!IsFollowed("a", volume)) return false;
  // The first answer has the daemon remove its note of the first copy.
  const auto info = [&] {
    ::replication::GetVolumeReplicationInfoResponse response;
    return Info("a", volume, &response);
  };
  const auto resync = [&] {
    bool ready = false;
    return Resync("b", volume, false, &ready);
  };
  if (!Eventually([&] { return info().ok() && resync().ok(); }) ||
      !CountAgain("GetVolumeReplicationInfo", "a", info) ||
      !CountAgain("ResyncVolume, in step", "b", resync) ||
      !Count("DemoteVolume", "a", [&] { return Demote("a", volume); }) ||
      !Eventually([&] {
        const SeenSnapshot newest = NewestSnapshot("b", volume);
        return newest.demoted && newest.complete;
      })) {
    return false;
  }
  const auto disable = [&] { return Disable("b", volume); };
  // Otherwise a disable waits for that.
  const auto replays = [&] {
    return absl::StrContains(Status("b", volume), "replaying");
  };
  return Count("PromoteVolume", "b",
               [&] { return Promote("b", volume, false, schedule); }) &&
         Eventually(replays) &&
         Count("DisableVolumeReplication", "b", disable) &&
         CountAgain("DisableVolumeReplication, again", "b", disable);
}

TEST_F(OsdBudgetTest, OfEachVerb) {
  const CallCounts most =
      DocumentedCalls(ADDONS_PERFORMANCE_DOC, "OSD operations at most");
  // Its connections, and what is done once in a while.
  ASSERT_THAT(Enable("a", MakeVolume(), ScheduleNotDue()), HasCode(Code::OK));
  bool complete = false;
  for (int volumes = 0; volumes < 4 && !(complete && IsWithin(most));
       ++volumes) {
    complete = CountLifeOfAVolume() || complete;
  }
  EXPECT_TRUE(complete) << "a call of each life was not OK";
  ExpectWithin(most);
}

}  // namespace
}  // namespace addons::testing
