#include "operation/job_answer.h"

#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

TEST(AbortedIfTransientTest, ChangesTheCodeOfWhatMayPassAndKeepsTheMessage) {
  for (const absl::Status& status :
       {absl::UnavailableError("m"), absl::DeadlineExceededError("m"),
        absl::ResourceExhaustedError("m"), absl::AbortedError("m")}) {
    EXPECT_EQ(AbortedIfTransient(status), absl::AbortedError("m"));
  }
}

TEST(AbortedIfTransientTest, LeavesTheRest) {
  for (const absl::Status& status :
       {absl::OkStatus(), absl::UnimplementedError("m"),
        absl::FailedPreconditionError("m"), absl::NotFoundError("m"),
        absl::CancelledError("m")}) {
    EXPECT_EQ(AbortedIfTransient(status), status);
  }
}

}  // namespace
}  // namespace addons::testing
