#include "ceph/image_copy.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "ceph/image.h"

namespace addons {
namespace {

constexpr uint64_t kMaxPiece = uint64_t{4} << 20;
/// Small ones, at a time.
constexpr size_t kMaxPieces = 64;
/// What is smaller is not told apart: the space that a copy of a thin image
/// takes is rounded up to this.
constexpr uint64_t kCopyUnit = uint64_t{64} << 10;

bool SameContent(const ImageData& one, const ImageData& other) {
  return one.bytes == other.bytes;  // zeros have no bytes
}

/// A block of a piece; empty when it holds zeros only.
absl::string_view Block(const ImageData& piece, uint64_t offset) {
  if (piece.bytes.empty()) return {};
  const absl::string_view block =
      absl::string_view(piece.bytes).substr(offset, kCopyUnit);
  const bool zeros = block.find_first_not_of('\0') == absl::string_view::npos;
  return zeros ? absl::string_view() : block;
}

/// A whole sector of it is zeros.
bool HasZeros(absl::string_view block) {
  constexpr size_t kSector = 512;
  bool zeros = block.empty();
  for (size_t at = 0; !zeros && at < block.size(); at += kSector) {
    zeros = block.substr(at, kSector).find_first_not_of('\0') ==
            absl::string_view::npos;
  }
  return zeros;
}

/// What turns `present` into `wanted`: runs of blocks that differ, and those
/// that have zeros where `zeros_too`.
void AddChanges(const ImageData& wanted, const ImageData& present,
                bool zeros_too, std::vector<ImageData>* changes) {
  if (wanted.bytes.empty()) {
    changes->push_back(wanted);
    return;
  }
  bool extend = false;  // the last change ends where this block begins
  for (uint64_t at = 0; at < wanted.range.length; at += kCopyUnit) {
    const absl::string_view block = Block(wanted, at);
    if (block == Block(present, at) && !(zeros_too && HasZeros(block))) {
      extend = false;
      continue;
    }
    const uint64_t length = std::min(kCopyUnit, wanted.range.length - at);
    if (!extend || changes->back().bytes.empty() != block.empty()) {
      changes->push_back({{wanted.range.offset + at, 0}, ""});
    }
    changes->back().range.length += length;
    changes->back().bytes.append(block.data(), block.size());
    extend = true;
  }
}

absl::Status CopyRound(const ReadRangesFn& source, Image& target,
                       const std::vector<ImageRange>& ranges, bool zeros_too) {
  ADDONS_ASSIGN_OR_RETURN(const std::vector<ImageData> wanted, source(ranges));
  ADDONS_ASSIGN_OR_RETURN(const std::vector<ImageData> present,
                          target.Read(ranges));
  std::vector<ImageData> changes;
  std::vector<ImageRange> changed;
  std::vector<const ImageData*> expected;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const size_t before = changes.size();
    if (zeros_too || !SameContent(wanted[i], present[i])) {
      AddChanges(wanted[i], present[i], zeros_too, &changes);
    }
    if (changes.size() == before) continue;
    changed.push_back(ranges[i]);
    expected.push_back(&wanted[i]);
  }
  if (changes.empty()) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(target.Write(changes));
  // A cache may have accepted what the cluster refuses.
  ADDONS_RETURN_IF_ERROR(target.Flush());
  ADDONS_ASSIGN_OR_RETURN(const std::vector<ImageData> written,
                          target.Read(changed));
  for (size_t i = 0; i < changed.size(); ++i) {
    if (SameContent(written[i], *expected[i])) continue;
    return absl::InternalError(absl::StrCat(
        "image '", target.name().text(), "' does not hold what was ",
        "written to it at offset ", changed[i].offset));
  }
  return absl::OkStatus();
}

/// Calls `run` with pieces of `ranges`, as many as are held at a time.
absl::Status InRounds(
    Image& image, const std::vector<ImageRange>& ranges,
    const ImageCopyOptions& options,
    absl::FunctionRef<absl::Status(const std::vector<ImageRange>&)> run) {
  ADDONS_ASSIGN_OR_RETURN(const ImageSize size, image.Size());
  const uint64_t piece = std::min(size.object_bytes, kMaxPiece);
  std::vector<ImageRange> round;
  uint64_t bytes = 0;
  for (const ImageRange& range : ranges) {
    const uint64_t end = range.offset + range.length;
    for (uint64_t at = range.offset; at < end;) {
      const uint64_t length = std::min(piece - at % piece, end - at);
      if (round.size() >= kMaxPieces ||
          (!round.empty() && bytes + length > options.pieces * piece)) {
        ADDONS_RETURN_IF_ERROR(run(round));
        round.clear();
        bytes = 0;
      }
      round.push_back({at, length});
      bytes += length;
      at += length;
    }
  }
  return round.empty() ? absl::OkStatus() : run(round);
}

}  // namespace

uint64_t TotalBytes(const std::vector<ImageRange>& ranges) {
  uint64_t bytes = 0;
  for (const ImageRange& range : ranges) bytes += range.length;
  return bytes;
}

ReadRangesFn Reading(Image& image) {
  return [&image](const std::vector<ImageRange>& ranges) {
    return image.Read(ranges);
  };
}

absl::Status CopyRanges(const ReadRangesFn& source, Image& target,
                        const std::vector<ImageRange>& ranges,
                        const ImageCopyOptions& options,
                        const CopyProgressFn& progress) {
  const uint64_t total = TotalBytes(ranges);
  uint64_t done = 0;
  const absl::Status copied =
      InRounds(target, ranges, options,
               [&](const std::vector<ImageRange>& round) -> absl::Status {
                 ADDONS_RETURN_IF_ERROR(progress(done, total));
                 done += TotalBytes(round);
                 return CopyRound(source, target, round, options.zeros_too);
               });
  return copied.ok() ? progress(done, total) : copied;
}

absl::StatusOr<bool> SameContent(const ReadRangesFn& one, Image& other,
                                 const std::vector<ImageRange>& ranges,
                                 const ImageCopyOptions& options) {
  bool same = true;
  absl::Status compared = InRounds(
      other, ranges, options,
      [&](const std::vector<ImageRange>& round) -> absl::Status {
        if (!same) return absl::OkStatus();
        ADDONS_ASSIGN_OR_RETURN(const std::vector<ImageData> first, one(round));
        ADDONS_ASSIGN_OR_RETURN(const std::vector<ImageData> second,
                                other.Read(round));
        for (size_t i = 0; i < round.size(); ++i) {
          same = same && SameContent(first[i], second[i]);
        }
        return absl::OkStatus();
      });
  if (!compared.ok()) return compared;
  return same;
}

}  // namespace addons
