#include "ceph/pool.h"

#include "absl/strings/str_cat.h"

namespace addons {

std::string Pool::ImageSpec(absl::string_view image) const {
  if (rados_namespace().empty()) return absl::StrCat(name(), "/", image);
  return absl::StrCat(name(), "/", rados_namespace(), "/", image);
}

}  // namespace addons
