#ifndef ADDONS_DOCTOR_DIAGNOSE_H_
#define ADDONS_DOCTOR_DIAGNOSE_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "ceph/cluster.h"
#include "doctor/finding.h"
#include "volume/config_store.h"

namespace addons {

/// What is looked at.
struct DiagnoseRequest {
  CephUserRef user;
  bool before_handover = false;
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

/// The whole installation, at `now` by this host's clock: its files, its
/// limits, and each cluster of this site, all at a time, so that one that hangs
/// costs what its timeouts are. With `before_handover` also what has to be true
/// before this daemon takes over from another server, of which it can see
/// nothing itself. Changes nothing; blocks.
Findings Diagnose(const DiagnoseEnvironment& environment,
                  const DiagnoseRequest& request, absl::Time now);

}  // namespace addons

#endif  // ADDONS_DOCTOR_DIAGNOSE_H_
