#ifndef ADDONS_TESTS_TESTING_FAKE_NODE_H_
#define ADDONS_TESTS_TESTING_FAKE_NODE_H_

#include <fcntl.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/unique_fd.h"
#include "node/filesystem.h"
#include "node/mounted_directory.h"
#include "reclaimspace/trim.h"
#include "tests/testing/linux_tree.h"

namespace addons::testing {

/// A node on which volumes are mounted, without mounting anything: the sysfs
/// tree is a fixture, opening and trimming are played. Every path is the mount
/// of the device 252:0, rbd0. Thread-safe except for `tree`.
class FakeNode {
 public:
  static constexpr uint64_t kGiB = uint64_t{1} << 30;

  FakeNode() { tree.AddDisk("rbd0", "252:0"); }

  /// The mount as it is seen from now on; `mounts` 0: nothing is mounted.
  void SetMount(MountEntry mount, size_t mounts) {
    MutexLock lock(mutex_);
    mount_ = std::move(mount);
    mounts_ = mounts;
  }
  static MountEntry Mount(DeviceNumber device = {252, 0}) {
    MountEntry mount;
    mount.id = 40;
    mount.device = device;
    mount.mount_point = "/staging/volume";
    mount.filesystem = "ext4";
    mount.source = "/dev/rbd0";
    return mount;
  }
  /// Plays the ioctl; default: nothing to trim.
  void SetTrim(std::function<absl::StatusOr<uint64_t>(const TrimRange&)> trim) {
    MutexLock lock(mutex_);
    trim_ = std::move(trim);
  }

  std::vector<TrimRange> trims() const {
    MutexLock lock(mutex_);
    return trims_;
  }
  std::vector<std::string> opened() const {
    MutexLock lock(mutex_);
    return opened_;
  }

  TrimEnvironment Environment(Resolver& resolver, ConfigStore& config) {
    TrimEnvironment environment{resolver, config, stats};
    environment.roots = tree.roots();
    environment.open = [this](const LinuxRoots&, const std::string& path) {
      return Open(path);
    };
    environment.trim = [this](int fd, const TrimRange& range) {
      return Trim(fd, range);
    };
    return environment;
  }

  LinuxTree tree;
  TrimStats stats;

 private:
  absl::StatusOr<MountedDirectory> Open(const std::string& path) {
    MutexLock lock(mutex_);
    opened_.push_back(path);
    if (mounts_ == 0) {
      return absl::FailedPreconditionError("no filesystem is mounted there");
    }
    MountedDirectory directory;
    directory.fd = UniqueFd(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    directory.mount = mount_;
    directory.mounts = mounts_;
    return directory;
  }
  absl::StatusOr<uint64_t> Trim(int fd, const TrimRange& range) {
    std::function<absl::StatusOr<uint64_t>(const TrimRange&)> play;
    {
      MutexLock lock(mutex_);
      trims_.push_back(range);
      play = trim_;
    }
    if (fcntl(fd, F_GETFD) < 0) return absl::UnknownError("closed descriptor");
    return play ? play(range) : absl::StatusOr<uint64_t>(0);
  }

  mutable Mutex mutex_;
  MountEntry mount_ ABSL_GUARDED_BY(mutex_) = Mount();
  size_t mounts_ ABSL_GUARDED_BY(mutex_) = 2;
  std::function<absl::StatusOr<uint64_t>(const TrimRange&)> trim_
      ABSL_GUARDED_BY(mutex_);
  std::vector<TrimRange> trims_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> opened_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_FAKE_NODE_H_
