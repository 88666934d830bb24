#include "volume/group_directory.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "volume/reserved_name.h"

namespace addons {
namespace {

constexpr char kKeyPrefix[] = "csi.volume.group.";

std::string KeyOf(const std::string& request_name) {
  return absl::StrCat(kKeyPrefix, request_name);
}

}  // namespace

absl::StatusOr<std::optional<std::string>> GroupDirectory::Find(
    const std::string& request_name) {
  auto uuid = pool_.ReadOmapKey(object_, KeyOf(request_name));
  if (absl::IsNotFound(uuid.status())) return std::nullopt;
  return uuid;
}

absl::StatusOr<GroupDirectory::Page> GroupDirectory::List(
    const std::optional<std::string>& after, uint64_t limit) {
  auto read = pool_.ReadOmapPage(object_, kKeyPrefix,
                                 after.has_value() ? KeyOf(*after) : "", limit);
  Page page;
  if (absl::IsNotFound(read.status())) return page;
  if (!read.ok()) return read.status();
  for (auto& [key, uuid] : read->values) {
    page.uuids[key.substr(sizeof(kKeyPrefix) - 1)] = std::move(uuid);
  }
  page.more = read->more;
  return page;
}

absl::StatusOr<bool> GroupDirectory::Reserve(const std::string& request_name,
                                             const std::string& uuid) {
  return ReserveName(pool_, object_, KeyOf(request_name), uuid);
}

absl::Status GroupDirectory::Release(const std::string& request_name,
                                     const std::string& uuid) {
  return ReleaseName(pool_, object_, KeyOf(request_name), uuid);
}

}  // namespace addons
