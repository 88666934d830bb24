#include "points/prove.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "ceph/retry_when_blocklisted.h"
#include "replication/look/known_proofs.h"
#include "replication/look/point.h"

namespace addons {
namespace {

constexpr char kProveAction[] = "verify a point of";

/// For promotions, the watch, and those who ask later.
absl::Status Keep(OperationContext& context, const SeenImage& seen,
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
  ADDONS_ASSIGN_OR_RETURN(const SeenImage seen,
                          SeeImage(context, environment, target, kProveAction));
  if (!seen.view.info.primary) {
    return seen.Refuse(
        absl::StatusCode::kFailedPrecondition,
        absl::StrCat("it is ", RoleName(seen.view),
                     " on this site, and a point is read where it is "
                     "primary"));
  }
  const auto point = FindPoint(seen.view.other_snapshots, name);
  if (!point.has_value()) {
    return seen.Refuse(absl::StatusCode::kFailedPrecondition,
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

}  // namespace

absl::StatusOr<Proof> ProveWholePoint(OperationContext& context,
                                      ReplicationEnvironment& environment,
                                      const VolumeTarget& target,
                                      WholePoint* whole,
                                      const ContentSink& sink) {
  Proof proof;
  proof.header = whole->record.header();
  proof.image = whole->seen.opened.volume.ImageSpec();
  proof.primary = whole->seen.view.info.primary;
  ADDONS_ASSIGN_OR_RETURN(proof.found, CompareContent(context, whole->source,
                                                      &whole->record, sink));
  ADDONS_ASSIGN_OR_RETURN(
      const SeenImage now,
      StillThere(context, environment, target, whole->seen, whole->point));
  // Of what was promoted meanwhile nothing is kept.
  if (!proof.primary && !now.view.info.primary &&
      proof.verdict() != Proof::Verdict::kUnclear) {
    proof.kept = Keep(context, now, proof);
  }
  return proof;
}

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
  return RetryWhenBlocklisted([&]() -> absl::StatusOr<Proof> {
    ADDONS_ASSIGN_OR_RETURN(
        WholePoint whole, FindWholePoint(context, environment, target,
                                         kProveAction, name, bytes_per_second));
    context.Step("reading the point");
    return ProveWholePoint(context, environment, target, &whole);
  });
}

Proof::Verdict Proof::verdict() const {
  if (found.damaged > 0) {
    return found.sectors ? Verdict::kDamaged : Verdict::kUnclear;
  }
  return found.not_cleared_bytes > 0 ? Verdict::kNotCleared : Verdict::kWhole;
}

std::string DescribeFound(const Proof& proof) {
  const Comparison& found = proof.found;
  std::string text = absl::StrCat("point ", proof.header.point, ": ");
  switch (proof.verdict()) {
    case Proof::Verdict::kWhole:
    case Proof::Verdict::kNotCleared:
      absl::StrAppend(&text, "whole, ", found.with_data,
                      " objects with data compared");
      break;
    case Proof::Verdict::kUnclear:
      absl::StrAppend(&text, "unclear: ", found.damaged, " may differ");
      break;
    case Proof::Verdict::kDamaged:
      absl::StrAppend(&text, "damaged: ", found.damaged,
                      found.damaged == 1 ? " differs" : " differ");
      break;
  }
  if (found.not_cleared_bytes > 0) {
    absl::StrAppend(&text, "; not cleared: ", found.not_cleared_bytes,
                    " bytes");
  }
  return text;
}

absl::StatusOr<SeenPoints> LookAtPoints(OperationContext& context,
                                        ReplicationEnvironment& environment,
                                        const VolumeTarget& target) {
  return RetryWhenBlocklisted([&]() -> absl::StatusOr<SeenPoints> {
    context.Step("looking at the image");
    ADDONS_ASSIGN_OR_RETURN(
        SeenImage image, SeeImage(context, environment, target, kProveAction));
    ADDONS_ASSIGN_OR_RETURN(
        const auto metadata,
        ReadPointMetadata(*image.opened.reads, image.view.image_id));
    ADDONS_RETURN_IF_ERROR(AddProof(*image.opened.reads, &image.view));
    const auto record = RecordReader::Open(metadata);
    SeenPoints seen;
    seen.primary = image.view.info.primary;
    ADDONS_ASSIGN_OR_RETURN(seen.mirror_uuid, image.opened.reads->MirrorUuid());
    seen.copy = IsCopy(image.view);
    seen.proof = image.view.proof;
    for (const Point& point : PointsIn(image.view.other_snapshots)) {
      ListedPoint& one = seen.points.emplace_back();
      one.name = point.name;
      one.snapshot = point.snapshot;
      one.recorded =
          record.ok() && record->header().IsOf(point, image.view.info);
      if (one.recorded) one.made = record->header().made;
    }
    return seen;
  });
}

}  // namespace addons
