#include "bench/ceph_work.h"

#include <rbd/librbd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace addons {
namespace {

using std::chrono::steady_clock;

/// Opens the image, does the work, closes it. Returns librbd's result.
int WithImage(rados_ioctx_t pool, const std::string& image, bool writable,
              const std::function<int(rbd_image_t)>& work) {
  rbd_image_t opened = nullptr;
  int result = writable
                   ? rbd_open(pool, image.c_str(), &opened, nullptr)
                   : rbd_open_read_only(pool, image.c_str(), &opened, nullptr);
  if (result < 0) return result;
  result = work(opened);
  rbd_close(opened);
  return result;
}

int ReadInfo(rbd_image_t image) {
  rbd_mirror_image_info_t info{};
  int result = rbd_mirror_image_get_info(image, &info, sizeof(info));
  if (result < 0) return result;
  rbd_mirror_image_get_info_cleanup(&info);
  rbd_mirror_image_global_status_t status{};
  result = rbd_mirror_image_get_global_status(image, &status, sizeof(status));
  if (result < 0) return result;
  rbd_mirror_image_global_status_cleanup(&status);
  return 0;
}

/// A text that is before `id`, and after every other id before it: what a list
/// has to begin after to show this one first.
std::string JustBefore(std::string id) {
  if (id.empty()) return id;
  --id.back();
  return id + "\x7f";
}

/// The same by the lists of the pool, of which one entry is asked for.
int ReadInfoFromLists(rados_ioctx_t pool, const std::string& id) {
  const std::string start = JustBefore(id);
  size_t count = 1;
  rbd_mirror_image_mode_t mode{};
  char* info_id = nullptr;
  rbd_mirror_image_info_t info{};
  int result = rbd_mirror_image_info_list(pool, nullptr, start.c_str(), count,
                                          &info_id, &mode, &info, &count);
  if (result < 0) return result;
  const bool found = count == 1 && id == info_id;
  rbd_mirror_image_info_list_cleanup(&info_id, &info, count);
  char* status_id = nullptr;
  rbd_mirror_image_global_status_t status{};
  count = 1;
  result = rbd_mirror_image_global_status_list(pool, start.c_str(), count,
                                               &status_id, &status, &count);
  if (result < 0) return result;
  rbd_mirror_image_global_status_list_cleanup(&status_id, &status, count);
  return found ? 0 : -ENOENT;
}

/// As soon as rbd-mirror lets go of it, which a server waits for, too.
int Promote(rbd_image_t image, bool force) {
  constexpr std::chrono::milliseconds kPause{100};
  constexpr std::chrono::seconds kPatience{60};
  const auto until = steady_clock::now() + kPatience;
  while (true) {
    const int result = rbd_mirror_image_promote(image, force);
    const bool busy = result == -EBUSY || result == -EROFS || result == -EAGAIN;
    if (!busy || steady_clock::now() >= until) return result;
    std::this_thread::sleep_for(kPause);
  }
}

/// Whether the newest snapshot is a whole mirror snapshot of this state: 0, or
/// -EAGAIN.
int IsNewest(rbd_image_t image, rbd_snap_mirror_state_t state) {
  std::vector<rbd_snap_info_t> snapshots(64);
  int count = static_cast<int>(snapshots.size());
  const int result = rbd_snap_list(image, snapshots.data(), &count);
  if (result < 0) return result;
  if (result == 0) return -EAGAIN;
  const uint64_t newest = snapshots[static_cast<size_t>(result) - 1].id;
  rbd_snap_list_end(snapshots.data());
  rbd_snap_mirror_namespace_t mirror{};
  const int read =
      rbd_snap_get_mirror_namespace(image, newest, &mirror, sizeof(mirror));
  if (read < 0) return read == -EINVAL ? -EAGAIN : read;
  const bool is = mirror.state == state && mirror.complete;
  rbd_snap_mirror_namespace_cleanup(&mirror, sizeof(mirror));
  return is ? 0 : -EAGAIN;
}

constexpr size_t kObjectSize = 4u << 20;

/// Every second object zeros, the others something.
int WriteHalfZero(rbd_image_t image) {
  uint64_t size = 0;
  const int result = rbd_get_size(image, &size);
  if (result < 0) return result;
  std::string object(kObjectSize, '\0');
  for (uint64_t at = 0; at + object.size() <= size; at += object.size()) {
    object.assign(object.size(), at / object.size() % 2 == 0 ? '\0' : 'x');
    const ssize_t written = rbd_write(image, at, object.size(), object.data());
    if (written < 0) return static_cast<int>(written);
  }
  return rbd_flush(image);
}

int Blocklist(rados_t cluster, const char* operation,
              const std::string& range) {
  const std::string command = absl::StrCat(
      R"({"prefix":"osd blocklist","range":"range","blocklistop":")", operation,
      R"(","addr":")", range, R"("})");
  const char* commands[] = {command.c_str()};
  char* output = nullptr;
  char* status = nullptr;
  size_t output_size = 0;
  size_t status_size = 0;
  const int result =
      rados_mon_command(cluster, commands, 1, nullptr, 0, &output, &output_size,
                        &status, &status_size);
  rados_buffer_free(output);
  rados_buffer_free(status);
  return result;
}

}  // namespace

