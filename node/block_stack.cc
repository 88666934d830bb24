#include "node/block_stack.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "node/small_file.h"

namespace addons {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDeepest = 16;
constexpr uint64_t kSectorBytes = 512;

bool Exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Reading a directory that vanishes meanwhile ends with what was read.
std::vector<std::string> Names(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Partitions have no queue of their own.
BlockLayer ReadLayer(const std::string& directory, const std::string& queue) {
  BlockLayer layer;
  layer.name = fs::path(directory).filename().string();
  layer.directory = directory;
  layer.discard_max_bytes =
      ReadNumber(queue + "/discard_max_bytes").value_or(0);
  layer.discard_granularity =
      ReadNumber(queue + "/discard_granularity").value_or(0);
  const auto uuid = ReadAttribute(directory + "/dm/uuid");
  const auto name = ReadAttribute(directory + "/dm/name");
  if (name) layer.mapper = absl::StrCat(uuid.value_or(""), " '", *name, "'");
  return layer;
}

absl::StatusOr<std::string> Canonical(const std::string& path) {
  std::error_code error;
  fs::path canonical = fs::canonical(path, error);
  if (error) {
    return absl::InternalError(
        absl::StrCat("Failed to follow ", path, ": ", error.message()));
  }
  return canonical.string();
}

}  // namespace

std::string BlockLayer::Kind() const {
  if (mapper.empty()) return "";
  // The uuid begins with the name of the subsystem that made the device.
  if (absl::StartsWith(mapper, "CRYPT-LUKS")) {
    return "LUKS: opened without allow-discards";
  }
  if (absl::StartsWith(mapper, "CRYPT-")) {
    return "dm-crypt: opened without allow_discards";
  }
  if (absl::StartsWith(mapper, "mpath-")) return "multipath";
  if (absl::StartsWith(mapper, "LVM-")) return "LVM";
  return "device mapper, not LUKS";
}

std::string BlockLayer::Describe() const {
  if (mapper.empty()) return name;
  return absl::StrCat(name, " (device mapper ", mapper, ")");
}

const BlockLayer* BlockStack::WithoutDiscard() const {
  const auto it = std::find_if(
      layers.rbegin(), layers.rend(),
      [](const BlockLayer& layer) { return layer.discard_max_bytes == 0; });
  return it == layers.rend() ? nullptr : &*it;
}

const BlockLayer& BlockStack::Coarsest() const {
  return *std::max_element(layers.begin(), layers.end(),
                           [](const BlockLayer& a, const BlockLayer& b) {
                             return a.discard_granularity <
                                    b.discard_granularity;
                           });
}

absl::StatusOr<BlockStack> ReadBlockStack(const LinuxRoots& roots,
                                          DeviceNumber device) {
  const std::string link =
      absl::StrCat(roots.sys, "/dev/block/", device.ToString());
  if (!Exists(link)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the filesystem lies on no block device (", device.ToString(), ")"));
  }
  ADDONS_ASSIGN_OR_RETURN(std::string directory, Canonical(link));
  BlockStack stack;
  stack.size_bytes = ReadNumber(directory + "/size").value_or(0) * kSectorBytes;
  while (stack.layers.size() < kDeepest) {
    if (Exists(directory + "/partition")) {
      const std::string disk = fs::path(directory).parent_path().string();
      stack.layers.push_back(ReadLayer(directory, disk + "/queue"));
      directory = disk;
      continue;
    }
    stack.layers.push_back(ReadLayer(directory, directory + "/queue"));
    const std::vector<std::string> below = Names(directory + "/slaves");
    if (below.empty()) return stack;
    if (below.size() > 1) {
      return absl::FailedPreconditionError(
          absl::StrCat(stack.layers.back().Describe(), " consists of ",
                       below.size(), " devices, not of one volume"));
    }
    ADDONS_ASSIGN_OR_RETURN(
        directory,
        Canonical(absl::StrCat(directory, "/slaves/", below.front())));
  }
  return absl::InternalError(absl::StrCat("block device ", device.ToString(),
                                          " lies on more than ", kDeepest,
                                          " others"));
}

}  // namespace addons
