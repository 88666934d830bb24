#ifndef ADDONS_TESTS_TESTING_LINUX_TREE_H_
#define ADDONS_TESTS_TESTING_LINUX_TREE_H_

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "node/linux_roots.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {

/// A folder that looks like the parts of /proc and /sys that show block devices
/// and mounts. Disks discard and have 4 GiB unless said otherwise.
class LinuxTree {
 public:
  static constexpr uint64_t kBytes = uint64_t{4} << 30;

  LinuxRoots roots() const {
    return {dir_.File("proc"), dir_.File("sys"), dir_.File("dev")};
  }
  const std::string& path() const { return dir_.path(); }

  /// A device without others below it, with the number "major:minor".
  void AddDisk(const std::string& name, const std::string& number) {
    const std::string disk = Disk(name);
    Write(disk + "/size", absl::StrCat(kBytes / 512));
    SetDiscard(name, uint64_t{4} << 20, 65536);
    std::filesystem::create_directories(dir_.File("sys/dev/block"));
    std::filesystem::create_directory_symlink(
        dir_.File(disk), dir_.File("sys/dev/block/" + number));
  }
  void AddPartition(const std::string& disk, const std::string& name,
                    const std::string& number) {
    const std::string partition = Disk(disk) + "/" + name;
    Write(partition + "/partition", "1");
    Write(partition + "/size", absl::StrCat(kBytes / 512));
    std::filesystem::create_directory_symlink(
        dir_.File(partition), dir_.File("sys/dev/block/" + number));
  }
  /// Puts `upper`, a disk already, on `lower`, as device mapper does.
  void Stack(const std::string& upper, const std::string& lower,
             const std::string& uuid, const std::string& name) {
    const std::string slaves = Disk(upper) + "/slaves";
    std::filesystem::create_directories(dir_.File(slaves));
    std::filesystem::create_directory_symlink(dir_.File(Disk(lower)),
                                              dir_.File(slaves + "/" + lower));
    Write(Disk(upper) + "/dm/uuid", uuid);
    Write(Disk(upper) + "/dm/name", name);
  }
  void SetDiscard(const std::string& name, uint64_t max_bytes,
                  uint64_t granularity) {
    const std::string queue = Disk(name) + "/queue";
    Write(queue + "/discard_max_bytes", absl::StrCat(max_bytes, "\n"));
    Write(queue + "/discard_granularity", absl::StrCat(granularity, "\n"));
  }

  struct Krbd {
    std::string pool = "replicapool";
    std::string pool_id = "2";
    std::string rados_namespace;
    std::string image;
    std::string fsid;
    std::string address{};
  };
  /// What the kernel says of /dev/rbd<number>.
  void SetKrbd(int number, const Krbd& krbd) {
    const std::string device = absl::StrCat("sys/bus/rbd/devices/", number);
    Write(device + "/pool", krbd.pool + "\n");
    Write(device + "/pool_id", krbd.pool_id + "\n");
    Write(device + "/pool_ns", krbd.rados_namespace + "\n");
    Write(device + "/name", krbd.image + "\n");
    Write(device + "/cluster_fsid", krbd.fsid + "\n");
    Write(device + "/client_addr", krbd.address + "\n");
  }
  void RemoveKrbd(int number) {
    std::filesystem::remove_all(
        dir_.File(absl::StrCat("sys/bus/rbd/devices/", number)));
  }
  /// A kernel without the module rbd, which has other buses.
  void AddOtherBus() { Write("sys/bus/pci/drivers_probe", ""); }
  /// The process that serves a disk nbd<n>; `command` with NUL bytes.
  void SetNbdServer(const std::string& name, int pid,
                    const std::string& command) {
    Write(Disk(name) + "/pid", absl::StrCat(pid, "\n"));
    Write(absl::StrCat("proc/", pid, "/cmdline"), command);
  }
  /// An attribute of a disk, "backend" for instance.
  void SetAttribute(const std::string& name, const std::string& attribute,
                    const std::string& value) {
    Write(Disk(name) + "/" + attribute, value);
  }
  void SetMountInfo(const std::string& text) {
    Write("proc/self/mountinfo", text);
  }

 private:
  static std::string Disk(const std::string& name) {
    return "sys/devices/virtual/block/" + name;
  }
  void Write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories(
        std::filesystem::path(dir_.File(file)).parent_path());
    std::ofstream(dir_.File(file)) << text;
  }

  const TempDir dir_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_LINUX_TREE_H_
