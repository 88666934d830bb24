#include "points/content.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "ceph/image_diff.h"
#include "ceph/raw_snapshot.h"
#include "points/object_sum.h"

namespace addons {
namespace {

constexpr uint64_t kMostAtOnce = 24 << 20;  // bytes
constexpr size_t kMostReads = 8;            // at a time
/// An object that is not there is asked for twice: so much of the rate.
constexpr uint64_t kAbsentCosts = 16 << 10;

/// Reads an image in rounds of some objects, each of them on a handle of its
/// own.
class Rounds {
 public:
  static absl::StatusOr<Rounds> Open(OperationContext& context,
                                     const ContentSource& source) {
    const uint64_t fit = kMostAtOnce / source.layout.object_bytes;
    const size_t reads = std::clamp<uint64_t>(fit, 1, kMostReads);
    std::vector<std::unique_ptr<Pool>> pools(reads);
    for (auto& pool : pools) {
      ADDONS_ASSIGN_OR_RETURN(pool, source.open_data());
    }
    return Rounds(context, source, std::move(pools));
  }

  /// Sees the objects in ascending order: `before` of each of a round, `work`
  /// with what is read of each (at the same time as others, by its place in
  /// the round), `after` of each.
  absl::Status Run(
      const std::function<absl::Status(size_t place)>& before,
      const std::function<void(size_t place, uint64_t object,
                               std::optional<std::string> bytes)>& work,
      const std::function<absl::Status(size_t place, uint64_t object)>& after);

  size_t places() const { return pools_.size(); }
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  Rounds(OperationContext& context, const ContentSource& source,
         std::vector<std::unique_ptr<Pool>> pools)
      : context_(context), source_(source), pools_(std::move(pools)) {}

  absl::Status Slow(SteadyTime began, uint64_t bytes);

  OperationContext& context_;
  const ContentSource& source_;
  std::vector<std::unique_ptr<Pool>> pools_;
  uint64_t bytes_read_ = 0;
};

/// Waits until what a round has read is no more than the rate allows.
absl::Status Rounds::Slow(SteadyTime began, uint64_t bytes) {
  if (source_.bytes_per_second == 0) return absl::OkStatus();
  const std::chrono::duration<double> due(
      static_cast<double>(bytes) /
      static_cast<double>(source_.bytes_per_second));
  const SteadyTime until =
      began + std::chrono::duration_cast<SteadyDuration>(due);
  const SteadyTime now = context_.clock().Now();
  return until > now ? context_.SleepFor(until - now) : absl::OkStatus();
}

absl::Status Rounds::Run(
    const std::function<absl::Status(size_t place)>& before,
    const std::function<void(size_t place, uint64_t object,
                             std::optional<std::string> bytes)>& work,
    const std::function<absl::Status(size_t place, uint64_t object)>& after) {
  const uint64_t objects = source_.shape.objects();
  std::vector<absl::Status> failures(places());
  std::vector<uint64_t> lengths(places());
  for (uint64_t first = 0; first < objects; first += places()) {
    if (context_.stop_token().stop_requested()) {
      return absl::CancelledError("nobody waits for it any more");
    }
    const SteadyTime began = context_.clock().Now();
    const size_t count = std::min<uint64_t>(places(), objects - first);
    uint64_t costs = 0;
    for (size_t place = 0; place < count; ++place) {
      ADDONS_RETURN_IF_ERROR(before(place));
    }
    RunParallel(count, count, [&](size_t place) {
      auto bytes = ReadObjectAt(*pools_[place], source_.layout, first + place,
                                source_.snapshot);
      failures[place] = bytes.status();
      if (!bytes.ok()) return;
      lengths[place] = bytes->has_value() ? (*bytes)->size() : 0;
      work(place, first + place, *std::move(bytes));
    });
    for (size_t place = 0; place < count; ++place) {
      ADDONS_RETURN_IF_ERROR(failures[place]);
      bytes_read_ += lengths[place];
      costs += std::max(lengths[place], kAbsentCosts);
      ADDONS_RETURN_IF_ERROR(after(place, first + place));
    }
    context_.Progress(first + count, objects);
    ADDONS_RETURN_IF_ERROR(Slow(began, costs));
  }
  return absl::OkStatus();
}

/// Where an object begins in the image.
uint64_t OffsetOf(const ImageLayout& layout, uint64_t object) {
  std::vector<ImageRange> ranges;
  AddImageRanges(layout, object, {0, layout.object_bytes}, &ranges);
  return ranges.empty() ? 0 : ranges.front().offset;
}

/// What an object holds beside its zeros, by `zeros` (ObjectSum), in ranges of
/// the image. Few zeros between two ranges are one range with them. What lies
/// behind `length` is none of the image's.
std::vector<ImageData> DataIn(const ImageLayout& layout, uint64_t object,
                              const std::string& zeros, std::string bytes,
                              uint64_t length) {
  constexpr char kAllZeros = '\xff';
  constexpr size_t kGap = 16;  // blocks
  const uint64_t size = std::min<uint64_t>(bytes.size(), length);
  std::vector<ImageRange> runs;  // in the object
  for (size_t block = 0; block < zeros.size(); ++block) {
    const uint64_t begin = block * kBlockBytes;
    if (zeros[block] == kAllZeros || begin >= size) continue;
    const uint64_t end = std::min<uint64_t>(begin + kBlockBytes, size);
    if (!runs.empty() &&
        begin - runs.back().offset - runs.back().length <= kGap * kBlockBytes) {
      runs.back().length = end - runs.back().offset;
    } else {
      runs.push_back({begin, end - begin});
    }
  }
  std::vector<ImageData> data;
  for (const ImageRange& run : runs) {
    std::vector<ImageRange> ranges;
    AddImageRanges(layout, object, run, &ranges);
    uint64_t at = run.offset;
    for (const ImageRange& range : ranges) {
      if (range.length == bytes.size()) {
        data.push_back({range, std::move(bytes)});
        return data;
      }
      data.push_back({range, bytes.substr(at, range.length)});
      at += range.length;
    }
  }
  return data;
}

/// Compares the digests of objects with those of a record, group by group.
class Groups {
 public:
  Groups(const RecordReader& record, const ImageLayout& layout,
         Comparison* found)
      : record_(record), layout_(layout), found_(found) {}

