#ifndef ADDONS_CLI_GROUP_POINTS_H_
#define ADDONS_CLI_GROUP_POINTS_H_

#include "cli/points.h"
#include "cli/streams.h"

namespace addons {

/// RunPoint() of a volume group: PointVerb::kCreate, kList or kRemove.
/// `command.id` is the group's. The points of a new one are read one after the
/// other.
int RunGroupPoint(const PointCommand& command, Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_GROUP_POINTS_H_
