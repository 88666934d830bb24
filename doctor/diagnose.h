#ifndef ADDONS_DOCTOR_DIAGNOSE_H_
#define ADDONS_DOCTOR_DIAGNOSE_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ceph/cluster.h"
#include "doctor/check_cluster.h"
#include "doctor/finding.h"
#include "volume/config_store.h"

namespace addons {

/// What layers above this one know of a mirrored pool. Called on the thread of
/// Diagnose(); reads only.
using PoolCheck = std::function<Findings(const MirroredPlace& place)>;

/// What is looked at.
struct DiagnoseRequest {
  CephUserRef user;
  bool before_handover = false;
  /// Ids of checks that are a person's (kConfirm) and that one has made.
  std::set<std::string> confirmed{};
  /// More about each mirrored pool; and what speaks against a hand-over there.
  PoolCheck check_pool{};
  PoolCheck check_pool_before_handover{};
  /// A CSI-Addons sidecar has asked who the daemon is since its start.
  bool sidecar_called = false;
};

/// What the daemon is. Nothing is owned.
struct DiagnoseEnvironment {
  ConfigStore& config;
  ClusterProvider& clusters;
  const std::vector<ClusterId>& home;  // of this site; empty: all
  uint64_t workers = 0;                // of all lanes
};

/// The whole installation, now by this host's `clock`: its files, its
/// limits, and each cluster of this site, all at a time, so that one that hangs
/// costs what its timeouts are. With `before_handover` also what has to be true
/// before this daemon takes over from another server: what Ceph shows of it,
/// and what only a person can see. Changes nothing; blocks.
Findings Diagnose(const DiagnoseEnvironment& environment,
                  const DiagnoseRequest& request, const Clock& clock);

/// The ids of the checks before a hand-over that only a person can make.
const std::vector<std::string>& ConfirmedByPersons();

/// Nothing speaks against a hand-over, and everything was looked at.
bool SafeForHandover(const Findings& findings);

}  // namespace addons

#endif  // ADDONS_DOCTOR_DIAGNOSE_H_
