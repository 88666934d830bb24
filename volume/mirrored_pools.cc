#include "volume/mirrored_pools.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "volume/pools.h"

namespace addons {
namespace {

/// Adds what is mirrored of one pool to `found`.
absl::Status AddMirrored(const ResolvedPlace& pool, const ClusterEntry& entry,
                         MirroredPools* found) {
  ADDONS_ASSIGN_OR_RETURN(const auto whole, pool.OpenPool(Access::kRead));
  auto names = whole->Namespaces();
  if (names.ok()) {
    names->insert(names->begin(), "");
  } else if (absl::IsPermissionDenied(names.status()) &&
             !entry.rados_namespace.empty()) {
    names = std::vector<std::string>{entry.rados_namespace};
  }
  ADDONS_RETURN_IF_ERROR(names.status());
  for (std::string& name : *names) {
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
    ids_[place.cluster->fsid()].try_emplace(entry.rados_namespace,
                                            entry.cluster_id);
    // Two ids may mean one cluster.
    if (!fsids_.insert(place.cluster->fsid()).second) return;
    const auto pools = ListPools(*place.cluster);
    if (!pools.ok()) return NotSeen(place, pools.status());
    for (const auto& [id, name] : *pools) {
      if (absl::StartsWith(name, ".")) continue;
      place.pool_id = id;
      place.pool_name = name;
      const absl::Status added = AddMirrored(place, entry, &found_);
      if (!added.ok()) NotSeen(place, added);
    }
  }

  absl::StatusOr<MirroredPools> Result() {
    if (found_.places.empty() && !first_.ok()) return first_;
    // Volumes of a namespace have the id of the entry that names it.
    for (ResolvedPlace& place : found_.places) {
      const auto& ids = ids_[place.cluster->fsid()];
      const auto own = ids.find(place.rados_namespace);
      if (own != ids.end()) place.cluster_id = own->second;
    }
    return std::move(found_);
  }

 private:
  void NotSeen(const ResolvedPlace& place, const absl::Status& status) {
    found_.unseen.push_back(
        absl::StrCat(place.pool_name.empty() ? "" : "pool '", place.pool_name,
                     place.pool_name.empty() ? "" : "' of ", "cluster '",
                     place.cluster_id.text(), "': ", status.message()));
    found_.may_pass |= !absl::IsPermissionDenied(status);
    first_.Update(status);
  }

  ClusterProvider& clusters_;
  const CephUserRef& user_;
  std::set<std::string> fsids_;
  /// By fsid and namespace.
  std::map<std::string, std::map<std::string, ClusterId>> ids_;
  MirroredPools found_;
  absl::Status first_;
};

}  // namespace

absl::StatusOr<MirroredPools> FindMirroredPools(
    ClusterProvider& clusters, const std::vector<const ClusterEntry*>& entries,
    const CephUserRef& user) {
  Search search(clusters, user);
  for (const ClusterEntry* const entry : entries) search.Look(*entry);
  return search.Result();
}

}  // namespace addons
