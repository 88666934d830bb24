#include "tests/chaos/content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What a writer has left after `newest` blocks.
std::vector<std::string> WrittenUpTo(uint64_t newest) {
  std::vector<std::string> blocks(kSlots, std::string(kBlockBytes, '\0'));
  for (uint64_t number = newest < kSlots ? 1 : newest - kSlots + 1;
       number <= newest; ++number) {
    blocks[number % kSlots] = MakeBlock("image", number);
  }
  return blocks;
}

/// The places of one that clears. Each cleared one in `old` holds what was
/// there before.
std::vector<std::string> PlacesUpTo(uint64_t newest,
                                    const std::set<size_t>& old = {}) {
  std::vector<std::string> places(kSlots, std::string(kBlockBytes, '\0'));
  for (uint64_t number = 1; number <= newest; ++number) {
    const size_t slot = number % kSlots;
    if (ChangeOf(number) == Change::kWritten) {
      places[slot] = MakeBlock("image", number);
    } else if (ChangeOf(number) == Change::kCleared && !old.contains(slot)) {
      places[slot] = std::string(kBlockBytes, '\0');
    }
  }
  return places;
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

TEST(ContentTest, EveryMomentOfAWriterThatClearsIsRight) {
  // In steps that meet each slot.
  for (uint64_t newest = 0; newest < 3 * kRounds * kSlots; newest += 37) {
    const auto blocks = WrittenUpTo(newest);
    // A place is changed before its slot.
    for (const uint64_t changed : {newest, newest + 1}) {
      const Content content =
          JudgeContent("image", blocks, PlacesUpTo(changed));
      EXPECT_EQ(content.newest, newest);
      EXPECT_EQ(content.not_cleared, 0U) << changed << " of " << newest;
      EXPECT_THAT(content.fault, IsEmpty()) << changed << " of " << newest;
    }
  }
}

// The numbers below write places (up to 31, 512 to 543), or clear them (256 to
// 287, 768 to 799).

TEST(ContentTest, APlaceThatWasNotClearedIsNoFault) {
  const Content content =
      JudgeContent("image", WrittenUpTo(800), PlacesUpTo(800, {5, 6, 31}));
  EXPECT_EQ(content.not_cleared, 3U);
  EXPECT_THAT(content.fault, IsEmpty());
  // The one before that was not cleared either, and the other site has never
  // seen what was written between.
  auto places = PlacesUpTo(800);
  places[7] = MakeBlock("image", 7);
  const Content older = JudgeContent("image", WrittenUpTo(800), places);
  EXPECT_EQ(older.not_cleared, 1U);
  EXPECT_THAT(older.fault, IsEmpty());
}

TEST(ContentTest, APlaceThatHoldsAnythingElseIsAFault) {
  const auto fault = [](uint64_t newest, size_t slot,
                        const std::string& holds) {
    auto places = PlacesUpTo(newest);
    places[slot] = holds;
    const Content content = JudgeContent("image", WrittenUpTo(newest), places);
    EXPECT_EQ(content.not_cleared, 0U);
    return content.fault;
  };
  const std::string zeros(kBlockBytes, '\0');
  EXPECT_THAT(fault(600, 9, zeros),
              HasSubstr("place 9 holds 'zeros' where 521 belongs beside 600"));
  EXPECT_THAT(fault(600, 9, MakeBlock("image", 9)), HasSubstr("where 521"));
  // Where 773 has cleared what 517 had written: of another place, of a number
  // that changes no place, or clears it, or comes later, of another image,
  // torn.
  constexpr char kCleared[] = "place 5 holds ";
  EXPECT_THAT(fault(800, 5, MakeBlock("image", 518)), HasSubstr(kCleared));
  EXPECT_THAT(fault(800, 5, MakeBlock("image", 549)), HasSubstr(kCleared));
  EXPECT_THAT(fault(800, 5, MakeBlock("image", 261)), HasSubstr(kCleared));
  EXPECT_THAT(fault(800, 5, MakeBlock("image", 1029)), HasSubstr(kCleared));
  EXPECT_THAT(fault(800, 5, MakeBlock("another", 517)), HasSubstr(kCleared));
  EXPECT_THAT(
      fault(800, 5,
            MakeBlock("image", 517).substr(0, 2048) + std::string(2048, '\0')),
      HasSubstr("what 773 cleared belongs beside 800"));
  EXPECT_THAT(fault(800, 5, ""), HasSubstr(kCleared));
  // Never written; and the next number changes its own place only.
  EXPECT_THAT(fault(3, 5, MakeBlock("image", 5)), HasSubstr("where nothing"));
}

/// Two sites that hold an image of 64 MiB, of which one object is looked at.
class CompareTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kBytes = uint64_t{64} << 20;
  static constexpr uint64_t kOffset = uint64_t{36} << 20;
  static constexpr size_t kSlot = 5;  // its place is the object's second one

  CompareTest() {
    Put(one_, PlaceOffset(kBytes, kSlot), MakeBlock("image", 517));
    Put(other_, PlaceOffset(kBytes, kSlot), MakeBlock("image", 517));
  }
  static void Put(std::string& site, uint64_t at, const std::string& block) {
    site.replace(at - kOffset, block.size(), block);
  }
  Difference Compared() const {
    Difference difference;
    Compare("image", kBytes, kOffset, one_, other_, difference);
    return difference;
  }

  const std::string zeros_ = std::string(kBlockBytes, '\0');
  std::string one_ = std::string(uint64_t{4} << 20, '\0');
  std::string other_ = one_;
};

