#ifndef ADDONS_VOLUME_IMAGE_PROOF_H_
#define ADDONS_VOLUME_IMAGE_PROOF_H_

#include <string>

#include "absl/status/status.h"
#include "node/mapped_image.h"
#include "volume/cluster_config.h"
#include "volume/csi_handle.h"
#include "volume/resolved.h"

namespace addons {

/// Proves that a mapped image is the volume that Ceph says it is: cluster
/// (where the kernel tells), pool, namespace and name, or rbd-nbd's tag.
/// FAILED_PRECONDITION: it is another image.
absl::Status ProveByCeph(const MappedImage& mapped,
                         const ResolvedVolume& volume);

/// Proves the same without asking Ceph, by what the node has. One of these:
///  - rbd-nbd's tag is the volume id;
///  - the volume id decodes, and the image's name ends with its uuid, in the
///    pool (krbd) and namespace (`config`) that belong to the id, directly or
///    through cluster-mapping.json;
///  - ceph-csi's record in `staging_path` (empty: no such path) names the
///  image.
///    That is how static volumes, whose ids do not decode, are proved.
/// `config` may be null. FAILED_PRECONDITION saying what was looked for.
absl::Status ProveByNode(const MappedImage& mapped,
                         const VolumeHandle& volume_id,
                         const std::string& staging_path,
                         const ClusterConfig* config);

}  // namespace addons

#endif  // ADDONS_VOLUME_IMAGE_PROOF_H_
