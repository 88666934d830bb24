#ifndef ADDONS_VOLUMEGROUP_GROUP_HISTORY_H_
#define ADDONS_VOLUMEGROUP_GROUP_HISTORY_H_

#include <string>
#include <vector>

#include "volume/resolved.h"
#include "volumegroup/environment.h"
#include "volumegroup/members.h"

namespace addons {

// What the history is told of volume groups. It costs a lock, and nothing at
// all where no history is kept.

/// Events of `object`, the id of the group or the name that it is to have, are
/// written to the group's pool from now on.
void LocateGroup(const VolumeGroupEnvironment& environment,
                 const std::string& object, const ResolvedPlace& place);

/// The journal has the volumes as members of `group` since a moment ago, or
/// not any more. An event of the group and one of the volume for each of
/// `changed`; of those among `views` it is known where they are.
enum class Membership { kJoined, kLeft };
void NoteMembers(const VolumeGroupEnvironment& environment,
                 const ResolvedGroup& group, const CephUserRef& user,
                 Membership what, const std::vector<VolumeHandle>& changed,
                 const std::vector<MemberView>& views);

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_GROUP_HISTORY_H_
