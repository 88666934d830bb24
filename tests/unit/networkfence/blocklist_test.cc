#include "networkfence/blocklist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "networkfence/blocklist_commands.h"
#include "networkfence/helper_marker.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = BlocklistEntry::Kind;

constexpr char kUntil[] = R"(,"until":"2031-11-21T17:49:55.109932+0000"})";

std::string Both(const std::string& addresses, const std::string& ranges) {
  return "[" + addresses + "][" + ranges + "]";
}
std::string Range(const std::string& key) {
  return R"({"range":")" + key + "\"" + kUntil;
}
std::string Address(const std::string& key) {
  return R"({"addr":")" + key + "\"" + kUntil;
}

BlocklistEntry One(const std::string& text) {
  const auto list = Blocklist::Parse(text);
  EXPECT_OK(list);
  EXPECT_THAT(list->entries, SizeIs(1)) << text;
  return list->entries.empty() ? BlocklistEntry() : list->entries.front();
}

TEST(BlocklistTest, EmptyListsTellWhetherRangesAreKnown) {
  EXPECT_TRUE(Blocklist::Parse("[][]")->has_ranges);
  EXPECT_TRUE(Blocklist::Parse("\n[]\n[]\n")->has_ranges);
  EXPECT_FALSE(Blocklist::Parse("[]")->has_ranges);
}

TEST(BlocklistTest, TellsTheKindsOfEntriesApart) {
  const BlocklistEntry range = One(Both("", Range("10.9.1.77:0/24")));
  EXPECT_EQ(range.kind, Kind::kRange);
  EXPECT_EQ(range.Range().Text(), "10.9.1.0/24");
  EXPECT_TRUE(range.HasHostBits());
  EXPECT_EQ(range.Argument(), "10.9.1.77/24");
  EXPECT_EQ(absl::FormatTime(*range.until, absl::UTCTimeZone()),
            "2031-11-21T17:49:55.109932+00:00");

  const BlocklistEntry wide = One(Both("", Range("[2001:db8::]:0/64")));
  EXPECT_EQ(wide.Range().Text(), "2001:db8::/64");
  EXPECT_FALSE(wide.HasHostBits());
  EXPECT_EQ(wide.Argument(), "2001:db8::/64");

  const BlocklistEntry address = One(Both(Address("10.8.0.1:0/0"), ""));
  EXPECT_EQ(address.kind, Kind::kAddress);
  EXPECT_EQ(address.Range().Text(), "10.8.0.1/32");
  EXPECT_EQ(address.Argument(), "10.8.0.1:0/0");
  EXPECT_EQ(One(Both(Address("v1:[fd00::1]:0/0"), "")).kind, Kind::kAddress);

  const BlocklistEntry client = One(Both(Address("10.8.0.3:0/4000000000"), ""));
  EXPECT_EQ(client.kind, Kind::kClient);
  EXPECT_EQ(client.nonce, 4000000000U);
  EXPECT_EQ(One(Both(Address("10.8.0.3:6800/0"), "")).kind, Kind::kClient);
  // What a Ceph without ranges makes of "10.9.1.0/24".
  EXPECT_EQ(One("[" + Address("10.9.1.0:0/24") + "]").kind, Kind::kClient);
}

TEST(BlocklistTest, ReadsOddDates) {
  const auto time = ParseMonitorTime("2031-11-21T17:49:55.109932+0000");
  ASSERT_TRUE(time.has_value());
  EXPECT_EQ(ParseMonitorTime("2031-11-21 17:49:55.109932"), time);
  EXPECT_EQ(ParseMonitorTime("2031-11-21T17:49:55.109932Z"), time);
  EXPECT_EQ(ParseMonitorTime("2031-11-21T19:49:55.109932+0200"), time);
  EXPECT_EQ(ParseMonitorTime("2031-11-21T17:49:55+0000"),
            *time - absl::Microseconds(109932));
  for (const char* odd : {"", "never", "infinite-future", "2031-13-01T00:00:00",
                          "0.000000", "2031-11-21"}) {
    EXPECT_EQ(ParseMonitorTime(odd), std::nullopt) << odd;
  }
}

