#include "replication/steps/run_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Says what it is told to, and notes what it is asked.
struct ScriptedVerb {
  absl::Status See() {
    asked.emplace_back("see");
    return absl::OkStatus();
  }
  absl::StatusOr<Next> Judge() {
    const Next next = script.front();
    if (script.size() > 1) script.erase(script.begin());
    return next;
  }
  absl::Status Await(const Next& next) {
    asked.emplace_back("await " + next.reason);
    return next.reason == "nobody waits" ? absl::CancelledError("")
                                         : absl::OkStatus();
  }
  absl::Status Act(const Next& next) {
    asked.emplace_back("act " + next.reason);
    fresh = next.reason == "and looks";
    return absl::OkStatus();
  }
  absl::Status Answer(const Next& next) {
    return next.code == absl::StatusCode::kOk
               ? absl::OkStatus()
               : absl::Status(next.code, next.reason);
  }

  std::vector<Next> script;
  std::vector<std::string> asked{};
  Done done{};
  bool fresh = false;
};

TEST(RunStepsTest, LooksBeforeEachStepAndWaitAndAnswersWhatTheTableSays) {
  ScriptedVerb verb{{Wait("for a"), Do(Step::kDemote, "b"),
                     Answer(absl::StatusCode::kOk, "")}};
  EXPECT_OK(RunSteps(verb));
  EXPECT_THAT(verb.asked,
              ElementsAre("see", "await for a", "see", "act b", "see"));
  EXPECT_EQ(verb.done.Of(Step::kDemote), 1);
  EXPECT_EQ(verb.done.Of(Step::kWait), 0);
}

TEST(RunStepsTest, AStepThatHasLookedSparesTheNextLook) {
  ScriptedVerb verb{{Do(Step::kDemote, "and looks"), Do(Step::kDemote, "b"),
                     Answer(absl::StatusCode::kOk, "")}};
  EXPECT_OK(RunSteps(verb));
  EXPECT_THAT(verb.asked, ElementsAre("see", "act and looks", "act b", "see"));
}

TEST(RunStepsTest, AWaitThatEndsIsTheEnd) {
  ScriptedVerb verb{{Wait("nobody waits")}};
  EXPECT_THAT(RunSteps(verb), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(verb.asked, ElementsAre("see", "await nobody waits"));
}

TEST(RunStepsTest, AStepWithoutEffectIsNotDoneForEver) {
  Next next = Do(Step::kRemoveHalfCopies);
  next.row = "half-copies";
  ScriptedVerb verb{{next}};
  EXPECT_THAT(RunSteps(verb), StatusIs(absl::StatusCode::kUnavailable,
                                       HasSubstr("'half-copies'")));
  EXPECT_EQ(verb.done.Of(Step::kRemoveHalfCopies), 10);
}

TEST(RunStepsTest, APromotionEndsByItsOwnPatience) {
  std::vector<Next> script(20, Do(Step::kPromote));
  script.push_back(Answer(absl::StatusCode::kOk, ""));
  ScriptedVerb verb{script};
  EXPECT_OK(RunSteps(verb));
  EXPECT_EQ(verb.done.Of(Step::kPromote), 20);
}

}  // namespace
}  // namespace addons
