#include "volume/image_proof.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/image_name.h"
#include "volume/staging_record.h"
#include "volume/volume_id.h"

namespace addons {
namespace {

absl::Status Unproved(const MappedImage& mapped, const VolumeHandle& volume_id,
                      absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("Failed to prove that ", mapped.Describe(), " is volume '",
                   volume_id.text(), "': ", why, "; nothing was done"));
}

bool IsInPlace(const MappedImage& mapped, int64_t pool_id,
               const ClusterEntry* cluster) {
  return (!mapped.pool_id || *mapped.pool_id == pool_id) &&
         (cluster == nullptr ||
          cluster->rados_namespace == mapped.rados_namespace);
}

/// Whether the pool and namespace of the image are those of the id.
bool IsInPlaceOf(const MappedImage& mapped, const VolumeId& id,
                 const ClusterConfig* config) {
  std::vector<std::pair<ClusterId, int64_t>> places = {
      {id.cluster_id, id.pool_id}};
  if (config != nullptr) {
    const auto more = config->Mapped(id.cluster_id, id.pool_id);
    places.insert(places.end(), more.begin(), more.end());
  }
  return std::any_of(places.begin(), places.end(), [&](const auto& place) {
    const ClusterEntry* cluster = nullptr;
    if (config != nullptr) {
      const auto found = config->Find(place.first);
      if (found.ok()) cluster = *found;
    }
    return IsInPlace(mapped, place.second, cluster);
  });
}

absl::Status CompareWithRecord(const MappedImage& mapped,
                               const std::string& staging_path) {
  if (staging_path.empty()) {
    return absl::NotFoundError("no staging path was given");
  }
  const auto record = ReadStagingRecord(staging_path);
  if (!record.ok()) return record.status();
  if (record->pool == mapped.pool && record->image == mapped.image &&
      record->rados_namespace == mapped.rados_namespace) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "it names '",
      RbdSpec(record->pool, record->rados_namespace, record->image.text()),
      "'"));
}

}  // namespace

absl::Status ProveByCeph(const MappedImage& mapped,
                         const ResolvedVolume& volume) {
  if (mapped.pool.empty()) {
    return volume.volume_id == mapped.tag
               ? absl::OkStatus()
               : Unproved(mapped, volume.volume_id,
                          "the tag is not the volume's id, and rbd-nbd's "
                          "command line does not tell the image");
  }
  const std::string& fsid = volume.cluster->fsid();
  if (!mapped.fsid.empty() && mapped.fsid != fsid) {
    return Unproved(mapped, volume.volume_id,
                    absl::StrCat("it belongs to cluster ", mapped.fsid,
                                 ", the volume to ", fsid));
  }
  // A pool may have been renamed since the image was mapped.
  const bool same_pool = mapped.pool_id ? *mapped.pool_id == volume.pool_id
                                        : mapped.pool == volume.pool_name;
  if (same_pool && mapped.rados_namespace == volume.rados_namespace &&
      mapped.image == volume.image_name()) {
    return absl::OkStatus();
  }
  return Unproved(mapped, volume.volume_id,
                  absl::StrCat("the volume is ", volume.Describe()));
}

absl::Status ProveByNode(const MappedImage& mapped,
                         const VolumeHandle& volume_id,
                         const std::string& staging_path,
                         const ClusterConfig* config) {
  if (!mapped.tag.empty() && volume_id == mapped.tag) return absl::OkStatus();
  if (mapped.pool.empty()) {
    return Unproved(mapped, volume_id,
                    "the tag is not the volume's id, and rbd-nbd's command "
                    "line does not tell the image");
  }
  const absl::StatusOr<VolumeId>& id = volume_id.id();
  if (id.ok() && absl::EndsWith(mapped.image.text(), id->uuid) &&
      IsInPlaceOf(mapped, *id, config)) {
    return absl::OkStatus();
  }
  const absl::Status record = CompareWithRecord(mapped, staging_path);
  if (record.ok()) return absl::OkStatus();
  return Unproved(
      mapped, volume_id,
      absl::StrCat(id.ok() ? "name, pool or namespace are not those of the id"
                           : "the id does not decode (a static volume?)",
                   ", and the driver's record does not help (",
                   record.message(), ")"));
}

}  // namespace addons
