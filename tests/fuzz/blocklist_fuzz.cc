// Listings of the blocklist: no entry gets lost, and what was read can be
// found, named in a command, and read again.

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "ceph/blocklist.h"
#include "ceph/blocklist_commands.h"
#include "ceph/ceph_address.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace addons::testing {
namespace {

using Kind = BlocklistEntry::Kind;
using nlohmann::json;

/// In years that a monitor can write.
bool Ordinary(absl::Time time) {
  const auto year = absl::ToCivilYear(time, absl::UTCTimeZone()).year();
  return year >= 1000 && year <= 9999;
}

std::string Written(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*S%z", time, absl::UTCTimeZone());
}

void CheckEntry(const Blocklist& list, const BlocklistEntry& entry) {
  const std::string& key = entry.key;
  const int bits = AddressBits(entry.address.family);
  CheckThat(entry.prefix >= 0 && entry.prefix <= bits,
            "a mask has no more bits than an address", key);
  CheckThat(entry.kind == Kind::kRange || entry.prefix == bits,
            "only a range has a mask", key);
  CheckThat(entry.kind != Kind::kAddress || entry.nonce == 0,
            "only a client has a nonce", key);
  CheckThat(list.has_ranges || entry.kind != Kind::kRange,
            "without a list of ranges there is none", key);
  if (entry.kind == Kind::kRange) {
    const auto argument = Cidr::Parse(entry.Argument());
    // Of IPv4 within IPv6 the command speaks another language.
    CheckThat(!argument.ok() || *argument == entry.Range().Unmapped(),
              "the argument of a command means the range", key);
    const BlocklistEntry* const found = list.FindRange(entry.Range());
    CheckThat(entry.HasHostBits() ||
                  (found != nullptr && found->Range() == entry.Range()),
              "a range without host bits is found", key);
  } else if (entry.kind == Kind::kAddress) {
    const BlocklistEntry* const found = list.FindAddress(entry.address);
    CheckThat(found != nullptr && found->address == entry.address,
              "an address is found", key);
  } else {
    const BlocklistEntry* const found = list.FindClient(key);
    CheckThat(found != nullptr && found->nonce == entry.nonce,
              "a client is found", key);
  }
  const json command = ParseJson(RemoveCommand(KeyOf(entry)));
  CheckThat(command.is_object() && command["addr"] == entry.Argument() &&
                command.contains("range") == (entry.kind == Kind::kRange),
            "the command names the entry", key);
  if (entry.until.has_value() && Ordinary(*entry.until)) {
    CheckThat(ParseMonitorTime(Written(*entry.until)) == entry.until,
              "a date that was read can be written and read", key);
  }
}

/// As a monitor would list them.
std::string Listed(const Blocklist& list) {
  json addresses = json::array();
  json ranges = json::array();
  for (const BlocklistEntry& entry : list.entries) {
    const bool range = entry.kind == Kind::kRange;
    const bool dated = entry.until.has_value() && Ordinary(*entry.until);
    (range ? ranges : addresses)
        .push_back({{range ? "range" : "addr", entry.key},
                    {"until", dated ? Written(*entry.until) : "never"}});
  }
  return absl::StrCat(addresses.dump(), "\n",
                      list.has_ranges ? ranges.dump() : "");
}

void Check(absl::string_view input) {
  const auto list = Blocklist::Parse(input);
  if (!list.ok()) {
    CheckError(list.status(), absl::StatusCode::kInternal);
    return;
  }
  for (const BlocklistEntry& entry : list->entries) CheckEntry(*list, entry);
  for (const std::string& text : list->unreadable) CheckLine(text, 128);

  const auto again = Blocklist::Parse(Listed(*list));
  CheckThat(again.ok() && again->entries.size() == list->entries.size() &&
                again->unreadable.empty() &&
                again->has_ranges == list->has_ranges,
            "written and read again it has the same entries", Listed(*list));
  for (size_t i = 0; i < list->entries.size(); ++i) {
    BlocklistEntry expected = list->entries[i];
    if (expected.until.has_value() && !Ordinary(*expected.until)) {
      expected.until.reset();
    }
    CheckThat(again->entries[i] == expected, "the same entry", expected.key);
  }
}

}  // namespace
}  // namespace addons::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = addons::testing::TextOf(data, size);
  addons::testing::Check(input);
  static_cast<void>(addons::ParseCephAddresses(input));
  return 0;
}
