#include "server/duration.h"

#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using std::chrono::milliseconds;

milliseconds Parsed(const std::string& text) {
  const auto duration = ParseDuration(text);
  EXPECT_OK(duration) << text;
  return duration.value_or(milliseconds(-1));
}

TEST(ParseDurationTest, TakesAPlainNumberAsSeconds) {
  EXPECT_EQ(Parsed("90"), std::chrono::seconds(90));
  EXPECT_EQ(Parsed("0"), milliseconds(0));
}

TEST(ParseDurationTest, TakesUnits) {
  EXPECT_EQ(Parsed("90s"), std::chrono::seconds(90));
  EXPECT_EQ(Parsed("1m30s"), std::chrono::seconds(90));
  EXPECT_EQ(Parsed("500ms"), milliseconds(500));
  EXPECT_EQ(Parsed("2h"), std::chrono::hours(2));
}

TEST(ParseDurationTest, RefusesOthers) {
  for (const char* text :
       {"", "x", "10 s", "-1s", "-1", "169h", "inf", "99999999999"}) {
    EXPECT_THAT(ParseDuration(text),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << text;
  }
}

TEST(FormatDurationTest, IsReadBackAsTheSame) {
  for (const milliseconds duration :
       {milliseconds(0), milliseconds(1500), milliseconds(90000)}) {
    EXPECT_EQ(Parsed(FormatDuration(duration)), duration);
  }
  EXPECT_EQ(FormatDuration(std::chrono::seconds(90)), "90s");
}

}  // namespace
}  // namespace addons
