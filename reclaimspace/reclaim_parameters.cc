#include "reclaimspace/reclaim_parameters.h"

#include <algorithm>
#include <bit>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/parameter_keys.h"
#include "base/status_macros.h"

namespace addons {
namespace {

constexpr char kSparseSize[] = "sparseSize";
constexpr char kWithSnapshots[] = "withSnapshots";
constexpr uint64_t kSmallest = 4096;  // librbd's limits
constexpr uint64_t kLargest = uint64_t{32} << 20;

absl::StatusOr<uint64_t> ParseSize(const std::string& text) {
  absl::string_view digits = text;
  uint64_t unit = 1;
  if (absl::ConsumeSuffix(&digits, "Ki")) {
    unit = uint64_t{1} << 10;
  } else if (absl::ConsumeSuffix(&digits, "Mi")) {
    unit = uint64_t{1} << 20;
  }
  // SimpleAtoi would forgive blanks and signs.
  const bool plain = std::all_of(digits.begin(), digits.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
  uint64_t number = 0;
  if (!plain || !absl::SimpleAtoi(digits, &number) || number > kLargest ||
      number * unit < kSmallest || number * unit > kLargest ||
      !std::has_single_bit(number * unit)) {
    return InvalidParameter(
        kSparseSize, text,
        "must be a power of two from 4096 to the size of the "
        "image's objects, in bytes or with Ki or Mi, for example "
        "'65536' or '64Ki'");
  }
  return number * unit;
}

}  // namespace

absl::StatusOr<ReclaimParameters> ReclaimParameters::Parse(
    const std::map<std::string, std::string>& map) {
  ADDONS_RETURN_IF_ERROR(
      CheckParameterKeys(map, {kSparseSize, kWithSnapshots}));
  ReclaimParameters parameters;
  if (const auto it = map.find(kSparseSize); it != map.end()) {
    ADDONS_ASSIGN_OR_RETURN(parameters.sparse_bytes, ParseSize(it->second));
  }
  if (const auto it = map.find(kWithSnapshots); it != map.end()) {
    bool with = false;
    if (!absl::SimpleAtob(it->second, &with)) {
      return InvalidParameter(kWithSnapshots, it->second,
                              "must be 'true' or 'false'");
    }
    if (with) parameters.with_snapshots = WithSnapshots::kYes;
  }
  return parameters;
}

absl::Status ReclaimParameters::CheckObjectSize(uint64_t object_bytes) const {
  if (sparse_bytes <= object_bytes) return absl::OkStatus();
  return InvalidParameter(
      kSparseSize, absl::StrCat(sparse_bytes),
      absl::StrCat("the objects of this image have ", object_bytes,
                   " bytes, and it must not be more"));
}

}  // namespace addons
