#include "tests/faults/enumeration.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "tests/faults/contents.h"
#include "tests/testing/local_records.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// As the operator repeats a call; more than any undisturbed scenario needs.
constexpr int kMostCalls = 40;
constexpr seconds kPause{20};
// Until what was begun has ended, and what a dead client left is gone.
constexpr minutes kSettle{4};

/// What an OK stands on. Who has a lease or a watch is nobody's claim: those of
/// a dead client end by themselves.
Contents Claimed(const Rig& rig, const FakeSite& site) {
  Contents contents = ContentsOf(rig, site);
  DropTracesOfTheDead(&contents);
  std::erase_if(contents, [](const auto& entry) {
    return absl::StrContains(entry.first, ": lock ") ||
           absl::EndsWith(entry.first, " watchers");
  });
  return contents;
}

/// The manager's next mirror snapshot of each primary that has a schedule: what
/// is noted there after a promotion's own one travels with it.
void RunSchedules(FakeSite& site) {
  const auto levels = ParseJson(site.Schedules());
  for (const auto& [level, schedule] : levels.items()) {
    if (std::count(level.begin(), level.end(), '/') != 2) continue;
    const auto spec = schedule.at("name").get<std::string>();
    const std::string image = spec.substr(spec.rfind('/') + 1);
    if (site.Info(image).primary) site.CreateMirrorSnapshot(image);
  }
}

Contents EndOf(Rig& rig) {
  rig.a_.SetClusterUp(true);
  rig.world_.Advance(kSettle);
  RunSchedules(rig.a_);
  RunSchedules(rig.b_);
  rig.world_.Advance(kSettle);
  Contents contents = ContentsOf(rig, rig.a_);
  contents.merge(ContentsOf(rig, rig.b_));
  DropTracesOfTheDead(&contents);
  return contents;
}

void Compare(const std::string& when, const Contents& wanted,
             const Contents& found, std::vector<std::string>* wrong) {
  for (const auto& [key, value] : wanted) {
    const auto it = found.find(key);
    if (it == found.end()) {
      if (Comparable(key, value).empty()) continue;
      wrong->push_back(absl::StrCat(when, ", missing: ", key, " = ", value));
    } else if (Comparable(key, it->second) != Comparable(key, value)) {
      wrong->push_back(absl::StrCat(when, ": ", key, " = ", it->second,
                                    " instead of ", value));
    }
  }
  for (const auto& [key, value] : found) {
    if (!wanted.contains(key) && !Comparable(key, value).empty()) {
      wrong->push_back(absl::StrCat(when, ", left over: ", key, " = ", value));
    }
  }
}

/// Codes that claim something of the objects of the call, and make the operator
/// do what cannot be undone.
bool Claims(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

bool LiesOfAbsence(const FaultCase& one) {
  return one.fault.strike == Strike::kError && one.fault.error == ENOENT;
}

/// The fault is what Ceph says when that is so.
bool Said(const Fault& fault, absl::StatusCode code) {
  if (fault.strike != Strike::kError) return false;
  switch (fault.error) {
    case ENOENT:
      return true;
    case EPERM:
    case EACCES:
      return code == absl::StatusCode::kUnauthenticated;
    default:
      return false;
  }
}

}  // namespace

std::string Name(const FaultCase& one) {
  return absl::StrCat(one.position.site, " ", one.position.call, " #",
                      one.position.occurrence, ": ", Name(one.fault));
}

Enumeration::Enumeration(const Scenario& scenario,
                         const std::set<ErrorCodeRow>& rows)
    : scenario_(scenario), rows_(rows) {
  const auto rig = Prepared(scenario);
  absl::Status status;
  for (int call = 0; call < kMostCalls; ++call) {
    status = scenario.call(*rig);
    if (status.ok()) break;
    rig->world_.Advance(kPause);
  }
  if (!status.ok()) wrong_.push_back(status.ToString());
  calls_ = rig->world_.Calls();
  // Once for each name: how often it is made anew depends on real time.
  for (const auto& [site, thread] : rig->threads()) {
    CallRecord made;
    made.site = site;
    made.call = ThreadCall(thread);
    calls_.push_back(std::move(made));
  }
  for (const CallRecord& call : calls_) {
    if (!IsThreadCall(call.call) && !ErrnosOfCalls().contains(call.call)) {
      wrong_.push_back("fault.cc has no row for " + call.call);
    }
  }
  said_ = WithoutGroup(*rig, rig->said());
  when_ok_ = Claimed(*rig, rig->world_.site(scenario.site));
  status = scenario.call(*rig);
  if (!status.ok()) wrong_.push_back("repeated: " + status.ToString());
  in_the_end_ = EndOf(*rig);
  for (const std::string& violation : rig->world_.Violations()) {
    wrong_.push_back(violation);
  }
}

