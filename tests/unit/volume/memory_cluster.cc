#include "tests/unit/volume/memory_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "tests/unit/volume/journal_fixtures.h"

namespace addons::testing {

class MemoryCluster::Contents {
 public:
  using Objects = std::map<std::string, OmapValues>;

  absl::Status Enter(const std::string& call) {
    CallHook present;
    {
      const MutexLock lock(mutex);
      calls.push_back(call);
      present = hook;
    }
    return present ? present(call) : absl::OkStatus();
  }

  Mutex mutex;
  std::map<int64_t, std::string> pools ABSL_GUARDED_BY(mutex);
  // By pool id and namespace.
  std::map<std::pair<int64_t, std::string>, Objects> objects
      ABSL_GUARDED_BY(mutex);
  std::vector<std::string> calls ABSL_GUARDED_BY(mutex);
  CallHook hook ABSL_GUARDED_BY(mutex);
};

namespace {

absl::Status Unimplemented() {
  return absl::UnimplementedError("not in this cluster");
}

class MemoryPool : public Pool {
 public:
  MemoryPool(std::shared_ptr<MemoryCluster::Contents> contents, int64_t id,
             std::string name, std::string rados_namespace)
      : contents_(std::move(contents)),
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
    const auto status = contents_->Enter(absl::StrCat("ReadOmap ", object));
    if (!status.ok()) return status;
    const MutexLock lock(contents_->mutex);
    auto& objects = contents_->objects[{id_, rados_namespace_}];
    const auto found = objects.find(object);
    if (found == objects.end()) return absl::NotFoundError("no such object");
    OmapValues values;
    for (const auto& [key, value] : found->second) {
      if (absl::StartsWith(key, prefix)) values[key] = value;
    }
    return values;
  }

  absl::StatusOr<bool> ReplaceOmapValue(
      const std::string& object, const std::string& key,
      const std::optional<std::string>& expected,
      const std::string& desired) override {
    const auto status =
        contents_->Enter(absl::StrCat("ReplaceOmapValue ", object));
    if (!status.ok()) return status;
    const MutexLock lock(contents_->mutex);
    auto& objects = contents_->objects[{id_, rados_namespace_}];
    const auto found = objects.find(object);
    if (found == objects.end()) return absl::NotFoundError("no such object");
    const auto value = found->second.find(key);
    std::optional<std::string> current;
    if (value != found->second.end()) current = value->second;
    if (current != expected) return false;
    found->second[key] = desired;
    return true;
  }

