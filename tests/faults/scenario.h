#ifndef ADDONS_TESTS_FAULTS_SCENARIO_H_
#define ADDONS_TESTS_FAULTS_SCENARIO_H_

#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/faults/rig.h"

namespace addons::testing {

/// What an OK leaves to the next call where Ceph failed at `call` (empty: at
/// any): a part of the keys of FakeSite::Contents(). In the end nothing is left
/// open.
struct Deferred {
  std::string call;
  std::string key;
};

/// What Ceph answered instead, at `call` (empty: at any).
struct Believed {
  int error = 0;
  std::string call = {};
};

/// One verb from one state, as its caller repeats it until it is OK.
struct Scenario {
  friend void PrintTo(const Scenario& scenario, std::ostream* out) {
    *out << scenario.name;
  }

  std::string name;
  std::string service;  // "replication.Controller"
  std::string rpc;      // as docs/error-codes.md calls it
  std::string site;     // where the call comes in
  std::function<void(Rig&)> prepare;
  /// One call.
  std::function<absl::Status(Rig&)> call;
  /// Whether an OK may say this where an undisturbed call says `wanted`;
  /// nullptr: nothing else.
  std::function<bool(const std::string& said, const std::string& wanted)>
      agrees = nullptr;
  /// After which an OK may say or leave something else, likewise.
  std::vector<Believed> believes = {};
  /// With the reason beside it.
  std::vector<Deferred> deferred = {};
  /// Answers that are right here after some faults, likewise.
  std::set<absl::StatusCode> may_answer = {};
  /// What the new process is asked before, without a fault, so that it has seen
  /// the volume; nullptr: nothing.
  std::function<absl::Status(Rig&)> before = nullptr;
};

/// By the folder whose verbs they are about.
std::vector<Scenario> ReplicationScenarios();
std::vector<Scenario> MembersScenarios();  // replication of a group
std::vector<Scenario> VolumeGroupScenarios();
std::vector<Scenario> FenceScenarios();
std::vector<Scenario> ReclaimScenarios();

std::vector<Scenario> AllScenarios();

/// The state that it begins in, with new processes.
std::unique_ptr<Rig> Prepared(const Scenario& scenario);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_FAULTS_SCENARIO_H_
