#ifndef ADDONS_CEPH_LIBRADOS_RBD_IMAGE_H_
#define ADDONS_CEPH_LIBRADOS_RBD_IMAGE_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/image_name.h"
#include "ceph/image.h"
#include "ceph/librados/handles.h"
#include "ceph/librados/rados_connection.h"
#include "ceph/pool.h"

namespace addons {

/// The entries of one image, the local one first.
std::vector<SiteStatus> ToSiteStatuses(
    const rbd_mirror_image_global_status_t& status);

/// Image over one rbd_image_t. One thread at a time.
class RbdImage final : public Image {
 public:
  /// kWritable: opened by rbd_open on a connection for mutations.
  enum class Mode { kReadOnly, kWritable };

  /// `ioctx` is that of the image's pool and namespace.
  RbdImage(std::shared_ptr<RadosConnection> connection,
           std::shared_ptr<const IoctxHandle> ioctx, ImageHandle image,
           Mode mode, ImageName name, const std::string& spec);
  ~RbdImage() override;

  /// For an image opened by id: gets its name from Ceph. rbd_get_name
  absl::Status ReadName(const Pool& pool);

  const ImageName& name() const override { return name_; }
  absl::StatusOr<std::string> Id() override;
  absl::StatusOr<ImageSize> Size() override;
  absl::StatusOr<bool> MarkedNonPrimary() override;
  absl::StatusOr<Timestamp> CreateTimestamp() override;
  absl::StatusOr<MirrorImageInfo> MirrorInfo() override;
  absl::StatusOr<std::vector<MirrorSnapshot>> MirrorSnapshots() override;
  absl::StatusOr<std::vector<SiteStatus>> MirrorStatus() override;
  absl::StatusOr<std::vector<Watcher>> Watchers() override;
  absl::StatusOr<std::vector<Locker>> Lockers() override;
  absl::StatusOr<std::optional<ImageParent>> Parent() override;
  absl::StatusOr<std::vector<LinkedImage>> Clones() override;
  absl::StatusOr<std::optional<std::string>> Metadata(
      const std::string& key) override;
  absl::StatusOr<std::map<std::string, std::string>> ListMetadata(
      const std::string& prefix) override;
  absl::StatusOr<ImageFeatures> Features() override;
  absl::StatusOr<std::vector<ImageSnapshot>> Snapshots() override;
  absl::StatusOr<std::optional<uint64_t>> UsedBytes(
      std::chrono::milliseconds at_most) override;
  absl::StatusOr<std::optional<GroupSpec>> Group() override;

  absl::Status ChangeMetadata(const MetadataChanges& changes) override;
  absl::Status ChangeMetadataOfSecondary(
      const MetadataChanges& changes) override;
  absl::Status SetMetadata(const std::string& key,
                           const std::string& value) override;
  absl::Status RemoveMetadata(const std::string& key) override;
  absl::Status MirrorEnable(MirrorMode mode) override;
  absl::Status MirrorDisable(Force force) override;
  absl::Status MirrorPromote(Force force) override;
  absl::Status MirrorPromoteByForce(SteadyTime latest) override;
  absl::Status MirrorDemote() override;
  absl::Status MirrorResync() override;
  absl::StatusOr<uint64_t> CreateMirrorSnapshot() override;
  absl::Status Flatten(const ProgressFn& progress) override;
  absl::StatusOr<bool> HoldsLock() override;
  absl::StatusOr<SparsifyEnd> Sparsify(uint64_t sparse_bytes,
                                       const ProgressFn& progress) override;

  absl::Status SelectSnapshot(uint64_t snapshot_id) override;
  absl::StatusOr<ImageLayout> Layout() override;
  absl::StatusOr<std::vector<ImageData>> Read(
      const std::vector<ImageRange>& ranges) override;
  absl::Status Write(const std::vector<ImageData>& data) override;
  absl::Status Flush() override;
  absl::Status Resize(uint64_t bytes) override;
  absl::Status AcquireLock(LockMode mode) override;
  absl::Status ReleaseLock() override;
  absl::StatusOr<bool> HasTransientLock() override;
  absl::Status CreateSnapshot(const std::string& name) override;
  absl::Status RemoveSnapshot(uint64_t snapshot_id) override;

  absl::Status Close() override;

 private:
  /// Bytes that are there in [offset, offset + length), added to `bytes`.
  absl::Status AddUsedBytes(uint64_t offset, uint64_t length,
                            bool whole_objects, uint64_t& bytes);
  /// rbd_snap_list; (id, name) by ascending id.
  absl::StatusOr<std::vector<std::pair<uint64_t, std::string>>> ListSnapshots();
  /// nullopt: this snapshot is not one of mirroring, or has just been removed.
  absl::StatusOr<std::optional<MirrorSnapshot>> ReadMirrorSnapshot(uint64_t id);
  /// One page of metadata after `last`. Errno ERANGE: so many entries are too
  /// long for one. Values that cannot be told apart,
  /// because one has a zero byte, are left to be asked for one by one.
  absl::StatusOr<std::vector<std::string>> MetadataPage(
      const std::string& last, uint64_t entries,
      std::map<std::string, std::string>& values);

  /// CephError() about this image.
  absl::Status Error(int result, absl::string_view action) const;
  /// Makes a call that changes the image; refuses on a read-only handle.
  absl::Status Mutate(absl::string_view function, absl::string_view action,
                      absl::FunctionRef<int()> call);
  /// The same for a call that needs the exclusive lock at its end: whenever it
  /// takes longer than `patience` and this handle has not the lock, the client
  /// that has it is asked for it, after `on_lost`.
  absl::Status MutateWithLock(absl::string_view function,
                              absl::string_view action,
                              std::chrono::milliseconds patience,
                              absl::FunctionRef<int()> call,
                              absl::FunctionRef<void()> on_lost);
  absl::StatusOr<bool> HasLockFeature();
  /// false: the header has other features than `features`, nothing was changed.
  absl::StatusOr<bool> ChangeMetadataWhere(uint64_t features,
                                           const MetadataChanges& changes);
  /// rbd_get_features
  absl::StatusOr<uint64_t> FeatureBits();

  const std::shared_ptr<RadosConnection> connection_;
  const std::shared_ptr<const IoctxHandle> ioctx_;
  ImageHandle image_;
  const Mode mode_;
  ImageName name_;
  std::string text_;  // "image 'pool/name'"
};

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_RBD_IMAGE_H_
