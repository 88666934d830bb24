#include "points/make_point.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "points/record.h"
#include "points/whole_point.h"
#include "replication/look/peers.h"
#include "replication/look/point.h"
#include "replication/look/record.h"
#include "replication/look/rollback_mark.h"
#include "replication/session.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"
#include "replication/steps/primary_only.h"
#include "replication/steps/write_record.h"

namespace addons {
namespace {

constexpr char kPointAction[] = "make a point of";
constexpr SyncWords kWords = {kPointAction, "its mirror snapshot",
                              "the mirror snapshot that carries it",
                              "snapshot"};
constexpr char kNoJournal[] =
    "it is replicated in journal mode, in which a point cannot be seen to be "
    "whole at the other site";
/// Two that seal, the point, and the one that carries it.
constexpr uint64_t kSnapshots = 4;

absl::Status Refuse(const Session& session, absl::StatusCode code,
                    absl::string_view reason) {
  return FailedTo(kPointAction, session.volume, code, reason);
}

/// Whether the image's record is of this point.
absl::StatusOr<bool> IsRecorded(const Session& session, const MirrorView& view,
                                const Point& point) {
  ADDONS_ASSIGN_OR_RETURN(const auto metadata,
                          ReadPointMetadata(*session.reads, view.image_id));
  const auto record = RecordReader::Open(metadata);
  return record.ok() && record->header().IsOf(point, view.info);
}

/// What keeps a point from being made of what `view` shows. The point, where an
/// earlier call has made it and it was not read yet.
absl::StatusOr<std::optional<Point>> CheckImage(const Session& session,
                                                const MirrorView& view,
                                                const std::string& name) {
  if (view.parent.has_value()) {
    return Refuse(session, absl::StatusCode::kFailedPrecondition,
                  absl::StrCat("it is a clone, and what it has from its parent "
                               "cannot be proven; `rbd flatten ",
                               session.volume.ImageSpec(),
                               "` makes it an image of its own"));
  }
  std::optional<Point> present = FindPoint(view.other_snapshots, name);
  if (!present.has_value()) {
    if (PointsIn(view.other_snapshots).size() < kMostPoints) return present;
    return Refuse(session, absl::StatusCode::kFailedPrecondition,
                  absl::StrCat("it has ", kMostPoints,
                               " points, and no more are possible; remove "
                               "some"));
  }
  if (!MadeInThisTerm(view, present->snapshot)) {
    return Refuse(session, absl::StatusCode::kAlreadyExists,
                  absl::StrCat("it has a point '", name,
                               "' of the site that was primary before; remove "
                               "it first, or take another name"));
  }
  ADDONS_ASSIGN_OR_RETURN(const bool recorded,
                          IsRecorded(session, view, *present));
  if (!recorded) return present;
  return Refuse(session, absl::StatusCode::kAlreadyExists,
                absl::StrCat("it has a point '", name,
                             "' that was read already; `rbd-addons sync` "
                             "brings it to the other site where it is not "
                             "there yet; for a new one take another name, or "
                             "remove it first"));
}

/// What a forced promotion beside half a point would return to must be whole:
/// which peer has not got the newest mirror snapshot; empty: each has.
absl::StatusOr<std::string> NotInStep(const Session& session,
                                      const MirrorView& view) {
  ADDONS_ASSIGN_OR_RETURN(const auto peers, ReceivingPeers(session, kWords));
  const MirrorSnapshot* const newest = view.Newest();
  for (const MirrorPeer& peer : peers) {
    const SiteView* const report = ReportOf(peer, view);
    const bool copied =
        report != nullptr && newest != nullptr &&
        CopiedBy(*report, view) >= Copied::kSays &&
        HasCopied(*report, peer.uuid, view, newest->id,
                  std::chrono::system_clock::to_time_t(newest->created));
    if (!copied) {
      return absl::StrCat("site '", peer.site_name,
                          "' has not told yet that it has the newest mirror "
                          "snapshot whole; a point is made when it has "
                          "(`rbd-addons info` shows how far it is)");
    }
  }
  return std::string();
}

absl::Status CheckRoom(const Session& session, const MirrorView& view) {
  ADDONS_ASSIGN_OR_RETURN(const SnapshotRoom room,
                          ReadSnapshotRoom(*session.reads, view));
  if (room.For(kSnapshots)) return absl::OkStatus();
  return Refuse(
      session, absl::StatusCode::kFailedPrecondition,
      DescribeNoRoom(room, "a point makes", session.volume.ImageSpec()));
}

/// One that cannot be read says nothing of any point.
absl::Status ForgetRecordOf(Image& image, const std::string& name) {
  ADDONS_ASSIGN_OR_RETURN(const auto metadata,
                          image.ListMetadata(kPointRecordKey));
  const auto record = RecordReader::Open(metadata);
  if (metadata.empty() || (record.ok() && record->header().point != name)) {
    return absl::OkStatus();
  }
  return ReplacePointRecord(image, {});
}

/// Right before each: the one before may have taken long.
absl::Status MakeInTurn(const Session& session, const MirrorView& view,
                        Image& image) {
  if (!NextSnapshotTurn(session, view.image_id).now()) {
    return Refuse(session, absl::StatusCode::kUnavailable,
                  "Ceph's manager is about to make a mirror snapshot of it; "
                  "repeat the call");
  }
  return MakeMirrorSnapshot(session, image);
}

/// So many of this primary that are newer than `before`.
absl::Status NeedSnapshots(const Session& session, Image& image,
                           uint64_t before, size_t count, uint64_t* newest) {
  ADDONS_ASSIGN_OR_RETURN(const auto snapshots, image.MirrorSnapshots());
  size_t found = 0;
  for (const MirrorSnapshot& snapshot : snapshots) {
    found += snapshot.id > before && snapshot.complete &&
                     snapshot.kind == MirrorSnapshotKind::kPrimary
                 ? 1
                 : 0;
  }
  if (!snapshots.empty()) *newest = snapshots.back().id;
  if (found >= count) return absl::OkStatus();
  return Refuse(session, absl::StatusCode::kFailedPrecondition,
                "Ceph keeps too few mirror snapshots of an image, so that "
                "nothing would seal what is whole at the other site: "
                "rbd_mirroring_max_mirroring_snapshots is to be 5 at least");
}

/// The two mirror snapshots that seal what is whole; `newest`: the second.
absl::Status Seal(const Session& session, const MirrorView& view, Image& image,
                  uint64_t* newest) {
  const uint64_t before = view.Newest() == nullptr ? 0 : view.Newest()->id;
  // A rollback to the point asks for that, when older mirror snapshots are
  // gone.
  MirrorView noted = view;
  ADDONS_RETURN_IF_ERROR(NoteTerm(image, &noted));
  ADDONS_RETURN_IF_ERROR(MakeInTurn(session, view, image));
  ADDONS_RETURN_IF_ERROR(MakeInTurn(session, view, image));
  return NeedSnapshots(session, image, before, 2, newest);
}

/// The seal, and the point behind it.
absl::Status MakeSealed(const Session& session, const MirrorView& view,
                        Image& image, MadePoint* made) {
  uint64_t seal = 0;
  // A record of an earlier point of this name is not of this one.
  ADDONS_RETURN_IF_ERROR(ForgetRecordOf(image, made->name));
  ADDONS_RETURN_IF_ERROR(Seal(session, view, image, &seal));
  ADDONS_RETURN_IF_ERROR(image.CreateSnapshot(SnapshotNameOf(made->name)));
  const auto carry = [&]() -> absl::Status {
    ADDONS_RETURN_IF_ERROR(MakeInTurn(session, view, image));
    ADDONS_ASSIGN_OR_RETURN(const auto snapshots, image.Snapshots());
    const std::optional<Point> point = FindPoint(snapshots, made->name);
    if (!point.has_value()) {
      return Refuse(session, absl::StatusCode::kUnavailable,
                    "the point was removed meanwhile");
    }
    made->snapshot = point->snapshot;
    uint64_t newest = 0;
    ADDONS_RETURN_IF_ERROR(NeedSnapshots(session, image, seal - 1, 2, &newest));
    return ReadSnapshotBack(session, image, point->snapshot, kWords,
                            &made->carrier);
  };
  absl::Status carried = carry();
  if (carried.ok()) return carried;
  // Nothing half-made stays behind.
  const auto snapshots = image.Snapshots();
  if (!snapshots.ok()) return carried;
  if (const auto point = FindPoint(*snapshots, made->name); point.has_value()) {
    const absl::Status removed = image.RemoveSnapshot(point->snapshot);
    if (!removed.ok()) {
      Log().warn("a point that was not finished stays volume={} point={}",
                 Quoted(session.volume.volume_id.text()), Quoted(made->name));
    }
  }
  return carried;
}

/// What brings a point that an earlier call has made.
absl::Status CarryOn(const Session& session, const MirrorView& view,
                     const Point& point, Image& image, MadePoint* made) {
  absl::Status carried =
      ReadSnapshotBack(session, image, point.snapshot, kWords, &made->carrier);
  if (carried.ok()) return carried;
  ADDONS_RETURN_IF_ERROR(MakeInTurn(session, view, image));
  return ReadSnapshotBack(session, image, point.snapshot, kWords,
                          &made->carrier);
}

/// An image of which a point can be made, or has been and was not read yet.
struct ReadyImage {
  MirrorView view;
  std::optional<Point> present;
};

/// Waits for that, and for this daemon's turn.
absl::StatusOr<ReadyImage> AwaitReady(Session& session, const std::string& name,
                                      WhenNotInStep when) {
  OperationContext& context = session.context;
  ReadyImage ready;
  while (true) {
    ADDONS_ASSIGN_OR_RETURN(ready.view,
                            LookAtPrimary(session, kPointAction, kNoJournal));
    ADDONS_RETURN_IF_ERROR(RefuseInRollback(session, kPointAction, ready.view));
    ADDONS_ASSIGN_OR_RETURN(ready.present,
                            CheckImage(session, ready.view, name));
    ADDONS_ASSIGN_OR_RETURN(const std::string waits,
                            NotInStep(session, ready.view));
    if (waits.empty() || ready.present.has_value()) break;
    context.Step("waiting until the other site is in step");
    absl::Status pending =
        Refuse(session, absl::StatusCode::kUnavailable, waits);
    if (when == WhenNotInStep::kRefuse) return pending;
    context.SetPending(std::move(pending));
    ADDONS_RETURN_IF_ERROR(
        context.LookAgainAfter(session.environment.options.poll_interval));
  }
  context.SetPending(absl::OkStatus());
  ADDONS_RETURN_IF_ERROR(CheckRoom(session, ready.view));
  ADDONS_RETURN_IF_ERROR(AwaitSyncTurn(session, ready.view, kWords));
  return ready;
}

absl::StatusOr<MadePoint> Make(Session& session, const std::string& name,
                               WhenNotInStep when) {
  OperationContext& context = session.context;
  ADDONS_ASSIGN_OR_RETURN(const ReadyImage ready,
                          AwaitReady(session, name, when));
  const auto& [view, present] = ready;
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  context.Step("making the point");
  MadePoint made;
  made.name = name;
  made.carrier.begun = context.clock().Now();
  const auto make = [&, &seen = view, &point = present](Image& image) {
    if (!point.has_value()) return MakeSealed(session, seen, image, &made);
    made.snapshot = point->snapshot;
    return CarryOn(session, seen, *point, image, &made);
  };
  ADDONS_RETURN_IF_ERROR(ChangeForSync(session, kWords, make));
  return made;
}

/// Without one a group's points are not of one instant.
absl::Status NeedLock(const Session& session) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> image,
      session.reads->OpenImageReadOnly(session.volume.image_name()));
  ADDONS_ASSIGN_OR_RETURN(const ImageFeatures features, image->Features());
  ADDONS_ASSIGN_OR_RETURN(const bool has, image->HasTransientLock());
  if (!features.exclusive_lock) {
    return Refuse(
        session, absl::StatusCode::kFailedPrecondition,
        absl::StrCat("its image has no exclusive lock, with which its "
                     "writers wait; `rbd feature enable ",
                     session.volume.ImageSpec(), " exclusive-lock` adds it"));
  }
  if (has) return absl::OkStatus();
  return Refuse(
      session, absl::StatusCode::kFailedPrecondition,
      "the librbd of this daemon has no lock with which writers wait; "
      "those of Ceph 19.2.4, 20.2.4 and newer have");
}

