#include "volume/cluster_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"

namespace addons {
namespace {

using Json = nlohmann::ordered_json;  // keeps the order of the file

/// `text` in quotes for a message: files may hold anything.
std::string Shown(absl::string_view text) {
  constexpr size_t kShown = 128;
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, kShown)),
                      text.size() > kShown ? "...'" : "'");
}

std::string Shown(const ClusterId& id) { return Shown(id.text()); }

/// The value of `key` (regardless of case) unless it is absent or null. Of
/// several spellings the last counts, as for ceph-csi.
const Json* Member(const Json& object, absl::string_view key) {
  const Json* found = nullptr;
  for (const auto& [name, value] : object.items()) {
    if (absl::EqualsIgnoreCase(name, key)) found = &value;
  }
  return found == nullptr || found->is_null() ? nullptr : found;
}

/// As Member(), of the type object. Nothing there: nullptr.
absl::StatusOr<const Json*> ObjectMember(const Json& object,
                                         absl::string_view key) {
  const Json* value = Member(object, key);
  if (value != nullptr && !value->is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(key, " is not an object"));
  }
  return value;
}

/// As Member(), of the type string. Nothing there: an empty text.
absl::StatusOr<std::string> StringMember(const Json& object,
                                         absl::string_view key) {
  const Json* value = Member(object, key);
  if (value == nullptr) return std::string();
  if (!value->is_string()) {
    return absl::InvalidArgumentError(absl::StrCat(key, " is not a string"));
  }
  return value->get<std::string>();
}

absl::StatusOr<ClusterId> ClusterMember(const Json& object,
                                        absl::string_view key) {
  ADDONS_ASSIGN_OR_RETURN(std::string text, StringMember(object, key));
  return ClusterId(std::move(text));
}

absl::StatusOr<int64_t> PoolIdFromText(absl::string_view text) {
  int64_t id = 0;
  if (!absl::SimpleAtoi(text, &id) || id < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("pool id ", Shown(text), " is not a decimal number"));
  }
  return id;
}

/// A pool id is a decimal string for ceph-csi; people also write numbers.
absl::StatusOr<int64_t> PoolIdFromJson(const Json& value) {
  if (value.is_string())
    return PoolIdFromText(value.get_ref<const std::string&>());
  return PoolIdFromText(value.dump());
}

absl::StatusOr<std::vector<std::string>> ParseMonitors(const Json& entry) {
  const Json* value = Member(entry, "monitors");
  if (value != nullptr && !value->is_array()) {
    return absl::InvalidArgumentError("monitors is not an array of strings");
  }
  std::vector<std::string> monitors;
  if (value != nullptr) {
    for (const Json& element : *value) {
      if (!element.is_string()) {
        return absl::InvalidArgumentError(
            "monitors is not an array of strings");
      }
      const absl::string_view monitor =
          absl::StripAsciiWhitespace(element.get_ref<const std::string&>());
      if (!monitor.empty()) monitors.emplace_back(monitor);
    }
  }
  if (monitors.empty()) {
    return absl::InvalidArgumentError("the list of monitors is empty");
  }
  return monitors;
}

absl::StatusOr<std::map<std::string, int64_t>> ParseRemotePools(
    const Json& destination) {
  std::map<std::string, int64_t> pools;
  ADDONS_ASSIGN_OR_RETURN(const Json* rbd, ObjectMember(destination, "rbd"));
  if (rbd == nullptr) return pools;
  ADDONS_ASSIGN_OR_RETURN(const Json* mapping,
                          ObjectMember(*rbd, "remotePoolMapping"));
  if (mapping == nullptr) return pools;
  for (const auto& [pool, remote] : mapping->items()) {
    const Json* id = remote.is_object() ? Member(remote, "poolID") : nullptr;
    if (id == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "remotePoolMapping of pool ", Shown(pool), " has no poolID"));
    }
    ADDONS_ASSIGN_OR_RETURN(pools[pool], PoolIdFromJson(*id));
  }
  return pools;
}

absl::StatusOr<ReplicationDestination> ParseDestination(const Json& value) {
  if (!value.is_object()) {
    return absl::InvalidArgumentError("it is not an object");
  }
  ReplicationDestination destination;
  ADDONS_ASSIGN_OR_RETURN(destination.remote_pool_id, ParseRemotePools(value));
  ADDONS_ASSIGN_OR_RETURN(destination.remote_cluster_id,
                          ClusterMember(value, "remoteClusterID"));
  if (destination.remote_cluster_id.empty()) {
    return absl::InvalidArgumentError("remoteClusterID is missing");
  }
  return destination;
}

