// What a call costs the OSDs of a real cluster, by their own counters: no more
// than docs/performance.md says.

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "tests/cluster/reclaim_bed.h"
#include "tests/testing/documented_calls.h"

namespace addons::testing {
namespace {

/// Served operations, reads and writes, of one call each. Of a call that can be
/// repeated the least counts, because the managers ask the OSDs, too.
class OsdBudgetTest : public ReclaimBed {
 public:
  /// What is looked at when no call asks would be counted, too.
  static void SetUpTestSuite() { SetUpWith({"--watch-interval=0"}); }

 protected:
  static int Served(const std::string& site) {
    const auto counters = nlohmann::json::parse(
        Testbed("ceph", {site, "tell", "osd.0", "perf", "dump", "osd"}),
        nullptr, false);
    return counters.at("osd").at("op").get<int>();
  }
  /// The rbd-mirrors stand still meanwhile, so librbd waits in vain for them to
  /// hear of a change, some seconds each time.
  void Count(const std::string& name, const std::string& site,
             const std::function<grpc::Status()>& call) {
    for (const std::string each : {"a", "b"}) Stop(each, "rbd-mirror");
    const int before = Served(site);
    const grpc::Status status = call();
    const int cost = Served(site) - before;
    for (const std::string each : {"a", "b"}) Continue(each, "rbd-mirror");
    ASSERT_THAT(status, HasCode(Code::OK)) << name;
    std::cout << name << ": " << cost << " OSD operations" << std::endl;
    const auto [it, first] = least_.try_emplace(name, cost);
    it->second = std::min(it->second, cost);
  }
  void ExpectWithin(const std::string& title) {
    const CallCounts most = DocumentedCalls(ADDONS_PERFORMANCE_DOC, title);
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

TEST_F(OsdBudgetTest, OfEachVerb) {
  constexpr int kTries = 3;
  const Parameters schedule = {{"schedulingInterval", "1h"}};
  // Its connections, and what is done once in a while.
  ASSERT_THAT(Enable("a", MakeVolume(), schedule), HasCode(Code::OK));
  TestVolume volume = MakeVolume();
  const auto count = [&](const std::string& name, const std::string& site,
                         const std::function<grpc::Status()>& call) {
    for (int i = 0; i < kTries; ++i) Count(name, site, call);
  };
  count("ControllerReclaimSpace", "a", [&] { return Reclaim(volume).status; });
  const auto enable = [&] { return Enable("a", volume, schedule); };
  Count("EnableVolumeReplication", "a", enable);
  count("EnableVolumeReplication, again", "a", enable);
  const auto promote = [&] { return Promote("a", volume, false, schedule); };
  ASSERT_THAT(promote(), HasCode(Code::OK));
  count("PromoteVolume, again", "a", promote);
  volume.id_b = Testbed("peer-journal", {"b", volume.id_a});
  Synchronize("a", volume);
  // Otherwise a demotion waits for it.
  ASSERT_TRUE(IsFollowed("a", volume));
  // The first answer has the daemon remove its note of the first copy.
  const auto info = [&] {
    ::replication::GetVolumeReplicationInfoResponse response;
    return Info("a", volume, &response);
  };
  const auto resync = [&] {
    bool ready = false;
    return Resync("b", volume, false, &ready);
  };
  ASSERT_TRUE(Eventually([&] { return info().ok() && resync().ok(); }));
  count("GetVolumeReplicationInfo", "a", info);
  count("ResyncVolume, in step", "b", resync);
  Count("DemoteVolume", "a", [&] { return Demote("a", volume); });
  ASSERT_TRUE(Eventually([&] {
    const SeenSnapshot newest = NewestSnapshot("b", volume);
    return newest.demoted && newest.complete;
  }));
  Count("PromoteVolume", "b",
        [&] { return Promote("b", volume, false, schedule); });
  const auto disable = [&] { return Disable("b", volume); };
  Count("DisableVolumeReplication", "b", disable);
  count("DisableVolumeReplication, again", "b", disable);
  ExpectWithin("OSD operations at most");
}

}  // namespace
}  // namespace addons::testing
