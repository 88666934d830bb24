// The mirroring of a site's images, as an administrator or bad luck changes it.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fakes/commands.h"
#include "tests/fakes/die.h"
#include "tests/fakes/fake_site.h"
#include "tests/fakes/fake_world.h"

namespace addons {

void FakeSite::EnableMirroring(const std::string& image, MirrorMode mode) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  if (world_.model_.Enable(site_, Space(*found), *found, mode) != 0) {
    Die(absl::StrCat("cannot enable mirroring of ", image));
  }
}

void FakeSite::CreateMirrorSnapshot(const std::string& image) {
  MutexLock lock(world_.mutex_);
  uint64_t id = 0;
  if (world_.model_.CreateSnapshot(site_, *Find(image), &id) != 0) {
    Die(absl::StrCat("cannot create a mirror snapshot of ", image));
  }
}

void FakeSite::Demote(const std::string& image) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  const model::Client admin{world_.model_.NewClientId(), "10.0.1.1:0/1"};
  SteadyDuration ignored{};
  bool begun = false;
  int r = model::kHalfDone;
  while (r == model::kHalfDone) {
    r = world_.model_.Demote(site_, *found, admin, &begun, &ignored);
  }
  if (r != 0) Die(absl::StrCat("cannot demote ", image));
  found->lock.reset();
}

void FakeSite::Promote(const std::string& image, Force force) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  model::Model& model = world_.model_;
  const model::Client admin{model.NewClientId(), "10.0.1.1:0/1"};
  model::Model::Promotion promotion;
  SteadyDuration ignored{};
  // rbd-mirror lets go at once here.
  const auto replayer = site_.daemon.replayers.find(found->global_id);
  if (replayer != site_.daemon.replayers.end())
    replayer->second.holds_image = false;
  int r = model.BeginPromotion(site_, *found, force, &promotion);
  if (r == 0) r = model::kHalfDone;
  while (r == model::kHalfDone) {
    r = model.FinishPromotion(site_, *found, admin, &promotion, &ignored);
  }
  if (r != 0) Die(absl::StrCat("cannot promote ", image));
  found->lock.reset();
}

uint64_t FakeSite::SnapshotData(const std::string& image,
                                uint64_t snapshot_id) const {
  MutexLock lock(world_.mutex_);
  for (const model::Snapshot& snapshot : Find(image)->snapshots) {
    if (snapshot.info.id == snapshot_id) return snapshot.content.front();
  }
  Die(absl::StrCat("no snapshot ", snapshot_id, " of ", image));
}

MirrorImageInfo FakeSite::Info(const std::string& image) const {
  MutexLock lock(world_.mutex_);
  return world_.model_.Info(*Find(image));
}

std::vector<MirrorSnapshot> FakeSite::Snapshots(
    const std::string& image) const {
  MutexLock lock(world_.mutex_);
  std::vector<MirrorSnapshot> snapshots;
  for (const model::Snapshot& snapshot : Find(image)->snapshots) {
    snapshots.push_back(snapshot.info);
  }
  return snapshots;
}

std::vector<SiteStatus> FakeSite::Status(const std::string& image) const {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  return world_.model_.Status(site_, Space(*found), *found);
}

void FakeSite::AddPeer(const MirrorPeer& peer) {
  const MutexLock lock(world_.mutex_);
  site_.more_peers.push_back(peer);
}

void FakeSite::SetStatus(const std::string& image,
                         const std::string& mirror_uuid,
                         MirrorStatusState state,
                         const std::string& description) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  model::StatusEntry& entry =
      Space(*found).statuses[found->global_id][mirror_uuid];
  entry.state = state;
  entry.description = description;
  entry.instance = mirror_uuid.empty() ? site_.daemon.local_instance
                                       : site_.peer->daemon.peer_instance;
  entry.last_update = world_.model_.ClockOf(site_);
}

void FakeSite::RemoveStatuses(const std::string& image) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  model::Model::ForgetStatus(Space(*found), *found);
}

void FakeSite::ForceSplitBrain(const std::string& image) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  model::Model& model = world_.model_;
  if (!found->primary()) {
    model.AddSnapshot(site_, *found, MirrorSnapshotKind::kPrimary);
  }
  model.AddSnapshot(site_, *found, MirrorSnapshotKind::kPrimaryDemoted);
  found->marked_non_primary = true;
  if (site_.peer == nullptr) return;
  const auto other = model::Model::FindImage(*site_.peer, image);
  if (other != nullptr && !other->primary()) {
    model.AddSnapshot(*site_.peer, *other, MirrorSnapshotKind::kPrimary);
    other->marked_non_primary = false;
  }
}

void FakeSite::LeaveNextSnapshotIncomplete(const std::string& image) {
  MutexLock lock(world_.mutex_);
  Find(image)->next_snapshot_incomplete = true;
}

void FakeSite::RefuseWrites(const std::string& image) {
  const MutexLock lock(world_.mutex_);
  Find(image)->marked_non_primary = true;
}

void FakeSite::AddCopiedSnapshot(const std::string& image) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  world_.model_.AddSnapshot(site_, *found, MirrorSnapshotKind::kNonPrimary)
      .info.primary_mirror_uuid = site_.peer->mirror_uuid;
}

void FakeSite::SetMirrorImageState(const std::string& image,
                                   MirrorImageState state) {
  MutexLock lock(world_.mutex_);
  Find(image)->mirror_state = state;
}

void FakeSite::RemoveMirrorSnapshots(const std::string& image) {
  const MutexLock lock(world_.mutex_);
  Find(image)->snapshots.clear();
}

void FakeSite::SetSnapshotLimit(const std::string& image,
                                std::optional<uint64_t> limit) {
  const MutexLock lock(world_.mutex_);
  Find(image)->snapshot_limit = limit;
}

void FakeSite::SetDataPool(const std::string& image, int64_t pool_id) {
  const MutexLock lock(world_.mutex_);
  Find(image)->data_pool = pool_id;
}

void FakeSite::InterruptDisable(const std::string& image) {
  const MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  found->mirror_state = MirrorImageState::kDisabling;
  found->snapshots.clear();
}

void FakeSite::InterruptEnable(const std::string& image) {
  const MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  found->mirror_state = MirrorImageState::kCreating;
  found->mode = MirrorMode::kSnapshot;
  found->global_id = world_.model_.NewUuid();
}

std::string FakeSite::Schedules() const {
  MutexLock lock(world_.mutex_);
  return model::RunMgrCommand(
             world_.model_, site_,
             R"({"prefix": "rbd mirror snapshot schedule list"})")
      .output;
}

}  // namespace addons
