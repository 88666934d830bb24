#ifndef ADDONS_SERVER_GRPC_LOG_H_
#define ADDONS_SERVER_GRPC_LOG_H_

namespace addons {

/// Sends what gRPC has to say to our log: it writes to standard error itself,
/// which nobody may block on. Lines that come faster than one in a second are
/// counted and left out. Nothing happens with a gRPC (1.65 and newer) that logs
/// with abseil. Call after InitLog(), before gRPC is used.
void TakeGrpcLog();

}  // namespace addons

#endif  // ADDONS_SERVER_GRPC_LOG_H_
