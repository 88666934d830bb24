#include "ceph/librados/rados_pool.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/image_header.h"
#include "ceph/image_objects.h"
#include "ceph/librados/ceph_enums.h"
#include "ceph/librados/object_watchers.h"
#include "ceph/librados/rbd_image.h"
#include "ceph/librados/sized_buffer.h"
#include "ceph/librados/write_conditions.h"

namespace addons {
namespace {

constexpr uint64_t kOmapPage = 512;
constexpr size_t kMaxNameSize = size_t{64} * 1024;
constexpr size_t kMaxNamespacesSize = size_t{16} << 20;
constexpr size_t kMaxPeers = 1024;
constexpr size_t kStatusPage = 512;
constexpr int kReplaceAttempts = 10;

/// A string that is less than `id` and greater than any other id that is less.
/// Ids consist of letters and digits.
std::string JustBefore(const std::string& id) {
  std::string before = id;
  --before.back();
  before.push_back('\x7f');
  return before;
}

ImageOptions NewImageOptions() {
  rbd_image_options_t options = nullptr;
  rbd_image_options_create(&options);
  return ImageOptions(options);
}

}  // namespace

std::string RadosPool::PoolText() const {
  return namespace_.empty() ? absl::StrCat("pool '", name_, "'")
                            : absl::StrCat("namespace '", name_, "/",
                                           absl::CHexEscape(namespace_), "'");
}

std::string RadosPool::ObjectText(absl::string_view object) const {
  return absl::StrCat("object '", absl::CHexEscape(Spec(object)), "'");
}

absl::StatusOr<std::unique_ptr<Pool>> RadosPool::Open(
    std::shared_ptr<RadosConnection> connection, int64_t pool_id,
    const std::string& rados_namespace) {
  ADDONS_ASSIGN_OR_RETURN(IoctxHandle ioctx,
                          connection->OpenIoctx(pool_id, rados_namespace));
  std::string name;
  const int result =
      GrowUntilItFits(128, kMaxNameSize, [&](size_t capacity, size_t&) {
        name.resize(capacity);
        return rados_ioctx_get_pool_name(ioctx.get(), name.data(),
                                         static_cast<unsigned>(capacity));
      });
  if (result < 0) {
    return CephError(result, "read the name of",
                     absl::StrCat("pool with id ", pool_id));
  }
  name.resize(static_cast<size_t>(result));
  return std::unique_ptr<Pool>(new RadosPool(std::move(connection),
                                             std::move(ioctx), pool_id,
                                             std::move(name), rados_namespace));
}

absl::StatusOr<IoctxHandle> RadosPool::DefaultNamespace() {
  return connection_->OpenIoctx(id_, "");
}

// --- omap ------------------------------------------------------------------

int RadosPool::ReadPage(const std::string& object, const std::string& prefix,
                        uint64_t limit, std::string& last, bool& more,
                        OmapValues& values) {
  ReadOp op(rados_create_read_op());
  OmapIter entries;
  unsigned char has_more = 0;
  int part_result = 0;
  rados_read_op_omap_get_vals2(op.get(), last.c_str(), prefix.c_str(), limit,
                               entries.Receive(), &has_more, &part_result);
  const int result = connection_->Call("rados_read_op_operate", [&] {
    return rados_read_op_operate(op.get(), ioctx_->get(), object.c_str(), 0);
  });
  if (result < 0) return result;
  if (part_result < 0) return part_result;
  const std::string before = last;
  for (;;) {
    char* key = nullptr;
    char* value = nullptr;
    size_t key_size = 0;
    size_t value_size = 0;
    const int next = rados_omap_get_next2(entries.get(), &key, &value,
                                          &key_size, &value_size);
    if (next < 0) return next;
    if (key == nullptr) break;
    last.assign(key, key_size);
    if (absl::StartsWith(last, prefix)) {
      values[last] = std::string(value, value_size);
    }
  }
  more = has_more != 0;
  // The next page begins after a C string; a key with a zero byte, which nobody
  // who uses this journal writes, would bring the same page for ever.
  const bool advances = last > before && !absl::StrContains(last, '\0');
  return more && !advances ? -EBADMSG : 0;
}

absl::StatusOr<OmapValues> RadosPool::ReadOmap(const std::string& object,
                                               const std::string& prefix) {
  OmapValues values;
  std::string last;
  for (bool more = true; more;) {
    const int result = ReadPage(object, prefix, kOmapPage, last, more, values);
    if (result < 0) return CephError(result, "read", ObjectText(object));
  }
  return values;
}

absl::StatusOr<OmapPage> RadosPool::ReadOmapPage(const std::string& object,
                                                 const std::string& prefix,
                                                 const std::string& after,
                                                 uint64_t limit) {
  OmapPage page;
  std::string last = after;
  const int result =
      ReadPage(object, prefix, limit, last, page.more, page.values);
  if (result < 0) return CephError(result, "read", ObjectText(object));
  return page;
}

absl::StatusOr<std::optional<std::string>> RadosPool::ReadOmapKey(
    const std::string& object, const std::string& key) {
  std::optional<std::string> value;
  uint64_t version = 0;
  const int result = ReadKey(object, key, value, version);
  if (result < 0) return CephError(result, "read", ObjectText(object));
  return value;
}

int RadosPool::ReadKey(const std::string& object, const std::string& key,
                       std::optional<std::string>& value, uint64_t& version) {
  ReadOp op(rados_create_read_op());
  OmapIter entries;
  int part_result = 0;
  const std::array<const char*, 1> keys = {key.data()};
  const std::array<size_t, 1> key_sizes = {key.size()};
  rados_read_op_omap_get_vals_by_keys2(op.get(), keys.data(), keys.size(),
                                       key_sizes.data(), entries.Receive(),
                                       &part_result);
  const int result = connection_->Call("rados_read_op_operate", [&] {
    return rados_read_op_operate(op.get(), ioctx_->get(), object.c_str(), 0);
  });
  if (result < 0) return result;
  if (part_result < 0) return part_result;
  version = rados_get_last_version(ioctx_->get());
  char* found = nullptr;
  char* data = nullptr;
  size_t found_size = 0;
  size_t data_size = 0;
  const int next = rados_omap_get_next2(entries.get(), &found, &data,
                                        &found_size, &data_size);
  if (next < 0) return next;
  if (found == nullptr) {
    value.reset();
  } else {
    value = std::string(data, data_size);
  }
  return 0;
}

int RadosPool::CompareAndSet(const std::string& object, const std::string& key,
                             const std::string& expected,
                             const std::string& desired, uint64_t version) {
  WriteOp op(rados_create_write_op());
  OnlyWhere(op.get(), key, expected);
  if (version != 0) rados_write_op_assert_version(op.get(), version);
  const std::array<const char*, 1> keys = {key.data()};
  const std::array<size_t, 1> key_sizes = {key.size()};
  const std::array<const char*, 1> values = {desired.data()};
  const std::array<size_t, 1> value_sizes = {desired.size()};
  rados_write_op_omap_set2(op.get(), keys.data(), values.data(),
                           key_sizes.data(), value_sizes.data(), keys.size());
  return Operate(op, object);
}

absl::StatusOr<bool> RadosPool::ReplaceValue(const std::string& object,
                                             const std::string& key,
                                             const std::string& expected,
                                             const std::string& desired) {
  const int result = CompareAndSet(object, key, expected, desired, 0);
  if (result == -ECANCELED) return false;
  if (result < 0) return CephError(result, "write", ObjectText(object));
  return true;
}

// To omap_cmp an absent key has the empty value. So these two are told apart by
// reading. Whoever writes a value to an absent key meanwhile is seen by the
// comparison; other keys of the object may change as they like: a directory in
// which many names are reserved at the same time changes all the time.
absl::StatusOr<bool> RadosPool::SetAbsent(const std::string& object,
                                          const std::string& key,
                                          const std::string& desired) {
  std::optional<std::string> value;
  uint64_t version = 0;
  int result = ReadKey(object, key, value, version);
  if (result < 0) return CephError(result, "read", ObjectText(object));
  if (value.has_value()) return false;
  result = CompareAndSet(object, key, "", desired, 0);
  if (result == -ECANCELED) return false;
  if (result < 0) return CephError(result, "write", ObjectText(object));
  return true;
}

// A key that is removed meanwhile would still compare as equal: the write holds
// only for the version of the object that was read.
absl::StatusOr<bool> RadosPool::ReplaceEmpty(const std::string& object,
                                             const std::string& key,
                                             const std::string& desired) {
  int result = 0;
  for (int attempt = 0; attempt < kReplaceAttempts; ++attempt) {
    std::optional<std::string> value;
    uint64_t version = 0;
    result = ReadKey(object, key, value, version);
    if (result < 0) return CephError(result, "read", ObjectText(object));
    if (!value.has_value() || !value->empty()) return false;
    result = CompareAndSet(object, key, "", desired, version);
    if (result == 0) return true;
    if (result == -ECANCELED) return false;
    // ERANGE, EOVERFLOW: somebody wrote to the object meanwhile.
    if (result != -ERANGE && result != -EOVERFLOW) break;
  }
  if (result == -ERANGE || result == -EOVERFLOW) result = -EAGAIN;
  return CephError(result, "write", ObjectText(object));
}

absl::StatusOr<bool> RadosPool::ReplaceOmapValue(
    const std::string& object, const std::string& key,
    const std::optional<std::string>& expected, const std::string& desired) {
  ADDONS_RETURN_IF_ERROR(CheckWritable(ObjectText(object)));
  if (!expected.has_value()) return SetAbsent(object, key, desired);
  return expected->empty() ? ReplaceEmpty(object, key, desired)
                           : ReplaceValue(object, key, *expected, desired);
}

absl::StatusOr<std::vector<Watcher>> RadosPool::ListWatchers(
    const std::string& object) {
  std::vector<ObjectWatcher> listed;
  const int result = connection_->Call("rados_list_watchers", [&] {
    return ListObjectWatchers(ioctx_->get(), object, listed);
  });
  if (result < 0) {
    return CephError(result, "list the watchers of", ObjectText(object));
  }
  std::vector<Watcher> watchers;
  watchers.reserve(listed.size());
  for (ObjectWatcher& watcher : listed) {
    watchers.push_back(
        {std::move(watcher.address), watcher.client_id, watcher.cookie});
  }
  return watchers;
}

absl::StatusOr<std::vector<std::string>> RadosPool::Namespaces() {
  ADDONS_ASSIGN_OR_RETURN(const IoctxHandle pool, DefaultNamespace());
  std::string names;  // each ends with a zero byte
  const int result = GrowUntilItFits(
      1024, kMaxNamespacesSize, [&](size_t capacity, size_t& needed) {
        names.assign(capacity, '\0');
        needed = capacity;
        return connection_->Call("rbd_namespace_list", [&] {
          return rbd_namespace_list(pool.get(), names.data(), &needed);
        });
      });
  if (result < 0) {
    return CephError(result, "list the namespaces of",
                     absl::StrCat("pool '", name_, "'"));
  }
  std::vector<std::string> namespaces =
      absl::StrSplit(names, '\0', absl::SkipEmpty());
  std::sort(namespaces.begin(), namespaces.end());
  return namespaces;
}

// --- mirroring ---------------------------------------------------------------

absl::StatusOr<PoolMirrorMode> RadosPool::MirrorMode() {
  rbd_mirror_mode_t mode = RBD_MIRROR_MODE_DISABLED;
  const int result = connection_->Call("rbd_mirror_mode_get", [&] {
    return rbd_mirror_mode_get(ioctx_->get(), &mode);
  });
  if (result < 0) {
    return CephError(result, "read the mirror mode of", PoolText());
  }
  return ToPoolMirrorMode(static_cast<int>(mode));
}

absl::StatusOr<std::vector<MirrorPeer>> RadosPool::MirrorPeers() {
  ADDONS_ASSIGN_OR_RETURN(const IoctxHandle pool, DefaultNamespace());
  std::vector<rbd_mirror_peer_site_t> sites;
  int count = 0;
  const int result =
      GrowUntilItFits(8, kMaxPeers, [&](size_t capacity, size_t& needed) {
        sites.assign(capacity, rbd_mirror_peer_site_t{});
        count = static_cast<int>(capacity);
        const int listed = connection_->Call("rbd_mirror_peer_site_list", [&] {
          return rbd_mirror_peer_site_list(pool.get(), sites.data(), &count);
        });
        needed = static_cast<size_t>(std::max(0, count));
        return listed;
      });
  if (result < 0) {
    return CephError(result, "list the mirror peers of", PoolText());
  }
  const Cleanup cleanup(
      [&] { rbd_mirror_peer_site_list_cleanup(sites.data(), count); });
  std::vector<MirrorPeer> peers;
  for (int i = 0; i < count; ++i) {
    const rbd_mirror_peer_site_t& site = sites[static_cast<size_t>(i)];
    peers.push_back({CString(site.uuid), CString(site.site_name),
                     CString(site.mirror_uuid),
                     site.direction != RBD_MIRROR_PEER_DIRECTION_RX});
  }
  return peers;
}

absl::StatusOr<std::string> RadosPool::MirrorUuid() {
  ADDONS_ASSIGN_OR_RETURN(const IoctxHandle pool, DefaultNamespace());
  std::string uuid;
  const int result =
      GrowUntilItFits(64, kMaxNameSize, [&](size_t capacity, size_t& needed) {
        uuid.assign(capacity, '\0');
        needed = capacity;
        return connection_->Call("rbd_mirror_uuid_get", [&] {
          return rbd_mirror_uuid_get(pool.get(), uuid.data(), &needed);
        });
      });
  if (result < 0) {
    return CephError(result, "read the mirror uuid of", PoolText());
  }
  return CString(uuid.c_str());
}

absl::StatusOr<std::vector<ImageStatuses>> RadosPool::MirrorStatuses() {
  std::vector<ImageStatuses> all;
  std::vector<char*> ids(kStatusPage);
  std::vector<rbd_mirror_image_global_status_t> statuses(kStatusPage);
  std::string last;
  while (true) {
    size_t count = 0;
    const int result =
        connection_->Call("rbd_mirror_image_global_status_list", [&] {
          return rbd_mirror_image_global_status_list(
              ioctx_->get(), last.c_str(), kStatusPage, ids.data(),
              statuses.data(), &count);
        });
    if (result == -ENOENT) return all;  // the pool has no mirroring
    if (result < 0) {
      return CephError(result, "list the mirror statuses of", PoolText());
    }
    const Cleanup cleanup([&] {
      rbd_mirror_image_global_status_list_cleanup(ids.data(), statuses.data(),
                                                  count);
    });
    for (size_t i = 0; i < count; ++i) {
      all.push_back({CString(ids[i]), ToSiteStatuses(statuses[i])});
    }
    if (count < kStatusPage) return all;
    last = all.back().image_id;
  }
}

absl::StatusOr<std::optional<MirrorImageInfo>> RadosPool::MirrorInfoById(
    const std::string& image_id) {
  if (image_id.empty()) return std::nullopt;
  const std::string start = JustBefore(image_id);
  char* id = nullptr;
  rbd_mirror_image_mode_t mode = RBD_MIRROR_IMAGE_MODE_JOURNAL;
  rbd_mirror_image_info_t info{};
  size_t count = 0;
  const int result = connection_->Call("rbd_mirror_image_info_list", [&] {
    return rbd_mirror_image_info_list(ioctx_->get(), nullptr, start.c_str(), 1,
                                      &id, &mode, &info, &count);
  });
  // ENOENT: the pool has no mirroring, or the one found went away meanwhile.
  if (result == -ENOENT) return std::nullopt;
  if (result < 0) {
    return CephError(result, "read the mirror state of image id",
                     absl::StrCat("'", absl::CHexEscape(Spec(image_id)), "'"));
  }
  if (count == 0) return std::nullopt;
  const Cleanup cleanup(
      [&] { rbd_mirror_image_info_list_cleanup(&id, &info, count); });
  // An image that is not mirrored is answered with the one after it.
  if (CString(id) != image_id) return std::nullopt;
  return MirrorImageInfo{ToMirrorImageState(static_cast<int>(info.state)),
                         ToMirrorMode(static_cast<int>(mode)), info.primary,
                         CString(info.global_id)};
}

// --- images

absl::StatusOr<std::unique_ptr<Image>> RadosPool::Open(
    absl::string_view function, const ImageName& name, const std::string& spec,
    OpenFn open) {
  ImageHandle image;
  const int result = connection_->Call(function, [&] { return open(image); });
  if (result < 0) {
    return CephError(result, "open",
                     absl::StrCat("image '", absl::CHexEscape(spec), "'"));
  }
  const auto mode = function == "rbd_open" ? RbdImage::Mode::kWritable
                                           : RbdImage::Mode::kReadOnly;
  return std::make_unique<RbdImage>(connection_, ioctx_, std::move(image), mode,
                                    name, spec);
}

absl::StatusOr<bool> RadosPool::HasImage(const ImageName& name) {
  const std::string object = IdObject(name.text());
  uint64_t bytes = 0;
  time_t modified = 0;
  const int result = connection_->Call("rados_stat", [&] {
    return rados_stat(ioctx_->get(), object.c_str(), &bytes, &modified);
  });
  if (result == -ENOENT) return false;
  if (result < 0) return CephError(result, "look for", ObjectText(object));
  return true;
}

absl::StatusOr<uint64_t> RadosPool::HeaderVersion(const std::string& image_id) {
  const std::string object = HeaderObject(image_id);
  uint64_t bytes = 0;
  time_t modified = 0;
  uint64_t version = 0;
  const int result = connection_->Call("rados_stat", [&] {
    const int stated =
        rados_stat(ioctx_->get(), object.c_str(), &bytes, &modified);
    version = rados_get_last_version(ioctx_->get());
    return stated;
  });
  if (result < 0) return CephError(result, "look at", ObjectText(object));
  return version;
}

absl::StatusOr<std::unique_ptr<Image>> RadosPool::OpenImageReadOnly(
    const ImageName& name) {
  auto opened =
      Open("rbd_open_read_only", name, Spec(name), [&](ImageHandle& image) {
        return image.Keep(rbd_open_read_only(ioctx_->get(), name.text().c_str(),
                                             image.Receive(), nullptr));
      });
  if (opened.ok()) return opened;
  return OfOpening(*this, name, opened.status());
}

absl::StatusOr<std::unique_ptr<Image>> RadosPool::OpenImageByIdReadOnly(
    const std::string& image_id) {
  auto opened =
      Open("rbd_open_by_id_read_only", ImageName(), Spec(image_id),
           [&](ImageHandle& handle) {
             return handle.Keep(rbd_open_by_id_read_only(
                 ioctx_->get(), image_id.c_str(), handle.Receive(), nullptr));
           });
  if (!opened.ok()) return OfOpeningById(*this, image_id, opened.status());
  ADDONS_RETURN_IF_ERROR(static_cast<RbdImage&>(**opened).ReadName(*this));
  return opened;
}

absl::StatusOr<std::unique_ptr<Image>> RadosPool::OpenImage(
    const ImageName& name) {
  if (!connection_->may_change()) {
    return absl::InternalError(
        absl::StrCat("Failed to open image '", absl::CHexEscape(Spec(name)),
                     "' for writing: its pool is open for reading"));
  }
  auto opened = Open("rbd_open", name, Spec(name), [&](ImageHandle& image) {
    return image.Keep(
        rbd_open(ioctx_->get(), name.text().c_str(), image.Receive(), nullptr));
  });
  if (opened.ok()) return opened;
  return OfOpening(*this, name, opened.status());
}

absl::Status RadosPool::CreateImage(const ImageName& name,
                                    const ImageLayout& layout) {
  const std::string text =
      absl::StrCat("image '", absl::CHexEscape(Spec(name)), "'");
  if (!connection_->may_change()) {
    return absl::InternalError(absl::StrCat("Failed to create ", text,
                                            ": its pool is open for reading"));
  }
  const ImageOptions options = NewImageOptions();
  const auto set = [&](int option, uint64_t value) {
    return rbd_image_options_set_uint64(options.get(), option, value);
  };
  // Named, because the defaults of a cluster may have journaling in them, and
  // a pool that mirrors all journaled images would mirror this one.
  int result = set(RBD_IMAGE_OPTION_FEATURES,
                   RBD_FEATURE_LAYERING | RBD_FEATURE_EXCLUSIVE_LOCK |
                       RBD_FEATURE_OBJECT_MAP | RBD_FEATURE_FAST_DIFF);
  if (result == 0) {
    result = set(RBD_IMAGE_OPTION_ORDER,
                 static_cast<uint64_t>(std::countr_zero(layout.object_bytes)));
  }
  if (result == 0) {
    result = set(RBD_IMAGE_OPTION_STRIPE_UNIT, layout.stripe_unit);
  }
  if (result == 0) {
    result = set(RBD_IMAGE_OPTION_STRIPE_COUNT, layout.stripe_count);
  }
  if (result == 0 && layout.data_pool_id != id_) {
    std::string pool;
    result = GrowUntilItFits(128, kMaxNameSize, [&](size_t capacity, size_t&) {
      pool.assign(capacity, '\0');
      return rados_pool_reverse_lookup(rados_ioctx_get_cluster(ioctx_->get()),
                                       layout.data_pool_id, pool.data(),
                                       capacity);
    });
    if (result >= 0) {
      result = rbd_image_options_set_string(
          options.get(), RBD_IMAGE_OPTION_DATA_POOL, pool.c_str());
    }
  }
  if (result == 0) {
    result = connection_->Call("rbd_create4", [&] {
      return rbd_create4(ioctx_->get(), name.text().c_str(), layout.bytes,
                         options.get());
    });
  }
  return result < 0 ? CephError(result, "create", text) : absl::OkStatus();
}

absl::Status RadosPool::RemoveImage(const ImageName& name) {
  const std::string text =
      absl::StrCat("image '", absl::CHexEscape(Spec(name)), "'");
  if (!connection_->may_change()) {
    return absl::InternalError(absl::StrCat("Failed to remove ", text,
                                            ": its pool is open for reading"));
  }
  const int result = connection_->Call("rbd_remove", [&] {
    return rbd_remove(ioctx_->get(), name.text().c_str());
  });
  if (result == -ENOENT) return absl::OkStatus();
  return result < 0 ? CephError(result, "remove", text) : absl::OkStatus();
}

}  // namespace addons