  absl::StatusOr<OmapPage> ReadOmapPage(const std::string& /*object*/,
                                        const std::string& /*prefix*/,
                                        const std::string& /*after*/,
                                        uint64_t /*limit*/) override {
    return Unimplemented();
  }
  absl::StatusOr<std::optional<std::string>> ReadOmapKey(
      const std::string& /*object*/, const std::string& /*key*/) override {
    return Unimplemented();
  }
  absl::Status CreateObject(const std::string& /*object*/) override {
    return Unimplemented();
  }
  absl::Status RemoveObject(const std::string& /*object*/) override {
    return Unimplemented();
  }
  absl::Status SetOmapValues(const std::string& /*object*/,
                             const OmapValues& /*values*/) override {
    return Unimplemented();
  }
  absl::StatusOr<std::string> SnapshotRecord(
      const std::string& /*image_id*/, uint64_t /*snapshot_id*/) override {
    return Unimplemented();
  }
  absl::StatusOr<bool> SetCopyProgress(const std::string& /*image_id*/,
                                       uint64_t /*snapshot_id*/,
                                       const std::string& /*record*/,
                                       CopyNote /*note*/) override {
    return Unimplemented();
  }
  absl::StatusOr<bool> ClearNonPrimary(const std::string& /*image_id*/,
                                       uint64_t /*version*/) override {
    return Unimplemented();
  }
  absl::StatusOr<bool> SetCopyKind(const std::string& /*image_id*/,
                                   uint64_t /*snapshot_id*/,
                                   const std::string& /*record*/,
                                   MirrorSnapshotKind /*kind*/) override {
    return Unimplemented();
  }
  absl::Status RemoveOmapKeys(
      const std::string& /*object*/,
      const std::vector<std::string>& /*keys*/) override {
    return Unimplemented();
  }
  absl::StatusOr<bool> RemoveOmapValue(
      const std::string& /*object*/, const std::string& /*key*/,
      const std::string& /*expected*/) override {
    return Unimplemented();
  }
  absl::StatusOr<bool> TakeObjectLock(
      const ObjectLock& /*lock*/, std::chrono::seconds /*duration*/) override {
    return Unimplemented();
  }
  absl::StatusOr<bool> RenewObjectLock(
      const ObjectLock& /*lock*/, std::chrono::seconds /*duration*/) override {
    return Unimplemented();
  }
  absl::StatusOr<std::vector<Locker>> ObjectLockers(
      const ObjectLock& /*lock*/) override {
    return Unimplemented();
  }
  absl::Status BreakObjectLock(const ObjectLock& /*lock*/,
                               const Locker& /*locker*/) override {
    return Unimplemented();
  }
  absl::StatusOr<bool> RemoveLockedObject(const ObjectLock& /*lock*/) override {
    return Unimplemented();
  }
  absl::StatusOr<std::vector<GroupImage>> GroupImages(
      const std::string& /*group*/) override {
    return Unimplemented();
  }
  absl::StatusOr<std::vector<std::string>> GroupSnapshots(
      const std::string& /*group*/) override {
    return Unimplemented();
  }
  absl::Status CreateGroup(const std::string& /*group*/) override {
    return Unimplemented();
  }
  absl::Status RemoveGroup(const std::string& /*group*/) override {
    return Unimplemented();
  }
  absl::Status AddGroupImage(const std::string& /*group*/,
                             int64_t /*image_pool_id*/,
                             const ImageName& /*image*/) override {
    return Unimplemented();
  }
  absl::Status RemoveGroupImage(const std::string& /*group*/,
                                int64_t /*image_pool_id*/,
                                const std::string& /*image_id*/) override {
    return Unimplemented();
  }
  absl::StatusOr<std::vector<Watcher>> ListWatchers(
      const std::string& /*object*/) override {
    return Unimplemented();
  }
  absl::Status ReachPlacementGroups(uint32_t /*part*/,
                                    uint32_t /*parts*/) override {
    return Unimplemented();
  }
  absl::StatusOr<PoolMirrorMode> MirrorMode() override {
    return Unimplemented();
  }
  absl::StatusOr<std::vector<MirrorPeer>> MirrorPeers() override {
    return Unimplemented();
  }
  absl::StatusOr<std::string> MirrorUuid() override { return Unimplemented(); }
  absl::StatusOr<std::vector<std::string>> Namespaces() override {
    return Unimplemented();
  }
  absl::StatusOr<std::vector<ImageStatuses>> MirrorStatuses() override {
    return Unimplemented();
  }
  absl::StatusOr<std::vector<ObjectSnapshots>> ListSnapshots(
      const std::vector<std::string>& /*objects*/) override {
    return Unimplemented();
  }
  absl::StatusOr<std::optional<StoredObject>> ReadObject(
      const std::string& /*object*/, uint64_t /*snapshot*/,
      uint64_t /*bytes*/) override {
    return Unimplemented();
  }
  absl::StatusOr<bool> ReplaceObject(
      const std::string& /*object*/, const std::optional<uint64_t>& /*version*/,
      const std::optional<std::string>& /*bytes*/) override {
    return Unimplemented();
  }
  absl::StatusOr<std::optional<MirrorImageInfo>> MirrorInfoById(
      const std::string& /*image_id*/) override {
    return Unimplemented();
  }
  absl::StatusOr<std::optional<MirrorImageInfo>> MirrorRecord(
      const std::string& /*image_id*/) override {
    return Unimplemented();
  }
  absl::StatusOr<std::vector<SiteStatus>> MirrorStatusOf(
      const std::string& /*global_id*/) override {
    return Unimplemented();
  }
  absl::StatusOr<ImageHeader> Header(const std::string& /*image_id*/) override {
    return Unimplemented();
  }
  absl::StatusOr<bool> HasImage(const ImageName& /*name*/) override {
    return Unimplemented();
  }
  absl::StatusOr<uint64_t> HeaderVersion(
      const std::string& /*image_id*/) override {
    return Unimplemented();
  }
  absl::StatusOr<std::unique_ptr<Image>> OpenImageReadOnly(
      const ImageName& /*name*/) override {
    return Unimplemented();
  }
  absl::StatusOr<std::unique_ptr<Image>> OpenImageByIdReadOnly(
      const std::string& /*image_id*/) override {
    return Unimplemented();
  }
  absl::StatusOr<std::unique_ptr<Image>> OpenImage(
      const ImageName& /*name*/) override {
    return Unimplemented();
  }
  absl::Status CreateImage(const ImageName& /*name*/,
                           const ImageLayout& /*layout*/) override {
    return Unimplemented();
  }
  absl::Status RemoveImage(const ImageName& /*name*/) override {
    return Unimplemented();
  }

 private:
  const std::shared_ptr<MemoryCluster::Contents> contents_;
  const int64_t id_;
  const std::string name_;
  const std::string rados_namespace_;
};

}  // namespace

MemoryCluster::MemoryCluster() : contents_(std::make_shared<Contents>()) {}

