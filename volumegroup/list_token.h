#ifndef ADDONS_VOLUMEGROUP_LIST_TOKEN_H_
#define ADDONS_VOLUMEGROUP_LIST_TOKEN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/cluster_id.h"

namespace addons {

/// The place after which a page of ListVolumeGroups begins.
struct ListPosition {
  ClusterId cluster_id;
  int64_t pool_id = 0;
  std::string name;

  friend bool operator==(const ListPosition&, const ListPosition&) = default;
};

/// The place as a token: letters, digits, '-' and '_'. Broken UTF-8 in a name
/// is not kept.
std::string EncodeListToken(const ListPosition& position);

/// The place that a token was made of. ABORTED, which for CSI means that the
/// caller begins anew: it is none.
absl::StatusOr<ListPosition> DecodeListToken(const std::string& token);

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_LIST_TOKEN_H_
