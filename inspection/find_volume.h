#ifndef ADDONS_INSPECTION_FIND_VOLUME_H_
#define ADDONS_INSPECTION_FIND_VOLUME_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ceph/cluster.h"
#include "volume/config_store.h"

namespace addons {

/// How a person names a volume, but for its id.
struct VolumeName {
  /// "pool/image", "pool/namespace/image", or what has no slash: the name of a
  /// PersistentVolume, of which `pool` may be told. INVALID_ARGUMENT: none of
  /// these, or a pool is told twice.
  static absl::StatusOr<VolumeName> Parse(absl::string_view text,
                                          absl::string_view pool);

  std::string text;             // as it was written
  std::string pool;             // empty: of a PersistentVolume, any
  std::string rados_namespace;  // of the image
  std::string image;            // empty: `text` is a PersistentVolume's name
  ClusterId cluster_id;         // empty: any of this site
  CephUserRef user;
};

/// A volume that was found by its name.
struct FoundVolume {
  std::string volume_id;  // as this site would give it out
  ClusterId cluster_id;
  std::string image;  // "pool/image" or "pool/namespace/image"
  std::vector<std::string> refused_places{};  // where the user may not read
};

/// Looks through the journals of ceph-csi (`instance_id` is its --instanceid)
/// in all pools that may be meant, on the clusters of this site (`home`; empty:
/// all). A PersistentVolume is looked for in the RADOS namespace that
/// config.json has for the cluster. Connects to one cluster after the other, so
/// it blocks; reads only. NOT_FOUND: there is none, and every place was looked
/// at and has answered. FAILED_PRECONDITION: there are several, or an entry of
/// config.json is broken. PERMISSION_DENIED: it is nowhere that the user may
/// read; another volume of that name, which he may not, is none of his. Any
/// other error: of the first place that could not be looked at, also when there
/// is a volume in another one.
absl::StatusOr<FoundVolume> FindVolume(ConfigStore& config,
                                       ClusterProvider& clusters,
                                       const std::vector<ClusterId>& home,
                                       const std::string& instance_id,
                                       const VolumeName& name);

}  // namespace addons

#endif  // ADDONS_INSPECTION_FIND_VOLUME_H_
