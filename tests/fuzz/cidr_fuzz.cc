// Address ranges, one a line: Contains() agrees with a comparison bit by bit,
// and printed and read again a range is the same.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/cidr.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace addons::testing {
namespace {

bool Bit(const IpAddress& address, int from_the_left) {
  const int shift = AddressBits(address.family) - 1 - from_the_left;
  return absl::Uint128Low64(address.value >> shift) % 2 == 1;
}

/// Contains(), one bit after the other.
bool Holds(const Cidr& range, const IpAddress& address) {
  if (range.address().family != address.family) return false;
  for (int i = 0; i < range.prefix(); ++i) {
    if (Bit(range.address(), i) != Bit(address, i)) return false;
  }
  return true;
}

IpAddress Last(const Cidr& range) {
  IpAddress last = range.address();
  for (int i = range.prefix(); i < AddressBits(last.family); ++i) {
    last.value |= absl::uint128(1) << (AddressBits(last.family) - 1 - i);
  }
  return last;
}

void CheckOne(const Cidr& range) {
  const std::string text = range.Text();
  const IpFamily family = range.address().family;
  CheckThat(range.prefix() >= 0 && range.prefix() <= AddressBits(family),
            "a mask has no more bits than an address", text);
  for (int i = range.prefix(); i < AddressBits(family); ++i) {
    CheckThat(!Bit(range.address(), i), "host bits are zero", text);
  }
  CheckThat(
      family == IpFamily::kIPv4 || (range.address().value >> 32) != 0xffff,
      "IPv4 within IPv6 becomes IPv4", text);
  const auto again = Cidr::Parse(text);
  CheckThat(again.ok() && *again == range, "read again it is the same", text);
  const auto address = IpAddress::Parse(range.address().Text());
  CheckThat(address == range.address(), "so is its address", text);
  CheckThat(range.Contains(range.address()) && range.Contains(Last(range)),
            "a range has its first and last address", text);
  if (range.IsSingle()) {
    CheckThat(Last(range) == range.address(), "a single address is one", text);
    return;
  }
  const auto [lower, upper] = range.Halves();
  CheckThat(range.Contains(lower) && range.Contains(upper) &&
                !lower.Contains(range) && !upper.Contains(range),
            "a half lies within the whole", text);
  CheckThat(lower.address() == range.address() && Last(upper) == Last(range) &&
                !lower.Contains(upper.address()) &&
                !upper.Contains(lower.address()),
            "halves share nothing, and are all of it", text);
}

void CheckPair(const Cidr& a, const Cidr& b) {
  const std::string text = absl::StrCat(a.Text(), " and ", b.Text());
  for (const IpAddress& address : {b.address(), Last(b)}) {
    CheckThat(a.Contains(address) == Holds(a, address),
              "Contains() is a comparison of bits", text);
  }
  CheckThat(a.Contains(b) == (Holds(a, b.address()) && Holds(a, Last(b))),
            "a range holds another one with its first and last address", text);
  CheckThat((a == b) == (a.Contains(b) && b.Contains(a)),
            "ranges that hold each other are one", text);
  CheckThat((a < b) + (b < a) + (a == b) == 1, "ranges have an order", text);
}

void Check(absl::string_view input) {
  std::vector<Cidr> ranges;
  for (const absl::string_view line : absl::StrSplit(input, '\n')) {
    const auto range = Cidr::Parse(line);
    if (!range.ok()) {
      CheckError(range.status(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    CheckOne(*range);
    if (ranges.size() < 32) ranges.push_back(*range);
  }
  const std::vector<Cidr> merged = Merged(ranges);
  for (const Cidr& range : ranges) {
    int holders = 0;
    for (const Cidr& whole : merged) holders += whole.Contains(range) ? 1 : 0;
    CheckThat(holders == 1, "each range lies in one merged range",
              JoinRanges(ranges));
    for (const Cidr& other : ranges) CheckPair(range, other);
  }
  CheckThat(Merged(merged) == merged, "merged is merged", JoinRanges(ranges));
}

}  // namespace
}  // namespace addons::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  addons::testing::Check(addons::testing::TextOf(data, size));
  return 0;
}
