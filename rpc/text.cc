#include "rpc/text.h"

namespace addons {
namespace {

struct LeadByte {
  size_t size;
  char32_t bits;
  char32_t smallest;  // anything below is an overlong spelling
};

// Size 0: not a byte that a character can start with.
LeadByte DecodeLead(unsigned char byte) {
  if (byte < 0x80) return {1, byte, 0};
  if ((byte & 0xE0U) == 0xC0U) return {2, byte & 0x1FU, 0x80};
  if ((byte & 0xF0U) == 0xE0U) return {3, byte & 0x0FU, 0x800};
  if ((byte & 0xF8U) == 0xF0U) return {4, byte & 0x07U, 0x10000};
  return {0, 0, 0};
}

}  // namespace

Rune FirstRune(absl::string_view text) {
  const LeadByte lead = DecodeLead(static_cast<unsigned char>(text[0]));
  if (lead.size == 0 || text.size() < lead.size) return {};
  char32_t value = lead.bits;
  for (size_t i = 1; i < lead.size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0U) != 0x80U) return {};
    value = (value << 6U) | (byte & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < lead.smallest || value > 0x10FFFF || surrogate) return {};
  return {value, lead.size, true};
}

bool IsControl(char32_t rune) {
  return rune < 0x20 || (rune >= 0x7F && rune <= 0x9F);
}

bool MakeValid(std::string* text) {
  bool changed = false;
  for (size_t at = 0; at < text->size();) {
    const Rune rune = FirstRune(absl::string_view(*text).substr(at));
    if (!rune.valid) {
      text->at(at) = '?';
      changed = true;
    }
    at += rune.valid ? rune.size : 1;
  }
  return changed;
}

std::string CleanLine(absl::string_view text, size_t max_bytes) {
  constexpr absl::string_view kCut = "...";
  std::string line;
  size_t keep = 0;  // how much of `line` stays when it has to be cut
  while (!text.empty() && line.size() <= max_bytes) {
    const Rune rune = FirstRune(text);
    if (!rune.valid) {
      line.push_back('?');
    } else if (IsControl(rune.value)) {
      line.push_back(' ');
    } else {
      line.append(text.data(), rune.size);
    }
    if (line.size() + kCut.size() <= max_bytes) keep = line.size();
    text.remove_prefix(rune.size);
  }
  if (line.size() <= max_bytes) return line;
  line.resize(keep);
  line.append(kCut.data(), kCut.size());
  return line;
}

}  // namespace addons
