#include "networkfence/blocklist.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "networkfence/ceph_address.h"

namespace addons {
namespace {

using nlohmann::json;
using Kind = BlocklistEntry::Kind;

constexpr size_t kShown = 128;

absl::Status NotAList() {
  return absl::InternalError(
      "the monitor's answer to 'osd blocklist ls' is not one or two JSON "
      "arrays");
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

std::string StringOf(const json& object, const char* name) {
  if (!object.is_object()) return "";
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

std::optional<BlocklistEntry> ParseEntry(const json& object, bool range) {
  BlocklistEntry entry;
  entry.key = StringOf(object, range ? "range" : "addr");
  const auto address = CephAddress::Parse(entry.key);
  if (!address.has_value()) return std::nullopt;
  entry.address = address->ip;
  entry.until = ParseMonitorTime(StringOf(object, "until"));
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

}  // namespace

std::string BlocklistEntry::Argument() const {
  if (kind != Kind::kRange) return key;
  return absl::StrCat(address.Text(), "/", prefix);
}

absl::StatusOr<Blocklist> Blocklist::Parse(absl::string_view text) {
  Blocklist list;
  text = absl::StripAsciiWhitespace(text);
  int arrays = 0;
  while (!text.empty()) {
    const size_t end = EndOfArray(text);
    if (end == absl::string_view::npos || arrays == 2) return NotAList();
    const json array = json::parse(text.substr(0, end).begin(),
                                   text.substr(0, end).end(), nullptr, false);
    if (!array.is_array()) return NotAList();
    const bool ranges = ++arrays == 2;
    for (const json& object : array) {
      if (auto entry = ParseEntry(object, ranges)) {
        list.entries.push_back(*std::move(entry));
      } else {
        list.unreadable.push_back(
            object.dump(-1, ' ', true, json::error_handler_t::replace)
                .substr(0, kShown));
      }
    }
    text = absl::StripLeadingAsciiWhitespace(text.substr(end));
  }
  if (arrays == 0) return NotAList();
  list.has_ranges = arrays == 2;
  return list;
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
