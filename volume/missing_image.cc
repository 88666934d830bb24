#include "volume/missing_image.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "base/shell_command.h"
#include "base/status_macros.h"
#include "ceph/image_header.h"
#include "ceph/pool.h"

namespace addons {
namespace {

absl::Status Renamed(const ResolvedVolume& volume, const ImageName& name) {
  return absl::UnavailableError(absl::StrCat(
      volume.Describe(),
      " does not exist: the image with its id was renamed "
      "and is called '",
      volume.Spec(name), "' now; give it its name back on its primary's site",
      volume.rados_namespace.empty() ? "" : " (with that site's namespace)",
      ": `",
      ShellCommand({"rbd", "rename", volume.Spec(name), volume.ImageSpec()}),
      "`; where that site is lost, tell the journal here: `",
      RadosCommand(volume.pool_name, volume.rados_namespace,
                   {"setomapval", absl::StrCat("csi.volume.", volume.uuid),
                    "csi.imagename", name.text()}),
      "`"));
}

}  // namespace

absl::Status ImageMissing(const ResolvedVolume& volume) {
  absl::Status gone = absl::NotFoundError(
      absl::StrCat(volume.Describe(),
                   " does not exist: the journal names it, but the pool has no "
                   "such image (a resync is making it anew, it is not mirrored "
                   "to this site yet, or it was deleted)"));
  if (volume.attributes.image_id.empty()) return gone;
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          volume.OpenPool(Access::kRead));
  const auto name = FindImageName(*pool, volume.attributes.image_id);
  if (absl::IsNotFound(name.status())) return gone;
  ADDONS_RETURN_IF_ERROR(name.status());
  if (*name != volume.image_name()) return Renamed(volume, *name);
  return absl::UnavailableError(absl::StrCat(
      volume.Describe(), " was not there a moment ago, and is there now"));
}

}  // namespace addons