const std::map<std::string, CephWork>& AllCephWork() {
  const auto on_image = [](bool writable,
                           const std::function<int(rbd_image_t)>& work) {
    return [writable, work](rados_t, rados_ioctx_t pool,
                            const std::string& image) {
      return WithImage(pool, image, writable, work);
    };
  };
  static const auto* const kAll = new std::map<std::string, CephWork>{
      {"info", on_image(false, &ReadInfo)},
      {kInfoFromLists,
       [](rados_t, rados_ioctx_t pool, const std::string& id) {
         return ReadInfoFromLists(pool, id);
       }},
      {"enable", on_image(true,
                          [](rbd_image_t image) {
                            return rbd_mirror_image_enable2(
                                image, RBD_MIRROR_IMAGE_MODE_SNAPSHOT);
                          })},
      {"demote", on_image(true, &rbd_mirror_image_demote)},
      {"promote",
       on_image(true, [](rbd_image_t image) { return Promote(image, false); })},
      {"promote-force",
       on_image(true, [](rbd_image_t image) { return Promote(image, true); })},
      {"disable", on_image(true,
                           [](rbd_image_t image) {
                             return rbd_mirror_image_disable(image, false);
                           })},
      {"demoted", on_image(false,
                           [](rbd_image_t image) {
                             return IsNewest(
                                 image,
                                 RBD_SNAP_MIRROR_STATE_NON_PRIMARY_DEMOTED);
                           })},
      {"follows", on_image(false,
                           [](rbd_image_t image) {
                             return IsNewest(image,
                                             RBD_SNAP_MIRROR_STATE_NON_PRIMARY);
                           })},
      {"half-zero", on_image(true, &WriteHalfZero)},
      {"sparsify", on_image(true,
                            [](rbd_image_t image) {
                              return rbd_sparsify(image, kObjectSize);
                            })},
      {"fence",
       [](rados_t cluster, rados_ioctx_t, const std::string& range) {
         return Blocklist(cluster, "add", range);
       }},
      {"unfence",
       [](rados_t cluster, rados_ioctx_t, const std::string& range) {
         return Blocklist(cluster, "rm", range);
       }},
  };
  return *kAll;
}

std::string ImageIdOf(rados_ioctx_t pool, const std::string& image) {
  std::array<char, 1024> id{};
  const int result = WithImage(pool, image, false, [&id](rbd_image_t opened) {
    return rbd_get_id(opened, id.data(), id.size());
  });
  if (result < 0) {
    throw std::runtime_error(absl::StrCat(image, ": ", strerror(-result)));
  }
  return id.data();
}

}  // namespace addons
