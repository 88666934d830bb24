#ifndef ADDONS_CEPH_POOL_H_
#define ADDONS_CEPH_POOL_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/image_name.h"
#include "ceph/image.h"
#include "ceph/mirror.h"

namespace addons {

using OmapValues = std::map<std::string, std::string>;

/// An image in an rbd group.
struct GroupImage {
  int64_t pool_id = 0;
  ImageName image;
  bool complete = false;  // false: the call that added it was interrupted
  friend bool operator==(const GroupImage&, const GroupImage&) = default;
};

/// Stands for what an object or image holds now, among snapshot ids.
inline constexpr uint64_t kHead = UINT64_MAX - 1;

/// What an OSD keeps of one object: as snapshots had it, or as it is now.
struct ObjectClone {
  uint64_t id = 0;                  // kHead: as it is now
  std::vector<uint64_t> snapshots;  // that it is for
  std::vector<ImageRange> overlap;  // equal in the next newer one; ascending
  uint64_t bytes = 0;
};

/// What an object holds.
struct StoredObject {
  std::string bytes;
  uint64_t version = 0;  // another one after each change of the object
};

struct ObjectSnapshots {
  /// When the object was written last, this was the newest snapshot.
  uint64_t newest_snapshot = 0;
  std::vector<ObjectClone> clones;  // ascending; none: no such object
};

/// An exclusive lock with an end, as ceph's class "lock" keeps it on an object.
struct ObjectLock {
  std::string object;
  std::string name;
  std::string cookie;  // of the one who has it; shown to everybody
  /// Its object, which holds no data, is also made where the pool is full: for
  /// what gives space back.
  bool although_full = false;
};

struct OmapPage {
  OmapValues values;
  bool more = false;  // there are entries after the last of these
};

/// How far rbd-mirror has come with a snapshot that it copies, as it notes it
/// there.
struct CopyNote {
  uint64_t objects = 0;
  bool complete = false;
};

/// A pool and RADOS namespace of one cluster (an ioctx). Cheap to make: one per
/// operation. Blocking, errors and threads as for Image.
class Pool {
 public:
  virtual ~Pool() = default;
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  virtual int64_t id() const = 0;
  virtual const std::string& name() const = 0;
  virtual const std::string& rados_namespace() const = 0;

  /// "pool/name" or "pool/namespace/name", as the rbd command writes it.
  std::string Spec(absl::string_view name) const;
  std::string Spec(const ImageName& image) const { return Spec(image.text()); }

  // --- omap ------------------------------------------------------------------
  /// All entries whose key begins with `prefix`, however many there are.
  /// NOT_FOUND: no such object. rados_read_op_omap_get_vals2
  virtual absl::StatusOr<OmapValues> ReadOmap(const std::string& object,
                                              const std::string& prefix) = 0;
  /// Sets `key` to `desired` in one atomic step if it has the value `expected`
  /// (nullopt: if the object exists and `key` is absent; one that is set to
  /// nothing at the same moment counts as absent). false: it has another value.
  /// Changes of other keys at the same time do not matter, except where
  /// `expected` is an empty text: then UNAVAILABLE when they do not cease.
  /// NOT_FOUND: no such object; it is never created.
  /// rados_write_op_omap_cmp2, rados_write_op_omap_set2
  virtual absl::StatusOr<bool> ReplaceOmapValue(
      const std::string& object, const std::string& key,
      const std::optional<std::string>& expected,
      const std::string& desired) = 0;

  /// At most `limit` entries, at least one if there is any, whose key begins
  /// with `prefix` and comes after `after`. NOT_FOUND: no such object.
  /// rados_read_op_omap_get_vals2
  virtual absl::StatusOr<OmapPage> ReadOmapPage(const std::string& object,
                                                const std::string& prefix,
                                                const std::string& after,
                                                uint64_t limit) = 0;
  /// The value of one key; nullopt: no such key. NOT_FOUND: no such object.
  /// rados_read_op_omap_get_vals_by_keys2
  virtual absl::StatusOr<std::optional<std::string>> ReadOmapKey(
      const std::string& object, const std::string& key) = 0;

  // --- objects with omap: these need a mutation pool

