#include "tests/faults/fault.h"

#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace addons::testing {
namespace {

using Errnos = std::vector<int>;

// What an OSD, a monitor or the network can answer to anything. ESHUTDOWN, of a
// blocklisted client, is a strike of its own.
const Errnos kRead = {ETIMEDOUT, EIO, EPERM};
const Errnos kReadOfWhatMayBeAbsent = {ETIMEDOUT, EIO, EPERM, ENOENT};
// Not ENOENT: what is absent has no change to be made, and the model answers so
// by itself.
const Errnos kWrite = {ETIMEDOUT, EIO, EPERM, ENOSPC, EBUSY};
const Errnos kImageWrite = {ETIMEDOUT, EIO, EPERM, ENOSPC, EBUSY, EROFS};
constexpr char kThread[] = "thread ";

// Answered from the memory of an open image or connection.
const Errnos kMemory = {EIO};

std::string ErrnoName(int error) {
  switch (error) {
    case EACCES:
      return "EACCES";
    case EAGAIN:
      return "EAGAIN";
    case EBUSY:
      return "EBUSY";
    case EEXIST:
      return "EEXIST";
    case EINVAL:
      return "EINVAL";
    case EIO:
      return "EIO";
    case ENOENT:
      return "ENOENT";
    case ENOSPC:
      return "ENOSPC";
    case EOPNOTSUPP:
      return "EOPNOTSUPP";
    case EPERM:
      return "EPERM";
    case EROFS:
      return "EROFS";
    case ETIMEDOUT:
      return "ETIMEDOUT";
    default:
      return absl::StrCat("errno ", error);
  }
}

}  // namespace

const std::map<std::string, std::vector<int>>& ErrnosOfCalls() {
  static const auto* const all = new std::map<std::string, std::vector<int>>{
      // connections and commands
      {"rados_connect", {ETIMEDOUT, EIO, EAGAIN}},
      {"rados_ioctx_create2", {ETIMEDOUT, EIO, EPERM, ENOENT}},
      {"rados_mon_command", {ETIMEDOUT, EIO, EACCES, EAGAIN, EBUSY}},
      {"rados_mgr_command",
       {ETIMEDOUT, EIO, EACCES, EAGAIN, ENOENT, EOPNOTSUPP}},
      {"rados_wait_for_latest_osdmap", {ETIMEDOUT, EIO}},
      // objects
      {"rados_read_op_omap_get_vals2", kReadOfWhatMayBeAbsent},
      {"rados_read_op_omap_get_vals_by_keys2", kReadOfWhatMayBeAbsent},
      {"rados_stat", kReadOfWhatMayBeAbsent},
      {"rados_list_watchers", kReadOfWhatMayBeAbsent},
      {"rados_list_snaps", kRead},
      {"rados_read", kReadOfWhatMayBeAbsent},
      {"rados_write_op_write_full", kWrite},
      {"rados_object_list", {ETIMEDOUT, EIO, EPERM}},
      {"rados_write_op_create", {ETIMEDOUT, EIO, EPERM, ENOSPC, EEXIST}},
      {"rados_write_op_remove", kWrite},
      {"rados_write_op_omap_set2", kWrite},
      {"rados_write_op_omap_rm_keys2", kWrite},
      {"rbd.mirror_image_snapshot_set_copy_progress", kWrite},
      // locks of objects
      {"rados_lock_exclusive", {ETIMEDOUT, EIO, EPERM, ENOSPC, EBUSY}},
      {"lock.lock", {ETIMEDOUT, EIO, EPERM, ENOSPC, EBUSY}},
      {"rados_list_lockers", kReadOfWhatMayBeAbsent},
      {"rados_break_lock", {ETIMEDOUT, EIO, EPERM}},
      {"lock.assert_locked", {ETIMEDOUT, EIO, EPERM, EBUSY}},
      // rbd groups
      {"rbd_group_image_list", kReadOfWhatMayBeAbsent},
      {"rbd_group_snap_list", kReadOfWhatMayBeAbsent},
      {"rbd_group_create", {ETIMEDOUT, EIO, EPERM, ENOSPC, EEXIST}},
      {"rbd_group_remove", kWrite},
      {"rbd_group_image_add", {ETIMEDOUT, EIO, EPERM, ENOSPC, EEXIST}},
      {"rbd_group_image_remove_by_id", {ETIMEDOUT, EIO, EPERM}},
      {"rbd_get_group", kRead},
      // images
      {"rbd_open", {ETIMEDOUT, EIO, EPERM, ENOENT, EROFS}},
      {"rbd_open_read_only", kReadOfWhatMayBeAbsent},
      {"rbd_open_by_id_read_only", kReadOfWhatMayBeAbsent},
      {"rbd_close", {EIO}},
      {"rbd_is_exclusive_lock_owner", kMemory},
      {"rbd_create4", {ETIMEDOUT, EIO, EPERM, ENOSPC, EEXIST}},
      {"rbd_remove", {ETIMEDOUT, EIO, EPERM, EBUSY}},
      {"rbd_resize2", kImageWrite},
      {"rbd_get_id", kMemory},
      {"rbd_get_features", kMemory},
      {"rbd_get_create_timestamp", kMemory},
      {"rbd_get_data_pool_id", kMemory},
      {"rbd_get_parent", kMemory},
      {"rbd_stat", kMemory},
      {"rbd_snap_list", kMemory},
      {"rbd_snap_set_by_id", kReadOfWhatMayBeAbsent},
      {"rbd_list_lockers", kRead},
      {"rbd_lock_acquire", {ETIMEDOUT, EIO, EPERM, EBUSY, EROFS}},
      {"rbd_watchers_list", kRead},
      {"rbd_metadata_get", kRead},
      {"rbd_metadata_list", kRead},
      {"rbd_metadata_set", kImageWrite},
      {"rbd.metadata_set", kImageWrite},
      {"rbd_aio_read", kRead},
      {"rbd_aio_write", kImageWrite},
      {"rbd_flush", {ETIMEDOUT, EIO, EROFS}},
      {"rbd_flatten_with_progress", kImageWrite},
      {"rbd_sparsify_with_progress", kImageWrite},
      {"rbd_snap_remove_by_id", kImageWrite},
      {"rbd_namespace_list", kRead},
      // mirroring
      {"rbd_mirror_mode_get", kRead},
      {"rbd_mirror_peer_site_list", kRead},
      {"rbd_mirror_image_get_info", kRead},
      {"rbd_mirror_image_get_global_status", kReadOfWhatMayBeAbsent},
      {"rbd.mirror_image_status_get", kReadOfWhatMayBeAbsent},
      {"rbd_mirror_image_global_status_list", kRead},
      {"rbd_mirror_image_info_list", kRead},
      {"rbd_mirror_image_enable2",
       {ETIMEDOUT, EIO, EPERM, ENOSPC, EBUSY, EINVAL}},
      {"rbd_mirror_image_disable", {ETIMEDOUT, EIO, EPERM, EBUSY, EINVAL}},
      {"rbd_mirror_image_promote",
       {ETIMEDOUT, EIO, EPERM, ENOSPC, EBUSY, EROFS, EINVAL}},
      {"rbd_mirror_image_demote",
       {ETIMEDOUT, EIO, EPERM, ENOSPC, EBUSY, EROFS, EINVAL}},
      {"rbd_mirror_image_resync", {ETIMEDOUT, EIO, EPERM, EBUSY, EINVAL}},
      {"rbd_mirror_image_create_snapshot2", kImageWrite},
  };
  return *all;
}

