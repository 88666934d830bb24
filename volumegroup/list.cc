#include "volumegroup/list.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/pool.h"
#include "volume/group_directory.h"
#include "volume/group_journal.h"
#include "volume/home_clusters.h"
#include "volume/pools.h"
#include "volume/volume_id.h"
#include "volumegroup/list_token.h"

namespace addons {
namespace {

// So an answer stays far below the 4 MiB that gRPC takes.
constexpr size_t kMaxGroups = 500;
constexpr size_t kMaxVolumes = 10000;

/// This site's clusters, by id. Of entries that mean the same place only the
/// first counts.
std::map<ClusterId, const ClusterEntry*> Places(
    const ClusterConfig& config, const VolumeGroupOptions& options) {
  std::map<ClusterId, const ClusterEntry*> places;
  std::set<std::pair<std::vector<std::string>, std::string>> seen;
  for (const ClusterEntry& entry : config.entries()) {
    if (!IsHome(options.home, entry.cluster_id)) continue;
    if (seen.insert({entry.monitors, entry.rados_namespace}).second) {
      places.try_emplace(entry.cluster_id, &entry);
    }
  }
  return places;
}

/// Fills one page.
class Lister {
 public:
  Lister(const VolumeGroupEnvironment& environment,
         const ListGroupsRequest& request, std::optional<ListPosition> after)
      : environment_(environment),
        user_(request.user),
        after_(std::move(after)),
        limit_(request.max_entries == 0
                   ? kMaxGroups
                   : std::min(request.max_entries, kMaxGroups)) {}

  absl::StatusOr<GroupPage> Run(const ClusterConfig& config) {
    absl::Status refusal;
    size_t taken = 0;
    for (const auto& [cluster_id, entry] :
         Places(config, environment_.options)) {
      if (after_ && cluster_id < after_->cluster_id) continue;
      const absl::Status status = ListCluster(*entry);
      if (RefusesUser(status)) {
        refusal = status;
        continue;
      }
      ADDONS_RETURN_IF_ERROR(Annotate(
          status, absl::StrCat("Failed to list the volume groups of cluster '",
                               cluster_id.text(), "'")));
      ++taken;
      if (full_) break;
    }
    if (taken == 0 && !refusal.ok()) {
      return absl::UnauthenticatedError(refusal.message());
    }
    if (full_) page_.next_token = EncodeListToken(last_);
    return std::move(page_);
  }

 private:
  absl::Status ListCluster(const ClusterEntry& entry) {
    ADDONS_ASSIGN_OR_RETURN(const auto cluster,
                            environment_.clusters.Connect(
                                {entry.cluster_id, entry.monitors}, user_));
    ADDONS_ASSIGN_OR_RETURN(const auto pools, ListPools(*cluster));
    const bool resumed = after_ && after_->cluster_id == entry.cluster_id;
    for (const auto& [pool_id, name] : pools) {
      if (resumed && pool_id < after_->pool_id) continue;
      const bool same_pool = resumed && pool_id == after_->pool_id;
      const absl::Status status =
          ListPool(entry, *cluster, pool_id,
                   same_pool ? std::optional(after_->name) : std::nullopt);
      // A pool that was removed meanwhile, or that this user may not read.
      if (absl::IsNotFound(status) || absl::IsPermissionDenied(status)) {
        continue;
      }
      ADDONS_RETURN_IF_ERROR(status);
      if (full_) return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  absl::Status ListPool(const ClusterEntry& entry, Cluster& cluster,
                        int64_t pool_id, std::optional<std::string> after) {
    ADDONS_ASSIGN_OR_RETURN(
        const std::unique_ptr<Pool> pool,
        cluster.OpenPool(pool_id, entry.rados_namespace, Access::kRead));
    GroupDirectory directory(*pool, environment_.options.instance_id);
    for (bool more = true; more;) {
      // One more than fits tells whether there is a next page.
      const auto listed =
          directory.List(after, limit_ - page_.groups.size() + 1);
      // A pool that can hold no omap, as an erasure-coded one.
      if (CephErrno(listed.status()) == EOPNOTSUPP) return absl::OkStatus();
      ADDONS_RETURN_IF_ERROR(listed.status());
      const GroupDirectory::Page& names = *listed;
      more = names.more;
      const std::vector<std::pair<std::string, std::string>> entries(
          names.uuids.begin(), names.uuids.end());
      ADDONS_ASSIGN_OR_RETURN(const auto groups,
                              ReadGroups(entry, cluster, pool_id, entries));
      for (size_t i = 0; i < entries.size(); ++i) {
        after = entries[i].first;
        if (!groups[i].has_value()) continue;
        if (page_.groups.size() == limit_ || volumes_ >= kMaxVolumes) {
          full_ = true;
          return absl::OkStatus();
        }
        volumes_ += groups[i]->volumes.size();
        page_.groups.push_back(*groups[i]);
        last_ = {entry.cluster_id, pool_id, entries[i].first};
      }
    }
    return absl::OkStatus();
  }

  /// The groups behind the entries of a directory, several at a time; nullopt:
  /// the entry is no group.
  absl::StatusOr<std::vector<std::optional<GroupAnswer>>> ReadGroups(
      const ClusterEntry& entry, Cluster& cluster, int64_t pool_id,
      const std::vector<std::pair<std::string, std::string>>& entries) {
    std::vector<std::optional<GroupAnswer>> groups(entries.size());
    std::vector<absl::Status> results(entries.size());
    RunParallel(
        entries.size(), environment_.options.concurrency, [&](size_t i) {
          results[i] =
              ReadGroup(entry, cluster, pool_id, entries[i].second, groups[i]);
        });
    for (const absl::Status& result : results) ADDONS_RETURN_IF_ERROR(result);
    return groups;
  }

  static absl::Status ReadGroup(const ClusterEntry& entry, Cluster& cluster,
                                int64_t pool_id, const std::string& uuid,
                                std::optional<GroupAnswer>& group) {
    ADDONS_ASSIGN_OR_RETURN(
        const std::unique_ptr<Pool> pool,
        cluster.OpenPool(pool_id, entry.rados_namespace, Access::kRead));
    const auto attributes = GroupJournal(*pool).Read(uuid);
    if (absl::IsNotFound(attributes.status()) ||
        absl::IsInvalidArgument(attributes.status())) {
      return absl::OkStatus();
    }
    ADDONS_RETURN_IF_ERROR(attributes.status());
    VolumeId id;
    id.cluster_id = entry.cluster_id;
    id.pool_id = pool_id;
    id.uuid = uuid;
    const auto group_id = id.ToString();
    if (!group_id.ok()) return absl::OkStatus();  // no uuid: not CSI's
    group.emplace();
    group->group_id = *group_id;
    for (const VolumeHandle& member : attributes->members) {
      group->volumes.push_back({member.text(), 0, {}});
    }
    return absl::OkStatus();
  }

  const VolumeGroupEnvironment& environment_;
  const CephUserRef& user_;
  const std::optional<ListPosition> after_;
  const size_t limit_;
  GroupPage page_;
  ListPosition last_;
  size_t volumes_ = 0;
  bool full_ = false;
};

}  // namespace

absl::StatusOr<GroupPage> ListGroups(const VolumeGroupEnvironment& environment,
                                     const ListGroupsRequest& request) {
  std::optional<ListPosition> after;
  if (!request.starting_token.empty()) {
    ADDONS_ASSIGN_OR_RETURN(after, DecodeListToken(request.starting_token));
  }
  ADDONS_ASSIGN_OR_RETURN(const auto config, environment.config.Current());
  return Lister(environment, request, std::move(after)).Run(*config);
}

}  // namespace addons