/// What the entry needs to be usable; sections that are not for us are not
/// read.
absl::StatusOr<ClusterEntry> ParseEntry(const Json& value,
                                        std::vector<std::string>* warnings) {
  ClusterEntry entry;
  ADDONS_ASSIGN_OR_RETURN(entry.cluster_id, ClusterMember(value, "clusterID"));
  ADDONS_ASSIGN_OR_RETURN(entry.monitors, ParseMonitors(value));
  ADDONS_ASSIGN_OR_RETURN(const Json* rbd, ObjectMember(value, "rbd"));
  if (rbd != nullptr) {
    ADDONS_ASSIGN_OR_RETURN(entry.rados_namespace,
                            StringMember(*rbd, "radosNamespace"));
  }
  if (const Json* raw = Member(value, "replicationDestination")) {
    auto destination = ParseDestination(*raw);
    if (!destination.ok()) {
      warnings->push_back(
          absl::StrCat(kConfigFile, ": replicationDestination of cluster ",
                       Shown(entry.cluster_id),
                       " is not usable: ", destination.status().message()));
    }
    entry.replication_destination =
        destination.ok() ? *std::move(destination) : ReplicationDestination();
  }
  return entry;
}

/// Appends the pairs of one object of pool ids; a broken pair is left out.
void AddPoolPairs(const Json& pairs, absl::string_view place,
                  ClusterMapping* mapping, std::vector<std::string>* warnings) {
  for (const auto& [key, value] : pairs.items()) {
    const auto from = PoolIdFromText(key);
    const auto to = PoolIdFromJson(value);
    if (from.ok() && to.ok()) {
      mapping->pool_ids.emplace_back(*from, *to);
      continue;
    }
    warnings->push_back(absl::StrCat(
        place, ": RBDPoolIDMapping of ", Shown(key), " ignored: ",
        from.ok() ? to.status().message() : from.status().message()));
  }
}

absl::StatusOr<ClusterMapping> ParseMapping(
    const Json& value, absl::string_view place,
    std::vector<std::string>* warnings) {
  if (!value.is_object())
    return absl::InvalidArgumentError("it is not an object");
  ClusterMapping mapping;
  ADDONS_ASSIGN_OR_RETURN(const Json* clusters,
                          ObjectMember(value, "clusterIDMapping"));
  if (clusters != nullptr) {
    for (const auto& [key, other] : clusters->items()) {
      if (other.is_string() && !key.empty() &&
          !other.get_ref<const std::string&>().empty()) {
        mapping.cluster_ids.emplace_back(ClusterId(key),
                                         ClusterId(other.get<std::string>()));
        continue;
      }
      warnings->push_back(absl::StrCat(place, ": clusterIDMapping of ",
                                       Shown(key), " ignored: no cluster id"));
    }
  }
  const Json* pools = Member(value, "RBDPoolIDMapping");
  if (pools == nullptr) return mapping;
  const bool objects =
      pools->is_array() &&
      std::all_of(pools->begin(), pools->end(),
                  [](const Json& element) { return element.is_object(); });
  if (!objects) {
    return absl::InvalidArgumentError(
        "RBDPoolIDMapping is not an array of objects");
  }
  for (const Json& pairs : *pools)
    AddPoolPairs(pairs, place, &mapping, warnings);
  return mapping;
}

/// null stands for an empty array, as for ceph-csi.
absl::StatusOr<Json> ParseArray(absl::string_view text,
                                absl::string_view file) {
  Json array;
  try {
    array = Json::parse(text.begin(), text.end());
  } catch (const Json::exception& e) {
    // It ends with what was read last, which may be anything.
    constexpr size_t kShown = 256;
    const std::string reason = absl::StrReplaceAll(
        absl::CHexEscape(absl::string_view(e.what()).substr(0, kShown)),
        {{"\\'", "'"}, {"\\\"", "\""}});
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", reason));
  }
  if (array.is_null()) return Json::array();
  if (!array.is_array()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": not a JSON array"));
  }
  return array;
}

/// Fills `entries` with the usable entries, and `broken` with what is wrong
/// with the others, by cluster id.
void ParseEntries(const Json& array, std::vector<ClusterEntry>* entries,
                  std::map<ClusterId, std::string>* broken,
                  std::vector<std::string>* warnings) {
  std::set<ClusterId> seen;
  for (size_t i = 0; i < array.size(); ++i) {
    const std::string place = absl::StrCat(kConfigFile, ": entry ", i + 1);
    const auto id = array[i].is_object()
                        ? ClusterMember(array[i], "clusterID")
                        : absl::InvalidArgumentError("it is not an object");
    if (!id.ok() || id->empty()) {
      warnings->push_back(absl::StrCat(
          place, " ignored: ",
          id.ok() ? "clusterID is missing" : id.status().message()));
      continue;
    }
    if (!seen.insert(*id).second) {
      warnings->push_back(absl::StrCat(place, " ignored: cluster ", Shown(*id),
                                       " has an entry above"));
      continue;
    }
    auto entry = ParseEntry(array[i], warnings);
    if (entry.ok()) {
      entries->push_back(*std::move(entry));
      continue;
    }
    warnings->push_back(
        absl::StrCat(place, " of cluster ", Shown(*id),
                     " is not usable: ", entry.status().message()));
    broken->emplace(*id, entry.status().message());
  }
}

