#include "server/content_encoding.h"

#define ZLIB_CONST  // deflate() promises to leave its input alone
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace addons {
namespace {

constexpr int kWholeWeight = 1000;  // thousandths: "q=1"

// A line of metrics repeats the one before but for an id without pattern.
// Z_FILTERED writes such an id letter by letter and does not look for pieces of
// it elsewhere: a tenth smaller. Higher levels gain a hundredth.
constexpr int kLevel = 4;
constexpr int kStrategy = Z_FILTERED;
// The largest window, and 16 for the frame of gzip.
constexpr int kGzipWindow = MAX_WBITS + 16;
constexpr int kMemoryLevel = 8;
constexpr size_t kPiece = size_t{64} << 10;

absl::string_view Trimmed(absl::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

bool IsToken(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::StrContains("!#$%&'*+-.^_`|~", c);
  });
}

/// "0.5" as 500; nullopt: it is no weight.
std::optional<int> ParseWeight(absl::string_view text) {
  if (text.empty() || text.size() > 5) return std::nullopt;
  const bool whole = text.front() == '1';
  if (!whole && text.front() != '0') return std::nullopt;
  text.remove_prefix(1);
  if (!text.empty() && !absl::ConsumePrefix(&text, ".")) return std::nullopt;
  int weight = whole ? kWholeWeight : 0;
  int place = kWholeWeight / 10;
  for (const char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
        (whole && c != '0')) {
      return std::nullopt;
    }
    weight += (c - '0') * place;
    place /= 10;
  }
  return weight;
}

/// What was said of gzip, of the plain text, and of all that is not named.
struct Weights {
  std::optional<int> gzip;
  std::optional<int> identity;
  std::optional<int> others;
};

/// Of what is said twice, the smaller.
void Take(int weight, std::optional<int>& into) {
  into = std::min(weight, into.value_or(kWholeWeight));
}

/// False: it is no element of the field's grammar.
bool AddElement(absl::string_view element, Weights& weights) {
  const size_t mark = element.find(';');
  const absl::string_view name = Trimmed(element.substr(0, mark));
  if (!IsToken(name)) return false;
  int weight = kWholeWeight;
  if (mark != absl::string_view::npos) {
    absl::string_view parameter = Trimmed(element.substr(mark + 1));
    if (!absl::StartsWithIgnoreCase(parameter, "q=")) return false;
    parameter.remove_prefix(2);
    const std::optional<int> said = ParseWeight(parameter);
    if (!said.has_value()) return false;
    weight = *said;
  }
  if (absl::EqualsIgnoreCase(name, "gzip") ||
      absl::EqualsIgnoreCase(name, "x-gzip")) {
    Take(weight, weights.gzip);
  } else if (absl::EqualsIgnoreCase(name, "identity")) {
    Take(weight, weights.identity);
  } else if (name == "*") {
    Take(weight, weights.others);
  }
  return true;
}

bool AddField(absl::string_view value, Weights& weights) {
  for (const absl::string_view element : absl::StrSplit(value, ',')) {
    if (Trimmed(element).empty()) continue;
    if (!AddElement(element, weights)) return false;
  }
  return true;
}

}  // namespace

bool AcceptsGzip(absl::string_view head) {
  Weights weights;
  bool in_field = false;
  bool first = true;
  for (absl::string_view line : absl::StrSplit(head, '\n')) {
    absl::ConsumeSuffix(&line, "\r");
    if (first) {  // the request itself
      first = false;
      continue;
    }
    // Folded lines are of the past, and what they mean is not agreed on.
    if (absl::StartsWith(line, " ") || absl::StartsWith(line, "\t")) {
      if (in_field) return false;
      continue;
    }
    const size_t colon = line.find(':');
    in_field = colon != absl::string_view::npos &&
               absl::EqualsIgnoreCase(line.substr(0, colon), "Accept-Encoding");
    if (in_field && !AddField(line.substr(colon + 1), weights)) return false;
  }
  const int gzip = weights.gzip.value_or(weights.others.value_or(0));
  return gzip > 0 && gzip >= weights.identity.value_or(0);
}

std::optional<std::string> Gzip(absl::string_view text) {
  if (text.size() > std::numeric_limits<uInt>::max()) return std::nullopt;
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                   kStrategy) != Z_OK) {
    return std::nullopt;
  }
  const absl::Cleanup end = [&stream] { deflateEnd(&stream); };
  stream.next_in = reinterpret_cast<const Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  std::string packed;
  std::vector<Bytef> piece(kPiece);
  int result = Z_OK;
  while (result == Z_OK) {
    stream.next_out = piece.data();
    stream.avail_out = static_cast<uInt>(piece.size());
    result = deflate(&stream, Z_FINISH);
    packed.append(reinterpret_cast<const char*>(piece.data()),
                  piece.size() - stream.avail_out);
  }
  if (result != Z_STREAM_END) return std::nullopt;
  return packed;
}

}  // namespace addons
