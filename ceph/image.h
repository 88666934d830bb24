#ifndef ADDONS_CEPH_IMAGE_H_
#define ADDONS_CEPH_IMAGE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/image_name.h"
#include "ceph/mirror.h"

namespace addons {

enum class Force { kNo, kYes };

/// A client that watches an object or has an image open for writing.
struct Watcher {
  std::string address;     // "10.0.0.1:0/123"
  uint64_t client_id = 0;  // the RADOS instance id
  uint64_t cookie = 0;
};

/// Who has a lock of an object, as an image's exclusive lock is one.
struct Locker {
  std::string client;  // "client.4464"
  std::string cookie;
  std::string address;  // as it is listed: "v1:10.0.0.1:0/123"
  friend bool operator==(const Locker&, const Locker&) = default;
};

/// An image that another one is linked with: its parent, or a clone of it.
struct LinkedImage {
  int64_t pool_id = 0;
  std::string pool_name;
  std::string rados_namespace;
  std::string image_id;
  ImageName image_name;
  bool in_trash = false;

  std::string Spec() const {
    return RbdSpec(pool_name, rados_namespace, image_name.text());
  }
};
using ImageParent = LinkedImage;

/// Names an rbd group, as the one that an image belongs to.
struct GroupSpec {
  int64_t pool_id = 0;
  std::string name;
  friend bool operator==(const GroupSpec&, const GroupSpec&) = default;
};

struct ImageSize {
  uint64_t bytes = 0;
  uint64_t object_bytes = 0;
  uint64_t objects = 0;
};

/// How an image lies in its pool: what another one needs to be like it.
struct ImageLayout {
  uint64_t bytes = 0;
  uint64_t object_bytes = 0;
  uint64_t stripe_unit = 0;
  uint64_t stripe_count = 0;
  int64_t data_pool_id = -1;  // where its data is, maybe its own pool
  /// Of the names of its objects; not needed to make an image.
  std::string object_prefix;  // "rbd_data.10226b8b4567"
};

struct ImageRange {
  uint64_t offset = 0;
  uint64_t length = 0;
};

/// What a range holds. Without bytes: zeros only.
struct ImageData {
  ImageRange range;
  std::string bytes;
};

/// Seconds and nanoseconds since the epoch, as Ceph stores a creation time.
struct Timestamp {
  int64_t seconds = 0;
  int64_t nanoseconds = 0;
  friend bool operator==(const Timestamp&, const Timestamp&) = default;
};

/// What made a snapshot. kTrash: one that was removed while clones need it.
enum class SnapshotKind { kUser, kGroup, kTrash, kMirror, kUnknown };

struct ImageSnapshot {
  uint64_t id = 0;
  std::string name;
  SnapshotKind kind = SnapshotKind::kUnknown;
};

struct ImageFeatures {
  bool exclusive_lock = false;
  bool fast_diff = false;  // the feature is on and its data is valid
  bool migrating = false;  // source or target of an unfinished migration
};

/// An rbd group as the header of an image in it names it: by its id.
struct ImageGroup {
  int64_t pool_id = 0;
  std::string id;
};

/// What opening an image reads, of its header.
struct ImageHeader {
  ImageSize size;
  ImageFeatures features;
  int64_t data_pool_id = -1;  // -1: its data is in the pool of the header
  std::optional<ImageGroup> group = std::nullopt;  // that it is in
  Timestamp created;
  bool marked_non_primary = false;  // Image::MarkedNonPrimary()
  bool has_parent = false;
  std::map<std::string, std::string> metadata;
  std::vector<MirrorSnapshot> mirror_snapshots;  // ascending by id
  std::vector<ImageSnapshot> other_snapshots;    // the rest, likewise
  /// How many snapshots it may have, of all kinds; nullopt: any number.
  std::optional<uint64_t> snapshot_limit = std::nullopt;
};

/// What other clients' writes do while a handle has the exclusive lock.
enum class LockMode {
  kExclusive,  // fail
  kTransient,  // wait
};

/// The entries to set, and those to remove: nullopt, also of absent ones.
using MetadataChanges = std::map<std::string, std::optional<std::string>>;

/// kLockLost: another client asked for the exclusive lock in the middle, or the
/// image refuses writes now.
enum class SparsifyEnd { kFinished, kStopped, kLockLost };

/// Gets (done, total); returning false asks the call to stop. Runs on a thread
/// of librbd, under its lock: it may only look at or set a flag.
using ProgressFn = std::function<bool(uint64_t done, uint64_t total)>;

/// One open image. A handle never refreshes when opened read-only, and pins the
/// image when opened for writing: open, look, drop.
///
/// All methods block: on an image from a read pool for at most the OSD
/// operation timeout (then DEADLINE_EXCEEDED), on one from a mutation pool for
/// as long as the cluster takes. Errors are those of CephError(). One thread at
/// a time.
class Image {
 public:
  virtual ~Image() = default;
  Image() = default;
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  virtual const ImageName& name() const = 0;

