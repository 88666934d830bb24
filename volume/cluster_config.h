#ifndef ADDONS_VOLUME_CLUSTER_CONFIG_H_
#define ADDONS_VOLUME_CLUSTER_CONFIG_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/cluster_id.h"

namespace addons {

/// The files of the core driver, in the folder that is mounted into both.
inline constexpr char kConfigFile[] = "config.json";
inline constexpr char kMappingFile[] = "cluster-mapping.json";

/// "replicationDestination" of a cluster entry.
struct ReplicationDestination {
  /// Empty is an error when it is used. A destination that is malformed in any
  /// place has none, so that nobody derives a wrong handle from the rest.
  ClusterId remote_cluster_id;
  std::map<std::string, int64_t> remote_pool_id;  // by local pool name
};

/// One entry of config.json.
struct ClusterEntry {
  ClusterId cluster_id;
  std::vector<std::string> monitors;
  std::string rados_namespace;
  std::optional<ReplicationDestination> replication_destination;
};

/// One element of cluster-mapping.json: pairs that stand for each other in both
/// directions, in the order of the file.
struct ClusterMapping {
  std::vector<std::pair<ClusterId, ClusterId>> cluster_ids;
  std::vector<std::pair<int64_t, int64_t>> pool_ids;
};

/// A consistent, immutable view of config.json and cluster-mapping.json.
class ClusterConfig {
 public:
  /// Parses the files' texts. Keys are matched without regard to case, unknown
  /// ones ignored. An entry that is broken becomes a warning and leaves the
  /// others usable; it is remembered, so that asking for it says what is wrong
  /// with it. Of several entries with one cluster id the first is taken. An
  /// empty `mapping_json` means no mapping. INVALID_ARGUMENT: a text is not the
  /// expected JSON array at all; the message begins with the file's name.
  static absl::StatusOr<std::shared_ptr<const ClusterConfig>> Parse(
      absl::string_view config_json, absl::string_view mapping_json,
      std::vector<std::string>* warnings);

  /// As Parse() when there is a mapping, but for the reason `mapping_problem`
  /// it cannot be known: nothing is mapped, and a volume that is not found may
  /// exist.
  static absl::StatusOr<std::shared_ptr<const ClusterConfig>>
  ParseWithUnknownMapping(absl::string_view config_json,
                          absl::string_view mapping_problem,
                          std::vector<std::string>* warnings);

  /// The entry for `cluster_id` (first match wins). NOT_FOUND: none.
  /// FAILED_PRECONDITION: there is one, but it is broken; the message says how.
  absl::StatusOr<const ClusterEntry*> Find(const ClusterId& cluster_id) const;

  /// The other (cluster id, pool id) pairs that stand for this one, in the
  /// order of the file, without duplicates.
  std::vector<std::pair<ClusterId, int64_t>> Mapped(const ClusterId& cluster_id,
                                                    int64_t pool_id) const;

  /// The clusters that `cluster_id` is mapped to in either direction, whatever
  /// the pools. In the order of the file.
  std::vector<ClusterId> MappedClusters(const ClusterId& cluster_id) const;

  const std::vector<ClusterEntry>& entries() const { return entries_; }
  /// Why the mapping is not known completely; empty: it is. As long as it is
  /// not, a volume that is nowhere may be on a cluster that should be mapped.
  const std::string& mapping_problem() const { return mapping_problem_; }

 private:
  std::vector<ClusterEntry> entries_;
  std::map<ClusterId, std::string> broken_;  // what is wrong
  std::vector<ClusterMapping> mappings_;
  std::string mapping_problem_;
};

}  // namespace addons

#endif  // ADDONS_VOLUME_CLUSTER_CONFIG_H_
