#ifndef ADDONS_SERVER_UNSERVED_METHODS_H_
#define ADDONS_SERVER_UNSERVED_METHODS_H_

#include <grpcpp/generic/async_generic_service.h>

#include <memory>
#include <string>

#include "identity/capabilities.h"

namespace addons {

/// Why the program does not serve "replication.Controller/PromoteVolume" when
/// it was started in these modes, and what to do.
std::string WhyNotServed(const std::string& method, const Modes& modes);

/// Answers every call of a method that no registered service has with
/// UNIMPLEMENTED and that text; gRPC itself says nothing. Needs no thread.
std::unique_ptr<grpc::CallbackGenericService> MakeUnservedMethods(
    const Modes& modes);

}  // namespace addons

#endif  // ADDONS_SERVER_UNSERVED_METHODS_H_
