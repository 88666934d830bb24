#include "server/app.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/start_thread.h"
#include "base/status_macros.h"
#include "identity/csi_identity_service.h"
#include "identity/identity_service.h"
#include "rpc/endpoint.h"
#include "rpc/malformed_requests.h"
#include "server/metrics.h"
#include "server/status_page.h"
#include "server/unserved_methods.h"

namespace addons {
namespace {

constexpr int kMaxMessageBytes = 4 << 20;
constexpr int kHandshakeTimeoutMs = 10'000;
// Only reflection is still served by threads that wait: so many of its callers
// at a time, and gRPC's pollers.
constexpr int kMostThreads = 16;
// What a call gets after its operation ended, to send its answer.
constexpr std::chrono::milliseconds kAnswerTime = std::chrono::seconds(1);
// What the server gets after that to notice that everybody has gone.
constexpr std::chrono::milliseconds kLeaveTime = std::chrono::seconds(5);
/// How long the last events of the history may take to be written.
constexpr std::chrono::milliseconds kHistoryTime = std::chrono::seconds(2);

ResolverOptions ResolverOptionsOf(const Config& config) {
  ResolverOptions options;
  options.settle = config.settle_time;
  options.home = config.site_clusters;
  return options;
}

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
      resolver_(config_store_, *clusters_, ResolverOptionsOf(config_)),
      domain_(MakeServices({config_, clock_, rpc_, config_store_, *clusters_,
                            resolver_, operations_})),
      operations_(config_.operations, clock_),
      ceph_calls_(std::move(parts.ceph_calls)),
      start_thread_(std::move(parts.start_thread)) {
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
  // What is wrong with it is in the log before anything is served.
  config_store_.Current().IgnoreError();
  ADDONS_ASSIGN_OR_RETURN(
      listener_,
      UnixListener::Open(
          {config_.socket_path, config_.socket_mode, config_.socket_group,
           config_.socket_path == *SocketPath(kDefaultEndpoint)}));
  // Without the port nobody would see what it sees.
  if (domain_.replication != nullptr && config_.serve_metrics &&
      config_.watch_interval.count() > 0) {
    watch_ = std::make_unique<ReplicationWatch>(
        operations_, *domain_.replication, *clusters_, config_.watch_interval);
    watched_ = watch_->snapshots();
  }
  ADDONS_RETURN_IF_ERROR(ServeMetrics());
  ADDONS_RETURN_IF_ERROR(BuildServer());
  if (domain_.replication != nullptr) {
    upkeep_ =
        std::make_unique<BackgroundUpkeep>(operations_, *domain_.replication);
    if (config_.history_events > 0) {
      HistoryWriterOptions options;
      options.most = config_.history_events;
      history_ = std::make_unique<HistoryWriter>(
          domain_.replication->history, clock_, options, start_thread_);
    }
  }
  ADDONS_RETURN_IF_ERROR(StartStopper());
  ADDONS_RETURN_IF_ERROR(listener_->Start(
      [this](UniqueFd connection) {
        grpc::AddInsecureChannelFromFd(server_.get(), connection.Release());
      },
      start_thread_));
  started_ = true;
  return absl::OkStatus();
}

/// gRPC's Shutdown() blocks, and the drain goes on beside it. When the daemon
/// stops there may be no thread left for that.
absl::Status App::StartStopper() {
  stopper_ = start_thread_("server-stop", [this] { StopServer(); });
  if (!stopper_) {
    return absl::ResourceExhaustedError(
        "Failed to start a thread that stops the gRPC server: raise the limit "
        "of processes");
  }
  return absl::OkStatus();
}

void App::StopServer() {
  std::chrono::system_clock::time_point until;
  {
    const MutexLock lock(mutex_);
    while (!stop_server_by_.has_value()) stopped_.Wait(mutex_);
    until = *stop_server_by_;
  }
  server_->Shutdown(until);
  const MutexLock lock(mutex_);
  server_stopped_ = true;
  stopped_.NotifyAll();
}

absl::Status App::ServeMetrics() {
  if (!config_.serve_metrics) return absl::OkStatus();
  const MetricsSources sources{rpc_.stats(),
                               operations_,
                               ceph_calls_,
                               domain_.reclaim_stats,
                               domain_.trim_stats.get(),
                               domain_.copying_stops,
                               domain_.history,
                               watched_,
                               &clock_};
  std::vector<HttpPage> probes = {
      {kHealthPath,
       [this] {
         ProveAlive();
         return HttpReply{true, "alive\n"};
       }},
      {kReadyPath, [this] { return ReadyReply(); }},
      {kStatusPath, [this] { return StatusReply(); }}};
  ADDONS_ASSIGN_OR_RETURN(
      metrics_, HttpServer::Start(
                    config_.metrics, [sources] { return MetricsText(sources); },
                    std::move(probes)));
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
  // Who connects and says nothing is cut off.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             kHandshakeTimeoutMs);
  builder.SetResourceQuota(
      grpc::ResourceQuota("rbd-addonsd").SetMaxThreads(kMostThreads));
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  for (const auto* services : {&identity_, &domain_.services}) {
    for (const auto& service : *services)
      builder.RegisterService(service.get());
  }
  unserved_ = MakeUnservedMethods(config_.modes);
  builder.RegisterCallbackGenericService(unserved_.get());
  std::vector<
      std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
      interceptors;
  interceptors.push_back(MakeMalformedRequestAnswerer(rpc_));
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return absl::InternalError("Failed to start the gRPC server");
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> App::Ready() {
  if (!started_) return false;
  ADDONS_RETURN_IF_ERROR(config_store_.Current().status());
  return true;
}

HttpReply App::ReadyReply() {
  if (stopping_) return {false, "stopping\n"};
  const absl::StatusOr<bool> ready = Ready();
  if (!ready.ok()) {
    return {false, absl::StrCat(ready.status().message(), "\n")};
  }
  if (!*ready) return {false, "starting\n"};
  return {true, "ready\n"};
}

HttpReply App::StatusReply() {
  StatusPage page;
  page.version = ADDONS_VERSION;
  page.configuration = Describe(config_);
  const HttpReply ready = ReadyReply();
  if (!ready.ok) page.not_ready = ready.text;
  page.replicates = domain_.replication != nullptr;
  if (watched_) page.watch = watched_();
  page.operations = operations_.List();
  page.now = clock_.Now();
  page.wall_now = clock_.WallNow();
  return {true, RenderStatusPage(page), HttpReply::Kind::kHtml};
}

void App::ProveAlive() const { static_cast<void>(operations_.List()); }

void App::ReloadConfiguration() {
  const auto config = config_store_.Reload();
  if (config.ok()) {
    Log().info("configuration read again folder={}",
               Quoted(config_.config_dir));
  } else {
    Log().warn("failed to read the configuration again cause={}",
               Quoted(config.status().message()));
  }
}

bool App::Shutdown(std::chrono::milliseconds grace) {
  if (std::exchange(shut_down_, true)) return drained_;
  stopping_ = true;
  if (server_ != nullptr) {
    server_->GetHealthCheckService()->SetServingStatus(false);
    listener_->Close();
    const MutexLock lock(mutex_);
    stop_server_by_ = std::chrono::system_clock::now() + grace + kAnswerTime;
    // None: App::Create() has failed, and nobody was served.
    server_stopped_ = !stopper_.has_value();
    stopped_.NotifyAll();
  }
  upkeep_.reset();
  watch_.reset();
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
  // After the calls, whose answers it tells.
  if (history_ != nullptr &&
      !history_->Flush(RealClock().Now() + kHistoryTime)) {
    Log().warn("the last events of the history could not be written");
    drained_ = false;
  }
  // Last, so that the end can be watched.
  if (metrics_ != nullptr) metrics_->Stop();
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

}  // namespace addons
