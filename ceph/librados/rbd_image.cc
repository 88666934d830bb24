#include "ceph/librados/rbd_image.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/librados/ceph_enums.h"
#include "ceph/librados/mirror_records.h"
#include "ceph/librados/progress_callback.h"
#include "ceph/librados/sized_buffer.h"
#include "ceph/pinned_options.h"

namespace addons {
namespace {

constexpr size_t kMaxText = 1U << 20U;     // one value, name or list of names
constexpr size_t kMaxEntries = 1U << 16U;  // snapshots, watchers

/// The first `count` zero-terminated strings at `data`.
std::vector<std::string> FirstStrings(const char* data, size_t count) {
  std::vector<std::string> strings;
  for (size_t i = 0; data != nullptr && i < count; ++i) {
    strings.emplace_back(data);
    data += strings.back().size() + 1;
  }
  return strings;
}

int ReportProgress(uint64_t done, uint64_t total, void* progress) {
  // Only a negative number stops librbd.
  return static_cast<ProgressCallback*>(progress)->Report(done, total)
             ? 0
             : -ECANCELED;
}

}  // namespace

std::vector<SiteStatus> ToSiteStatuses(
    const rbd_mirror_image_global_status_t& status) {
  std::vector<SiteStatus> sites;
  for (uint32_t i = 0; i < status.site_statuses_count; ++i) {
    const rbd_mirror_image_site_status_t& site = status.site_statuses[i];
    AddReport({CString(site.mirror_uuid), site.up,
               ToMirrorStatusState(static_cast<int>(site.state)),
               CString(site.description), site.last_update},
              &sites);
  }
  std::stable_partition(sites.begin(), sites.end(),
                        [](const SiteStatus& site) { return site.local(); });
  return sites;
}

RbdImage::RbdImage(std::shared_ptr<RadosConnection> connection,
                   std::shared_ptr<const IoctxHandle> ioctx, ImageHandle image,
                   Mode mode, ImageName name, const std::string& spec)
    : connection_(std::move(connection)),
      ioctx_(std::move(ioctx)),
      image_(std::move(image)),
      mode_(mode),
      name_(std::move(name)),
      text_(absl::StrCat("image '", absl::CHexEscape(spec), "'")) {}

RbdImage::~RbdImage() {
  const absl::Status closed = Close();
  if (!closed.ok()) Log().warn("{}", std::string(closed.message()));
}

absl::Status RbdImage::Close() {
  if (!image_) return absl::OkStatus();
  // Whatever it answers, librbd has freed the handle.
  rbd_image_t image = image_.Release();
  const int result =
      connection_->Call("rbd_close", [&] { return rbd_close(image); });
  return result < 0 ? Error(result, "close") : absl::OkStatus();
}

absl::Status RbdImage::Error(int result, absl::string_view action) const {
  return CephError(result, action, text_);
}

absl::Status RbdImage::Mutate(absl::string_view function,
                              absl::string_view action,
                              absl::FunctionRef<int()> call) {
  if (mode_ != Mode::kWritable) {
    return absl::InternalError(absl::StrCat("Failed to ", action, " ", text_,
                                            ": it is open read-only"));
  }
  const int result = connection_->Call(function, call);
  return result < 0 ? OfChange(*this, Error(result, action)) : absl::OkStatus();
}

// --- reads -------------------------------------------------------------------

absl::Status RbdImage::ReadName(const Pool& pool) {
  std::string name;
  const int result =
      GrowUntilItFits(128, kMaxText, [&](size_t capacity, size_t& needed) {
        name.assign(capacity, '\0');
        needed = capacity;
        return connection_->Call("rbd_get_name", [&] {
          return rbd_get_name(image_.get(), name.data(), &needed);
        });
      });
  if (result < 0) return Error(result, "read the name of");
  name_ = ImageName(CString(name.c_str()));
  text_ = absl::StrCat("image '", absl::CHexEscape(pool.Spec(name_)), "'");
  return absl::OkStatus();
}

absl::StatusOr<std::string> RbdImage::Id() {
  std::string id;
  const int result =
      GrowUntilItFits(64, kMaxText, [&](size_t capacity, size_t&) {
        id.assign(capacity, '\0');
        return connection_->Call("rbd_get_id", [&] {
          return rbd_get_id(image_.get(), id.data(), id.size());
        });
      });
  if (result < 0) return Error(result, "read the id of");
  return CString(id.c_str());
}

absl::StatusOr<ImageSize> RbdImage::Size() {
  rbd_image_info_t info{};
  const int result = connection_->Call(
      "rbd_stat", [&] { return rbd_stat(image_.get(), &info, sizeof(info)); });
  if (result < 0) return Error(result, "read the size of");
  return ImageSize{info.size, info.obj_size, info.num_objs};
}

absl::StatusOr<uint64_t> RbdImage::FeatureBits() {
  uint64_t features = 0;
  const int result = connection_->Call("rbd_get_features", [&] {
    return rbd_get_features(image_.get(), &features);
  });
  if (result < 0) return Error(result, "read the features of");
  return features;
}

absl::StatusOr<bool> RbdImage::MarkedNonPrimary() {
  ADDONS_ASSIGN_OR_RETURN(const uint64_t features, FeatureBits());
  return (features & RBD_FEATURE_NON_PRIMARY) != 0;
}

absl::StatusOr<Timestamp> RbdImage::CreateTimestamp() {
  timespec time{};
  const int result = connection_->Call("rbd_get_create_timestamp", [&] {
    return rbd_get_create_timestamp(image_.get(), &time);
  });
  if (result < 0) return Error(result, "read the creation time of");
  return Timestamp{time.tv_sec, time.tv_nsec};
}

absl::StatusOr<MirrorImageInfo> RbdImage::MirrorInfo() {
  rbd_mirror_image_info_t info{};
  int result = connection_->Call("rbd_mirror_image_get_info", [&] {
    return rbd_mirror_image_get_info(image_.get(), &info, sizeof(info));
  });
  if (result < 0) return Error(result, "read the mirror state of");
  const Cleanup cleanup([&] { rbd_mirror_image_get_info_cleanup(&info); });
  MirrorImageInfo read;
  read.state = ToMirrorImageState(static_cast<int>(info.state));
  if (read.state == MirrorImageState::kDisabled) return read;
  read.primary = info.primary;
  read.global_id = CString(info.global_id);

  rbd_mirror_image_mode_t mode = RBD_MIRROR_IMAGE_MODE_JOURNAL;
  result = connection_->Call("rbd_mirror_image_get_mode", [&] {
    return rbd_mirror_image_get_mode(image_.get(), &mode);
  });
  // Disabled between the two calls. As NOT_FOUND it would be taken for an image
  // that does not exist.
  if (result == -ENOENT) {
    return MirrorImageInfo{MirrorImageState::kDisabled, MirrorMode::kUnknown,
                           false, ""};
  }
  if (result < 0) return Error(result, "read the mirror mode of");
  read.mode = ToMirrorMode(static_cast<int>(mode));
  return read;
}

absl::StatusOr<std::optional<MirrorSnapshot>> RbdImage::ReadMirrorSnapshot(
    uint64_t id) {
  constexpr absl::string_view kAction = "read the mirror snapshots of";
  rbd_snap_namespace_type_t type = RBD_SNAP_NAMESPACE_TYPE_USER;
  int result = connection_->Call("rbd_snap_get_namespace_type", [&] {
    return rbd_snap_get_namespace_type(image_.get(), id, &type);
  });
  // ENOENT, here and below: removed since it was listed.
  if (result == -ENOENT) return std::nullopt;
  if (result < 0) return Error(result, kAction);
  if (type != RBD_SNAP_NAMESPACE_TYPE_MIRROR) return std::nullopt;

  rbd_snap_mirror_namespace_t mirror{};
  result = connection_->Call("rbd_snap_get_mirror_namespace", [&] {
    return rbd_snap_get_mirror_namespace(image_.get(), id, &mirror,
                                         sizeof(mirror));
  });
  if (result == -ENOENT) return std::nullopt;
  if (result < 0) return Error(result, kAction);
  const Cleanup cleanup(
      [&] { rbd_snap_mirror_namespace_cleanup(&mirror, sizeof(mirror)); });
  timespec time{};
  result = connection_->Call("rbd_snap_get_timestamp", [&] {
    return rbd_snap_get_timestamp(image_.get(), id, &time);
  });
  if (result == -ENOENT) return std::nullopt;
  if (result < 0) return Error(result, kAction);
  return ToMirrorSnapshot({
      .id = id,
      .state = static_cast<int>(mirror.state),
      .complete = mirror.complete,
      .peer_uuids = FirstStrings(mirror.mirror_peer_uuids,
                                 mirror.mirror_peer_uuids_count),
      .primary_mirror_uuid = CString(mirror.primary_mirror_uuid),
      .primary_snapshot_id = mirror.primary_snap_id,
      .last_copied_object = mirror.last_copied_object_number,
      .created = {time.tv_sec, time.tv_nsec},
  });
}

absl::StatusOr<std::vector<std::pair<uint64_t, std::string>>>
RbdImage::ListSnapshots() {
  std::vector<rbd_snap_info_t> listed;
  const int result =
      GrowUntilItFits(16, kMaxEntries, [&](size_t capacity, size_t& needed) {
        listed.assign(capacity, rbd_snap_info_t{});
        int count = static_cast<int>(capacity);
        const int found = connection_->Call("rbd_snap_list", [&] {
          return rbd_snap_list(image_.get(), listed.data(), &count);
        });
        needed = static_cast<size_t>(std::max(0, count));
        return found;
      });
  if (result < 0) return Error(result, "list the snapshots of");
  std::vector<std::pair<uint64_t, std::string>> snapshots;
  for (size_t i = 0; i < static_cast<size_t>(result); ++i) {
    snapshots.emplace_back(listed[i].id, CString(listed[i].name));
  }
  // It frees names up to the first one that is null, so one entry must follow.
  listed.resize(static_cast<size_t>(result) + 1);
  rbd_snap_list_end(listed.data());
  std::sort(snapshots.begin(), snapshots.end());
  return snapshots;
}

absl::StatusOr<std::vector<MirrorSnapshot>> RbdImage::MirrorSnapshots() {
  ADDONS_ASSIGN_OR_RETURN(const auto listed, ListSnapshots());
  std::vector<MirrorSnapshot> snapshots;
  for (const auto& [id, name] : listed) {
    ADDONS_ASSIGN_OR_RETURN(std::optional<MirrorSnapshot> snapshot,
                            ReadMirrorSnapshot(id));
    if (snapshot) snapshots.push_back(*std::move(snapshot));
  }
  return snapshots;
}

absl::StatusOr<std::vector<SiteStatus>> RbdImage::MirrorStatus() {
  rbd_mirror_image_global_status_t status{};
  const int result =
      connection_->Call("rbd_mirror_image_get_global_status", [&] {
        return rbd_mirror_image_get_global_status(image_.get(), &status,
                                                  sizeof(status));
      });
  if (result == -ENOENT) return std::vector<SiteStatus>();
  if (result < 0) return Error(result, "read the mirror status of");
  const Cleanup cleanup(
      [&] { rbd_mirror_image_global_status_cleanup(&status); });
  return ToSiteStatuses(status);
}

absl::StatusOr<std::vector<Watcher>> RbdImage::Watchers() {
  std::vector<rbd_image_watcher_t> listed;
  size_t count = 0;
  const int result =
      GrowUntilItFits(8, kMaxEntries, [&](size_t capacity, size_t& needed) {
        listed.assign(capacity, rbd_image_watcher_t{});
        count = capacity;
        const int found = connection_->Call("rbd_watchers_list", [&] {
          return rbd_watchers_list(image_.get(), listed.data(), &count);
        });
        needed = count;
        return found;
      });
  if (result < 0) return Error(result, "list the watchers of");
  const Cleanup cleanup(
      [&] { rbd_watchers_list_cleanup(listed.data(), count); });
  std::vector<Watcher> watchers;
  for (size_t i = 0; i < count; ++i) {
    watchers.push_back({CString(listed[i].addr),
                        static_cast<uint64_t>(listed[i].id), listed[i].cookie});
  }
  return watchers;
}

absl::StatusOr<std::vector<Locker>> RbdImage::Lockers() {
  // Four lists of strings, each with a size of its own.
  std::array<std::string, 4> text;
  std::array<size_t, 4> sizes{};
  int exclusive = 0;
  const int result =
      GrowUntilItFits(1024, kMaxText, [&](size_t capacity, size_t& needed) {
        for (std::string& buffer : text) buffer.assign(capacity, '\0');
        sizes.fill(capacity);
        const int found = connection_->Call("rbd_list_lockers", [&] {
          return static_cast<int>(rbd_list_lockers(
              image_.get(), &exclusive, text[0].data(), &sizes[0],
              text[1].data(), &sizes[1], text[2].data(), &sizes[2],
              text[3].data(), &sizes[3]));
        });
        needed = *std::max_element(sizes.begin(), sizes.end());
        return found;
      });
  if (result < 0) return Error(result, "list the lockers of");
  const auto count = static_cast<size_t>(result);
  const std::vector<std::string> clients = FirstStrings(text[1].c_str(), count);
  const std::vector<std::string> cookies = FirstStrings(text[2].c_str(), count);
  const std::vector<std::string> addresses =
      FirstStrings(text[3].c_str(), count);
  std::vector<Locker> lockers;
  for (size_t i = 0; i < count; ++i) {
    lockers.push_back({clients[i], cookies[i], addresses[i]});
  }
  return lockers;
}

absl::StatusOr<std::optional<ImageParent>> RbdImage::Parent() {
  rbd_linked_image_spec_t image{};
  rbd_snap_spec_t snapshot{};
  const int result = connection_->Call("rbd_get_parent", [&] {
    return rbd_get_parent(image_.get(), &image, &snapshot);
  });
  if (result == -ENOENT) return std::nullopt;
  if (result < 0) return Error(result, "read the parent of");
  const Cleanup cleanup([&] {
    rbd_linked_image_spec_cleanup(&image);
    rbd_snap_spec_cleanup(&snapshot);
  });
  return ImageParent{image.pool_id,
                     CString(image.pool_name),
                     CString(image.pool_namespace),
                     CString(image.image_id),
                     ImageName(CString(image.image_name)),
                     image.trash};
}

absl::StatusOr<std::vector<LinkedImage>> RbdImage::Clones() {
  std::vector<rbd_linked_image_spec_t> listed;
  size_t count = 0;
  const int result =
      GrowUntilItFits(8, kMaxEntries, [&](size_t capacity, size_t& needed) {
        listed.assign(capacity, rbd_linked_image_spec_t{});
        count = capacity;
        const int found = connection_->Call("rbd_list_children3", [&] {
          return rbd_list_children3(image_.get(), listed.data(), &count);
        });
        needed = count;
        return found;
      });
  if (result < 0) return Error(result, "list the clones of");
  const Cleanup cleanup(
      [&] { rbd_linked_image_spec_list_cleanup(listed.data(), count); });
  std::vector<LinkedImage> clones;
  for (size_t i = 0; i < count; ++i) {
    const rbd_linked_image_spec_t& clone = listed[i];
    clones.push_back({clone.pool_id, CString(clone.pool_name),
                      CString(clone.pool_namespace), CString(clone.image_id),
                      ImageName(CString(clone.image_name)), clone.trash});
  }
  return clones;
}

// --- mutations

absl::Status RbdImage::MirrorEnable(MirrorMode mode) {
  if (mode == MirrorMode::kUnknown) {
    return absl::InternalError(absl::StrCat("Failed to enable mirroring of ",
                                            text_, ": no such mirror mode"));
  }
  const rbd_mirror_image_mode_t rbd_mode = mode == MirrorMode::kJournal
                                               ? RBD_MIRROR_IMAGE_MODE_JOURNAL
                                               : RBD_MIRROR_IMAGE_MODE_SNAPSHOT;
  return Mutate("rbd_mirror_image_enable2", "enable mirroring of", [&] {
    return rbd_mirror_image_enable2(image_.get(), rbd_mode);
  });
}

absl::Status RbdImage::MirrorDisable(Force force) {
  return Mutate("rbd_mirror_image_disable", "disable mirroring of", [&] {
    return rbd_mirror_image_disable(image_.get(), force == Force::kYes);
  });
}

absl::Status RbdImage::MirrorPromote(Force force) {
  return Mutate("rbd_mirror_image_promote", "promote", [&] {
    return rbd_mirror_image_promote(image_.get(), force == Force::kYes);
  });
}

// Within the gate: time may pass on the way into it, too.
absl::Status RbdImage::MirrorPromoteByForce(SteadyTime latest) {
  return Mutate("rbd_mirror_image_promote", "promote", [&] {
    if (RealClock().Now() > latest) return -ECANCELED;
    return rbd_mirror_image_promote(image_.get(), /*force=*/true);
  });
}

absl::Status RbdImage::MirrorDemote() {
  return Mutate("rbd_mirror_image_demote", "demote",
                [&] { return rbd_mirror_image_demote(image_.get()); });
}

// On a secondary a writable handle could cost the local rbd-mirror its lock,
// and the request needs none.
absl::Status RbdImage::MirrorResync() {
  constexpr absl::string_view kAction = "request a resync of";
  if (!connection_->may_change()) {
    return absl::InternalError(absl::StrCat("Failed to ", kAction, " ", text_,
                                            ": its pool is open for reading"));
  }
  const int result = connection_->Call("rbd_mirror_image_resync", [&] {
    return rbd_mirror_image_resync(image_.get());
  });
  return result < 0 ? Error(result, kAction) : absl::OkStatus();
}

absl::StatusOr<uint64_t> RbdImage::CreateMirrorSnapshot() {
  uint64_t id = 0;
  ADDONS_RETURN_IF_ERROR(Mutate(
      "rbd_mirror_image_create_snapshot2", "create a mirror snapshot of", [&] {
        return rbd_mirror_image_create_snapshot2(
            image_.get(), RBD_SNAP_CREATE_SKIP_QUIESCE, &id);
      }));
  // At the limit of its snapshots: with that flag librbd removes what no peer
  // needs, makes none, and answers 0 (16.2.15).
  if (id == kHead) return Error(-EDQUOT, "create a mirror snapshot of");
  return id;
}

absl::Status RbdImage::Flatten(const ProgressFn& progress) {
  ProgressCallback report(progress);
  absl::Status flattened = Mutate("rbd_flatten_with_progress", "flatten", [&] {
    return rbd_flatten_with_progress(image_.get(), &ReportProgress, &report);
  });
  report.Rethrow();
  return flattened;
}

}  // namespace addons
