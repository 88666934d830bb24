#include "base/cidr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Normal(const std::string& text) {
  const auto range = Cidr::Parse(text);
  return range.ok() ? range->Text() : std::string(range.status().message());
}

TEST(CidrTest, NormalisesWhatIsARange) {
  EXPECT_EQ(Normal("10.1.2.3"), "10.1.2.3/32");
  EXPECT_EQ(Normal("10.1.2.77/24"), "10.1.2.0/24");
  EXPECT_EQ(Normal("0.0.0.0/0"), "0.0.0.0/0");
  EXPECT_EQ(Normal("255.255.255.255/1"), "128.0.0.0/1");
  EXPECT_EQ(Normal("FD00:0:0::1"), "fd00::1/128");
  EXPECT_EQ(Normal("2001:db8::1/64"), "2001:db8::/64");
  EXPECT_EQ(Normal("::/0"), "::/0");
}

TEST(CidrTest, TakesMappedIPv6ForIPv4) {
  EXPECT_EQ(Normal("::ffff:10.0.0.1"), "10.0.0.1/32");
  EXPECT_EQ(Normal("::ffff:10.0.0.77/120"), "10.0.0.0/24");
  EXPECT_EQ(Normal("::ffff:a00:1/128"), "10.0.0.1/32");
  EXPECT_EQ(Normal("::ffff:0:0/96"), "0.0.0.0/0");
  EXPECT_THAT(Normal("::ffff:10.0.0.1/95"), HasSubstr("IPv4-mapped"));
}

TEST(CidrTest, RefusesIPv4CompatibleIPv6) {
  for (const char* text : {"::10.0.0.1", "::a00:1", "::10.0.0.1/128",
                           "::10.0.0.0/104", "::10.0.0.77/120"}) {
    EXPECT_THAT(Normal(text), HasSubstr("write IPv4 ranges as IPv4")) << text;
  }
  EXPECT_EQ(Normal("::1"), "::1/128");
  EXPECT_EQ(Normal("::10.0.0.1/64"), "::/64");
}

