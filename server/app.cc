#include "server/app.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status_macros.h"
#include "identity/csi_identity_service.h"
#include "identity/identity_service.h"
#include "server/metrics.h"

namespace addons {
namespace {

constexpr int kMaxMessageBytes = 4 << 20;
// Threads beyond those that wait for operations: reads, identity, gRPC's
// pollers.
constexpr int kThreadHeadroom = 64;
constexpr int kPollingQueues = 2;
// What a call gets after its operation ended, to send its answer.
constexpr std::chrono::milliseconds kAnswerTime = std::chrono::seconds(1);
// What the server gets after that to notice that everybody has gone.
constexpr std::chrono::milliseconds kLeaveTime = std::chrono::seconds(5);

}  // namespace

absl::StatusOr<std::unique_ptr<App>> App::Create(Config config,
                                                 AppParts parts) {
  std::unique_ptr<App> app(new App(std::move(config), std::move(parts)));
  ADDONS_RETURN_IF_ERROR(app->Serve());
  return app;
}

App::App(Config config, AppParts parts)
    : config_(std::move(config)),
      clock_(*parts.clock),
      rpc_(clock_),
      config_store_(config_.config_dir),
      clusters_(std::move(parts.clusters)),
      resolver_(config_store_, *clusters_),
      domain_(MakeServices({config_, clock_, rpc_, config_store_, *clusters_,
                            resolver_, operations_})),
      operations_(config_.operations, clock_),
      ceph_calls_(std::move(parts.ceph_calls)) {
  IdentityInfo info{config_.driver_name, ADDONS_VERSION,
                    std::move(parts.manifest)};
  info.manifest["csi"] = "1.12";
  info.manifest["csi-addons"] =
      "2026-07";  // the specification as of that month
  const Readiness readiness = [this] { return Ready(); };
  identity_.push_back(std::make_unique<IdentityService>(
      rpc_, info, Capabilities(config_.modes, domain_.served), readiness));
  identity_.push_back(
      std::make_unique<CsiIdentityService>(rpc_, info, readiness));
}

App::~App() { Shutdown(std::chrono::milliseconds(0)); }

absl::Status App::Serve() {
  ADDONS_ASSIGN_OR_RETURN(
      listener_, UnixListener::Open({config_.socket_path, config_.socket_mode,
                                     config_.socket_group}));
  ADDONS_RETURN_IF_ERROR(ServeMetrics());
  ADDONS_RETURN_IF_ERROR(BuildServer());
  listener_->Start([this](UniqueFd connection) {
    grpc::AddInsecureChannelFromFd(server_.get(), connection.Release());
  });
  started_ = true;
  return absl::OkStatus();
}

absl::Status App::ServeMetrics() {
  if (!config_.serve_metrics) return absl::OkStatus();
  const MetricsSources sources{rpc_.stats(), operations_, ceph_calls_,
                               domain_.reclaim_stats, domain_.trim_stats.get()};
  ADDONS_ASSIGN_OR_RETURN(
      metrics_, HttpServer::Start(config_.metrics,
                                  [sources] { return MetricsText(sources); }));
  Log().info("metrics url={}", metrics_->url());
  return absl::OkStatus();
}

std::string App::metrics_url() const {
  return metrics_ == nullptr ? "" : metrics_->url();
}

absl::Status App::BuildServer() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  // No keepalive, no maximal age of connections: the sidecar exits when it
  // loses its one connection, for whatever reason.
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetResourceQuota(
      grpc::ResourceQuota("rbd-addonsd").SetMaxThreads(MaxThreads()));
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, kPollingQueues);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 4);
  for (const auto* services : {&identity_, &domain_.services}) {
    for (const auto& service : *services)
      builder.RegisterService(service.get());
  }
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return absl::InternalError("Failed to start the gRPC server");
  }
  return absl::OkStatus();
}

// Each call that waits for an operation holds a thread of gRPC. When they run
// out, gRPC refuses even trivial calls, so the lanes have to be full before
// that.
int App::MaxThreads() const {
  const OperationLimits& limits = config_.operations;
  const size_t waiting = limits.control.workers + limits.control.queued +
                         limits.bulk.workers + limits.bulk.queued +
                         limits.read.workers + limits.read.queued;
  return static_cast<int>(waiting) + kThreadHeadroom;
}

absl::StatusOr<bool> App::Ready() {
  if (!started_) return false;
  ADDONS_RETURN_IF_ERROR(config_store_.Current().status());
  return true;
}

bool App::Shutdown(std::chrono::milliseconds grace) {
  if (std::exchange(shut_down_, true)) return drained_;
  if (server_ != nullptr) {
    server_->GetHealthCheckService()->SetServingStatus(false);
    listener_->StopAccepting();
    stopper_ = std::jthread([this, grace] {
      server_->Shutdown(std::chrono::system_clock::now() + grace + kAnswerTime);
      const MutexLock lock(mutex_);
      server_stopped_ = true;
      stopped_.NotifyAll();
    });
  }
  const std::vector<OperationInfo> left = operations_.Drain(grace);
  for (const OperationInfo& operation : left) {
    Log().warn(
        "left running at shutdown id={} verb={} object={} step={} req={}",
        operation.id, operation.verb, Quoted(operation.object),
        Quoted(operation.step), operation.request_id);
  }
  drained_ = left.empty();
  if (server_ != nullptr && !WaitForServer(kAnswerTime + kLeaveTime)) {
    Log().warn("calls left running at shutdown in_flight={}",
               rpc_.stats().in_flight());
    drained_ = false;
  }
  // Last, so that the end can be watched.
  if (metrics_ != nullptr) metrics_->Stop();
  AbandonSocket();
  return drained_;
}

bool App::WaitForServer(std::chrono::milliseconds at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  const MutexLock lock(mutex_);
  while (!server_stopped_) {
    if (!stopped_.WaitUntil(mutex_, until)) return server_stopped_;
  }
  return true;
}

void App::AbandonSocket() {
  if (listener_ != nullptr) listener_->Close();
}

}  // namespace addons
