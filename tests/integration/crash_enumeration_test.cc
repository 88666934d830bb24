// The daemon dies before and after every call of Ceph that a verb makes on real
// clusters: the same call, repeated, ends as without the death.

#include "tests/integration/crash_enumeration.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/testing/long_run.h"

namespace addons::testing {
namespace {

const bool kCrashBed = OnBluestore();

/// Over all scenarios of this run of the program.
class CrashSummary final : public ::testing::Environment {
 public:
  void Add(const std::vector<CrashCase>& all) {
    for (const CrashCase& one : all) {
      ++cases_;
      Judge(one);
      if (one.wrong.empty()) continue;
      ++failures_;
      ADD_FAILURE() << one.Name() << "\n  " << absl::StrJoin(one.wrong, "\n  ");
    }
  }
  void TearDown() override {
    if (cases_ == 0) return;
    std::printf(
        "crash enumeration: %zu cases, %zu failures; calls never reached by a "
        "death: %s; repeated ones that a verb ended without: %s\n",
        cases_, failures_, List(unreached_).c_str(),
        List(ended_before_).c_str());
  }

 private:
  void Judge(const CrashCase& one) {
    const CrashReach reach = one.reach();
    EXPECT_NE(reach, CrashReach::kNeverReached) << one.Name();
    if (reach == CrashReach::kNeverReached) unreached_.push_back(one.Name());
    if (reach == CrashReach::kEndedBefore) ended_before_.push_back(one.Name());
  }
  static std::string List(const std::vector<std::string>& names) {
    return names.empty() ? "none" : absl::StrJoin(names, "; ");
  }

  size_t cases_ = 0;
  size_t failures_ = 0;
  std::vector<std::string> unreached_;
  std::vector<std::string> ended_before_;
};

CrashSummary& Total() {
  static auto* const summary = new CrashSummary;
  return *summary;
}
const auto* const kRegistered = ::testing::AddGlobalTestEnvironment(&Total());

// So many volumes are there at a time.
constexpr size_t kAtOnce = 40;

class CrashEnumerationTest : public CrashEnumeration {
 protected:
  /// Of each of `scenarios`, which disturb each other not, `each` deaths.
  static void TryAShare(const std::vector<const CrashScenario*>& scenarios,
                        size_t each, std::mt19937_64& random) {
    const std::vector<Undisturbed> runs = Observe(scenarios);
    std::vector<CrashCase> cases;
    std::map<std::string, CrashBed::Contents> ends;
    for (size_t i = 0; i < scenarios.size(); ++i) {
      ends[scenarios[i]->name] = runs[i].end;
      std::vector<CrashPoint> points = PointsOf({runs[i].calls});
      ASSERT_FALSE(points.empty()) << scenarios[i]->name;
      std::shuffle(points.begin(), points.end(), random);
      points.resize(std::min(points.size(), each));
      for (const CrashPoint& point : points) {
        cases.push_back({scenarios[i], point});
      }
    }
    Run(&cases, ends, kAtOnce);
    Total().Add(cases);
  }
};

TEST_F(CrashEnumerationTest, ASeededShareEndsAsWithoutTheDeath) {
  const uint64_t seed =
      FromEnvironment("RBD_ADDONS_FAULTS_SEED", std::random_device()());
  std::cout << "RBD_ADDONS_FAULTS_SEED=" << seed << std::endl;
  const size_t each = FromEnvironment("RBD_ADDONS_LONG_COUNT", 1);
  std::mt19937_64 random(seed);
  const std::vector<CrashScenario> scenarios = Scenarios();
  std::vector<const CrashScenario*> together;
  for (const CrashScenario& scenario : scenarios) {
    if (!scenario.ends_copying) together.push_back(&scenario);
  }
  ASSERT_NO_FATAL_FAILURE(TryAShare(together, each, random));
  for (const CrashScenario& scenario : scenarios) {
    if (!scenario.ends_copying) continue;
    ASSERT_NO_FATAL_FAILURE(TryAShare({&scenario}, each, random));
  }
}

class LongCrashEnumerationTest
    : public CrashEnumeration,
      public ::testing::WithParamInterface<CrashScenario> {};

TEST_P(LongCrashEnumerationTest, EachDeathEndsAsWithoutIt) {
  // A call that waits looks a different number of times in each run: one that
  // only some runs make is no place to die at.
  const std::vector<Undisturbed> runs = Observe({&GetParam(), &GetParam()});
  EXPECT_EQ(runs[0].end, runs[1].end);
  std::vector<CrashCase> cases;
  for (const CrashPoint& point : PointsOf({runs[0].calls, runs[1].calls})) {
    cases.push_back({&GetParam(), point});
  }
  ASSERT_FALSE(cases.empty());
  Run(&cases, {{GetParam().name, runs[0].end}}, kAtOnce);
  Total().Add(cases);
  std::cout << GetParam().name << ": " << runs[0].calls.size() << " calls, "
            << cases.size() << " cases" << std::endl;
}

INSTANTIATE_TEST_SUITE_P(Verbs, LongCrashEnumerationTest,
                         ::testing::ValuesIn(CrashEnumeration::Scenarios()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace addons::testing
