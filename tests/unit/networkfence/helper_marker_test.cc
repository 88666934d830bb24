#include "networkfence/helper_marker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "ceph/blocklist.h"

namespace addons {
namespace {

using ::testing::SizeIs;

/// An entry of the blocklist's first list.
BlocklistEntry Listed(const std::string& address) {
  const auto list =
      Blocklist::Parse(R"([{"addr":")" + address +
                       R"(","until":"2031-11-21T17:49:55.109932+0000"}][])");
  EXPECT_TRUE(list.ok() && list->entries.size() == 1) << address;
  return list.ok() && !list->entries.empty() ? list->entries.front()
                                             : BlocklistEntry();
}

TEST(HelperMarkerTest, IsRecognisedAgain) {
  for (const char* text : {"10.0.0.0/24", "10.0.0.7", "0.0.0.0/1", "fd00::/64",
                           "fd00::1", "10.0.0.0/8"}) {
    for (const uint32_t helpers : {1U, 2U, 3U}) {
      const HelperMarker marker{*Cidr::Parse(text), helpers};
      const auto read = HelperMarker::Of(Listed(marker.Key().argument));
      ASSERT_TRUE(read.has_value()) << text;
      EXPECT_EQ(read->range, marker.range);
      EXPECT_EQ(read->helpers, helpers);
    }
  }
}

TEST(HelperMarkerTest, IsNothingElse) {
  ASSERT_TRUE(HelperMarker::Of(Listed("10.0.0.0:0/4266451041")).has_value());
  for (const char* key : {"10.0.0.0:0/0", "10.0.0.0:0/123",
                          // A mask of 24, but not the first address of it.
                          "10.0.0.7:0/4266451041", "10.0.0.0:1/4266451041",
                          // A mask of 33, which no address has.
                          "0.0.0.0:0/4266451077"}) {
    EXPECT_EQ(HelperMarker::Of(Listed(key)), std::nullopt) << key;
  }
}

TEST(HelperMarkerTest, HelpersCoverTheRangeInAnotherSpelling) {
  const auto halves = HelpersOf(*Cidr::Parse("10.0.0.0/24"));
  ASSERT_THAT(halves, SizeIs(2));
  EXPECT_EQ(halves[0].key.argument, "10.0.0.0/25");
  EXPECT_EQ(halves[1].key.argument, "10.0.0.128/25");
  const auto single = HelpersOf(*Cidr::Parse("fd00::1"));
  ASSERT_THAT(single, SizeIs(1));
  EXPECT_EQ(single[0].key.argument, "[fd00::1]:0/0");
  EXPECT_FALSE(single[0].key.range);
}

}  // namespace
}  // namespace addons
