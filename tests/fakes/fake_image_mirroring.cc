// The mirroring of an image: what its handle tells and changes.

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fakes/fake_image.h"

namespace addons {
namespace {

using model::Model;
using model::Site;
using std::chrono::seconds;

}  // namespace

absl::StatusOr<bool> FakeImage::MarkedNonPrimary() {
  bool marked = false;
  const int r = Run("rbd_get_features", Use::kMemory,
                    [&](Model&, Site&, SteadyDuration*) {
                      marked = image_->marked_non_primary;
                      return 0;
                    });
  if (r < 0) return Error(r, "read the features of");
  return marked;
}

absl::StatusOr<MirrorImageInfo> FakeImage::MirrorInfo() {
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

absl::StatusOr<std::vector<MirrorSnapshot>> FakeImage::MirrorSnapshots() {
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

absl::StatusOr<std::vector<SiteStatus>> FakeImage::MirrorStatus() {
  std::vector<SiteStatus> statuses;
  const int r =
      Run("rbd_mirror_image_get_global_status", Use::kRead,
          [&](Model& model, Site& site, SteadyDuration*) {
            const auto& space =
                site.pools[image_->pool_id].namespaces[image_->rados_namespace];
            statuses = model.Status(site, space, *image_);
            return 0;
          });
  if (r < 0) return Error(r, "get the mirroring status of");
  return statuses;
}

absl::Status FakeImage::MirrorEnable(MirrorMode mode) {
  return Mutate("rbd_mirror_image_enable2", "enable mirroring of",
                [&](Model& model, Site& site, SteadyDuration*) {
                  return model.Enable(site, Space(site), *image_, mode);
                });
}

absl::Status FakeImage::MirrorDisable(Force force) {
  if (force == Force::kYes) ExpectNoCrash("rbd_mirror_image_disable");
  ExpectNoHandLock("rbd_mirror_image_disable");
  return Mutate("rbd_mirror_image_disable", "disable mirroring of",
                [&](Model& model, Site& site, SteadyDuration*) {
                  return model.Disable(site, Space(site), *image_, force);
                });
}

absl::Status FakeImage::MirrorPromote(Force force) {
  return PromoteUntil(force, SteadyTime::max());
}

absl::Status FakeImage::MirrorPromoteByForce(SteadyTime latest) {
  return PromoteUntil(Force::kYes, latest);
}

absl::Status FakeImage::PromoteUntil(Force force, SteadyTime latest) {
  if (force == Force::kYes) ExpectNoCrash("rbd_mirror_image_promote");
  std::optional<Model::Promotion> promotion;
  return Mutate(
      "rbd_mirror_image_promote", "promote",
      [&](Model& model, Site& site, SteadyDuration* cost) {
        if (!promotion) {
          if (model.now() > latest) return -ECANCELED;
          promotion.emplace();
          const int r = model.BeginPromotion(site, *image_, force, &*promotion);
          if (r < 0) return r;
        }
        if (model.PromotionWaits(site, *image_, *promotion)) {
          *cost = seconds(5);
          return model::kAgain;
        }
        return model.FinishPromotion(site, *image_, Self(), &*promotion, cost);
      });
}

absl::Status FakeImage::MirrorDemote() {
  ExpectNoHandLock("rbd_mirror_image_demote");
  bool begun = false;
  return Mutate("rbd_mirror_image_demote", "demote",
                [&](Model& model, Site& site, SteadyDuration* cost) {
                  return model.Demote(site, *image_, Self(), &begun, cost);
                });
}

absl::Status FakeImage::MirrorResync() {
  return MutateThroughAnyHandle("rbd_mirror_image_resync",
                                "request a resync of",
                                [&](Model& model, Site& site, SteadyDuration*) {
                                  return model.Resync(site, *image_);
                                });
}

absl::StatusOr<uint64_t> FakeImage::CreateMirrorSnapshot() {
  ExpectNoOtherMaker("rbd_mirror_image_create_snapshot2");
  uint64_t id = 0;
  absl::Status status =
      Mutate("rbd_mirror_image_create_snapshot2", "create a mirror snapshot of",
             [&](Model& model, Site& site, SteadyDuration*) {
               return model.CreateSnapshot(site, *image_, &id);
             });
  if (!status.ok()) return status;
  return id;
}

absl::Status FakeImage::CreateSnapshot(const std::string& name) {
  return Mutate("rbd_snap_create2", "create a snapshot of",
                [&](Model& model, Site& site, SteadyDuration* cost) {
                  const int r = model.BeginWrite(site, *image_, Self(), cost);
                  if (r < 0) return r;
                  if (image_->at_snapshot_limit()) return -EDQUOT;
                  return image_->AddUserSnapshot(name) ? 0 : -EEXIST;
                });
}

absl::Status FakeImage::RemoveSnapshot(uint64_t snapshot_id) {
  return Mutate("rbd_snap_remove_by_id", "remove a snapshot of",
                [&](Model& model, Site& site, SteadyDuration* cost) {
                  const int r = model.BeginWrite(site, *image_, Self(), cost);
                  if (r < 0) return r;
                  image_->RemoveSnapshots([&](const model::Snapshot& snapshot) {
                    return snapshot.info.id == snapshot_id;
                  });
                  std::erase_if(image_->other_snapshots,
                                [&](const ImageSnapshot& snapshot) {
                                  return snapshot.id == snapshot_id;
                                });
                  image_->held.erase(snapshot_id);
                  return 0;
                });
}

void FakeImage::ExpectNoCrash(absl::string_view call) {
  bool crashes = false;
  {
    MutexLock lock(world_.mutex_);
    crashes = Model::CrashesLibrbd(*image_);
  }
  if (crashes) {
    world_.AddViolation(absl::StrCat(call, " of ", spec_, " crashes librbd"));
  }
}

void FakeImage::ExpectNoHandLock(absl::string_view call) {
  bool waits = false;
  {
    MutexLock lock(world_.mutex_);
    waits = image_->lock && image_->lock->by_hand;
  }
  if (waits) {
    world_.AddViolation(absl::StrCat(
        call, " of ", spec_, " waits without end for a lock taken by hand"));
  }
}

void FakeImage::ExpectNoOtherMaker(absl::string_view call) {
  bool crashes = false;
  {
    MutexLock lock(world_.mutex_);
    const Site* const site = world_.model_.FindSite(connection_->site);
    crashes =
        site != nullptr && world_.model_.ManagerMakesSnapshot(*site, *image_);
  }
  if (crashes) {
    world_.AddViolation(
        absl::StrCat(call, " of ", spec_,
                     " beside a mirror snapshot of the manager's ends the "
                     "process inside librbd"));
  }
}

}  // namespace addons
