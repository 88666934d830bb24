#ifndef ADDONS_SERVER_STATUS_PAGE_H_
#define ADDONS_SERVER_STATUS_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "operation/operation_info.h"
#include "watch/watch_snapshot.h"

namespace addons {

/// An entry of config.json.
struct ConfiguredCluster {
  std::string id;
  std::vector<std::string> monitors;
  std::string rados_namespace;
  bool elsewhere = false;  // not one of --site-clusters
};

/// What the status page shows; it holds no secrets.
struct StatusPage {
  std::string version;
  std::string configuration;  // Describe()
  std::string not_ready;      // why calls are not served; empty: they are
  bool replicates = false;    // the daemon has the replication service
  std::shared_ptr<const WatchSnapshot> watch;              // null: it is off
  std::vector<OperationInfo> operations;                   // the oldest first
  std::vector<EndedOperation> ended;                       // the newest first
  std::vector<std::pair<std::string, uint64_t>> reclaims;  // by outcome
  uint64_t reclaimed_bytes = 0;
  std::vector<ConfiguredCluster> clusters;
  /// What is wrong with config.json and cluster-mapping.json: entries that
  /// cannot be used, files that cannot be read.
  std::vector<std::string> broken_configuration;
  std::string query;  // what follows the question mark of the page's address
  SteadyTime now;     // of the watch's clock
  WallTime wall_now;
};

/// How many volumes, groups and operations are rows of the page at a time.
inline constexpr size_t kRowsOfPage = 200;

/// One HTML page for people, complete in itself and without scripts: what is
/// wrong first, then what can be seen of pools, volumes under replication
/// (trouble first, then by name; in pages, and those only that the query asks
/// for), volume groups, fences, operations that run and that have ended lately,
/// and what the daemon was told. All
/// values are escaped. Asks nobody, does not block.
std::string RenderStatusPage(const StatusPage& page);

}  // namespace addons

#endif  // ADDONS_SERVER_STATUS_PAGE_H_
