#include "replication/steps/image_id.h"

#include <memory>

#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/pool.h"

namespace addons {

absl::StatusOr<bool> CorrectImageId(Session& session,
                                    const std::string& image_id) {
  ResolvedVolume& volume = session.volume;
  const std::string old = volume.attributes.image_id;
  if (old == image_id) return false;
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("correcting the image id in the journal");
  ADDONS_ASSIGN_OR_RETURN(std::unique_ptr<Pool> pool,
                          volume.OpenPool(Access::kMutate));
  const auto changed =
      VolumeJournal(*pool).CorrectImageId(volume.uuid, image_id);
  if (!changed.ok()) return AfterResolve(changed.status(), volume);
  volume.attributes.image_id = image_id;
  if (*changed) {
    Log().info("corrected csi.imageid volume={} old={} new={}",
               Quoted(volume.volume_id.text()), Quoted(old), image_id);
  }
  return *changed && !old.empty();
}

}  // namespace addons
