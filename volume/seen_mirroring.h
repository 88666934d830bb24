#ifndef ADDONS_VOLUME_SEEN_MIRRORING_H_
#define ADDONS_VOLUME_SEEN_MIRRORING_H_

#include <map>
#include <string>

#include "ceph/mirror.h"

namespace addons {

/// How this site mirrors volumes, by their ids, as a verb that changes a group
/// has seen it since it has the lease of the group: those are not opened for
/// that again. A volume that it has not seen is looked at.
using SeenMirroring = std::map<std::string, MirrorImageInfo>;

}  // namespace addons

#endif  // ADDONS_VOLUME_SEEN_MIRRORING_H_
