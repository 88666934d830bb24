#include "replication/steps/sync.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/retry_when_blocklisted.h"
#include "replication/look/mirrored_clone.h"
#include "replication/look/peers.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"
#include "replication/steps/primary_only.h"
#include "volume/missing_image.h"

namespace addons {
namespace {

constexpr SyncWords kWords = {"sync", "the mirror snapshot",
                              "the mirror snapshot that was made",
                              "mirror snapshot"};
constexpr char kNoSnapshotInJournalMode[] =
    "it is replicated in journal mode, where each write is on its way already "
    "and there is no mirror snapshot to make; `rbd-addons info` tells how far "
    "the other site is";

absl::StatusOr<SyncSnapshot> MakeOne(Session& session) {
  const auto refuse = [&](absl::string_view reason) {
    return FailedTo(kWords.action, session.volume,
                    absl::StatusCode::kFailedPrecondition, reason);
  };
  ADDONS_ASSIGN_OR_RETURN(
      const MirrorView view,
      LookAtPrimary(session, kWords.action, kNoSnapshotInJournalMode));
  ADDONS_RETURN_IF_ERROR(RefuseInRollback(session, kWords.action, view));
  if (const std::string loss =
          DescribeCloneLoss(view, session.volume.ImageSpec());
      !loss.empty()) {
    return refuse(loss);
  }
  ADDONS_RETURN_IF_ERROR(ReceivingPeers(session, kWords).status());
  ADDONS_RETURN_IF_ERROR(AwaitSyncTurn(session, view, kWords));
  ADDONS_ASSIGN_OR_RETURN(const std::string no_room,
                          MakeSnapshotRoom(session, view, "a sync makes"));
  if (!no_room.empty()) return refuse(no_room);
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("making a mirror snapshot");
  return MakeCarrier(session, view, kWords,
                     [](Image& /*image*/) { return absl::OkStatus(); });
}

// --- the wait

/// What a peer has told of the snapshot.
struct PeerWord {
  std::string site;
  bool complete = false;
  std::optional<int64_t> percent;  // copied of the snapshot under way
  std::string text;                // unless it is complete
};

PeerWord WordOfPeer(const SiteView& peer, const std::string& peer_uuid,
                    const MirrorView& view, const SyncSnapshot& snapshot,
                    SteadyDuration settle) {
  PeerWord word;
  word.complete =
      HasCopied(peer, peer_uuid, view, snapshot.id, snapshot.created);
  if (word.complete) return word;
  if (!peer.status.up || peer.age >= settle) {
    word.text =
        absl::StrCat("its rbd-mirror ", DescribeSilence(peer.age),
                     "; start it there, and the copy goes on by itself");
    return word;
  }
  const auto numbers = ParseSyncNumbers(peer.status.description);
  if (IsSyncing(peer.status) && numbers.ok() && numbers->has_value()) {
    word.percent = (*numbers)->syncing_percent;
  }
  word.text = absl::StrCat(word.percent.has_value()
                               ? absl::StrCat("copied ", *word.percent, "%")
                               : DescriptionText(peer.status.description),
                           ", reported ", WholeSeconds(peer.age), " s ago");
  return word;
}

struct SyncSeen {
  std::vector<std::string> complete;  // names of sites
  std::vector<std::string> waits;     // "site 'b': copied 43%, ..."
  std::optional<int64_t> percent;     // of the peer that is furthest behind
};

absl::StatusOr<SyncSeen> Judge(const OpenedVolume& opened,
                               const MirrorView& view,
                               const SyncSnapshot& snapshot,
                               SteadyDuration settle) {
  SyncSeen seen;
  ADDONS_ASSIGN_OR_RETURN(const auto peers, opened.reads->MirrorPeers());
  for (const MirrorPeer& peer : peers) {
    if (!peer.receives) continue;
    const std::string name = absl::StrCat("site '", peer.site_name, "'");
    const SiteView* const report = ReportOf(peer, view);
    if (report == nullptr) {
      seen.waits.push_back(absl::StrCat(
          name,
          ": no report of its rbd-mirror on this image is there; check "
          "that it runs there"));
      continue;
    }
    if (Diverged(*report, view)) {
      return FailedTo(kWords.action, opened.volume,
                      absl::StatusCode::kFailedPrecondition,
                      absl::StrCat(name,
                                   " reports a split brain, and copies nothing "
                                   "before it is resynced there by force"));
    }
    const PeerWord word =
        WordOfPeer(*report, peer.uuid, view, snapshot, settle);
    if (word.complete) {
      seen.complete.push_back(name);
      continue;
    }
    seen.waits.push_back(absl::StrCat(name, ": ", word.text));
    if (word.percent.has_value()) {
      seen.percent = std::min(seen.percent.value_or(100), *word.percent);
    }
  }
  if (seen.complete.empty() && seen.waits.empty()) {
    return FailedTo(kWords.action, opened.volume,
                    absl::StatusCode::kFailedPrecondition,
                    "its pool has no peer any more that receives what is "
                    "written here");
  }
  return seen;
}

absl::StatusOr<SyncSeen> LookAtCopies(OperationContext& context,
                                      ReplicationEnvironment& environment,
                                      const VolumeTarget& target,
                                      const SyncSnapshot& snapshot,
                                      SteadyDuration* awaited) {
  ADDONS_ASSIGN_OR_RETURN(
      const OpenedVolume opened,
      OpenVolume(environment, target, Access::kRead, ResolveDeadline(context)));
  const auto view =
      LookWithoutOpening(opened.volume, *opened.reads, environment.timeline);
  if (absl::IsNotFound(view.status())) return ImageMissing(opened.volume);
  ADDONS_RETURN_IF_ERROR(view.status());
  NoteLook(environment, opened, *view);
  if (!view->enabled() || !view->info.primary) {
    return FailedTo(
        kWords.action, opened.volume, absl::StatusCode::kFailedPrecondition,
        "it is not primary on this site any more, so what is copied "
        "of its mirror snapshot is not told here");
  }
  *awaited = environment.timeline.HeldFor(
      view->timeline_key, Since::kSyncAwaited, absl::StrCat(snapshot.id));
  return Judge(opened, *view, snapshot, environment.options.settle_time);
}

}  // namespace

absl::StatusOr<std::vector<MirrorPeer>> ReceivingPeers(const Session& session,
                                                       const SyncWords& words) {
  ADDONS_ASSIGN_OR_RETURN(auto peers, session.reads->MirrorPeers());
  std::erase_if(peers, [](const MirrorPeer& peer) { return !peer.receives; });
  if (!peers.empty()) return peers;
  return FailedTo(
      words.action, session.volume, absl::StatusCode::kFailedPrecondition,
      "its pool has no peer that receives what is written here; `rbd mirror "
      "pool info` shows them");
}

absl::Status AwaitSyncTurn(const Session& session, const MirrorView& view,
                           const SyncWords& words) {
  return AwaitSnapshotTurn(
      session, view.image_id,
      FailedTo(words.action, session.volume, absl::StatusCode::kUnavailable,
               absl::StrCat(words.its,
                            " is made when the manager makes none; repeat the "
                            "call")),
      TurnWaits::kLookAgain);
}

absl::Status ChangeForSync(const Session& session, const SyncWords& words,
                           const std::function<absl::Status(Image&)>& change) {
  absl::Status changed = ChangeImage(session.volume, change);
  const int error = CephErrno(changed);
  if (error != EDQUOT && error != ENOSPC) return changed;
  return FailedTo(
      words.action, session.volume, absl::StatusCode::kResourceExhausted,
      absl::StrCat("the pool is full, or at its quota: no ", words.any,
                   " can be made before there is room (`ceph df "
                   "detail`)"));
}

absl::Status ReadSnapshotBack(const Session& session, Image& image,
                              uint64_t after, const SyncWords& words,
                              SyncSnapshot* made) {
  ADDONS_ASSIGN_OR_RETURN(const auto snapshots, image.MirrorSnapshots());
  if (snapshots.empty() || snapshots.back().id <= after ||
      snapshots.back().kind != MirrorSnapshotKind::kPrimary ||
      !snapshots.back().complete) {
    return FailedTo(
        words.action, session.volume, absl::StatusCode::kUnavailable,
        absl::StrCat(words.made, " is not complete; repeat the call"));
  }
  made->id = snapshots.back().id;
  made->created =
      std::chrono::system_clock::to_time_t(snapshots.back().created);
  return absl::OkStatus();
}

absl::StatusOr<SyncSnapshot> MakeCarrier(
    const Session& session, const MirrorView& view, const SyncWords& words,
    const std::function<absl::Status(Image&)>& change) {
  SyncSnapshot made;
  made.begun = session.context.clock().Now();
  const uint64_t before = view.Newest() == nullptr ? 0 : view.Newest()->id;
  const auto make = [&](Image& image) -> absl::Status {
    ADDONS_RETURN_IF_ERROR(change(image));
    ADDONS_RETURN_IF_ERROR(MakeMirrorSnapshot(session, image));
    return ReadSnapshotBack(session, image, before, words, &made);
  };
  ADDONS_RETURN_IF_ERROR(ChangeForSync(session, words, make));
  return made;
}

absl::StatusOr<SyncSnapshot> MakeSyncSnapshot(
    OperationContext& context, ReplicationEnvironment& environment,
    const VolumeTarget& target) {
  ADDONS_ASSIGN_OR_RETURN(
      const SyncSnapshot made,
      RunForResult<SyncSnapshot>(context, environment, target,
                                 "make a mirror snapshot of", &MakeOne));
  Log().info("a mirror snapshot was made for a sync volume={} snapshot={}",
             Quoted(target.volume_id.text()), made.id);
  return made;
}

absl::StatusOr<std::vector<std::string>> AwaitSync(
    OperationContext& context, ReplicationEnvironment& environment,
    const VolumeTarget& target, const SyncSnapshot& snapshot) {
  context.Step("looking at what the other site has");
  while (true) {
    SteadyDuration awaited{0};
    ADDONS_ASSIGN_OR_RETURN(SyncSeen seen, RetryWhenBlocklisted([&] {
                              return LookAtCopies(context, environment, target,
                                                  snapshot, &awaited);
                            }));
    if (seen.waits.empty()) return std::move(seen.complete);
    context.Step("waiting until the copy is complete");
    context.Progress(static_cast<uint64_t>(seen.percent.value_or(0)),
                     seen.percent.has_value() ? 100 : 0);
    context.SetPending(absl::UnavailableError(absl::StrCat(
        "the mirror snapshot of ", FormatUnixSeconds(snapshot.created),
        " is not complete at ", absl::StrJoin(seen.waits, "; "),
        "; waited for ", WholeSeconds(awaited), " s")));
    ADDONS_RETURN_IF_ERROR(
        context.LookAgainAfter(environment.options.poll_interval));
  }
}

}  // namespace addons
