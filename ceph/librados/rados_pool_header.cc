// RadosPool: what librbd writes of an image, read without opening it.

#include <cerrno>
#include <cstddef>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/encoding.h"
#include "ceph/errors.h"
#include "ceph/image_objects.h"
#include "ceph/librados/header_encoding.h"
#include "ceph/librados/rados_pool.h"

namespace addons {
namespace {

constexpr char kMirroring[] = "rbd_mirroring";

absl::Status NotUnderstood(const std::string& what) {
  return absl::InternalError(absl::StrCat(
      what,
      " is not written as by the releases of Ceph that this build of "
      "rbd-addons knows"));
}

}  // namespace

absl::StatusOr<ImageHeader> RadosPool::Header(const std::string& image_id) {
  const std::string object = HeaderObject(image_id);
  ADDONS_ASSIGN_OR_RETURN(const OmapValues entries, ReadOmap(object, ""));
  std::optional<ImageHeader> header = DecodeImageHeader(entries);
  if (!header.has_value()) return NotUnderstood(ObjectText(object));
  return *std::move(header);
}

absl::StatusOr<std::optional<MirrorImageInfo>> RadosPool::MirrorRecord(
    const std::string& image_id) {
  const auto record = ReadOmapKey(kMirroring, absl::StrCat("image_", image_id));
  // Without mirroring the pool has no such object.
  if (absl::IsNotFound(record.status())) return std::nullopt;
  ADDONS_RETURN_IF_ERROR(record.status());
  if (!record->has_value()) return std::nullopt;
  const std::optional<MirrorImageInfo> info = DecodeMirrorRecord(**record);
  if (!info.has_value()) {
    return NotUnderstood(absl::StrCat("the mirroring of image id '",
                                      absl::CHexEscape(Spec(image_id)), "'"));
  }
  return info;
}

absl::StatusOr<std::vector<SiteStatus>> RadosPool::MirrorStatusOf(
    const std::string& global_id) {
  const std::string input = EncodeText(global_id);
  const ReadOp op(rados_create_read_op());
  RadosBuffer output;
  size_t output_size = 0;
  int part_result = 0;
  rados_read_op_exec(op.get(), "rbd", "mirror_image_status_get", input.data(),
                     input.size(), output.Receive(), &output_size,
                     &part_result);
  int result = connection_->Call("rados_read_op_operate", [&] {
    return rados_read_op_operate(op.get(), ioctx_->get(), kMirroring, 0);
  });
  if (result >= 0) result = part_result;
  // Nobody has reported.
  if (result == -ENOENT) return std::vector<SiteStatus>();
  const std::string what =
      absl::StrCat("global image id '", absl::CHexEscape(Spec(global_id)), "'");
  if (result < 0) return CephError(result, "read the mirror status of", what);
  auto sites = DecodeSiteStatuses(absl::string_view(output.get(), output_size));
  if (!sites.has_value()) {
    return NotUnderstood(absl::StrCat("the mirror status of ", what));
  }
  return *std::move(sites);
}

}  // namespace addons
