// Space reclaim of an image that nobody has mounted, and trim of one that is
// mounted on a node.

#include <chrono>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "reclaimspace/image_facts.h"
#include "reclaimspace/reclaim_stats.h"
#include "tests/faults/scenario.h"

namespace addons::testing {
namespace {

constexpr char kSparsify[] = "rbd_sparsify_with_progress";
constexpr uint64_t kObject = uint64_t{4} << 20;

Scenario Make(std::string name, std::string site,
              std::function<void(Rig&)> prepare,
              std::function<absl::Status(Rig&)> call) {
  Scenario scenario{
      std::move(name),          "reclaimspace.ReclaimSpaceController",
      "ControllerReclaimSpace", std::move(site),
      std::move(prepare),       std::move(call)};
  // Who has the lock without a watch is dead, and nobody breaks its lock for
  // this: a daemon that died before it closed the image had freed all.
  scenario.agrees = [](const std::string& said, const std::string& wanted) {
    return said == wanted || said == Name(ReclaimOutcome::kInUse);
  };
  // It says nothing when that client is gone.
  scenario.deferred = {{"", absl::StrCat("metadata ", kSparsifierKey)}};
  return scenario;
}

absl::Status Reclaim(Rig& rig) { return rig.Reclaim(rig.a_); }

/// Half of its objects exist, and half of these are zeros.
void WithZeros(Rig& rig) {
  rig.id_ = rig.pair_.AddVolume(rig.a_, kUuid, 4 * kObject);
  rig.a_.SetUsage(rig.image_, 2, 1);
}
void WithZerosInAFullPool(Rig& rig) {
  WithZeros(rig);
  rig.a_.SetFull(true);
}
void Reclaimed(Rig& rig) {
  WithZeros(rig);
  ASSERT_OK(Reclaim(rig));
}
/// By a daemon that has died in the middle, and has the image open for some
/// seconds still.
void HalfReclaimed(Rig& rig) {
  WithZeros(rig);
  rig.DieIn(rig.a_, kSparsify, Reclaim);
  rig.world_.Advance(std::chrono::seconds(25));
}
void Mirrored(Rig& rig) { rig.AddMirrored(); }

}  // namespace

std::vector<Scenario> ReclaimScenarios() {
  std::vector<Scenario> all;
  all.push_back(Make("ReclaimFresh", "a", WithZeros, Reclaim));
  all.push_back(Make("ReclaimInAFullPool", "a", WithZerosInAFullPool, Reclaim));
  all.push_back(Make("ReclaimRepeated", "a", Reclaimed, Reclaim));
  all.push_back(Make("ReclaimHalfDone", "a", HalfReclaimed, Reclaim));
  all.push_back(Make("ReclaimOfAPrimary", "a", Mirrored, Reclaim));
  all.push_back(Make(
      "ReclaimOfASecondary", "b",
      [](Rig& rig) {
        Mirrored(rig);
        rig.world_.Advance(std::chrono::minutes(2));
      },
      [](Rig& rig) { return rig.Reclaim(rig.b_); }));
  all.push_back({"Trim", "reclaimspace.ReclaimSpaceNode", "NodeReclaimSpace",
                 "a",
                 [](Rig& rig) {
                   WithZeros(rig);
                   rig.NodeMounts(rig.a_);
                 },
                 [](Rig& rig) { return rig.Trim(rig.a_); }});
  return all;
}

}  // namespace addons::testing
