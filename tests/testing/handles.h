#ifndef ADDONS_TESTS_TESTING_HANDLES_H_
#define ADDONS_TESTS_TESTING_HANDLES_H_

#include <string>
#include <vector>

#include "volume/csi_handle.h"

namespace addons::testing {

/// The volumes with these ids.
inline std::vector<VolumeHandle> Handles(
    const std::vector<std::string>& volume_ids) {
  std::vector<VolumeHandle> handles;
  for (const std::string& id : volume_ids) handles.emplace_back(id);
  return handles;
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_HANDLES_H_
