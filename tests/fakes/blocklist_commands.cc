#include "tests/fakes/blocklist_commands.h"

#include <arpa/inet.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"

namespace addons::model {
namespace {

using nlohmann::json;

// A change of the OSD map takes the monitors up to a second.
constexpr std::chrono::milliseconds kCommit{300};
// How often the monitor drops what has expired.
constexpr std::chrono::seconds kTick{5};

std::string Text(WallTime time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6S%z", absl::FromChrono(time),
                          absl::UTCTimeZone());
}

WallTime MonitorNow(const Model& model, const Site& site) {
  return model.wall() + site.clock_skew;
}

bool IsAddress(int family, const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(family, text.c_str(), bytes.data()) == 1;
}

// How the monitor writes an address; nullopt: it is none.
std::optional<std::string> Host(const std::string& address) {
  if (IsAddress(AF_INET, address)) return address;
  if (IsAddress(AF_INET6, address)) return absl::StrCat("[", address, "]");
  return std::nullopt;
}

std::optional<std::string> RangeKey(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, '/');
  int bits = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &bits)) {
    return std::nullopt;
  }
  const auto host = Host(parts[0]);
  if (!host || bits < 1 || bits > (absl::StartsWith(*host, "[") ? 128 : 32)) {
    return std::nullopt;
  }
  return absl::StrCat(*host, ":0/", bits);
}

std::optional<std::string> ClientKey(const std::string& text) {
  if (const auto host = Host(text)) return absl::StrCat(*host, ":0/0");
  // Without "range" the monitor takes a mask for a nonce.
  if (!absl::StrContains(text, ":")) {
    const std::vector<std::string> parts = absl::StrSplit(text, '/');
    if (parts.size() != 2 || !Host(parts[0])) return std::nullopt;
    return absl::StrCat(parts[0], ":0/", parts[1]);
  }
  const auto colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    host = host.substr(1, host.size() - 2);
  }
  if (!Host(host) || !absl::StrContains(text.substr(colon), "/")) {
    return std::nullopt;
  }
  return text;
}

json List(std::map<std::string, WallTime>& entries, const char* name,
          WallTime now) {
  std::erase_if(entries,
                [&](const auto& entry) { return entry.second + kTick <= now; });
  json list = json::array();
  for (const auto& [key, until] : entries) {
    list.push_back({{name, key}, {"until", Text(until)}});
  }
  return list;
}

CommandResult ListAll(Site& site, WallTime now) {
  const json addresses = List(site.blocklist, "addr", now);
  const json ranges = List(site.range_blocklist, "range", now);
  std::string text;
  switch (site.blocklist_listing) {
    case BlocklistListing::kArrays:
      text = addresses.dump();
      if (site.range_blocklists) text += ranges.dump();
      break;
    case BlocklistListing::kObject:
      text = json{{"blocklist", addresses}, {"range_blocklist", ranges}}.dump();
      break;
    case BlocklistListing::kNestedArrays:
      text = json::array({addresses, ranges}).dump();
      break;
    case BlocklistListing::kNothing:
      text = "[][]";
      break;
  }
  return {0, text, "listed"};
}

/// As `osd dump` shows them up to Ceph 20; with another listing in a form that
/// nobody has seen yet.
json Dump(const Site& site, const std::map<std::string, WallTime>& entries,
          const char* type) {
  const bool known = site.blocklist_listing == BlocklistListing::kArrays;
  json object = known ? json::object() : json::array();
  for (const auto& [key, until] : entries) {
    if (known) {
      object[absl::StrCat(type, key)] = Text(until);
    } else {
      object.push_back({absl::StrCat(type, key), Text(until)});
    }
  }
  return object;
}

