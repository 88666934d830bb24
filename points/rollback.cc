#include "points/rollback.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "ceph/image_copy.h"
#include "ceph/image_diff.h"
#include "ceph/mirror_clients.h"
#include "ceph/raw_snapshot.h"
#include "points/object_sum.h"
#include "points/whole_point.h"
#include "replication/look/point.h"
#include "replication/look/record.h"
#include "replication/look/rescue_record.h"
#include "replication/look/rollback_mark.h"
#include "replication/session.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"
#include "replication/steps/primary_only.h"
#include "replication/steps/sync.h"
#include "replication/write_back.h"

namespace addons {
namespace {

constexpr char kRollbackAction[] = "roll back";
constexpr SyncWords kRollbackWords = {
    kRollbackAction, "the mirror snapshot that carries it",
    "the mirror snapshot that carries it", "mirror snapshot"};
constexpr char kNoPointsInJournalMode[] =
    "it is replicated in journal mode, in which it has no points";
/// A scheduled snapshot of Ceph's manager has the image open for a moment.
constexpr std::chrono::seconds kManagersMoment{5};
/// How often it is seen whether it may go on, while it writes.
constexpr std::chrono::seconds kWatchEvery{2};
/// It makes so many mirror snapshots at its end.
constexpr uint64_t kEndSnapshots = 2;

absl::Status RefuseRollback(const Session& session, absl::StatusCode code,
                            absl::string_view reason) {
  return FailedTo(kRollbackAction, session.volume, code, reason);
}

/// What a rollback rests on, from one look.
struct Plan {
  std::optional<RollbackMark> begun;  // one that has not ended
  Point point;
  std::optional<Point> kept;
  ImageLayout layout;  // at the point

  /// What the image's metadata tells from its first change on.
  RollbackMark MarkFrom(OperationContext& context) const {
    RollbackMark mark;
    mark.point = point.name;
    if (kept.has_value()) mark.kept = kept->name;
    mark.since = begun.has_value()
                     ? begun->since
                     : FormatUtc(absl::FromChrono(context.clock().WallNow()));
    return mark;
  }
};

/// What a promotion has left to do comes first.
absl::Status CheckPromoted(const Session& session, MirrorView* view) {
  ADDONS_ASSIGN_OR_RETURN(
      const auto rescue,
      ReadRescueRecord(*session.reads, session.volume.image_name(), view));
  const bool half = (rescue.has_value() && AwaitsRestore(*rescue, *view)) ||
                    UnsavedHalfCopy(*view, rescue) != nullptr ||
                    !HalfCopies(*view).empty() ||
                    view->own.demotion.has_value();
  if (!half) return absl::OkStatus();
  return RefuseRollback(session, absl::StatusCode::kUnavailable,
                        "its last promotion has not ended; promote it again "
                        "first");
}

/// A point that is whole here: one that this site has made as primary, or that
/// a rollback rests on already.
absl::StatusOr<Point> NeedPoint(const Session& session, const MirrorView& view,
                                const std::optional<RollbackMark>& begun,
                                const std::string& name) {
  std::optional<Point> point = FindPoint(view.other_snapshots, name);
  if (!point.has_value()) {
    return RefuseRollback(
        session, absl::StatusCode::kFailedPrecondition,
        absl::StrCat(
            "it has no point '", name, "' (`rbd-addons point list` shows them)",
            begun.has_value()
                ? absl::StrCat("; to accept what it holds now, a mixture, take "
                               "the note away: `rbd image-meta remove ",
                               session.volume.ImageSpec(), " ", kRollbackKey,
                               "`")
                : ""));
  }
  if (MadeInThisTerm(view, point->snapshot) || NeededByRollback(begun, name)) {
    return *std::move(point);
  }
  return RefuseRollback(
      session, absl::StatusCode::kFailedPrecondition,
      absl::StrCat("its point '", name,
                   "' was made before this site was promoted last, so that it "
                   "is not known to be whole here"));
}

absl::StatusOr<Plan> MakePlan(const Session& session, const MirrorView& view,
                              const RollbackRequest& request) {
  Plan plan;
  plan.begun = ReadRollbackMark(view);
  if (plan.begun.has_value() && plan.begun->unclear) {
    return RefuseRollback(session, absl::StatusCode::kFailedPrecondition,
                          DescribeRollback(*plan.begun));
  }
  if (request.only_go_on && !plan.begun.has_value()) {
    return RefuseRollback(session, absl::StatusCode::kFailedPrecondition,
                          "the rollback that was to go on has ended meanwhile; "
                          "look anew");
  }
  if (view.parent.has_value()) {
    return RefuseRollback(session, absl::StatusCode::kFailedPrecondition,
                          "it is a clone, and what it has from its parent is "
                          "not brought back");
  }
  ADDONS_ASSIGN_OR_RETURN(plan.point,
                          NeedPoint(session, view, plan.begun, request.point));
  if (plan.begun.has_value()) {
    // Somebody may have removed it by hand.
    plan.kept = FindPoint(view.other_snapshots, plan.begun->kept);
  } else if (!request.kept.empty()) {
    ADDONS_ASSIGN_OR_RETURN(plan.kept,
                            NeedPoint(session, view, plan.begun, request.kept));
  }
  ADDONS_ASSIGN_OR_RETURN(
      plan.layout,
      LayoutAt(session, kRollbackAction, view.image_id, plan.point.snapshot));
  if (view.size.bytes >= plan.layout.bytes) return plan;
  return RefuseRollback(
      session, absl::StatusCode::kFailedPrecondition,
      absl::StrCat("it has ", view.size.bytes, " bytes now, and had ",
                   plan.layout.bytes, " at point '", plan.point.name,
                   "'; make it as large first (`rbd resize`)"));
}

/// Whether others can be kept from writing.
absl::Status CheckAlone(const Session& session, Image& image,
                        SteadyDuration patience) {
  ADDONS_ASSIGN_OR_RETURN(const ImageFeatures features, image.Features());
  if (!features.exclusive_lock) {
    return RefuseRollback(
        session, absl::StatusCode::kFailedPrecondition,
        absl::StrCat("it has no exclusive lock, so that a client could write "
                     "meanwhile; `rbd feature enable ",
                     session.volume.ImageSpec(), " exclusive-lock`"));
  }
  ADDONS_RETURN_IF_ERROR(
      RefuseLockTakenByHand(kRollbackAction, session.volume, image));
  return AwaitNoWorkload(
      session, image, patience, [&session](const std::string& clients) {
        return RefuseRollback(
            session, absl::StatusCode::kFailedPrecondition,
            absl::StrCat("it is in use by ", clients,
                         "; stop that workload (a client that died is gone "
                         "from this list after 30 s)"));
      });
}

/// The work with the image open, and its exclusive lock held.
class WritingBack {
 public:
  /// Nothing is owned.
  WritingBack(const Session& session, const MirrorView& view, const Plan& plan,
              Image& image, Rollback* done)
      : session_(session),
        view_(view),
        plan_(plan),
        image_(image),
        done_(done) {}

