#include "inspection/named_pool.h"

#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "volume/home_clusters.h"
#include "volume/pools.h"

namespace addons {
namespace {

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
  const ClusterEntry* only = nullptr;
  for (const ClusterEntry& entry : config.entries()) {
    if (!IsHome(home, entry.cluster_id)) continue;
    if (only != nullptr) {
      return absl::InvalidArgumentError(
          "cluster_id: is missing, and config.json has several clusters");
    }
    only = &entry;
  }
  if (only != nullptr) return only;
  return absl::InvalidArgumentError(
      "cluster_id: is missing, and config.json has no cluster of this site");
}

/// Adds what is mirrored of one pool to `found`.
absl::Status AddMirrored(const ResolvedPlace& pool, MirroredPools* found) {
  ADDONS_ASSIGN_OR_RETURN(const auto whole, pool.OpenPool(Access::kRead));
  ADDONS_ASSIGN_OR_RETURN(std::vector<std::string> names, whole->Namespaces());
  names.insert(names.begin(), "");
  for (std::string& name : names) {
    ResolvedPlace place = pool;
    place.rados_namespace = std::move(name);
    ADDONS_ASSIGN_OR_RETURN(const auto opened, place.OpenPool(Access::kRead));
    const auto mode = opened->MirrorMode();
    if (absl::IsNotFound(mode.status())) continue;  // removed meanwhile
    ADDONS_RETURN_IF_ERROR(mode.status());
    if (*mode != PoolMirrorMode::kDisabled) {
      found->places.push_back(std::move(place));
    }
  }
  return absl::OkStatus();
}

/// One search, which remembers the first error.
class Search {
 public:
  Search(ClusterProvider& clusters, const CephUserRef& user)
      : clusters_(clusters), user_(user) {}

  void Look(const ClusterEntry& entry) {
    ResolvedPlace place;
    place.cluster_id = entry.cluster_id;
    auto cluster = clusters_.Connect({entry.cluster_id, entry.monitors}, user_);
    if (!cluster.ok()) return NotSeen(place, cluster.status());
    place.cluster = *std::move(cluster);
    // Two ids may mean one cluster.
    if (!fsids_.insert(place.cluster->fsid()).second) return;
    const auto pools = ListPools(*place.cluster);
    if (!pools.ok()) return NotSeen(place, pools.status());
    for (const auto& [id, name] : *pools) {
      if (absl::StartsWith(name, ".")) continue;
      place.pool_id = id;
      place.pool_name = name;
      const absl::Status added = AddMirrored(place, &found_);
      if (!added.ok()) NotSeen(place, added);
    }
  }

  absl::StatusOr<MirroredPools> Result() {
    if (found_.places.empty() && !first_.ok()) return first_;
    return std::move(found_);
  }

 private:
  void NotSeen(const ResolvedPlace& place, const absl::Status& status) {
    found_.unseen.push_back(
        absl::StrCat(place.pool_name.empty() ? "" : "pool '", place.pool_name,
                     place.pool_name.empty() ? "" : "' of ", "cluster '",
                     place.cluster_id.text(), "': ", status.message()));
    first_.Update(status);
  }

  ClusterProvider& clusters_;
  const CephUserRef& user_;
  std::set<std::string> fsids_;
  MirroredPools found_;
  absl::Status first_;
};

}  // namespace

absl::StatusOr<std::vector<const ClusterEntry*>> FindEntries(
    const ClusterConfig& config, const std::vector<ClusterId>& home,
    const ClusterId& cluster_id) {
  std::vector<const ClusterEntry*> found;
  for (const ClusterEntry& entry : config.entries()) {
    if (IsHome(home, entry.cluster_id)) found.push_back(&entry);
  }
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
  Search search(clusters, user);
  for (const ClusterEntry* const entry : entries) search.Look(*entry);
  return search.Result();
}

}  // namespace addons
