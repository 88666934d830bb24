#include "inspection/audit/rescue_audit.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/shell_command.h"
#include "ceph/image_header.h"
#include "ceph/image_objects.h"
#include "replication/look/rescue_record.h"

namespace addons {
namespace {

/// The image that this one was made for; nullopt: it is no rescue image.
std::optional<ImageName> RescuedBy(const ImageName& rescue_image) {
  const std::string prefix = RescueImageName(ImageName()).text();
  absl::string_view name = rescue_image.text();
  if (!absl::ConsumePrefix(&name, prefix) || name.empty()) return std::nullopt;
  return ImageName(std::string(name));
}

void CheckRescueImage(AuditedPlace& place, const ImageName& rescue_image,
                      const ImageName& image) {
  const std::string spec = place.pool.Spec(rescue_image);
  const auto record = ReadRescueRecord(place.pool, image);
  if (!record.ok())
    return place.NotSeen(AuditKind::kRescues, spec, record.status());
  if (!record->has_value()) return;  // removed meanwhile
  const std::string remedy = ShellCommand({"rbd", "rm", spec});
  if ((*record)->step == RescueStep::kRestored) {
    place.Found(AuditKind::kRescues, spec,
                absl::StrCat("the image '", image.text(),
                             "' has got back all that this rescue image held"),
                remedy);
    return;
  }
  const auto present =
      std::find_if(place.images.begin(), place.images.end(),
                   [&](const auto& entry) { return entry.second == image; });
  if (present != place.images.end() &&
      (present->first == (*record)->image_id || (*record)->image_id.empty())) {
    place.Unclear(
        AuditKind::kRescues, spec,
        absl::StrCat("a forced promotion of '", image.text(),
                     "' may still need this rescue image; `rbd-addons explain` "
                     "of the volume says what is left to do, and a promotion "
                     "by force finishes it. Do not remove it before"));
    return;
  }
  place.Found(
      AuditKind::kRescues, spec,
      absl::StrCat("it was made for an image '", image.text(),
                   present == place.images.end()
                       ? "', which does not exist any more"
                       : "' that was made anew since",
                   ". It may hold the last whole state of that one: remove it "
                   "only when the volume is gone, or whole on another site"),
      remedy);
}

void CheckDisabling(AuditedPlace& place, const std::string& id,
                    const ImageName& image) {
  const std::string spec = place.pool.Spec(image);
  const auto info = place.pool.MirrorInfoById(id);
  if (!info.ok())
    return place.NotSeen(AuditKind::kRescues, spec, info.status());
  if (!info->has_value() || (*info)->state != MirrorImageState::kDisabling) {
    return;
  }
  place.Found(AuditKind::kRescues, spec,
              "its replication is being disabled; if that does not end, the "
              "call was interrupted",
              ShellCommand({"rbd", "mirror", "image", "disable", spec}));
}

/// A name of which librbd has no image: whoever made it died in the middle,
/// like an rbd-mirror that is blocklisted.
void CheckHalfMade(AuditedPlace& place, const std::string& id,
                   const ImageName& image) {
  const std::string spec = place.pool.Spec(image);
  const auto size = place.pool.ReadOmapKey(HeaderObject(id), "size");
  if (size.ok()) return;
  if (!absl::IsNotFound(size.status())) {
    return place.NotSeen(AuditKind::kRescues, spec, size.status());
  }
  // It may have been removed, or made anew, since the names were read.
  const auto named = FindImageId(place.pool, image);
  if (absl::IsNotFound(named.status()) || (named.ok() && *named != id)) return;
  if (!named.ok()) {
    return place.NotSeen(AuditKind::kRescues, spec, named.status());
  }
  place.Found(AuditKind::kRescues, spec,
              "the name is taken, and there is no image: its creation or "
              "removal was interrupted, unless somebody is at it just now. "
              "rbd-mirror makes no copy with this name as long as that stands "
              "(\"File exists\")",
              ShellCommand({"rbd", "rm", spec}));
}

}  // namespace

void AuditRescues(AuditedPlace& place) {
  for (const auto& [id, name] : place.images) {
    const auto image = RescuedBy(name);
    if (image.has_value()) CheckRescueImage(place, name, *image);
  }
  for (const auto& [id, name] : place.mirrored) CheckDisabling(place, id, name);
  for (const auto& [id, name] : place.images) CheckHalfMade(place, id, name);
}

}  // namespace addons
