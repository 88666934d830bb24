#ifndef ADDONS_VOLUMEGROUP_VERB_SUPPORT_H_
#define ADDONS_VOLUMEGROUP_VERB_SUPPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "ceph/retry_when_blocklisted.h"
#include "lease/leased_context.h"
#include "operation/growing_keys.h"
#include "operation/operation_context.h"
#include "volumegroup/environment.h"

namespace addons {

/// When looking at groups and volumes has to be given up: it takes
/// milliseconds, and this bounds it when a cluster is unhealthy.
SteadyTime LookDeadline(OperationContext& context);

/// The keys of the operation table for volumes; one whose cluster is not
/// configured has none. Asks no cluster.
KeySet KeysOf(Resolver& resolver, const std::vector<VolumeHandle>& volumes);

/// The time of now for the journal, as Go's time.MarshalText writes it.
std::string CreationTime(Clock& clock);

/// RESOURCE_EXHAUSTED when a group cannot have so many members.
absl::Status CheckMemberCount(const VolumeGroupOptions& options, size_t count);

/// A pool that is full, or has become so in the middle of a change, as
/// UNAVAILABLE that says what to do; all else as it is.
absl::Status WhenFull(absl::Status status);
template <typename T>
absl::StatusOr<T> WhenFull(absl::StatusOr<T> result) {
  if (result.ok()) return result;
  return WhenFull(std::move(result).status());
}

/// A verb that looks at many images takes the lease before, reads the group's
/// journal again, and looks at each of them once.
enum class Lease { kNotYet, kHeld };

/// Runs `body` with the lease on the group (RunLeased). When the answer is that
/// this client was blocklisted and nothing was changed yet, once more on a new
/// connection.
template <typename Body>
auto RunOnGroup(OperationContext& context,
                const VolumeGroupEnvironment& environment,
                const std::string& verb, const Body& body) {
  return WhenFull(RetryWhenBlocklisted(
      [&] { return RunLeased(context, environment.leases, verb, body); },
      [&] { return !context.mutating(); }));
}

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_VERB_SUPPORT_H_