  void Add(uint64_t object, uint64_t digest) {
    if (digests_.empty()) first_ = object;
    digests_.push_back(digest);
    if (digests_.size() == record_.group()) End();
  }
  void End() {
    if (digests_.empty()) return;
    const uint64_t digest =
        record_.group() == 1 ? digests_.front()
                             : DigestTogether(digests_.data(), digests_.size());
    if (digest != record_.DigestOf(index_++)) {
      ++found_->damaged;
      if (found_->first.size() < Comparison::kMostNamed) {
        found_->first.push_back(
            {first_, digests_.size(), OffsetOf(layout_, first_)});
      }
    }
    digests_.clear();
  }

 private:
  const RecordReader& record_;
  const ImageLayout& layout_;
  Comparison* const found_;
  std::vector<uint64_t> digests_;
  uint64_t first_ = 0;
  uint64_t index_ = 0;
};

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> DigestContent(
    OperationContext& context, const ContentSource& source,
    const PointHeader& header, uint64_t* bytes_read) {
  ADDONS_ASSIGN_OR_RETURN(Rounds rounds, Rounds::Open(context, source));
  RecordWriter writer(header);
  std::vector<ObjectSum> sums(rounds.places());
  ADDONS_RETURN_IF_ERROR(rounds.Run(
      [](size_t) { return absl::OkStatus(); },
      [&](size_t place, uint64_t object, std::optional<std::string> bytes) {
        sums[place] = SumObject(bytes.has_value() ? *bytes : "",
                                source.shape.ExtentOf(object));
      },
      [&](size_t place, uint64_t) { return writer.Add(sums[place]); }));
  *bytes_read = rounds.bytes_read();
  return writer.Finish();
}

absl::StatusOr<Comparison> CompareContent(OperationContext& context,
                                          const ContentSource& source,
                                          RecordReader* record,
                                          const ContentSink& sink) {
  struct Seen {
    std::string zeros;  // by the record
    uint64_t digest = 0;
    uint64_t cleared = 0;
    std::vector<ImageData> data;  // for the sink
  };
  ADDONS_ASSIGN_OR_RETURN(Rounds rounds, Rounds::Open(context, source));
  Comparison found;
  found.objects = source.shape.objects();
  found.with_data = record->with_data();
  found.sectors = record->sectors();
  Groups groups(*record, source.layout, &found);
  std::vector<Seen> seen(rounds.places());
  // Of a round, together.
  std::vector<ImageData> data;
  const auto hand_on = [&]() -> absl::Status {
    return data.empty() ? absl::OkStatus()
                        : sink(std::exchange(data, std::vector<ImageData>()));
  };
  const auto before = [&](size_t place) -> absl::Status {
    if (place == 0) ADDONS_RETURN_IF_ERROR(hand_on());
    ADDONS_ASSIGN_OR_RETURN(seen[place].zeros, record->NextZeros());
    return absl::OkStatus();
  };
  ADDONS_RETURN_IF_ERROR(rounds.Run(
      before,
      [&](size_t place, uint64_t object, std::optional<std::string> bytes) {
        const uint64_t length = source.shape.ExtentOf(object);
        std::string held = bytes.has_value() ? *std::move(bytes) : "";
        seen[place].cleared = ClearZeros(seen[place].zeros, length, &held);
        if (!seen[place].zeros.empty()) {
          seen[place].digest = DigestObject(held, length);
          if (sink != nullptr) {
            seen[place].data = DataIn(source.layout, object, seen[place].zeros,
                                      std::move(held), length);
          }
        }
      },
      [&](size_t place, uint64_t object) {
        found.not_cleared_bytes += seen[place].cleared;
        if (!seen[place].zeros.empty()) groups.Add(object, seen[place].digest);
        std::move(seen[place].data.begin(), seen[place].data.end(),
                  std::back_inserter(data));
        seen[place].data.clear();
        return absl::OkStatus();
      }));
  ADDONS_RETURN_IF_ERROR(hand_on());
  groups.End();
  found.bytes_read = rounds.bytes_read();
  return found;
}

}  // namespace addons
