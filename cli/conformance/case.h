#ifndef ADDONS_CLI_CONFORMANCE_CASE_H_
#define ADDONS_CLI_CONFORMANCE_CASE_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cli/conformance/server_under_test.h"

namespace addons {

/// What the cases have to work with.
struct Subject {
  const ServerUnderTest& server;
  /// As they are written: "volume_replication.VOLUME_REPLICATION".
  std::set<std::string> capabilities;
  // What a person has given to be changed; empty: nothing of that kind.
  std::string volume;
  std::vector<std::string> group_volumes;
  std::string range;
  std::map<std::string, std::string> replication_parameters;
  std::map<std::string, std::string> group_parameters;
  std::map<std::string, std::string> fence_parameters;
};

struct Outcome {
  enum class Verdict { kPassed, kFailed, kSkipped };
  Verdict verdict = Verdict::kPassed;
  std::string seen;  // why it is not passed

  static Outcome Failed(std::string seen) {
    return {Verdict::kFailed, std::move(seen)};
  }
  static Outcome Skipped(std::string why) {
    return {Verdict::kSkipped, std::move(why)};
  }
};

/// One promise of the specifications, and how to find out whether a server
/// keeps it.
struct Case {
  std::string id;       // "replication.enable.repeated"
  std::string promise;  // for people: what is expected
  /// The server has to advertise it; empty: every server has it.
  std::string capability;
  std::function<Outcome(const Subject&)> run;
};

/// Steps of a case of which each must hold. Remembers the first that did not.
class Steps {
 public:
  using Codes = std::set<absl::StatusCode>;

  /// Whether the reply has one of these codes, and, where it is none, a message
  /// for people and no details. Not tried further once a step has failed.
  bool Answers(absl::string_view step, const Reply& reply, const Codes& codes);
  bool Holds(bool held, const std::string& what);
  bool failed() const { return outcome_.verdict != Outcome::Verdict::kPassed; }
  Outcome outcome() const { return outcome_; }

 private:
  Outcome outcome_;
};

/// Outcome of a case that is one call.
Outcome Expect(const Reply& reply, const Steps::Codes& codes);

using Cases = std::vector<Case>;

}  // namespace addons

#endif  // ADDONS_CLI_CONFORMANCE_CASE_H_