absl::StatusOr<PlacedImage> SealMember(Session& session) {
  ADDONS_RETURN_IF_ERROR(NeedLock(session));
  ADDONS_ASSIGN_OR_RETURN(const ReadyImage ready,
                          AwaitReady(session, "", WhenNotInStep::kWait));
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("sealing what is whole");
  ADDONS_RETURN_IF_ERROR(ChangeForSync(session, kWords, [&](Image& image) {
    uint64_t seal = 0;
    return Seal(session, ready.view, image, &seal);
  }));
  return PlacedImage{session.volume.pool_id, session.volume.rados_namespace,
                     session.volume.image_name(), ready.view.image_id};
}

absl::StatusOr<MadePoint> CarryMember(Session& session,
                                      const std::string& name) {
  ADDONS_ASSIGN_OR_RETURN(const MirrorView view,
                          LookAtPrimary(session, kPointAction, kNoJournal));
  ADDONS_RETURN_IF_ERROR(RefuseInRollback(session, kPointAction, view));
  MadePoint made;
  made.name = name;
  const std::optional<Point> present =
      FindPoint(view.other_snapshots, made.name);
  if (!present.has_value() || !MadeInThisTerm(view, present->snapshot)) {
    return Refuse(
        session, absl::StatusCode::kUnavailable,
        absl::StrCat("its point '", name,
                     "' was removed meanwhile, or is of the site that "
                     "was primary before; make it anew"));
  }
  ADDONS_RETURN_IF_ERROR(AwaitSyncTurn(session, view, kWords));
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("bringing the point to the other site");
  made.snapshot = present->snapshot;
  ADDONS_RETURN_IF_ERROR(ChangeForSync(session, kWords, [&](Image& image) {
    return CarryOn(session, view, *present, image, &made);
  }));
  return made;
}

