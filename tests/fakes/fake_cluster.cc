#include "tests/fakes/fake_cluster.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ceph/errors.h"
#include "tests/fakes/commands.h"
#include "tests/fakes/groups.h"

namespace addons {
namespace {

using model::Model;
using model::Site;
using std::chrono::seconds;

constexpr SteadyDuration kConnectTimeout = seconds(5);
// A copy that librbd makes itself, e.g. to flatten.
constexpr uint64_t kObjectsPerSecond = 64;
constexpr uint64_t kLooksPerSecond = 1000;  // objects asked for what they have

bool LooksLikeCephxKey(const std::string& key) {
  std::string bytes;
  const bool decoded = absl::Base64Unescape(key, &bytes);
  const bool good = decoded && bytes.size() == 28;
  WipeString(bytes);
  return good;
}

/// An object that holds `value`, as bytes; none for 0.
std::string ObjectBytes(uint64_t value, uint64_t length) {
  std::string bytes;
  if (value == 0) return bytes;
  bytes.resize(length);
  for (uint64_t i = 0; i < length; ++i) {
    bytes[i] = static_cast<char>(value >> (8 * (i % 8)));
  }
  return bytes;
}

uint64_t ObjectValue(absl::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8 && i < bytes.size(); ++i) {
    value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return value;
}

/// CephError() with the text that a command printed.
absl::Status CommandError(int result, const std::string& command,
                          const std::string& text) {
  absl::Status plain = CephError(result, "run", command);
  if (text.empty()) return plain;
  absl::Status status(plain.code(), absl::StrCat(plain.message(), ": ", text));
  plain.ForEachPayload(
      [&](absl::string_view type_url, const absl::Cord& payload) {
        status.SetPayload(type_url, payload);
      });
  return status;
}

}  // namespace

// --- images
// ----------------------------------------------------------------------------

class FakeImage final : public Image {
 public:
  using Connection = std::shared_ptr<FakeWorld::Connection>;

  FakeImage(FakeWorld& world, Connection connection, std::string spec,
            std::shared_ptr<model::Image> image, model::Image seen,
            bool writable, uint64_t cookie)
      : world_(world),
        connection_(std::move(connection)),
        spec_(std::move(spec)),
        image_(std::move(image)),
        seen_(std::move(seen)),
        name_(seen_.name),
        writable_(writable),
        cookie_(cookie),
        exceptions_(std::uncaught_exceptions()) {}

  ~FakeImage() override {
    const bool crashed = std::uncaught_exceptions() > exceptions_;
    if (open_) Release(crashed);
  }
  FakeImage(const FakeImage&) = delete;
  FakeImage& operator=(const FakeImage&) = delete;

  const std::string& name() const override { return name_; }

  absl::StatusOr<std::string> Id() override {
    const int r = Run("rbd_get_id", Use::kMemory, nullptr);
    if (r < 0) return Error(r, "get the id of");
    return seen_.id;
  }

  absl::StatusOr<ImageSize> Size() override {
    ImageSize size;
    const int r =
        Run("rbd_stat", Use::kMemory, [&](Model&, Site&, SteadyDuration*) {
          size = selected_ ? *Show().size : (writable_ ? *image_ : seen_).size;
          return 0;
        });
    if (r < 0) return Error(r, "get the size of");
    return size;
  }

  absl::StatusOr<bool> MarkedNonPrimary() override {
    bool marked = false;
    const int r = Run("rbd_get_features", Use::kMemory,
                      [&](Model&, Site&, SteadyDuration*) {
                        marked = image_->read_only();
                        return 0;
                      });
    if (r < 0) return Error(r, "read the features of");
    return marked;
  }

  absl::StatusOr<Timestamp> CreateTimestamp() override {
    const int r = Run("rbd_get_create_timestamp", Use::kMemory, nullptr);
    if (r < 0) return Error(r, "get the creation time of");
    return seen_.created;
  }

  absl::StatusOr<MirrorImageInfo> MirrorInfo() override {
    MirrorImageInfo info;
    const int r =
        Run("rbd_mirror_image_get_info", Use::kRead,
            [&](Model& model, Site&, SteadyDuration*) {
              info = model.Info(*image_);
              // State and id are read, the role comes from the snapshots
              // that the handle knows.
              if (!writable_ && info.state != MirrorImageState::kDisabled) {
                info.primary = seen_.primary();
              }
              return 0;
            });
    if (r < 0) return Error(r, "get the mirroring state of");
    return info;
  }

  absl::StatusOr<std::vector<MirrorSnapshot>> MirrorSnapshots() override {
    std::vector<MirrorSnapshot> snapshots;
    const int r =
        Run("rbd_snap_list", Use::kMemory, [&](Model&, Site&, SteadyDuration*) {
          for (const auto& snapshot : (writable_ ? *image_ : seen_).snapshots) {
            snapshots.push_back(snapshot.info);
          }
          return 0;
        });
    if (r < 0) return Error(r, "list the snapshots of");
    return snapshots;
  }

  absl::StatusOr<std::vector<SiteStatus>> MirrorStatus() override {
    std::vector<SiteStatus> statuses;
    const int r = Run(
        "rbd_mirror_image_get_global_status", Use::kRead,
        [&](Model& model, Site& site, SteadyDuration*) {
          const auto& space =
              site.pools[image_->pool_id].namespaces[image_->rados_namespace];
          statuses = model.Status(site, space, *image_);
          return 0;
        });
    if (r < 0) return Error(r, "get the mirroring status of");
    return statuses;
  }

