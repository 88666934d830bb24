#include "doctor/cluster_report.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ceph/errors.h"
#include "ceph/retry_when_blocklisted.h"

namespace addons {

ClusterReport::ClusterReport(std::string cluster)
    : cluster_(std::move(cluster)) {}

absl::Status ClusterReport::NotAsked() {
  return absl::UnavailableError(
      "not asked, because the cluster left another question unanswered");
}

void ClusterReport::FoldConsequences() {
  const std::string not_asked(NotAsked().message());
  Fold({not_asked}, "cluster.not-asked", not_asked,
       "mend what is above, and ask again");
  Fold(blocklisted_, "cluster.not-seen",
       "not seen, because this daemon's client is on the blocklist",
       "take this client from the blocklist, and ask again");
}

void ClusterReport::Fold(const std::set<std::string>& messages, std::string id,
                         absl::string_view why, std::string remedy) {
  Findings others;
  std::vector<std::string> folded;
  for (Finding& finding : findings_) {
    const bool follows =
        finding.verdict == FindingVerdict::kUnclear &&
        std::any_of(messages.begin(), messages.end(),
                    [&finding](const std::string& message) {
                      return absl::StrContains(finding.seen, message);
                    });
    if (!follows) {
      others.push_back(std::move(finding));
    } else if (std::find(folded.begin(), folded.end(), finding.id) ==
               folded.end()) {
      folded.push_back(std::move(finding.id));
    }
  }
  findings_ = std::move(others);
  if (folded.empty()) return;
  Note(std::move(id), FindingVerdict::kUnclear, cluster_,
       absl::StrCat(why, ": ", absl::StrJoin(folded, ", ")), std::move(remedy));
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
  if (SaysBlocklisted(status)) {
    if (!blocklisted()) {
      Note("cluster.blocklisted", FindingVerdict::kProblem, cluster_,
           kBlocklistedWords, kBlocklistedRemedy);
    }
    blocklisted_.emplace(status.message());
  }
  return RefusesUser(status) ? FindingVerdict::kProblem
                             : FindingVerdict::kUnclear;
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
  Note(std::move(id), verdict, object, std::move(seen), std::move(remedy));
}

}  // namespace addons
