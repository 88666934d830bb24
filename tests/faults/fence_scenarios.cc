// Fencing.

#include <chrono>
#include <utility>

#include "networkfence/auto_unfence.h"
#include "tests/faults/scenario.h"

namespace addons::testing {
namespace {

Scenario Make(std::string name, std::string rpc,
              std::function<void(Rig&)> prepare,
              std::function<absl::Status(Rig&)> call) {
  return {std::move(name),    "fence.FenceController", std::move(rpc), "a",
          std::move(prepare), std::move(call)};
}

absl::Status Fence(Rig& rig) {
  return rig.Fence(rig.a_, {"192.168.1.0/24", "192.168.9.9"});
}
absl::Status Unfence(Rig& rig) {
  return rig.Unfence(rig.a_, {"192.168.1.0/24", "192.168.9.9"});
}
void Nothing(Rig& /*rig*/) {}
void Fenced(Rig& rig) { ASSERT_OK(Fence(rig)); }
/// Each address for an hour only.
void FencedBriefly(Rig& rig) {
  rig.a_.AddRangeBlocklistEntry("192.168.1.0:0/24", std::chrono::hours(1));
}
absl::Status FenceBriefly(Rig& rig) {
  return rig.Fence(rig.a_, {"192.168.9.9"}, {{"expirySeconds", "86400"}});
}
/// By ceph-csi's automatic fence, and for an hour by somebody's.
void FencedAutomatically(Rig& rig) {
  rig.a_.AddRangeBlocklistEntry("192.168.9.9:0/32",
                                AutoUnfence::kAutomaticExpiry);
  rig.a_.AddBlocklistEntry("192.168.9.9:0/0", std::chrono::hours(1));
}
/// A daemon has died while it extended a fence: marker and helpers are there.
void HalfFenced(Rig& rig) {
  FencedBriefly(rig);
  // One range alone: entries of several are added side by side, and which of
  // them a death leaves out would be a matter of chance.
  const auto fence = [](Rig& mine) {
    return mine.Fence(mine.a_, {"192.168.1.0/24"});
  };
  constexpr int kLookAfterTheHelpers = 7;
  rig.DieIn(rig.a_, "rados_mon_command", fence, kLookAfterTheHelpers);
  const auto half = rig.a_.Blocklist();
  ASSERT_EQ(half.size(), 4) << ::testing::PrintToString(half);
}

}  // namespace

std::vector<Scenario> FenceScenarios() {
  std::vector<Scenario> all;
  all.push_back(Make("FenceFresh", "FenceClusterNetwork", Nothing, Fence));
  all.push_back(Make("FenceRepeated", "FenceClusterNetwork", Fenced, Fence));
  all.push_back(
      Make("FenceExtends", "FenceClusterNetwork", FencedBriefly, Fence));
  all.push_back(
      Make("FenceHalfDone", "FenceClusterNetwork", HalfFenced, Fence));
  all.push_back(Make("FenceBesideAnAutomaticOne", "FenceClusterNetwork",
                     FencedAutomatically, FenceBriefly));
  all.push_back(Make("UnfenceFresh", "UnfenceClusterNetwork", Fenced, Unfence));
  all.push_back(
      Make("UnfenceRepeated", "UnfenceClusterNetwork", Nothing, Unfence));
  all.push_back(
      Make("UnfenceHalfDone", "UnfenceClusterNetwork", HalfFenced, Unfence));
  all.push_back(Make("ListFences", "ListClusterFence", Fenced,
                     [](Rig& rig) { return rig.ListFences(rig.a_); }));
  all.push_back(Make("FenceClients", "GetFenceClients", Nothing,
                     [](Rig& rig) { return rig.FenceClients(rig.a_); }));
  return all;
}

}  // namespace addons::testing
