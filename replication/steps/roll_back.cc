#include "replication/steps/roll_back.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
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
#include "replication/look/point.h"
#include "replication/look/record.h"
#include "replication/look/rollback_mark.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"
#include "replication/steps/primary_only.h"
#include "replication/steps/promotion_cleanup.h"
#include "replication/steps/rollback_plan.h"
#include "replication/steps/sync.h"
#include "replication/steps/write_record.h"
#include "replication/write_back.h"

namespace addons {
namespace {

constexpr SyncWords kRollbackWords = {
    kRollbackAction, "the mirror snapshot that carries it",
    "the mirror snapshot that carries it", "mirror snapshot"};
/// A scheduled snapshot of Ceph's manager has the image open for a moment.
constexpr std::chrono::seconds kManagersMoment{5};
/// How often it is seen whether it may go on, while it writes.
constexpr std::chrono::seconds kWatchEvery{2};
/// It makes so many mirror snapshots at its end.
constexpr uint64_t kEndSnapshots = 2;
/// And so many before, where it keeps by itself what the image holds.
constexpr uint64_t kKeepSnapshots = 2;

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
  WritingBack(const Session& session, MirrorView view, RollbackPlan plan,
              Image& image, Rollback* done)
      : session_(session),
        view_(std::move(view)),
        plan_(std::move(plan)),
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
  /// A point of what it holds now, where a promotion has begun it.
  absl::Status KeepWhatItHolds();
  absl::Status SetMark();
  /// Who opened it meanwhile may remember the mixture.
  absl::Status CheckNobodyReads();
  /// What can change meanwhile, now and then.
  absl::Status Watch();
  absl::Status MakeSnapshot();
  absl::Status End();
  absl::Status TakeMarkAway();
  /// The promotion has left them, so that another one could be chosen.
  void RemovePointsOfFormerPrimary(bool ended);
  WriteBack Work();

  const Session& session_;
  MirrorView view_;  // with the notes as they are
  RollbackPlan plan_;
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
  constexpr uint64_t kSector = 512;
  constexpr uint64_t kHeader1 = uint64_t{2} << 20;
  constexpr uint64_t kHeader2 = uint64_t{16} << 20;
  if (ranges.empty() || ranges.front().offset >= kHeader2) {
    return absl::OkStatus();
  }
  ADDONS_ASSIGN_OR_RETURN(const std::vector<ImageData> first,
                          then({{0, kSector}}));
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
                   "may not open it then",
                   plan_.Untouched() ? HowToGiveUp(session_) : ""));
}

/// Behind two mirror snapshots without a change between them, that of the
/// promotion and this one, as MakePoint() does it. What a try has kept that
/// died stays: nothing tells whether that is all.
absl::Status WritingBack::KeepWhatItHolds() {
  ADDONS_ASSIGN_OR_RETURN(const auto peers, session_.reads->MirrorPeers());
  if (HasReceivingPeer(peers)) ADDONS_RETURN_IF_ERROR(MakeSnapshot());
  session_.context.Step("keeping what it holds as a point");
  // A rollback to it asks for that, when older mirror snapshots are gone.
  ADDONS_RETURN_IF_ERROR(NoteTerm(image_, &view_));
  const std::string name = absl::StrCat(
      "before-",
      FormatUtcForName(absl::FromChrono(session_.context.clock().WallNow())));
  ADDONS_RETURN_IF_ERROR(image_.CreateSnapshot(SnapshotNameOf(name)));
  ADDONS_ASSIGN_OR_RETURN(const auto snapshots, image_.Snapshots());
  plan_.kept = FindPoint(snapshots, name);
  if (plan_.kept.has_value()) {
    done_->kept = name;
    return absl::OkStatus();
  }
  return RefuseRollback(
      session_, absl::StatusCode::kUnavailable,
      absl::StrCat("its point '", name, "' was removed meanwhile; repeat it"));
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
  ADDONS_RETURN_IF_ERROR(TakeMarkAway());
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

absl::Status WritingBack::TakeMarkAway() {
  LocalRecord record = view_.own;
  record.restored.reset();
  if (plan_.answers_promotion) {
    if (const auto term = TermNoteDue(view_); term.has_value()) {
      record.term = term;
    }
    ADDONS_ASSIGN_OR_RETURN(const auto snapshots, image_.Snapshots());
    record.restored =
        RestoredPoint{plan_.point.name, plan_.point.snapshot,
                      snapshots.empty() ? 0 : snapshots.back().id};
  }
  return WriteLocalRecord(image_, record, &view_,
                          {{kRollbackKey, std::nullopt}});
}

void WritingBack::RemovePointsOfFormerPrimary(bool ended) {
  if (!plan_.OfPromotion()) return;
  const RollbackMark mark = plan_.MarkFrom(session_.context);
  const std::string kept =
      plan_.answers_promotion ? mark.kept : plan_.point.name;
  std::vector<Point> former = PointsIn(view_.other_snapshots);
  std::erase_if(former, [&](const Point& point) {
    return point.name == kept || MadeInThisTerm(view_, point.snapshot) ||
           (!ended && NeededByRollback(mark, point.name));
  });
  RemoveFormerPoints(session_, image_, former);
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
    if (plan_.Untouched()) ADDONS_RETURN_IF_ERROR(KeepWhatItHolds());
    if (plan_.kept.has_value()) {
      ADDONS_RETURN_IF_ERROR(CheckStillThere(*plan_.kept));
    }
    ADDONS_RETURN_IF_ERROR(SetMark());
    ADDONS_RETURN_IF_ERROR(
        CopyBack(Work(), read, image_, ranges, "bringing the point back"));
  }
  ADDONS_RETURN_IF_ERROR(CheckStillThere(plan_.point));
  RemovePointsOfFormerPrimary(/*ended=*/false);
  ADDONS_RETURN_IF_ERROR(End());
  RemovePointsOfFormerPrimary(/*ended=*/true);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Rollback> RollBack(Session& session,
                                  const RollbackRequest& request) {
  ADDONS_ASSIGN_OR_RETURN(
      MirrorView view,
      LookAtPrimary(session, kRollbackAction, kNoPointsInJournalMode));
  ADDONS_RETURN_IF_ERROR(CheckPromoted(session, &view));
  ADDONS_ASSIGN_OR_RETURN(const RollbackPlan plan,
                          PlanRollback(session, view, request));
  Rollback done;
  done.goes_on = plan.begun.has_value();
  done.keeps_itself = plan.Untouched();
  if (plan.kept.has_value()) done.kept = plan.kept->name;
  done.bytes = plan.layout.bytes;
  done.bytes_now = view.size.bytes;
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> look,
                          session.reads->OpenImageByIdReadOnly(view.image_id));
  ADDONS_RETURN_IF_ERROR(CheckAlone(session, *look, kManagersMoment));
  ADDONS_RETURN_IF_ERROR(look->Close());
  ADDONS_ASSIGN_OR_RETURN(const SnapshotRoom room,
                          ReadSnapshotRoom(*session.reads, view));
  if (!room.For(kEndSnapshots + (plan.Untouched() ? kKeepSnapshots : 0))) {
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
  Log().warn("a volume was rolled back volume={} point={} kept={} bytes={}",
             Quoted(session.volume.volume_id.text()), Quoted(request.point),
             Quoted(done.kept), done.compared);
  return done;
}

}  // namespace addons
