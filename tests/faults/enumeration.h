#ifndef ADDONS_TESTS_FAULTS_ENUMERATION_H_
#define ADDONS_TESTS_FAULTS_ENUMERATION_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/faults/contents.h"
#include "tests/faults/fault.h"
#include "tests/faults/injector.h"
#include "tests/faults/scenario.h"
#include "tests/rpc/error_code_table.h"

namespace addons::testing {

/// One fault at one call of a scenario.
struct FaultCase {
  Position position;
  Fault fault;
};

/// "b rbd_mirror_image_promote #1: EBUSY"
std::string Name(const FaultCase& one);

/// What one case came to.
struct FaultResult {
  bool reached = false;            // the call was made
  std::vector<std::string> wrong;  // empty: all that must hold held
  absl::Status answer;             // of Once()
};

/// A scenario, its undisturbed run, and all that can go wrong in it.
class Enumeration {
 public:
  /// Runs it undisturbed. `rows` are those of docs/error-codes.md.
  Enumeration(const Scenario& scenario, const std::set<ErrorCodeRow>& rows);

  /// What was wrong in the undisturbed run.
  const std::vector<std::string>& wrong() const { return wrong_; }
  /// The calls of the undisturbed run, in their order.
  const std::vector<CallRecord>& calls() const { return calls_; }
  /// Every fault at every one of these calls; `choose`, where given, takes some
  /// of those at one call away.
  using Choice = std::function<void(std::vector<Fault>*)>;
  std::vector<FaultCase> Cases(const Choice& choose = nullptr) const;
  /// Runs the scenario with this fault, the same call again until it is OK, and
  /// once more.
  FaultResult Try(const FaultCase& one) const;
  /// What one call answers in which this happens, and what is wrong with that.
  FaultResult Once(const FaultCase& one) const;

 private:
  bool Believes(const FaultCase& one) const;
  void Judge(Rig& rig, const absl::Status& status, const FaultCase& one,
             bool first_ok, std::vector<std::string>* wrong) const;

  const Scenario& scenario_;
  const std::set<ErrorCodeRow>& rows_;
  std::vector<CallRecord> calls_;
  std::vector<std::string> wrong_;
  std::string said_;     // by the OK
  Contents when_ok_;     // of the scenario's site, right after the OK
  Contents in_the_end_;  // of both sites
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_FAULTS_ENUMERATION_H_
