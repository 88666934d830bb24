// config.json and, behind a line of dashes, cluster-mapping.json: one entry
// that is broken leaves the others usable, and a mapping holds both ways.

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "volume/cluster_config.h"

namespace addons::testing {
namespace {

template <typename T>
bool Has(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

void CheckEntries(const ClusterConfig& config) {
  std::set<ClusterId> seen;
  for (const ClusterEntry& entry : config.entries()) {
    const std::string& id = entry.cluster_id.text();
    CheckThat(!id.empty() && seen.insert(entry.cluster_id).second,
              "each cluster has one entry", id);
    CheckThat(!entry.monitors.empty() && !Has(entry.monitors, std::string()),
              "an entry has monitors", id);
    const auto found = config.Find(entry.cluster_id);
    CheckThat(found.ok() && *found == &entry, "an entry is found", id);
    if (!entry.replication_destination.has_value()) continue;
    const ReplicationDestination& destination = *entry.replication_destination;
    CheckThat(!destination.remote_cluster_id.empty() ||
                  destination.remote_pool_id.empty(),
              "of a malformed destination nothing is taken", id);
    for (const auto& [pool, remote] : destination.remote_pool_id) {
      CheckThat(remote >= 0, "the id of a pool is not negative", pool);
    }
  }
  const auto none = config.Find(ClusterId("no such cluster\n"));
  if (!none.ok() && absl::IsNotFound(none.status())) {
    CheckError(none.status(), absl::StatusCode::kNotFound);
  }
}

void CheckMapping(const ClusterConfig& config) {
  for (const ClusterEntry& entry : config.entries()) {
    const ClusterId& cluster = entry.cluster_id;
    for (const ClusterId& other : config.MappedClusters(cluster)) {
      CheckThat(Has(config.MappedClusters(other), cluster),
                "clusters are mapped both ways", other.text());
    }
    for (const int64_t pool : {0, 1, 2, 3, 5}) {
      const auto mapped = config.Mapped(cluster, pool);
      const std::set<std::pair<ClusterId, int64_t>> unique(mapped.begin(),
                                                           mapped.end());
      CheckThat(unique.size() == mapped.size(), "no place is named twice",
                cluster.text());
      for (const auto& place : mapped) {
        CheckThat(place != std::pair(cluster, pool),
                  "no place stands for itself", cluster.text());
        CheckThat(Has(config.Mapped(place.first, place.second),
                      std::pair(cluster, pool)),
                  "places are mapped both ways", cluster.text());
        CheckThat(place.second >= 0, "the id of a pool is not negative",
                  cluster.text());
        CheckThat(Has(config.MappedClusters(cluster), place.first),
                  "a mapped place is in a mapped cluster", cluster.text());
      }
    }
  }
}

void Check(absl::string_view input) {
  const auto [entries, mapping] = SplitInput(input, "\n----\n");
  std::vector<std::string> warnings;
  const auto config = ClusterConfig::Parse(entries, mapping, &warnings);
  for (const std::string& warning : warnings) CheckLine(warning, 4096);
  if (!config.ok()) {
    CheckError(config.status(), absl::StatusCode::kInvalidArgument);
    CheckThat(
        absl::StartsWith(config.status().message(), "config.json") ||
            absl::StartsWith(config.status().message(), "cluster-mapping.json"),
        "the error names the file", config.status().message());
    return;
  }
  CheckEntries(**config);
  CheckMapping(**config);
  CheckThat((*config)->mapping_problem().empty() || !warnings.empty(),
            "a problem was warned of");
  const auto unknown =
      ClusterConfig::ParseWithUnknownMapping(entries, "not there", nullptr);
  CheckThat(unknown.ok() &&
                (*unknown)->entries().size() == (*config)->entries().size() &&
                (*unknown)->mapping_problem() == "not there",
            "without the mapping the entries are the same");
}

}  // namespace
}  // namespace addons::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  addons::testing::Check(addons::testing::TextOf(data, size));
  return 0;
}
