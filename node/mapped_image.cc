#include "node/mapped_image.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/image_name.h"
#include "base/status_macros.h"
#include "node/kernel_clients.h"
#include "node/mount_table.h"
#include "node/rbd_nbd_command.h"
#include "node/small_file.h"

namespace addons {
namespace {

/// The number in "rbd12" for the prefix "rbd"; nullopt for other names.
std::optional<uint64_t> NumberAfter(absl::string_view prefix,
                                    absl::string_view name) {
  uint64_t number = 0;
  if (!absl::ConsumePrefix(&name, prefix) || !absl::SimpleAtoi(name, &number)) {
    return std::nullopt;
  }
  return number;
}

absl::Status Unknown(const BlockLayer& layer, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(
      "device ", layer.name, " is not known to be an image: ", why));
}

absl::StatusOr<MappedImage> IdentifyKrbd(const LinuxRoots& roots,
                                         const BlockLayer& layer,
                                         uint64_t number) {
  const std::string directory =
      absl::StrCat(roots.sys, "/bus/rbd/devices/", number, "/");
  KernelClient client = ReadKernelClient(roots, absl::StrCat(number));
  if (client.pool.empty() || client.image.empty()) {
    return Unknown(layer, absl::StrCat(directory, " names no pool and image"));
  }
  MappedImage image;
  image.device = layer.name;
  image.pool = std::move(client.pool);
  image.image = ImageName(std::move(client.image));
  image.rados_namespace = std::move(client.rados_namespace);
  image.fsid = std::move(client.fsid);
  if (const auto id = ReadNumber(directory + "pool_id")) {
    image.pool_id = static_cast<int64_t>(*id);
  }
  return image;
}

absl::StatusOr<MappedImage> IdentifyNbd(const LinuxRoots& roots,
                                        const BlockLayer& layer) {
  MappedImage image;
  image.device = layer.name;
  image.tag = ReadAttribute(layer.directory + "/backend").value_or("");
  const auto pid = ReadNumber(layer.directory + "/pid");
  if (pid) {
    const auto command =
        ReadSmallFile(absl::StrCat(roots.proc, "/", *pid, "/cmdline"));
    const auto served = command ? ParseRbdNbdCommand(*command) : std::nullopt;
    if (served) {
      image.pool = served->pool;
      image.rados_namespace = served->rados_namespace;
      image.image = served->image;
      image.encrypted = served->encrypted;
    }
  }
  if (image.pool.empty() && image.tag.empty()) {
    return Unknown(
        layer,
        "the process that serves it is not seen, or is not an rbd-nbd that "
        "maps an image (this daemon needs hostPID to see it)");
  }
  return image;
}

absl::StatusOr<MappedImage> IdentifyExport(const LinuxRoots& roots,
                                           const std::string& image_exports,
                                           const BlockLayer& layer) {
  const auto file = ReadAttribute(layer.directory + "/loop/backing_file");
  absl::string_view inside = file ? absl::string_view(*file) : "";
  if (image_exports.empty() || !absl::ConsumePrefix(&inside, image_exports) ||
      !absl::ConsumePrefix(&inside, "/")) {
    return Unknown(layer, "loop devices are files, not images");
  }
  ADDONS_ASSIGN_OR_RETURN(const MountTable table, MountTable::Read(roots));
  const MountEntry* mount = table.FindByMountPoint(*file);
  if (mount == nullptr || !absl::StartsWith(mount->filesystem, "fuse")) {
    return Unknown(layer, absl::StrCat("'", *file, "' is an ordinary file"));
  }
  const std::vector<std::string> parts = absl::StrSplit(inside, '/');
  MappedImage image;
  image.device = layer.name;
  if (parts.size() == 2) {
    image.pool = parts[0];
    image.image = ImageName(parts[1]);
  } else if (parts.size() == 3) {
    image.pool = parts[0];
    image.rados_namespace = parts[1];
    image.image = ImageName(parts[2]);
  } else {
    return Unknown(layer,
                   absl::StrCat("'", inside,
                                "' does not name a pool, namespace and image"));
  }
  return image;
}

}  // namespace

std::string MappedImage::Describe() const {
  if (pool.empty()) {
    return absl::StrCat("device ", device, " with the tag '", tag, "'");
  }
  return absl::StrCat("image '", RbdSpec(pool, rados_namespace, image.text()),
                      "' (device ", device, ")");
}

absl::StatusOr<MappedImage> IdentifyImage(const LinuxRoots& roots,
                                          const std::string& image_exports,
                                          const BlockLayer& lowest) {
  if (const auto number = NumberAfter("rbd", lowest.name)) {
    return IdentifyKrbd(roots, lowest, *number);
  }
  if (NumberAfter("nbd", lowest.name)) return IdentifyNbd(roots, lowest);
  if (NumberAfter("loop", lowest.name)) {
    return IdentifyExport(roots, image_exports, lowest);
  }
  return Unknown(lowest, "it is neither krbd nor rbd-nbd");
}

}  // namespace addons
