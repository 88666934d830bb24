#include "ceph/cluster_services.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/json.h"
#include "base/status_macros.h"
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

/// What is not understood must not look like a cluster without services.
absl::Status NotUnderstood(const char* command, absl::string_view what) {
  return absl::InternalError(absl::StrCat("the monitor's answer to '", command,
                                          "' is not understood: ", what));
}

absl::StatusOr<json> Ask(Cluster& cluster, const char* command,
                         const json::parser_callback_t& filter = nullptr,
                         uint64_t epoch = 0) {
  json request = {{"prefix", command}, {"format", "json"}};
  if (epoch != 0) request["epoch"] = epoch;
  ADDONS_ASSIGN_OR_RETURN(const std::string text,
                          cluster.MonCommand(JsonText(request)));
  json answer = ParseJson(text, filter);
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

/// Reads the blocklist and the removed snapshots out of `osd dump` while that
/// is parsed, and lets stay of the rest only what is needed: with ten thousand
/// entries, or a thousand OSDs, the whole as JSON would be a hundred megabytes.
class MapFilter {
 public:
  /// nlohmann's callback: false for what shall not stay.
  bool operator()(int depth, json::parse_event_t event, const json& value) {
    using Event = json::parse_event_t;
    if (event == Event::key) return TakeKey(depth, value);
    if (section_ == kQueue && event == Event::value) TakeRemoved(value);
    List* const list = ListOf(section_);
    if (list == nullptr || event == Event::object_end ||
        event == Event::array_end) {
      return true;
    }
    if (depth == 1) list->known = event == Event::object_start;
    if (depth == 2) TakeEntry(event, value, list);
    return true;
  }

  /// Moves what was read to `view`.
  void Finish(OsdMapView* view) {
    view->lists_addresses = addresses_.something;
    view->lists_ranges = ranges_.something;
    view->untrimmed = std::move(untrimmed_);
    if (!addresses_.known || !ranges_.known) return;
    blocklist_.has_ranges = true;
    view->blocklist = std::move(blocklist_);
  }

 private:
  struct List {
    bool known = false;  // the map shows it, in the form of up to Ceph 20
    bool something = false;
  };

  List* ListOf(absl::string_view section) {
    if (section == "blocklist") return &addresses_;
    return section == "range_blocklist" ? &ranges_ : nullptr;
  }

  bool TakeKey(int depth, const json& value) {
    const auto& name = value.get_ref<const std::string&>();
    if (depth == 1) {
      section_ = name;
      return section_ == "epoch" || section_ == "modified" ||
             section_ == "osds" || section_ == "pools" || section_ == "flags";
    }
    if (depth == 2 || section_ == kQueue) key_ = name;
    return std::find(kNeeded.begin(), kNeeded.end(), name) != kNeeded.end();
  }

  /// [{"pool": 2, "snaps": [{"begin": 5, "length": 3}]}], of which nothing
  /// stays: a busy cluster has thousands.
  void TakeRemoved(const json& value) {
    if (!value.is_number_unsigned()) return;
    if (key_ == "pool") pool_ = value.get<int64_t>();
    if (key_ == "length") untrimmed_[pool_] += value.get<uint64_t>();
  }

  /// {"10.0.0.1:0/5": "2026-11-22T02:24:38+0000"}: as `osd blocklist ls` does,
  /// but with the type before the address.
  void TakeEntry(json::parse_event_t event, const json& value, List* list) {
    list->something = true;
    if (event != json::parse_event_t::value || !value.is_string()) {
      list->known = false;
    }
    if (!list->known) return;
    absl::string_view key = key_;
    for (const absl::string_view type : {"cidr:", "any:", "v1:", "v2:"}) {
      if (absl::ConsumePrefix(&key, type)) break;
    }
    blocklist_.Add(key, value.get_ref<const std::string&>(), list == &ranges_);
  }

  // Of OSDs and pools, at whatever depth.
  static constexpr std::array<absl::string_view, 11> kNeeded = {
      "osd",  "up",  "public_addrs", "cluster_addrs",        "addrvec", "addr",
      "pool", "rbd", "pool_name",    "application_metadata", "pg_num"};

  static constexpr char kQueue[] = "removed_snaps_queue";

  std::string section_;
  std::string key_;   // of the second level; in the queue of any
  int64_t pool_ = 0;  // of the queue
  std::map<int64_t, uint64_t> untrimmed_;
  List addresses_;
  List ranges_;
  Blocklist blocklist_;
};

absl::StatusOr<OsdMapView> ReadMap(Cluster& cluster, uint64_t epoch) {
  MapFilter filter;
  ADDONS_ASSIGN_OR_RETURN(
      const json dump,
      Ask(
          cluster, "osd dump",
          [&filter](int depth, json::parse_event_t event, const json& value) {
            return filter(depth, event, value);
          },
          epoch));
  const auto modified = ParseMonitorTime(Text(At(dump, "modified")));
  if (!modified.has_value()) {
    return absl::InternalError(
        "the monitor's answer to 'osd dump' does not say when the map changed");
  }
  OsdMapView view;
  view.modified = *modified;
  if (const int64_t is = Number(At(dump, "epoch")); is > 0) {
    view.epoch = static_cast<uint64_t>(is);
  }
  filter.Finish(&view);
  for (const absl::string_view flag :
       absl::StrSplit(Text(At(dump, "flags")), ',')) {
    view.trims_no_snapshots |= flag == "nosnaptrim";
  }
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

}  // namespace

absl::StatusOr<OsdMapView> ReadOsdMap(Cluster& cluster) {
  return ReadMap(cluster, 0);
}

absl::StatusOr<OsdMapView> ReadOldOsdMap(Cluster& cluster, uint64_t epoch) {
  return ReadMap(cluster, epoch);
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
  const json& available = At(*dump, "available");
  if (!available.is_boolean()) {
    return NotUnderstood("mgr dump", "it does not say whether a manager lives");
  }
  if (!available.get<bool>()) return std::vector<LiveService>();
  const std::string name = Text(At(*dump, "active_name"));
  LiveService service{absl::StrCat("mgr.", name), {}};
  AddAddresses(At(*dump, "active_addrs"), &service.addresses);
  if (name.empty() || service.addresses.empty()) {
    return NotUnderstood(
        "mgr dump", absl::StrCat("where '", absl::CHexEscape(name), "' is"));
  }
  return std::vector<LiveService>{std::move(service)};
}

}  // namespace addons
