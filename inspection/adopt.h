#ifndef ADDONS_INSPECTION_ADOPT_H_
#define ADDONS_INSPECTION_ADOPT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/image_name.h"
#include "ceph/cluster.h"
#include "inspection/named_pool.h"
#include "lease/keeper.h"
#include "operation/operation_context.h"
#include "volume/config_store.h"
#include "volume/resolved.h"
#include "volume/volume_journal.h"

namespace addons {

// ceph-csi's journal does not travel with mirroring, and no verb finds a volume
// without its entry. Where no Kubernetes is there that has ceph-csi write it, a
// person has the daemon do it: a mirrored image is adopted.

/// Which images are to be adopted.
struct AdoptRequest {
  /// The driver's --instanceid.
  std::string instance_id;
  /// Empty: all mirrored ones of the pool and namespace.
  std::vector<ImageName> images;
  /// What a person knows of the only one of `images`, in place of what it tells
  /// itself; empty: nothing. The name is that of its PersistentVolume.
  std::string request_name;
  std::string owner;
  /// Of those encrypted images that do not tell their KMS; empty: they are
  /// refused. `encryption_type` is "block" or "file", which no image shows: it
  /// is that of all of `images`.
  std::string kms_id;
  std::string encryption_type;
};

enum class AdoptOutcome {
  kKnown,       // it has its entry, which is left alone
  kWouldWrite,  // of a plan
  kWritten,
  kNoVolume,  // not made by ceph-csi for a volume
  kRefused,
  kFailed,  // it may be repeated
};

/// What becomes, or became, of one image.
struct Adoption {
  std::string image;  // "pool/image", "pool/namespace/image"
  AdoptOutcome outcome = AdoptOutcome::kFailed;
  /// As this site gives it out; empty: the image is none of a volume.
  std::string volume_id;
  /// The entry as it is, or would be; its names are empty where there is none.
  VolumeAttributes entry;
  /// Nobody has told the name of the PersistentVolume.
  bool generated_name = false;
  std::string text;  // for a person: what is or would be changed, or why not
};

/// Where a pool and namespace is that a person names. An empty namespace: that
/// of the named or only cluster, else the default one.
/// INVALID_ARGUMENT: several clusters of this site may be meant.
/// FAILED_PRECONDITION: no cluster of this site has this namespace, so that its
/// volumes have no ids. Others as FindPool().
absl::StatusOr<ResolvedPlace> FindAdoptionPlace(
    ConfigStore& config, ClusterProvider& clusters,
    const std::vector<ClusterId>& home, const NamedPool& named,
    const std::string& rados_namespace);

/// What Adopt() would do, by image. Reads only. NOT_FOUND is what an image that
/// was named is refused with, not the call. Errors are those of reading the
/// lists of the pool.
absl::StatusOr<std::vector<Adoption>> PlanAdoption(OperationContext& context,
                                                   const ResolvedPlace& place,
                                                   const AdoptRequest& request);

/// Gives each image its entry in ceph-csi's journal, byte for byte as ceph-csi
/// writes it, with the lease on adoptions in this pool and namespace.
///
// clang-format off
///   Adopt(): RunLeased()
///     AdoptLeased(): Take()                                the lease
///     PlanImages()  "looking at the images"                see inspection/adopt_plan.h
///     ├─ nothing to write ─> the plan, without a change
///     └─ BeginMutation()  "writing entries of the journal"
///        WriteEntry(), each image by itself:
///          Reserve()         directory: name to uuid, if nobody has the name
///          Write()           object: all, csi.volname last   see volume/volume_journal.h
///          CorrectImageId()  object: csi.imageid, of an entry that is there
///          Release()         directory: a name that is given up
///          Read()            what it answers is what was read back
// clang-format on
///
/// No verb, and nothing of ceph-csi, finds the volume before csi.volname stands
/// there. What a call leaves that died, the next one finishes; two at a time,
/// of whatever daemons or beside ceph-csi, write the same or give way. An entry
/// that is there is never overwritten, but for a wrong csi.imageid and a
/// generated name. Errors as PlanAdoption(), and those of the lease.
absl::StatusOr<std::vector<Adoption>> Adopt(OperationContext& context,
                                            LeaseKeeper& leases,
                                            const ResolvedPlace& place,
                                            const AdoptRequest& request);

}  // namespace addons

#endif  // ADDONS_INSPECTION_ADOPT_H_
