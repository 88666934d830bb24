#ifndef ADDONS_CEPH_RETRY_WHEN_BLOCKLISTED_H_
#define ADDONS_CEPH_RETRY_WHEN_BLOCKLISTED_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/errors.h"

namespace addons {

/// Whether a result is that this client was put on the blocklist. Other types
/// of results bring a SaysBlocklisted() of their own.
inline bool SaysBlocklisted(const absl::Status& status) {
  return CephErrno(status) == kBlocklistedErrno;
}
template <typename Value>
bool SaysBlocklisted(const absl::StatusOr<Value>& result) {
  return SaysBlocklisted(result.status());
}

/// What that means where a new connection gets the same answer, in words for
/// people; and what to do next.
inline constexpr char kBlocklistedWords[] =
    "the cluster has put this daemon's client on the blocklist: somebody has "
    "fenced this node, or evicted the client";
inline constexpr char kBlocklistedRemedy[] =
    "ceph osd blocklist ls, on a host of that cluster, shows the entry and "
    "when it ends; lift the fence when nothing of before is left on this node";

/// Runs `body`, and once more when its result is that this client was
/// blocklisted: by then the connection has been replaced. Not when `unchanged`
/// says false, which is asked in between: a change that was begun is not
/// repeated.
template <typename Body, typename Unchanged>
auto RetryWhenBlocklisted(const Body& body, const Unchanged& unchanged) {
  auto result = body();
  if (SaysBlocklisted(result) && unchanged()) return body();
  return result;
}

/// The same for what changes nothing.
template <typename Body>
auto RetryWhenBlocklisted(const Body& body) {
  return RetryWhenBlocklisted(body, [] { return true; });
}

}  // namespace addons

#endif  // ADDONS_CEPH_RETRY_WHEN_BLOCKLISTED_H_
