#include "replication/look/role_log.h"

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace addons {

absl::string_view Name(RoleVerb verb) {
  switch (verb) {
    case RoleVerb::kEnable:
      return "enable";
    case RoleVerb::kPromote:
      return "promote";
    case RoleVerb::kDemote:
      return "demote";
    case RoleVerb::kDisable:
      return "disable";
    case RoleVerb::kResync:
      return "resync";
  }
  return "";
}

absl::string_view RoleName(const MirrorView& view) {
  switch (view.info.state) {
    case MirrorImageState::kDisabled:
      return "off";
    case MirrorImageState::kDisabling:
      return "disabling";
    case MirrorImageState::kUnknown:
      return "unclear";
    case MirrorImageState::kCreating:
      if (!view.info.primary) return "creating";
      break;
    case MirrorImageState::kEnabled:
      break;
  }
  if (view.info.primary) return kRolePrimary;
  const MirrorSnapshot* newest = view.Newest();
  return newest != nullptr && newest->demoted() ? "demoted" : "secondary";
}

std::string ForcedPromotion(const MirrorView& before) {
  return absl::StrCat("promoted by force, back to ",
                      before.info.mode == MirrorMode::kJournal
                          ? "the last entry that was replayed"
                          : before.RestorePoint());
}

void LogRoleChange(const ResolvedVolume& volume, absl::string_view from,
                   absl::string_view to, absl::string_view by) {
  Log().info("role changed volume={} image={} from={} to={} by={}",
             Quoted(volume.volume_id.text()),
             Quoted(volume.image_name().text()), Quoted(from), Quoted(to),
             Quoted(by));
}

}  // namespace addons
