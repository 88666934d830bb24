#include "server/page/query.h"

#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "server/page/html.h"

namespace addons {
namespace {

using Health = PageQuery::Health;

constexpr size_t kLongestText = 200;
constexpr std::array<Health, 5> kHealths = {Health::kAll, Health::kTrouble,
                                            Health::kError, Health::kDegraded,
                                            Health::kHealthy};

bool IsHex(char c) {
  return absl::ascii_isxdigit(static_cast<unsigned char>(c));
}

/// As forms write it: "+" is a blank, "%2F" a slash.
std::string Decoded(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const absl::string_view hex = text.substr(i + 1, 2);
    uint32_t byte = 0;
    if (text[i] == '%' && hex.size() == 2 && IsHex(hex[0]) && IsHex(hex[1]) &&
        absl::SimpleHexAtoi(hex, &byte)) {
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

std::string Encoded(absl::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
        c == '.' || c == '_') {
      encoded += c;
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X", static_cast<uint8_t>(c));
    }
  }
  return encoded;
}

bool Has(absl::string_view whole, absl::string_view text) {
  return absl::StrContains(absl::AsciiStrToLower(whole), text);
}

bool IsOf(Health wanted, const WatchedImage& image) {
  switch (wanted) {
    case Health::kTrouble:
      return image.split_brain || image.health != ReplicationHealth::kHealthy;
    case Health::kError:
      return image.split_brain || image.health == ReplicationHealth::kError;
    case Health::kDegraded:
      return image.health == ReplicationHealth::kDegraded;
    case Health::kHealthy:
      return image.health == ReplicationHealth::kHealthy;
    case Health::kAll:
      break;
  }
  return true;
}

}  // namespace

absl::string_view Name(Health health) {
  switch (health) {
    case Health::kTrouble:
      return "trouble";
    case Health::kError:
      return "error";
    case Health::kDegraded:
      return "degraded";
    case Health::kHealthy:
      return "healthy";
    case Health::kAll:
      break;
  }
  return "";
}

PageQuery PageQuery::Parse(absl::string_view query) {
  PageQuery parsed;
  for (const absl::string_view part : absl::StrSplit(query, '&')) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const std::string value = Decoded(field.second);
    if (field.first == "q") {
      parsed.text = value.substr(0, kLongestText);
    } else if (field.first == "health") {
      for (const Health health : kHealths) {
        if (value == Name(health)) parsed.health = health;
      }
    } else if (field.first == "page") {
      uint32_t page = 0;
      if (absl::SimpleAtoi(value, &page) && page > 0) parsed.page = page;
    }
  }
  return parsed;
}

bool PageQuery::Shows(const WatchedPool& pool,
                      const WatchedImage& image) const {
  if (!IsOf(health, image)) return false;
  if (text.empty()) return true;
  const std::string wanted = absl::AsciiStrToLower(text);
  return Has(image.image, wanted) || Has(image.volume_name, wanted) ||
         Has(image.volume_id, wanted) || Has(image.message, wanted) ||
         Has(PlaceOf(pool), wanted);
}

std::string PageQuery::Link(size_t other_page) const {
  std::string link = absl::StrCat("?page=", other_page);
  if (!text.empty()) absl::StrAppend(&link, "&q=", Encoded(text));
  if (health != Health::kAll) {
    absl::StrAppend(&link, "&health=", Name(health));
  }
  return link;
}

}  // namespace addons
