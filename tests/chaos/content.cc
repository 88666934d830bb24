#include "tests/chaos/content.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace addons::testing {
namespace {

bool IsZeros(const std::string& block) {
  return block.find_first_not_of('\0') == std::string::npos;
}

/// 0: an empty slot; nullopt: what no writer of `image` wrote.
std::optional<uint64_t> NumberOf(const std::string& image,
                                 const std::string& block) {
  if (block.size() != kBlockBytes) return std::nullopt;
  if (IsZeros(block)) return 0;
  const std::vector<std::string> parts =
      absl::StrSplit(block.substr(0, 256), absl::MaxSplits('|', 2));
  uint64_t number = 0;
  if (parts.size() < 3 || !absl::SimpleAtoi(parts[1], &number) ||
      block != MakeBlock(image, number)) {
    return std::nullopt;
  }
  return number;
}

/// The newest number up to `newest` that goes to `slot`; 0: none did yet.
uint64_t Expected(uint64_t newest, size_t slot) {
  const uint64_t back = (newest + kSlots - slot) % kSlots;
  return newest > back ? newest - back : 0;
}

/// The newest number up to `newest` that changed the place of `slot`; 0: none
/// did yet.
uint64_t LastChange(uint64_t newest, size_t slot) {
  uint64_t number = Expected(newest, slot);
  while (number > 0 && ChangeOf(number) == Change::kNone) {
    number = number > kSlots ? number - kSlots : 0;
  }
  return number;
}

/// What `number` leaves at its place.
std::string AtPlace(const std::string& image, uint64_t number) {
  return ChangeOf(number) == Change::kWritten ? MakeBlock(image, number)
                                              : std::string(kBlockBytes, '\0');
}

/// A block that a number before `before` has written to the place of `slot`.
bool IsOld(const std::string& image, size_t slot, uint64_t before,
           const std::string& block) {
  const auto number = NumberOf(image, block);
  return number.value_or(0) > 0 && *number < before &&
         *number % kSlots == slot && ChangeOf(*number) == Change::kWritten;
}

void JudgePlaces(const std::string& image,
                 const std::vector<std::string>& places, Content& content) {
  for (size_t slot = 0; slot < places.size(); ++slot) {
    const std::string& holds = places[slot];
    const uint64_t last = LastChange(content.newest, slot);
    if (holds == AtPlace(image, last)) continue;
    // The next number changes its place before its slot.
    const uint64_t next = content.newest + 1;
    if (next % kSlots == slot && ChangeOf(next) != Change::kNone &&
        holds == AtPlace(image, next)) {
      continue;
    }
    const bool cleared = ChangeOf(last) == Change::kCleared;
    if (cleared && IsOld(image, slot, last, holds)) {
      ++content.not_cleared;
      continue;
    }
    const std::string belongs = cleared
                                    ? absl::StrCat("what ", last, " cleared")
                                : last == 0 ? "nothing"
                                            : absl::StrCat(last);
    absl::StrAppend(&content.fault, content.fault.empty() ? "" : "; ", "place ",
                    slot, " holds '",
                    IsZeros(holds) ? "zeros" : holds.substr(0, 64), "' where ",
                    belongs, " belongs beside ", content.newest);
  }
}

}  // namespace

uint64_t SlotOffset(uint64_t image_bytes, size_t slot) {
  return slot * (image_bytes / 2 / kSlots);
}

uint64_t PlaceOffset(uint64_t image_bytes, size_t slot) {
  return image_bytes / 2 + SlotOffset(image_bytes, slot);
}

Change ChangeOf(uint64_t number) {
  if (number == 0) return Change::kNone;
  const uint64_t round = number / kSlots % kRounds;
  if (round == 0) return Change::kWritten;
  return round == kRounds / 2 ? Change::kCleared : Change::kNone;
}

std::string MakeBlock(const std::string& image, uint64_t number) {
  const std::string part = absl::StrCat(image, "|", number, "|");
  std::string block;
  block.reserve(kBlockBytes + part.size());
  while (block.size() < kBlockBytes) block += part;
  block.resize(kBlockBytes);
  return block;
}

Content JudgeContent(const std::string& image,
                     const std::vector<std::string>& blocks,
                     const std::vector<std::string>& places) {
  Content content;
  std::vector<uint64_t> numbers;
  for (size_t slot = 0; slot < blocks.size(); ++slot) {
    const auto number = NumberOf(image, blocks[slot]);
    if (!number.has_value()) {
      content.fault =
          absl::StrCat("slot ", slot, " holds what nobody wrote there: '",
                       blocks[slot].substr(0, 64), "'");
      return content;
    }
    numbers.push_back(*number);
    content.newest = std::max(content.newest, *number);
  }
  for (size_t slot = 0; slot < numbers.size(); ++slot) {
    const uint64_t expected = Expected(content.newest, slot);
    if (numbers[slot] == expected) continue;
    absl::StrAppend(&content.fault, content.fault.empty() ? "" : "; ", "slot ",
                    slot, " holds ", numbers[slot], " where ", expected,
                    " belongs beside ", content.newest);
  }
  JudgePlaces(image, places, content);
  return content;
}

void Compare(const std::string& image, uint64_t image_bytes, uint64_t offset,
             const std::string& one, const std::string& other,
             Difference& difference) {
  if (one == other) return;
  const size_t bytes = std::max(one.size(), other.size());
  for (size_t at = 0; at < bytes; at += kBlockBytes) {
    // Of a shorter one nothing is left.
    const auto block = [at](const std::string& all) {
      return at < all.size() ? all.substr(at, kBlockBytes) : "";
    };
    const std::string first = block(one);
    const std::string second = block(other);
    if (first == second) continue;
    const uint64_t half = image_bytes / 2;
    const uint64_t slot = (offset + at) % half / (half / kSlots);
    const auto cleared = [&](const std::string& zeros, const std::string& old) {
      return offset + at == PlaceOffset(image_bytes, slot) &&
             zeros.size() == kBlockBytes && IsZeros(zeros) &&
             IsOld(image, slot, UINT64_MAX, old);
    };
    if (cleared(first, second) || cleared(second, first)) {
      ++difference.not_cleared;
      continue;
    }
    if (difference.damaged++ == 0) {
      difference.first_damage =
          absl::StrCat("at ", offset + at, " one holds '", first.substr(0, 64),
                       "' and the other one '", second.substr(0, 64), "'");
    }
  }
}

}  // namespace addons::testing
