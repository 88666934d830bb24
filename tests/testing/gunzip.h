#ifndef ADDONS_TESTS_TESTING_GUNZIP_H_
#define ADDONS_TESTS_TESTING_GUNZIP_H_

#include <zlib.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace addons::testing {

/// What one gzip stream holds; nullopt when it is none, is not whole, or has
/// something behind it.
inline std::optional<std::string> Gunzip(const std::string& packed) {
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + 16) != Z_OK) return std::nullopt;
  std::vector<Bytef> input(packed.begin(), packed.end());
  stream.next_in = input.data();
  stream.avail_in = static_cast<uInt>(input.size());
  std::string text;
  std::array<Bytef, 16384> piece{};
  int result = Z_OK;
  while (result == Z_OK) {
    stream.next_out = piece.data();
    stream.avail_out = static_cast<uInt>(piece.size());
    result = inflate(&stream, Z_NO_FLUSH);
    text.append(reinterpret_cast<const char*>(piece.data()),
                piece.size() - stream.avail_out);
  }
  const bool whole = result == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  if (!whole) return std::nullopt;
  return text;
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_GUNZIP_H_
