#ifndef ADDONS_TESTS_RPC_REPLICATION_SERVER_H_
#define ADDONS_TESTS_RPC_REPLICATION_SERVER_H_

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "replication/replication.grpc.pb.h"
#include "server/app.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/rpc/log_capture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {

/// What a test asks for; the fields that a method does not have are ignored.
struct Ask {
  std::string volume_id;
  std::string deprecated_id;
  std::string group_id;
  bool force = false;
  std::map<std::string, std::string> parameters;
  std::chrono::milliseconds deadline = std::chrono::seconds(20);
  std::string user_key;  // empty: the site's
};

struct Answer {
  grpc::Status status;
  bool ready = false;       // ResyncVolume
  std::string destination;  // GetReplicationDestinationInfo
  std::string message;      // GetVolumeReplicationInfo
  // GetReplicationDestinationInfo of a group
  std::map<std::string, std::string> member_destinations;
};

/// The daemon of one site of a mirrored pair, behind its socket. Its clock is
/// the simulated one, so waiting for a state takes no real time; callers wait
/// in real time.
class ReplicationServer {
 public:
  static constexpr char kUuid[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";
  static constexpr char kSecondUuid[] = "b891b493-7754-470d-b2a0-4ca18f698b29";
  static constexpr char kGroupUuid[] = "1603eb04-e188-4ec4-a750-bec38d49ac0a";

  explicit ReplicationServer(const std::string& site = "a",
                             Config config = Config())
      : site_(world_.site(site)), config_(std::move(config)) {
    // Ending gRPC's library with each server can take it 10 s.
    static const bool kept = (grpc_init(), true);
    EXPECT_TRUE(kept);
    WriteConfig("");
    dir_.Write("cluster-mapping.json", pair_.MappingJson());
    config_.socket_path = dir_.File("s");
    config_.admin_socket_path = dir_.File("a");
    config_.config_dir = dir_.path();
    if (!config_.modes.node) config_.modes.controller = true;
    // It writes whenever it likes, and simulated time waits for that.
    config_.history_events = 0;
  }

  /// `more` are further fields of the cluster's entry.
  void WriteConfig(const std::string& more) {
    dir_.Write("config.json",
               absl::StrCat(R"([{"clusterID": ")", site_.cluster_id(),
                            R"(", "monitors": [")", site_.cluster_id(),
                            R"(:6789"])", more, "}]"));
  }
  /// In place of the pair's.
  void WriteMapping(const std::string& text) {
    dir_.Write("cluster-mapping.json", text);
  }
  void RemoveConfig() { dir_.Write("config.json", "not JSON"); }

  void AddMirrored() { id = pair_.AddMirroredVolume(a, kUuid); }
  void AddPlain() { id = pair_.AddVolume(a, kUuid); }

  /// A group of `members` on both sites, as ceph-csi's journal has it.
  void AddGroup(const std::vector<std::string>& members) {
    OmapValues values = {
        {"csi.volname", "vgrcontent-1"},
        {"csi.groupname", absl::StrCat("csi-vol-group-", kGroupUuid)}};
    for (const std::string& member : members) values[member] = "";
    for (FakeSite* site : {&a, &b}) {
      site->SetOmap(MirroredPair::kPool, "",
                    absl::StrCat("csi.volume.group.", kGroupUuid), values);
    }
    group_id = pair_.VolumeId(a, kGroupUuid);
  }
  /// Two mirrored volumes, primary on a, and their group.
  void AddMirroredGroup() {
    AddMirrored();
    AddGroup({id, pair_.AddMirroredVolume(a, kSecondUuid)});
  }

  void Start() {
    AppParts parts;
    parts.clusters = std::make_unique<FakeClusterProvider>(world_);
    parts.clock = clock_;
    auto app = App::Create(config_, std::move(parts));
    ASSERT_OK(app);
    app_ = *std::move(app);
  }
  /// How long a call waits for another verb. Before Start().
  void SetConflictWait(std::chrono::milliseconds wait) {
    config_.operations.conflict_wait = wait;
  }
  /// Before Start().
  void SetTakeoverTime(std::chrono::milliseconds time) {
    config_.takeover_time = time;
  }
  /// Before Start().
  void KeepHistory() { config_.history_events = 100; }
  /// For work on threads of its own, which simulated time does not wait for.
  /// Before Start().
  void UseRealTime() { clock_ = &RealClock(); }
  /// Ends the daemon; the log is complete then.
  void Stop() { app_.reset(); }
  /// As SIGTERM: what runs gets `grace` to end. False: it did not.
  bool Shutdown(std::chrono::milliseconds grace) {
    return app_->Shutdown(grace);
  }

  FakeSite& site() { return site_; }
  std::string metrics_url() const { return app_->metrics_url(); }
  std::string endpoint() const { return "unix://" + config_.socket_path; }
  std::shared_ptr<grpc::Channel> Channel() const {
    return grpc::CreateChannel("unix:" + config_.socket_path,
                               grpc::InsecureChannelCredentials());
  }

  std::string admin_endpoint() const {
    return "unix://" + config_.admin_socket_path;
  }
  std::shared_ptr<grpc::Channel> AdminChannel() const {
    return grpc::CreateChannel("unix:" + config_.admin_socket_path,
                               grpc::InsecureChannelCredentials());
  }

  /// Calls "PromoteVolume" and the like. `context`, where given, can cancel.
  Answer Call(const std::string& method, Ask ask,
              grpc::ClientContext* context = nullptr) {
    namespace pb = ::replication;
    grpc::ClientContext own;
    if (context == nullptr) context = &own;
    context->set_deadline(std::chrono::system_clock::now() + ask.deadline);
    const auto stub = pb::Controller::NewStub(Channel());
    Answer answer;
    if (method == "EnableVolumeReplication") {
      pb::EnableVolumeReplicationRequest request;
      FillWithParameters(ask, &request);
      pb::EnableVolumeReplicationResponse response;
      answer.status =
          stub->EnableVolumeReplication(context, request, &response);
    } else if (method == "DisableVolumeReplication") {
      pb::DisableVolumeReplicationRequest request;
      FillWithParameters(ask, &request);
      pb::DisableVolumeReplicationResponse response;
      answer.status =
          stub->DisableVolumeReplication(context, request, &response);
    } else if (method == "PromoteVolume") {
      pb::PromoteVolumeRequest request;
      FillWithParameters(ask, &request);
      request.set_force(ask.force);
      pb::PromoteVolumeResponse response;
      answer.status = stub->PromoteVolume(context, request, &response);
    } else if (method == "DemoteVolume") {
      pb::DemoteVolumeRequest request;
      FillWithParameters(ask, &request);
      request.set_force(ask.force);
      pb::DemoteVolumeResponse response;
      answer.status = stub->DemoteVolume(context, request, &response);
    } else if (method == "ResyncVolume") {
      pb::ResyncVolumeRequest request;
      FillWithParameters(ask, &request);
      request.set_force(ask.force);
      pb::ResyncVolumeResponse response;
      answer.status = stub->ResyncVolume(context, request, &response);
      answer.ready = response.ready();
    } else if (method == "GetVolumeReplicationInfo") {
      pb::GetVolumeReplicationInfoRequest request;
      FillWithOldId(ask, &request);
      pb::GetVolumeReplicationInfoResponse response;
      answer.status =
          stub->GetVolumeReplicationInfo(context, request, &response);
      answer.message = response.status_message();
    } else if (method == "GetReplicationDestinationInfo") {
      pb::GetReplicationDestinationInfoRequest request;
      FillCommon(ask, &request);
      pb::GetReplicationDestinationInfoResponse response;
      answer.status =
          stub->GetReplicationDestinationInfo(context, request, &response);
      const auto& found = response.replication_destination();
      if (found.has_volumegroup()) {
        answer.destination = found.volumegroup().volume_group_id();
        answer.member_destinations = {found.volumegroup().volume_ids().begin(),
                                      found.volumegroup().volume_ids().end()};
      } else {
        answer.destination = found.volume().volume_id();
      }
    } else {
      ADD_FAILURE() << "no method " << method;
    }
    return answer;
  }
  /// For the volume that was added.
  Answer Call(const std::string& method) {
    Ask ask;
    ask.volume_id = id;
    return Call(method, ask);
  }

  /// Each `call` waits at its beginning until Release().
  void Hold(const std::string& call) {
    const auto gate = gate_;
    world_.SetCallHook(
        [call, gate](absl::string_view, absl::string_view made, bool) {
          if (made != call) return 0;
          if (!gate->once.exchange(true)) gate->entered.set_value();
          gate->released.wait();
          return 0;
        });
  }
  /// How often `call` was made.
  size_t CallsTo(const std::string& call) const {
    const std::vector<CallRecord> calls = world_.Calls();
    return static_cast<size_t>(std::count_if(
        calls.begin(), calls.end(),
        [&](const CallRecord& made) { return made.call == call; }));
  }
  void AwaitHeld() { gate_->entered.get_future().wait(); }
  void Release() { gate_->release.set_value(); }
  /// Until `count` requests of `method` have come in (they are logged then).
  void AwaitCalls(const std::string& method, size_t count,
                  const std::string& service = "replication.Controller") {
    const auto limit =
        std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (Requests(service, method) < count) {
      if (std::chrono::steady_clock::now() > limit) {
        ADD_FAILURE() << method << " did not come in:\n" << log_.text();
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

 private:
  struct Gate {
    std::atomic<bool> once{false};
    std::promise<void> entered;
    std::promise<void> release;
    std::shared_future<void> released{release.get_future()};
  };

  size_t Requests(const std::string& service, const std::string& method) const {
    const std::string log = log_.text();
    const std::string mark =
        absl::StrCat("request method=", service, "/", method, " ");
    size_t found = 0;
    for (size_t at = log.find(mark); at != std::string::npos;
         at = log.find(mark, at + 1)) {
      ++found;
    }
    return found;
  }

  template <typename Request>
  void FillCommon(const Ask& ask, Request* request) {
    if (!ask.group_id.empty() || ask.volume_id == kEmptyGroup) {
      request->mutable_replication_source()
          ->mutable_volumegroup()
          ->set_volume_group_id(ask.group_id);
    } else if (!ask.volume_id.empty()) {
      request->mutable_replication_source()->mutable_volume()->set_volume_id(
          ask.volume_id);
    }
    (*request->mutable_secrets())["userID"] = site_.user()->id;
    (*request->mutable_secrets())["userKey"] =
        ask.user_key.empty() ? site_.user()->key.Reveal() : ask.user_key;
  }
  template <typename Request>
  void FillWithOldId(const Ask& ask, Request* request) {
    FillCommon(ask, request);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    request->set_volume_id(ask.deprecated_id);
#pragma GCC diagnostic pop
  }
  template <typename Request>
  void FillWithParameters(const Ask& ask, Request* request) {
    FillWithOldId(ask, request);
    for (const auto& [key, value] : ask.parameters) {
      (*request->mutable_parameters())[key] = value;
    }
  }

  LogCapture log_;  // first, because the daemon's threads write to it
  FakeWorld world_;
  MirroredPair pair_{world_};
  FakeSite& site_;
  const TempDir dir_;
  Config config_;
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  Clock* clock_ = &world_;
  std::unique_ptr<App> app_;

 public:
  /// As Ask::volume_id: a group source with an empty id.
  static constexpr char kEmptyGroup[] = "(empty group)";

  FakeWorld& world = world_;
  MirroredPair& pair = pair_;
  FakeSite& a = pair_.a();
  FakeSite& b = pair_.b();
  const std::string image = MirroredPair::ImageOf(kUuid);
  const std::string second_image = MirroredPair::ImageOf(kSecondUuid);
  std::string id;
  std::string group_id;

  std::string log() const { return log_.text(); }
};

inline constexpr const char* kReplicationMethods[] = {
    "EnableVolumeReplication",
    "DisableVolumeReplication",
    "PromoteVolume",
    "DemoteVolume",
    "ResyncVolume",
    "GetVolumeReplicationInfo",
    "GetReplicationDestinationInfo"};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_RPC_REPLICATION_SERVER_H_
