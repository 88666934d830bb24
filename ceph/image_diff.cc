#include "ceph/image_diff.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace addons {
namespace {

constexpr uint64_t kDiffUnit = 4096;
constexpr ImageRange kWholeObject{0, std::numeric_limits<uint64_t>::max()};
/// Objects that are asked at a time, between two calls of progress.
constexpr uint64_t kObjectsPerRound = 1024;

uint64_t End(const ImageRange& range) { return range.offset + range.length; }

/// Which of the object's clones is the state; nullopt: the object was not
/// there.
std::optional<size_t> CloneOf(const ObjectSnapshots& object, uint64_t state) {
  for (size_t i = 0; i < object.clones.size(); ++i) {
    const ObjectClone& clone = object.clones[i];
    if (clone.id == kHead) {
      // What was written before the snapshot and never since is not cloned.
      if (state == kHead || state > object.newest_snapshot) return i;
    } else if (std::find(clone.snapshots.begin(), clone.snapshots.end(),
                         state) != clone.snapshots.end()) {
      return i;
    }
  }
  return std::nullopt;
}

/// Adds [0, bytes) without `equal`, which is ascending.
void AddAllBut(const std::vector<ImageRange>& equal, uint64_t bytes,
               std::vector<ImageRange>* ranges) {
  uint64_t at = 0;
  for (const ImageRange& range : equal) {
    if (range.offset > at) {
      ranges->push_back({at, std::min(range.offset, bytes) - at});
    }
    at = std::max(at, End(range));
    if (at >= bytes) return;
  }
  if (at < bytes) ranges->push_back({at, bytes - at});
}

uint64_t RoundUp(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

/// Those that an image of this size can have, or a few more.
uint64_t ObjectsOf(const ImageLayout& layout) {
  const uint64_t set = layout.object_bytes * layout.stripe_count;
  return (layout.bytes + set - 1) / set * layout.stripe_count;
}

}  // namespace

bool WasThere(const ObjectSnapshots& object, uint64_t state) {
  return CloneOf(object, state).has_value();
}

std::vector<ImageRange> ObjectDifference(const ObjectSnapshots& object,
                                         const ImageStates& states) {
  const std::optional<size_t> from = CloneOf(object, states.from);
  const std::optional<size_t> to = CloneOf(object, states.to);
  std::vector<ImageRange> ranges;
  const bool absent_in_one = from.has_value() != to.has_value();
  if (states.absent == AbsentObject::kUnclear && (!from || !to)) {
    return {kWholeObject};
  }
  if (states.absent == AbsentObject::kParent && absent_in_one) {
    return {kWholeObject};
  }
  if (states.between && (!from || !to)) {
    uint64_t bytes = 0;
    for (const ObjectClone& clone : object.clones) {
      if (clone.id >= states.from) bytes = std::max(bytes, clone.bytes);
    }
    AddAllBut({}, bytes, &ranges);
    return ranges;
  }
  if (from == to) return ranges;
  if (absent_in_one) {
    AddAllBut({}, object.clones[from ? *from : *to].bytes, &ranges);
    return ranges;
  }
  const auto [first, last] = std::minmax(*from, *to);
  for (size_t i = first; i < last; ++i) {
    AddAllBut(object.clones[i].overlap,
              std::max(object.clones[i].bytes, object.clones[i + 1].bytes),
              &ranges);
  }
  return ranges;
}

void AddImageRanges(const ImageLayout& layout, uint64_t number,
                    const ImageRange& in_object,
                    std::vector<ImageRange>* ranges) {
  const uint64_t units = layout.object_bytes / layout.stripe_unit;
  const uint64_t set = number / layout.stripe_count;
  const uint64_t position = number % layout.stripe_count;
  uint64_t at = in_object.offset;
  const uint64_t end = std::min(End(in_object), layout.object_bytes);
  while (at < end) {
    const uint64_t in_unit = at % layout.stripe_unit;
    const uint64_t length = std::min(layout.stripe_unit - in_unit, end - at);
    const uint64_t stripe = set * units + at / layout.stripe_unit;
    ranges->push_back(
        {(stripe * layout.stripe_count + position) * layout.stripe_unit +
             in_unit,
         length});
    at += length;
  }
}

std::vector<ImageRange> Joined(std::vector<ImageRange> ranges, uint64_t bytes) {
  std::sort(ranges.begin(), ranges.end(),
            [](const ImageRange& one, const ImageRange& other) {
              return one.offset < other.offset;
            });
  std::vector<ImageRange> joined;
  for (const ImageRange& range : ranges) {
    const uint64_t begin = range.offset / kDiffUnit * kDiffUnit;
    const uint64_t end = std::min(RoundUp(End(range), kDiffUnit), bytes);
    if (range.length == 0 || begin >= end) continue;
    if (!joined.empty() && begin <= End(joined.back())) {
      joined.back().length =
          std::max(End(joined.back()), end) - joined.back().offset;
    } else {
      joined.push_back({begin, end - begin});
    }
  }
  return joined;
}

std::string DataObjectName(const ImageLayout& layout, uint64_t number) {
  return absl::StrCat(layout.object_prefix, ".",
                      absl::Hex(number, absl::kZeroPad16));
}

absl::Status ForEachObject(Pool& data, const ImageLayout& layout,
                           const DiffProgressFn& progress,
                           const ObjectFn& object) {
  if (layout.object_bytes == 0 || layout.stripe_unit == 0 ||
      layout.stripe_count == 0 || layout.object_prefix.empty()) {
    return absl::InternalError("the layout of an image is not known");
  }
  const uint64_t total = ObjectsOf(layout);
  for (uint64_t done = 0; done < total;) {
    ADDONS_RETURN_IF_ERROR(progress(done, total));
    const uint64_t first = done;
    std::vector<std::string> names;
    for (; done < total && done - first < kObjectsPerRound; ++done) {
      names.push_back(DataObjectName(layout, done));
    }
    ADDONS_ASSIGN_OR_RETURN(const std::vector<ObjectSnapshots> objects,
                            data.ListSnapshots(names));
    for (size_t i = 0; i < objects.size(); ++i) {
      ADDONS_RETURN_IF_ERROR(object(first + i, names[i], objects[i]));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ImageRange>> ChangedRanges(
    Pool& data, const ImageLayout& layout,
    const std::vector<ImageStates>& states, uint64_t bytes,
    const DiffProgressFn& progress) {
  std::vector<ImageRange> ranges;
  ADDONS_RETURN_IF_ERROR(ForEachObject(
      data, layout,
      [&](uint64_t done, uint64_t total) {
        ranges = Joined(std::move(ranges), bytes);
        return progress(done, total);
      },
      [&](uint64_t number, const std::string& /*name*/,
          const ObjectSnapshots& object) {
        for (const ImageStates& pair : states) {
          for (const ImageRange& range : ObjectDifference(object, pair)) {
            AddImageRanges(layout, number, range, &ranges);
          }
        }
        return absl::OkStatus();
      }));
  return Joined(std::move(ranges), bytes);
}

}  // namespace addons
