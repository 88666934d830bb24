#include "base/last_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace addons {
namespace {

TEST(LastLinesTest, KeepsLinesInTheirOrder) {
  LastLines lines;
  EXPECT_EQ(lines.Text(), "");
  lines.Keep("a\n");
  lines.Keep("b\n");
  EXPECT_EQ(lines.Text(), "a\nb\n");
  lines.Clear();
  lines.Keep("c\n");
  EXPECT_EQ(lines.Text(), "c\n");
}

TEST(LastLinesTest, TheOldestGoForTheNumberOfLines) {
  LastLines lines({.lines = 2});
  for (const char* const line : {"a\n", "b\n", "c\n"}) lines.Keep(line);
  EXPECT_EQ(lines.Text(), "b\nc\n");
}

TEST(LastLinesTest, TheOldestGoForTheBytes) {
  LastLines lines({.bytes = 8});
  for (const char* const line : {"aaa\n", "bbb\n", "c\n"}) lines.Keep(line);
  EXPECT_EQ(lines.Text(), "bbb\nc\n");
  lines.Keep("longer than all\n");
  EXPECT_EQ(lines.Text(), "");
}

TEST(LastLinesTest, OneLineIsNotAllThatIsKept) {
  LastLines lines({.line_bytes = 4});
  lines.Keep("abc\n");
  lines.Keep("abcdefgh\n");
  EXPECT_EQ(lines.Text(), "abc\nabcd...\n");
}

// A thousand of the longest would be 4 MiB.
TEST(LastLinesTest, BoundsOfTheDaemonHold) {
  LastLines lines;
  for (int i = 0; i < 2000; ++i) lines.Keep(std::string(5000, 'x') + "\n");
  EXPECT_LE(lines.Text().size(), size_t{256} << 10);
  EXPECT_GE(lines.Text().size(), size_t{250} << 10);
}

}  // namespace
}  // namespace addons
