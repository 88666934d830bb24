#ifndef ADDONS_VOLUME_RESOLVED_H_
#define ADDONS_VOLUME_RESOLVED_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/cluster_id.h"
#include "base/image_name.h"
#include "ceph/cluster.h"
#include "volume/csi_handle.h"
#include "volume/group_journal.h"
#include "volume/volume_journal.h"

namespace addons {

/// Where something that has a handle is: nothing here is cached, every call
/// looks anew.
struct ResolvedPlace {
  ClusterId cluster_id;  // after mapping
  int64_t pool_id = 0;   // after mapping
  std::string pool_name;
  std::string rados_namespace;
  std::string uuid;
  std::shared_ptr<Cluster> cluster;

  /// Opens the pool and namespace.
  absl::StatusOr<std::unique_ptr<Pool>> OpenPool(Access access) const;
  /// "pool/name" or "pool/namespace/name", as the rbd command writes it.
  std::string Spec(absl::string_view name) const;
  std::string Spec(const ImageName& image) const { return Spec(image.text()); }
};

struct ResolvedVolume : ResolvedPlace {
  VolumeHandle volume_id;  // as the caller wrote it; empty: found by its pool
  VolumeAttributes attributes;

  const ImageName& image_name() const { return attributes.image_name; }
  std::string ImageSpec() const { return Spec(image_name()); }
  /// "image 'pool/ns/csi-vol-...' (volume '0001-...')", for messages.
  std::string Describe() const;
};

struct ResolvedGroup : ResolvedPlace {
  GroupHandle group_id;  // as the caller wrote it
  GroupAttributes attributes;

  /// The volumes as the journal has them, sorted. On a peer site they may name
  /// the other site's clusters: Resolver::Resolve() and
  /// KeyOfVolume() map them.
  const std::vector<VolumeHandle>& members() const {
    return attributes.members;
  }
  /// "rbd group 'pool/ns/csi-vol-group-...' (volume group '0001-...')".
  std::string Describe() const;
  /// Makes the rbd group if there is none, on the mutation connection.
  absl::Status MakeRbdGroup() const;
};

}  // namespace addons

#endif  // ADDONS_VOLUME_RESOLVED_H_
