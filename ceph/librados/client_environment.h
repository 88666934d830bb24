#ifndef ADDONS_CEPH_LIBRADOS_CLIENT_ENVIRONMENT_H_
#define ADDONS_CEPH_LIBRADOS_CLIENT_ENVIRONMENT_H_

#include <chrono>
#include <memory>

#include "ceph/librados/abandonable_calls.h"
#include "ceph/librados/call_gate.h"
#include "ceph/librados/host_resolver.h"

namespace addons {

/// Bounds that librados keeps by itself. Whole seconds, at least one: to Ceph
/// zero means "for ever", so less than a second counts as one.
struct ConnectionTimeouts {
  std::chrono::seconds connect{5};
  std::chrono::seconds mon{10};  // monitor and manager commands
  std::chrono::seconds osd_read{
      10};  // I/O of Access::kRead; kMutate has no bound
};

/// What all connections of the process share.
struct ClientEnvironment {
  std::shared_ptr<CallGate> gate;
  std::shared_ptr<HostResolver> resolver;
  std::shared_ptr<AbandonableCalls> calls;
  ConnectionTimeouts timeouts;
};

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_CLIENT_ENVIRONMENT_H_