absl::StatusOr<SyncSnapshot> Store(
    Session& session, const Point& point,
    const std::map<std::string, std::string>& record) {
  ADDONS_ASSIGN_OR_RETURN(const MirrorView view,
                          LookAtPrimary(session, kPointAction, kNoJournal));
  const std::optional<Point> present =
      FindPoint(view.other_snapshots, point.name);
  if (!present.has_value() || present->snapshot != point.snapshot) {
    return Refuse(session, absl::StatusCode::kUnavailable,
                  absl::StrCat("its point '", point.name,
                               "' was removed while it was read; make it "
                               "anew"));
  }
  ADDONS_ASSIGN_OR_RETURN(const bool recorded,
                          IsRecorded(session, view, *present));
  ADDONS_RETURN_IF_ERROR(AwaitSyncTurn(session, view, kWords));
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("storing what was read");
  return MakeCarrier(session, view, kWords, [&](Image& image) {
    // A digest is of one snapshot: another daemon was at it, too, and the other
    // site may have compared its copy with that one.
    return recorded ? absl::OkStatus() : ReplacePointRecord(image, record);
  });
}

absl::StatusOr<bool> Remove(Session& session, const std::string& name) {
  ADDONS_ASSIGN_OR_RETURN(const MirrorView view,
                          LookAtPrimary(session, kPointAction, kNoJournal));
  const std::optional<Point> point = FindPoint(view.other_snapshots, name);
  if (!point.has_value()) return false;
  if (NeededByRollback(ReadRollbackMark(view), name)) {
    return RefuseInRollback(session, kPointAction, view);
  }
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("removing the point");
  const auto remove = [&](Image& image) -> absl::Status {
    ADDONS_RETURN_IF_ERROR(ForgetRecordOf(image, name));
    return image.RemoveSnapshot(point->snapshot);
  };
  ADDONS_RETURN_IF_ERROR(ChangeImage(session.volume, remove));
  return true;
}

}  // namespace

