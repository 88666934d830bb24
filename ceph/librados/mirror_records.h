#ifndef ADDONS_CEPH_LIBRADOS_MIRROR_RECORDS_H_
#define ADDONS_CEPH_LIBRADOS_MIRROR_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ceph/image.h"
#include "ceph/mirror.h"

namespace addons {

// What librbd notes about mirroring, whichever way it was read.

/// All fields of a mirror snapshot; only some of them mean something.
struct MirrorSnapshotRecord {
  uint64_t id = 0;
  int state = 0;  // rbd_snap_mirror_state_t
  bool complete = false;
  std::vector<std::string> peer_uuids;
  std::string primary_mirror_uuid;
  uint64_t primary_snapshot_id = 0;
  uint64_t last_copied_object = 0;
  Timestamp created;
};

/// Those that mean something in a snapshot of its kind.
MirrorSnapshot ToMirrorSnapshot(MirrorSnapshotRecord record);

/// Appends what a site reported, if it did: where nobody wrote a status, a
/// local one without a time is made up.
void AddReport(SiteStatus status, std::vector<SiteStatus>* sites);

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_MIRROR_RECORDS_H_
