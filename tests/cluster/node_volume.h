#ifndef ADDONS_TESTS_CLUSTER_NODE_VOLUME_H_
#define ADDONS_TESTS_CLUSTER_NODE_VOLUME_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace addons::testing {

struct CommandResult {
  bool ok = false;     // it exited with 0
  std::string output;  // standard output and error
};
/// Runs a program, without a shell, and waits for its end.
CommandResult RunCommand(const std::vector<std::string>& arguments);

/// Gives this program, as long as it has one thread, and its children a mount
/// namespace of their own, so that no mount survives them, however they end.
/// False: it may not (not root).
bool EnterOwnMountNamespace();

/// Whether this machine can do what NodeVolume needs.
bool CanMountImages();

/// A volume of site a that is staged on this machine as ceph-csi would do it
/// with krbd, by other means: the image is exported as a file through FUSE by
/// qemu-storage-daemon, which a loop device with a filesystem lies on.
/// Everything ends with this object, and with the test program.
class NodeVolume {
 public:
  /// Makes volume and filesystem ("ext4", "xfs"; "": none) and exports the
  /// image in `exports`. A failure fails the test; check ok().
  NodeVolume(const std::string& exports, const std::string& filesystem,
             const std::string& size = "4G");
  ~NodeVolume();
  NodeVolume(const NodeVolume&) = delete;
  NodeVolume& operator=(const NodeVolume&) = delete;

  bool ok() const { return ok_; }
  const std::string& id() const { return id_; }
  const std::string& image() const { return image_; }

  /// Makes a loop device of the image, as krbd maps one, without a filesystem
  /// on it; returns it, or an empty text. It ends with this object.
  std::string Map();
  /// Ends it.
  void Unmap() { loop_.Reset(); }
  /// Mounts the filesystem at `directory`, which is made if need be; `options`
  /// are those of mount(8).
  bool Mount(const std::string& directory, const std::string& options = "loop");
  /// Writes `mebibytes` of noise to the filesystem and deletes it again, so
  /// that the image holds what the filesystem does not. It is mounted.
  void LeaveGarbage(int mebibytes);
  /// What the pool stores of the image, by `rbd du`.
  uint64_t UsedBytes() const;

 private:
  bool Export(const std::string& exports);

  bool ok_ = false;
  std::string id_;
  std::string image_;
  std::string file_;  // the exported image
  std::string mounted_at_;
  pid_t exporter_ = -1;
  UniqueFd loop_;  // the last one who has it open
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_NODE_VOLUME_H_
