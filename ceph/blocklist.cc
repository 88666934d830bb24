#include "ceph/blocklist.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "ceph/ceph_address.h"

namespace addons {
namespace {

using nlohmann::json;
using Kind = BlocklistEntry::Kind;

constexpr size_t kShown = 128;

absl::Status NotUnderstood(absl::string_view why) {
  return absl::InternalError(absl::StrCat(
      "the monitor's answer to 'osd blocklist ls' is not understood: ", why));
}

absl::Status NotAList() {
  return NotUnderstood("neither one or two JSON arrays nor an object of two");
}

/// Where the JSON array ends that `text` begins with; npos: there is none.
size_t EndOfArray(absl::string_view text) {
  if (text.empty() || text.front() != '[') return absl::string_view::npos;
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if ((c == ']' || c == '}') && --depth == 0) {
      return i + 1;
    }
  }
  return absl::string_view::npos;
}

/// nullptr: `object` has no text of this name.
const std::string* TextIn(const json& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() ? nullptr : it->get_ptr<const std::string*>();
}

/// nullopt: the address is in an unknown spelling.
std::optional<BlocklistEntry> ParseEntry(const std::string& key,
                                         const std::string& until, bool range) {
  BlocklistEntry entry;
  entry.key = key;
  // `osd dump` writes the type before a range, `osd blocklist ls` does not.
  absl::string_view text = key;
  if (range) absl::ConsumePrefix(&text, "cidr:");
  const auto address = CephAddress::Parse(text);
  if (!address.has_value()) return std::nullopt;
  entry.address = address->ip;
  entry.until = ParseMonitorTime(until);
  const int bits = AddressBits(address->ip.family);
  if (range) {
    if (address->nonce > static_cast<uint32_t>(bits)) return std::nullopt;
    entry.kind = Kind::kRange;
    entry.prefix = static_cast<int>(address->nonce);
    return entry;
  }
  entry.prefix = bits;
  entry.nonce = address->nonce;
  entry.kind = address->port == 0 && address->nonce == 0 ? Kind::kAddress
                                                         : Kind::kClient;
  return entry;
}

absl::Status AddEntries(const json& array, bool ranges, Blocklist* list) {
  if (!array.is_array()) return NotAList();
  const char* const name = ranges ? "range" : "addr";
  for (const json& object : array) {
    const std::string* key = nullptr;
    const std::string* until = nullptr;
    if (object.is_object()) {
      key = TextIn(object, name);
      until = TextIn(object, "until");
    }
    if (key == nullptr || until == nullptr) {
      return NotUnderstood(
          absl::StrCat("an entry has no texts '", name, "' and 'until'"));
    }
    if (auto entry = ParseEntry(*key, *until, ranges)) {
      list->entries.push_back(*std::move(entry));
    } else {
      list->unreadable.push_back(
          object.dump(-1, ' ', true, json::error_handler_t::replace)
              .substr(0, kShown));
    }
  }
  return absl::OkStatus();
}

json ParseJson(absl::string_view text) {
  return json::parse(text.begin(), text.end(), nullptr, false);
}

absl::StatusOr<Blocklist> ParseObject(absl::string_view text) {
  const json object = ParseJson(text);
  if (!object.is_object()) return NotAList();
  const auto addresses = object.find("blocklist");
  const auto ranges = object.find("range_blocklist");
  if (addresses == object.end() || ranges == object.end()) return NotAList();
  Blocklist list;
  ADDONS_RETURN_IF_ERROR(AddEntries(*addresses, false, &list));
  ADDONS_RETURN_IF_ERROR(AddEntries(*ranges, true, &list));
  list.has_ranges = true;
  return list;
}

absl::StatusOr<Blocklist> ParseArrays(absl::string_view text) {
  Blocklist list;
  int arrays = 0;
  while (!text.empty()) {
    const size_t end = EndOfArray(text);
    if (end == absl::string_view::npos || arrays == 2) return NotAList();
    ADDONS_RETURN_IF_ERROR(
        AddEntries(ParseJson(text.substr(0, end)), ++arrays == 2, &list));
    text = absl::StripLeadingAsciiWhitespace(text.substr(end));
  }
  if (arrays == 0) return NotAList();
  list.has_ranges = arrays == 2;
  return list;
}

}  // namespace

std::string BlocklistEntry::Argument() const {
  if (kind != Kind::kRange) return key;
  return absl::StrCat(address.Text(), "/", prefix);
}

absl::StatusOr<Blocklist> Blocklist::Parse(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  return absl::StartsWith(text, "{") ? ParseObject(text) : ParseArrays(text);
}

const BlocklistEntry* Blocklist::FindRange(const Cidr& range) const {
  const auto it = std::find_if(
      entries.begin(), entries.end(), [&](const BlocklistEntry& entry) {
        return entry.kind == Kind::kRange && entry.Range() == range &&
               !entry.HasHostBits();
      });
  return it == entries.end() ? nullptr : &*it;
}

const BlocklistEntry* Blocklist::FindAddress(const IpAddress& address) const {
  const auto it = std::find_if(
      entries.begin(), entries.end(), [&](const BlocklistEntry& entry) {
        return entry.kind == Kind::kAddress && entry.address == address;
      });
  return it == entries.end() ? nullptr : &*it;
}

const BlocklistEntry* Blocklist::FindClient(absl::string_view addresses) const {
  const std::vector<CephAddress> client = ParseCephAddresses(addresses);
  const auto it = std::find_if(
      entries.begin(), entries.end(), [&](const BlocklistEntry& entry) {
        return entry.kind == Kind::kClient &&
               std::any_of(client.begin(), client.end(),
                           [&](const CephAddress& address) {
                             return address.ip == entry.address &&
                                    address.nonce == entry.nonce;
                           });
      });
  return it == entries.end() ? nullptr : &*it;
}

std::optional<absl::Time> ParseMonitorTime(absl::string_view text) {
  for (const char* const format :
       {"%Y-%m-%dT%H:%M:%E*S%z", "%Y-%m-%dT%H:%M:%E*SZ", "%Y-%m-%dT%H:%M:%E*S",
        "%Y-%m-%d %H:%M:%E*S%z", "%Y-%m-%d %H:%M:%E*S"}) {
    absl::Time time;
    std::string error;
    if (absl::ParseTime(format, text, absl::UTCTimeZone(), &time, &error) &&
        time != absl::InfiniteFuture() && time != absl::InfinitePast()) {
      return time;
    }
  }
  return std::nullopt;
}

}  // namespace addons
