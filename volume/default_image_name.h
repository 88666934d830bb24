#ifndef ADDONS_VOLUME_DEFAULT_IMAGE_NAME_H_
#define ADDONS_VOLUME_DEFAULT_IMAGE_NAME_H_

#include <string>

namespace addons {

/// The name that ceph-csi gives the image of a volume where its class does not
/// say otherwise.
inline std::string DefaultImageName(const std::string& uuid) {
  return "csi-vol-" + uuid;
}

}  // namespace addons

#endif  // ADDONS_VOLUME_DEFAULT_IMAGE_NAME_H_
