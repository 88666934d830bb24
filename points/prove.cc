#include "points/prove.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "ceph/retry_when_blocklisted.h"
#include "replication/look/known_proofs.h"
#include "replication/look/point.h"
#include "replication/look/rescue_record.h"
#include "replication/look/role_log.h"
#include "replication/session.h"

namespace addons {
namespace {

constexpr char kProveAction[] = "verify a point of";

/// An image of this site, and what it is.
struct Seen {
  OpenedVolume opened;
  MirrorView view;
};

absl::Status Refuse(const ResolvedVolume& volume, absl::StatusCode code,
                    absl::string_view reason) {
  return FailedTo(kProveAction, volume, code, reason);
}

absl::StatusOr<Seen> Look(OperationContext& context,
                          ReplicationEnvironment& environment,
                          const VolumeTarget& target) {
  Seen seen;
  ADDONS_ASSIGN_OR_RETURN(
      seen.opened,
      OpenVolume(environment, target, Access::kRead, ResolveDeadline(context)));
  auto view = LookWithoutOpening(seen.opened.volume, *seen.opened.reads,
                                 environment.timeline);
  if (absl::IsNotFound(view.status())) return ImageMissing(seen.opened.volume);
  ADDONS_RETURN_IF_ERROR(view.status());
  NoteLook(environment, seen.opened, *view);
  // Where what is found is written down.
  environment.history.Locate(target.volume_id.text(), seen.opened.volume,
                             seen.opened.volume.ImageSpec());
  // A copy that a rescue calls complete is not.
  ADDONS_RETURN_IF_ERROR(ReadRescueRecord(*seen.opened.reads,
                                          seen.opened.volume.image_name(),
                                          &*view)
                             .status());
  seen.view = *std::move(view);
  if (seen.view.enabled()) return seen;
  return Refuse(seen.opened.volume, absl::StatusCode::kFailedPrecondition,
                "its replication is off; enable it first");
}

/// The image's content at a snapshot of it.
absl::StatusOr<ContentSource> SourceAt(const Seen& seen, uint64_t snapshot,
                                       uint64_t bytes_per_second) {
  const OpenedVolume& opened = seen.opened;
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> image,
      opened.reads->OpenImageByIdReadOnly(seen.view.image_id));
  ADDONS_RETURN_IF_ERROR(image->SelectSnapshot(snapshot));
  ContentSource source;
  ADDONS_ASSIGN_OR_RETURN(source.layout, image->Layout());
  ADDONS_ASSIGN_OR_RETURN(const auto parent, image->Parent());
  ADDONS_RETURN_IF_ERROR(image->Close());
  if (parent.has_value()) {
    return Refuse(opened.volume, absl::StatusCode::kFailedPrecondition,
                  "it was a clone at that point, and what it had from its "
                  "parent cannot be proven");
  }
  const auto shape = PointShape::Of(source.layout);
  if (!shape.ok()) {
    return Refuse(opened.volume, absl::StatusCode::kFailedPrecondition,
                  shape.status().message());
  }
  source.shape = *shape;
  source.snapshot = snapshot;
  source.bytes_per_second = bytes_per_second;
  source.open_data = [cluster = opened.volume.cluster,
                      pool = source.layout.data_pool_id,
                      space = opened.reads->rados_namespace()] {
    return cluster->OpenPool(pool, space, Access::kRead);
  };
  return source;
}

/// While a snapshot is removed its objects read as others. What is there now.
/// UNAVAILABLE: it is not the same one any more.
absl::StatusOr<Seen> StillThere(OperationContext& context,
                                ReplicationEnvironment& environment,
                                const VolumeTarget& target, const Seen& before,
                                const Point& point) {
  ADDONS_ASSIGN_OR_RETURN(Seen now, Look(context, environment, target));
  const auto present = FindPoint(now.view.other_snapshots, point.name);
  if (now.view.image_id == before.view.image_id && present.has_value() &&
      present->snapshot == point.snapshot) {
    return now;
  }
  return Refuse(now.opened.volume, absl::StatusCode::kUnavailable,
                absl::StrCat("its point '", point.name,
                             "' was removed while it was read"));
}

absl::StatusOr<std::map<std::string, std::string>> ReadMetadata(
    const Seen& seen) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> image,
      seen.opened.reads->OpenImageByIdReadOnly(seen.view.image_id));
  ADDONS_ASSIGN_OR_RETURN(auto metadata, image->ListMetadata(kPointRecordKey));
  ADDONS_RETURN_IF_ERROR(image->Close());
  return metadata;
}