absl::StatusOr<MadePoint> MakePoint(OperationContext& context,
                                    ReplicationEnvironment& environment,
                                    const VolumeTarget& target,
                                    const std::string& name,
                                    WhenNotInStep when) {
  const std::string named =
      name.empty()
          ? FormatUtcForName(absl::FromChrono(context.clock().WallNow()))
          : name;
  ADDONS_RETURN_IF_ERROR(CheckPointName(named));
  ADDONS_ASSIGN_OR_RETURN(
      MadePoint made,
      RunForResult<MadePoint>(
          context, environment, target, kPointAction,
          [&](Session& session) { return Make(session, named, when); }));
  Log().info("a point was made volume={} point={} snapshot={}",
             Quoted(target.volume_id.text()), Quoted(named), made.snapshot);
  return made;
}

absl::StatusOr<PlacedImage> SealForPoint(OperationContext& context,
                                         ReplicationEnvironment& environment,
                                         const VolumeTarget& target) {
  return RunForResult<PlacedImage>(context, environment, target, kPointAction,
                                   &SealMember);
}

absl::Status AwaitPointTurn(OperationContext& context,
                            ReplicationEnvironment& environment,
                            const VolumeTarget& target) {
  return RunWithSession(context, environment, target, kPointAction,
                        [](Session& session) -> absl::Status {
                          ADDONS_ASSIGN_OR_RETURN(
                              const MirrorView view,
                              LookAtPrimary(session, kPointAction, kNoJournal));
                          return AwaitSyncTurn(session, view, kWords);
                        });
}

absl::StatusOr<MadePoint> CarryPoint(OperationContext& context,
                                     ReplicationEnvironment& environment,
                                     const VolumeTarget& target,
                                     const std::string& name) {
  return RunForResult<MadePoint>(
      context, environment, target, kPointAction,
      [&](Session& session) { return CarryMember(session, name); });
}

absl::StatusOr<SyncSnapshot> StoreRecord(
    OperationContext& context, ReplicationEnvironment& environment,
    const VolumeTarget& target, const std::string& name, uint64_t snapshot,
    const std::map<std::string, std::string>& record) {
  return RunForResult<SyncSnapshot>(
      context, environment, target, kPointAction, [&](Session& session) {
        return Store(session, {name, snapshot}, record);
      });
}

absl::StatusOr<bool> RemovePoint(OperationContext& context,
                                 ReplicationEnvironment& environment,
                                 const VolumeTarget& target,
                                 const std::string& name) {
  ADDONS_RETURN_IF_ERROR(CheckPointName(name));
  SessionOptions options;
  options.although_full = true;
  return RunForResult<bool>(
      context, environment, target, kPointAction,
      [&](Session& session) { return Remove(session, name); }, options);
}

}  // namespace addons
