#include "node/mounted_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "node/small_file.h"

namespace addons {
namespace {

struct SplitPath {
  std::string parent;
  std::string name;
};

SplitPath Split(absl::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return {".", std::string(path)};
  return {std::string(slash == 0 ? "/" : path.substr(0, slash)),
          std::string(path.substr(slash + 1))};
}

absl::Status Refused(const std::string& path, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("Nothing to trim at '", path, "': ", why));
}

absl::Status NotMounted(const std::string& path) {
  return Refused(path,
                 "no filesystem is mounted exactly there. If the volume is in "
                 "use on this node, this daemon does not see kubelet's mounts: "
                 "its container needs kubelet's directory with "
                 "mountPropagation HostToContainer");
}

absl::Status NotOpened(const std::string& path, int error) {
  if (error != EACCES) return Refused(path, strerror(error));
  return Refused(path,
                 "this daemon may not open it: its container or unit needs "
                 "root with CAP_DAC_READ_SEARCH, and the type spc_t where "
                 "SELinux is enforced");
}

absl::StatusOr<uint64_t> MountIdOf(const LinuxRoots& roots, int fd) {
  const std::string path = absl::StrCat(roots.proc, "/self/fdinfo/", fd);
  const std::optional<std::string> text = ReadSmallFile(path);
  if (text) {
    for (absl::string_view line : absl::StrSplit(*text, '\n')) {
      uint64_t id = 0;
      if (absl::ConsumePrefix(&line, "mnt_id:") &&
          absl::SimpleAtoi(line, &id)) {
        return id;
      }
    }
  }
  return absl::InternalError(
      absl::StrCat("Failed to read a mount id from ", path));
}

// The kernel may leave lines out when mounts change while it is being read.
absl::StatusOr<MountTable> ReadTableWith(const LinuxRoots& roots, uint64_t id) {
  constexpr int kTries = 3;
  for (int i = 1;; ++i) {
    ADDONS_ASSIGN_OR_RETURN(MountTable table, MountTable::Read(roots));
    if (i == kTries || table.FindById(id) != nullptr) return table;
  }
}

}  // namespace

absl::StatusOr<MountedDirectory> OpenMountedDirectory(const LinuxRoots& roots,
                                                      const std::string& path) {
  const SplitPath split = Split(path);
  if (split.name.empty()) return Refused(path, "it is the root directory");
  // O_PATH asks nothing of the filesystem that is mounted there.
  const UniqueFd parent(
      open(split.parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid()) return NotOpened(path, errno);
  const UniqueFd place(openat(parent.get(), split.name.c_str(),
                              O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!place.valid()) return NotOpened(path, errno);

  struct stat info {};
  if (fstat(place.get(), &info) != 0) return Refused(path, strerror(errno));
  if (S_ISLNK(info.st_mode)) return Refused(path, "it is a symbolic link");
  if (S_ISBLK(info.st_mode)) {
    return absl::UnimplementedError(absl::StrCat(
        "'", path, "' is a block device: only filesystems are trimmed"));
  }
  if (!S_ISDIR(info.st_mode)) return Refused(path, "it is no directory");

  ADDONS_ASSIGN_OR_RETURN(const uint64_t above, MountIdOf(roots, parent.get()));
  ADDONS_ASSIGN_OR_RETURN(const uint64_t id, MountIdOf(roots, place.get()));
  if (id == above) return NotMounted(path);
  ADDONS_ASSIGN_OR_RETURN(const MountTable table, ReadTableWith(roots, id));
  const MountEntry* entry = table.FindById(id);
  if (entry == nullptr) return NotMounted(path);

  MountedDirectory directory;
  directory.mount = *entry;
  directory.mounts = table.CountOf(entry->device);
  directory.fd =
      UniqueFd(openat(place.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.fd.valid() || fstat(directory.fd.get(), &info) != 0) {
    return NotOpened(path, errno);
  }
  if (DeviceNumber::Of(info.st_dev) != entry->device) {
    return Refused(
        path,
        absl::StrCat("the ", entry->filesystem, " there says device ",
                     DeviceNumber::Of(info.st_dev).ToString(),
                     ", but the mount table says ", entry->device.ToString()));
  }
  return directory;
}

}  // namespace addons