/// The point, where it is whole on this site.
absl::StatusOr<Point> FindWhole(const Seen& seen, const PointHeader& header) {
  const auto refuse = [&](absl::StatusCode code, absl::string_view reason) {
    return Refuse(seen.opened.volume, code, reason);
  };
  if (header.global_id != seen.view.info.global_id) {
    return refuse(absl::StatusCode::kFailedPrecondition,
                  "the record that it has is of another image, from which it "
                  "was cloned; make a point of it first");
  }
  const auto point = FindPoint(seen.view.other_snapshots, header.point);
  const auto former = [&] {
    return refuse(
        absl::StatusCode::kFailedPrecondition,
        absl::StrCat("its newest point '", header.point,
                     "' was made while another site was primary; make "
                     "a new one where it is primary now"));
  };
  if (seen.view.info.primary) {
    ADDONS_ASSIGN_OR_RETURN(const std::string own,
                            seen.opened.reads->MirrorUuid());
    if (header.site != own) return former();
    if (point.has_value() && point->snapshot == header.snapshot) return *point;
    return refuse(absl::StatusCode::kFailedPrecondition,
                  absl::StrCat("its point '", header.point,
                               "' was removed; make a new one"));
  }
  const MirrorSnapshot* const complete = seen.view.LastComplete();
  if (complete == nullptr || !complete->copied()) {
    return refuse(absl::StatusCode::kFailedPrecondition,
                  "no copy of another site is whole here");
  }
  if (complete->primary_mirror_uuid != header.site) return former();
  // One of this name that is newer than what is whole came with another copy.
  const bool arrived = complete->primary_snapshot_id > header.snapshot &&
                       (!point.has_value() || point->snapshot < complete->id);
  if (arrived && point.has_value()) return *point;
  if (arrived) {
    return refuse(absl::StatusCode::kFailedPrecondition,
                  absl::StrCat("its point '", header.point,
                               "' was removed; make a new one where it is "
                               "primary"));
  }
  return refuse(absl::StatusCode::kUnavailable,
                absl::StrCat("its point '", header.point,
                             "' has not arrived here whole yet",
                             seen.view.CopyProgress().empty() ? "" : "; ",
                             seen.view.CopyProgress()));
}

/// For promotions, the watch, and those who ask later.
absl::Status Keep(OperationContext& context, const Seen& seen,
                  const Proof& proof) {
  KnownProof known;
  known.point = proof.header.point;
  known.made = proof.header.made;
  known.compared =
      absl::ToUnixSeconds(absl::FromChrono(context.clock().WallNow()));
  known.damaged = proof.found.damaged;
  known.not_cleared_bytes = proof.found.not_cleared_bytes;
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          seen.opened.volume.OpenPool(Access::kMutate));
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  return WriteProof(*pool, seen.view.image_id, known);
}

absl::StatusOr<DigestedPoint> Digest(OperationContext& context,
                                     ReplicationEnvironment& environment,
                                     const VolumeTarget& target,
                                     const std::string& name,
                                     uint64_t bytes_per_second) {
  context.Step("looking at the image");
  ADDONS_ASSIGN_OR_RETURN(const Seen seen, Look(context, environment, target));
  const ResolvedVolume& volume = seen.opened.volume;
  if (!seen.view.info.primary) {
    return Refuse(volume, absl::StatusCode::kFailedPrecondition,
                  absl::StrCat("it is ", RoleName(seen.view),
                               " on this site, and a point is read where it is "
                               "primary"));
  }
  const auto point = FindPoint(seen.view.other_snapshots, name);
  if (!point.has_value()) {
    return Refuse(volume, absl::StatusCode::kFailedPrecondition,
                  absl::StrCat("it has no point '", name, "'"));
  }
  ADDONS_ASSIGN_OR_RETURN(const ContentSource source,
                          SourceAt(seen, point->snapshot, bytes_per_second));
  PointHeader header;
  header.point = name;
  header.snapshot = point->snapshot;
  header.global_id = seen.view.info.global_id;
  ADDONS_ASSIGN_OR_RETURN(header.site, seen.opened.reads->MirrorUuid());
  header.made =
      absl::ToUnixSeconds(absl::FromChrono(context.clock().WallNow()));
  header.shape = source.shape;
  context.Step("reading the point");
  DigestedPoint digested;
  digested.snapshot = point->snapshot;
  ADDONS_ASSIGN_OR_RETURN(
      digested.record,
      DigestContent(context, source, header, &digested.bytes_read));
  ADDONS_RETURN_IF_ERROR(
      StillThere(context, environment, target, seen, *point).status());
  return digested;
}

