#include "ceph/librados/sized_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace addons {
namespace {

using ::testing::ElementsAre;

TEST(GrowUntilItFitsTest, TakesTheFirstAnswerThatFits) {
  std::vector<size_t> asked;
  EXPECT_EQ(GrowUntilItFits(8, 1024,
                            [&](size_t capacity, size_t&) {
                              asked.push_back(capacity);
                              return 3;
                            }),
            3);
  EXPECT_THAT(asked, ElementsAre(8));
}

TEST(GrowUntilItFitsTest, GrowsToWhatIsNeeded) {
  std::vector<size_t> asked;
  EXPECT_EQ(GrowUntilItFits(8, 1024,
                            [&](size_t capacity, size_t& needed) {
                              asked.push_back(capacity);
                              needed = 100;
                              return capacity < 100 ? -ERANGE : 0;
                            }),
            0);
  EXPECT_THAT(asked, ElementsAre(8, 100));
}

TEST(GrowUntilItFitsTest, DoublesWhenTheNeedIsNotTold) {
  std::vector<size_t> asked;
  EXPECT_EQ(GrowUntilItFits(8, 1024,
                            [&](size_t capacity, size_t&) {
                              asked.push_back(capacity);
                              return capacity < 30 ? -ERANGE : 0;
                            }),
            0);
  EXPECT_THAT(asked, ElementsAre(8, 16, 32));
}

TEST(GrowUntilItFitsTest, StopsAtTheCap) {
  std::vector<size_t> asked;
  EXPECT_EQ(GrowUntilItFits(8, 20,
                            [&](size_t capacity, size_t& needed) {
                              asked.push_back(capacity);
                              needed = 1U << 30U;
                              return -ERANGE;
                            }),
            -ERANGE);
  EXPECT_THAT(asked, ElementsAre(8, 20));
}

TEST(GrowUntilItFitsTest, PassesOtherErrorsOn) {
  EXPECT_EQ(GrowUntilItFits(8, 20, [](size_t, size_t&) { return -ENOENT; }),
            -ENOENT);
}

}  // namespace
}  // namespace addons
