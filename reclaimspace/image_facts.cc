#include "reclaimspace/image_facts.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "ceph/cluster_health.h"
#include "ceph/image_header.h"
#include "ceph/mirror_clients.h"

namespace addons {
namespace {

/// On Ceph 16 an erasure-coded object of 4 MiB of zeros keeps an OSD busy for 5
/// to 17 s when it is sparsified, and others wait; on 18 and 20 for 0.1 s.
constexpr int kFirstQuickRelease = 18;

std::set<uint64_t> ParseMark(absl::string_view mark) {
  std::set<uint64_t> clients;
  for (const absl::string_view id : absl::StrSplit(mark, ',')) {
    uint64_t client = 0;
    if (absl::SimpleAtoi(id, &client)) clients.insert(client);
  }
  return clients;
}

/// What is read of the image itself; not OK also where only an open image tells
/// it.
absl::StatusOr<ImageFacts> ReadImage(Pool& pool, const ImageName& name) {
  ImageFacts facts;
  ADDONS_ASSIGN_OR_RETURN(NotedImage noted, ReadNotedImage(pool, name));
  ImageHeader& header = noted.header;
  if (noted.mirror.state != MirrorImageState::kDisabled ||
      header.marked_non_primary) {
    return absl::NotFoundError("it is mirrored, or was");
  }
  facts.image_id = std::move(noted.id);
  facts.size = header.size;
  facts.features = header.features;
  facts.snapshots = std::move(header.other_snapshots);
  if (const auto mark = header.metadata.find(kSparsifierKey);
      mark != header.metadata.end()) {
    facts.sparsifiers = ParseMark(mark->second);
  }
  facts.data_pool_id =
      header.data_pool_id < 0 ? pool.id() : header.data_pool_id;
  return facts;
}

absl::StatusOr<ImageFacts> ReadOpened(Image& image) {
  ImageFacts facts;
  ADDONS_ASSIGN_OR_RETURN(facts.image_id, image.Id());
  ADDONS_ASSIGN_OR_RETURN(facts.size, image.Size());
  ADDONS_ASSIGN_OR_RETURN(facts.features, image.Features());
  ADDONS_ASSIGN_OR_RETURN(const bool marked, image.MarkedNonPrimary());
  ADDONS_ASSIGN_OR_RETURN(const MirrorImageInfo mirror, image.MirrorInfo());
  facts.secondary = marked || (mirror.state != MirrorImageState::kDisabled &&
                               !mirror.primary);
  ADDONS_ASSIGN_OR_RETURN(facts.snapshots, image.Snapshots());
  ADDONS_ASSIGN_OR_RETURN(const auto mark, image.Metadata(kSparsifierKey));
  facts.sparsifiers = ParseMark(mark.value_or(""));
  ADDONS_ASSIGN_OR_RETURN(const ImageLayout layout, image.Layout());
  facts.data_pool_id = layout.data_pool_id;
  return facts;
}

/// ENOENT of another call than the one that looks for the image.
absl::Status Vanished(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::UnavailableError(status.message())
                                  : status;
}

}  // namespace

absl::StatusOr<ImageFacts> ReadFacts(Cluster& cluster, Pool& pool,
                                     const ImageName& name) {
  absl::StatusOr<ImageFacts> read = ReadImage(pool, name);
  if (OpenImageMayTell(read.status())) {
    ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                            pool.OpenImageReadOnly(name));
    read = ReadOpened(*image);
  }
  if (!read.ok()) return Vanished(read.status());
  ImageFacts facts = *std::move(read);
  auto clients = ListClients(cluster, pool, facts.image_id);
  if (!clients.ok()) return Vanished(clients.status());
  facts.workloads = std::move(clients->workloads);
  ADDONS_ASSIGN_OR_RETURN(facts.lockers,
                          ListImageLockers(pool, facts.image_id));
  const std::vector<uint64_t> own = cluster.OwnClientIds();
  std::erase_if(facts.lockers, [&](const Locker& locker) {
    return std::find(own.begin(), own.end(),
                     ClientIdOf(locker.client).value_or(0)) != own.end();
  });
  return facts;
}

absl::StatusOr<DataPool> ReadDataPool(Cluster& cluster, const Pool& pool,
                                      const ImageFacts& facts) {
  DataPool data_pool;
  if (facts.data_pool_id == pool.id()) return data_pool;
  ADDONS_ASSIGN_OR_RETURN(const PoolTraits traits,
                          ReadPoolTraits(cluster, facts.data_pool_id));
  data_pool.erasure_coded = traits.erasure_coded;
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
