#include "doctor/diagnose.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/parallel.h"
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
Findings ChecksOfPersons() {
  constexpr FindingVerdict kConfirm = FindingVerdict::kConfirm;
  return {
      {"handover.built-in-server", kConfirm, "",
       "whether ceph-csi's own server still answers for this driver cannot be "
       "seen from here",
       "kubectl get csiaddonsnodes -A must show none of the RBD driver but "
       "this daemon's; then --confirmed handover.built-in-server"},
      {"handover.resources", kConfirm, "",
       "whether a resource of Kubernetes waits or fails cannot be seen from "
       "here",
       "kubectl get volumereplication,volumegroupreplication,networkfence,"
       "reclaimspacejob -A: none moves, fails or runs; then --confirmed "
       "handover.resources"},
      {"handover.replicas", kConfirm, "",
       "whether two replicas of the controller share a node cannot be seen "
       "from here; they would share one CSIAddonsNode, and after a restart of "
       "the operator nothing is called any more",
       "kubectl get pods -A -o wide -l app.kubernetes.io/name=rbd-addons,"
       "app.kubernetes.io/component=controller: each on a node of its own; "
       "then --confirmed handover.replicas"},
      {"handover.other-site", kConfirm, "",
       "whether the other site is ready cannot be seen from here",
       "rbd-addons doctor --before-handover there, too, and no failover "
       "between the two; then --confirmed handover.other-site"}};
}

void AddChecksOfPersons(const std::set<std::string>& confirmed,
                        Findings* findings) {
  for (Finding& finding : ChecksOfPersons()) {
    if (confirmed.contains(finding.id)) {
      finding.verdict = FindingVerdict::kOk;
      finding.seen = "a person has looked, and confirmed it with this call";
      finding.remedy.clear();
    }
    findings->push_back(std::move(finding));
  }
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
                  const DiagnoseRequest& request, const Clock& clock) {
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
  std::vector<std::vector<MirroredPlace>> mirrored(asked.size());
  RunParallel(asked.size(), kClustersAtATime, [&](size_t i) {
    found[i] = CheckCluster(environment.clusters, **config, *asked[i],
                            request.user, clock, &mirrored[i]);
  });
  for (Findings& of_cluster : found) Append(std::move(of_cluster), &findings);
  for (const auto& of_cluster : mirrored) {
    for (const MirroredPlace& place : of_cluster) {
      if (request.check_pool) Append(request.check_pool(place), &findings);
      if (request.before_handover && request.check_pool_before_handover) {
        Append(request.check_pool_before_handover(place), &findings);
      }
    }
  }
  if (request.before_handover) {
    AddChecksOfPersons(request.confirmed, &findings);
  }
  return findings;
}

const std::vector<std::string>& ConfirmedByPersons() {
  static const auto* const kIds = [] {
    auto* ids = new std::vector<std::string>();
    for (const Finding& finding : ChecksOfPersons()) ids->push_back(finding.id);
    return ids;
  }();
  return *kIds;
}

bool SafeForHandover(const Findings& findings) {
  return !findings.empty() &&
         std::all_of(findings.begin(), findings.end(),
                     [](const Finding& finding) {
                       return finding.verdict == FindingVerdict::kOk ||
                              finding.verdict == FindingVerdict::kWarning;
                     });
}

}  // namespace addons
