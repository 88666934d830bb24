#include "replication/steps/half_demotion.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/cluster.h"
#include "ceph/image_objects.h"
#include "ceph/pool.h"
#include "replication/look/peers.h"
#include "replication/steps/copy_beginning.h"
#include "volume/resolved.h"

namespace addons {
namespace {

bool SameCopy(const MirrorSnapshot& one, const MirrorSnapshot& other) {
  return one.id == other.id && one.kind == other.kind &&
         one.complete == other.complete &&
         one.last_copied_object == other.last_copied_object;
}

/// The record of `copy`, and the proof that it is of what was seen; empty: the
/// copy is another one by now.
absl::StatusOr<std::string> RecordOf(Pool& reads, const std::string& image_id,
                                     const MirrorSnapshot& copy) {
  ADDONS_ASSIGN_OR_RETURN(std::string record,
                          reads.SnapshotRecord(image_id, copy.id));
  ADDONS_ASSIGN_OR_RETURN(const ImageHeader header, reads.Header(image_id));
  const std::vector<MirrorSnapshot>& now = header.mirror_snapshots;
  if (now.empty() || !SameCopy(now.back(), copy)) return std::string();
  return record;
}

/// Each step changes nothing unless the snapshot is still what was seen. false:
/// it is not, or somebody has the image open.
absl::StatusOr<bool> SetKind(const ResolvedVolume& volume,
                             const std::string& image_id, MirrorSnapshot copy,
                             MirrorSnapshotKind kind) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> reads,
      volume.cluster->OpenPool(volume.pool_id, volume.rados_namespace,
                               Access::kRead));
  if (!copy.complete) {
    ADDONS_ASSIGN_OR_RETURN(const auto watchers,
                            reads->ListWatchers(HeaderObject(image_id)));
    if (!watchers.empty()) return false;
  }
  ADDONS_ASSIGN_OR_RETURN(std::string record, RecordOf(*reads, image_id, copy));
  if (record.empty()) return false;
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> changes,
      volume.cluster->OpenPool(volume.pool_id, volume.rados_namespace,
                               Access::kMutate));
  if (!copy.complete && copy.last_copied_object > 0) {
    // See SetBackInterruptedCopies(); whether that was done is not known, and
    // one object that is copied twice is the same.
    --copy.last_copied_object;
    ADDONS_ASSIGN_OR_RETURN(const bool set,
                            changes->SetCopyProgress(image_id, copy.id, record,
                                                     copy.last_copied_object));
    if (!set) return false;
    ADDONS_ASSIGN_OR_RETURN(record, RecordOf(*reads, image_id, copy));
    if (record.empty()) return false;
  }
  if (!copy.complete && copy.last_copied_object == 0) {
    ADDONS_RETURN_IF_ERROR(PutBackCopyBeginning(*volume.cluster, volume.pool_id,
                                                volume.rados_namespace,
                                                image_id, copy.id)
                               .status());
  }
  return changes->SetCopyKind(image_id, copy.id, record, kind);
}

enum class State { kNone, kGivenUp, kForPeople, kWhole };

State StateOf(const MirrorView& view) {
  const MirrorSnapshot* const newest = view.Newest();
  if (view.info.mode != MirrorMode::kSnapshot || newest == nullptr ||
      !DeniedSince(view, newest->created)) {
    return State::kNone;
  }
  if (newest->complete) {
    // rbd-mirror notes no peers of an ordinary snapshot (16.2.15 to 20.2.4).
    return newest->kind == MirrorSnapshotKind::kNonPrimary &&
                   newest->lists_peers
               ? State::kWhole
               : State::kNone;
  }
  if (newest->kind != MirrorSnapshotKind::kNonPrimaryDemoted) {
    return State::kNone;
  }
  // One-way: nothing would show later that it was a demotion. (Where no object
  // is noted as copied, rbd-mirror makes the snapshot anew.)
  return newest->lists_peers || newest->last_copied_object <= 1
             ? State::kGivenUp
             : State::kForPeople;
}

void SetGoing(const ResolvedVolume& volume, const MirrorView& view,
              State state) {
  const bool whole = state == State::kWhole;
  const MirrorSnapshot& copy = *view.Newest();
  const auto set = SetKind(volume, view.image_id, copy,
                           whole ? MirrorSnapshotKind::kNonPrimaryDemoted
                                 : MirrorSnapshotKind::kNonPrimary);
  if (!set.ok()) {
    Log().warn(
        "rbd-mirror has given up half a demotion, and could not be made to go "
        "on with it volume={}: {}",
        Quoted(volume.volume_id.text()), Quoted(set.status().message()));
  } else if (*set) {
    Log().info("{} volume={} snapshot={} {}",
               whole ? "a demotion that rbd-mirror had given up has arrived"
                     : "rbd-mirror had given up half a demotion, and is made "
                       "to go on with it",
               Quoted(volume.volume_id.text()), copy.id, view.CopyProgress());
  }
}

}  // namespace

void SetHalfDemotionGoingAside(Session& session, const MirrorView& view,
                               std::string* reason) {
  const State state = StateOf(view);
  if (state == State::kNone) return;
  if (state == State::kForPeople) {
    absl::StrAppend(reason,
                    "; rbd-mirror of this site has given it up, and does not "
                    "go on with it by itself: promote the image on the other "
                    "site, and demote it there again");
    return;
  }
  session.environment.aside(session.cluster().fsid(),
                            [volume = session.volume, view, state] {
                              SetGoing(volume, view, state);
                            });
}

}  // namespace addons