  absl::StatusOr<std::vector<Watcher>> Watchers() override {
    std::vector<Watcher> watchers;
    const int r = Run("rbd_watchers_list", Use::kHeader,
                      [&](Model& model, Site& site, SteadyDuration*) {
                        watchers = model.Watchers(site, *image_);
                        return 0;
                      });
    if (r < 0) return Error(r, "list the watchers of");
    return watchers;
  }

  absl::StatusOr<std::vector<Locker>> Lockers() override {
    std::vector<Locker> lockers;
    const int r = Run("rbd_list_lockers", Use::kHeader,
                      [&](Model& model, Site& site, SteadyDuration*) {
                        lockers = model.Lockers(site, *image_);
                        return 0;
                      });
    if (r < 0) return Error(r, "list the lockers of");
    return lockers;
  }

  absl::StatusOr<std::optional<ImageParent>> Parent() override {
    std::optional<ImageParent> parent;
    const int r = Run("rbd_get_parent", Use::kMemory,
                      [&](Model&, Site&, SteadyDuration*) {
                        parent = (writable_ ? *image_ : seen_).parent;
                        return 0;
                      });
    if (r < 0) return Error(r, "get the parent of");
    return parent;
  }

  absl::StatusOr<std::optional<std::string>> Metadata(
      const std::string& key) override {
    std::optional<std::string> value;
    const int r = Run("rbd_metadata_get", Use::kHeader,
                      [&](Model&, Site&, SteadyDuration*) {
                        const auto it = image_->metadata.find(key);
                        if (it != image_->metadata.end()) value = it->second;
                        return 0;
                      });
    if (r < 0) return Error(r, "read the metadata of");
    return value;
  }

  absl::StatusOr<std::map<std::string, std::string>> ListMetadata(
      const std::string& prefix) override {
    std::map<std::string, std::string> values;
    const int r = Run("rbd_metadata_list", Use::kHeader,
                      [&](Model&, Site&, SteadyDuration*) {
                        for (const auto& [key, value] : image_->metadata) {
                          if (absl::StartsWith(key, prefix))
                            values[key] = value;
                        }
                        return 0;
                      });
    if (r < 0) return Error(r, "read the metadata of");
    return values;
  }

  absl::StatusOr<std::optional<ImageGroup>> Group() override {
    std::optional<ImageGroup> group;
    const int r =
        Run("rbd_get_group", Use::kHeader, [&](Model&, Site&, SteadyDuration*) {
          group = image_->group;
          return 0;
        });
    if (r < 0) return Error(r, "read the group of");
    return group;
  }

  absl::Status SetMetadata(const std::string& key,
                           const std::string& value) override {
    return Mutate("rbd_metadata_set", "set metadata of",
                  [&](Model& model, Site& site, SteadyDuration*) {
                    return model.SetMetadata(site, *image_, Self(), key,
                                             &value);
                  });
  }

  absl::Status RemoveMetadata(const std::string& key) override {
    return Mutate("rbd_metadata_remove", "remove metadata of",
                  [&](Model& model, Site& site, SteadyDuration*) {
                    const int r =
                        model.SetMetadata(site, *image_, Self(), key, nullptr);
                    return r == -ENOENT ? 0 : r;
                  });
  }

  absl::Status MirrorEnable(MirrorMode mode) override {
    return Mutate("rbd_mirror_image_enable2", "enable mirroring of",
                  [&](Model& model, Site& site, SteadyDuration*) {
                    return model.Enable(site, Space(site), *image_, mode);
                  });
  }

  absl::Status MirrorDisable(Force force) override {
    return Mutate("rbd_mirror_image_disable", "disable mirroring of",
                  [&](Model& model, Site& site, SteadyDuration*) {
                    return model.Disable(site, Space(site), *image_, force);
                  });
  }

  absl::Status MirrorPromote(Force force) override {
    std::optional<Model::Promotion> promotion;
    return Mutate(
        "rbd_mirror_image_promote", "promote",
        [&](Model& model, Site& site, SteadyDuration* cost) {
          if (!promotion) {
            promotion.emplace();
            const int r =
                model.BeginPromotion(site, *image_, force, &*promotion);
            if (r < 0) return r;
          }
          if (model.PromotionWaits(site, *image_, *promotion)) {
            *cost = seconds(5);
            return model::kAgain;
          }
          return model.FinishPromotion(site, *image_, Self(), *promotion, cost);
        });
  }

  absl::Status MirrorDemote() override {
    return Mutate("rbd_mirror_image_demote", "demote",
                  [&](Model& model, Site& site, SteadyDuration* cost) {
                    return model.Demote(site, *image_, Self(), cost);
                  });
  }

  // Works on a read-only handle, too: it writes metadata only.
  absl::Status MirrorResync() override {
    return MutateThroughAnyHandle(
        "rbd_mirror_image_resync", "request a resync of",
        [&](Model& model, Site& site, SteadyDuration*) {
          return model.Resync(site, *image_);
        });
  }

  absl::StatusOr<uint64_t> CreateMirrorSnapshot() override {
    uint64_t id = 0;
    absl::Status status = Mutate(
        "rbd_mirror_image_create_snapshot", "create a mirror snapshot of",
        [&](Model& model, Site& site, SteadyDuration*) {
          return model.CreateSnapshot(site, *image_, &id);
        });
    if (!status.ok()) return status;
    return id;
  }

