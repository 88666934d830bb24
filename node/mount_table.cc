#include "node/mount_table.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "node/small_file.h"

namespace addons {
namespace {

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

// The kernel writes space, tab, newline and backslash as \ooo.
std::string Unescape(absl::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && text.size() - i > 3 && IsOctal(text[i + 1]) &&
        IsOctal(text[i + 2]) && IsOctal(text[i + 3])) {
      const int code = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                       (text[i + 3] - '0');
      plain.push_back(static_cast<char>(code));
      i += 3;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

std::optional<DeviceNumber> ParseDevice(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  DeviceNumber device;
  if (!absl::SimpleAtoi(parts.first, &device.major) ||
      !absl::SimpleAtoi(parts.second, &device.minor)) {
    return std::nullopt;
  }
  return device;
}

// "36 35 98:0 /root /mount/point rw,noatime master:1 - ext3 /dev/root rw,..."
// with any number of fields before the "-".
std::optional<MountEntry> ParseLine(absl::string_view line) {
  enum Field { kId, kParent, kDevice, kRoot, kMountPoint, kOptions, kTags };
  enum Tail { kType, kSource, kSuperOptions, kTailFields };
  const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
  if (fields.size() < kTags) return std::nullopt;
  const auto dash = std::find(fields.begin() + kTags, fields.end(), "-");
  if (fields.end() - dash <= kTailFields) return std::nullopt;
  const auto tail = dash + 1;

  MountEntry entry;
  const std::optional<DeviceNumber> device = ParseDevice(fields[kDevice]);
  if (!absl::SimpleAtoi(fields[kId], &entry.id) || !device) return std::nullopt;
  entry.device = *device;
  entry.mount_point = Unescape(fields[kMountPoint]);
  entry.filesystem = Unescape(tail[kType]);
  entry.source = Unescape(tail[kSource]);
  const std::vector<absl::string_view> options =
      absl::StrSplit(tail[kSuperOptions], ',');
  entry.filesystem_read_only =
      std::find(options.begin(), options.end(), "ro") != options.end();
  return entry;
}

}  // namespace

MountTable MountTable::Parse(absl::string_view text) {
  MountTable table;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    std::optional<MountEntry> entry = ParseLine(line);
    if (entry) table.entries_.push_back(*std::move(entry));
  }
  return table;
}

absl::StatusOr<MountTable> MountTable::Read(const LinuxRoots& roots) {
  const std::string path = roots.proc + "/self/mountinfo";
  const std::optional<std::string> text = ReadSmallFile(path);
  if (!text) {
    return absl::InternalError(
        absl::StrCat("Failed to read ", path, ": ", strerror(errno)));
  }
  return Parse(*text);
}

const MountEntry* MountTable::FindById(uint64_t id) const {
  const auto it =
      std::find_if(entries_.begin(), entries_.end(),
                   [id](const MountEntry& entry) { return entry.id == id; });
  return it == entries_.end() ? nullptr : &*it;
}

const MountEntry* MountTable::FindByMountPoint(absl::string_view path) const {
  // Later lines lie over earlier ones.
  const auto it = std::find_if(
      entries_.rbegin(), entries_.rend(),
      [path](const MountEntry& entry) { return entry.mount_point == path; });
  return it == entries_.rend() ? nullptr : &*it;
}

size_t MountTable::CountOf(DeviceNumber device) const {
  return static_cast<size_t>(std::count_if(
      entries_.begin(), entries_.end(),
      [device](const MountEntry& entry) { return entry.device == device; }));
}

}  // namespace addons
