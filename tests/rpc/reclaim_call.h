#ifndef ADDONS_TESTS_RPC_RECLAIM_CALL_H_
#define ADDONS_TESTS_RPC_RECLAIM_CALL_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "tests/rpc/replication_server.h"
#include "tests/testing/reclaim_call.h"

namespace addons::testing {

/// ControllerReclaimSpace of the server's site. `context`, where given, can
/// cancel; `channel`, where given, is that of another server.
inline Reclaimed Reclaim(ReplicationServer& server, const Ask& ask,
                         grpc::ClientContext* context = nullptr,
                         std::shared_ptr<grpc::Channel> channel = nullptr) {
  grpc::ClientContext own;
  if (context == nullptr) context = &own;
  const auto& user = server.a.user();
  const ReclaimAsk asked{
      ask.volume_id, user->id,
      ask.user_key.empty() ? user->key.Reveal() : ask.user_key, ask.parameters,
      ask.deadline};
  return CallReclaim(channel != nullptr ? channel : server.Channel(), asked,
                     context);
}

/// Of the volume that was added.
inline Reclaimed Reclaim(ReplicationServer& server) {
  Ask ask;
  ask.volume_id = server.id;
  return Reclaim(server, ask);
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_RPC_RECLAIM_CALL_H_
