#include "volume/operation_key.h"

#include "absl/strings/str_cat.h"

namespace addons {

std::string OperationKey::ToString() const {
  return absl::StrCat(cluster_id.text().size(), ":", cluster_id.text(), "/",
                      pool_id, "/", rados_namespace, "/", uuid);
}

}  // namespace addons
