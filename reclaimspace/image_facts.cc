#include "reclaimspace/image_facts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "ceph/cluster_health.h"
#include "ceph/mirror_clients.h"

namespace addons {
namespace {

/// On Ceph 16 an erasure-coded object of 4 MiB of zeros keeps an OSD busy for 5
/// to 17 s when it is sparsified, and others wait; on 18 and 20 for 0.1 s.
constexpr int kFirstQuickRelease = 18;

}  // namespace

absl::StatusOr<ImageFacts> ReadFacts(Cluster& cluster, Pool& pool,
                                     Image& image) {
  ImageFacts facts;
  ADDONS_ASSIGN_OR_RETURN(facts.size, image.Size());
  ADDONS_ASSIGN_OR_RETURN(facts.features, image.Features());
  ADDONS_ASSIGN_OR_RETURN(const bool marked, image.MarkedNonPrimary());
  ADDONS_ASSIGN_OR_RETURN(const MirrorImageInfo mirror, image.MirrorInfo());
  facts.mirrored = marked || mirror.state != MirrorImageState::kDisabled;
  facts.secondary = marked || (mirror.state != MirrorImageState::kDisabled &&
                               !mirror.primary);
  ADDONS_ASSIGN_OR_RETURN(facts.snapshots, image.Snapshots());
  ADDONS_ASSIGN_OR_RETURN(ImageClients clients,
                          ListClients(cluster, pool, image));
  facts.workloads = std::move(clients.workloads);
  ADDONS_ASSIGN_OR_RETURN(facts.lockers, image.Lockers());
  const std::vector<uint64_t> own = cluster.OwnClientIds();
  std::erase_if(facts.lockers, [&](const Locker& locker) {
    return std::find(own.begin(), own.end(),
                     ClientIdOf(locker.client).value_or(0)) != own.end();
  });
  ADDONS_ASSIGN_OR_RETURN(const auto mark, image.Metadata(kSparsifierKey));
  for (const absl::string_view id : absl::StrSplit(mark.value_or(""), ',')) {
    uint64_t client = 0;
    if (absl::SimpleAtoi(id, &client)) facts.sparsifiers.insert(client);
  }
  return facts;
}

absl::StatusOr<DataPool> ReadDataPool(Cluster& cluster, const Pool& pool,
                                      Image& image) {
  DataPool data_pool;
  ADDONS_ASSIGN_OR_RETURN(const ImageLayout layout, image.Layout());
  if (layout.data_pool_id == pool.id()) return data_pool;
  ADDONS_ASSIGN_OR_RETURN(data_pool.erasure_coded,
                          IsErasureCoded(cluster, layout.data_pool_id));
  if (!data_pool.erasure_coded) return data_pool;
  ADDONS_ASSIGN_OR_RETURN(const auto releases, ReadReleases(cluster, "osd"));
  for (const auto& [release, count] : releases) {
    const std::optional<int> major = MajorRelease(release);
    if (major.has_value() && *major < kFirstQuickRelease) {
      data_pool.slow_release = release;
      break;
    }
  }
  return data_pool;
}

std::string SparsifierMark(Cluster& cluster) {
  return absl::StrJoin(cluster.OwnClientIds(), ",");
}

}  // namespace addons
