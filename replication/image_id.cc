#include "replication/image_id.h"

#include <memory>

#include "base/log.h"
#include "base/status_macros.h"

namespace addons {

absl::Status CorrectImageId(OperationContext& context, Session& session,
                            const std::string& image_id) {
  const ResolvedVolume& volume = session.volume;
  if (volume.attributes.image_id == image_id) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  context.Step("correcting the image id in the journal");
  ADDONS_ASSIGN_OR_RETURN(std::unique_ptr<Pool> pool,
                          volume.OpenPool(Access::kMutate));
  const auto changed =
      VolumeJournal(*pool).CorrectImageId(volume.uuid, image_id);
  if (!changed.ok()) return AfterResolve(changed.status(), volume);
  if (*changed) {
    Log().info("corrected csi.imageid volume={} old={} new={}",
               Quoted(volume.volume_id), Quoted(volume.attributes.image_id),
               image_id);
  }
  return absl::OkStatus();
}

}  // namespace addons
