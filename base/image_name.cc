#include "base/image_name.h"

#include "absl/strings/str_cat.h"

namespace addons {

std::string RbdSpec(absl::string_view pool, absl::string_view rados_namespace,
                    absl::string_view name) {
  if (rados_namespace.empty()) return absl::StrCat(pool, "/", name);
  return absl::StrCat(pool, "/", rados_namespace, "/", name);
}

}  // namespace addons
