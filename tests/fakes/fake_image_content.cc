// What an image holds: reading and writing it, its size, the space that it
// takes.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "tests/fakes/fake_image.h"

namespace addons {
namespace {

using model::Model;
using model::Site;
using std::chrono::seconds;

// A copy that librbd makes itself, e.g. to flatten.
constexpr uint64_t kObjectsPerSecond = 64;
constexpr uint64_t kLooksPerSecond = 1000;  // objects asked for what they have

}  // namespace

absl::Status FakeImage::SelectSnapshot(uint64_t snapshot_id) {
  const int r = Run("rbd_snap_set_by_id", Use::kMemory,
                    [&](Model&, Site&, SteadyDuration*) {
                      for (const auto* snapshot : seen_.AllSnapshots()) {
                        if (snapshot->info.id == snapshot_id)
                          selected_ = snapshot_id;
                      }
                      return selected_ == snapshot_id ? 0 : -ENOENT;
                    });
  return r < 0 ? Error(r, "look at a snapshot of") : absl::OkStatus();
}

absl::StatusOr<ImageLayout> FakeImage::Layout() {
  ImageLayout layout;
  const int r = Run("rbd_get_data_pool_id", Use::kMemory,
                    [&](Model&, Site&, SteadyDuration*) {
                      const Shown shown = Show();
                      layout = {shown.size->bytes,
                                shown.size->object_bytes,
                                shown.size->object_bytes,
                                1,
                                image_->data_pool.value_or(image_->pool_id),
                                absl::StrCat("rbd_data.", image_->id)};
                      return shown.content == nullptr ? -ENOENT : 0;
                    });
  if (r < 0) return Error(r, "read the layout of");
  return layout;
}

absl::StatusOr<std::vector<ImageData>> FakeImage::Read(
    const std::vector<ImageRange>& ranges) {
  std::vector<ImageData> data;
  const int r =
      Run("rbd_aio_read", Use::kRead, [&](Model&, Site&, SteadyDuration* cost) {
        const Shown shown = Show();
        if (shown.content == nullptr) return -ENOENT;
        *cost = TimeFor(ranges.size());
        for (const ImageRange& range : ranges) {
          if (range.offset % shown.size->object_bytes != 0 ||
              range.offset + range.length > shown.size->bytes) {
            return -EINVAL;  // the model knows whole objects only
          }
          const uint64_t value =
              shown.content->at(range.offset / shown.size->object_bytes);
          data.push_back({range, model::ObjectBytes(value, range.length)});
        }
        return 0;
      });
  if (r < 0) return Error(r, "read");
  return data;
}

absl::Status FakeImage::Write(const std::vector<ImageData>& data) {
  return Mutate(
      "rbd_aio_write", "write to",
      [&](Model& model, Site& site, SteadyDuration* cost) {
        if (const int r = model.BeginWrite(site, *image_, Self(), cost);
            r < 0) {
          return r;
        }
        *cost += TimeFor(data.size());
        const uint64_t object_bytes = image_->size.object_bytes;
        for (const ImageData& piece : data) {
          const uint64_t end = piece.range.offset + piece.range.length;
          if (piece.range.offset % object_bytes != 0 ||
              (end % object_bytes != 0 && end != image_->size.bytes) ||
              end > image_->size.bytes) {
            return -EINVAL;
          }
          for (uint64_t at = piece.range.offset; at < end; at += object_bytes) {
            image_->content.at(at / object_bytes) =
                piece.bytes.empty()
                    ? 0
                    : model::ObjectValue(absl::string_view(piece.bytes)
                                             .substr(at - piece.range.offset));
          }
        }
        return 0;
      });
}

absl::Status FakeImage::Flush() {
  return Mutate("rbd_flush", "flush",
                [&](Model& model, Site& site, SteadyDuration* cost) {
                  if (!image_->features.exclusive_lock) return 0;
                  return model.BeginWrite(site, *image_, Self(), cost);
                });
}

absl::Status FakeImage::Resize(uint64_t bytes) {
  return Mutate("rbd_resize2", "resize",
                [&](Model& model, Site& site, SteadyDuration* cost) {
                  const int r = model.BeginWrite(site, *image_, Self(), cost);
                  if (r == 0) image_->Resize(bytes);
                  return r;
                });
}

absl::Status FakeImage::Flatten(const ProgressFn& progress) {
  uint64_t objects = 0;
  absl::Status begun = Mutate("rbd_flatten_with_progress", "flatten",
                              [&](Model&, Site&, SteadyDuration*) {
                                objects = image_->size.objects;
                                if (image_->read_only()) return -EROFS;
                                return image_->parent ? 0 : -EINVAL;
                              });
  if (!begun.ok()) return begun;
  for (uint64_t done = 0; done < objects; done += kObjectsPerSecond) {
    if (progress && !progress(done, objects))
      return Error(-ECANCELED, "flatten");
    world_.Advance(seconds(1));
  }
  MutexLock lock(world_.mutex_);
  image_->parent.reset();
  return absl::OkStatus();
}

absl::StatusOr<std::optional<uint64_t>> FakeImage::UsedBytes(
    std::chrono::milliseconds at_most) {
  std::optional<uint64_t> bytes;
  const int r = Run("rbd_diff_iterate2", Use::kRead,
                    [&](Model&, Site&, SteadyDuration* cost) {
                      const auto needed = seconds(static_cast<int64_t>(
                          image_->size.objects / kLooksPerSecond));
                      if (!seen_.features.fast_diff) {
                        *cost = std::min<SteadyDuration>(needed, at_most);
                        if (needed > at_most) return 0;
                      }
                      bytes = image_->used_objects * image_->size.object_bytes;
                      return 0;
                    });
  if (r < 0) return Error(r, "measure");
  return bytes;
}

absl::StatusOr<SparsifyEnd> FakeImage::Sparsify(uint64_t sparse_bytes,
                                                const ProgressFn& progress) {
  // From before the call is recorded: whoever has seen it may let time pass.
  const auto call = world_.BeginLongCall();
  // Also where a hook throws: time would wait for it.
  const absl::Cleanup ended = [&] { world_.EndLongCall(call); };
  return SparsifyInTime(call, sparse_bytes, progress);
}

FakeImage::Shown FakeImage::Show() const {
  if (!selected_) return {&image_->size, &image_->content};
  Shown shown;
  for (const model::Snapshot* snapshot : seen_.AllSnapshots()) {
    if (snapshot->info.id == *selected_) shown.size = &snapshot->size;
  }
  for (const model::Snapshot* snapshot : image_->AllSnapshots()) {
    if (snapshot->info.id == *selected_) shown.content = &snapshot->content;
  }
  return shown;
}

SteadyDuration FakeImage::TimeFor(size_t objects) {
  return SteadyDuration(seconds(1)) * objects / kObjectsPerSecond;
}

absl::StatusOr<SparsifyEnd> FakeImage::SparsifyInTime(
    FakeWorld::LongCallId call, uint64_t sparse_bytes,
    const ProgressFn& progress) {
  bool handed_over = false;
  const absl::Status begun = Mutate(
      "rbd_sparsify_with_progress", "sparsify",
      [&](Model&, Site&, SteadyDuration*) {
        if (image_->read_only()) return -EROFS;
        if (sparse_bytes < 4096 || sparse_bytes > image_->size.object_bytes ||
            (sparse_bytes & (sparse_bytes - 1)) != 0) {
          return -EINVAL;
        }
        if (!image_->features.exclusive_lock) return 0;
        handed_over = image_->lock && !OwnsLock();
        if (!image_->lock) {
          image_->lock = model::Lock{
              {absl::StrCat("client.", Self().id), "auto 1", Self().address},
              false};
        }
        return 0;
      });
  if (!begun.ok()) return begun;
  if (handed_over) {
    world_.AddViolation(
        absl::StrCat("a client with the lock has to sparsify ", spec_));
    return SparsifyEnd::kFinished;
  }
  return RunSparsify(call, progress);
}

SparsifyEnd FakeImage::RunSparsify(FakeWorld::LongCallId call,
                                   const ProgressFn& progress) {
  const SteadyTime begin = world_.Now();
  std::optional<SparsifyEnd> end;
  uint64_t next = 0;
  while (!end) {
    const std::chrono::duration<double> passed = world_.AwaitTime(call) - begin;
    const auto due = static_cast<uint64_t>(passed.count() * kObjectsPerSecond);
    while (!end && next < due) end = SparsifyObject(next++, progress);
  }
  return *end;
}

std::optional<SparsifyEnd> FakeImage::SparsifyObject(
    uint64_t object, const ProgressFn& progress) {
  {
    MutexLock lock(world_.mutex_);
    if (object == image_->size.objects) return SparsifyEnd::kFinished;
    if (image_->features.exclusive_lock && !OwnsLock()) {
      return SparsifyEnd::kLockLost;
    }
    if (image_->zero_objects > 0) {
      --image_->zero_objects;
      --image_->used_objects;
    }
  }
  if (progress && !progress(object, image_->size.objects)) {
    return SparsifyEnd::kStopped;
  }
  return std::nullopt;
}

}  // namespace addons