  // --- reads: work on every handle -----------------------------------------
  /// rbd_get_id
  virtual absl::StatusOr<std::string> Id() = 0;
  /// rbd_stat
  virtual absl::StatusOr<ImageSize> Size() = 0;
  /// Whether the image refuses all writes because it is (or was left) marked as
  /// a secondary. rbd_get_features, RBD_FEATURE_NON_PRIMARY
  virtual absl::StatusOr<bool> MarkedNonPrimary() = 0;
  /// rbd_get_create_timestamp
  virtual absl::StatusOr<Timestamp> CreateTimestamp() = 0;
  /// rbd_mirror_image_get_info, rbd_mirror_image_get_mode. A disabled image is
  /// OK with state kDisabled.
  virtual absl::StatusOr<MirrorImageInfo> MirrorInfo() = 0;
  /// All mirror snapshots by ascending id. rbd_snap_list,
  /// rbd_snap_get_mirror_namespace, rbd_snap_get_timestamp
  virtual absl::StatusOr<std::vector<MirrorSnapshot>> MirrorSnapshots() = 0;
  /// Local entry first if there is one. No entries at all is OK and empty.
  /// rbd_mirror_image_get_global_status
  virtual absl::StatusOr<std::vector<SiteStatus>> MirrorStatus() = 0;
  /// Includes our own watch if this handle is writable. rbd_watchers_list
  virtual absl::StatusOr<std::vector<Watcher>> Watchers() = 0;
  /// rbd_list_lockers
  virtual absl::StatusOr<std::vector<Locker>> Lockers() = 0;
  /// nullopt: not a clone. rbd_get_parent
  virtual absl::StatusOr<std::optional<ImageParent>> Parent() = 0;
  /// Of all its snapshots, also those in the trash. rbd_list_children3
  virtual absl::StatusOr<std::vector<LinkedImage>> Clones() = 0;
  /// nullopt: no such key. rbd_metadata_get
  virtual absl::StatusOr<std::optional<std::string>> Metadata(
      const std::string& key) = 0;
  /// The entries whose key begins with `prefix`. rbd_metadata_list
  virtual absl::StatusOr<std::map<std::string, std::string>> ListMetadata(
      const std::string& prefix) = 0;

  // --- reads for space reclaim ----------------------------------------------
  /// rbd_get_features, rbd_get_flags
  virtual absl::StatusOr<ImageFeatures> Features() = 0;
  /// All snapshots of whatever kind, by ascending id. rbd_snap_list,
  /// rbd_snap_get_namespace_type
  virtual absl::StatusOr<std::vector<ImageSnapshot>> Snapshots() = 0;
  /// Bytes of the image itself, without its snapshots and parent. With valid
  /// fast-diff it is one look: the sizes of all objects that exist, whatever
  /// is in them. Else each object is asked what is written there, 64 at a time
  /// until `at_most` has passed; nullopt: that was not enough.
  /// rbd_diff_iterate2
  virtual absl::StatusOr<std::optional<uint64_t>> UsedBytes(
      std::chrono::milliseconds at_most) = 0;
  /// nullopt: in none. rbd_get_group
  virtual absl::StatusOr<std::optional<GroupSpec>> Group() = 0;

  // --- mutations: need an image opened for writing on a mutation pool -------
  /// Sets and removes entries in one operation on the image's header, past
  /// librbd: all or none. Nobody is asked for the exclusive lock, and nobody
  /// who has the image open is told, so it is not for keys that librbd heeds
  /// ("conf_"). Where the header shows other features than this handle, where a
  /// journal has to carry the change, and on a secondary, which refuses it,
  /// librbd does it: SetMetadata() and RemoveMetadata(), entry by entry.
  /// rados_write_op_omap_cmp2, and rados_write_op_exec of rbd.metadata_set and
  /// rbd.metadata_remove
  virtual absl::Status ChangeMetadata(const MetadataChanges& changes) = 0;
  /// The same of a secondary in snapshot mode, which librbd refuses to change.
  /// The next copy that is whole brings the primary's entries in the place of
  /// all but those that begin with ".rbd". Errno EAGAIN: it is no secondary.
  virtual absl::Status ChangeMetadataOfSecondary(
      const MetadataChanges& changes) = 0;
  /// Takes the exclusive lock where nobody has it; where another client has it,
  /// that one writes, or is asked for the lock after 2 s. rbd_metadata_set
  virtual absl::Status SetMetadata(const std::string& key,
                                   const std::string& value) = 0;
  /// An absent key is OK. rbd_metadata_remove
  virtual absl::Status RemoveMetadata(const std::string& key) = 0;
  /// rbd_mirror_image_enable2
  virtual absl::Status MirrorEnable(MirrorMode mode) = 0;
  /// rbd_mirror_image_disable
  virtual absl::Status MirrorDisable(Force force) = 0;
  /// librbd 16 does not guard an incomplete demotion: look before.
  /// rbd_mirror_image_promote
  virtual absl::Status MirrorPromote(Force force) = 0;
  /// The same by force, unless `latest` has passed when librbd is to be called,
  /// by RealClock(): whoever stood still since it looked must look again. Errno
  /// ECANCELED: so it was, nothing was done.
  virtual absl::Status MirrorPromoteByForce(SteadyTime latest) = 0;
  /// OK is no proof: read the newest snapshot back. rbd_mirror_image_demote
  virtual absl::Status MirrorDemote() = 0;
  /// Writes the request; rbd-mirror deletes and re-creates the image later.
  /// Needs no writable handle: a read-only one of a mutation pool spares the
  /// secondary. rbd_mirror_image_resync
  virtual absl::Status MirrorResync() = 0;
  /// Through replication/steps/ceph_faults/mirror_snapshot.h.
  /// rbd_mirror_image_create_snapshot2
  virtual absl::StatusOr<uint64_t> CreateMirrorSnapshot() = 0;
  /// rbd_flatten_with_progress
  virtual absl::Status Flatten(const ProgressFn& progress) = 0;

