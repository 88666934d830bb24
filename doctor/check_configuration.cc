#include "doctor/check_configuration.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "volume/home_clusters.h"

namespace addons {
namespace {

std::string Named(const ClusterId& id) {
  return absl::StrCat("cluster '", id.text(), "'");
}

/// Both clusters of a mapping are asked, although one of them is the other
/// site's: while this site's is slow, its verbs would go to the other one.
Finding CheckHome(const ClusterConfig& config,
                  const std::vector<ClusterId>& home) {
  Finding finding{"config.site-clusters", FindingVerdict::kOk, "", "", ""};
  for (const ClusterEntry& entry : config.entries()) {
    if (!IsHome(home, entry.cluster_id)) continue;
    for (const ClusterId& other : config.MappedClusters(entry.cluster_id)) {
      // Sites whose clusters have one id are mapped onto themselves, for the
      // numbers of their pools.
      if (other == entry.cluster_id) continue;
      if (!IsHome(home, other) || !config.Find(other).ok()) continue;
      finding.verdict = FindingVerdict::kProblem;
      finding.seen = absl::StrCat(
          "config.json has ", Named(entry.cluster_id), " and ", Named(other),
          ", which stand for each other in cluster-mapping.json: one of them "
          "is another site's, and verbs may reach it");
      finding.remedy = absl::StrCat(
          "start the daemon with --site-clusters and the clusters of this "
          "site, for instance --site-clusters=",
          entry.cluster_id.text());
      return finding;
    }
  }
  finding.seen = home.empty()
                     ? "every cluster of config.json counts as this site's"
                     : absl::StrCat("this site has ",
                                    absl::StrJoin(home, ", ", AppendClusterId));
  return finding;
}

Finding CheckMapping(const ClusterConfig& config, const ClusterEntry& entry) {
  Finding finding{"config.mapping", FindingVerdict::kOk,
                  Named(entry.cluster_id), "", ""};
  const std::vector<ClusterId> others = config.MappedClusters(entry.cluster_id);
  if (!config.mapping_problem().empty()) {
    finding.verdict = FindingVerdict::kProblem;
    finding.seen = config.mapping_problem();
    finding.remedy =
        "mend cluster-mapping.json: until then a volume that is not found may "
        "be on a cluster that should be mapped";
  } else if (others.empty()) {
    finding.verdict = FindingVerdict::kWarning;
    finding.seen =
        "cluster-mapping.json has no cluster that stands for it: volumes that "
        "were made on another site are not found here";
    finding.remedy =
        "where this cluster is mirrored, write a line for it and its peer into "
        "cluster-mapping.json";
  } else {
    finding.seen = absl::StrCat("stands for ",
                                absl::StrJoin(others, ", ", AppendClusterId));
  }
  return finding;
}

Finding CheckReadable(const ClusterConfig& files,
                      const ConfigStore::Troubles& troubles) {
  Finding finding{"config.readable", FindingVerdict::kOk, "", "", ""};
  if (!troubles.files.empty()) {
    finding.verdict = FindingVerdict::kProblem;
    finding.seen =
        absl::StrCat(absl::StrJoin(troubles.files, "; "),
                     "; the daemon goes on with what it read before");
    finding.remedy =
        "mend the file before the daemon is started again: then there is "
        "nothing that it read before";
  } else if (files.entries().empty()) {
    finding.verdict = FindingVerdict::kProblem;
    finding.seen = "config.json has no cluster";
    finding.remedy = "write the cluster into config.json, as ceph-csi has it";
  } else {
    finding.seen =
        absl::StrCat("config.json has ", files.entries().size(),
                     files.entries().size() == 1 ? " cluster" : " clusters");
  }
  return finding;
}

}  // namespace

Findings CheckConfiguration(ConfigStore& config,
                            const std::vector<ClusterId>& home) {
  const auto current = config.Current();
  if (!current.ok()) {
    return {{"config.readable", FindingVerdict::kProblem, "",
             std::string(current.status().message()),
             "write or mend it, as it says; --config-dir names its folder, and "
             "the daemon reads it again by itself"}};
  }
  const ClusterConfig& files = **current;
  const ConfigStore::Troubles troubles = config.troubles();
  Findings findings;
  findings.push_back(CheckReadable(files, troubles));
  for (const std::string& trouble : troubles.entries) {
    findings.push_back({"config.entry", FindingVerdict::kProblem, "", trouble,
                        "mend it in config.json or cluster-mapping.json: what "
                        "needs it is refused until then"});
  }
  for (const ClusterId& id : home) {
    const auto entry = files.Find(id);
    if (entry.ok()) continue;
    findings.push_back({"config.cluster", FindingVerdict::kProblem, Named(id),
                        std::string(entry.status().message()),
                        "mend its entry in config.json, or --site-clusters"});
  }
  findings.push_back(CheckHome(files, home));
  for (const ClusterEntry& entry : files.entries()) {
    if (IsHome(home, entry.cluster_id)) {
      findings.push_back(CheckMapping(files, entry));
    }
  }
  return findings;
}

}  // namespace addons