TEST(CidrTest, RefusesEverythingElse) {
  for (const std::string text : {"",
                                 "/",
                                 "/24",
                                 "10.0.0.0/",
                                 "10.0.0/24",
                                 "10.0.0.0/33",
                                 "10.0.0.0/-1",
                                 "10.0.0.0/+8",
                                 "10.0.0.0/ 8",
                                 "10.0.0.0/8 ",
                                 " 10.0.0.0/8",
                                 "10.0.0.0/255.0.0.0",
                                 "010.0.0.1",
                                 "10.0.0.256",
                                 "10.0.0.1:0",
                                 "10.0.0.1:0/123",
                                 "[fd00::1]",
                                 "[fd00::1]:0/128",
                                 "fd00::1%eth0",
                                 "fd00::/129",
                                 "fd00::1::2",
                                 "node-1",
                                 "10.0.0.0/24/24",
                                 "10.0.0.0/0x8",
                                 "10.0.0.0/9999999999"}) {
    EXPECT_EQ(Cidr::Parse(text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_FALSE(Cidr::Parse(std::string("10.0.0.1\0", 9)).ok());
}

TEST(CidrTest, ShowsWhatIsWrongWithoutControlCharacters) {
  EXPECT_THAT(Normal("10.0.0.1\n"), HasSubstr("'10.0.0.1\\n'"));
  EXPECT_THAT(Normal("10.0.0.0/33"), HasSubstr("0 to 32"));
}

TEST(CidrTest, MergesDuplicatesAndWhatLiesWithin) {
  std::vector<Cidr> ranges;
  for (const char* text :
       {"10.1.0.9/32", "fd00::/64", "10.1.0.0/24", "10.0.0.0/8", "11.0.0.0/8",
        "fd00::5", "11.0.0.0/8"}) {
    ranges.push_back(*Cidr::Parse(text));
  }
  EXPECT_EQ(JoinRanges(Merged(ranges)), "10.0.0.0/8, 11.0.0.0/8, fd00::/64");
  EXPECT_EQ(SortedUnique(ranges).size(), 6U);
}

/// Random ranges, mostly near each other, so that they touch and overlap.
class RandomRanges {
 public:
  Cidr Next() {
    const bool v4 = Below(2) == 0;
    const int bits = v4 ? 32 : 128;
    absl::uint128 value = v4 ? absl::uint128(0x0a000000) : Wide();
    value |= Below(Below(2) == 0 ? 16 : uint64_t{1} << 24);
    return Cidr({v4 ? IpFamily::kIPv4 : IpFamily::kIPv6, value},
                static_cast<int>(Below(static_cast<uint64_t>(bits) + 1)));
  }
  uint64_t Below(uint64_t limit) { return engine_() % limit; }

 private:
  static absl::uint128 Wide() {
    return absl::MakeUint128(0xfd00000000000000, 0);
  }
  std::mt19937_64 engine_{20260105};
};

TEST(CidrPropertyTest, TextIsReadBack) {
  RandomRanges random;
  for (int i = 0; i < 5000; ++i) {
    const Cidr range = random.Next();
    EXPECT_EQ(*Cidr::Parse(range.Text()), range) << range.Text();
    EXPECT_TRUE(range.Contains(range.address()));
  }
}

TEST(CidrPropertyTest, HalvesAreDisjointAndCoverTheWhole) {
  RandomRanges random;
  for (int i = 0; i < 5000; ++i) {
    const Cidr range = random.Next();
    if (range.IsSingle()) continue;
    const auto [lower, upper] = range.Halves();
    EXPECT_TRUE(range.Contains(lower) && range.Contains(upper));
    EXPECT_FALSE(lower.Contains(upper) || upper.Contains(lower));
    EXPECT_FALSE(lower.Contains(range) || upper.Contains(range));
    // The first and last addresses, and those beside the border.
    EXPECT_EQ(lower.address(), range.address());
    IpAddress before = upper.address();
    before.value -= 1;
    EXPECT_TRUE(lower.Contains(before)) << range.Text();
    IpAddress last = upper.address();
    last.value += upper.address().value - lower.address().value - 1;
    EXPECT_TRUE(range.Contains(last)) << range.Text();
    const IpAddress after{last.family, last.value + 1};
    EXPECT_FALSE(range.prefix() != 0 && range.Contains(after)) << range.Text();
  }
}

TEST(CidrPropertyTest, ContainmentIsAnOrder) {
  RandomRanges random;
  for (int i = 0; i < 20000; ++i) {
    const Cidr a = random.Next();
    const Cidr b = random.Next();
    if (a.Contains(b)) {
      EXPECT_TRUE(a.Contains(b.address()));
      EXPECT_LE(a.prefix(), b.prefix());
      EXPECT_LE(a, b);
      EXPECT_TRUE(!b.Contains(a) || a == b);
    } else if (!b.Contains(a)) {
      EXPECT_FALSE(a.Contains(b.address()) || b.Contains(a.address()));
    }
  }
}

TEST(CidrPropertyTest, MergingKeepsEveryAddressAndNothingTwice) {
  RandomRanges random;
  for (int round = 0; round < 300; ++round) {
    std::vector<Cidr> ranges;
    for (uint64_t i = random.Below(12); i-- > 0;) {
      ranges.push_back(random.Next());
    }
    const std::vector<Cidr> merged = Merged(ranges);
    for (const Cidr& range : ranges) {
      int holders = 0;
      for (const Cidr& one : merged) holders += one.Contains(range) ? 1 : 0;
      EXPECT_EQ(holders, 1) << range.Text();
    }
    for (const Cidr& one : merged) {
      EXPECT_THAT(ranges, ::testing::Contains(one));
    }
    EXPECT_EQ(Merged(merged), merged);
  }
}

}  // namespace
}  // namespace addons
