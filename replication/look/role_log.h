#ifndef ADDONS_REPLICATION_LOOK_ROLE_LOG_H_
#define ADDONS_REPLICATION_LOOK_ROLE_LOG_H_

#include <string>

#include "absl/strings/string_view.h"
#include "replication/look/mirror_view.h"

namespace addons {

inline constexpr absl::string_view kRolePrimary = "primary";

/// What the image is on this site: "off", "primary", "secondary", "demoted" (a
/// demotion, of this site or of its peer, is its newest state), "creating",
/// "disabling" or "unclear".
absl::string_view RoleName(const MirrorView& view);

/// "promoted by force, back to the state of 2026-11-20T03:00:00Z".
std::string ForcedPromotion(const MirrorView& before);

/// One line for a change of an image's role that was seen to have happened:
/// `role changed volume=... from=secondary to=primary by="promoted"`. Who looks
/// into what happened to a volume looks for these.
void LogRoleChange(const ResolvedVolume& volume, absl::string_view from,
                   absl::string_view to, absl::string_view by);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_ROLE_LOG_H_