bool EndsProcess(Strike strike) {
  return strike == Strike::kDieBefore || strike == Strike::kDieAfter ||
         strike == Strike::kDieWithin;
}

std::string Name(const Fault& fault) {
  switch (fault.strike) {
    case Strike::kError:
      return ErrnoName(fault.error);
    case Strike::kErrorAfter:
      return ErrnoName(fault.error) + " after its effect";
    case Strike::kHang:
      return "hang beyond the deadline";
    case Strike::kDieBefore:
      return "death before it";
    case Strike::kDieAfter:
      return "death after it";
    case Strike::kDieWithin:
      return "death in its middle";
    case Strike::kPause:
      return "a pause before it";
    case Strike::kCallerLeaves:
      return "the client disconnects";
    case Strike::kCancel:
      return "the operation is cancelled";
    case Strike::kBlocklist:
      return "this client is blocklisted";
    case Strike::kThrow:
      return "no memory";
    case Strike::kThrowAfter:
      return "no memory after it";
    case Strike::kNoThreads:
      return "no threads";
  }
  return "?";
}

std::string ThreadCall(const std::string& thread) { return kThread + thread; }

bool IsThreadCall(const std::string& call) {
  return absl::StartsWith(call, kThread);
}

std::vector<Fault> FaultsAt(const CallRecord& call) {
  if (IsThreadCall(call.call)) return {{Strike::kNoThreads}};
  const auto row = ErrnosOfCalls().find(call.call);
  if (row == ErrnosOfCalls().end()) return {};
  std::vector<Fault> faults;
  for (const int error : row->second) faults.push_back({Strike::kError, error});
  faults.push_back({Strike::kHang});
  faults.push_back({Strike::kDieBefore});
  faults.push_back({Strike::kDieAfter});
  faults.push_back({Strike::kCallerLeaves});
  faults.push_back({Strike::kCancel});
  faults.push_back({Strike::kBlocklist});
  faults.push_back({Strike::kThrow});
  // What has no effect fails the same way before and after it.
  const bool lock =
      call.call == "rados_lock_exclusive" || call.call == "rados_break_lock" ||
      call.call == "lock.lock" || call.call == "lock.assert_locked";
  if (call.mutation || lock || call.call == "rbd_open") {
    faults.push_back({Strike::kErrorAfter, ETIMEDOUT});
    faults.push_back({Strike::kThrowAfter});
  }
  return faults;
}

}  // namespace addons::testing
