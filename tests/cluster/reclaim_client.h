#ifndef ADDONS_TESTS_CLUSTER_RECLAIM_CLIENT_H_
#define ADDONS_TESTS_CLUSTER_RECLAIM_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace addons::testing {

/// What a call of ControllerReclaimSpace answered.
struct Reclaimed {
  grpc::Status status;
  std::optional<int64_t> before;
  std::optional<int64_t> after;
};

struct ReclaimAsk {
  std::string volume_id;
  std::string user_id;
  std::string user_key;
  std::map<std::string, std::string> parameters = {};
  std::chrono::milliseconds deadline = std::chrono::seconds(60);
};

/// Calls the daemon on `socket`, with a connection of its own, which a killed
/// daemon does not spoil for the next call.
Reclaimed CallReclaim(const std::string& socket, const ReclaimAsk& ask);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_RECLAIM_CLIENT_H_