TEST_F(CompareTest, TheSameIsNoDifference) {
  const Difference difference = Compared();
  EXPECT_EQ(difference.not_cleared, 0U);
  EXPECT_EQ(difference.damaged, 0U);
}

TEST_F(CompareTest, WhatWasClearedAtOneSiteAloneIsTold) {
  for (std::string* const site : {&one_, &other_}) {
    const std::string before = *site;
    Put(*site, PlaceOffset(kBytes, kSlot), zeros_);
    const Difference difference = Compared();
    EXPECT_EQ(difference.not_cleared, 1U);
    EXPECT_EQ(difference.damaged, 0U) << difference.first_damage;
    *site = before;
  }
}

TEST_F(CompareTest, AnythingElseIsDamage) {
  const auto damaged = [&](uint64_t at, const std::string& one,
                           const std::string& other) {
    const std::string before = one_;
    const std::string other_before = other_;
    Put(one_, at, one);
    Put(other_, at, other);
    const Difference difference = Compared();
    one_ = before;
    other_ = other_before;
    EXPECT_EQ(difference.not_cleared, 0U);
    return difference.damaged;
  };
  const uint64_t place = PlaceOffset(kBytes, kSlot);
  const std::string old = MakeBlock("image", 517);
  // Both hold something.
  EXPECT_EQ(damaged(place, old, MakeBlock("image", 5)), 1U);
  // A number that clears, one of another place or image; a torn block.
  EXPECT_EQ(damaged(place, zeros_, MakeBlock("image", 261)), 1U);
  EXPECT_EQ(damaged(place, zeros_, MakeBlock("image", 518)), 1U);
  EXPECT_EQ(damaged(place, MakeBlock("another", 517), zeros_), 1U);
  EXPECT_EQ(damaged(place, zeros_, old.substr(0, 2048) + zeros_.substr(2048)),
            1U);
  // Nothing is cleared but the places.
  EXPECT_EQ(damaged(place + kBlockBytes, zeros_, old), 1U);
  EXPECT_EQ(damaged(kOffset + 12345, "x", "y"), 1U);
}

TEST_F(CompareTest, ASlotIsNeverCleared) {
  Difference difference;
  Compare("image", kBytes, SlotOffset(kBytes, kSlot), zeros_,
          MakeBlock("image", 517), difference);
  EXPECT_EQ(difference.not_cleared, 0U);
  EXPECT_EQ(difference.damaged, 1U);
}

TEST_F(CompareTest, EachDamagedBlockCountsAndTheFirstIsNamed) {
  Put(other_, kOffset + kBlockBytes, "something");
  Put(other_, kOffset + 5 * kBlockBytes, "else");
  other_.resize(other_.size() - 2 * kBlockBytes);
  const Difference difference = Compared();
  EXPECT_EQ(difference.damaged, 4U);
  EXPECT_THAT(difference.first_damage,
              AllOf(HasSubstr("at 37752832 "), HasSubstr("something")));
}

}  // namespace
}  // namespace addons::testing
