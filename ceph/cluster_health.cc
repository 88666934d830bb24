#include "ceph/cluster_health.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace addons {
namespace {

using nlohmann::json;

absl::Status HealthNotUnderstood(const std::string& command) {
  return absl::InternalError(absl::StrCat("the monitor's answer to '", command,
                                          "' is not understood"));
}

/// Of "ceph version 16.2.15 (...) pacific (stable)".
std::string ReleaseOf(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  return words.size() > 2 && words[0] == "ceph" && words[1] == "version"
             ? words[2]
             : text;
}

}  // namespace

absl::StatusOr<std::map<std::string, int>> ReadReleases(
    Cluster& cluster, const std::string& kind) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::string text,
      cluster.MonCommand(R"({"prefix":"versions","format":"json"})"));
  const json answer = ParseJson(text);
  const auto running = answer.is_object() ? answer.find(kind) : answer.end();
  if (!answer.is_object() || running == answer.end() || !running->is_object() ||
      running->empty()) {
    return HealthNotUnderstood("versions");
  }
  std::map<std::string, int> releases;
  for (const auto& [version, count] : running->items()) {
    if (!count.is_number_integer()) return HealthNotUnderstood("versions");
    releases[ReleaseOf(version)] += count.get<int>();
  }
  return releases;
}

std::optional<int> MajorRelease(absl::string_view release) {
  int major = 0;
  if (!absl::SimpleAtoi(release.substr(0, release.find('.')), &major)) {
    return std::nullopt;
  }
  return major;
}

absl::StatusOr<PoolTraits> ReadPoolTraits(Cluster& cluster, int64_t pool_id) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::string text,
      cluster.MonCommand(
          R"({"prefix":"osd pool ls","detail":"detail","format":"json"})"));
  const json pools = ParseJson(text);
  if (!pools.is_array()) return HealthNotUnderstood("osd pool ls");
  for (const json& pool : pools) {
    const bool known =
        pool.is_object() && pool.contains("pool_id") && pool.contains("type") &&
        pool["type"].is_number_integer() && pool.contains("flags_names") &&
        pool["flags_names"].is_string();
    if (!known) return HealthNotUnderstood("osd pool ls");
    if (pool["pool_id"] != pool_id) continue;
    constexpr int kErasure = 3;  // pg_pool_t::TYPE_ERASURE
    PoolTraits traits;
    traits.erasure_coded = pool["type"].get<int>() == kErasure;
    // A quota that is reached shows as "full,full_quota" (16.2 to 20.2).
    for (const absl::string_view flag :
         absl::StrSplit(pool["flags_names"].get<std::string>(), ',')) {
      traits.full = traits.full || flag == "full" || flag == "full_quota";
    }
    return traits;
  }
  return absl::NotFoundError(
      absl::StrCat("the cluster has no pool with id ", pool_id));
}

absl::StatusOr<std::map<std::string, absl::Duration>> ReadMonitorSkews(
    Cluster& cluster) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::string text,
      cluster.MonCommand(R"({"prefix":"time-sync-status","format":"json"})"));
  const json answer = ParseJson(text);
  if (!answer.is_object()) return HealthNotUnderstood("time-sync-status");
  std::map<std::string, absl::Duration> skews;
  const auto status = answer.find("time_skew_status");
  if (status == answer.end()) return skews;
  if (!status->is_object()) return HealthNotUnderstood("time-sync-status");
  for (const auto& [monitor, told] : status->items()) {
    const auto skew = told.is_object() ? told.find("skew") : told.end();
    if (!told.is_object() || skew == told.end() || !skew->is_number()) {
      return HealthNotUnderstood("time-sync-status");
    }
    skews[monitor] = absl::Seconds(skew->get<double>());
  }
  return skews;
}

}  // namespace addons