TEST(BlocklistTest, KeepsWhatItUnderstandsAndNamesTheRest) {
  const auto list = Blocklist::Parse(
      Both(Address("10.8.0.1:0/0") + R"(,{"addr":5},"x",{"addr":"host:0/1"})",
           Range("10.0.0.0:0/33") + "," + Range("10.0.0.0:0/8") +
               R"(,{"range":"10.1.0.0:0/16","until":"one day"})"));
  ASSERT_OK(list);
  EXPECT_THAT(list->entries, SizeIs(3));
  EXPECT_THAT(list->unreadable, SizeIs(4));
  EXPECT_EQ(list->entries.back().until, std::nullopt);
}

TEST(BlocklistTest, RefusesWhatIsNoListing) {
  for (const char* text : {"", "{}", "[", "[}", "[]]", "[][][]", "[] x", "null",
                           "[\"]", "[1,]", "listed 0 entries"}) {
    EXPECT_EQ(Blocklist::Parse(text).status().code(),
              absl::StatusCode::kInternal)
        << text;
  }
}

TEST(BlocklistTest, BracketsInStringsDoNotEndAList) {
  const auto list = Blocklist::Parse(R"([{"addr":"]\"}["}][])");
  ASSERT_OK(list);
  EXPECT_THAT(list->unreadable, SizeIs(1));
  EXPECT_TRUE(list->has_ranges);
}

TEST(BlocklistTest, FindsEntriesOfOurOwnSpellingOnly) {
  const auto list = Blocklist::Parse(
      Both(Address("10.8.0.1:0/0"),
           Range("10.9.1.77:0/24") + "," + Range("10.9.2.0:0/24")));
  EXPECT_EQ(list->FindRange(*Cidr::Parse("10.9.1.0/24")), nullptr);
  EXPECT_NE(list->FindRange(*Cidr::Parse("10.9.2.0/24")), nullptr);
  EXPECT_EQ(list->FindRange(*Cidr::Parse("10.8.0.1")), nullptr);
  EXPECT_NE(list->FindAddress(*IpAddress::Parse("10.8.0.1")), nullptr);
}

TEST(BlocklistCommandsTest, AreWhatTheMonitorTakes) {
  EXPECT_EQ(AddCommand(RangeKey(*Cidr::Parse("10.0.0.0/24")),
                       std::chrono::seconds(157784760)),
            R"({"addr":"10.0.0.0/24","blocklistop":"add","expire":157784760.0,)"
            R"("prefix":"osd blocklist","range":"range"})");
  EXPECT_EQ(RemoveCommand(AddressKey(*IpAddress::Parse("fd00::1"))),
            R"({"addr":"[fd00::1]:0/0","blocklistop":"rm",)"
            R"("prefix":"osd blocklist"})");
}

TEST(HelperMarkerTest, IsRecognisedAgain) {
  for (const char* text : {"10.0.0.0/24", "10.0.0.7", "0.0.0.0/1", "fd00::/64",
                           "fd00::1", "10.0.0.0/8"}) {
    for (const uint32_t helpers : {1U, 2U, 3U}) {
      const HelperMarker marker{*Cidr::Parse(text), helpers};
      const auto read =
          HelperMarker::Of(One(Both(Address(marker.Key().argument), "")));
      ASSERT_TRUE(read.has_value()) << text;
      EXPECT_EQ(read->range, marker.range);
      EXPECT_EQ(read->helpers, helpers);
    }
  }
}

TEST(HelperMarkerTest, IsNothingElse) {
  for (const char* key : {"10.0.0.0:0/0", "10.0.0.0:0/123",
                          // A mask of 24, but not the first address of it.
                          "10.0.0.7:0/4266450017", "10.0.0.0:1/4266450017"}) {
    EXPECT_EQ(HelperMarker::Of(One(Both(Address(key), ""))), std::nullopt)
        << key;
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
