#include "server/socket_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <utility>

#include "base/status_macros.h"
#include "rpc/malformed_requests.h"

namespace addons {
namespace {

constexpr int kMaxMessageBytes = 4 << 20;
// Of one connection at a time: more than may wait of all (--max-waiting).
constexpr int kMostCalls = 20'000;
// Only reflection is still served by threads that wait: so many of its callers
// at a time, and gRPC's pollers.
constexpr int kMostThreads = 16;

}  // namespace

absl::StatusOr<std::unique_ptr<SocketServer>> SocketServer::Open(
    const SocketOptions& socket, Rpc& rpc) {
  std::unique_ptr<SocketServer> server(new SocketServer(rpc));
  ADDONS_ASSIGN_OR_RETURN(server->listener_, UnixListener::Open(socket));
  return server;
}

SocketServer::~SocketServer() {
  if (listener_ != nullptr) Close(std::chrono::system_clock::now());
}

absl::Status SocketServer::Start(SocketServerParts parts,
                                 const ThreadStarter& start) {
  ADDONS_RETURN_IF_ERROR(StartServer(parts, start));
  ADDONS_RETURN_IF_ERROR(StartStopper(start));
  return listener_->Start(
      [this](UniqueFd connection) {
        grpc::AddInsecureChannelFromFd(&server_->server(),
                                       connection.Release());
      },
      start);
}

absl::Status SocketServer::StartServer(SocketServerParts& parts,
                                       const ThreadStarter& start) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  // No keepalive, no maximal age of connections: the sidecar exits when it
  // loses its one connection, for whatever reason.
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostCalls);
  builder.SetResourceQuota(
      grpc::ResourceQuota("rbd-addonsd").SetMaxThreads(kMostThreads));
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  for (grpc::Service* const service : parts.services) {
    builder.RegisterService(service);
  }
  unserved_ = std::move(parts.unserved);
  builder.RegisterCallbackGenericService(unserved_.get());
  std::vector<
      std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
      interceptors;
  interceptors.push_back(MakeMalformedRequestAnswerer(rpc_));
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  ADDONS_ASSIGN_OR_RETURN(
      server_, PromptServer::Start(builder, std::move(parts.prompt), start));
  return absl::OkStatus();
}

/// gRPC's Shutdown() blocks, and the drain goes on beside it. When the daemon
/// stops there may be no thread left for that.
absl::Status SocketServer::StartStopper(const ThreadStarter& start) {
  stopper_ = start("server-stop", [this] { StopServer(); });
  if (!stopper_) {
    return absl::ResourceExhaustedError(
        "Failed to start a thread that stops the gRPC server: raise the limit "
        "of processes");
  }
  return absl::OkStatus();
}

void SocketServer::StopServer() {
  std::chrono::system_clock::time_point until;
  {
    const MutexLock lock(mutex_);
    while (!stop_by_.has_value()) changed_.Wait(mutex_);
    until = *stop_by_;
  }
  server_->Shutdown(until);
  const MutexLock lock(mutex_);
  stopped_ = true;
  changed_.NotifyAll();
}

void SocketServer::Close(std::chrono::system_clock::time_point until) {
  if (server_ != nullptr) {
    server_->server().GetHealthCheckService()->SetServingStatus(false);
  }
  listener_->Close();
  const MutexLock lock(mutex_);
  if (stop_by_.has_value()) return;
  stop_by_ = until;
  // None: Start() has failed, and nobody was served.
  stopped_ = !stopper_.has_value();
  changed_.NotifyAll();
}

bool SocketServer::AwaitEnd(std::chrono::steady_clock::time_point until) {
  const MutexLock lock(mutex_);
  while (!stopped_) {
    if (!changed_.WaitUntil(mutex_, until)) return stopped_;
  }
  return true;
}

}  // namespace addons
