#include "replication/mirror_eviction.h"

#include <chrono>
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
namespace {

constexpr std::chrono::seconds kLetGoPatience{30};

}  // namespace

MirrorEviction::MirrorEviction(Cluster& cluster, Pool& pool, std::string image)
    : cluster_(cluster), pool_(pool), image_(std::move(image)) {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    if (!RealClock().SleepFor(kLetGoPatience, stop)) return;
    const absl::Status evicted = Evict();
    if (!evicted.ok()) {
      Log().warn("rbd-mirror holds image '{}' and was not evicted: {}", image_,
                 evicted.ToString());
    }
  });
}

absl::Status MirrorEviction::Evict() {
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Watcher> mirrors,
                          ListMirrorClients(pool_));
  ADDONS_ASSIGN_OR_RETURN(std::unique_ptr<Image> image,
                          pool_.OpenImageReadOnly(image_));
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Watcher> holders,
                          image->Watchers());
  ADDONS_RETURN_IF_ERROR(image->Close());
  for (const Watcher& holder : holders) {
    if (!HasClient(mirrors, holder.client_id)) continue;
    Log().warn(
        "rbd-mirror does not let go of an image that is promoted by force "
        "and is blocklisted image='{}' client={} address={}",
        image_, holder.client_id, holder.address);
    ADDONS_RETURN_IF_ERROR(
        cluster_
            .MonCommand(absl::StrCat(
                R"({"prefix":"osd blocklist","blocklistop":"add","addr":")",
                holder.address, R"("})"))
            .status());
  }
  return absl::OkStatus();
}

}  // namespace addons