  absl::Status Flatten(const ProgressFn& progress) override {
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

  absl::StatusOr<ImageFeatures> Features() override {
    const int r = Run("rbd_get_features", Use::kMemory, nullptr);
    if (r < 0) return Error(r, "read the features of");
    return seen_.features;
  }

  absl::StatusOr<std::vector<ImageSnapshot>> Snapshots() override {
    const int r = Run("rbd_snap_list", Use::kMemory, nullptr);
    if (r < 0) return Error(r, "list the snapshots of");
    std::vector<ImageSnapshot> snapshots = seen_.other_snapshots;
    for (const model::Snapshot& snapshot : seen_.snapshots) {
      snapshots.push_back({snapshot.info.id,
                           absl::StrCat(".mirror.", snapshot.info.id),
                           SnapshotKind::kMirror});
    }
    std::sort(snapshots.begin(), snapshots.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    return snapshots;
  }

  absl::StatusOr<std::optional<uint64_t>> UsedBytes(
      std::chrono::milliseconds at_most) override {
    std::optional<uint64_t> bytes;
    const int r =
        Run("rbd_diff_iterate2", Use::kRead,
            [&](Model&, Site&, SteadyDuration* cost) {
              const auto needed = seconds(
                  static_cast<int64_t>(image_->size.objects / kLooksPerSecond));
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

  absl::StatusOr<bool> HoldsLock() override {
    bool holds = false;
    const int r = Run("rbd_is_exclusive_lock_owner", Use::kMemory,
                      [&](Model&, Site&, SteadyDuration*) {
                        holds = OwnsLock();
                        return 0;
                      });
    if (r < 0) return Error(r, "read the lock of");
    return holds;
  }

  absl::StatusOr<SparsifyEnd> Sparsify(uint64_t sparse_bytes,
                                       const ProgressFn& progress) override {
    // From before the call is recorded: whoever has seen it may let time pass.
    const auto call = world_.BeginLongCall();
    auto end = SparsifyInTime(call, sparse_bytes, progress);
    world_.EndLongCall(call);
    return end;
  }

  absl::Status SelectSnapshot(uint64_t snapshot_id) override {
    const int r =
        Run("rbd_snap_set_by_id", Use::kMemory,
            [&](Model&, Site&, SteadyDuration*) {
              for (const model::Snapshot& snapshot : seen_.snapshots) {
                if (snapshot.info.id == snapshot_id) selected_ = snapshot_id;
              }
              return selected_ == snapshot_id ? 0 : -ENOENT;
            });
    return r < 0 ? Error(r, "look at a snapshot of") : absl::OkStatus();
  }

  absl::StatusOr<ImageLayout> Layout() override {
    ImageLayout layout;
    const int r = Run("rbd_get_data_pool_id", Use::kMemory,
                      [&](Model&, Site&, SteadyDuration*) {
                        const Shown shown = Show();
                        layout = {shown.size->bytes, shown.size->object_bytes,
                                  shown.size->object_bytes, 1, image_->pool_id};
                        return shown.content == nullptr ? -ENOENT : 0;
                      });
    if (r < 0) return Error(r, "read the layout of");
    return layout;
  }

  absl::StatusOr<std::vector<ImageData>> Read(
      const std::vector<ImageRange>& ranges) override {
    std::vector<ImageData> data;
    const int r = Run(
        "rbd_aio_read", Use::kRead, [&](Model&, Site&, SteadyDuration* cost) {
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
            data.push_back({range, ObjectBytes(value, range.length)});
          }
          return 0;
        });
    if (r < 0) return Error(r, "read");
    return data;
  }

  absl::Status Write(const std::vector<ImageData>& data) override {
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
            for (uint64_t at = piece.range.offset; at < end;
                 at += object_bytes) {
              image_->content.at(at / object_bytes) =
                  piece.bytes.empty()
                      ? 0
                      : ObjectValue(absl::string_view(piece.bytes)
                                        .substr(at - piece.range.offset));
            }
          }
          return 0;
        });
  }

  absl::Status Flush() override {
    return Mutate("rbd_flush", "flush",
                  [&](Model& model, Site& site, SteadyDuration* cost) {
                    if (!image_->features.exclusive_lock) return 0;
                    return model.BeginWrite(site, *image_, Self(), cost);
                  });
  }

  absl::Status Resize(uint64_t bytes) override {
    return Mutate("rbd_resize2", "resize",
                  [&](Model& model, Site& site, SteadyDuration* cost) {
                    const int r = model.BeginWrite(site, *image_, Self(), cost);
                    if (r == 0) image_->Resize(bytes);
                    return r;
                  });
  }

  absl::Status AcquireLock() override {
    return Mutate("rbd_lock_acquire", "lock",
                  [&](Model& model, Site& site, SteadyDuration* cost) {
                    return model.TakeLock(site, *image_, Self(), cost);
                  });
  }

  absl::Status RemoveSnapshot(uint64_t snapshot_id) override {
    return Mutate("rbd_snap_remove_by_id", "remove a snapshot of",
                  [&](Model& model, Site& site, SteadyDuration* cost) {
                    const int r = model.BeginWrite(site, *image_, Self(), cost);
                    if (r < 0) return r;
                    std::erase_if(image_->snapshots,
                                  [&](const model::Snapshot& snapshot) {
                                    return snapshot.info.id == snapshot_id;
                                  });
                    return 0;
                  });
  }

  absl::Status Close() override {
    const int r = Run("rbd_close", Use::kMemory, nullptr);
    if (open_) Release(/*crashed=*/false);
    return r < 0 ? Error(r, "close") : absl::OkStatus();
  }

 private:
  /// What the handle shows: the image, or one of its snapshots.
  struct Shown {
    const ImageSize* size = nullptr;
    const model::Content* content = nullptr;  // nullptr: it was removed
  };
  Shown Show() const {
    if (!selected_) return {&image_->size, &image_->content};
    Shown shown;
    for (const model::Snapshot& snapshot : seen_.snapshots) {
      if (snapshot.info.id == *selected_) shown.size = &snapshot.size;
    }
    for (const model::Snapshot& snapshot : image_->snapshots) {
      if (snapshot.info.id == *selected_) shown.content = &snapshot.content;
    }
    return shown;
  }
  static SteadyDuration TimeFor(size_t objects) {
    return SteadyDuration(seconds(1)) * objects / kObjectsPerSecond;
  }

  /// What a call looks at: the handle, mirroring objects, the image's header.
  enum class Use { kMemory, kRead, kHeader, kMutate };

  int Run(const char* call, Use use, const FakeWorld::Body& body) {
    if (!open_) {
      world_.AddViolation(
          absl::StrCat(call, " on the closed handle of ", spec_));
      return -EBADF;
    }
    FakeWorld::CallInfo info;
    info.site = connection_->site;
    info.call = call;
    info.object = spec_;
    info.mutation = use == Use::kMutate;
    info.needs = use == Use::kMemory ? FakeWorld::Needs::kNothing
                                     : FakeWorld::Needs::kOsd;
    info.connection = connection_;
    return world_.Call(
        info, [&](Model& model, Site& site, SteadyDuration* cost) {
          const bool header = use == Use::kHeader || use == Use::kMutate;
          if (header && image_->removed) return -ENOENT;
          return body ? body(model, site, cost) : 0;
        });
  }

  absl::Status Mutate(const char* call, const char* action,
                      const FakeWorld::Body& body) {
    if (!writable_) {
      world_.AddViolation(
          absl::StrCat(call, " on ", spec_, " through a read-only handle"));
      return Error(-EROFS, action);
    }
    return MutateThroughAnyHandle(call, action, body);
  }

  absl::Status MutateThroughAnyHandle(const char* call, const char* action,
                                      const FakeWorld::Body& body) {
    if (connection_->access != Access::kMutate) {
      world_.AddViolation(
          absl::StrCat(call, " on ", spec_, " through a read connection"));
      return Error(-EROFS, action);
    }
    const int r = Run(call, Use::kMutate, body);
    return r < 0 ? Error(r, action) : absl::OkStatus();
  }

  bool OwnsLock() const {
    return image_->lock &&
           image_->lock->locker.client == absl::StrCat("client.", Self().id);
  }

  absl::StatusOr<SparsifyEnd> SparsifyInTime(FakeWorld::LongCallId call,
                                             uint64_t sparse_bytes,
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

  /// Objects by simulated time, whoever lets it pass.
  SparsifyEnd RunSparsify(FakeWorld::LongCallId call,
                          const ProgressFn& progress) {
    const SteadyTime begin = world_.Now();
    std::optional<SparsifyEnd> end;
    uint64_t next = 0;
    while (!end) {
      const std::chrono::duration<double> passed =
          world_.AwaitTime(call) - begin;
      const auto due =
          static_cast<uint64_t>(passed.count() * kObjectsPerSecond);
      while (!end && next < due) end = SparsifyObject(next++, progress);
    }
    return *end;
  }

  std::optional<SparsifyEnd> SparsifyObject(uint64_t object,
                                            const ProgressFn& progress) {
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

  absl::Status Error(int result, absl::string_view action) const {
    return CephError(result, action, absl::StrCat("image '", spec_, "'"));
  }

  const model::Client& Self() const { return connection_->client; }
  model::Namespace& Space(Site& site) const {
    return site.pools[image_->pool_id].namespaces[image_->rados_namespace];
  }

  // A dead client's watch and lock stay until somebody notices.
  void Release(bool crashed) {
    open_ = false;
    if (!writable_) return;
    MutexLock lock(world_.mutex_);
    if (crashed) {
      for (model::Watch& watch : image_->watches) {
        if (watch.watcher.cookie != cookie_) continue;
        watch.handle = false;
        watch.expires = world_.model_.now() + model::kWatchTimeout;
      }
      return;
    }
    std::erase_if(image_->watches, [&](const model::Watch& watch) {
      return watch.watcher.cookie == cookie_;
    });
    const std::string client = absl::StrCat("client.", Self().id);
    if (image_->lock && image_->lock->locker.client == client)
      image_->lock.reset();
  }

  FakeWorld& world_;
  const Connection connection_;
  const std::string spec_;
  const std::shared_ptr<model::Image> image_;
  const model::Image seen_;  // as it was when it was opened
  const std::string name_;
  const bool writable_;
  const uint64_t cookie_;
  const int exceptions_;
  bool open_ = true;
  std::optional<uint64_t> selected_;  // snapshot
};

// --- pools
// ------------------------------------------------------------------------------

class FakePool final : public Pool {
 public:
  FakePool(FakeWorld& world, std::shared_ptr<FakeWorld::Connection> connection,
           int64_t id, std::string name, std::string rados_namespace)
      : world_(world),
        connection_(std::move(connection)),
        id_(id),
        name_(std::move(name)),
        rados_namespace_(std::move(rados_namespace)) {}

  int64_t id() const override { return id_; }
  const std::string& name() const override { return name_; }
  const std::string& rados_namespace() const override {
    return rados_namespace_;
  }

  absl::StatusOr<OmapValues> ReadOmap(const std::string& object,
                                      const std::string& prefix) override {
    OmapValues values;
    const int r = Run("rados_read_op_omap_get_vals2", object, Needs::kOsd,
                      false, [&](Model&, Site& site, SteadyDuration*) {
                        const auto& omap = Space(site).omap;
                        const auto it = omap.find(object);
                        if (it == omap.end()) return -ENOENT;
                        for (const auto& [key, value] : it->second) {
                          if (absl::StartsWith(key, prefix))
                            values[key] = value;
                        }
                        return 0;
                      });
    if (r < 0) return Error(r, "read", object);
    return values;
  }

  absl::StatusOr<bool> ReplaceOmapValue(
      const std::string& object, const std::string& key,
      const std::optional<std::string>& expected,
      const std::string& desired) override {
    if (connection_->access != Access::kMutate) {
      world_.AddViolation(
          absl::StrCat("change of ", object, " through a read connection"));
      return Error(-EROFS, "change", object);
    }
    bool replaced = false;
    const int r = Run(
        "rados_write_op_omap_set2", object, Needs::kOsd, true,
        [&](Model&, Site& site, SteadyDuration*) {
          auto& omap = Space(site).omap;
          const auto it = omap.find(object);
          if (it == omap.end()) return -ENOENT;
          const auto value = it->second.find(key);
          const bool found = value != it->second.end();
          replaced = expected ? found && value->second == *expected : !found;
          if (replaced) it->second[key] = desired;
          return 0;
        });
    if (r < 0) return Error(r, "change", object);
    return replaced;
  }

  absl::StatusOr<OmapPage> ReadOmapPage(const std::string& object,
                                        const std::string& prefix,
                                        const std::string& after,
                                        uint64_t limit) override {
    OmapPage page;
    const int r = Run("rados_read_op_omap_get_vals2", object, Needs::kOsd,
                      false, [&](Model&, Site& site, SteadyDuration*) {
                        const auto& omap = Space(site).omap;
                        const auto it = omap.find(object);
                        if (it == omap.end()) return -ENOENT;
                        for (const auto& [key, value] : it->second) {
                          if (!absl::StartsWith(key, prefix) || key <= after)
                            continue;
                          if (page.values.size() == limit) {
                            page.more = true;
                            break;
                          }
                          page.values[key] = value;
                        }
                        return 0;
                      });
    if (r < 0) return Error(r, "read", object);
    return page;
  }

  absl::StatusOr<std::optional<std::string>> ReadOmapKey(
      const std::string& object, const std::string& key) override {
    std::optional<std::string> value;
    const int r =
        Run("rados_read_op_omap_get_vals_by_keys2", object, Needs::kOsd, false,
            [&](Model&, Site& site, SteadyDuration*) {
              const auto& omap = Space(site).omap;
              const auto it = omap.find(object);
              if (it == omap.end()) return -ENOENT;
              const auto found = it->second.find(key);
              if (found != it->second.end()) value = found->second;
              return 0;
            });
    if (r < 0) return Error(r, "read", object);
    return value;
  }

  absl::Status CreateObject(const std::string& object) override {
    return Change("rados_write_op_create", "create", object, [&](Site& site) {
      return model::CreateObject(Space(site), object);
    });
  }
  absl::Status RemoveObject(const std::string& object) override {
    return Change("rados_write_op_remove", "remove", object, [&](Site& site) {
      Space(site).omap.erase(object);
      return 0;
    });
  }
  absl::Status SetOmapValues(const std::string& object,
                             const OmapValues& values) override {
    return Change("rados_write_op_omap_set2", "write", object, [&](Site& site) {
      return model::SetOmapValues(Space(site), object, values);
    });
  }
  absl::Status RemoveOmapKeys(const std::string& object,
                              const std::vector<std::string>& keys) override {
    return Change("rados_write_op_omap_rm_keys2", "write", object,
                  [&](Site& site) {
                    return model::RemoveOmapKeys(Space(site), object, keys);
                  });
  }
  absl::StatusOr<bool> RemoveOmapValue(const std::string& object,
                                       const std::string& key,
                                       const std::string& expected) override {
    bool removed = false;
    const absl::Status status = Change(
        "rados_write_op_omap_rm_keys2", "write", object, [&](Site& site) {
          return model::RemoveOmapValue(Space(site), object, key, expected,
                                        &removed);
        });
    if (!status.ok()) return status;
    return removed;
  }

  absl::StatusOr<std::vector<GroupImage>> GroupImages(
      const std::string& group) override {
    std::vector<GroupImage> images;
    const int r = Run("rbd_group_image_list", group, Needs::kOsd, false,
                      [&](Model&, Site& site, SteadyDuration*) {
                        images = model::GroupImages(site, site.pools[id_],
                                                    rados_namespace_, group);
                        return 0;
                      });
    if (r < 0) return Error(r, "list the images of rbd group", group);
    return images;
  }
  absl::Status CreateGroup(const std::string& group) override {
    return Change(
        "rbd_group_create", "create rbd group", group,
        [&](Site& site) { return model::CreateGroup(Space(site), group); });
  }
  absl::Status RemoveGroup(const std::string& group) override {
    return Change("rbd_group_remove", "remove rbd group", group,
                  [&](Site& site) {
                    const int r = model::RemoveGroup(site, site.pools[id_],
                                                     rados_namespace_, group);
                    return r == -ENOENT ? 0 : r;
                  });
  }
  absl::Status AddGroupImage(const std::string& group, int64_t image_pool_id,
                             const std::string& image) override {
    return Change("rbd_group_image_add", "add an image to rbd group", group,
                  [&](Site& site) {
                    return model::AddGroupImage(site, site.pools[id_],
                                                rados_namespace_, group,
                                                image_pool_id, image);
                  });
  }
  absl::Status RemoveGroupImage(const std::string& group, int64_t image_pool_id,
                                const std::string& image_id) override {
    return Change("rbd_group_image_remove_by_id",
                  "take an image out of rbd group", group, [&](Site& site) {
                    return model::RemoveGroupImage(site, site.pools[id_],
                                                   rados_namespace_, group,
                                                   image_pool_id, image_id);
                  });
  }

  absl::Status ReachPlacementGroups(uint32_t part, uint32_t parts) override {
    const int r =
        Run("rados_object_list", absl::StrCat(part, "/", parts), Needs::kOsd,
            false, [](Model&, Site&, SteadyDuration*) { return 0; });
    if (r < 0) return Error(r, "reach placement groups of", name_);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Watcher>> ListWatchers(
      const std::string& object) override {
    std::vector<Watcher> watchers;
    const int r = Run("rados_list_watchers", object, Needs::kOsd, false,
                      [&](Model& model, Site& site, SteadyDuration*) {
                        const auto& space = Space(site);
                        if (object == "rbd_mirroring") {
                          if (space.mode == PoolMirrorMode::kDisabled)
                            return -ENOENT;
                          watchers = model.MirroringWatchers(site);
                          return 0;
                        }
                        for (const auto& [name, image] : space.images) {
                          if (object != absl::StrCat("rbd_header.", image->id))
                            continue;
                          watchers = model.Watchers(site, *image);
                          return 0;
                        }
                        return space.omap.contains(object) ? 0 : -ENOENT;
                      });
    if (r < 0) return Error(r, "list the watchers of", object);
    return watchers;
  }

  absl::StatusOr<PoolMirrorMode> MirrorMode() override {
    PoolMirrorMode mode = PoolMirrorMode::kUnknown;
    const int r = Run("rbd_mirror_mode_get", "rbd_mirroring", Needs::kOsd,
                      false, [&](Model&, Site& site, SteadyDuration*) {
                        mode = Space(site).mode;
                        return 0;
                      });
    if (r < 0) return Error(r, "get the mirroring mode of", "");
    return mode;
  }

  absl::StatusOr<std::vector<MirrorPeer>> MirrorPeers() override {
    std::vector<MirrorPeer> peers;
    const int r = Run("rbd_mirror_peer_site_list", "rbd_mirroring", Needs::kOsd,
                      false, [&](Model& model, Site& site, SteadyDuration*) {
                        peers = model.Peers(site);
                        return 0;
                      });
    if (r < 0) return Error(r, "list the mirroring peers of", "");
    return peers;
  }

  absl::StatusOr<std::string> MirrorUuid() override {
    std::string uuid;
    const int r = Run("rbd_mirror_uuid_get", "rbd_mirroring", Needs::kOsd,
                      false, [&](Model&, Site& site, SteadyDuration*) {
                        uuid = site.mirror_uuid;
                        return 0;
                      });
    if (r < 0) return Error(r, "get the mirroring uuid of", "");
    return uuid;
  }

  absl::StatusOr<std::optional<MirrorImageInfo>> MirrorInfoById(
      const std::string& image_id) override {
    std::optional<MirrorImageInfo> info;
    const int r =
        Run("rbd_mirror_image_info_list", image_id, Needs::kOsd, false,
            [&](Model& model, Site& site, SteadyDuration*) {
              const auto image = Model::FindImageById(Space(site), image_id);
              if (image == nullptr ||
                  image->mirror_state == MirrorImageState::kDisabled) {
                return 0;
              }
              info = model.Info(*image);
              return 0;
            });
    if (r < 0) return Error(r, "get the mirroring state of image id", image_id);
    return info;
  }

  absl::StatusOr<std::unique_ptr<Image>> OpenImageReadOnly(
      const std::string& name) override {
    return Open("rbd_open_read_only", name, false, false);
  }
  absl::StatusOr<std::unique_ptr<Image>> OpenImageByIdReadOnly(
      const std::string& image_id) override {
    return Open("rbd_open_by_id_read_only", image_id, true, false);
  }
  absl::StatusOr<std::unique_ptr<Image>> OpenImage(
      const std::string& name) override {
    return Open("rbd_open", name, false, true);
  }

  absl::Status CreateImage(const std::string& name,
                           const ImageLayout& layout) override {
    return ChangeImages("rbd_create4", "create", name,
                        [&](Model& model, Site& site, SteadyDuration*) {
                          if (Space(site).images.contains(name)) {
                            return -EEXIST;
                          }
                          const auto image = model.CreateImage(
                              site, site.pools[id_], rados_namespace_, name,
                              layout.bytes);
                          image->size.object_bytes = layout.object_bytes;
                          image->Resize(layout.bytes);
                          return 0;
                        });
  }

  absl::Status RemoveImage(const std::string& name) override {
    return ChangeImages("rbd_remove", "remove", name,
                        [&](Model&, Site& site, SteadyDuration*) {
                          auto& images = Space(site).images;
                          const auto it = images.find(name);
                          if (it == images.end()) return 0;
                          if (!it->second->watches.empty()) return -EBUSY;
                          if (!it->second->snapshots.empty()) return -ENOTEMPTY;
                          it->second->removed = true;
                          images.erase(it);
                          return 0;
                        });
  }

  void FailWhenFull() override {}

 private:
  using Needs = FakeWorld::Needs;

  int Run(const char* call, const std::string& object, Needs needs,
          bool mutation, const FakeWorld::Body& body) {
    return world_.Call(
        {connection_->site, call, object, mutation, needs, connection_}, body);
  }

  /// A call that changes `object` on the mutation connection.
  absl::Status Change(const char* call, absl::string_view action,
                      const std::string& object,
                      const std::function<int(Site&)>& change) {
    if (connection_->access != Access::kMutate) {
      world_.AddViolation(
          absl::StrCat("change of ", object, " through a read connection"));
      return Error(-EROFS, action, object);
    }
    const int r =
        Run(call, object, Needs::kOsd, true,
            [&](Model&, Site& site, SteadyDuration*) { return change(site); });
    return r < 0 ? Error(r, action, object) : absl::OkStatus();
  }

  absl::Status Error(int result, absl::string_view action,
                     const std::string& object) const {
    return object.empty()
               ? CephError(result, action, absl::StrCat("pool '", name_, "'"))
               : CephError(result, action,
                           absl::StrCat("'", ImageSpec(object), "'"));
  }

  model::Namespace& Space(Site& site) const {
    return site.pools[id_].namespaces[rados_namespace_];
  }

  absl::Status ChangeImages(const char* call, const char* action,
                            const std::string& name,
                            const FakeWorld::Body& body) {
    const std::string text = absl::StrCat("image '", ImageSpec(name), "'");
    if (connection_->access != Access::kMutate) {
      world_.AddViolation(
          absl::StrCat(call, " of ", text, " through a read connection"));
      return CephError(-EROFS, action, text);
    }
    const int r = Run(call, name, Needs::kOsd, true, body);
    return r < 0 ? CephError(r, action, text) : absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Image>> Open(const char* call,
                                              const std::string& key,
                                              bool by_id, bool writable) {
    std::shared_ptr<model::Image> image;
    model::Image seen;
    uint64_t cookie = 0;
    const int r = Run(
        call, key, Needs::kOsd, false,
        [&](Model& model, Site& site, SteadyDuration*) {
          model::Namespace& space = Space(site);
          if (by_id) {
            image = Model::FindImageById(space, key);
          } else if (const auto it = space.images.find(key);
                     it != space.images.end()) {
            image = it->second;
          }
          if (image == nullptr) return -ENOENT;
          if (writable) {
            cookie = 95000000000000 + model.NewClientId();
            image->watches.push_back(
                {{connection_->client.address, connection_->client.id, cookie},
                 true,
                 std::nullopt});
            model.OpenedForWriting(site, *image);
          }
          seen = *image;
          return 0;
        });
    const auto failed = [&] {
      return CephError(r, "open", absl::StrCat("image '", ImageSpec(key), "'"));
    };
    if (image == nullptr) return failed();
    auto opened = std::make_unique<FakeImage>(
        world_, connection_, ImageSpec(seen.name), std::move(image),
        std::move(seen), writable, cookie);
    // An open that fails late leaves no watch behind.
    if (r < 0) return failed();
    return opened;
  }

  FakeWorld& world_;
  const std::shared_ptr<FakeWorld::Connection> connection_;
  const int64_t id_;
  const std::string name_;
  const std::string rados_namespace_;
};

// --- clusters
// -----------------------------------------------------------------------------

class FakeCluster final : public Cluster {
 public:
  FakeCluster(FakeWorld& world, std::string site, std::string fsid)
      : world_(world), site_(std::move(site)), fsid_(std::move(fsid)) {}

  const std::string& fsid() const override { return fsid_; }

  absl::StatusOr<std::unique_ptr<Pool>> OpenPool(
      int64_t pool_id, const std::string& rados_namespace,
      Access access) override {
    auto connection = Connect(access);
    if (!connection.ok()) return std::move(connection).status();
    std::string name;
    const int r =
        world_.Call({site_, "rados_ioctx_create2", absl::StrCat(pool_id), false,
                     FakeWorld::Needs::kNothing, *connection},
                    [&](Model&, Site& site, SteadyDuration*) {
                      const auto it = site.pools.find(pool_id);
                      if (it == site.pools.end()) return -ENOENT;
                      name = it->second.name;
                      return 0;
                    });
    if (r < 0)
      return CephError(r, "open", absl::StrCat("pool with id ", pool_id));
    return std::make_unique<FakePool>(world_, *connection, pool_id,
                                      std::move(name), rados_namespace);
  }

  absl::StatusOr<std::string> MonCommand(const std::string& json) override {
    return Command("rados_mon_command", "monitor command", json,
                   FakeWorld::Needs::kMon, [&](Model& model, Site& site) {
                     return model::RunMonCommand(model, site, json);
                   });
  }

  absl::StatusOr<std::string> MgrCommand(const std::string& json) override {
    return Command("rados_mgr_command", "manager command", json,
                   FakeWorld::Needs::kMgr, [&](Model& model, Site& site) {
                     return model::RunMgrCommand(model, site, json);
                   });
  }

  std::vector<uint64_t> OwnClientIds() override {
    MutexLock lock(mutex_);
    std::vector<uint64_t> ids;
    for (const auto& [access, connection] : connections_) {
      ids.push_back(connection->client.id);
    }
    return ids;
  }

  std::vector<std::string> OwnAddresses() override {
    MutexLock lock(mutex_);
    std::vector<std::string> addresses;
    for (const auto& [access, connection] : connections_) {
      addresses.push_back(connection->client.address);
    }
    return addresses;
  }

  absl::Status WaitForLatestMap() override {
    auto connection = Connect(Access::kRead);
    if (!connection.ok()) return std::move(connection).status();
    const int r = world_.Call({site_, "rados_wait_for_latest_osdmap", "", false,
                               FakeWorld::Needs::kMon, *connection},
                              [](Model&, Site&, SteadyDuration*) { return 0; });
    if (r < 0) return CephError(r, "get the newest OSD map of", site_);
    return absl::OkStatus();
  }

  /// The connection for `access`; a new one when there is none or it was
  /// dropped.
  absl::StatusOr<std::shared_ptr<FakeWorld::Connection>> Connect(
      Access access) {
    if (auto connection = Current(access); connection != nullptr)
      return connection;
    const int r = world_.Call({site_, "rados_connect", "", false,
                               FakeWorld::Needs::kNothing, nullptr},
                              [](Model&, Site&, SteadyDuration*) { return 0; });
    if (r < 0) return ConnectError(r);
    if (world_.AwaitCluster(site_, kConnectTimeout) != 0)
      return ConnectError(-ETIMEDOUT);
    MutexLock lock(mutex_);
    auto& slot = connections_[access];
    if (slot == nullptr || Dropped(*slot))
      slot = world_.NewConnection(site_, access);
    return slot;
  }

 private:
  std::shared_ptr<FakeWorld::Connection> Current(Access access) {
    MutexLock lock(mutex_);
    const auto it = connections_.find(access);
    if (it == connections_.end()) return nullptr;
    return Dropped(*it->second) ? nullptr : it->second;
  }

  bool Dropped(const FakeWorld::Connection& connection) const {
    MutexLock lock(world_.mutex_);
    return connection.dropped;
  }

  absl::Status ConnectError(int result) const {
    const absl::Status plain = CephError(
        result, "connect to", absl::StrCat("cluster 'site-", site_, "'"));
    return absl::UnavailableError(plain.message());
  }

  absl::StatusOr<std::string> Command(
      const char* call, const char* kind, const std::string& json,
      FakeWorld::Needs needs,
      const std::function<model::CommandResult(Model&, Site&)>& run) {
    auto connection = Connect(Access::kRead);
    if (!connection.ok()) return std::move(connection).status();
    model::CommandResult result;
    const bool mutation = absl::StrContains(json, "schedule add") ||
                          absl::StrContains(json, "schedule remove") ||
                          absl::StrContains(json, "task add") ||
                          absl::StrContains(json, "blocklistop");
    const int r =
        world_.Call({site_, call, json, mutation, needs, *connection},
                    [&](Model& model, Site& site, SteadyDuration* cost) {
                      result = run(model, site);
                      *cost = result.cost;
                      return result.result;
                    });
    if (r != 0)
      return CommandError(r, absl::StrCat(kind, " ", json), result.status);
    return result.output;
  }

  FakeWorld& world_;
  const std::string site_;
  const std::string fsid_;
  Mutex mutex_;
  std::map<Access, std::shared_ptr<FakeWorld::Connection>> connections_
      ABSL_GUARDED_BY(mutex_);
};

// --- provider
// -----------------------------------------------------------------------------

absl::StatusOr<std::shared_ptr<Cluster>> FakeClusterProvider::Connect(
    const ClusterTarget& target, const CephUser& user) {
  FakeSite* site = nullptr;
  bool accepted = false;
  {
    MutexLock lock(world_.mutex_);
    for (const auto& [name, candidate] : world_.sites_) {
      bool here = candidate->cluster_id() == target.cluster_id;
      for (const std::string& monitor : target.monitors) {
        here =
            here || monitor == absl::StrCat(candidate->cluster_id(), ":6789");
      }
      if (!here) continue;
      site = candidate.get();
      accepted =
          user.id == site->site_.user && user.key.Reveal() == site->site_.key;
    }
  }
  const std::string who =
      absl::StrCat("cluster '", target.cluster_id, "' as user '", user.id, "'");
  if (!LooksLikeCephxKey(user.key.Reveal())) {
    return absl::UnauthenticatedError(absl::StrCat(
        "Failed to connect to ", who, ": the key is no cephx key"));
  }
  if (site == nullptr) {
    world_.Advance(kConnectTimeout);
    return absl::UnavailableError(
        absl::StrCat("Failed to connect to ", who, ": no monitor answered"));
  }
  const std::string key =
      absl::StrCat(site->name(), "/", user.id, "/", user.key.Fingerprint());
  {
    MutexLock lock(mutex_);
    const auto it = clusters_.find(key);
    if (it != clusters_.end()) return it->second;
  }
  auto cluster =
      std::make_shared<FakeCluster>(world_, site->name(), site->fsid());
  auto connection = cluster->Connect(Access::kRead);
  if (!connection.ok()) return std::move(connection).status();
  if (!accepted) {
    return absl::UnauthenticatedError(absl::StrCat(
        "Failed to connect to ", who,
        ": the cluster refuses the user or its key; check userID and userKey"));
  }
  MutexLock lock(mutex_);
  return clusters_.try_emplace(key, std::move(cluster)).first->second;
}

std::shared_ptr<Cluster> FakeClusterProvider::Get(FakeSite& site) {
  auto cluster = Connect(site.target(), site.user());
  if (!cluster.ok()) {
    std::fprintf(stderr, "no cluster for the test: %s\n",
                 cluster.status().ToString().c_str());
    std::abort();
  }
  return *std::move(cluster);
}

}  // namespace addons
