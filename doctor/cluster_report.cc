#include "doctor/cluster_report.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ceph/errors.h"

namespace addons {

using Verdict = FindingVerdict;

ClusterReport::ClusterReport(std::string cluster)
    : cluster_(std::move(cluster)) {}

absl::Status ClusterReport::NotAsked() {
  return absl::UnavailableError(
      "not asked, because the cluster left another question unanswered");
}

void ClusterReport::Note(std::string id, Verdict verdict, std::string object,
                         std::string seen, std::string remedy) {
  findings_.push_back({std::move(id), verdict, std::move(object),
                       std::move(seen),
                       verdict == Verdict::kOk ? "" : std::move(remedy)});
}

Verdict ClusterReport::Heard(const absl::Status& status) {
  silent_ |= absl::IsDeadlineExceeded(status);
  if (status.ok()) return Verdict::kOk;
  return RefusesUser(status) ? Verdict::kProblem : Verdict::kUnclear;
}

void ClusterReport::Ask(std::string id, const std::string& object,
                        const std::string& what,
                        absl::FunctionRef<absl::Status()> question,
                        std::string remedy, Verdict refused) {
  const absl::Status status = silent_ ? NotAsked() : question();
  Verdict verdict = Heard(status);
  std::string seen;
  switch (verdict) {
    case Verdict::kOk:
      seen = absl::StrCat("this user may ", what);
      break;
    case Verdict::kProblem:
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
