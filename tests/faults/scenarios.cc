#include <gtest/gtest.h>

#include <iterator>

#include "tests/faults/scenario.h"

namespace addons::testing {

std::vector<Scenario> AllScenarios() {
  std::vector<Scenario> all;
  for (auto* const some :
       {&ReplicationScenarios, &MembersScenarios, &VolumeGroupScenarios,
        &FenceScenarios, &ReclaimScenarios}) {
    std::vector<Scenario> more = some();
    all.insert(all.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  }
  return all;
}

std::unique_ptr<Rig> Prepared(const Scenario& scenario) {
  auto rig = std::make_unique<Rig>();
  scenario.prepare(*rig);
  rig->Restart();
  if (scenario.before != nullptr) {
    const absl::Status asked = scenario.before(*rig);
    EXPECT_TRUE(asked.ok()) << asked;
  }
  rig->world_.ClearCalls();
  rig->ForgetThreads();
  return rig;
}

}  // namespace addons::testing