  /// Makes an empty object. ALREADY_EXISTS: there is one.
  /// rados_write_op_create with LIBRADOS_CREATE_EXCLUSIVE
  virtual absl::Status CreateObject(const std::string& object) = 0;
  /// OK also when there is none. rados_write_op_remove
  virtual absl::Status RemoveObject(const std::string& object) = 0;
  /// Sets all of `values` in one atomic step. NOT_FOUND: no such object; it is
  /// never created. rados_write_op_omap_set2
  virtual absl::Status SetOmapValues(const std::string& object,
                                     const OmapValues& values) = 0;
  /// Removes `keys` in one atomic step; absent ones are OK. NOT_FOUND: no such
  /// object. rados_write_op_omap_rm_keys2
  virtual absl::Status RemoveOmapKeys(const std::string& object,
                                      const std::vector<std::string>& keys) = 0;
  /// Removes `key` in one atomic step if it has the value `expected`, which is
  /// not empty. false: it is absent or has another value. NOT_FOUND: no such
  /// object. rados_write_op_omap_cmp2, rados_write_op_omap_rm_keys2
  virtual absl::StatusOr<bool> RemoveOmapValue(const std::string& object,
                                               const std::string& key,
                                               const std::string& expected) = 0;

  // --- mirror snapshots that rbd-mirror copies to this site

  /// All that is stored of a snapshot of the image with `image_id`: equal as
  /// long as nothing of it has changed. NOT_FOUND: no such image or snapshot.
  /// rados_read_op_omap_get_vals_by_keys2
  virtual absl::StatusOr<std::string> SnapshotRecord(
      const std::string& image_id, uint64_t snapshot_id) = 0;
  /// Makes `objects` the number that rbd-mirror goes on from, and the copy
  /// incomplete or complete, in one atomic step if the snapshot still has this
  /// `record`. false: it has another, or there is no such snapshot. NOT_FOUND:
  /// no such image. Nobody who has the image open is told. Ceph would do the
  /// same to any mirror snapshot. Needs a mutation pool.
  /// rados_write_op_omap_cmp2, and rados_write_op_exec of
  /// rbd.mirror_image_snapshot_set_copy_progress
  virtual absl::StatusOr<bool> SetCopyProgress(const std::string& image_id,
                                               uint64_t snapshot_id,
                                               const std::string& record,
                                               CopyNote note) = 0;

  /// Makes the copied snapshot one of `kind`, kNonPrimary or
  /// kNonPrimaryDemoted, in one atomic step if it still has this `record`.
  /// Nobody who has the image open is told. false, NOT_FOUND: likewise.
  /// INTERNAL: it is written in another way than this build knows. Needs a
  /// mutation pool. rados_write_op_omap_cmp2, rados_write_op_omap_set2
  virtual absl::StatusOr<bool> SetCopyKind(const std::string& image_id,
                                           uint64_t snapshot_id,
                                           const std::string& record,
                                           MirrorSnapshotKind kind) = 0;

  /// Lets the image with `image_id`, which is marked as a secondary, be written
  /// to again, in one atomic step if its header still has `version`
  /// (HeaderVersion()). false: the header was changed, or is gone. Ceph would
  /// do the same to a demoted image: look before. Nobody who has the image open
  /// is told. Needs a mutation pool. rados_write_op_assert_version, and
  /// rados_write_op_exec of rbd.set_features
  virtual absl::StatusOr<bool> ClearNonPrimary(const std::string& image_id,
                                               uint64_t version) = 0;

  // --- locks of our own on objects of our own, with an end by the OSD's clock

  /// Takes the lock for `duration`, and makes its object where there is none.
  /// false: somebody has it, this client under another cookie included.
  /// ALREADY_EXISTS: this client has it under this one. Needs a mutation pool.
  /// rados_lock_exclusive; rados_write_op_exec (lock.lock) with
  /// LIBRADOS_OPERATION_FULL_FORCE where the pool is full
  virtual absl::StatusOr<bool> TakeObjectLock(
      const ObjectLock& lock, std::chrono::seconds duration) = 0;
  /// From now on it lasts `duration`. false: this client does not have it any
  /// more, whether or not somebody else has; then it is not taken. Needs a
  /// mutation pool. rados_lock_exclusive with LIBRADOS_LOCK_FLAG_MUST_RENEW
  virtual absl::StatusOr<bool> RenewObjectLock(
      const ObjectLock& lock, std::chrono::seconds duration) = 0;
  /// Who has it; the cookie of `lock` does not matter. None also when its time
  /// is over, and when there is no such object. rados_list_lockers
  virtual absl::StatusOr<std::vector<Locker>> ObjectLockers(
      const ObjectLock& lock) = 0;
  /// Takes it from `locker`, and from nobody else. OK also when that does not
  /// have it. Needs a mutation pool. rados_break_lock
  virtual absl::Status BreakObjectLock(const ObjectLock& lock,
                                       const Locker& locker) = 0;
  /// Removes the object with its locks, in one step with the proof that this
  /// client has the lock. false: it does not; nothing is removed. Needs a
  /// mutation pool. rados_write_op_exec (lock.assert_locked),
  /// rados_write_op_remove
  virtual absl::StatusOr<bool> RemoveLockedObject(const ObjectLock& lock) = 0;