void ParseMappings(const Json& array, std::vector<ClusterMapping>* mappings,
                   std::vector<std::string>* warnings) {
  for (size_t i = 0; i < array.size(); ++i) {
    const std::string place = absl::StrCat(kMappingFile, ": element ", i + 1);
    auto mapping = ParseMapping(array[i], place, warnings);
    if (mapping.ok()) {
      mappings->push_back(*std::move(mapping));
    } else {
      warnings->push_back(
          absl::StrCat(place, " ignored: ", mapping.status().message()));
    }
  }
}

template <typename T>
void AppendUnique(T value, std::vector<T>* list) {
  if (std::find(list->begin(), list->end(), value) == list->end()) {
    list->push_back(std::move(value));
  }
}

/// What `id` stands for in `pair`, if it is one of its sides.
template <typename T>
const T* OtherSide(const std::pair<T, T>& pair, const T& id) {
  if (pair.first == id) return &pair.second;
  return pair.second == id ? &pair.first : nullptr;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ClusterConfig>> ClusterConfig::Parse(
    absl::string_view config_json, absl::string_view mapping_json,
    std::vector<std::string>* warnings) {
  std::vector<std::string> unwanted;
  if (warnings == nullptr) warnings = &unwanted;
  ADDONS_ASSIGN_OR_RETURN(const Json entries,
                          ParseArray(config_json, kConfigFile));
  Json mappings = Json::array();
  if (!mapping_json.empty()) {
    ADDONS_ASSIGN_OR_RETURN(mappings, ParseArray(mapping_json, kMappingFile));
  }

  auto config = std::make_shared<ClusterConfig>();
  ParseEntries(entries, &config->entries_, &config->broken_, warnings);
  const size_t before = warnings->size();
  ParseMappings(mappings, &config->mappings_, warnings);
  if (warnings->size() > before) config->mapping_problem_ = (*warnings)[before];
  return config;
}

absl::StatusOr<std::shared_ptr<const ClusterConfig>>
ClusterConfig::ParseWithUnknownMapping(absl::string_view config_json,
                                       absl::string_view mapping_problem,
                                       std::vector<std::string>* warnings) {
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<const ClusterConfig> known,
                          Parse(config_json, "", warnings));
  auto config = std::make_shared<ClusterConfig>(*known);
  config->mapping_problem_ = std::string(mapping_problem);
  return config;
}

absl::StatusOr<const ClusterEntry*> ClusterConfig::Find(
    const ClusterId& cluster_id) const {
  for (const ClusterEntry& entry : entries_) {
    if (entry.cluster_id == cluster_id) return &entry;
  }
  const auto broken = broken_.find(cluster_id);
  if (broken != broken_.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the entry of cluster ", Shown(cluster_id), " in ",
                     kConfigFile, " is not usable: ", broken->second));
  }
  return absl::NotFoundError(
      absl::StrCat("cluster ", Shown(cluster_id), " is not in ", kConfigFile));
}

std::vector<std::pair<ClusterId, int64_t>> ClusterConfig::Mapped(
    const ClusterId& cluster_id, int64_t pool_id) const {
  const std::pair<ClusterId, int64_t> self(cluster_id, pool_id);
  std::vector<std::pair<ClusterId, int64_t>> mapped;
  for (const ClusterMapping& mapping : mappings_) {
    for (const auto& clusters : mapping.cluster_ids) {
      const ClusterId* cluster = OtherSide(clusters, self.first);
      if (cluster == nullptr) continue;
      for (const auto& pools : mapping.pool_ids) {
        const int64_t* pool = OtherSide(pools, pool_id);
        if (pool == nullptr) continue;
        std::pair<ClusterId, int64_t> other(*cluster, *pool);
        if (other != self) AppendUnique(std::move(other), &mapped);
      }
    }
  }
  return mapped;
}

std::vector<ClusterId> ClusterConfig::MappedClusters(
    const ClusterId& cluster_id) const {
  std::vector<ClusterId> mapped;
  for (const ClusterMapping& mapping : mappings_) {
    for (const auto& clusters : mapping.cluster_ids) {
      const ClusterId* cluster = OtherSide(clusters, cluster_id);
      if (cluster != nullptr) AppendUnique(*cluster, &mapped);
    }
  }
  return mapped;
}

}  // namespace addons