/// The record of the point `name`; empty: of whichever it is.
absl::StatusOr<RecordReader> ReadRecord(const Seen& seen,
                                        const std::string& name) {
  const ResolvedVolume& volume = seen.opened.volume;
  ADDONS_ASSIGN_OR_RETURN(auto metadata, ReadMetadata(seen));
  auto record = RecordReader::Open(metadata);
  if (absl::IsDataLoss(record.status())) {
    // Its parts are read one after the other, and may have been replaced.
    ADDONS_ASSIGN_OR_RETURN(metadata, ReadMetadata(seen));
    record = RecordReader::Open(metadata);
  }
  const MirrorSnapshot* const newest = seen.view.Newest();
  const bool arrives = newest != nullptr && !newest->complete;
  if (record.ok() && (name.empty() || record->header().point == name)) {
    return record;
  }
  if (!name.empty() && (record.ok() || absl::IsNotFound(record.status()))) {
    return Refuse(
        volume, absl::StatusCode::kUnavailable,
        absl::StrCat("what its point '", name, "' held is not known here yet",
                     record.ok() ? absl::StrCat(", only what '",
                                                record->header().point, "' did")
                                 : "",
                     "; it comes with the copies of what `rbd-addons point "
                     "create` makes where it is primary"));
  }
  if (arrives) {
    return Refuse(volume, absl::StatusCode::kUnavailable,
                  absl::StrCat("a copy is arriving, and may bring it; ",
                               seen.view.CopyProgress()));
  }
  if (absl::IsNotFound(record.status())) {
    return Refuse(volume, absl::StatusCode::kFailedPrecondition,
                  "no point of it has arrived on this site, with what it held; "
                  "`rbd-addons point create` makes one where it is primary");
  }
  return Refuse(volume, record.status().code(), record.status().message());
}

absl::StatusOr<Proof> Prove(OperationContext& context,
                            ReplicationEnvironment& environment,
                            const VolumeTarget& target, const std::string& name,
                            uint64_t bytes_per_second) {
  context.Step("looking at the image");
  ADDONS_ASSIGN_OR_RETURN(const Seen seen, Look(context, environment, target));
  const ResolvedVolume& volume = seen.opened.volume;
  ADDONS_ASSIGN_OR_RETURN(RecordReader record, ReadRecord(seen, name));
  Proof proof;
  proof.header = record.header();
  proof.primary = seen.view.info.primary;
  ADDONS_ASSIGN_OR_RETURN(const Point point, FindWhole(seen, proof.header));
  ADDONS_ASSIGN_OR_RETURN(const ContentSource source,
                          SourceAt(seen, point.snapshot, bytes_per_second));
  if (!(source.shape == proof.header.shape)) {
    return Refuse(volume, absl::StatusCode::kFailedPrecondition,
                  "the image here has another size, or other objects, than its "
                  "record says; resync it");
  }
  context.Step("reading the point");
  ADDONS_ASSIGN_OR_RETURN(proof.found,
                          CompareContent(context, source, &record));
  ADDONS_ASSIGN_OR_RETURN(
      const Seen now, StillThere(context, environment, target, seen, point));
  // Of what was promoted meanwhile nothing is kept.
  if (!proof.primary && !now.view.info.primary &&
      proof.verdict() != Proof::Verdict::kUnclear) {
    proof.kept = Keep(context, now, proof);
  }
  return proof;
}

}  // namespace

absl::StatusOr<DigestedPoint> DigestPoint(OperationContext& context,
                                          ReplicationEnvironment& environment,
                                          const VolumeTarget& target,
                                          const std::string& name,
                                          uint64_t bytes_per_second) {
  ADDONS_RETURN_IF_ERROR(CheckPointName(name));
  return RetryWhenBlocklisted([&] {
    return Digest(context, environment, target, name, bytes_per_second);
  });
}

absl::StatusOr<Proof> ProvePoint(OperationContext& context,
                                 ReplicationEnvironment& environment,
                                 const VolumeTarget& target,
                                 const std::string& name,
                                 uint64_t bytes_per_second) {
  if (!name.empty()) ADDONS_RETURN_IF_ERROR(CheckPointName(name));
  return RetryWhenBlocklisted([&] {
    return Prove(context, environment, target, name, bytes_per_second);
  });
}

Proof::Verdict Proof::verdict() const {
  if (found.damaged > 0) {
    return found.sectors ? Verdict::kDamaged : Verdict::kUnclear;
  }
  return found.not_cleared_bytes > 0 ? Verdict::kNotCleared : Verdict::kWhole;
}

absl::StatusOr<std::vector<ListedPoint>> ListPoints(
    OperationContext& context, ReplicationEnvironment& environment,
    const VolumeTarget& target) {
  return RetryWhenBlocklisted(
      [&]() -> absl::StatusOr<std::vector<ListedPoint>> {
        context.Step("looking at the image");
        ADDONS_ASSIGN_OR_RETURN(const Seen seen,
                                Look(context, environment, target));
        ADDONS_ASSIGN_OR_RETURN(const auto metadata, ReadMetadata(seen));
        const auto record = RecordReader::Open(metadata);
        std::vector<ListedPoint> listed;
        for (const Point& point : PointsIn(seen.view.other_snapshots)) {
          ListedPoint& one = listed.emplace_back();
          one.name = point.name;
          one.snapshot = point.snapshot;
          one.recorded =
              record.ok() && record->header().IsOf(point, seen.view.info);
          if (one.recorded) one.made = record->header().made;
        }
        return listed;
      });
}

}  // namespace addons
