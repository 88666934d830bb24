#ifndef ADDONS_CEPH_IMAGE_HEADER_H_
#define ADDONS_CEPH_IMAGE_HEADER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/image_name.h"
#include "ceph/pool.h"

namespace addons {

/// The internal id of the image with this name, as the directory of the pool
/// has it: one read, where opening the image is a dozen. Errors as for
/// ReadImageSize().
absl::StatusOr<std::string> FindImageId(Pool& pool, const ImageName& name);

/// The name of the image with this internal id, likewise. NOT_FOUND: no such
/// image, or it is in the trash. INTERNAL: as for ReadImageSize().
absl::StatusOr<ImageName> FindImageName(Pool& pool,
                                        const std::string& image_id);

/// The size in bytes of the image with this name, without opening it: two reads
/// of what librbd itself keeps there, in place of a dozen. NOT_FOUND: no such
/// image. INTERNAL: librbd has written something else than it does up to Ceph
/// 20.
absl::StatusOr<uint64_t> ReadImageSize(Pool& pool, const ImageName& name);

/// The name of the rbd group with this internal id, in the group's pool and
/// namespace: one read. NOT_FOUND: no such group. INTERNAL: as for
/// ReadImageSize().
absl::StatusOr<std::string> FindGroupName(Pool& pool,
                                          const std::string& group_id);

/// The id of the pool that has the data of the image with this internal id,
/// where it is another one: one read. NOT_FOUND: no such image. INTERNAL: as
/// for ReadImageSize().
absl::StatusOr<std::optional<int64_t>> ReadDataPoolId(
    Pool& pool, const std::string& image_id);

/// How many snapshots the image with this internal id may have, mirror
/// snapshots among them (`rbd snap limit set`): one read; nullopt: any number.
/// NOT_FOUND: no such image. INTERNAL: as for ReadImageSize().
absl::StatusOr<std::optional<uint64_t>> ReadSnapshotLimit(
    Pool& pool, const std::string& image_id);

/// What the pool notes of an image, as far as that tells all.
struct NotedImage {
  std::string id;
  ImageHeader header;
  /// kDisabled: it is not mirrored.
  MirrorImageInfo mirror;
};

/// The image with this name without opening it: three reads where librbd
/// writes. NOT_FOUND and INTERNAL: there is none, or only an open image tells
/// (OpenImageMayTell()): mirrored by its journal, its mirroring is being made
/// or removed, or something is not written as up to Ceph 20.
absl::StatusOr<NotedImage> ReadNotedImage(Pool& pool, const ImageName& name);

/// Whether after `read`, what a read of notes came to, an open image may still
/// tell: of what was found otherwise, not of a cluster that is silent.
bool OpenImageMayTell(const absl::Status& read);

/// Who has the exclusive lock of the image with this internal id, as
/// Image::Lockers() tells it, without opening it: one read. None: no such
/// image, too.
absl::StatusOr<std::vector<Locker>> ListImageLockers(
    Pool& pool, const std::string& image_id);

/// What opening the image of this name came to. librbd answers ENOENT also when
/// something is missing that the image needs (its parent, the pool of its
/// data), so after ENOENT the pool is asked whether the image is there: that is
/// UNAVAILABLE, and NOT_FOUND stays where it is not. Other answers are given
/// back as they are, without a call.
absl::Status OfOpening(Pool& pool, const ImageName& name, absl::Status opened);
/// The same by internal id.
absl::Status OfOpeningById(Pool& pool, const std::string& image_id,
                           absl::Status opened);

}  // namespace addons

#endif  // ADDONS_CEPH_IMAGE_HEADER_H_
