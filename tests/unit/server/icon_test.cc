#include "server/page/icon.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace addons {
namespace {

uint32_t At(const std::string& file, size_t offset, size_t bytes) {
  uint32_t value = 0;
  for (size_t i = bytes; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(file.at(offset + i));
  }
  return value;
}

// As a browser reads it: one picture of 16 by 16, which ends with the file.
TEST(PageIconTest, IsAnIcoFile) {
  const std::string file = PageIcon();
  EXPECT_EQ(At(file, 0, 2), 0U);
  EXPECT_EQ(At(file, 2, 2), 1U);
  EXPECT_EQ(At(file, 4, 2), 1U);
  EXPECT_EQ(At(file, 6, 1), 16U);
  EXPECT_EQ(At(file, 7, 1), 16U);
  const uint32_t size = At(file, 14, 4);
  const uint32_t offset = At(file, 18, 4);
  EXPECT_EQ(offset + size, file.size());
  EXPECT_EQ(At(file, offset, 4), 40U);
  EXPECT_EQ(At(file, offset + 4, 4), 16U);
  EXPECT_EQ(At(file, offset + 8, 4), 32U);
  EXPECT_EQ(At(file, offset + 14, 2), 1U);
}

// Every pixel is seen or has a colour, and some are of each kind.
TEST(PageIconTest, TheMapsAreEachOthersOpposite) {
  const std::string file = PageIcon();
  const size_t colours = file.size() - 2 * 64;
  int seen = 0;
  for (size_t row = 0; row < 16; ++row) {
    const uint32_t colour = At(file, colours + 4 * row, 2);
    const uint32_t hidden = At(file, colours + 64 + 4 * row, 2);
    EXPECT_EQ(colour ^ hidden, 0xFFFFU) << row;
    seen += __builtin_popcount(colour);
  }
  EXPECT_GT(seen, 64);
  EXPECT_LT(seen, 224);
}

}  // namespace
}  // namespace addons
