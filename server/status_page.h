#ifndef ADDONS_SERVER_STATUS_PAGE_H_
#define ADDONS_SERVER_STATUS_PAGE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "operation/operation_info.h"
#include "replication/watch_snapshot.h"

namespace addons {

/// What the status page shows; it holds no secrets.
struct StatusPage {
  std::string version;
  std::string configuration;  // Describe()
  std::string not_ready;      // why calls are not served; empty: they are
  bool replicates = false;    // the daemon has the replication service
  std::shared_ptr<const WatchSnapshot> watch;  // null: it is off
  std::vector<OperationInfo> operations;       // the oldest first
  SteadyTime now;                              // of the watch's clock
  WallTime wall_now;
};

/// How many volumes and operations are rows of the page.
inline constexpr size_t kMostRows = 500;

/// One HTML page for people, complete in itself and without scripts: what is
/// wrong first, then what can be seen of clusters, volumes under replication
/// (trouble first, then by name) and running operations. All values are
/// escaped. Asks nobody, does not block.
std::string RenderStatusPage(const StatusPage& page);

}  // namespace addons

#endif  // ADDONS_SERVER_STATUS_PAGE_H_
