#ifndef ADDONS_POINTS_LONG_READ_H_
#define ADDONS_POINTS_LONG_READ_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "operation/operation_spec.h"

namespace addons {

/// Of what reads a point, for hours maybe: it keeps no verb from going on, and
/// none of the workers that answer questions. One at a time of a cluster, so
/// that space reclaim has a worker, too.
inline void MakeLongRead(const char* action, const std::string& volume_id,
                         OperationSpec* spec) {
  spec->parameters = absl::StrCat(spec->parameters, " of ", volume_id);
  spec->keys = {absl::StrCat("read of points on cluster '",
                             spec->share.cluster_id.text(), "'")};
  spec->lane = Lane::kBulk;
  spec->supersedes = false;
  spec->action = action;
}

}  // namespace addons

#endif  // ADDONS_POINTS_LONG_READ_H_
