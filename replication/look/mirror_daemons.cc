#include "replication/look/mirror_daemons.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace addons {
namespace {

using Json = nlohmann::json;

constexpr char kCommand[] = R"({"prefix": "service status", "format": "json"})";
constexpr char kCutOff[] = "unable to connect to remote cluster";

absl::Status OtherShape() {
  return absl::InternalError(
      "the manager's answer to 'service status' has a shape that is not known");
}

bool SaysCutOff(const Json& pool) {
  const auto callouts = pool.find("callouts");
  return callouts != pool.end() && callouts->is_object() &&
         std::any_of(
             callouts->begin(), callouts->end(), [](const Json& callout) {
               return callout.is_object() &&
                      callout.value("level", "") == "error" &&
                      absl::StrContains(callout.value("text", ""), kCutOff);
             });
}

}  // namespace

absl::StatusOr<std::vector<MirrorDaemon>> ParseMirrorDaemons(
    absl::string_view answer, int64_t pool_id) {
  const Json services = ParseJson(answer);
  if (!services.is_object()) return OtherShape();
  std::vector<MirrorDaemon> found;
  const auto daemons = services.find("rbd-mirror");
  if (daemons == services.end()) return found;
  if (!daemons->is_object()) return OtherShape();
  try {
    for (const auto& [id, daemon] : daemons->items()) {
      const Json told =
          ParseJson(daemon.at("status").value("json", std::string("{}")));
      if (!told.is_object()) return OtherShape();
      const auto pool = told.find(absl::StrCat(pool_id));
      if (pool == told.end()) continue;
      found.push_back(
          {id, daemon.at("last_beacon").get<std::string>(), SaysCutOff(*pool)});
    }
  } catch (const Json::exception&) {
    return OtherShape();
  }
  return found;
}

absl::StatusOr<std::vector<MirrorDaemon>> ReadMirrorDaemons(Cluster& cluster,
                                                            int64_t pool_id) {
  const auto answer = cluster.MgrCommand(kCommand);
  if (absl::IsPermissionDenied(answer.status())) {
    return absl::PermissionDeniedError(absl::StrCat(
        answer.status().message(),
        "; give the user the manager capability allow command \"service "
        "status\""));
  }
  ADDONS_RETURN_IF_ERROR(answer.status());
  return ParseMirrorDaemons(*answer, pool_id);
}

}  // namespace addons
