#include "ceph/cluster_services.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "ceph/blocklist.h"
#include "ceph/ceph_address.h"

namespace addons {
namespace {

using nlohmann::json;

/// Null where something is missing or of another type, so that nothing throws.
const json& At(const json& object, const char* name) {
  static const json* const kNull = new json();
  if (!object.is_object()) return *kNull;
  const auto it = object.find(name);
  return it == object.end() ? *kNull : *it;
}

std::string Text(const json& value) {
  return value.is_string() ? value.get<std::string>() : "";
}

int64_t Number(const json& value) {
  return value.is_number_integer() ? value.get<int64_t>() : -1;
}

/// An object up to Ceph 20.
bool HoldsSomething(const json& value) {
  return value.is_structured() && !value.empty();
}

/// What is not understood must not look like a cluster without services.
absl::Status NotUnderstood(const char* command, absl::string_view what) {
  return absl::InternalError(absl::StrCat("the monitor's answer to '", command,
                                          "' is not understood: ", what));
}

absl::StatusOr<json> Ask(Cluster& cluster, const char* command) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::string text,
      cluster.MonCommand(json{{"prefix", command}, {"format", "json"}}.dump()));
  json answer = json::parse(text, nullptr, false);
  if (!answer.is_object()) {
    return absl::InternalError(absl::StrCat("the monitor's answer to '",
                                            command, "' is not a JSON object"));
  }
  return answer;
}

/// Adds what stands in {"addrvec": [{"addr": "10.0.0.1:6800"}]}.
void AddAddresses(const json& list, std::vector<IpAddress>* addresses) {
  for (const json& one : At(list, "addrvec")) {
    const auto address = CephAddress::Parse(Text(At(one, "addr")));
    if (!address.has_value()) continue;
    if (std::find(addresses->begin(), addresses->end(), address->ip) ==
        addresses->end()) {
      addresses->push_back(address->ip);
    }
  }
}

}  // namespace

absl::StatusOr<OsdMapView> ReadOsdMap(Cluster& cluster) {
  ADDONS_ASSIGN_OR_RETURN(const json dump, Ask(cluster, "osd dump"));
  const auto modified = ParseMonitorTime(Text(At(dump, "modified")));
  if (!modified.has_value()) {
    return absl::InternalError(
        "the monitor's answer to 'osd dump' does not say when the map changed");
  }
  OsdMapView view;
  view.modified = *modified;
  view.lists_addresses = HoldsSomething(At(dump, "blocklist"));
  view.lists_ranges = HoldsSomething(At(dump, "range_blocklist"));
  if (!At(dump, "osds").is_array() || !At(dump, "pools").is_array()) {
    return NotUnderstood("osd dump", "it has no list of OSDs or of pools");
  }
  for (const json& osd : At(dump, "osds")) {
    const int64_t up = Number(At(osd, "up"));
    if (up == 0) continue;
    LiveService service{absl::StrCat("osd.", Number(At(osd, "osd"))), {}};
    AddAddresses(At(osd, "public_addrs"), &service.addresses);
    if (up != 1 || service.addresses.empty()) {
      return NotUnderstood(
          "osd dump", absl::StrCat("whether ", service.name, " is up, where"));
    }
    AddAddresses(At(osd, "cluster_addrs"), &service.addresses);
    view.osds.push_back(std::move(service));
  }
  for (const json& pool : At(dump, "pools")) {
    if (!At(At(pool, "application_metadata"), "rbd").is_object()) continue;
    view.pools.push_back({Number(At(pool, "pool")), Text(At(pool, "pool_name")),
                          static_cast<uint32_t>(std::clamp<int64_t>(
                              Number(At(pool, "pg_num")), 1,
                              std::numeric_limits<uint32_t>::max()))});
  }
  return view;
}

absl::StatusOr<std::vector<LiveService>> ReadQuorum(Cluster& cluster) {
  ADDONS_ASSIGN_OR_RETURN(const json status, Ask(cluster, "quorum_status"));
  const json& quorum = At(status, "quorum");
  if (!quorum.is_array() || !At(At(status, "monmap"), "mons").is_array()) {
    return NotUnderstood("quorum_status",
                         "it has no list of monitors or of the quorum");
  }
  std::vector<LiveService> monitors;
  for (const json& monitor : At(At(status, "monmap"), "mons")) {
    if (std::find(quorum.begin(), quorum.end(), At(monitor, "rank")) ==
        quorum.end()) {
      continue;
    }
    LiveService service{absl::StrCat("mon.", Text(At(monitor, "name"))), {}};
    AddAddresses(At(monitor, "public_addrs"), &service.addresses);
    if (service.addresses.empty()) {
      return NotUnderstood(
          "quorum_status",
          absl::StrCat("where '", absl::CHexEscape(service.name), "' is"));
    }
    monitors.push_back(std::move(service));
  }
  return monitors;
}

absl::StatusOr<std::vector<LiveService>> ReadManager(Cluster& cluster) {
  auto dump = Ask(cluster, "mgr dump");
  if (absl::IsPermissionDenied(dump.status())) {
    return std::vector<LiveService>();
  }
  ADDONS_RETURN_IF_ERROR(dump.status());
  const std::string name = Text(At(*dump, "active_name"));
  if (name.empty() || At(*dump, "available") != json(true)) {
    return std::vector<LiveService>();
  }
  LiveService service{absl::StrCat("mgr.", name), {}};
  AddAddresses(At(*dump, "active_addrs"), &service.addresses);
  return std::vector<LiveService>{std::move(service)};
}

}  // namespace addons
