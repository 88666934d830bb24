#ifndef ADDONS_REPLICATION_LOOK_MOUNT_RESTRICTION_H_
#define ADDONS_REPLICATION_LOOK_MOUNT_RESTRICTION_H_

#include <string>

#include "ceph/image.h"
#include "replication/look/mirror_view.h"

namespace addons {

// ceph-csi (3.17) lets only some ServiceAccounts mount a volume where a storage
// administrator has named them in the image's metadata. It looks there in
// ControllerPublishVolume. In snapshot mode that key does not travel, because
// it begins with ".rbd". So a primary tells the other site of it in a mark that
// does, and who becomes primary has the restriction again. In journal mode all
// metadata travels.

/// Written by an administrator: names with commas between. Without it anybody
/// may mount.
inline constexpr char kServiceAccountKey[] = ".rbd.csi.ceph.com/serviceaccount";

/// What that key says on the site that was primary last; it says so also where
/// the restriction was lifted there. Counts for the enabling whose global id it
/// has. It names the image by its id, so that the other site's is told from
/// what this site wrote itself.
inline constexpr char kMountRestrictionMark[] = "rbd-addons.mount-restriction";

/// What a promotion of the image that `view` shows writes with its notes: the
/// other site's restriction in the place of its own, and who tells of it now.
/// Where no other site has told anything what is there stays; and by force what
/// is there is not lifted, because a later restriction may not have arrived.
MetadataChanges TakeOverMountRestriction(const MirrorView& view, Force force);

/// Who may mount what the image that `view` shows holds: what a promotion would
/// write here, or what is written where it is primary. Empty: anybody.
std::string MountRestrictionOf(const MirrorView& view);

/// What is missing of that on a primary that another program has promoted, or
/// that was given or has lost a restriction since: then the mark is to say so.
/// A restriction that is there is never replaced: it may be what somebody has
/// just set, or, where the promotion died before it wrote, of an earlier term.
MetadataChanges MountRestrictionDue(const MirrorView& view);

/// For a person: who may mount, and what becomes of that; empty: anybody.
std::string DescribeMountRestriction(const MirrorView& view);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_MOUNT_RESTRICTION_H_
