#include "doctor/diagnose.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/parallel.h"
#include "doctor/check_cluster.h"
#include "doctor/check_configuration.h"
#include "doctor/check_limits.h"
#include "volume/home_clusters.h"

namespace addons {
namespace {

constexpr size_t kClustersAtATime = 8;

void Append(Findings more, Findings* findings) {
  std::move(more.begin(), more.end(), std::back_inserter(*findings));
}

/// What only Kubernetes and the other site can tell.
Findings BeforeHandover() {
  constexpr FindingVerdict kUnclear = FindingVerdict::kUnclear;
  return {
      {"handover.built-in-server", kUnclear, "",
       "whether ceph-csi's own server still answers for this driver cannot be "
       "seen from here",
       "kubectl get csiaddonsnodes -A must show none of the RBD driver but "
       "this daemon's"},
      {"handover.running", kUnclear, "",
       "whether a resource is in the middle of something cannot be seen from "
       "here",
       "kubectl get volumereplication,volumegroupreplication,networkfence,"
       "reclaimspacejob -A: none moves, fails or runs"},
      {"handover.clones", kUnclear, "",
       "copies of mirrored clones may lack their parent's data",
       "rbd-addons audit clones --pool POOL, for each mirrored pool"},
      {"handover.other-site", kUnclear, "",
       "the other site cannot be seen from here",
       "rbd-addons doctor --before-handover there, too; no failover between "
       "the two"}};
}

/// It asks as soon as both run, and again when it is restarted.
Finding OfSidecar(bool called) {
  if (called) {
    return {"sidecar.calls", FindingVerdict::kOk, "",
            "a CSI-Addons sidecar has called", ""};
  }
  return {"sidecar.calls", FindingVerdict::kWarning, "",
          "no CSI-Addons sidecar has called since the daemon was started, so "
          "the operator does not know of it",
          "in Kubernetes: look into the sidecar's log; its "
          "--csi-addons-address is the socket of --csi-addons-endpoint. On "
          "hosts without Kubernetes there is none"};
}

}  // namespace

Findings Diagnose(const DiagnoseEnvironment& environment,
                  const DiagnoseRequest& request, absl::Time now) {
  Findings findings = CheckConfiguration(environment.config, environment.home);
  std::vector<const ClusterEntry*> asked;
  const auto config = environment.config.Current();
  if (config.ok()) {
    for (const ClusterEntry& entry : (*config)->entries()) {
      if (IsHome(environment.home, entry.cluster_id)) asked.push_back(&entry);
    }
  }
  Append(CheckLimits(ReadProcessLimits(), environment.workers, asked.size()),
         &findings);
  findings.push_back(OfSidecar(request.sidecar_called));
  std::vector<Findings> found(asked.size());
  RunParallel(asked.size(), kClustersAtATime, [&](size_t i) {
    found[i] = CheckCluster(environment.clusters, **config, *asked[i],
                            request.user, now);
  });
  for (Findings& of_cluster : found) Append(std::move(of_cluster), &findings);
  if (request.before_handover) Append(BeforeHandover(), &findings);
  return findings;
}

}  // namespace addons
