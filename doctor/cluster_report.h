#ifndef ADDONS_DOCTOR_CLUSTER_REPORT_H_
#define ADDONS_DOCTOR_CLUSTER_REPORT_H_

#include <set>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
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
  /// Some question was answered with that this client is on the blocklist.
  bool blocklisted() const { return !blocklisted_.empty(); }
  /// Puts one finding, "cluster.not-asked", in the place of all that were not
  /// asked, and names them. Another one, "cluster.not-seen", stands for what
  /// was not seen because this client is on the blocklist.
  void FoldConsequences();

  /// Adds a finding; what is in order needs no remedy.
  void Note(std::string id, FindingVerdict verdict, std::string object,
            std::string seen, std::string remedy);
  /// A problem where the user may not, unclear where nobody has answered. That
  /// this client is on the blocklist is a finding of its own, once.
  FindingVerdict Heard(const absl::Status& status);
  /// Asks whether the user may do `what`, unless the cluster is silent. What it
  /// may not is `refused`.
  void Ask(std::string id, const std::string& object, const std::string& what,
           absl::FunctionRef<absl::Status()> question, std::string remedy,
           FindingVerdict refused = FindingVerdict::kProblem);

  Findings Take() { return std::move(findings_); }

 private:
  /// Puts one finding in the place of the unclear ones that were told one of
  /// `messages`.
  void Fold(const std::set<std::string>& messages, std::string id,
            absl::string_view why, std::string remedy);

  const std::string cluster_;
  Findings findings_;
  bool silent_ = false;
  std::set<std::string> blocklisted_;  // the messages that said so
};

}  // namespace addons

#endif  // ADDONS_DOCTOR_CLUSTER_REPORT_H_
