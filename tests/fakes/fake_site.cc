#include "tests/fakes/fake_site.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ceph/errors.h"
#include "ceph/pool.h"
#include "tests/fakes/die.h"
#include "tests/fakes/fake_world.h"

namespace addons {

// --- contents

CephUserRef FakeSite::user() const {
  MutexLock lock(world_.mutex_);
  return MakeCephUser(site_.user, Secret(site_.key));
}

std::shared_ptr<model::Image> FakeSite::Find(const std::string& image) const {
  auto found = model::Model::FindImage(site_, image);
  if (found == nullptr)
    Die(absl::StrCat("no image ", image, " on site ", site_.name));
  return found;
}

model::PoolState& FakeSite::Pool(const std::string& name) const {
  for (auto& [id, pool] : site_.pools) {
    if (pool.name == name) return pool;
  }
  Die(absl::StrCat("no pool ", name, " on site ", site_.name));
}

model::Namespace& FakeSite::Space(const model::Image& image) const {
  return site_.pools[image.pool_id].namespaces[image.rados_namespace];
}

void FakeSite::AddPool(int64_t id, const std::string& name) {
  MutexLock lock(world_.mutex_);
  model::PoolState& pool = site_.pools[id];
  pool.id = id;
  pool.name = name;
  pool.namespaces[""].mode = PoolMirrorMode::kDisabled;
}

void FakeSite::SetPoolMirrorMode(const std::string& pool,
                                 const std::string& rados_namespace,
                                 PoolMirrorMode mode) {
  MutexLock lock(world_.mutex_);
  Pool(pool).namespaces[rados_namespace].mode = mode;
}

void FakeSite::AddImage(const std::string& pool,
                        const std::string& rados_namespace,
                        const std::string& image, uint64_t bytes) {
  MutexLock lock(world_.mutex_);
  world_.model_.CreateImage(site_, Pool(pool), rados_namespace, image, bytes);
}

void FakeSite::AddClone(const std::string& parent, const std::string& clone) {
  MutexLock lock(world_.mutex_);
  const auto from = Find(parent);
  model::PoolState& pool = site_.pools[from->pool_id];
  const auto image = world_.model_.CreateImage(
      site_, pool, from->rados_namespace, clone, from->size.bytes);
  from->other_snapshots.push_back({from->next_snapshot_id++,
                                   absl::StrCat("for-", clone),
                                   SnapshotKind::kUser});
  image->parent = ImageParent{pool.id,
                              pool.name,
                              from->rados_namespace,
                              from->id,
                              ImageName(from->name),
                              false};
  image->content = from->content;
}

void FakeSite::RemoveImage(const std::string& image) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  found->removed = true;
  Space(*found).images.erase(image);
}

void FakeSite::RenameImage(const std::string& image, const std::string& name) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  auto& images = Space(*found).images;
  images.erase(image);
  found->name = name;
  images.emplace(name, found);
}

bool FakeSite::HasImage(const std::string& image) const {
  MutexLock lock(world_.mutex_);
  return model::Model::FindImage(site_, image) != nullptr;
}

std::string FakeSite::ImageId(const std::string& image) const {
  MutexLock lock(world_.mutex_);
  return Find(image)->id;
}

void FakeSite::SetOmap(const std::string& pool,
                       const std::string& rados_namespace,
                       const std::string& object, OmapValues values) {
  MutexLock lock(world_.mutex_);
  Pool(pool).namespaces[rados_namespace].omap[object] = std::move(values);
}

void FakeSite::AddOmapValue(const std::string& pool,
                            const std::string& rados_namespace,
                            const std::string& object, const std::string& key,
                            const std::string& value) {
  MutexLock lock(world_.mutex_);
  Pool(pool).namespaces[rados_namespace].omap[object][key] = value;
}

OmapValues FakeSite::Omap(const std::string& pool,
                          const std::string& rados_namespace,
                          const std::string& object) const {
  MutexLock lock(world_.mutex_);
  const auto& omap = Pool(pool).namespaces[rados_namespace].omap;
  const auto it = omap.find(object);
  if (it == omap.end())
    Die(absl::StrCat("no object ", object, " on ", site_.name));
  return it->second;
}

bool FakeSite::HasOmap(const std::string& pool,
                       const std::string& rados_namespace,
                       const std::string& object) const {
  MutexLock lock(world_.mutex_);
  return Pool(pool).namespaces[rados_namespace].omap.contains(object);
}

std::map<std::string, std::vector<std::string>> FakeSite::Groups(
    const std::string& pool, const std::string& rados_namespace) const {
  MutexLock lock(world_.mutex_);
  std::map<std::string, std::vector<std::string>> groups;
  for (const auto& [name, members] :
       Pool(pool).namespaces[rados_namespace].groups) {
    std::vector<std::string>& images = groups[name];
    for (const auto& [member, complete] : members) {
      const auto& [pool_id, image_id] = member;
      const auto image = model::Model::FindImageById(
          site_.pools[pool_id].namespaces[rados_namespace], image_id);
      images.push_back(image == nullptr ? "" : image->name);
    }
    std::sort(images.begin(), images.end());
  }
  return groups;
}

