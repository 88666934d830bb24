#ifndef ADDONS_RPC_MALFORMED_REQUESTS_H_
#define ADDONS_RPC_MALFORMED_REQUESTS_H_

#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <string>

#include "rpc/unary_call.h"

namespace addons {

/// Answers a request that cannot be parsed (malformed protobuf, or text that is
/// not UTF-8) with INVALID_ARGUMENT and a text, and counts and logs it as any
/// other call. gRPC itself says INTERNAL without a text, and no handler ever
/// sees such a call. `rpc` is not owned and outlives the server.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
MakeMalformedRequestAnswerer(Rpc& rpc);

/// That answer, to a call of `method` ("identity.Identity/Probe").
grpc::Status AnswerMalformed(Rpc& rpc, const std::string& method);

}  // namespace addons

#endif  // ADDONS_RPC_MALFORMED_REQUESTS_H_
