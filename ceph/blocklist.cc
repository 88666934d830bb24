#include "ceph/blocklist.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/json.h"
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
std::optional<BlocklistEntry> ParseEntry(absl::string_view key,
                                         absl::string_view until, bool range) {
  BlocklistEntry entry;
  entry.key = std::string(key);
  // As the map shows it.
  if (range) absl::ConsumePrefix(&key, "cidr:");
  const auto address = CephAddress::Parse(key);
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

/// Takes the entries out of an answer while it is parsed: of ten thousand of
/// them one at a time stands in memory as JSON.
class EntryReader {
 public:
  /// The list goes to `list`, which is not owned.
  explicit EntryReader(Blocklist* list) : list_(*list) {}

  /// An array of entries.
  absl::Status ReadArray(absl::string_view text, bool ranges) {
    const json rest = Parse(
        text,
        [this, ranges](int depth, json::parse_event_t event, json& value) {
          if (depth != 1 || event != json::parse_event_t::object_end) {
            return true;
          }
          return Take(value, ranges);
        });
    return CheckTaken(rest);
  }

  /// An object of two such arrays.
  absl::Status ReadObject(absl::string_view text) {
    std::string name;
    const json rest =
        Parse(text, [&](int depth, json::parse_event_t event, json& value) {
          if (depth == 1 && event == json::parse_event_t::key) {
            name = value.get<std::string>();
            return name == kAddresses || name == kRanges;
          }
          if (depth != 2 || event != json::parse_event_t::object_end) {
            return true;
          }
          return Take(value, name == kRanges);
        });
    if (!rest.is_object()) return NotAList();
    for (const char* const list : {kAddresses, kRanges}) {
      const auto it = rest.find(list);
      if (it == rest.end()) return NotAList();
      ADDONS_RETURN_IF_ERROR(CheckTaken(*it));
    }
    return absl::OkStatus();
  }

 private:
  static constexpr char kAddresses[] = "blocklist";
  static constexpr char kRanges[] = "range_blocklist";

  static json Parse(absl::string_view text,
                    const json::parser_callback_t& callback) {
    return ParseJson(text, callback);
  }

  /// false, so that it does not stay: `object` has been read.
  bool Take(const json& object, bool range) {
    const std::string* const key = TextIn(object, range ? "range" : "addr");
    const std::string* const until = TextIn(object, "until");
    if (key == nullptr || until == nullptr) return true;
    list_.Add(*key, *until, range);
    return false;
  }

  /// `rest` is what stayed of an array: what is no entry.
  static absl::Status CheckTaken(const json& rest) {
    if (!rest.is_array()) return NotAList();
    if (rest.empty()) return absl::OkStatus();
    return NotUnderstood(
        "an entry has no texts 'addr' or 'range', and 'until'");
  }

  Blocklist& list_;
};

absl::StatusOr<Blocklist> ParseObject(absl::string_view text) {
  Blocklist list;
  ADDONS_RETURN_IF_ERROR(EntryReader(&list).ReadObject(text));
  list.has_ranges = true;
  return list;
}

absl::StatusOr<Blocklist> ParseArrays(absl::string_view text) {
  Blocklist list;
  EntryReader reader(&list);
  int arrays = 0;
  while (!text.empty()) {
    const size_t end = EndOfArray(text);
    if (end == absl::string_view::npos || arrays == 2) return NotAList();
    ADDONS_RETURN_IF_ERROR(
        reader.ReadArray(text.substr(0, end), ++arrays == 2));
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

void Blocklist::Add(absl::string_view key, absl::string_view until,
                    bool range) {
  if (auto entry = ParseEntry(key, until, range)) {
    entries.push_back(*std::move(entry));
    return;
  }
  unreadable.push_back(
      AsciiJsonText({{range ? "range" : "addr", key}, {"until", until}})
          .substr(0, kShown));
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
