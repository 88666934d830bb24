#ifndef ADDONS_RPC_CALL_CONTEXT_H_
#define ADDONS_RPC_CALL_CONTEXT_H_

#include <string>

#include "base/caller.h"

namespace addons {

/// What a handler may know about its call.
struct CallContext {
  Caller caller;
  std::string method;  // "replication.Controller/PromoteVolume"
};

}  // namespace addons

#endif  // ADDONS_RPC_CALL_CONTEXT_H_
