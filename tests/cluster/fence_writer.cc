// A workload of a host that may be fenced: writes to an image all the time,
// connects anew after each error, and says what happened, one line per write or
// attempt: "<begun> <ended> <result>", times in nanoseconds of the machine's
// monotonic clock, results as of librbd. It ends with its parent.
//
//   fence_writer CEPH_CONF POOL IMAGE

#include <rados/librados.h>
#include <rbd/librbd.h>
#include <sys/prctl.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

namespace {

constexpr size_t kBlock = 4096;
constexpr uint64_t kObject = uint64_t{4} << 20;
constexpr std::chrono::milliseconds kPause{10};

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Report(int64_t begun, int result) {
  std::printf("%lld %lld %d\n", static_cast<long long>(begun),
              static_cast<long long>(Now()), result);
  std::fflush(stdout);
}

/// Writes until something fails.
void WriteOn(rbd_image_t image) {
  rbd_image_info_t info{};
  rbd_stat(image, &info, sizeof(info));
  const std::string block(kBlock, 'x');
  for (uint64_t n = 0;; ++n) {
    // Objects in turn, so that all placement groups are written to.
    const uint64_t offset = (n * kObject) % info.size;
    const int64_t begun = Now();
    const auto written = rbd_write(image, offset, block.size(), block.data());
    Report(begun, written < 0 ? static_cast<int>(written) : 0);
    if (written < 0) return;
    std::this_thread::sleep_for(kPause);
  }
}

/// One life of a client.
void Live(const char* conf, const char* pool, const char* name) {
  const int64_t begun = Now();
  rados_t cluster = nullptr;
  int result = rados_create(&cluster, "admin");
  if (result == 0) result = rados_conf_read_file(cluster, conf);
  if (result == 0) {
    rados_conf_set(cluster, "rbd_cache", "false");
    rados_conf_set(cluster, "client_mount_timeout", "10");
    result = rados_connect(cluster);
  }
  rados_ioctx_t ioctx = nullptr;
  rbd_image_t image = nullptr;
  if (result == 0) result = rados_ioctx_create(cluster, pool, &ioctx);
  if (result == 0) result = rbd_open(ioctx, name, &image, nullptr);
  if (result == 0) {
    WriteOn(image);
    rbd_close(image);
  } else {
    Report(begun, result);
  }
  if (ioctx != nullptr) rados_ioctx_destroy(ioctx);
  rados_shutdown(cluster);
}

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc != 4) return 2;
  for (;;) {
    Live(argv[1], argv[2], argv[3]);
    std::this_thread::sleep_for(kPause);
  }
}
