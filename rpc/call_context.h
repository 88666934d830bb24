#ifndef ADDONS_RPC_CALL_CONTEXT_H_
#define ADDONS_RPC_CALL_CONTEXT_H_

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"

namespace addons {

/// What a handler may know about its call. Valid until the handler returns; so
/// is `cancelled`.
struct CallContext {
  std::string request_id;  // unique among the log lines of all replicas
  std::string method;      // "replication.Controller/PromoteVolume"
  std::optional<SteadyTime> deadline;  // nullopt: the caller waits for ever
  std::function<bool()> cancelled;     // true once nobody waits; never empty
};

}  // namespace addons

#endif  // ADDONS_RPC_CALL_CONTEXT_H_
