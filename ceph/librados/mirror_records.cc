#include "ceph/librados/mirror_records.h"

#include <chrono>
#include <utility>

#include "ceph/librados/ceph_enums.h"

namespace addons {

MirrorSnapshot ToMirrorSnapshot(MirrorSnapshotRecord record) {
  using std::chrono::system_clock;
  MirrorSnapshot snapshot;
  snapshot.id = record.id;
  snapshot.kind = ToMirrorSnapshotKind(record.state);
  snapshot.complete = record.complete;
  const bool own = snapshot.kind == MirrorSnapshotKind::kPrimary ||
                   snapshot.kind == MirrorSnapshotKind::kPrimaryDemoted;
  if (own) {  // the others have the uuids of their own future syncs here
    snapshot.unsynced_peer_uuids = std::move(record.peer_uuids);
  } else {
    snapshot.primary_mirror_uuid = std::move(record.primary_mirror_uuid);
    snapshot.primary_snapshot_id = record.primary_snapshot_id;
    snapshot.last_copied_object = record.last_copied_object;
    snapshot.lists_peers = !record.peer_uuids.empty();
  }
  snapshot.created = system_clock::time_point(
      std::chrono::duration_cast<system_clock::duration>(
          std::chrono::seconds(record.created.seconds) +
          std::chrono::nanoseconds(record.created.nanoseconds)));
  return snapshot;
}

void AddReport(SiteStatus status, std::vector<SiteStatus>* sites) {
  if (status.last_update != 0) sites->push_back(std::move(status));
}

}  // namespace addons
