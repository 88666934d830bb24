#include "doctor/cluster_report.h"

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ceph/errors.h"
#include "ceph/retry_when_blocklisted.h"

namespace addons {

ClusterReport::ClusterReport(std::string cluster)
    : cluster_(std::move(cluster)) {}

absl::Status ClusterReport::NotAsked() {
  return absl::UnavailableError(
      "not asked, because the cluster left another question unanswered");
}

void ClusterReport::FoldNotAsked() {
  Findings asked;
  std::vector<std::string> not_asked;
  for (Finding& finding : findings_) {
    if (finding.verdict == FindingVerdict::kUnclear &&
        absl::StrContains(finding.seen, NotAsked().message())) {
      not_asked.push_back(std::move(finding.id));
    } else {
      asked.push_back(std::move(finding));
    }
  }
  findings_ = std::move(asked);
  if (not_asked.empty()) return;
  Note("cluster.not-asked", FindingVerdict::kUnclear, cluster_,
       absl::StrCat(NotAsked().message(), ": ", absl::StrJoin(not_asked, ", ")),
       "mend what is above, and ask again");
}

void ClusterReport::Note(std::string id, FindingVerdict verdict,
                         std::string object, std::string seen,
                         std::string remedy) {
  findings_.push_back(
      {std::move(id), verdict, std::move(object), std::move(seen),
       verdict == FindingVerdict::kOk ? "" : std::move(remedy)});
}

FindingVerdict ClusterReport::Heard(const absl::Status& status) {
  silent_ |= absl::IsDeadlineExceeded(status) || CephErrno(status) == ETIMEDOUT;
  if (status.ok()) return FindingVerdict::kOk;
  if (SaysBlocklisted(status) && !std::exchange(blocklisted_, true)) {
    Note("cluster.blocklisted", FindingVerdict::kProblem, cluster_,
         kBlocklistedWords, kBlocklistedRemedy);
  }
  return RefusesUser(status) ? FindingVerdict::kProblem
                             : FindingVerdict::kUnclear;
}

std::string ClusterReport::RemedyFor(const absl::Status& status,
                                     std::string remedy) {
  if (!SaysBlocklisted(status)) return remedy;
  return "take this client from the blocklist, and ask again";
}

void ClusterReport::Ask(std::string id, const std::string& object,
                        const std::string& what,
                        absl::FunctionRef<absl::Status()> question,
                        std::string remedy, FindingVerdict refused) {
  const absl::Status status = silent_ ? NotAsked() : question();
  FindingVerdict verdict = Heard(status);
  std::string seen;
  switch (verdict) {
    case FindingVerdict::kOk:
      seen = absl::StrCat("this user may ", what);
      break;
    case FindingVerdict::kProblem:
      verdict = refused;
      seen = absl::StrCat("this user may not ", what, ": ", status.message());
      break;
    default:
      seen = absl::StrCat("not known whether this user may ", what, ": ",
                          status.message());
      break;
  }
  Note(std::move(id), verdict, object, std::move(seen),
       RemedyFor(status, std::move(remedy)));
}

}  // namespace addons
