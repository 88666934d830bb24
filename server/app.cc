#include "server/app.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "admin/support_service.h"
#include "base/log.h"
#include "base/start_thread.h"
#include "base/status_macros.h"
#include "rpc/endpoint.h"
#include "server/descriptor_limit.h"
#include "server/metrics.h"
#include "server/page/documents.h"
#include "server/page/icon.h"
#include "server/socket_server.h"
#include "server/status_page.h"
#include "server/unserved_methods.h"
#include "volume/cluster_config.h"
#include "volume/home_clusters.h"

namespace addons {
namespace {

/// Whose rights the administrators' socket needs: this user's, whatever is
/// configured for the other one.
constexpr mode_t kAdminSocketMode = 0600;
// What a call gets after its operation ended, to send its answer.
constexpr std::chrono::milliseconds kAnswerTime = std::chrono::seconds(1);
// What the server gets after that to notice that everybody has gone.
constexpr std::chrono::milliseconds kLeaveTime = std::chrono::seconds(5);
/// How often it is asked whether a search for what is mirrored is due: what the
/// first one finds is seen within half a minute of the start.
constexpr std::chrono::milliseconds kOwnWatchRound = std::chrono::seconds(5);
/// How long the last events of the history may take to be written.
constexpr std::chrono::milliseconds kHistoryTime = std::chrono::seconds(2);

/// The pod's name as its manifest tells it, else the name that the kernel has:
/// of a pod in the host's network that is the node's.
std::string HostName() {
  std::string pod = ProcessEnvironment("POD_NAME").value_or("");
  if (!pod.empty()) return pod;
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

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
      domain_(MakeServices(
          {config_, clock_, rpc_, config_store_, *clusters_, resolver_,
           operations_, [this] { return watched_ ? watched_() : nullptr; }})),
      operations_(config_.operations, clock_),
      ceph_calls_(std::move(parts.ceph_calls)),
      librados_(parts.manifest["librados"]),
      start_thread_(std::move(parts.start_thread)) {
  IdentityInfo info{config_.driver_name, ADDONS_VERSION,
                    std::move(parts.manifest)};
  if (librados_.empty()) info.manifest.erase("librados");
  info.manifest["csi"] = "1.12";
  info.manifest["csi-addons"] =
      "2026-07";  // the specification as of that month
  const Readiness readiness = [this] { return Ready(); };
  for (auto* const identity : {&identity_, &admin_identity_}) {
    *identity = std::make_unique<IdentityService>(
        rpc_, info, Capabilities(config_.modes, domain_.served), readiness);
  }
  csi_identity_ = std::make_unique<CsiIdentityService>(rpc_, info, readiness);
  const std::string folder = config_.config_dir;
  support_ = std::make_unique<SupportService>(
      rpc_, operations_,
      SupportSources{info.version,
                     info.manifest,
                     HostName(),
                     Describe(config_),
                     {absl::StrCat(folder, "/", kConfigFile),
                      absl::StrCat(folder, "/", kMappingFile)},
                     [this] { return Metrics(); },
                     LastLogLines});
}

App::~App() { Shutdown(std::chrono::milliseconds(0)); }

absl::Status App::Serve() {
  // What is wrong with it is in the log before anything is served.
  config_store_.Current().IgnoreError();
  ADDONS_RETURN_IF_ERROR(OpenSockets());
  // Without the port and that socket nobody would see what it sees.
  if (domain_.replication != nullptr && config_.watch_interval.count() > 0 &&
      (config_.serve_metrics || administrators_ != nullptr)) {
    watch_ = std::make_unique<ReplicationWatch>(
        operations_, *domain_.replication, *domain_.watched, *clusters_,
        config_.watch_interval);
    watched_ = watch_->snapshots();
    if (!config_.watch_user.empty()) {
      own_watch_ = std::make_unique<OwnWatch>(
          *domain_.replication, *clusters_,
          OwnWatch::Sources{config_.watch_user, config_.site_clusters},
          [this] { watch_->StartLooks(); }, kOwnWatchRound);
    }
  }
  if (domain_.replication != nullptr) {
    points_ = std::make_unique<PointKeeper>(operations_, *domain_.replication);
    planned_points_ = points_->counts();
  }
  ADDONS_RETURN_IF_ERROR(ServeMetrics());
  if (domain_.replication != nullptr) {
    upkeep_ =
        std::make_unique<BackgroundUpkeep>(operations_, *domain_.replication);
    if (config_.watch_interval.count() > 0) {
      restarts_ = std::make_unique<MirrorRestartWatch>(
          *domain_.replication, *clusters_, MirrorRestartWatch::kInterval);
    }
    if (config_.history_events > 0) {
      HistoryWriterOptions options;
      options.most = config_.history_events;
      options.instance_id = config_.instance_id;
      history_ = std::make_unique<HistoryWriter>(
          domain_.replication->history, clock_, options, start_thread_);
    }
  }
  ADDONS_RETURN_IF_ERROR(StartServers());
  started_ = true;
  return absl::OkStatus();
}

absl::Status App::OpenSockets() {
  const DescriptorBounds bounds = BoundDescriptors(DescriptorLimit());
  SocketOptions options;
  options.path = config_.socket_path;
  options.mode = config_.socket_mode;
  options.group = config_.socket_group;
  options.make_folder = options.path == *SocketPath(kDefaultEndpoint);
  options.most_descriptors = bounds.callers;
  ADDONS_ASSIGN_OR_RETURN(callers_, SocketServer::Open(options, rpc_));
  if (config_.admin_socket_path.empty()) return absl::OkStatus();
  SocketOptions admin;
  admin.path = config_.admin_socket_path;
  admin.mode = kAdminSocketMode;
  admin.make_folder = admin.path == *SocketPath(kDefaultAdminEndpoint);
  admin.most_descriptors = bounds.administrators;
  auto opened = SocketServer::Open(admin, rpc_);
  if (!opened.ok()) {
    return {opened.status().code(),
            absl::StrCat(opened.status().message(),
                         "; --admin-endpoint says where the administrators' "
                         "socket is")};
  }
  administrators_ = *std::move(opened);
  return absl::OkStatus();
}

absl::Status App::StartServers() {
  const auto start = [this](SocketServer& server, SocketServerParts parts,
                            const auto& services, ServedHere served) {
    for (const auto& service : services) {
      parts.services.push_back(service.get());
    }
    parts.unserved = MakeUnservedMethods(std::move(served));
    return server.Start(std::move(parts), start_thread_);
  };
  if (administrators_ != nullptr) {
    SocketServerParts parts;
    parts.services = {admin_identity_.get(), support_.get()};
    parts.prompt = {admin_identity_->ProbeMethod()};
    ADDONS_RETURN_IF_ERROR(start(*administrators_, std::move(parts),
                                 domain_.admin_services,
                                 {config_.modes, true, config_.socket_path}));
  }
  SocketServerParts parts;
  parts.services = {identity_.get(), csi_identity_.get()};
  parts.prompt = {identity_->ProbeMethod(), csi_identity_->ProbeMethod()};
  return start(*callers_, std::move(parts), domain_.services,
               {config_.modes, false, config_.admin_socket_path});
}

absl::Status App::ServeMetrics() {
  if (!config_.serve_metrics) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(
      metrics_, HttpServer::Start(
                    config_.metrics, [this] { return Metrics(); }, Pages()));
  Log().info("metrics url={}", metrics_->url());
  return absl::OkStatus();
}

std::string App::Metrics() {
  MetricsSources sources{rpc_.stats(),
                         operations_,
                         ceph_calls_,
                         domain_.reclaim_stats,
                         domain_.trim_stats.get(),
                         domain_.evictions,
                         domain_.history,
                         watched_,
                         &clock_,
                         librados_};
  if (domain_.replication != nullptr) {
    sources.role_changes = &domain_.replication->role_changes;
  }
  sources.planned_points = planned_points_;
  sources.connections = [this] { return Connections(); };
  return MetricsText(sources);
}

std::vector<SocketConnections> App::Connections() const {
  std::vector<SocketConnections> connections = {
      {"callers", callers_->counts()}};
  if (administrators_ != nullptr) {
    connections.push_back({"administrators", administrators_->counts()});
  }
  return connections;
}

std::string App::metrics_url() const {
  return metrics_ == nullptr ? "" : metrics_->url();
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

std::vector<HttpPage> App::Pages() {
  std::vector<HttpPage> pages = {
      {kHealthPath,
       [this](absl::string_view) {
         ProveAlive();
         return HttpReply{true, "alive\n"};
       }},
      {kReadyPath, [this](absl::string_view) { return ReadyReply(); }},
      {kStatusPath,
       [this](absl::string_view query) {
         return HttpReply{true, RenderStatusPage(PageNow(query)),
                          HttpReply::Kind::kHtml};
       }},
      {kStatusJsonPath,
       [this](absl::string_view query) {
         return HttpReply{true, StatusJson(PageNow(query)),
                          HttpReply::Kind::kJson};
       }},
      {kIconPath, [](absl::string_view) {
         return HttpReply{true, PageIcon(), HttpReply::Kind::kIcon};
       }}};
  for (const Document& document : Documents()) {
    pages.push_back({absl::StrCat("/", document.path),
                     [text = document.text](absl::string_view) {
                       return HttpReply{true, std::string(text)};
                     }});
  }
  return pages;
}

StatusPage App::PageNow(absl::string_view query) {
  StatusPage page;
  page.version = ADDONS_VERSION;
  page.host = HostName();
  page.configuration = Describe(config_);
  const HttpReply ready = ReadyReply();
  if (!ready.ok) {
    page.not_ready =
        std::string(absl::StripTrailingAsciiWhitespace(ready.text));
  }
  page.replicates = domain_.replication != nullptr;
  if (watched_) page.watch = watched_();
  page.operations = operations_.List();
  page.ended = operations_.Ended();
  if (domain_.reclaim_stats != nullptr) {
    page.reclaims = domain_.reclaim_stats->Listed();
    page.reclaimed_bytes = domain_.reclaim_stats->freed_bytes();
  }
  page.clusters = ConfiguredClusters();
  page.site = SiteName(page.clusters);
  const ConfigStore::Troubles troubles = config_store_.troubles();
  page.broken_configuration = troubles.files;
  page.broken_configuration.insert(page.broken_configuration.end(),
                                   troubles.entries.begin(),
                                   troubles.entries.end());
  page.query = std::string(query);
  page.now = clock_.Now();
  page.wall_now = clock_.WallNow();
  return page;
}

std::string App::SiteName(
    const std::vector<ConfiguredCluster>& clusters) const {
  // More would say nothing in a title.
  constexpr size_t kMostNamed = 3;
  std::vector<std::string> ids;
  for (const ConfiguredCluster& cluster : clusters) {
    if (!cluster.elsewhere) ids.push_back(cluster.id);
  }
  if (ids.size() > kMostNamed) {
    const size_t left = ids.size() - kMostNamed;
    ids.resize(kMostNamed);
    ids.push_back(absl::StrCat(left, " more"));
  }
  return absl::StrJoin(ids, ", ");
}

std::vector<ConfiguredCluster> App::ConfiguredClusters() {
  std::vector<ConfiguredCluster> clusters;
  const auto config = config_store_.Current();
  if (!config.ok()) return clusters;
  for (const ClusterEntry& entry : (*config)->entries()) {
    clusters.push_back({entry.cluster_id.text(), entry.monitors,
                        entry.rados_namespace,
                        !IsHome(config_.site_clusters, entry.cluster_id)});
  }
  return clusters;
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
  const auto until = std::chrono::system_clock::now() + grace + kAnswerTime;
  for (SocketServer* const server : {callers_.get(), administrators_.get()}) {
    if (server != nullptr) server->Close(until);
  }
  upkeep_.reset();
  points_.reset();
  own_watch_.reset();
  watch_.reset();
  restarts_.reset();
  const std::vector<OperationInfo> left = operations_.Drain(grace);
  for (const OperationInfo& operation : left) {
    Log().warn(
        "left running at shutdown id={} verb={} object={} step={} req={}",
        operation.id, operation.verb, Quoted(operation.object),
        Quoted(operation.step), operation.request_id);
  }
  drained_ = left.empty();
  if (!AwaitServers(kAnswerTime + kLeaveTime)) {
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

bool App::AwaitServers(std::chrono::milliseconds at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  bool ended = true;
  for (SocketServer* const server : {callers_.get(), administrators_.get()}) {
    if (server != nullptr && !server->AwaitEnd(until)) ended = false;
  }
  return ended;
}

}  // namespace addons