  // --- mutations for space reclaim ------------------------------------------
  /// Whether this handle has the exclusive lock now; always false without that
  /// feature. Any thread. rbd_is_exclusive_lock_owner
  virtual absl::StatusOr<bool> HoldsLock() = 0;
  /// Frees runs of zeros of `sparse_bytes` (a power of two from 4096 to the
  /// object's size). Takes the exclusive lock where nobody has it and gives it
  /// to whoever asks for it; where another client has it, librbd lets that
  /// client do the work: look before. `progress` counts objects, each as it is
  /// begun; after it returned false no further one is. When another client
  /// asks for the lock in the middle, it gets it, and the call ends within a
  /// second with kLockLost. (librbd may let that client do the rest; it is
  /// asked for the lock in its turn then, and notices no more than a slow
  /// write. One that keeps the lock, AcquireLock(), has to do the rest, and the
  /// call ends when that is done or the client has gone.)
  /// rbd_sparsify_with_progress
  virtual absl::StatusOr<SparsifyEnd> Sparsify(uint64_t sparse_bytes,
                                               const ProgressFn& progress) = 0;

  // --- content ---------------------------------------------------------------
  /// From now on this read-only handle shows the image as this snapshot has it.
  /// NOT_FOUND: no such snapshot. rbd_snap_set_by_id
  virtual absl::Status SelectSnapshot(uint64_t snapshot_id) = 0;
  /// rbd_get_size, rbd_get_stripe_unit, rbd_get_stripe_count,
  /// rbd_get_data_pool_id, rbd_get_block_name_prefix
  virtual absl::StatusOr<ImageLayout> Layout() = 0;
  /// All ranges at the same time, answered in their order. rbd_aio_read
  virtual absl::StatusOr<std::vector<ImageData>> Read(
      const std::vector<ImageRange>& ranges) = 0;
  /// All at the same time. Zeros of ranges without bytes are written as data:
  /// mirroring by snapshots does not carry what is discarded or zeroed
  /// (librbd 16). rbd_aio_write
  virtual absl::Status Write(const std::vector<ImageData>& data) = 0;
  /// What was written is safe. Like a write it asks another client for the
  /// exclusive lock, and has it when OK; that client goes on without an error.
  /// Errno EROFS: it keeps the lock (AcquireLock()). Any thread. rbd_flush
  virtual absl::Status Flush() = 0;
  /// What lies beyond a smaller size is gone. rbd_resize2
  virtual absl::Status Resize(uint64_t bytes) = 0;
  /// Takes the exclusive lock for this handle, until it is given back or
  /// closed: no other client can write meanwhile. The lock of a client that
  /// died is broken, which takes up to 30 s. UNAVAILABLE or errno EROFS: a
  /// living client keeps it. An image without the feature exclusive-lock has no
  /// lock: OK. Errno EOPNOTSUPP: HasTransientLock() is false. rbd_lock_acquire
  virtual absl::Status AcquireLock(LockMode mode) = 0;
  /// Gives it back; OK where this handle has none. rbd_lock_release
  virtual absl::Status ReleaseLock() = 0;
  /// Whether this librbd has LockMode::kTransient: those of Ceph 19.2.4 and
  /// newer ones. For a read-only handle, of which librbd refuses every lock,
  /// but first each mode that it does not know. rbd_lock_acquire
  virtual absl::StatusOr<bool> HasTransientLock() = 0;
  /// A user's snapshot of what was written until then; no client is asked to
  /// pause its writes. ALREADY_EXISTS: there is one of this name. Errno EDQUOT:
  /// the image may have no more. rbd_snap_create2
  virtual absl::Status CreateSnapshot(const std::string& name) = 0;
  /// Of whatever kind. An absent one is OK. rbd_snap_remove_by_id
  virtual absl::Status RemoveSnapshot(uint64_t snapshot_id) = 0;

  /// Closes the handle; using it afterwards is a bug. The destructor closes
  /// too, but can only log a failure. rbd_close
  virtual absl::Status Close() = 0;
};

}  // namespace addons

#endif  // ADDONS_CEPH_IMAGE_H_
