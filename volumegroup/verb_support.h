#ifndef ADDONS_VOLUMEGROUP_VERB_SUPPORT_H_
#define ADDONS_VOLUMEGROUP_VERB_SUPPORT_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ceph/errors.h"
#include "operation/operation_context.h"
#include "volumegroup/environment.h"

namespace addons {

/// When looking at groups and volumes has to be given up: it takes
/// milliseconds, and this bounds it when clusters are ill.
SteadyTime LookDeadline(OperationContext& context);

/// The keys of the operation table for volumes; one whose cluster is not
/// configured has none. Asks no cluster.
std::set<std::string> KeysOf(Resolver& resolver,
                             const std::vector<std::string>& volume_ids);

/// Those of `needed` that are not held.
std::set<std::string> MissingKeys(const std::set<std::string>& needed,
                                  const HeldKeys& held);

/// RESOURCE_EXHAUSTED when a group cannot have so many members.
absl::Status CheckMemberCount(const VolumeGroupOptions& options, size_t count);

/// Runs `body`, and once more when the answer is that this client was
/// blocklisted and nothing was changed yet: the connection has been replaced.
template <typename Body>
auto RetryWhenBlocklisted(OperationContext& context, const Body& body) {
  auto result = body();
  const bool again = !result.ok() && !context.mutating() &&
                     CephErrno(result.status()) == kBlocklistedErrno;
  return again ? body() : result;
}

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_VERB_SUPPORT_H_