  absl::Status Run();

 private:
  /// While a snapshot is removed its objects read as others.
  absl::Status CheckStillThere(const Point& point);
  /// Whether the image was written to since the point that keeps what it holds.
  absl::StatusOr<bool> WrittenSinceKept(const ImageLayout& now);
  /// A passphrase of today does not open a header of then.
  absl::Status CheckHeader(const ReadRangesFn& then,
                           const std::vector<ImageRange>& ranges);
  absl::Status SetMark();
  /// Who opened it meanwhile may remember the mixture.
  absl::Status CheckNobodyReads();
  /// What can change meanwhile, now and then.
  absl::Status Watch();
  absl::Status MakeSnapshot();
  absl::Status End();
  WriteBack Work();

  const Session& session_;
  const MirrorView& view_;
  const Plan& plan_;
  Image& image_;
  Rollback* const done_;
  SteadyTime watched_at_{};
};

absl::Status WritingBack::CheckStillThere(const Point& point) {
  ADDONS_ASSIGN_OR_RETURN(const auto snapshots, image_.Snapshots());
  const std::optional<Point> present = FindPoint(snapshots, point.name);
  if (present.has_value() && present->snapshot == point.snapshot) {
    return absl::OkStatus();
  }
  return RefuseRollback(session_, absl::StatusCode::kUnavailable,
                        absl::StrCat("its point '", point.name,
                                     "' was removed meanwhile; look anew"));
}

absl::StatusOr<bool> WritingBack::WrittenSinceKept(const ImageLayout& now) {
  if (!plan_.kept.has_value()) return false;
  ADDONS_ASSIGN_OR_RETURN(
      const std::vector<ImageRange> written,
      FindChanged(Work(), now,
                  {{plan_.kept->snapshot, kHead, AbsentObject::kZeros}},
                  now.bytes, "seeing whether it was written to since"));
  return !written.empty();
}

absl::Status WritingBack::CheckHeader(const ReadRangesFn& then,
                                      const std::vector<ImageRange>& ranges) {
  // LUKS 1 and 2, as cryptsetup formats by itself.
  constexpr absl::string_view kMagic("LUKS\xba\xbe", 6);
  constexpr uint64_t kHeader1 = uint64_t{2} << 20;
  constexpr uint64_t kHeader2 = uint64_t{16} << 20;
  if (ranges.empty() || ranges.front().offset >= kHeader2) {
    return absl::OkStatus();
  }
  ADDONS_ASSIGN_OR_RETURN(const std::vector<ImageData> first,
                          then({{0, kSectorBytes}}));
  const absl::string_view bytes = first.front().bytes;
  if (!absl::StartsWith(bytes, kMagic)) return absl::OkStatus();
  const bool is_first = bytes[kMagic.size() + 1] == 1;
  const uint64_t header = is_first ? kHeader1 : kHeader2;
  std::vector<ImageRange> within;
  for (const ImageRange& range : ranges) {
    if (range.offset >= header) break;
    within.push_back(
        {range.offset, std::min(range.length, header - range.offset)});
  }
  ADDONS_ASSIGN_OR_RETURN(
      const bool same, SameContent(then, image_, within,
                                   session_.environment.options.rescue_copy));
  if (same) return absl::OkStatus();
  return RefuseRollback(
      session_, absl::StatusCode::kFailedPrecondition,
      absl::StrCat("it is encrypted, and its header was changed since point '",
                   plan_.point.name,
                   "', as by a rotation of its key: the passphrase of today "
                   "may not open it then"));
}

absl::Status WritingBack::SetMark() {
  return image_.ChangeMetadata(
      {{kRollbackKey,
        FormatRollbackMark(plan_.MarkFrom(session_.context), view_)}});
}

absl::Status WritingBack::CheckNobodyReads() {
  ADDONS_ASSIGN_OR_RETURN(const ImageClients clients,
                          FindClients(session_, image_));
  if (clients.workloads.empty()) return absl::OkStatus();
  return RefuseRollback(
      session_, absl::StatusCode::kUnavailable,
      absl::StrCat(DescribeWatchers(clients.workloads),
                   " has opened it meanwhile and may remember the mixture that "
                   "it held; stop that workload, and roll back again"));
}

absl::Status WritingBack::Watch() {
  const SteadyTime now = session_.context.clock().Now();
  if (now - watched_at_ < kWatchEvery) return absl::OkStatus();
  watched_at_ = now;
  // The lease may be lost by now.
  ADDONS_RETURN_IF_ERROR(session_.context.BeginMutation());
  ADDONS_RETURN_IF_ERROR(CheckStillThere(plan_.point));
  return CheckNobodyReads();
}

WriteBack WritingBack::Work() {
  WriteBack work{session_, [this](absl::string_view reason) {
                   return RefuseRollback(
                       session_, absl::StatusCode::kUnavailable, reason);
                 }};
  work.beside = [this] { return Watch(); };
  work.zeros_too = true;
  return work;
}

absl::Status WritingBack::MakeSnapshot() {
  ADDONS_RETURN_IF_ERROR(AwaitSnapshotTurn(
      session_, view_.image_id,
      RefuseRollback(session_, absl::StatusCode::kUnavailable,
                     "its mirror snapshot is made when the manager makes none; "
                     "repeat the call"),
      TurnWaits::kInPlace));
  session_.context.Step("making a mirror snapshot of it");
  return MakeMirrorSnapshot(session_, image_);
}

/// Whoever promotes the other site goes by its metadata, which come with a copy
/// before that is whole. So one snapshot has the content and the note, and the
/// next one no note.
absl::Status WritingBack::End() {
  ADDONS_ASSIGN_OR_RETURN(const auto peers, session_.reads->MirrorPeers());
  const bool carried = HasReceivingPeer(peers);
  if (carried) ADDONS_RETURN_IF_ERROR(MakeSnapshot());
  ADDONS_RETURN_IF_ERROR(CheckNobodyReads());
  ADDONS_RETURN_IF_ERROR(image_.ChangeMetadata({{kRollbackKey, std::nullopt}}));
  absl::Status read = CheckNobodyReads();
  if (!read.ok()) {
    ADDONS_RETURN_IF_ERROR(SetMark());
    return read;
  }
  if (!carried) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(MakeSnapshot());
  SyncSnapshot carrier;
  ADDONS_RETURN_IF_ERROR(ReadSnapshotBack(
      session_, image_, view_.Newest() == nullptr ? 0 : view_.Newest()->id,
      kRollbackWords, &carrier));
  done_->carrier = carrier.id;
  return absl::OkStatus();
}

absl::Status WritingBack::Run() {
  ADDONS_RETURN_IF_ERROR(
      CheckAlone(session_, image_, session_.environment.options.watch_timeout));
  ADDONS_RETURN_IF_ERROR(LockToWriteBack(Work(), image_));
  ADDONS_ASSIGN_OR_RETURN(const ImageLayout now, image_.Layout());
  ADDONS_ASSIGN_OR_RETURN(
      const std::vector<ImageRange> ranges,
      FindChanged(Work(), now,
                  {{plan_.point.snapshot, kHead, AbsentObject::kZeros,
                    /*between=*/true}},
                  plan_.layout.bytes, "finding what differs from the point"));
  done_->compared = TotalBytes(ranges);
  if (!plan_.begun.has_value() && ranges.empty()) {
    return CheckStillThere(plan_.point);
  }
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> data,
                          OpenDataPool(session_, plan_.layout));
  RawSnapshot source(plan_.layout, *data, plan_.point.snapshot);
  const ReadRangesFn read = Reading(source);
  ADDONS_RETURN_IF_ERROR(CheckHeader(read, ranges));
  bool written = false;
  if (!plan_.begun.has_value()) {
    ADDONS_ASSIGN_OR_RETURN(written, WrittenSinceKept(now));
  }
  if (written) {
    // By this rollback itself, where its answer was lost.
    session_.context.Step("comparing what it holds with the point");
    ADDONS_ASSIGN_OR_RETURN(
        const bool same, SameContent(read, image_, ranges,
                                     session_.environment.options.rescue_copy));
    if (!same) {
      return RefuseRollback(
          session_, absl::StatusCode::kFailedPrecondition,
          absl::StrCat("it was written to since point '", plan_.kept->name,
                       "', which was to keep what it holds; stop the "
                       "workload, and begin anew"));
    }
  } else {
    ADDONS_RETURN_IF_ERROR(CheckStillThere(plan_.point));
    if (plan_.kept.has_value()) {
      ADDONS_RETURN_IF_ERROR(CheckStillThere(*plan_.kept));
    }
    ADDONS_RETURN_IF_ERROR(SetMark());
    ADDONS_RETURN_IF_ERROR(
        CopyBack(Work(), read, image_, ranges, "bringing the point back"));
  }
  ADDONS_RETURN_IF_ERROR(CheckStillThere(plan_.point));
  return End();
}

absl::StatusOr<Rollback> RollBack(Session& session,
                                  const RollbackRequest& request) {
  ADDONS_ASSIGN_OR_RETURN(
      MirrorView view,
      LookAtPrimary(session, kRollbackAction, kNoPointsInJournalMode));
  ADDONS_RETURN_IF_ERROR(CheckPromoted(session, &view));
  ADDONS_ASSIGN_OR_RETURN(const Plan plan, MakePlan(session, view, request));
  Rollback done;
  done.goes_on = plan.begun.has_value();
  if (plan.kept.has_value()) done.kept = plan.kept->name;
  done.bytes = plan.layout.bytes;
  done.bytes_now = view.size.bytes;
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> look,
                          session.reads->OpenImageByIdReadOnly(view.image_id));
  ADDONS_RETURN_IF_ERROR(CheckAlone(session, *look, kManagersMoment));
  ADDONS_RETURN_IF_ERROR(look->Close());
  ADDONS_ASSIGN_OR_RETURN(const SnapshotRoom room,
                          ReadSnapshotRoom(*session.reads, view));
  if (!room.For(kEndSnapshots)) {
    return RefuseRollback(
        session, absl::StatusCode::kFailedPrecondition,
        DescribeNoRoom(room, "a rollback makes", session.volume.ImageSpec()));
  }
  if (request.only_look) return done;
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  ADDONS_RETURN_IF_ERROR(
      ChangeForSync(session, kRollbackWords, [&](Image& image) {
        return WritingBack(session, view, plan, image, &done).Run();
      }));
  return done;
}

}  // namespace

absl::StatusOr<Rollback> RollBackToPoint(OperationContext& context,
                                         ReplicationEnvironment& environment,
                                         const VolumeTarget& target,
                                         const RollbackRequest& request) {
  ADDONS_RETURN_IF_ERROR(CheckPointName(request.point));
  if (!request.kept.empty()) {
    ADDONS_RETURN_IF_ERROR(CheckPointName(request.kept));
  }
  ADDONS_ASSIGN_OR_RETURN(
      Rollback done,
      RunForResult<Rollback>(
          context, environment, target, kRollbackAction,
          [&](Session& session) { return RollBack(session, request); }));
  if (!request.only_look) {
    Log().warn("a volume was rolled back volume={} point={} kept={} bytes={}",
               Quoted(target.volume_id.text()), Quoted(request.point),
               Quoted(done.kept), done.compared);
  }
  return done;
}

}  // namespace addons
