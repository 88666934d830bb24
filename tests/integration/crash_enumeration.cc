#include "tests/integration/crash_enumeration.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <stop_token>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "tests/testing/local_records.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using Contents = CrashBed::Contents;

// What a dead client leaves is gone after half a minute, and a move waits for
// the other site's reports.
constexpr seconds kPatience{240};
// For rbd-mirror to copy what was begun.
constexpr seconds kCopied{90};

uint64_t NextNumber() {
  static std::atomic<uint64_t> number{0};
  return ++number;
}

/// Calls `action` with each of `cases`, several at the same time.
void ForEach(const std::vector<CrashCase*>& cases,
             const std::function<void(CrashCase&)>& action) {
  constexpr size_t kAtOnce = 12;
  std::atomic<size_t> next{0};
  std::vector<std::future<void>> workers;
  for (size_t i = 0; i < std::min(kAtOnce, cases.size()); ++i) {
    workers.push_back(std::async(std::launch::async, [&] {
      for (size_t at = next++; at < cases.size(); at = next++) {
        action(*cases[at]);
      }
    }));
  }
  for (auto& worker : workers) worker.get();
}

std::vector<std::string> Lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

void Compare(const Contents& wanted, const Contents& found,
             std::vector<std::string>* wrong) {
  for (const auto& [key, value] : wanted) {
    const auto it = found.find(key);
    if (it == found.end()) {
      if (Comparable(key, value).empty()) continue;
      wrong->push_back(absl::StrCat("missing: ", key, " = ", value));
    } else if (Comparable(key, it->second) != Comparable(key, value)) {
      wrong->push_back(
          absl::StrCat(key, " = ", it->second, " instead of ", value));
    }
  }
  for (const auto& [key, value] : found) {
    if (!wanted.contains(key) && !Comparable(key, value).empty()) {
      wrong->push_back(absl::StrCat("left over: ", key, " = ", value));
    }
  }
}

/// What `look` sees when several looks in a row see the same: rbd-mirror has
/// done its part.
Contents AtRest(const std::function<Contents()>& look) {
  constexpr int kLooks = 6;
  const auto limit = steady_clock::now() + kCopied;
  Contents seen = look();
  for (int same = 0; same < kLooks && steady_clock::now() < limit; ++same) {
    RealClock().SleepFor(seconds(1), std::stop_token());
    Contents now = look();
    if (now != seen) same = 0;
    seen = std::move(now);
  }
  return seen;
}

/// The call is made again and again, until it is OK or `ended` holds.
grpc::Status Until(const CrashScenario& scenario, CrashSubject& subject,
                   const std::function<bool(const grpc::Status&)>& ended) {
  const auto limit = steady_clock::now() + kPatience;
  grpc::Status status;
  do {
    status = scenario.call(subject);
    if (status.ok() || ended(status)) break;
    RealClock().SleepFor(std::chrono::milliseconds(500), std::stop_token());
  } while (steady_clock::now() < limit);
  return status;
}

std::string Text(const grpc::Status& status) {
  return absl::StrCat("code ", static_cast<int>(status.error_code()), ": ",
                      status.error_message());
}

}  // namespace

std::unique_ptr<CrashBed> CrashEnumeration::bed_;

std::string CrashCase::Name() const {
  return absl::StrCat(scenario->name, ": death ",
                      point.after ? "after " : "before ", point.call, " #",
                      point.nth);
}

void CrashEnumeration::SetUpTestSuite() {
  // Only what the verbs do.
  const std::vector<std::string> quiet = {"--history-events=0",
                                          "--watch-interval=0"};
  StartDaemons({{"a", quiet}, {"b", quiet}});
  bed_ = std::make_unique<CrashBed>();
}

void CrashEnumeration::TearDownTestSuite() {
  bed_.reset();
  TwoSitesTest::TearDownTestSuite();
}

std::vector<CrashEnumeration::Undisturbed> CrashEnumeration::Observe(
    const std::vector<const CrashScenario*>& scenarios) {
  std::vector<CrashCase> cases(scenarios.size());
  std::vector<Undisturbed> runs(scenarios.size());
  std::vector<CrashCase*> batch;
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].scenario = scenarios[i];
    batch.push_back(&cases[i]);
  }
  Prepare(batch);
  for (size_t i = 0; i < cases.size(); ++i) {
    const CrashScenario& scenario = *scenarios[i];
    const std::string trace =
        Bed().Path(absl::StrCat("calls-", cases[i].subject.number));
    Restart(scenario.site, {{"RBD_ADDONS_CALL_TRACE", trace}});
    const grpc::Status status =
        Until(scenario, cases[i].subject, [](const auto&) { return false; });
    EXPECT_TRUE(status.ok()) << scenario.name << ": " << Text(status);
    Restart(scenario.site);
    runs[i].calls = Lines(trace);
  }
  ForEach(batch, [&](CrashCase& one) {
    Contents& end = runs[static_cast<size_t>(&one - cases.data())].end;
    end = AtRest([&] { return one.scenario->contents(*bed_, one.subject); });
  });
  Dispose(batch);
  return runs;
}

