#include "lease/target.h"

#include "absl/strings/str_cat.h"

namespace addons {

LeaseTarget LeaseOf(const ResolvedVolume& volume, bool although_full) {
  const ResolvedPlace& place = volume;
  return {place, absl::StrCat("rbd_addons.lease.", volume.uuid),
          volume.Describe(), although_full};
}

LeaseTarget LeaseOf(const ResolvedGroup& group, bool although_full) {
  const ResolvedPlace& place = group;
  return {place, absl::StrCat("rbd_addons.lease.group.", group.uuid),
          absl::StrCat("volume group '", group.group_id.text(), "'"),
          although_full};
}

}  // namespace addons
