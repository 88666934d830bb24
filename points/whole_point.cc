#include "points/whole_point.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "replication/look/record.h"
#include "replication/look/rescue_record.h"
#include "replication/write_back.h"
#include "volume/missing_image.h"

namespace addons {

absl::StatusOr<SeenImage> SeeImage(OperationContext& context,
                                   ReplicationEnvironment& environment,
                                   const VolumeTarget& target,
                                   std::string action, Access access) {
  SeenImage seen;
  seen.action = std::move(action);
  ADDONS_ASSIGN_OR_RETURN(seen.opened, OpenVolume(environment, target, access,
                                                  ResolveDeadline(context)));
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
  return seen.Refuse(absl::StatusCode::kFailedPrecondition,
                     "its replication is off; enable it first");
}

absl::StatusOr<ContentSource> SourceAt(const SeenImage& seen, uint64_t snapshot,
                                       uint64_t bytes_per_second) {
  const OpenedVolume& opened = seen.opened;
  ContentSource source;
  ADDONS_ASSIGN_OR_RETURN(
      source.layout,
      LayoutAt(opened, seen.action, seen.view.image_id, snapshot));
  const auto shape = PointShape::Of(source.layout);
  if (!shape.ok()) {
    return seen.Refuse(absl::StatusCode::kFailedPrecondition,
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

absl::StatusOr<SeenImage> StillThere(OperationContext& context,
                                     ReplicationEnvironment& environment,
                                     const VolumeTarget& target,
                                     const SeenImage& before,
                                     const Point& point) {
  ADDONS_ASSIGN_OR_RETURN(
      SeenImage now, SeeImage(context, environment, target, before.action));
  const auto present = FindPoint(now.view.other_snapshots, point.name);
  if (now.view.image_id == before.view.image_id && present.has_value() &&
      present->snapshot == point.snapshot) {
    return now;
  }
  return now.Refuse(absl::StatusCode::kUnavailable,
                    absl::StrCat("its point '", point.name,
                                 "' was removed while it was read"));
}

absl::StatusOr<std::map<std::string, std::string>> ReadPointMetadata(
    Pool& reads, const std::string& image_id) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                          reads.OpenImageByIdReadOnly(image_id));
  ADDONS_ASSIGN_OR_RETURN(auto metadata, image->ListMetadata(kPointRecordKey));
  ADDONS_RETURN_IF_ERROR(image->Close());
  return metadata;
}

namespace {

/// The point, where it is whole on this site.
absl::StatusOr<Point> FindWhole(const SeenImage& seen,
                                const PointHeader& header) {
  const auto refuse = [&](absl::StatusCode code, absl::string_view reason) {
    return seen.Refuse(code, reason);
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
                       (!point.has_value() || ArrivedWhole(seen.view, *point));
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

/// The record of the point `name`; empty: of whichever it is.
absl::StatusOr<RecordReader> ReadRecord(const SeenImage& seen,
                                        const std::string& name) {
  const auto read = [&seen] {
    return ReadPointMetadata(*seen.opened.reads, seen.view.image_id);
  };
  ADDONS_ASSIGN_OR_RETURN(auto metadata, read());
  auto record = RecordReader::Open(metadata);
  if (absl::IsDataLoss(record.status())) {
    // Its parts are read one after the other, and may have been replaced.
    ADDONS_ASSIGN_OR_RETURN(metadata, read());
    record = RecordReader::Open(metadata);
  }
  const MirrorSnapshot* const newest = seen.view.Newest();
  const bool arrives = newest != nullptr && !newest->complete;
  if (record.ok() && (name.empty() || record->header().point == name)) {
    return record;
  }
  if (!name.empty() && (record.ok() || absl::IsNotFound(record.status()))) {
    return seen.Refuse(
        absl::StatusCode::kUnavailable,
        absl::StrCat("what its point '", name, "' held is not known here yet",
                     record.ok() ? absl::StrCat(", only what '",
                                                record->header().point, "' did")
                                 : "",
                     "; it comes with the copies of what `rbd-addons point "
                     "create` makes where it is primary"));
  }
  if (arrives) {
    return seen.Refuse(absl::StatusCode::kUnavailable,
                       absl::StrCat("a copy is arriving, and may bring it; ",
                                    seen.view.CopyProgress()));
  }
  if (absl::IsNotFound(record.status())) {
    return seen.Refuse(
        absl::StatusCode::kFailedPrecondition,
        "no point of it has arrived on this site, with what it held; "
        "`rbd-addons point create` makes one where it is primary");
  }
  return seen.Refuse(record.status().code(), record.status().message());
}

}  // namespace

absl::StatusOr<WholePoint> FindWholePoint(OperationContext& context,
                                          ReplicationEnvironment& environment,
                                          const VolumeTarget& target,
                                          std::string action,
                                          const std::string& name,
                                          uint64_t bytes_per_second) {
  context.Step("looking at the image");
  ADDONS_ASSIGN_OR_RETURN(SeenImage seen, SeeImage(context, environment, target,
                                                   std::move(action)));
  ADDONS_ASSIGN_OR_RETURN(RecordReader record, ReadRecord(seen, name));
  ADDONS_ASSIGN_OR_RETURN(Point point, FindWhole(seen, record.header()));
  ADDONS_ASSIGN_OR_RETURN(ContentSource source,
                          SourceAt(seen, point.snapshot, bytes_per_second));
  if (!(source.shape == record.header().shape)) {
    return seen.Refuse(absl::StatusCode::kFailedPrecondition,
                       "the image here has another size, or other objects, "
                       "than its record says; resync it");
  }
  return WholePoint{std::move(seen), std::move(record), std::move(point),
                    std::move(source)};
}

}  // namespace addons
