// The parser of `osd blocklist ls` is fed with mutations of real answers. It
// must neither crash nor throw, and what it takes must be what it would write.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ceph/blocklist.h"
#include "ceph/ceph_address.h"

namespace addons {
namespace {

const std::array<std::string, 7> kSeeds = {
    "[][]",
    R"([{"addr":"10.8.0.4:0/55","until":"2026-11-21T12:44:00.591281+0000"},)"
    R"({"addr":"[2001:db8::6]:0/77","until":"2026-11-21T12:44:55.369533+0000"},)"
    R"({"addr":"10.8.0.1:0/0","until":"2026-11-21T12:44:55.162246+0000"}])"
    R"([{"range":"10.9.1.77:0/24","until":"2026-11-21T12:53:55.093423+0000"},)"
    R"({"range":"[2001:db8::]:0/64","until":"2031-11-21T12:44:55.265342+0000"}])",
    R"([{"addr":"v1:10.8.0.4:0/55","until":"2026-11-21 12:44:00.591281"}])",
    R"([{"addr":"[v2:10.8.0.4:0/55,v1:10.8.0.4:0/55]","until":"x"}][])",
    R"([{"addr":"10.8.0.4:0/55","until":"","more":[{"a":["\"]"]}]}][])",
    R"({"blocklist":[],"range_blocklist":[]})",
    R"({"blocklist":[{"addr":"10.8.0.4:0/55","until":"2026-11-21T12:44:00+0000"}],)"
    R"("range_blocklist":[{"range":"10.9.1.77:0/24","until":"x","more":[]}]})"};
const std::array<std::string, 16> kPieces = {
    "[",  "]",    "{",  "}",        "\"",    "\\",         ",",   ":",
    "/0", "/129", "::", "\xff\xfe", "\\u00", "9999999999", "v2:", "null"};

class Mutator {
 public:
  std::string Next() {
    std::string text = kSeeds.at(Below(kSeeds.size()));
    for (uint64_t i = Below(8); i-- > 0;) Mutate(&text);
    return text;
  }

 private:
  size_t Below(size_t limit) { return engine_() % limit; }
  size_t Place(const std::string& text) { return Below(text.size() + 1); }

  void Mutate(std::string* text) {
    const size_t at = Place(*text);
    switch (Below(5)) {
      case 0:
        text->insert(at, kPieces.at(Below(kPieces.size())));
        break;
      case 1:
        text->erase(at, Below(12));
        break;
      case 2:
        if (at < text->size()) {
          (*text)[at] = static_cast<char>(Below(256));
        }
        break;
      case 3:  // a part twice
        text->insert(Place(*text), text->substr(at, Below(40)));
        break;
      default:
        text->insert(at, std::string(Below(2000), "[{0"[Below(3)]));
    }
  }

  std::mt19937_64 engine_{1};
};

std::string Write(const Blocklist& list) {
  std::string addresses;
  std::string ranges;
  for (const BlocklistEntry& entry : list.entries) {
    const bool range = entry.kind == BlocklistEntry::Kind::kRange;
    std::string& all = range ? ranges : addresses;
    if (!all.empty()) all += ",";
    all += std::string(range ? R"({"range":")" : R"({"addr":")") + entry.key +
           R"(","until":")" +
           (entry.until.has_value()
                ? absl::FormatTime("%Y-%m-%dT%H:%M:%E*S%z", *entry.until,
                                   absl::UTCTimeZone())
                : "") +
           "\"}";
  }
  return "[" + addresses + "]" + (list.has_ranges ? "[" + ranges + "]" : "");
}

TEST(BlocklistFuzzTest, AnswersAnythingAndReadsItsOwnTextBack) {
  Mutator mutator;
  int understood = 0;
  for (int i = 0; i < 60000; ++i) {
    const std::string text = mutator.Next();
    const auto list = Blocklist::Parse(text);
    if (!list.ok()) continue;
    ++understood;
    for (const BlocklistEntry& entry : list->entries) {
      EXPECT_LE(entry.prefix, AddressBits(entry.address.family));
      EXPECT_TRUE(entry.Range().Contains(entry.address)) << text;
      // The argument of a removal names the same entry.
      if (entry.kind == BlocklistEntry::Kind::kRange) {
        // One that Ceph could not have read is none of ours.
        const auto range = Cidr::Parse(entry.Argument());
        if (range.ok()) {
          EXPECT_EQ(*range, entry.Range().Unmapped());
        }
      } else {
        EXPECT_EQ(CephAddress::Parse(entry.Argument())->ip, entry.address);
      }
    }
    const auto again = Blocklist::Parse(Write(*list));
    ASSERT_TRUE(again.ok()) << text << "\n" << Write(*list);
    EXPECT_EQ(again->entries, list->entries) << text;
    EXPECT_EQ(again->has_ranges, list->has_ranges);
    EXPECT_TRUE(again->unreadable.empty());
  }
  // Otherwise only refusals were tested.
  EXPECT_GT(understood, 3000);
}

}  // namespace
}  // namespace addons