void CrashEnumeration::Prepare(const std::vector<CrashCase*>& batch) {
  // One that was blocklisted again and again, as by the forced promotions of
  // the batch before, can hang for good (docs/testing.md, "Every fault at every
  // call"). Nothing is being copied now.
  for (const std::string site : {"a", "b"}) {
    Testbed("kill", {site, "rbd-mirror"});
    Testbed("start", {site, "rbd-mirror"});
  }
  ForEach(batch, [](CrashCase& one) {
    one.subject = {.number = NextNumber()};
    one.scenario->prepare(*bed_, one.subject);
  });
  ForEach(batch, [](CrashCase& one) {
    if (one.scenario->split) one.scenario->split(*bed_, one.subject);
  });
}

void CrashEnumeration::Kill(CrashCase& one) {
  const std::string& site = one.scenario->site;
  const std::string trace =
      Bed().Path(absl::StrCat("calls-", one.subject.number));
  Restart(site, {{"RBD_ADDONS_FAULTS",
                  absl::StrCat(one.point.call, "#", one.point.nth,
                               one.point.after ? ":kill-after" : ":kill")},
                 {"RBD_ADDONS_CALL_TRACE", trace}});
  bool dead = false;
  const grpc::Status status =
      Until(*one.scenario, one.subject,
            [&](const auto&) { return dead = !Daemon(site).Running(); });
  // The answer may come before the death.
  dead = dead || Daemon(site).WaitForEnd(status.ok() ? 1 : 0);
  one.tries.push_back({dead, status.ok(), Lines(trace)});
}

void CrashEnumeration::Repeat(CrashCase& one, const Contents& end) {
  const auto judge = [&](const grpc::Status& status) {
    const auto code = status.error_code();
    const bool expected = code == Code::UNAVAILABLE || code == Code::ABORTED ||
                          one.scenario->may_answer.contains(code);
    if (!expected) one.wrong.push_back("answered " + Text(status));
    return !expected;
  };
  grpc::Status status = Until(*one.scenario, one.subject, judge);
  if (!status.ok()) {
    one.wrong.push_back("never OK again: " + Text(status));
    return;
  }
  status = one.scenario->call(one.subject);
  if (!status.ok()) one.wrong.push_back("OK, and then " + Text(status));
  Contents found;
  Eventually(
      [&] {
        found = one.scenario->contents(*bed_, one.subject);
        return found == end;
      },
      kCopied);
  Compare(end, found, &one.wrong);
}

void CrashEnumeration::Dispose(const std::vector<CrashCase*>& batch) {
  ForEach(batch, [](CrashCase& one) {
    bed_->RemoveGroup(one.subject.GroupName());
    for (const TestVolume& volume : one.subject.volumes) bed_->Remove(volume);
  });
}

void CrashEnumeration::RunBatch(const std::vector<CrashCase*>& batch,
                                const std::map<std::string, Contents>& ends) {
  const auto begin = steady_clock::now();
  const auto since = [&] {
    return std::chrono::duration_cast<seconds>(steady_clock::now() - begin)
        .count();
  };
  Prepare(batch);
  const auto prepared = since();
  for (CrashCase* const one : batch) Kill(*one);
  const auto killed = since();
  for (const std::string site : {"a", "b"}) Restart(site);
  ForEach(batch,
          [&](CrashCase& one) { Repeat(one, ends.at(one.scenario->name)); });
  const auto repeated = since();
  Dispose(batch);
  for (const std::string site : {"a", "b"}) {
    for (const std::string& left : bed_->LostGroups(site)) {
      ADD_FAILURE() << "left over: " << left;
    }
  }
  // Also told where the run does not come to its end.
  for (const CrashCase* const one : batch) {
    for (const std::string& wrong : one->wrong) {
      std::cout << one->Name() << ": " << wrong << std::endl;
    }
  }
  const auto died = std::count_if(
      batch.begin(), batch.end(),
      [](const auto* one) { return one->reach() == CrashReach::kDied; });
  const auto wrong =
      std::count_if(batch.begin(), batch.end(),
                    [](const auto* one) { return !one->wrong.empty(); });
  std::cout << batch.size() << " cases: " << died << " deaths, " << wrong
            << " wrong; prepared after " << prepared << " s, killed after "
            << killed << " s, repeated after " << repeated << " s, gone after "
            << since() << " s" << std::endl;
}

void CrashEnumeration::Run(std::vector<CrashCase>* cases,
                           const std::map<std::string, Contents>& ends,
                           size_t at_once) {
  constexpr int kTries = 4;
  for (int round = 0; round < kTries; ++round) {
    std::vector<CrashCase*> due;
    for (CrashCase& one : *cases) {
      if (one.reach() != CrashReach::kDied) due.push_back(&one);
    }
    for (size_t at = 0; at < due.size(); at += at_once) {
      const auto first = due.begin() + static_cast<std::ptrdiff_t>(at);
      const auto last = due.begin() + static_cast<std::ptrdiff_t>(
                                          std::min(at + at_once, due.size()));
      RunBatch({first, last}, ends);
    }
  }
}

}  // namespace addons::testing