void FakeSite::LeaveGroupImageIncomplete(const std::string& pool,
                                         const std::string& rados_namespace,
                                         const std::string& group,
                                         const std::string& image_id) {
  MutexLock lock(world_.mutex_);
  model::PoolState& state = Pool(pool);
  state.namespaces[rados_namespace].groups[group][{state.id, image_id}] = false;
}

void FakeSite::AddGroupSnapshot(const std::string& pool,
                                const std::string& rados_namespace,
                                const std::string& group,
                                const std::string& snapshot) {
  MutexLock lock(world_.mutex_);
  Pool(pool).namespaces[rados_namespace].group_snapshots[group].insert(
      snapshot);
}

void FakeSite::SetImageMetadata(const std::string& image,
                                const std::string& key,
                                const std::string& value) {
  MutexLock lock(world_.mutex_);
  Find(image)->metadata[key] = value;
}

std::map<std::string, std::string> FakeSite::ImageMetadata(
    const std::string& image) const {
  MutexLock lock(world_.mutex_);
  return Find(image)->metadata;
}

// --- workloads

absl::Status FakeSite::Write(const std::string& image, uint64_t value) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  if (found->read_only()) return CephError(-EROFS, "write", image);
  found->Fill(value);
  world_.model_.Record(*found, model::JournalEvent::Kind::kWrite, value);
  found->used_objects = found->size.objects;
  return absl::OkStatus();
}

uint64_t FakeSite::Data(const std::string& image) const {
  MutexLock lock(world_.mutex_);
  return Find(image)->content.front();
}

bool FakeSite::Torn(const std::string& image) const {
  MutexLock lock(world_.mutex_);
  return Find(image)->torn();
}

void FakeSite::AddWatcher(const std::string& image, const std::string& address,
                          uint64_t client_id) {
  MutexLock lock(world_.mutex_);
  Find(image)->watches.push_back(
      {{address, client_id, 93000000000000 + client_id}, false, std::nullopt});
}

void FakeSite::RemoveWatcher(const std::string& image, uint64_t client_id) {
  MutexLock lock(world_.mutex_);
  std::erase_if(Find(image)->watches, [&](const model::Watch& watch) {
    return watch.watcher.client_id == client_id;
  });
}

void FakeSite::AddLocker(const std::string& image, const std::string& address,
                         uint64_t client_id, LockKind kind) {
  MutexLock lock(world_.mutex_);
  const bool by_hand = kind == LockKind::kByHand;
  Find(image)->lock = model::Lock{
      {absl::StrCat("client.", client_id),
       by_hand ? "by-hand" : absl::StrCat("auto ", client_id), address},
      kind == LockKind::kExplicit,
      by_hand};
}

void FakeSite::RemoveLocker(const std::string& image) {
  MutexLock lock(world_.mutex_);
  Find(image)->lock.reset();
}

// --- space

void FakeSite::SetFeatures(const std::string& image,
                           const ImageFeatures& features) {
  MutexLock lock(world_.mutex_);
  Find(image)->features = features;
}

void FakeSite::AddSnapshot(const std::string& image, const std::string& name,
                           SnapshotKind kind) {
  MutexLock lock(world_.mutex_);
  Find(image)->AddUserSnapshot(name, kind);
}

void FakeSite::RemoveSnapshot(const std::string& image,
                              const std::string& name) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  std::erase_if(found->other_snapshots, [&](const ImageSnapshot& snapshot) {
    const bool gone = snapshot.name == name;
    if (gone) found->held.erase(snapshot.id);
    return gone;
  });
}

std::vector<ImageSnapshot> FakeSite::OtherSnapshots(
    const std::string& image) const {
  MutexLock lock(world_.mutex_);
  return Find(image)->other_snapshots;
}

void FakeSite::RollBack(const std::string& image, const std::string& name) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  const ImageSnapshot* const snapshot = found->FindSnapshot(name);
  if (snapshot != nullptr) found->RollBack(found->held.at(snapshot->id));
}

void FakeSite::WriteObject(const std::string& image, uint64_t object,
                           uint64_t value) {
  MutexLock lock(world_.mutex_);
  Find(image)->content.at(object) = value;
}

uint64_t FakeSite::Object(const std::string& image, uint64_t object) const {
  MutexLock lock(world_.mutex_);
  return Find(image)->content.at(object);
}

void FakeSite::SetUsage(const std::string& image, uint64_t used_objects,
                        uint64_t zero_objects) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  found->used_objects = used_objects;
  found->zero_objects = zero_objects;
}

uint64_t FakeSite::UsedObjects(const std::string& image) const {
  MutexLock lock(world_.mutex_);
  return Find(image)->used_objects;
}

bool FakeSite::HasLock(const std::string& image) const {
  MutexLock lock(world_.mutex_);
  return Find(image)->lock.has_value();
}

}  // namespace addons
