#include "volume/resolved.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/pool.h"

namespace addons {

absl::StatusOr<std::unique_ptr<Pool>> ResolvedPlace::OpenPool(
    Access access) const {
  return cluster->OpenPool(pool_id, rados_namespace, access);
}

std::string ResolvedPlace::Spec(absl::string_view name) const {
  return RbdSpec(pool_name, rados_namespace, name);
}

std::string ResolvedVolume::Describe() const {
  std::string text = absl::StrCat("image '", ImageSpec(), "'");
  if (!volume_id.empty()) {
    absl::StrAppend(&text, " (volume '", volume_id.text(), "')");
  }
  return text;
}

std::string ResolvedGroup::Describe() const {
  return absl::StrCat("rbd group '", Spec(attributes.group_name),
                      "' (volume group '", group_id.text(), "')");
}

absl::Status ResolvedGroup::MakeRbdGroup() const {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          OpenPool(Access::kMutate));
  const absl::Status created = pool->CreateGroup(attributes.group_name);
  return absl::IsAlreadyExists(created) ? absl::OkStatus() : created;
}

}  // namespace addons
