#ifndef ADDONS_DOCTOR_CLUSTER_REPORT_H_
#define ADDONS_DOCTOR_CLUSTER_REPORT_H_

#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "doctor/finding.h"

namespace addons {

/// What is found of one cluster. Once a question got no answer, no other is
/// asked: each would cost another timeout, and the report of the other clusters
/// would not come in time. One thread at a time.
class ClusterReport {
 public:
  /// `cluster` is what findings call it: "cluster 'site-a'".
  explicit ClusterReport(std::string cluster);

  const std::string& cluster() const { return cluster_; }
  bool silent() const { return silent_; }
  /// What a question comes to that is not asked any more.
  static absl::Status NotAsked();
  /// Puts one finding, "cluster.not-asked", in the place of all that were not
  /// asked, and names them. Nothing where all were asked.
  void FoldNotAsked();

  /// Adds a finding; what is in order needs no remedy.
  void Note(std::string id, FindingVerdict verdict, std::string object,
            std::string seen, std::string remedy);
  /// A problem where the user may not, unclear where nobody has answered. That
  /// this client is on the blocklist is a finding of its own, once.
  FindingVerdict Heard(const absl::Status& status);
  /// `remedy`, unless `status` has another cause that Heard() has told.
  static std::string RemedyFor(const absl::Status& status, std::string remedy);
  /// Asks whether the user may do `what`, unless the cluster is silent. What it
  /// may not is `refused`.
  void Ask(std::string id, const std::string& object, const std::string& what,
           absl::FunctionRef<absl::Status()> question, std::string remedy,
           FindingVerdict refused = FindingVerdict::kProblem);

  Findings Take() { return std::move(findings_); }

 private:
  const std::string cluster_;
  Findings findings_;
  bool silent_ = false;
  bool blocklisted_ = false;  // it was said
};

}  // namespace addons

#endif  // ADDONS_DOCTOR_CLUSTER_REPORT_H_
