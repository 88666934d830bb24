#include "tests/fakes/fake_image.h"

#include <algorithm>
#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ceph/errors.h"
#include "ceph/pinned_options.h"

namespace addons {
namespace {

using model::Model;
using model::Site;

}  // namespace

FakeImage::~FakeImage() {
  const bool unwinding = std::uncaught_exceptions() > exceptions_;
  if (open_) Release(/*crashed=*/unwinding && world_.ProcessDied());
}

absl::StatusOr<std::string> FakeImage::Id() {
  const int r = Run("rbd_get_id", Use::kMemory, nullptr);
  if (r < 0) return Error(r, "get the id of");
  return seen_.id;
}

absl::StatusOr<ImageSize> FakeImage::Size() {
  ImageSize size;
  const int r =
      Run("rbd_stat", Use::kMemory, [&](Model&, Site&, SteadyDuration*) {
        size = selected_ ? *Show().size : (writable_ ? *image_ : seen_).size;
        return 0;
      });
  if (r < 0) return Error(r, "get the size of");
  return size;
}

absl::StatusOr<Timestamp> FakeImage::CreateTimestamp() {
  const int r = Run("rbd_get_create_timestamp", Use::kMemory, nullptr);
  if (r < 0) return Error(r, "get the creation time of");
  return seen_.created;
}

absl::StatusOr<ImageFeatures> FakeImage::Features() {
  const int r = Run("rbd_get_features", Use::kMemory, nullptr);
  if (r < 0) return Error(r, "read the features of");
  return seen_.features;
}

absl::StatusOr<std::optional<ImageParent>> FakeImage::Parent() {
  std::optional<ImageParent> parent;
  const int r =
      Run("rbd_get_parent", Use::kMemory, [&](Model&, Site&, SteadyDuration*) {
        parent = (writable_ ? *image_ : seen_).parent;
        return 0;
      });
  if (r < 0) return Error(r, "get the parent of");
  return parent;
}

absl::StatusOr<std::vector<LinkedImage>> FakeImage::Clones() {
  std::vector<LinkedImage> clones;
  const int r =
      Run("rbd_list_children3", Use::kHeader,
          [&](Model&, Site& site, SteadyDuration*) {
            for (const auto& [pool_id, pool] : site.pools) {
              for (const auto& [space, held] : pool.namespaces) {
                for (const auto& [name, image] : held.images) {
                  if (!image->parent || image->parent->image_id != image_->id) {
                    continue;
                  }
                  clones.push_back(
                      {pool_id, pool.name, space, image->id, ImageName(name)});
                }
              }
            }
            return 0;
          });
  if (r < 0) return Error(r, "list the clones of");
  return clones;
}

absl::StatusOr<std::optional<GroupSpec>> FakeImage::Group() {
  std::optional<GroupSpec> group;
  const int r =
      Run("rbd_get_group", Use::kHeader, [&](Model&, Site&, SteadyDuration*) {
        group = image_->group;
        return 0;
      });
  if (r < 0) return Error(r, "read the group of");
  return group;
}

absl::StatusOr<std::vector<Watcher>> FakeImage::Watchers() {
  std::vector<Watcher> watchers;
  const int r = Run("rbd_watchers_list", Use::kHeader,
                    [&](Model& model, Site& site, SteadyDuration*) {
                      watchers = model.Watchers(site, *image_);
                      return 0;
                    });
  if (r < 0) return Error(r, "list the watchers of");
  return watchers;
}

absl::StatusOr<std::vector<Locker>> FakeImage::Lockers() {
  std::vector<Locker> lockers;
  const int r = Run("rbd_list_lockers", Use::kHeader,
                    [&](Model& model, Site& site, SteadyDuration*) {
                      lockers = model.Lockers(site, *image_);
                      return 0;
                    });
  if (r < 0) return Error(r, "list the lockers of");
  return lockers;
}

absl::StatusOr<bool> FakeImage::HoldsLock() {
  bool holds = false;
  const int r = Run("rbd_is_exclusive_lock_owner", Use::kMemory,
                    [&](Model&, Site&, SteadyDuration*) {
                      // As librbd: without the feature nobody has it.
                      holds = image_->features.exclusive_lock && OwnsLock();
                      return 0;
                    });
  if (r < 0) return Error(r, "read the lock of");
  return holds;
}

absl::Status FakeImage::AcquireLock(LockMode mode) {
  return Mutate("rbd_lock_acquire", "lock",
                [&](Model& model, Site& site, SteadyDuration* cost) {
                  return model.TakeLock(site, *image_, Self(), mode, cost);
                });
}

absl::Status FakeImage::ReleaseLock() {
  return Mutate("rbd_lock_release", "give back the lock of",
                [&](Model&, Site&, SteadyDuration*) {
                  if (OwnsLock()) image_->lock.reset();
                  return 0;
                });
}

absl::StatusOr<bool> FakeImage::HasTransientLock() {
  bool has = false;
  const int r = Run("rbd_lock_acquire", Use::kMemory,
                    [&](Model&, Site& site, SteadyDuration*) {
                      has = site.transient_locks;
                      return 0;
                    });
  if (r < 0) return Error(r, "ask for the locks of");
  return has;
}

absl::StatusOr<std::vector<ImageSnapshot>> FakeImage::Snapshots() {
  std::vector<ImageSnapshot> snapshots;
  const int r =
      Run("rbd_snap_list", Use::kMemory, [&](Model&, Site&, SteadyDuration*) {
        const model::Image& shown = writable_ ? *image_ : seen_;
        snapshots = shown.other_snapshots;
        for (const model::Snapshot& snapshot : shown.snapshots) {
          snapshots.push_back({snapshot.info.id,
                               absl::StrCat(".mirror.", snapshot.info.id),
                               SnapshotKind::kMirror});
        }
        return 0;
      });
  if (r < 0) return Error(r, "list the snapshots of");
  std::sort(snapshots.begin(), snapshots.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  return snapshots;
}

absl::StatusOr<std::optional<std::string>> FakeImage::Metadata(
    const std::string& key) {
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

absl::StatusOr<std::map<std::string, std::string>> FakeImage::ListMetadata(
    const std::string& prefix) {
  std::map<std::string, std::string> values;
  const int r = Run("rbd_metadata_list", Use::kHeader,
                    [&](Model&, Site&, SteadyDuration*) {
                      for (const auto& [key, value] : image_->metadata) {
                        if (absl::StartsWith(key, prefix)) values[key] = value;
                      }
                      return 0;
                    });
  if (r < 0) return Error(r, "read the metadata of");
  return values;
}

absl::Status FakeImage::ChangeMetadata(const MetadataChanges& changes) {
  if (changes.empty()) return absl::OkStatus();
  const bool directly = [this] {
    MutexLock lock(world_.mutex_);
    const bool journaled =
        image_->mode == MirrorMode::kJournal && image_->mirrored();
    return writable_ && !journaled && !image_->read_only();
  }();
  if (!directly) {
    for (const auto& [key, value] : changes) {
      const absl::Status changed =
          value.has_value() ? SetMetadata(key, *value) : RemoveMetadata(key);
      if (!changed.ok()) return changed;
    }
    return absl::OkStatus();
  }
  return ChangeMetadataWhere(/*secondary=*/false, changes);
}

absl::Status FakeImage::ChangeMetadataOfSecondary(
    const MetadataChanges& changes) {
  return ChangeMetadataWhere(/*secondary=*/true, changes);
}

absl::Status FakeImage::ChangeMetadataWhere(bool secondary,
                                            const MetadataChanges& changes) {
  return Mutate("rbd.metadata_set", "change the metadata of",
                [&](Model&, Site&, SteadyDuration*) {
                  // As in the header's own comparison.
                  if (image_->read_only() != secondary) {
                    return secondary ? -EAGAIN : -EROFS;
                  }
                  for (const auto& [key, value] : changes) {
                    if (value.has_value()) {
                      image_->metadata[key] = *value;
                    } else {
                      image_->metadata.erase(key);
                    }
                  }
                  return 0;
                });
}

absl::Status FakeImage::SetMetadata(const std::string& key,
                                    const std::string& value) {
  return Mutate("rbd_metadata_set", "set metadata of",
                [&](Model& model, Site& site, SteadyDuration*) {
                  return model.SetMetadata(site, *image_, Self(), key, &value);
                });
}

absl::Status FakeImage::RemoveMetadata(const std::string& key) {
  return Mutate("rbd_metadata_remove", "remove metadata of",
                [&](Model& model, Site& site, SteadyDuration*) {
                  const int r =
                      model.SetMetadata(site, *image_, Self(), key, nullptr);
                  return r == -ENOENT ? 0 : r;
                });
}

absl::Status FakeImage::Close() {
  const int r = Run("rbd_close", Use::kMemory, nullptr);
  if (open_) Release(/*crashed=*/false);
  return r < 0 ? Error(r, "close") : absl::OkStatus();
}

int FakeImage::Run(const char* call, Use use, const FakeWorld::Body& body) {
  if (!open_) {
    world_.AddViolation(absl::StrCat(call, " on the closed handle of ", spec_));
    return -EBADF;
  }
  FakeWorld::CallInfo info;
  info.site = connection_->site;
  info.call = call;
  info.object = spec_;
  info.mutation = use == Use::kMutate;
  info.needs =
      use == Use::kMemory ? FakeWorld::Needs::kNothing : FakeWorld::Needs::kOsd;
  info.connection = connection_;
  return world_.Call(info, [&](Model& model, Site& site, SteadyDuration* cost) {
    const bool header = use == Use::kHeader || use == Use::kMutate;
    if (header && image_->removed) return -ENOENT;
    return body ? body(model, site, cost) : 0;
  });
}

absl::Status FakeImage::Mutate(const char* call, const char* action,
                               const FakeWorld::Body& body) {
  if (!writable_) {
    world_.AddViolation(
        absl::StrCat(call, " on ", spec_, " through a read-only handle"));
    return Error(-EROFS, action);
  }
  return MutateThroughAnyHandle(call, action, body);
}

absl::Status FakeImage::MutateThroughAnyHandle(const char* call,
                                               const char* action,
                                               const FakeWorld::Body& body) {
  if (!MayChange(connection_->access)) {
    world_.AddViolation(
        absl::StrCat(call, " on ", spec_, " through a read connection"));
    return Error(-EROFS, action);
  }
  const int r = Run(call, Use::kMutate, body);
  return r < 0 ? OfChange(*this, Error(r, action)) : absl::OkStatus();
}

absl::Status FakeImage::Error(int result, absl::string_view action) const {
  return CephError(result, action, absl::StrCat("image '", spec_, "'"));
}

bool FakeImage::OwnsLock() const {
  return image_->lock &&
         image_->lock->locker.client == absl::StrCat("client.", Self().id);
}

void FakeImage::Release(bool crashed) {
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

}  // namespace addons
