#include "node/mapped_devices.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/unique_fd.h"
#include "node/block_stack.h"
#include "node/small_file.h"

namespace addons {
namespace {

namespace fs = std::filesystem;

/// "252:0".
std::optional<DeviceNumber> ParseNumber(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  DeviceNumber number;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &number.major) ||
      !absl::SimpleAtoi(parts[1], &number.minor)) {
    return std::nullopt;
  }
  return number;
}

/// Whether a disk of this name can be an image at all: others are not looked
/// into.
bool MayBeImage(absl::string_view name) {
  return absl::StartsWith(name, "rbd") || absl::StartsWith(name, "nbd") ||
         absl::StartsWith(name, "loop");
}

std::optional<MappedDevice> Identify(const LinuxRoots& roots,
                                     const std::string& image_exports,
                                     DeviceNumber number) {
  const auto stack = ReadBlockStack(roots, number);
  // A partition, or something that lies on an image, is not the image.
  if (!stack.ok() || stack->layers.size() != 1) return std::nullopt;
  auto image = IdentifyImage(roots, image_exports, stack->lowest());
  if (!image.ok()) return std::nullopt;
  MappedDevice device;
  device.image = *std::move(image);
  device.number = number;
  device.read_only =
      ReadNumber(stack->lowest().directory + "/ro").value_or(0) != 0;
  return device;
}

}  // namespace

std::vector<MappedDevice> ListMappedDevices(const LinuxRoots& roots,
                                            const std::string& image_exports) {
  std::vector<MappedDevice> devices;
  std::error_code error;
  for (fs::directory_iterator it(roots.sys + "/dev/block", error), end;
       !error && it != end; it.increment(error)) {
    const auto number = ParseNumber(it->path().filename().string());
    std::error_code gone;
    const fs::path directory = fs::canonical(it->path(), gone);
    if (!number || gone || !MayBeImage(directory.filename().string())) continue;
    if (auto device = Identify(roots, image_exports, *number)) {
      devices.push_back(*std::move(device));
    }
  }
  std::sort(devices.begin(), devices.end(),
            [](const MappedDevice& a, const MappedDevice& b) {
              return a.image.device < b.image.device;
            });
  return devices;
}

std::string NodePath(const LinuxRoots& roots, const MappedDevice& device) {
  return absl::StrCat(roots.dev, "/", device.image.device);
}

absl::Status CheckDeviceNode(const LinuxRoots& roots,
                             const MappedDevice& device) {
  const std::string path = NodePath(roots, device);
  const UniqueFd fd(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) {
    const int error = errno;
    const std::string text =
        absl::StrCat("Failed to open device ", path, ": ",
                     std::generic_category().message(error));
    if (error == EPERM || error == EACCES) {
      return absl::PermissionDeniedError(absl::StrCat(
          text, "; the container of this daemon must be privileged"));
    }
    if (error == ENOENT || error == ENXIO) {
      return absl::FailedPreconditionError(absl::StrCat(
          text,
          "; the node's /dev must be mounted into the container of this "
          "daemon"));
    }
    return absl::UnavailableError(text);
  }
  struct stat info {};
  if (fstat(fd.get(), &info) != 0 || !S_ISBLK(info.st_mode) ||
      DeviceNumber::Of(info.st_rdev) != device.number) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, " is not the block device ", device.number.ToString(),
        "; the node's /dev must be mounted into the container of "
        "this daemon"));
  }
  return absl::OkStatus();
}

}  // namespace addons
