// Every fault at every call of Ceph that a verb makes: the same call, repeated,
// ends where an undisturbed one ends, every answer is documented, and no OK
// stands on a state that is not so.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "tests/faults/enumeration.h"

namespace addons::testing {
namespace {

const std::set<ErrorCodeRow>& Rows() {
  static const auto* const rows =
      new std::set<ErrorCodeRow>(ReadErrorCodeRows(ADDONS_ERROR_CODES));
  return *rows;
}

/// Over all scenarios of this run of the program.
class Summary final : public ::testing::Environment {
 public:
  // What the verbs log of thousands of faults hides what failed.
  void SetUp() override { Log().set_level(LogLevel::kOff); }
  void TearDown() override {
    if (scenarios == 0) return;
    std::printf(
        "fault enumeration: %zu scenarios, %zu calls, %zu cases, %zu failures; "
        "calls never reached by a fault: %s\n",
        scenarios, calls, cases, failures,
        unreached.empty() ? "none" : absl::StrJoin(unreached, "; ").c_str());
  }
  size_t scenarios = 0;
  size_t calls = 0;
  size_t cases = 0;
  size_t failures = 0;
  std::vector<std::string> unreached;
};

Summary& Total() {
  static auto* const summary = new Summary;
  return *summary;
}
const auto* const kRegistered = ::testing::AddGlobalTestEnvironment(&Total());

class FaultEnumerationTest : public ::testing::TestWithParam<Scenario> {};

/// All faults where RBD_ADDONS_FAULTS is "all"; otherwise, of those at each
/// call, some by a seed, which RBD_ADDONS_FAULTS_SEED sets.
class Share {
 public:
  Share() {
    const char* const wish = std::getenv("RBD_ADDONS_FAULTS");
    all_ = wish != nullptr && std::string(wish) == "all";
    const char* const seed = std::getenv("RBD_ADDONS_FAULTS_SEED");
    seed_ = seed != nullptr ? std::strtoul(seed, nullptr, 10)
                            : std::random_device()();
    random_.seed(seed_);
    if (!all_) std::printf("RBD_ADDONS_FAULTS_SEED=%lu\n", seed_);
  }
  void Choose(std::vector<Fault>* faults) {
    if (all_ || faults->empty()) return;
    std::shuffle(faults->begin(), faults->end(), random_);
    faults->resize((faults->size() + kOneOf - 1) / kOneOf);
  }

 private:
  static constexpr size_t kOneOf = 12;
  bool all_ = false;
  unsigned long seed_ = 0;
  std::mt19937_64 random_;
};

TEST_P(FaultEnumerationTest, RepeatedCallEndsAsWithoutTheFault) {
  ASSERT_FALSE(Rows().empty());
  const Enumeration enumeration(GetParam(), Rows());
  ASSERT_TRUE(enumeration.wrong().empty())
      << absl::StrJoin(enumeration.wrong(), "\n");
  ++Total().scenarios;
  Total().calls += enumeration.calls().size();
  size_t failures = 0;
  Share share;
  const auto cases = enumeration.Cases(
      [&](std::vector<Fault>* faults) { share.Choose(faults); });
  for (const FaultCase& one : cases) {
    ++Total().cases;
    const FaultResult result = enumeration.Try(one);
    const std::string name = absl::StrCat(GetParam().name, ", ", Name(one));
    if (!result.reached) Total().unreached.push_back(name);
    EXPECT_TRUE(result.reached) << name;
    if (result.wrong.empty()) continue;
    ++failures;
    ADD_FAILURE() << name << "\n  " << absl::StrJoin(result.wrong, "\n  ");
  }
  Total().failures += failures;
  std::printf("%s: %zu calls, %zu cases, %zu failures\n",
              GetParam().name.c_str(), enumeration.calls().size(), cases.size(),
              failures);
  std::fflush(stdout);
}

TEST(FaultScenariosTest, ReachEveryCallThatHasFaults) {
  std::set<std::string> made;
  for (const Scenario& scenario : AllScenarios()) {
    const Enumeration enumeration(scenario, Rows());
    for (const CallRecord& call : enumeration.calls()) {
      made.insert(call.call);
    }
  }
  for (const auto& [call, errnos] : ErrnosOfCalls()) {
    EXPECT_TRUE(made.contains(call)) << "no scenario makes " << call;
  }
}

INSTANTIATE_TEST_SUITE_P(Verbs, FaultEnumerationTest,
                         ::testing::ValuesIn(AllScenarios()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace addons::testing
