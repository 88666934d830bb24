#include "ceph/blocklist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ceph/blocklist_commands.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::testing::HasSubstr;
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

TEST(BlocklistTest, ReadsTheObjectOfNewerMonitors) {
  const auto list =
      Blocklist::Parse(R"({"blocklist":[)" + Address("10.8.0.1:0/0") + "," +
                       Address("10.8.0.3:0/77") + R"(],"range_blocklist":[)" +
                       Range("10.9.1.0:0/24") + R"(]})" + "\n");
  ASSERT_OK(list);
  EXPECT_TRUE(list->has_ranges);
  EXPECT_THAT(list->unreadable, IsEmpty());
  const auto old = Blocklist::Parse(
      Both(Address("10.8.0.1:0/0") + "," + Address("10.8.0.3:0/77"),
           Range("10.9.1.0:0/24")));
  EXPECT_EQ(list->entries, old->entries);

  const auto empty =
      Blocklist::Parse(R"({"blocklist":[],"range_blocklist":[]})");
  ASSERT_OK(empty);
  EXPECT_TRUE(empty->has_ranges);
  EXPECT_THAT(empty->entries, IsEmpty());
}

TEST(BlocklistTest, ReadsARangeAsTheMapShowsIt) {
  const BlocklistEntry range = One(Both("", Range("cidr:10.9.1.0:0/24")));
  EXPECT_EQ(range.Range().Text(), "10.9.1.0/24");
  EXPECT_EQ(range.Argument(), "10.9.1.0/24");
}

TEST(BlocklistTest, KeepsWhatItUnderstandsAndNamesTheRest) {
  const auto list = Blocklist::Parse(
      Both(Address("10.8.0.1:0/0") + "," + Address("host:0/1"),
           Range("10.0.0.0:0/33") + "," + Range("10.0.0.0:0/8") +
               R"(,{"range":"10.1.0.0:0/16","until":"one day"})"));
  ASSERT_OK(list);
  EXPECT_THAT(list->entries, SizeIs(3));
  EXPECT_THAT(list->unreadable, SizeIs(2));
  EXPECT_EQ(list->entries.back().until, std::nullopt);
}

TEST(BlocklistTest, RefusesWhatIsNoListing) {
  const std::string entry = Address("10.8.0.1:0/0");
  for (const std::string& text : std::vector<std::string>{
           "",
           "{}",
           "[",
           "[}",
           "[]]",
           "[][][]",
           "[] x",
           "null",
           "[\"]",
           "[1,]",
           "listed 0 entries",
           "[[],[]]",
           "[[" + entry + "],[]]",
           R"({"blocklist":[]})",
           R"({"range_blocklist":[]})",
           R"({"blocklist":{},"range_blocklist":{}})",
           R"({"blocklist":[],"range_blocklist":null})",
           R"({"blocklist":[],"range_blocklist":[]}[])",
           R"({"blocklist":[[]],"range_blocklist":[]})",
           R"({"entries":{"blocklist":[],"range_blocklist":[]}})"}) {
    const absl::Status status = Blocklist::Parse(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << text;
    EXPECT_THAT(status.message(), HasSubstr("'osd blocklist ls'")) << text;
  }
}

TEST(BlocklistTest, RefusesEntriesOfAnotherType) {
  for (const std::string& entry : std::vector<std::string>{
           "\"10.8.0.1:0/0\"", "5", "null", "[]", R"({"addr":5,"until":"x"})",
           R"({"addr":"10.8.0.1:0/0"})", R"({"addr":"10.8.0.1:0/0","until":5})",
           Range("10.9.1.0:0/24")}) {
    for (const std::string& text :
         {Both(entry, ""), "[" + entry + "]",
          R"({"blocklist":[)" + entry + R"(],"range_blocklist":[]})"}) {
      EXPECT_EQ(Blocklist::Parse(text).status().code(),
                absl::StatusCode::kInternal)
          << text;
    }
  }
}

TEST(BlocklistTest, FindsAClientByAddressAndNonce) {
  const auto list = Blocklist::Parse(
      Both(Address("10.8.0.3:0/77") + "," + Address("10.8.0.4:0/0"), ""));
  ASSERT_OK(list);
  EXPECT_NE(list->FindClient("10.8.0.3:0/77"), nullptr);
  EXPECT_NE(list->FindClient("v1:10.8.0.3:0/77"), nullptr);
  EXPECT_NE(list->FindClient("[v2:10.8.0.3:0/77,v1:10.8.0.3:0/77]"), nullptr);
  EXPECT_EQ(list->FindClient("10.8.0.3:0/78"), nullptr);
  EXPECT_EQ(list->FindClient("10.8.0.30:0/77"), nullptr);
  EXPECT_EQ(list->FindClient("10.8.0.4:0/0"), nullptr) << "not a client's";
  EXPECT_EQ(list->FindClient("nobody"), nullptr);
}

TEST(BlocklistTest, BracketsInStringsDoNotEndAList) {
  const auto list = Blocklist::Parse(R"([{"addr":"]\"}[","until":""}][])");
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
  EXPECT_EQ(AddCommand(ClientKey("10.0.0.1:0/123"), std::chrono::seconds(300)),
            R"({"addr":"10.0.0.1:0/123","blocklistop":"add","expire":300.0,)"
            R"("prefix":"osd blocklist"})");
}

}  // namespace
}  // namespace addons