std::vector<FaultCase> Enumeration::Cases(const Choice& choose) const {
  std::vector<FaultCase> cases;
  std::map<std::pair<std::string, std::string>, int> made;
  for (const CallRecord& call : calls_) {
    const int occurrence = ++made[{call.site, call.call}];
    std::vector<Fault> faults = FaultsAt(call);
    if (choose) choose(&faults);
    for (const Fault& fault : faults) {
      cases.push_back({{call.site, call.call, occurrence}, fault});
    }
  }
  return cases;
}

bool Enumeration::Believes(const FaultCase& one) const {
  if (one.fault.strike != Strike::kError) return false;
  const auto is_it = [&](const Believed& believed) {
    return believed.error == one.fault.error &&
           (believed.call.empty() || believed.call == one.position.call);
  };
  return std::any_of(scenario_.believes.begin(), scenario_.believes.end(),
                     is_it);
}

void Enumeration::Judge(Rig& rig, const absl::Status& status,
                        const FaultCase& one, bool first_ok,
                        std::vector<std::string>* wrong) const {
  if (status.ok() && Believes(one)) return;
  if (status.ok()) {
    const std::string said = WithoutGroup(rig, rig.said());
    const bool agrees =
        scenario_.agrees ? scenario_.agrees(said, said_) : said == said_;
    if (!agrees) {
      wrong->push_back(
          absl::StrCat("OK says '", said, "' instead of '", said_, "'"));
    }
    Contents wanted = when_ok_;
    Contents found = Claimed(rig, rig.world_.site(scenario_.site));
    if (first_ok) {
      // Ceph has lied that something is not there, and this may stand on it.
      if (LiesOfAbsence(one)) return;
      for (const Deferred& deferred : scenario_.deferred) {
        if (!deferred.call.empty() && deferred.call != one.position.call) {
          continue;
        }
        const auto left_open = [&](const auto& entry) {
          return absl::StrContains(entry.first, deferred.key);
        };
        std::erase_if(wanted, left_open);
        std::erase_if(found, left_open);
      }
    }
    Compare(first_ok ? "at OK" : "at the next OK", wanted, found, wrong);
    return;
  }
  const std::string code = absl::StatusCodeToString(status.code());
  if (!rows_.contains({"*", code}) &&
      !rows_.contains({scenario_.service + "/*", code}) &&
      !rows_.contains({scenario_.rpc, code})) {
    wrong->push_back(absl::StrCat("no row for it: ", status.ToString()));
  }
  if (status.message().empty()) {
    wrong->push_back(absl::StrCat(code, " without a text"));
  }
  if (Claims(status.code()) && !Said(one.fault, status.code()) &&
      !scenario_.may_answer.contains(status.code())) {
    wrong->push_back(
        absl::StrCat("claims what nobody saw: ", status.ToString()));
  }
}

FaultResult Enumeration::Once(const FaultCase& one) const {
  const auto rig = Prepared(scenario_);
  FaultResult result;
  Injector injector(rig->world_, one.position, one.fault);
  rig->SetInjector(&injector);
  result.answer = scenario_.call(*rig);
  result.reached = injector.reached();
  rig->SetInjector(nullptr);
  if (result.reached) Judge(*rig, result.answer, one, true, &result.wrong);
  return result;
}

FaultResult Enumeration::Try(const FaultCase& one) const {
  const auto rig = Prepared(scenario_);
  FaultResult result;
  bool ended = false;
  bool was_ok = false;
  {
    Injector injector(rig->world_, one.position, one.fault);
    rig->SetInjector(&injector);
    absl::Status status;
    for (int call = 0; call < kMostCalls && !ended; ++call) {
      try {
        status = scenario_.call(*rig);
      } catch (const FakeCrash&) {
      }
      injector.AllowThreads();
      if (injector.dead()) {
        rig->Restart();
        continue;
      }
      Judge(*rig, status, one, !was_ok, &result.wrong);
      ended = status.ok() && was_ok;
      was_ok = status.ok();
      if (!was_ok) rig->world_.Advance(kPause);
    }
    result.reached = injector.reached();
    rig->SetInjector(nullptr);
    if (!ended) {
      result.wrong.push_back(
          absl::StrCat("never OK again: ", status.ToString()));
    }
  }
  const Contents end = EndOf(*rig);
  if (!Believes(one)) Compare("in the end", in_the_end_, end, &result.wrong);
  for (const std::string& violation : rig->world_.Violations()) {
    result.wrong.push_back(absl::StrCat("forbidden: ", violation));
  }
  return result;
}

}  // namespace addons::testing
