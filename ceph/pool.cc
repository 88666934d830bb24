#include "ceph/pool.h"

namespace addons {

std::string Pool::Spec(absl::string_view name) const {
  return RbdSpec(this->name(), rados_namespace(), name);
}

}  // namespace addons
