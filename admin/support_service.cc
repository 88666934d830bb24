#include "admin/support_service.h"

#include <chrono>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "base/json.h"
#include "rpc/redact.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

constexpr size_t kMostFileBytes = 1 << 20;
constexpr char kHiddenValue[] = "***";

/// Texts that stand under the name of a secret are hidden, wherever they are.
void HideSecrets(nlohmann::json& json) {
  if (json.is_array()) {
    for (nlohmann::json& element : json) HideSecrets(element);
    return;
  }
  if (!json.is_object()) return;
  for (auto& [name, value] : json.items()) {
    if (!value.is_object() && LooksSecret(name)) {
      value = kHiddenValue;
    } else {
      HideSecrets(value);
    }
  }
}

/// Without that it is JSON nobody can tell what in it is a secret.
void FillFile(const std::string& path, admin_pb::ConfigurationFile* file) {
  file->set_path(path);
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    file->set_missing("it is not there, or cannot be read");
    return;
  }
  std::string text(kMostFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > kMostFileBytes) {
    file->set_missing("it is larger than 1 MiB");
    return;
  }
  nlohmann::json json = ParseJson(text);
  if (json.is_discarded()) {
    file->set_missing("it is no JSON; doctor says what is wrong with it");
    return;
  }
  HideSecrets(json);
  file->set_text(ReplacedJsonText(json));
}

void FillEnded(const EndedOperation& ended, SteadyTime now,
               admin_pb::EndedOperation* operation) {
  operation->set_operation_id(ended.id);
  operation->set_verb(ended.verb);
  operation->set_object(ended.object);
  operation->set_request_id(ended.request_id);
  operation->set_code(absl::StatusCodeToString(ended.status.code()));
  operation->set_message(std::string(ended.status.message()));
  operation->set_age_milliseconds(ended.age.count());
  operation->set_ended_milliseconds_ago(
      WholeMilliseconds(now - ended.ended_at));
}

}  // namespace

SupportService::SupportService(Rpc& rpc, OperationTable& operations,
                               SupportSources sources)
    : rpc_(rpc), operations_(operations), sources_(std::move(sources)) {}

void SupportService::Fill(admin_pb::DescribeDaemonResponse* response) const {
  response->set_version(sources_.version);
  response->mutable_manifest()->insert(sources_.manifest.begin(),
                                       sources_.manifest.end());
  response->set_host(sources_.host);
  const auto since_epoch = rpc_.clock().WallNow().time_since_epoch();
  response->mutable_now()->set_seconds(
      std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count());
  response->set_flags(sources_.flags);
  for (const std::string& path : sources_.files) {
    FillFile(path, response->add_files());
  }
  const SteadyTime now = rpc_.clock().Now();
  for (const EndedOperation& ended : operations_.Ended()) {
    FillEnded(ended, now, response->add_ended());
  }
  if (sources_.metrics) response->set_metrics(sources_.metrics());
  if (sources_.log) response->set_log(sources_.log());
}

grpc::ServerUnaryReactor* SupportService::DescribeDaemon(
    grpc::CallbackServerContext* context,
    const admin_pb::DescribeDaemonRequest* request,
    admin_pb::DescribeDaemonResponse* response) {
  return UnaryCall(rpc_, *context, *request, *response,
                   [&](const CallContext&) {
                     Fill(response);
                     return absl::OkStatus();
                   });
}

}  // namespace addons
