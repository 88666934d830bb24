#ifndef ADDONS_VOLUME_STAGING_RECORD_H_
#define ADDONS_VOLUME_STAGING_RECORD_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/image_name.h"

namespace addons {

/// What ceph-csi notes beside a volume that it stages, to find the image again
/// when it unstages it: <staging path>/image-meta.json.
struct StagingRecord {
  std::string pool;
  std::string rados_namespace;
  ImageName image;
};

/// The record of a staging path. NOT_FOUND: there is none, or it is no regular
/// file. INVALID_ARGUMENT: it is not what ceph-csi writes.
absl::StatusOr<StagingRecord> ReadStagingRecord(
    const std::string& staging_path);

}  // namespace addons

#endif  // ADDONS_VOLUME_STAGING_RECORD_H_
