#include "reclaimspace/reclaim_answer.h"

#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

TEST(AnswerForTest, AnAdministratorsCancelIsNoErrorToTheOperator) {
  EXPECT_EQ(AnswerFor(absl::CancelledError("m"), false, "volume"),
            absl::OkStatus());
}

TEST(AnswerForTest, ACallerThatLeftIsCancelled) {
  EXPECT_EQ(AnswerFor(absl::CancelledError("m"), true, "volume"),
            absl::CancelledError("m"));
}

TEST(AnswerForTest, OtherErrorsAreAnswered) {
  EXPECT_EQ(AnswerFor(absl::UnavailableError("m"), false, "volume"),
            absl::AbortedError("m"));
  EXPECT_EQ(AnswerFor(absl::NotFoundError("m"), false, "volume"),
            absl::NotFoundError("m"));
}

}  // namespace
}  // namespace addons::testing
