#ifndef ADDONS_DOCTOR_FINDING_H_
#define ADDONS_DOCTOR_FINDING_H_

#include <string>
#include <vector>

namespace addons {

/// What a check of the installation comes to. kUnclear: it could not be looked
/// at, which is no sign of health. kConfirm: only a person can see it, and has
/// not said so yet.
enum class FindingVerdict { kOk, kWarning, kProblem, kUnclear, kConfirm };

/// The id of the check whether a cluster answers at all.
inline constexpr char kClusterConnect[] = "cluster.connect";

/// One thing that was looked at.
struct Finding {
  /// Of the check, always the same: "cluster.connect".
  std::string id;
  FindingVerdict verdict = FindingVerdict::kUnclear;
  std::string object;  // "cluster 'site-a'"; empty: the daemon
  std::string seen;
  std::string remedy;  // a command, or what to write where; empty: none needed
};
using Findings = std::vector<Finding>;

}  // namespace addons

#endif  // ADDONS_DOCTOR_FINDING_H_
