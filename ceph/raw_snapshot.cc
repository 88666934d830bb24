#include "ceph/raw_snapshot.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/image_diff.h"

namespace addons {
namespace {

/// A part of an image that lies in one object without a gap.
struct Piece {
  uint64_t object = 0;
  uint64_t offset = 0;  // in the object
  uint64_t length = 0;
};

/// What begins at `offset` of the image, `most` bytes at most. The inverse of
/// AddImageRanges().
Piece PieceAt(const ImageLayout& layout, uint64_t offset, uint64_t most) {
  const uint64_t unit = layout.stripe_unit;
  const uint64_t block = offset / unit;
  const uint64_t stripe = block / layout.stripe_count;
  const uint64_t stripes_per_object = layout.object_bytes / unit;
  Piece piece;
  piece.object = stripe / stripes_per_object * layout.stripe_count +
                 block % layout.stripe_count;
  piece.offset = stripe % stripes_per_object * unit + offset % unit;
  piece.length = std::min(most, unit - offset % unit);
  return piece;
}

}  // namespace

absl::StatusOr<std::optional<std::string>> ReadObjectAt(
    Pool& data, const ImageLayout& layout, uint64_t number,
    uint64_t snapshot_id) {
  const std::string name = DataObjectName(layout, number);
  ADDONS_ASSIGN_OR_RETURN(
      auto object, data.ReadObject(name, snapshot_id, layout.object_bytes));
  if (object.has_value()) return std::move(object->bytes);
  ADDONS_ASSIGN_OR_RETURN(const auto kept, data.ListSnapshots({name}));
  if (kept.empty() || !WasThere(kept.front(), snapshot_id)) return std::nullopt;
  return absl::UnavailableError(
      absl::StrCat("Failed to read object '", name, "' at snapshot ",
                   snapshot_id, ": the OSD lists it and does not read it"));
}

RawSnapshot::RawSnapshot(ImageLayout layout, ReadObjectFn read_object)
    : layout_(std::move(layout)), read_object_(std::move(read_object)) {}

RawSnapshot::RawSnapshot(const ImageLayout& layout, Pool& data,
                         uint64_t snapshot_id)
    : RawSnapshot(layout, [layout, &data, snapshot_id](uint64_t number) {
        return ReadObjectAt(data, layout, number, snapshot_id);
      }) {}

absl::Status RawSnapshot::ReadObject(uint64_t number) {
  if (number == number_) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(auto object, read_object_(number));
  found_ = found_ || object.has_value();
  number_ = number;
  bytes_ = object.has_value() ? *std::move(object) : "";
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ImageData>> RawSnapshot::Read(
    const std::vector<ImageRange>& ranges) {
  std::vector<ImageData> all;
  all.reserve(ranges.size());
  for (const ImageRange& range : ranges) {
    ImageData& data = all.emplace_back(ImageData{range, ""});
    for (uint64_t done = 0; done < range.length;) {
      const Piece piece =
          PieceAt(layout_, range.offset + done, range.length - done);
      ADDONS_RETURN_IF_ERROR(ReadObject(piece.object));
      if (piece.offset < bytes_.size()) {
        data.bytes.resize(range.length);
        bytes_.copy(&data.bytes[done], piece.length, piece.offset);
      }
      done += piece.length;
    }
    // Zeros have no bytes.
    if (data.bytes.find_first_not_of('\0') == std::string::npos) {
      data.bytes.clear();
    }
  }
  return all;
}

ReadRangesFn Reading(RawSnapshot& snapshot) {
  return [&snapshot](const std::vector<ImageRange>& ranges) {
    return snapshot.Read(ranges);
  };
}

}  // namespace addons