  // --- rbd groups of this pool and namespace

  /// The group's images by pool id and name. Empty also when there is no
  /// such group, and when one of its images is gone or in the trash.
  /// rbd_group_image_list
  virtual absl::StatusOr<std::vector<GroupImage>> GroupImages(
      const std::string& group) = 0;
  /// The names of the group's snapshots (`rbd group snap ls`), also of those
  /// that are not complete. Empty also when there is no such group.
  /// rbd_group_snap_list
  virtual absl::StatusOr<std::vector<std::string>> GroupSnapshots(
      const std::string& group) = 0;

  // --- changes of them: these need a mutation pool

  /// ALREADY_EXISTS: there is one. rbd_group_create
  virtual absl::Status CreateGroup(const std::string& group) = 0;
  /// Takes its images out of the group, and removes its snapshots and itself.
  /// OK also when there is none. rbd_group_remove
  virtual absl::Status RemoveGroup(const std::string& group) = 0;
  /// Adds an image of the same namespace, also of another pool. OK when it is
  /// in this group already; one that is not complete there is completed.
  /// ALREADY_EXISTS: it is in another group. NOT_FOUND:
  /// no such group or image. rbd_group_image_add
  virtual absl::Status AddGroupImage(const std::string& group,
                                     int64_t image_pool_id,
                                     const ImageName& image) = 0;
  /// By internal id, because the image may be gone or in the trash. OK also
  /// when it is not in the group, and finishes what a client began that died in
  /// the middle. Not for an image of another group: errno EBADF, and it stays
  /// incomplete in this one. NOT_FOUND: no such group.
  /// rbd_group_image_remove_by_id
  virtual absl::Status RemoveGroupImage(const std::string& group,
                                        int64_t image_pool_id,
                                        const std::string& image_id) = 0;

  /// Everybody who watches `object`; NOT_FOUND: no such object.
  /// librados::IoCtx::list_watchers
  virtual absl::StatusOr<std::vector<Watcher>> ListWatchers(
      const std::string& object) = 0;

  /// What each object has been at each snapshot, in this order; an absent
  /// object is OK. 64 are asked at a time.
  /// librados::ObjectReadOperation::list_snaps
  virtual absl::StatusOr<std::vector<ObjectSnapshots>> ListSnapshots(
      const std::vector<std::string>& objects) = 0;

  /// The first `bytes` of what `object` holds (kHead), or held at a snapshot,
  /// whose `version` says nothing; nullopt: no such object, or not then. Where
  /// the snapshot is being removed this is wrong: see afterwards that it is
  /// there. rados_read, rados_get_last_version
  virtual absl::StatusOr<std::optional<StoredObject>> ReadObject(
      const std::string& object, uint64_t snapshot, uint64_t bytes) = 0;
  /// Makes `bytes` all that `object` holds, or removes it (nullopt), in one
  /// atomic step if it still has `version` (nullopt: if it is absent). false:
  /// it was changed. What its snapshots hold stays, but those that were taken
  /// since it was written last read as it does. Needs a mutation pool.
  /// rados_write_op_assert_version, rados_write_op_write_full
  virtual absl::StatusOr<bool> ReplaceObject(
      const std::string& object, const std::optional<uint64_t>& version,
      const std::optional<std::string>& bytes) = 0;

  // --- fencing ---------------------------------------------------------------
  /// Has the acting primaries of the `part`-th of `parts` equal slices of the
  /// placement groups answer: each of them then has at least the OSD map of
  /// this connection. A slice lies within one placement group when `parts` is a
  /// power of two and not less than their number. rados_object_list
  virtual absl::Status ReachPlacementGroups(uint32_t part, uint32_t parts) = 0;

