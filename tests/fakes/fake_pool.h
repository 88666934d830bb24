#ifndef ADDONS_TESTS_FAKES_FAKE_POOL_H_
#define ADDONS_TESTS_FAKES_FAKE_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/image_name.h"
#include "ceph/pool.h"
#include "tests/fakes/fake_world.h"
#include "tests/fakes/model.h"

namespace addons {

/// A pool and namespace through one connection, as FakeCluster gives it out.
/// The methods do what ceph/pool.h says of them. Private to tests/fakes.
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

  // --- objects (fake_pool.cc)

  absl::StatusOr<OmapValues> ReadOmap(const std::string& object,
                                      const std::string& prefix) override;
  absl::StatusOr<OmapPage> ReadOmapPage(const std::string& object,
                                        const std::string& prefix,
                                        const std::string& after,
                                        uint64_t limit) override;
  absl::StatusOr<std::optional<std::string>> ReadOmapKey(
      const std::string& object, const std::string& key) override;
  absl::Status CreateObject(const std::string& object) override;
  absl::Status RemoveObject(const std::string& object) override;
  absl::Status SetOmapValues(const std::string& object,
                             const OmapValues& values) override;
  absl::StatusOr<std::string> SnapshotRecord(const std::string& image_id,
                                             uint64_t snapshot_id) override;
  absl::StatusOr<bool> ClearNonPrimary(const std::string& image_id,
                                       uint64_t version) override;
  absl::StatusOr<bool> SetCopyKind(const std::string& image_id,
                                   uint64_t snapshot_id,
                                   const std::string& record,
                                   MirrorSnapshotKind kind) override;
  absl::StatusOr<bool> SetCopyProgress(const std::string& image_id,
                                       uint64_t snapshot_id,
                                       const std::string& record,
                                       CopyNote note) override;
  absl::Status RemoveOmapKeys(const std::string& object,
                              const std::vector<std::string>& keys) override;
  absl::StatusOr<bool> RemoveOmapValue(const std::string& object,
                                       const std::string& key,
                                       const std::string& expected) override;
  absl::StatusOr<bool> ReplaceOmapValue(
      const std::string& object, const std::string& key,
      const std::optional<std::string>& expected,
      const std::string& desired) override;
  absl::StatusOr<std::vector<Watcher>> ListWatchers(
      const std::string& object) override;
  absl::StatusOr<std::vector<ObjectSnapshots>> ListSnapshots(
      const std::vector<std::string>& objects) override;
  absl::StatusOr<std::optional<StoredObject>> ReadObject(
      const std::string& object, uint64_t snapshot, uint64_t bytes) override;
  absl::StatusOr<bool> ReplaceObject(
      const std::string& object, const std::optional<uint64_t>& version,
      const std::optional<std::string>& bytes) override;
  absl::Status ReachPlacementGroups(uint32_t part, uint32_t parts) override;
  absl::StatusOr<std::vector<std::string>> Namespaces() override;

  // --- locks of objects (fake_pool_locks.cc)

  absl::StatusOr<bool> TakeObjectLock(const ObjectLock& lock,
                                      std::chrono::seconds duration) override;
  absl::StatusOr<bool> RenewObjectLock(const ObjectLock& lock,
                                       std::chrono::seconds duration) override;
  absl::StatusOr<std::vector<Locker>> ObjectLockers(
      const ObjectLock& lock) override;
  absl::Status BreakObjectLock(const ObjectLock& lock,
                               const Locker& locker) override;
  absl::StatusOr<bool> RemoveLockedObject(const ObjectLock& lock) override;

  // --- rbd groups (fake_pool_groups.cc)

  absl::StatusOr<std::vector<GroupImage>> GroupImages(
      const std::string& group) override;
  absl::StatusOr<std::vector<std::string>> GroupSnapshots(
      const std::string& group) override;
  absl::Status CreateGroup(const std::string& group) override;
  absl::Status RemoveGroup(const std::string& group) override;
  absl::Status AddGroupImage(const std::string& group, int64_t image_pool_id,
                             const ImageName& image) override;
  absl::Status RemoveGroupImage(const std::string& group, int64_t image_pool_id,
                                const std::string& image_id) override;

  // --- mirroring (fake_pool_mirroring.cc)

  absl::StatusOr<PoolMirrorMode> MirrorMode() override;
  absl::StatusOr<std::vector<MirrorPeer>> MirrorPeers() override;
  absl::StatusOr<std::string> MirrorUuid() override;
  absl::StatusOr<std::vector<ImageStatuses>> MirrorStatuses() override;
  absl::StatusOr<std::optional<MirrorImageInfo>> MirrorInfoById(
      const std::string& image_id) override;
  absl::StatusOr<std::optional<MirrorImageInfo>> MirrorRecord(
      const std::string& image_id) override;
  absl::StatusOr<std::vector<SiteStatus>> MirrorStatusOf(
      const std::string& global_id) override;

  // --- images (fake_pool_images.cc)

  absl::StatusOr<bool> HasImage(const ImageName& name) override;
  absl::StatusOr<uint64_t> HeaderVersion(const std::string& image_id) override;
  absl::StatusOr<ImageHeader> Header(const std::string& image_id) override;
  absl::StatusOr<std::unique_ptr<Image>> OpenImageReadOnly(
      const ImageName& name) override;
  absl::StatusOr<std::unique_ptr<Image>> OpenImageByIdReadOnly(
      const std::string& image_id) override;
  absl::StatusOr<std::unique_ptr<Image>> OpenImage(
      const ImageName& name) override;
  absl::Status CreateImage(const ImageName& name,
                           const ImageLayout& layout) override;
  absl::Status RemoveImage(const ImageName& name) override;

 private:
  using Needs = FakeWorld::Needs;

  /// All calls of a pool go through here.
  int Run(const char* call, const std::string& object, Needs needs,
          bool mutation, const FakeWorld::Body& body);
  /// A call that changes `object` on the mutation connection.
  absl::Status Change(const char* call, absl::string_view action,
                      const std::string& object,
                      const std::function<int(model::Site&)>& change);
  /// One that changes a mirror snapshot, if it still has this record. false: it
  /// has another, or there is none.
  absl::StatusOr<bool> ChangeCopy(
      const char* call, absl::string_view action, const std::string& image_id,
      uint64_t snapshot_id, const std::string& record,
      const std::function<void(MirrorSnapshot*)>& change);
  /// A call that takes, renews or drops a lock. No mutation in the sense of the
  /// world's guard: a lock is taken to find out whether something may be
  /// changed.
  int ChangeLock(
      const char* call, const ObjectLock& lock,
      const std::function<int(model::Namespace&, SteadyTime)>& change);
  /// The same for an image.
  absl::Status ChangeImages(const char* call, const char* action,
                            const std::string& name,
                            const FakeWorld::Body& body);
  /// `key` is a name, or with `by_id` an id.
  absl::StatusOr<std::unique_ptr<Image>> Open(const char* call,
                                              const std::string& key,
                                              bool by_id, bool writable);
  /// With an empty `object`: of the pool.
  absl::Status Error(int result, absl::string_view action,
                     const std::string& object) const;
  model::Namespace& Space(model::Site& site) const {
    return site.pools[id_].namespaces[rados_namespace_];
  }

  FakeWorld& world_;
  const std::shared_ptr<FakeWorld::Connection> connection_;
  const int64_t id_;
  const std::string name_;
  const std::string rados_namespace_;
};

}  // namespace addons

#endif  // ADDONS_TESTS_FAKES_FAKE_POOL_H_
