#include "watch/entry_looks.h"

#include "absl/status/status.h"
#include "base/image_name.h"
#include "volume/volume_directory.h"

namespace addons {

void EntryLooks::Look(OperationContext& context, Pool& pool,
                      const std::string& instance_id,
                      const std::vector<std::string>& images, SteadyTime now) {
  if (!read_at_.has_value() || (all_asked_ && now - *read_at_ >= kAgain)) {
    // Without one there may be entries all the same.
    const auto directory = VolumeDirectory(pool, instance_id).ReadAll();
    if (!directory.ok()) return;
    read_at_ = now;
    all_asked_ = false;
    present_.clear();
    missing_.clear();
    for (const auto& [name, value] : *directory) {
      present_.insert(UuidIn(ImageName(value)));
    }
  }
  size_t asked = 0;
  size_t count = 0;
  for (const std::string& name : images) {
    const ImageName image(name);
    const std::string uuid = UuidIn(image);
    if (uuid.empty() || present_.contains(uuid)) continue;  // or not ceph-csi's
    if (!missing_.contains(uuid)) {
      // The next look goes on; until then what was counted last stands.
      if (context.stop_token().stop_requested() || ++asked > kMostAsked) return;
      const auto entry = FindEntryOfImage(pool, image);
      if (entry.ok()) present_.insert(uuid);
      if (!absl::IsNotFound(entry.status())) continue;
      missing_.insert(uuid);
    }
    ++count;
  }
  all_asked_ = true;
  without_entry_ = count;
}

}  // namespace addons
