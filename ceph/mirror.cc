#include "ceph/mirror.h"

#include <algorithm>

namespace addons {

bool HasReceivingPeer(const std::vector<MirrorPeer>& peers) {
  return std::any_of(peers.begin(), peers.end(),
                     [](const MirrorPeer& peer) { return peer.receives; });
}

bool HasReportingPeer(const std::vector<MirrorPeer>& peers) {
  return std::any_of(peers.begin(), peers.end(), [](const MirrorPeer& peer) {
    return !peer.mirror_uuid.empty();
  });
}

absl::string_view Name(MirrorMode mode) {
  switch (mode) {
    case MirrorMode::kJournal:
      return "journal";
    case MirrorMode::kSnapshot:
      return "snapshot";
    case MirrorMode::kUnknown:
      break;
  }
  return "unknown";
}

absl::string_view Name(MirrorImageState state) {
  switch (state) {
    case MirrorImageState::kDisabled:
      return "disabled";
    case MirrorImageState::kDisabling:
      return "disabling";
    case MirrorImageState::kEnabled:
      return "enabled";
    case MirrorImageState::kCreating:
      return "creating";
    case MirrorImageState::kUnknown:
      break;
  }
  return "unknown";
}

absl::string_view Name(MirrorSnapshotKind kind) {
  switch (kind) {
    case MirrorSnapshotKind::kPrimary:
      return "primary";
    case MirrorSnapshotKind::kPrimaryDemoted:
      return "primary-demoted";
    case MirrorSnapshotKind::kNonPrimary:
      return "non-primary";
    case MirrorSnapshotKind::kNonPrimaryDemoted:
      return "non-primary-demoted";
    case MirrorSnapshotKind::kUnknown:
      break;
  }
  return "unknown";
}

absl::string_view Name(MirrorStatusState state) {
  switch (state) {
    case MirrorStatusState::kUnknown:
      return "unknown";
    case MirrorStatusState::kError:
      return "error";
    case MirrorStatusState::kSyncing:
      return "syncing";
    case MirrorStatusState::kStartingReplay:
      return "starting_replay";
    case MirrorStatusState::kReplaying:
      return "replaying";
    case MirrorStatusState::kStoppingReplay:
      return "stopping_replay";
    case MirrorStatusState::kStopped:
      return "stopped";
    case MirrorStatusState::kUnrecognized:
      return "unrecognized";
  }
  return "unrecognized";
}

}  // namespace addons
