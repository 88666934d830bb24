#ifndef ADDONS_SERVER_UNSERVED_METHODS_H_
#define ADDONS_SERVER_UNSERVED_METHODS_H_

#include <grpcpp/generic/async_generic_service.h>

#include <memory>
#include <string>

#include "identity/capabilities.h"

namespace addons {

/// What a socket serves, and where the rest is.
struct ServedHere {
  Modes modes;
  bool administrators = false;  // their services; else those of CSI-Addons
  std::string other_socket;     // path of the other one; empty: there is none
};

/// Why "replication.Controller/PromoteVolume" is not served on a socket, and
/// what to do.
std::string WhyNotServed(const std::string& method, const ServedHere& served);

/// Answers every call of a method that no registered service has with
/// UNIMPLEMENTED and that text; gRPC itself says nothing. Needs no thread.
std::unique_ptr<grpc::CallbackGenericService> MakeUnservedMethods(
    ServedHere served);

}  // namespace addons

#endif  // ADDONS_SERVER_UNSERVED_METHODS_H_
