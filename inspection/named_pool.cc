#include "inspection/named_pool.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "volume/home_clusters.h"
#include "volume/pools.h"

namespace addons {
namespace {

std::vector<const ClusterEntry*> HomeEntries(
    const ClusterConfig& config, const std::vector<ClusterId>& home) {
  std::vector<const ClusterEntry*> found;
  for (const ClusterEntry& entry : config.entries()) {
    if (IsHome(home, entry.cluster_id)) found.push_back(&entry);
  }
  return found;
}

/// The entry that is meant.
absl::StatusOr<const ClusterEntry*> FindEntry(
    const ClusterConfig& config, const std::vector<ClusterId>& home,
    const ClusterId& cluster_id) {
  if (!cluster_id.empty()) {
    if (IsHome(home, cluster_id)) return config.Find(cluster_id);
    return absl::FailedPreconditionError(absl::StrCat(
        "cluster '", cluster_id.text(), "' is not one of --site-clusters (",
        absl::StrJoin(home, ", ", AppendClusterId),
        "): ask the daemon of its site"));
  }
  const std::vector<const ClusterEntry*> entries = HomeEntries(config, home);
  if (entries.size() == 1) return entries.front();
  if (!entries.empty()) return SeveralClusters(entries);
  return absl::InvalidArgumentError(
      "cluster_id: is missing, and config.json has no cluster of this site");
}

}  // namespace

absl::Status SeveralClusters(const std::vector<const ClusterEntry*>& entries) {
  constexpr size_t kMostNamed = 8;
  std::vector<std::string> names;
  for (const ClusterEntry* const entry : entries) {
    if (names.size() == kMostNamed) {
      names.push_back(
          absl::StrCat("and ", entries.size() - kMostNamed, " more"));
      break;
    }
    names.push_back(absl::StrCat("'", entry->cluster_id.text(), "'"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("cluster_id: is missing, and config.json has several "
                   "clusters: ",
                   absl::StrJoin(names, ", ")));
}

absl::StatusOr<std::vector<const ClusterEntry*>> FindEntries(
    const ClusterConfig& config, const std::vector<ClusterId>& home,
    const ClusterId& cluster_id) {
  std::vector<const ClusterEntry*> found = HomeEntries(config, home);
  if (cluster_id.empty() && !found.empty()) return found;
  ADDONS_ASSIGN_OR_RETURN(const ClusterEntry* const entry,
                          FindEntry(config, home, cluster_id));
  return std::vector<const ClusterEntry*>{entry};
}

std::string Describe(const NamedPool& named) {
  return absl::StrCat("pool '", named.pool, "'",
                      named.cluster_id.empty() ? "" : " of cluster '",
                      named.cluster_id.text(),
                      named.cluster_id.empty() ? "" : "'");
}

absl::StatusOr<ResolvedPlace> FindPool(ConfigStore& config,
                                       ClusterProvider& clusters,
                                       const std::vector<ClusterId>& home,
                                       const NamedPool& named) {
  ADDONS_ASSIGN_OR_RETURN(const auto current, config.Current());
  ADDONS_ASSIGN_OR_RETURN(const ClusterEntry* const entry,
                          FindEntry(*current, home, named.cluster_id));
  ResolvedPlace place;
  place.cluster_id = entry->cluster_id;
  place.rados_namespace = entry->rados_namespace;
  place.pool_name = named.pool;
  ADDONS_ASSIGN_OR_RETURN(
      place.cluster,
      clusters.Connect({entry->cluster_id, entry->monitors}, named.user));
  ADDONS_ASSIGN_OR_RETURN(const auto pools, ListPools(*place.cluster));
  for (const auto& [id, name] : pools) {
    if (name != named.pool) continue;
    place.pool_id = id;
    return place;
  }
  return absl::NotFoundError(absl::StrCat("cluster '", entry->cluster_id.text(),
                                          "' has no pool '", named.pool, "'"));
}

absl::StatusOr<MirroredPools> FindMirroredPools(
    ConfigStore& config, ClusterProvider& clusters,
    const std::vector<ClusterId>& home, const ClusterId& cluster_id,
    const CephUserRef& user) {
  ADDONS_ASSIGN_OR_RETURN(const auto current, config.Current());
  ADDONS_ASSIGN_OR_RETURN(const auto entries,
                          FindEntries(*current, home, cluster_id));
  return FindMirroredPools(clusters, entries, user);
}

}  // namespace addons
