#ifndef ADDONS_VOLUME_HOME_CLUSTERS_H_
#define ADDONS_VOLUME_HOME_CLUSTERS_H_

#include <algorithm>
#include <vector>

#include "base/cluster_id.h"

namespace addons {

/// Whether a cluster is this site's: `home` is what --site-clusters lists;
/// empty: all clusters of config.json count as this site's.
inline bool IsHome(const std::vector<ClusterId>& home,
                   const ClusterId& cluster_id) {
  return home.empty() ||
         std::find(home.begin(), home.end(), cluster_id) != home.end();
}

}  // namespace addons

#endif  // ADDONS_VOLUME_HOME_CLUSTERS_H_
