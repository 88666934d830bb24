#include "tests/chaos/content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace addons::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What a writer has left after `newest` blocks.
std::vector<std::string> WrittenUpTo(uint64_t newest) {
  std::vector<std::string> blocks(kSlots, std::string(kBlockBytes, '\0'));
  for (uint64_t number = 1; number <= newest; ++number) {
    blocks[number % kSlots] = MakeBlock("image", number);
  }
  return blocks;
}

TEST(ContentTest, EveryMomentOfAWriterIsRight) {
  for (uint64_t newest = 0; newest < 3 * kSlots; ++newest) {
    const Content content = JudgeContent("image", WrittenUpTo(newest));
    EXPECT_EQ(content.newest, newest);
    EXPECT_THAT(content.fault, IsEmpty());
  }
}

TEST(ContentTest, ASlotThatMissedAWriteIsFound) {
  auto blocks = WrittenUpTo(70);
  blocks[5] = MakeBlock("image", 5);
  EXPECT_THAT(JudgeContent("image", blocks).fault,
              HasSubstr("slot 5 holds 5 where 69 belongs beside 70"));
}

TEST(ContentTest, ASlotThatWasNeverCopiedIsFound) {
  auto blocks = WrittenUpTo(40);
  blocks[9] = std::string(kBlockBytes, '\0');
  EXPECT_THAT(JudgeContent("image", blocks).fault,
              HasSubstr("slot 9 holds 0 where 9 belongs"));
}

TEST(ContentTest, OneWriteFromTheFutureIsFound) {
  auto blocks = WrittenUpTo(40);
  blocks[42 % kSlots] = MakeBlock("image", 42);
  EXPECT_THAT(JudgeContent("image", blocks).fault,
              HasSubstr("where 41 belongs"));
}

TEST(ContentTest, TornAndForeignBlocksAreFound) {
  auto blocks = WrittenUpTo(40);
  blocks[3].replace(2048, 2048, MakeBlock("image", 3), 2048, 2048);
  EXPECT_THAT(JudgeContent("image", blocks).fault, HasSubstr("slot 3"));
  blocks = WrittenUpTo(40);
  blocks[4] = MakeBlock("another", 36);
  EXPECT_THAT(JudgeContent("image", blocks).fault, HasSubstr("slot 4"));
  blocks[4] = "short";
  EXPECT_THAT(JudgeContent("image", blocks).fault, HasSubstr("slot 4"));
}

}  // namespace
}  // namespace addons::testing
