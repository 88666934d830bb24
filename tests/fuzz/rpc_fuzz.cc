// Every RPC of a daemon on simulated clusters, with any bytes as the request:
// it answers, with a code that is documented and not INTERNAL; a request that
// is refused as such, and one that only asks, changes nothing; and no secret is
// in an answer or in the log.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "operation/operation_table.h"
#include "reclaimspace/node_reclaim_service.h"
#include "rpc/malformed_requests.h"
#include "rpc/method.h"
#include "server/app.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/request_input.h"
#include "tests/rpc/error_code_table.h"
#include "tests/rpc/raw_call.h"
#include "tests/testing/fake_node.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// What the corpus names.
constexpr char kMirrored[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";
constexpr char kMember[] = "b891b493-7754-470d-b2a0-4ca18f698b29";
constexpr char kPlain[] = "0b4eafa3-7c5d-4b48-b94f-4e0c1b0a9b2c";
constexpr char kGroup[] = "1603eb04-e188-4ec4-a750-bec38d49ac0a";

/// The log of one call.
class LogOfCall final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::string Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(text_, "");
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    text_.append(message.payload.data(), message.payload.size());
    text_.push_back('\n');
  }
  void flush_() override {}

  std::string text_;
};

LogOfCall& TheLog() {
  static const auto* const log = [] {
    auto* const sink =
        new std::shared_ptr<LogOfCall>(std::make_shared<LogOfCall>());
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("captured", *sink));
    spdlog::default_logger()->set_level(spdlog::level::trace);
    return sink;
  }();
  return **log;
}

/// Two mirrored clusters and the daemon of one of them: a controller, and a
/// node that is played.
class Daemons {
 public:
  Daemons() {
    static_cast<void>(TheLog());
    pair_.WriteConfig(dir_.path());
    FakeSite& a = pair_.a();
    OmapValues members = {
        {"csi.volname", "vgrcontent-1"},
        {"csi.groupname", std::string("csi-vol-group-") + kGroup}};
    members[pair_.AddMirroredVolume(a, kMirrored)] = "";
    members[pair_.AddMirroredVolume(a, kMember)] = "";
    pair_.AddVolume(a, kPlain);
    for (FakeSite* const site : {&a, &pair_.b()}) {
      site->SetOmap(MirroredPair::kPool, "",
                    std::string("csi.volume.group.") + kGroup, members);
    }
    world_.Advance(std::chrono::minutes(1));
    StartController();
    StartNode();
    before_ = Contents();
    world_.ClearCalls();
  }
  ~Daemons() { node_server_->Shutdown(); }

  grpc::Status Call(const RequestInput& input, std::string* answer) {
    const bool node = input.method->service()->name() == "ReclaimSpaceNode";
    const RawResult result =
        RawCall(node                                      ? node_channel_
                : IsForAdministrators(input.MethodName()) ? admin_channel_
                                                          : channel_,
                absl::StrCat("/", input.MethodName()), input.bytes);
    *answer = result.answer;
    return result.status;
  }

  /// What the call has changed; empty: nothing. GetVolumeReplicationInfo notes
  /// with an image since when it is primary, and the history tells of refused
  /// calls, too, when it can, which may be during a later one; such notes do
  /// not count.
  std::string Changes() const {
    const auto now = Contents();
    std::string changes;
    for (const auto& [key, value] : now) {
      if (IsNote(key)) continue;
      const auto old = before_.find(key);
      if (old == before_.end() || old->second != value) {
        absl::StrAppend(&changes, key, " is ", value, "; ");
      }
    }
    for (const auto& [key, value] : before_) {
      if (!IsNote(key) && !now.contains(key))
        absl::StrAppend(&changes, key, " is gone; ");
    }
    return changes;
  }
  std::vector<std::string> Violations() const { return world_.Violations(); }
  void Forget() { world_.ClearCalls(); }
  /// What a call began may go on after its answer.
  bool Touched() const { return world_.CountMutations() > 0; }

 private:
  static bool IsNote(const std::string& key) {
    return absl::StrContains(key, " metadata .rbd-addons.") ||
           absl::StrContains(key, "/rbd_addons.history");
  }

  std::map<std::string, std::string> Contents() const {
    auto contents = pair_.a().Contents();
    for (auto& [key, value] : pair_.b().Contents()) {
      contents.emplace("b: " + key, std::move(value));
    }
    return contents;
  }

  void StartController() {
    Config config;
    config.socket_path = dir_.File("s");
    config.admin_socket_path = dir_.File("a");
    config.config_dir = dir_.path();
    config.modes.controller = true;
    AppParts parts;
    parts.clusters = std::make_unique<FakeClusterProvider>(world_);
    parts.clock = &world_;
    auto app = App::Create(config, std::move(parts));
    CheckThat(app.ok(), "the daemon starts", app.status().ToString());
    app_ = *std::move(app);
    channel_ = grpc::CreateChannel("unix:" + config.socket_path,
                                   grpc::InsecureChannelCredentials());
    admin_channel_ = grpc::CreateChannel("unix:" + config.admin_socket_path,
                                         grpc::InsecureChannelCredentials());
  }
  void StartNode() {
    node_.tree.SetKrbd(0, {"replicapool", "2", "",
                           MirroredPair::ImageOf(kMirrored), pair_.a().fsid()});
    node_service_ = std::make_unique<NodeReclaimService>(
        node_rpc_, *node_operations_,
        node_.Environment(resolver_, config_store_));
    std::vector<
        std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
        interceptors;
    interceptors.push_back(MakeMalformedRequestAnswerer(node_rpc_));
    grpc::ServerBuilder builder;
    builder.RegisterService(node_service_.get());
    builder.experimental().SetInterceptorCreators(std::move(interceptors));
    node_server_ = builder.BuildAndStart();
    node_channel_ = node_server_->InProcessChannel(grpc::ChannelArguments());
  }

