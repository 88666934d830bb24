#include "replication/look/evictions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(DescribeSentAwayTest, AfterTwoMinutesItIsNotBackByItself) {
  const WallTime at = std::chrono::system_clock::from_time_t(11560);
  const SentAway sent_away{.at = at};
  EXPECT_EQ(DescribeSentAway(sent_away, at + seconds(119)),
            "rbd-mirror of this site was sent away by this daemon at 03:12:40 "
            "UTC, for a forced promotion; it is back within a minute");
  EXPECT_THAT(
      DescribeSentAway(sent_away, at + seconds(120)),
      AllOf(HasSubstr("at 03:12:40 UTC"), Not(HasSubstr("within a minute")),
            EndsWith("it is down, start it")));
  // A daemon of an older version did not note when.
  EXPECT_THAT(DescribeSentAway(SentAway(), at),
              HasSubstr("sent away by this daemon within the last hour, for"));
}

}  // namespace
}  // namespace addons::testing