void MemoryCluster::AddPool(int64_t id, const std::string& name) {
  const MutexLock lock(contents_->mutex);
  contents_->pools[id] = name;
}

void MemoryCluster::Put(int64_t pool_id, const std::string& rados_namespace,
                        const std::string& object, const OmapValues& values) {
  const MutexLock lock(contents_->mutex);
  OmapValues& present = contents_->objects[{pool_id, rados_namespace}][object];
  for (const auto& [key, value] : values) present[key] = value;
}

void MemoryCluster::PutVolume(int64_t pool_id, const std::string& uuid) {
  Put(pool_id, "", absl::StrCat("csi.volume.", uuid),
      {{"csi.volname", "pvc-1"},
       {"csi.imagename", absl::StrCat("csi-vol-", uuid)},
       {"csi.imageid", "1031a976f30a"}});
}

void MemoryCluster::Erase(int64_t pool_id, const std::string& rados_namespace,
                          const std::string& object) {
  const MutexLock lock(contents_->mutex);
  contents_->objects[{pool_id, rados_namespace}].erase(object);
}

OmapValues MemoryCluster::Get(int64_t pool_id,
                              const std::string& rados_namespace,
                              const std::string& object) {
  const MutexLock lock(contents_->mutex);
  return contents_->objects[{pool_id, rados_namespace}][object];
}

void MemoryCluster::PutFixtures() {
  AddPool(2, "replicapool");
  AddPool(3, "datapool");
  AddPool(4, "topopool");
  for (const FixtureEntry& entry : kFixtureEntries) {
    Put(entry.pool_id, entry.rados_namespace, entry.object,
        {{entry.key, entry.value}});
  }
}

void MemoryCluster::SetHook(CallHook hook) {
  const MutexLock lock(contents_->mutex);
  contents_->hook = std::move(hook);
}

std::vector<std::string> MemoryCluster::Calls() {
  const MutexLock lock(contents_->mutex);
  return contents_->calls;
}

int MemoryCluster::CountCalls(const std::string& call) {
  const std::vector<std::string> calls = Calls();
  return static_cast<int>(std::count(calls.begin(), calls.end(), call));
}

absl::Status MemoryCluster::Enter(const std::string& call) {
  return contents_->Enter(call);
}

const std::string& MemoryCluster::fsid() const { return fsid_; }

absl::StatusOr<std::unique_ptr<Pool>> MemoryCluster::OpenPool(
    int64_t pool_id, const std::string& rados_namespace, Access /*access*/) {
  const auto status = Enter(absl::StrCat("OpenPool ", pool_id));
  if (!status.ok()) return status;
  const MutexLock lock(contents_->mutex);
  const auto found = contents_->pools.find(pool_id);
  if (found == contents_->pools.end()) {
    return absl::NotFoundError("no such pool");
  }
  return std::make_unique<MemoryPool>(contents_, pool_id, found->second,
                                      rados_namespace);
}

absl::StatusOr<std::string> MemoryCluster::MonCommand(const std::string& json) {
  if (!absl::StrContains(json, "osd lspools")) return Unimplemented();
  ADDONS_RETURN_IF_ERROR(contents_->Enter("osd lspools"));
  const MutexLock lock(contents_->mutex);
  std::vector<std::string> pools;
  for (const auto& [id, name] : contents_->pools) {
    pools.push_back(absl::StrCat(R"({"poolnum": )", id, R"(, "poolname": ")",
                                 name, R"("})"));
  }
  return absl::StrCat("[", absl::StrJoin(pools, ","), "]");
}

absl::StatusOr<std::string> MemoryCluster::MgrCommand(
    const std::string& /*json*/) {
  return Unimplemented();
}

absl::Status MemoryCluster::SnapshotTogether(const std::vector<PlacedImage>&,
                                             const std::string&) {
  return Unimplemented();
}

std::vector<uint64_t> MemoryCluster::OwnClientIds() { return {}; }

std::vector<std::string> MemoryCluster::OwnAddresses() { return {}; }

absl::Status MemoryCluster::WaitForLatestMap() { return Unimplemented(); }

void MemoryClusters::Add(const std::string& monitor,
                         std::shared_ptr<MemoryCluster> cluster) {
  clusters_[monitor] = std::move(cluster);
}

absl::StatusOr<std::shared_ptr<Cluster>> MemoryClusters::Connect(
    const ClusterTarget& target, const CephUserRef& /*user*/) {
  const auto found = clusters_.find(target.monitors.front());
  if (found == clusters_.end()) {
    return absl::UnavailableError("no monitor answered");
  }
  const auto status = found->second->Enter("Connect");
  if (!status.ok()) return status;
  return std::shared_ptr<Cluster>(found->second);
}

}  // namespace addons::testing