  FakeWorld world_;
  mutable MirroredPair pair_{world_};
  const TempDir dir_;
  std::map<std::string, std::string> before_;
  std::unique_ptr<App> app_;
  std::shared_ptr<grpc::Channel> channel_;
  std::shared_ptr<grpc::Channel> admin_channel_;

  FakeNode node_;
  ConfigStore config_store_{dir_.path()};
  Resolver resolver_{config_store_, pair_.provider()};
  Rpc node_rpc_{RealClock()};
  std::unique_ptr<NodeReclaimService> node_service_;
  // Before the service ends: operations use it.
  std::unique_ptr<OperationTable> node_operations_ =
      std::make_unique<OperationTable>(OperationLimits(), RealClock());
  std::unique_ptr<grpc::Server> node_server_;
  std::shared_ptr<grpc::Channel> node_channel_;
};

/// New ones when the last call wrote something, so that each input means the
/// same whatever was run before it.
std::unique_ptr<Daemons>& Current() {
  // Ending gRPC's library with each server can take it 10 s.
  static const bool kept = (grpc_init(), true);
  static_cast<void>(kept);
  static auto* const daemons = new std::unique_ptr<Daemons>;
  // They have folders.
  static const int ended_at_exit = std::atexit([] { daemons->reset(); });
  static_cast<void>(ended_at_exit);
  if (*daemons == nullptr) *daemons = std::make_unique<Daemons>();
  return *daemons;
}

std::string CodeOf(const grpc::Status& status) {
  return absl::StatusCodeToString(
      static_cast<absl::StatusCode>(status.error_code()));
}

void CheckCode(const RequestInput& input, const grpc::Status& status) {
  static const auto* const rows =
      new std::set<ErrorCodeRow>(ReadErrorCodeRows(ADDONS_ERROR_CODES));
  CheckThat(!rows->empty(), "the codes are documented");
  const std::string code = CodeOf(status);
  CheckThat(code != "INTERNAL" && code != "UNKNOWN",
            "no request makes the daemon stumble",
            absl::StrCat(input.MethodName(), ": ", code, ": ",
                         status.error_message()));
  // CSI's own Identity, which has no row, only asks.
  const std::string service = input.method->service()->full_name();
  CheckThat((status.ok() && service == "csi.v1.Identity") ||
                rows->contains({input.method->name(), code}) ||
                rows->contains({service + "/*", code}) ||
                rows->contains({"*", code}),
            "the code is documented",
            absl::StrCat(input.MethodName(), ": ", code, ": ",
                         status.error_message()));
}

/// The values in the map `secrets` of `request`, but for the user's id, which
/// is none; the map is removed from it.
std::vector<std::string> TakeSecretValues(Message* request) {
  std::vector<std::string> values;
  const auto& reflection = *request->GetReflection();
  const FieldDescriptor* const secrets =
      request->GetDescriptor()->FindFieldByName("secrets");
  if (secrets == nullptr) return values;
  for (int i = 0; i < reflection.FieldSize(*request, secrets); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(*request, secrets, i);
    const auto& type = *secrets->message_type();
    const auto& of = *entry.GetReflection();
    if (of.GetString(entry, type.map_key()) == "userID") continue;
    values.push_back(of.GetString(entry, type.map_value()));
  }
  reflection.ClearField(request, secrets);
  return values;
}

void CheckSecrets(const RequestInput& input, absl::string_view shown) {
  constexpr size_t kLongEnough = 12;  // what is shorter is shown by chance
  const auto request = input.Message();
  if (request == nullptr) return;
  for (const std::string& value : TakeSecretValues(request.get())) {
    if (value.size() < kLongEnough ||
        absl::StrContains(request->SerializePartialAsString(), value)) {
      continue;
    }
    CheckThat(!absl::StrContains(shown, value), "no secret is shown",
              shown.substr(0, 2048));
  }
}

int Check(absl::string_view text) {
  const auto input = RequestInput::Read(text);
  if (!input.has_value()) return -1;
  std::unique_ptr<Daemons>& daemons = Current();
  static_cast<void>(TheLog().Take());
  std::string answer;
  const grpc::Status status = daemons->Call(*input, &answer);
  CheckCode(*input, status);
  if (status.ok()) {
    const std::unique_ptr<Message> response(
        google::protobuf::MessageFactory::generated_factory()
            ->GetPrototype(input->method->output_type())
            ->New());
    CheckThat(response->ParseFromString(answer), "an answer can be read");
  } else {
    CheckLine(status.error_message(), 4096);
  }
  CheckSecrets(*input,
               absl::StrCat(status.error_message(), answer, TheLog().Take()));
  const std::string changes = daemons->Changes();
  const bool changes_nothing = status.error_code() == grpc::INVALID_ARGUMENT ||
                               status.error_code() == grpc::UNAUTHENTICATED ||
                               status.error_code() == grpc::UNIMPLEMENTED ||
                               !IsMutating(input->method->name());
  CheckThat(
      changes.empty() || !changes_nothing,
      "a request that is refused or only asks changes nothing",
      absl::StrCat(input->MethodName(), ": ", CodeOf(status), ": ", changes));
  const auto violations = daemons->Violations();
  CheckThat(violations.empty(), "only what may change is changed",
            violations.empty() ? "" : violations.front());
  if (!changes.empty() || daemons->Touched()) {
    daemons.reset();
  } else {
    daemons->Forget();
  }
  return 0;
}

}  // namespace
}  // namespace addons::testing

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned seed) {
  return addons::testing::MutateRequest(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return addons::testing::Check(addons::testing::TextOf(data, size));
}
