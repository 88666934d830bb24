#ifndef ADDONS_TESTS_ORCHESTRATOR_REPLICATION_CALLS_H_
#define ADDONS_TESTS_ORCHESTRATOR_REPLICATION_CALLS_H_

#include <grpcpp/grpcpp.h>

#include <map>
#include <string>

#include "replication/replication.grpc.pb.h"

namespace addons::testing {

/// The calls about one volume on one site, as the operator has the sidecar make
/// them. Secrets, ids and the deadline are the implementation's. Each call
/// returns when it is answered.
class ReplicationCalls {
 public:
  using Parameters = std::map<std::string, std::string>;
  using Info = ::replication::GetVolumeReplicationInfoResponse;

  virtual ~ReplicationCalls() = default;
  virtual grpc::Status Enable(const Parameters& parameters) = 0;
  virtual grpc::Status Disable(const Parameters& parameters) = 0;
  virtual grpc::Status Promote(const Parameters& parameters, bool force) = 0;
  virtual grpc::Status Demote(const Parameters& parameters) = 0;
  virtual grpc::Status Resync(const Parameters& parameters, bool force,
                              bool* ready) = 0;
  virtual grpc::Status GetInfo(Info* info) = 0;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_ORCHESTRATOR_REPLICATION_CALLS_H_
