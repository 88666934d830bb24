#ifndef ADDONS_TESTS_TESTING_STATUS_MATCHERS_H_
#define ADDONS_TESTS_TESTING_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace addons::testing {

inline const absl::Status& ToStatus(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& ToStatus(const absl::StatusOr<T>& value) {
  return value.status();
}

/// A Status or StatusOr that is OK.
MATCHER(IsOk, "is OK") {
  *result_listener << ToStatus(arg).ToString();
  return ToStatus(arg).ok();
}

/// `StatusIs(code)` or `StatusIs(code, HasSubstr("..."))`.
MATCHER_P2(StatusIs, code, message,
           "has code " + absl::StatusCodeToString(code) +
               " and a message that " +
               ::testing::DescribeMatcher<std::string>(message)) {
  *result_listener << ToStatus(arg).ToString();
  return ToStatus(arg).code() == code &&
         ::testing::Matches(message)(std::string(ToStatus(arg).message()));
}
inline auto StatusIs(absl::StatusCode code) {
  return StatusIs(code, ::testing::Matcher<std::string>(::testing::_));
}

}  // namespace addons::testing

#define ASSERT_OK(expr) ASSERT_THAT(expr, ::addons::testing::IsOk())
#define EXPECT_OK(expr) EXPECT_THAT(expr, ::addons::testing::IsOk())

#endif  // ADDONS_TESTS_TESTING_STATUS_MATCHERS_H_
