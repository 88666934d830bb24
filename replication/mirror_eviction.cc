#include "replication/mirror_eviction.h"

#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/mirror_clients.h"

namespace addons {

absl::Status EvictMirrorClients(Cluster& cluster, Pool& pool,
                                const std::string& image_name) {
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Watcher> mirrors,
                          ListMirrorClients(pool));
  ADDONS_ASSIGN_OR_RETURN(std::unique_ptr<Image> image,
                          pool.OpenImageReadOnly(image_name));
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Watcher> holders,
                          image->Watchers());
  ADDONS_RETURN_IF_ERROR(image->Close());
  for (const Watcher& holder : holders) {
    if (!HasClient(mirrors, holder.client_id)) continue;
    Log().warn(
        "rbd-mirror does not let go of an image that is promoted by force "
        "and is blocklisted image='{}' client={} address={}",
        image_name, holder.client_id, holder.address);
    ADDONS_RETURN_IF_ERROR(
        cluster
            .MonCommand(absl::StrCat(
                R"({"prefix":"osd blocklist","blocklistop":"add","addr":")",
                holder.address, R"("})"))
            .status());
  }
  return absl::OkStatus();
}

MirrorEviction::MirrorEviction(Cluster& cluster, Pool& pool,
                               std::string image) {
  thread_ = std::jthread(
      [&cluster, &pool, image = std::move(image)](const std::stop_token& stop) {
        if (!RealClock().SleepFor(kPatience, stop)) return;
        const absl::Status evicted = EvictMirrorClients(cluster, pool, image);
        if (!evicted.ok()) {
          Log().warn("rbd-mirror holds image '{}' and was not evicted: {}",
                     image, evicted.ToString());
        }
      });
}

}  // namespace addons
