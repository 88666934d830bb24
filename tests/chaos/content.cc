#include "tests/chaos/content.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace addons::testing {
namespace {

/// 0: an empty slot; nullopt: what no writer of `image` wrote.
std::optional<uint64_t> NumberOf(const std::string& image,
                                 const std::string& block) {
  if (block.size() != kBlockBytes) return std::nullopt;
  if (block.find_first_not_of('\0') == std::string::npos) return 0;
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

}  // namespace

std::string MakeBlock(const std::string& image, uint64_t number) {
  const std::string part = absl::StrCat(image, "|", number, "|");
  std::string block;
  block.reserve(kBlockBytes + part.size());
  while (block.size() < kBlockBytes) block += part;
  block.resize(kBlockBytes);
  return block;
}

Content JudgeContent(const std::string& image,
                     const std::vector<std::string>& blocks) {
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
  return content;
}

}  // namespace addons::testing