CommandResult Change(Model& model, Site& site, const json& command,
                     WallTime now) {
  const bool range =
      site.range_blocklists && command.value("range", "") == "range";
  const std::string text = command.value("addr", "");
  const auto key = range ? RangeKey(text) : ClientKey(text);
  if (!key)
    return {-EINVAL, "", absl::StrCat("unable to parse address ", text)};
  if (command.value("blocklistop", "") != "rm" && command.contains("expire") &&
      !command["expire"].is_number_float()) {
    return {-EINVAL, "", "bad or missing field 'expire'"};
  }
  site.BeginMap(now);
  auto& entries = range ? site.range_blocklist : site.blocklist;
  if (command.value("blocklistop", "") == "rm") {
    if (entries.erase(*key) == 0) {
      return {0, "", absl::StrCat(*key, " isn't blocklisted")};
    }
  } else {
    const std::chrono::duration<double> expire(command.value("expire", 3600.0));
    // Not assigned: an entry that exists keeps its expiry.
    entries.emplace(
        *key, now + std::chrono::duration_cast<WallTime::duration>(expire));
    if (!range && *key == model.Address(site.daemon.local_instance)) {
      model.Reconnect(site.daemon);
    }
    if (!range && site.peer != nullptr &&
        *key == model.Address(site.peer->daemon.peer_instance)) {
      model.Reconnect(site.peer->daemon);
    }
  }
  return {0, "", absl::StrCat("blocklisting ", *key), kCommit};
}

json Addresses(const std::string& address) {
  return {{"addrvec", {{{"type", "v2"}, {"addr", address}, {"nonce", 7}}}}};
}

/// `osd dump`, also of an epoch that is past.
CommandResult DumpOsds(const Site& site, const json& command) {
  Site::OldMap shown{site.map_modified, site.blocklist, site.range_blocklist};
  uint64_t epoch = command.value("epoch", uint64_t{0});
  if (epoch == 0) epoch = site.map_epoch;
  if (epoch != site.map_epoch) {
    const auto old = site.old_maps.find(epoch);
    if (old == site.old_maps.end()) {
      return {-ENOENT, "", absl::StrCat("there is no map for epoch ", epoch)};
    }
    shown = old->second;
  }
  json osds = json::array();
  json pools = json::array();
  for (const Site::Service& service : site.services) {
    int id = 0;
    if (!absl::StartsWith(service.name, "osd.") ||
        !absl::SimpleAtoi(service.name.substr(4), &id)) {
      continue;
    }
    osds.push_back({{"osd", id},
                    {"up", service.alive ? 1 : 0},
                    {"public_addrs", Addresses(service.address)},
                    {"cluster_addrs", Addresses(service.address)}});
  }
  for (const auto& [id, pool] : site.pools) {
    pools.push_back({{"pool", id},
                     {"pool_name", pool.name},
                     {"pg_num", 6},
                     {"application_metadata", {{"rbd", json::object()}}}});
  }
  json map = {{"epoch", epoch},
              {"modified", Text(shown.modified)},
              {"pools", pools},
              {"osds", osds},
              {"blocklist", Dump(site, shown.blocklist, "")}};
  if (site.range_blocklists) {
    map["range_blocklist"] = Dump(site, shown.range_blocklist, "cidr:");
  }
  return {0, map.dump(), ""};
}

CommandResult Quorum(const Site& site) {
  json quorum = json::array();
  json monitors = json::array();
  for (const Site::Service& service : site.services) {
    if (!absl::StartsWith(service.name, "mon.")) continue;
    const auto rank = monitors.size();
    if (service.alive) quorum.push_back(rank);
    monitors.push_back({{"rank", rank},
                        {"name", service.name.substr(4)},
                        {"public_addrs", Addresses(service.address)}});
  }
  return {0, json{{"quorum", quorum}, {"monmap", {{"mons", monitors}}}}.dump(),
          ""};
}

CommandResult DumpManager(const Site& site) {
  for (const Site::Service& service : site.services) {
    if (!absl::StartsWith(service.name, "mgr.")) continue;
    return {0,
            json{{"available", service.alive},
                 {"active_name", service.name.substr(4)},
                 {"active_addrs", Addresses(service.address)}}
                .dump(),
            ""};
  }
  // The usual capabilities do not allow it.
  return {-EACCES, "", "access denied"};
}

}  // namespace

CommandResult RunBlocklistCommand(Model& model, Site& site,
                                  const json& command) {
  const std::string prefix =
      command.is_object() ? command.value("prefix", "") : "";
  const WallTime now = MonitorNow(model, site);
  if (prefix == "osd blocklist ls") return ListAll(site, now);
  if (prefix == "osd blocklist") return Change(model, site, command, now);
  if (prefix == "osd dump") return DumpOsds(site, command);
  if (prefix == "quorum_status") return Quorum(site);
  if (prefix == "mgr dump") return DumpManager(site);
  return {-EINVAL, "", "command not known"};
}

}  // namespace addons::model
