#ifndef ADDONS_CEPH_LIBRADOS_RADOS_POOL_H_
#define ADDONS_CEPH_LIBRADOS_RADOS_POOL_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/image_name.h"
#include "ceph/librados/handles.h"
#include "ceph/librados/rados_connection.h"
#include "ceph/pool.h"

namespace addons {

/// Pool over one rados_ioctx_t. One thread at a time.
class RadosPool final : public Pool {
 public:
  /// Errors as for Cluster::OpenPool().
  static absl::StatusOr<std::unique_ptr<Pool>> Open(
      std::shared_ptr<RadosConnection> connection, int64_t pool_id,
      const std::string& rados_namespace);

  int64_t id() const override { return id_; }
  const std::string& name() const override { return name_; }
  const std::string& rados_namespace() const override { return namespace_; }

  absl::StatusOr<OmapValues> ReadOmap(const std::string& object,
                                      const std::string& prefix) override;
  absl::StatusOr<bool> ReplaceOmapValue(
      const std::string& object, const std::string& key,
      const std::optional<std::string>& expected,
      const std::string& desired) override;
  absl::StatusOr<OmapPage> ReadOmapPage(const std::string& object,
                                        const std::string& prefix,
                                        const std::string& after,
                                        uint64_t limit) override;
  absl::StatusOr<std::optional<std::string>> ReadOmapKey(
      const std::string& object, const std::string& key) override;

  // rados_pool_objects.cc
  absl::Status CreateObject(const std::string& object) override;
  absl::Status RemoveObject(const std::string& object) override;
  absl::Status SetOmapValues(const std::string& object,
                             const OmapValues& values) override;
  absl::StatusOr<std::string> SnapshotRecord(const std::string& image_id,
                                             uint64_t snapshot_id) override;
  absl::StatusOr<bool> SetCopyKind(const std::string& image_id,
                                   uint64_t snapshot_id,
                                   const std::string& record,
                                   MirrorSnapshotKind kind) override;
  absl::StatusOr<bool> SetCopyProgress(const std::string& image_id,
                                       uint64_t snapshot_id,
                                       const std::string& record,
                                       CopyNote note) override;
  absl::StatusOr<bool> ClearNonPrimary(const std::string& image_id,
                                       uint64_t version) override;
  absl::Status RemoveOmapKeys(const std::string& object,
                              const std::vector<std::string>& keys) override;
  absl::StatusOr<bool> RemoveOmapValue(const std::string& object,
                                       const std::string& key,
                                       const std::string& expected) override;

  // rados_pool_locks.cc
  absl::StatusOr<bool> TakeObjectLock(const ObjectLock& lock,
                                      std::chrono::seconds duration) override;
  absl::StatusOr<bool> RenewObjectLock(const ObjectLock& lock,
                                       std::chrono::seconds duration) override;
  absl::StatusOr<std::vector<Locker>> ObjectLockers(
      const ObjectLock& lock) override;
  absl::Status BreakObjectLock(const ObjectLock& lock,
                               const Locker& locker) override;
  absl::StatusOr<bool> RemoveLockedObject(const ObjectLock& lock) override;

  // rados_pool_groups.cc
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
  RadosPool(std::shared_ptr<RadosConnection> connection, IoctxHandle ioctx,
            int64_t id, std::string name, std::string rados_namespace)
      : connection_(std::move(connection)),
        ioctx_(std::make_shared<const IoctxHandle>(std::move(ioctx))),
        id_(id),
        name_(std::move(name)),
        namespace_(std::move(rados_namespace)) {}

  /// One page of an omap, added to `values`. `last` is the key before it, then
  /// the last key in it; `more` tells whether to go on.
  int ReadPage(const std::string& object, const std::string& prefix,
               uint64_t limit, std::string& last, bool& more,
               OmapValues& values);
  absl::StatusOr<bool> ReplaceValue(const std::string& object,
                                    const std::string& key,
                                    const std::string& expected,
                                    const std::string& desired);
  absl::StatusOr<bool> SetAbsent(const std::string& object,
                                 const std::string& key,
                                 const std::string& desired);
  absl::StatusOr<bool> ReplaceEmpty(const std::string& object,
                                    const std::string& key,
                                    const std::string& desired);
  /// The value of one key and the version of the object that has it.
  int ReadKey(const std::string& object, const std::string& key,
              std::optional<std::string>& value, uint64_t& version);
  /// Sets `key` if it compares equal to `expected` (absent: as if it were
  /// empty) and, unless `version` is 0, the object has this version.
  int CompareAndSet(const std::string& object, const std::string& key,
                    const std::string& expected, const std::string& desired,
                    uint64_t version);
  /// INTERNAL on a read pool.
  absl::Status CheckWritable(const std::string& text) const;
  /// Carries out `op`; the result is a negative errno or 0.
  int Operate(const WriteOp& op, const std::string& object, int flags = 0);
  /// Carries out what `add` adds, in one atomic step if the object has `value`
  /// at `key`. false: it does not. The object is never created.
  absl::StatusOr<bool> ChangeWhere(
      const std::string& object, const std::string& key,
      const std::string& value, absl::string_view action,
      absl::FunctionRef<void(rados_write_op_t)> add);
  /// rados_lock_exclusive; the result is a negative errno or 0.
  int LockExclusive(const ObjectLock& lock, std::chrono::seconds duration,
                    uint8_t flags);
  /// Calls a function that changes a group.
  absl::Status ChangeGroup(absl::string_view function, absl::string_view action,
                           const std::string& group,
                           absl::FunctionRef<int()> call);
  std::string GroupText(const std::string& group) const;
  using OpenFn = absl::FunctionRef<int(ImageHandle&)>;
  absl::StatusOr<std::unique_ptr<Image>> Open(absl::string_view function,
                                              const ImageName& name,
                                              const std::string& spec,
                                              OpenFn open);
  /// rbd_mirror_peer_site_list, rbd_mirror_uuid_get and rbd_namespace_list are
  /// about the whole pool.
  absl::StatusOr<IoctxHandle> DefaultNamespace();
  std::string PoolText() const;
  std::string ObjectText(absl::string_view object) const;

  const std::shared_ptr<RadosConnection> connection_;
  const std::shared_ptr<const IoctxHandle> ioctx_;  // its images use it, too
  const int64_t id_;
  const std::string name_;
  const std::string namespace_;
};

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_RADOS_POOL_H_
