#include "server/page/icon.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace addons {
namespace {

// An image, and its copy behind it.
constexpr size_t kSide = 16;
constexpr std::array<absl::string_view, kSide> kPicture = {
    "................",  //
    ".########.......",  //
    "##########......",  //
    "##########......",  //
    "##########.####.",  //
    "##########.#####",  //
    "##########....##",  //
    "##########....##",  //
    "##########....##",  //
    ".########.....##",  //
    "..............##",  //
    "....##........##",  //
    "....##........##",  //
    "....############",  //
    ".....##########.",  //
    "................"};

// A blue that is seen on white and on black.
constexpr uint32_t kColour = 0x003B82F6;

constexpr uint32_t kHeaderSize = 40;
constexpr uint32_t kColours = 2;
constexpr uint32_t kRowSize = 4;  // 16 pixels of one bit, filled up to 32
constexpr uint32_t kMapSize = kSide * kRowSize;
constexpr uint32_t kImageSize = kHeaderSize + kColours * 4 + 2 * kMapSize;
constexpr uint32_t kImageOffset = 6 + 16;

void Put(uint32_t value, int bytes, std::string& file) {
  for (int i = 0; i < bytes; ++i) {
    file.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
  }
}

/// The rows from the bottom up, a bit for each pixel that is like `mark`.
void PutMap(char mark, std::string& file) {
  for (size_t row = kSide; row-- > 0;) {
    uint32_t bits = 0;
    for (const char pixel : kPicture.at(row)) {
      bits = bits << 1 | (pixel == mark ? 1U : 0U);
    }
    Put(bits >> 8, 1, file);
    Put(bits, 1, file);
    Put(0, 2, file);
  }
}

}  // namespace

std::string PageIcon() {
  std::string file;
  // The folder of pictures, which is one.
  for (const uint32_t value : {0U, 1U, 1U}) Put(value, 2, file);
  for (const uint32_t value : {16U, 16U, kColours, 0U}) Put(value, 1, file);
  for (const uint32_t value : {1U, 1U}) Put(value, 2, file);
  for (const uint32_t value : {kImageSize, kImageOffset}) Put(value, 4, file);
  // BITMAPINFOHEADER; the height counts both maps.
  for (const uint32_t value : {kHeaderSize, 16U, 32U}) Put(value, 4, file);
  for (const uint32_t value : {1U, 1U}) Put(value, 2, file);
  for (const uint32_t value : {0U, 2 * kMapSize, 0U, 0U, kColours, 0U}) {
    Put(value, 4, file);
  }
  for (const uint32_t colour : {0U, kColour}) Put(colour, 4, file);
  PutMap('#', file);  // what has the colour
  PutMap('.', file);  // what is not seen
  return file;
}

}  // namespace addons
