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
  std::string site;  // whose clusters it serves, in words; may be empty
  std::string host;  // its name: in Kubernetes the pod's
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
/// wrong first, with what to type and to read; the numbers; the volumes under
/// replication (those that the query asks for, in its order, in pages); then
/// groups, pools, fences, operations that run and that have ended lately, and
/// what the daemon was told. Ages are those of the time of the page, also of
/// what cannot be seen any more, which is grey. All values are escaped. Asks
/// nobody, does not block; for any thread.
std::string RenderStatusPage(const StatusPage& page);

/// The same for programs: one JSON object in UTF-8, whose fields
/// docs/metrics.md has. All volumes that the query asks for, or kRowsOfPage of
/// them where it names a page.
std::string StatusJson(const StatusPage& page);

}  // namespace addons

#endif  // ADDONS_SERVER_STATUS_PAGE_H_
