#include "rpc/text.h"

#include <gtest/gtest.h>

namespace addons {
namespace {

TEST(FirstRuneTest, DecodesEachLength) {
  EXPECT_EQ(FirstRune("a").value, U'a');
  EXPECT_EQ(FirstRune("\xC3\xA9x").value, U'\u00E9');
  EXPECT_EQ(FirstRune("\xE2\x82\xACx").value, U'\u20AC');
  EXPECT_EQ(FirstRune("\xF0\x9F\x92\xBE").value, U'\U0001F4BE');
  EXPECT_EQ(FirstRune("\xF0\x9F\x92\xBE").size, 4U);
}

TEST(FirstRuneTest, RefusesWhatIsNotUtf8) {
  for (const char* text : {"\x80", "\xC3", "\xC3(", "\xE2\x82", "\xFF",
                           "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
    EXPECT_FALSE(FirstRune(text).valid) << ::testing::PrintToString(text);
    EXPECT_EQ(FirstRune(text).size, 1U) << ::testing::PrintToString(text);
  }
}

TEST(IsControlTest, SparesBlanksAndLetters) {
  for (const char32_t rune : {U' ', U'a', U'\u00A0'}) {
    EXPECT_FALSE(IsControl(rune)) << static_cast<uint32_t>(rune);
  }
}

TEST(IsControlTest, KnowsBothControlBlocks) {
  for (const char32_t rune :
       {U'\0', U'\x08', U'\t', U'\n', U'\x0B', U'\x0C', U'\r', U'\x0E', U'\x1F',
        U'\x7F', char32_t{0x80}, char32_t{0x9F}}) {
    EXPECT_TRUE(IsControl(rune)) << static_cast<uint32_t>(rune);
  }
}

TEST(CleanLineTest, LeavesReadableTextAlone) {
  EXPECT_EQ(CleanLine("image 'p/i' \xE2\x82\xAC", 100),
            "image 'p/i' \xE2\x82\xAC");
}

TEST(CleanLineTest, ReplacesControlsAndBrokenCharacters) {
  EXPECT_EQ(CleanLine("a\nb\x1B[0m\xFFz\xC2\x85", 100), "a b [0m?z ");
}

TEST(CleanLineTest, FillsTheLimitExactly) {
  EXPECT_EQ(CleanLine("1234567890", 10), "1234567890");
}

TEST(CleanLineTest, CutsWhatIsTooLong) {
  EXPECT_EQ(CleanLine("12345678901", 10), "1234567...");
}

TEST(CleanLineTest, NeverCutsInsideACharacter) {
  EXPECT_EQ(CleanLine("123456\xE2\x82\xAC\xE2\x82\xAC", 10), "123456...");
}

}  // namespace
}  // namespace addons