  /// The RADOS namespaces of the pool, ascending, without the default one.
  /// They belong to the pool, so an implementation looks in the default
  /// namespace whatever this one is. rbd_namespace_list
  virtual absl::StatusOr<std::vector<std::string>> Namespaces() = 0;

  // --- mirroring of this pool and namespace

  /// rbd_mirror_mode_get
  virtual absl::StatusOr<PoolMirrorMode> MirrorMode() = 0;
  /// rbd_mirror_peer_site_list. Peers belong to the pool, so an implementation
  /// looks in the default namespace whatever this one is.
  virtual absl::StatusOr<std::vector<MirrorPeer>> MirrorPeers() = 0;
  /// This site's mirror uuid. rbd_mirror_uuid_get
  virtual absl::StatusOr<std::string> MirrorUuid() = 0;
  /// The entries of all mirrored images of this pool and namespace, by image
  /// id, without opening one. rbd_mirror_image_global_status_list
  virtual absl::StatusOr<std::vector<ImageStatuses>> MirrorStatuses() = 0;
  /// State and role of the image with this internal id without opening it;
  /// nullopt: it is not mirrored. rbd_mirror_image_info_list
  virtual absl::StatusOr<std::optional<MirrorImageInfo>> MirrorInfoById(
      const std::string& image_id) = 0;
  /// As MirrorInfoById() but for the role, which stands in the image's header:
  /// one read in place of four. INTERNAL: it is not written as up to Ceph 20.
  /// rados_read_op_omap_get_vals_by_keys2
  virtual absl::StatusOr<std::optional<MirrorImageInfo>> MirrorRecord(
      const std::string& image_id) = 0;
  /// Image::MirrorStatus() of the image with this global id, without opening
  /// it: one read. INTERNAL: as for MirrorRecord(). rados_read_op_exec of
  /// rbd.mirror_image_status_get
  virtual absl::StatusOr<std::vector<SiteStatus>> MirrorStatusOf(
      const std::string& global_id) = 0;

  // --- images

  /// Whether there is an image of this name, without opening it: asks for the
  /// small object that maps the name to an id. One whose creation or removal
  /// was interrupted may count as there. rados_stat of "rbd_id.<name>"
  virtual absl::StatusOr<bool> HasImage(const ImageName& name) = 0;
  /// A number that is another one after each change of the image's header,
  /// which holds its size, snapshots (mirror snapshots, and how far they are
  /// copied) and metadata: to see without opening it that nothing has changed
  /// there. NOT_FOUND: no such image. rados_stat of "rbd_header.<id>", and
  /// rados_get_last_version
  virtual absl::StatusOr<uint64_t> HeaderVersion(
      const std::string& image_id) = 0;
  /// What the header of the image with this internal id holds, without opening
  /// it: one read in place of a dozen. NOT_FOUND: no such image. INTERNAL: it
  /// has something that is not written as up to Ceph 20, or that only opening
  /// the image makes clear. rados_read_op_omap_get_vals2
  virtual absl::StatusOr<ImageHeader> Header(const std::string& image_id) = 0;
  /// NOT_FOUND: no such image. rbd_open_read_only: leaves no watch.
  virtual absl::StatusOr<std::unique_ptr<Image>> OpenImageReadOnly(
      const ImageName& name) = 0;
  /// As OpenImageReadOnly(), by internal id. rbd_open_by_id_read_only
  virtual absl::StatusOr<std::unique_ptr<Image>> OpenImageByIdReadOnly(
      const std::string& image_id) = 0;
  /// For writing. On a non-primary image only for promote, resync and forced
  /// disable: a needless one can get the local rbd-mirror blocklisted. rbd_open
  virtual absl::StatusOr<std::unique_ptr<Image>> OpenImage(
      const ImageName& name) = 0;
  /// An empty image, not mirrored, with a lock and an object map.
  /// ALREADY_EXISTS: there is an image of this name. rbd_create4
  virtual absl::Status CreateImage(const ImageName& name,
                                   const ImageLayout& layout) = 0;
  /// Removes an image with all its data. An absent one is OK; UNAVAILABLE
  /// (errno EBUSY): a client has it open, or died less than 30 s ago.
  /// rbd_remove
  virtual absl::Status RemoveImage(const ImageName& name) = 0;
};

}  // namespace addons

#endif  // ADDONS_CEPH_POOL_H_
