#include "ceph/image_header.h"

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "ceph/encoding.h"
#include "ceph/errors.h"
#include "ceph/image_objects.h"

namespace addons {
namespace {

absl::Status NotUnderstood(const Pool& pool, const ImageName& name,
                           absl::string_view what) {
  return absl::InternalError(absl::StrCat("what the pool notes of image '",
                                          pool.Spec(name),
                                          "' is not understood: ", what));
}

/// `found`, where an object that is not there is one without the key.
absl::StatusOr<std::optional<std::string>> OrNothing(
    absl::StatusOr<std::optional<std::string>> found) {
  if (absl::IsNotFound(found.status())) return std::optional<std::string>();
  return found;
}

absl::Status NoSuchImage(const Pool& pool, const ImageName& name) {
  return absl::NotFoundError(absl::StrCat("no image '", pool.Spec(name), "'"));
}

absl::Status NotOrdinary(const Pool& pool, const ImageName& name) {
  return absl::NotFoundError(absl::StrCat("what the pool notes of image '",
                                          pool.Spec(name),
                                          "' does not tell all"));
}

absl::Status SomethingIsMissing(const absl::Status& opened) {
  return absl::UnavailableError(absl::StrCat(
      opened.message(),
      "; the image is there, but something that it needs is not, for instance "
      "its parent or the pool of its data"));
}

}  // namespace

absl::StatusOr<std::string> FindImageId(Pool& pool, const ImageName& name) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::optional<std::string> value,
      OrNothing(pool.ReadOmapKey("rbd_directory",
                                 absl::StrCat("name_", name.text()))));
  if (!value.has_value()) return NoSuchImage(pool, name);
  std::optional<std::string> id = DecodeText(*value);
  if (!id.has_value()) {
    return NotUnderstood(pool, name, "its id in the directory");
  }
  return *std::move(id);
}

absl::StatusOr<ImageName> FindImageName(Pool& pool,
                                        const std::string& image_id) {
  ADDONS_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                          OrNothing(pool.ReadOmapKey(
                              "rbd_directory", absl::StrCat("id_", image_id))));
  if (!value.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("no image with id '", image_id, "'"));
  }
  std::optional<std::string> name = DecodeText(*value);
  if (!name.has_value()) {
    return absl::InternalError(
        absl::StrCat("what the pool notes of the image with id '", image_id,
                     "' is not understood: its name in the directory"));
  }
  return ImageName(*std::move(name));
}

absl::StatusOr<std::string> FindGroupName(Pool& pool,
                                          const std::string& group_id) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::optional<std::string> value,
      OrNothing(pool.ReadOmapKey("rbd_group_directory",
                                 absl::StrCat("id_", group_id))));
  if (!value.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("no rbd group with id '", group_id, "'"));
  }
  std::optional<std::string> name = DecodeText(*value);
  if (!name.has_value()) {
    return absl::InternalError(
        absl::StrCat("what the pool notes of the rbd group with id '", group_id,
                     "' is not understood: its name"));
  }
  return *std::move(name);
}

absl::StatusOr<uint64_t> ReadImageSize(Pool& pool, const ImageName& name) {
  ADDONS_ASSIGN_OR_RETURN(const std::string id, FindImageId(pool, name));
  ADDONS_ASSIGN_OR_RETURN(
      const std::optional<std::string> size,
      OrNothing(pool.ReadOmapKey(HeaderObject(id), "size")));
  // It is being made or removed, or was replaced by a resync in between.
  if (!size.has_value()) return NoSuchImage(pool, name);
  if (size->size() != sizeof(uint64_t)) {
    return NotUnderstood(pool, name, "its size");
  }
  return DecodeNumber(*size);
}

absl::StatusOr<std::optional<int64_t>> ReadDataPoolId(
    Pool& pool, const std::string& image_id) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::optional<std::string> id,
      pool.ReadOmapKey(HeaderObject(image_id), "data_pool_id"));
  if (!id.has_value()) return std::optional<int64_t>();
  if (id->size() != sizeof(int64_t)) {
    return absl::InternalError(
        absl::StrCat("what the pool notes of the image with id '", image_id,
                     "' is not understood: the pool of its data"));
  }
  return std::optional<int64_t>(static_cast<int64_t>(DecodeNumber(*id)));
}

absl::StatusOr<std::optional<uint64_t>> ReadSnapshotLimit(
    Pool& pool, const std::string& image_id) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::optional<std::string> limit,
      pool.ReadOmapKey(HeaderObject(image_id), kSnapshotLimitKey));
  if (!limit.has_value()) return std::optional<uint64_t>();
  if (limit->size() != sizeof(uint64_t)) {
    return absl::InternalError(
        absl::StrCat("what the pool notes of the image with id '", image_id,
                     "' is not understood: the limit of its snapshots"));
  }
  return std::optional<uint64_t>(DecodeNumber(*limit));
}

absl::StatusOr<NotedImage> ReadNotedImage(Pool& pool, const ImageName& name) {
  NotedImage image;
  ADDONS_ASSIGN_OR_RETURN(image.id, FindImageId(pool, name));
  ADDONS_ASSIGN_OR_RETURN(image.header, pool.Header(image.id));
  ADDONS_ASSIGN_OR_RETURN(const auto record, pool.MirrorRecord(image.id));
  const auto& snapshots = image.header.mirror_snapshots;
  if (!record.has_value()) {
    if (!snapshots.empty()) return NotOrdinary(pool, name);
    image.mirror.state = MirrorImageState::kDisabled;
    return image;
  }
  // In journal mode the role is not noted there.
  if (record->state != MirrorImageState::kEnabled ||
      record->mode != MirrorMode::kSnapshot || snapshots.empty()) {
    return NotOrdinary(pool, name);
  }
  image.mirror = *record;
  image.mirror.primary = PrimaryBySnapshots(snapshots);
  return image;
}

bool OpenImageMayTell(const absl::Status& read) {
  return !read.ok() && !absl::IsUnavailable(read) &&
         !absl::IsDeadlineExceeded(read);
}

absl::StatusOr<std::vector<Locker>> ListImageLockers(
    Pool& pool, const std::string& image_id) {
  return pool.ObjectLockers({HeaderObject(image_id), kImageLockName, ""});
}

absl::Status OfOpening(Pool& pool, const ImageName& name, absl::Status opened) {
  if (CephErrno(opened) != ENOENT) return opened;
  const auto id = FindImageId(pool, name);
  if (absl::IsNotFound(id.status())) return opened;
  ADDONS_RETURN_IF_ERROR(id.status());
  return OfOpeningById(pool, *id, std::move(opened));
}

absl::Status OfOpeningById(Pool& pool, const std::string& image_id,
                           absl::Status opened) {
  if (CephErrno(opened) != ENOENT) return opened;
  const auto version = pool.HeaderVersion(image_id);
  // Its removal was interrupted.
  if (absl::IsNotFound(version.status())) return opened;
  ADDONS_RETURN_IF_ERROR(version.status());
  return SomethingIsMissing(opened);
}

}  // namespace addons
