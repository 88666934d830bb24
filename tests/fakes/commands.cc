#include "tests/fakes/commands.h"

#include <cerrno>
#include <optional>
#include <regex>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "ceph/pool.h"
#include "nlohmann/json.hpp"
#include "tests/fakes/blocklist_commands.h"

namespace addons::model {
namespace {

using nlohmann::json;

// One level of the schedules: everything, a pool, a namespace or an image.
struct Level {
  std::string name;
  std::string id;
  std::optional<int64_t> pool_id;
  std::optional<std::string> rados_namespace;
  std::string image_id;

  bool ChildOf(const Level& other) const {
    if (!other.pool_id) return pool_id.has_value();
    if (pool_id != other.pool_id) return false;
    if (!other.rados_namespace) return rados_namespace.has_value();
    if (rados_namespace != other.rados_namespace) return false;
    return other.image_id.empty() && !image_id.empty();
  }
};

PoolState* FindPool(Site& site, absl::string_view name) {
  for (auto& [id, pool] : site.pools) {
    if (pool.name == name) return &pool;
  }
  return nullptr;
}

// Fills `level` from "pool/", "pool/ns/", "pool/image" or "pool/ns/image";
// returns what is wrong with it.
std::string ParseLevel(Site& site, const std::string& text, Level* level) {
  static const std::regex* const kPattern =
      new std::regex("^(?:([^/]+)/(?:(?:([^/]*)/|)(?:([^/@]+))?)?)?$");
  std::smatch match;
  if (!std::regex_match(text, match, *kPattern)) {
    return absl::StrCat("failed to parse ", text);
  }
  level->name = text;
  if (!match[1].matched) return "";
  PoolState* const pool = FindPool(site, match[1].str());
  if (pool == nullptr)
    return absl::StrCat("pool ", match[1].str(), " does not exist");
  level->pool_id = pool->id;
  level->id = absl::StrCat(pool->id);
  if (!match[2].matched && !match[3].matched) return "";
  const std::string space = match[2].str();
  if (!pool->namespaces.contains(space)) {
    return absl::StrCat("namespace ", space, " does not exist");
  }
  level->rados_namespace = space;
  absl::StrAppend(&level->id, "/", space);
  if (!match[3].matched) return "";
  const std::string name = match[3].str();
  const auto& images = pool->namespaces[space].images;
  const auto image = images.find(name);
  if (image == images.end())
    return absl::StrCat("image ", name, " does not exist");
  if (image->second->mode != MirrorMode::kSnapshot) {
    return absl::StrCat("image ", name, " is not in snapshot mirror mode");
  }
  level->image_id = image->second->id;
  absl::StrAppend(&level->id, "/", level->image_id);
  if (space.empty()) level->name = absl::StrCat(pool->name, "/", name);
  return "";
}

Level LevelFromId(const std::string& id, const std::string& name) {
  Level level;
  level.id = id;
  level.name = name;
  std::smatch match;
  static const std::regex* const kPattern =
      new std::regex(R"(^(\d+)(?:/([^/]*)(?:/(.+))?)?$)");
  if (!std::regex_match(id, match, *kPattern)) return level;
  int64_t pool_id = 0;
  if (absl::SimpleAtoi(match[1].str(), &pool_id)) level.pool_id = pool_id;
  if (match[2].matched) level.rados_namespace = match[2].str();
  level.image_id = match[3].str();
  return level;
}

std::optional<int64_t> ParseMinutes(const std::string& text) {
  static const std::regex* const kPattern =
      new std::regex(R"(^(\d+)(d|h|m)?$)");
  std::smatch match;
  int64_t minutes = 0;
  if (!std::regex_match(text, match, *kPattern) ||
      !absl::SimpleAtoi(match[1].str(), &minutes)) {
    return std::nullopt;
  }
  if (match[2].str() == "d") return minutes * 60 * 24;
  if (match[2].str() == "h") return minutes * 60;
  return minutes;
}

std::string IntervalText(int64_t minutes) {
  constexpr int64_t kDay = 24 * 60;
  if (minutes % kDay == 0) return absl::StrCat(minutes / kDay, "d");
  if (minutes % 60 == 0) return absl::StrCat(minutes / 60, "h");
  return absl::StrCat(minutes, "m");
}

// "2026-11-20T03:00:00Z" and "03:00" as the module keeps them: without date and
// seconds.
std::optional<std::string> ParseStartTime(const std::string& text) {
  static const std::regex* const kPattern = new std::regex(
      R"(^(?:\d{4}-\d{2}-\d{2}[T ])?(\d{1,2}):(\d{2})(?::\d{2})?(Z|[+-]\d{2}:?\d{2})?$)");
  std::smatch match;
  if (!std::regex_match(text, match, *kPattern)) return std::nullopt;
  int hour = 0;
  int minute = 0;
  if (!absl::SimpleAtoi(match[1].str(), &hour) ||
      !absl::SimpleAtoi(match[2].str(), &minute) || hour > 23 || minute > 59) {
    return std::nullopt;
  }
  std::string zone = match[3].str();
  if (zone == "Z") zone = "+00:00";
  if (zone.size() == 5) zone.insert(3, ":");
  return absl::StrFormat("%02d:%02d:00%s", hour, minute, zone);
}

// The same of the module of Ceph 21: "2026-11-20T03:00:00+00:00".
std::optional<std::string> ParseDatedStartTime(const std::string& text) {
  absl::Time moment;
  std::string error;
  for (const char* const format :
       {"%Y-%m-%d%ET%H:%M:%E*S%Ez", "%Y-%m-%d%ET%H:%M:%E*S"}) {
    if (absl::ParseTime(format, text, absl::UTCTimeZone(), &moment, &error)) {
      return absl::FormatTime("%Y-%m-%dT%H:%M:00+00:00", moment,
                              absl::UTCTimeZone());
    }
  }
  return std::nullopt;
}

// [{"interval", "start_time"}], as the module lists and keeps them.
json ItemsOf(const Schedule& schedule) {
  json items = json::array();
  for (const auto& [minutes, start] : schedule.items) {
    items.push_back({{"interval", IntervalText(minutes)},
                     {"start_time", start.empty() ? json() : json(start)}});
  }
  return items;
}

// The module keeps those of a pool, of its namespaces and images in an object
// of the pool, and writes them there before it answers.
void SaveSchedule(Site& site, const std::string& id) {
  const auto pool = site.pools.find(LevelFromId(id, "").pool_id.value_or(-1));
  if (pool == site.pools.end()) return;
  auto& omap = pool->second.namespaces[""].omap["rbd_mirror_snapshot_schedule"];
  const auto schedule = site.schedules.find(id);
  if (schedule == site.schedules.end()) {
    omap.erase(id);
  } else {
    omap[id] = ItemsOf(schedule->second).dump(4);
  }
}

json ListSchedules(const Site& site, const Level& level) {
  std::optional<Level> parent;
  std::map<std::string, Level> levels;
  for (const auto& [id, schedule] : site.schedules) {
    levels[id] = LevelFromId(id, schedule.name);
  }
  if (!site.schedules.contains(level.id)) {
    for (const auto& [id, candidate] : levels) {
      if (level.ChildOf(candidate) && (!parent || candidate.ChildOf(*parent))) {
        parent = candidate;
      }
    }
  }
  json result = json::object();
  for (const auto& [id, schedule] : site.schedules) {
    const bool wanted = id == level.id || (parent && id == parent->id) ||
                        levels[id].ChildOf(level);
    if (!wanted) continue;
    result[id] = {{"name", schedule.name}, {"schedule", ItemsOf(schedule)}};
  }
  return result;
}

CommandResult ChangeSchedule(Site& site, const Level& level,
                             const json& command, bool add) {
  const bool has_interval = command.contains("interval");
  std::pair<int64_t, std::string> item;
  if (has_interval) {
    const auto text = command["interval"].get<std::string>();
    const auto minutes = ParseMinutes(text);
    if (!minutes)
      return {-EINVAL, "", absl::StrCat("Invalid interval (", text, ")")};
    item.first = *minutes;
  } else if (add) {
    return {-EINVAL, "", "missing required parameter interval"};
  }
  const std::string start = command.value("start_time", "");
  if (!start.empty()) {
    const auto kept =
        site.manager_of_21 ? ParseDatedStartTime(start) : ParseStartTime(start);
    if (!kept) return {-EINVAL, "", absl::StrCat("Invalid start time ", start)};
    item.second = *kept;
  }
  if (add) {
    site.schedules[level.id].name = level.name;
    site.schedules[level.id].items.insert(item);
    SaveSchedule(site, level.id);
    return {};
  }
  const auto it = site.schedules.find(level.id);
  if (it != site.schedules.end()) {
    if (has_interval) it->second.items.erase(item);
    if (!has_interval || it->second.items.empty()) site.schedules.erase(it);
  }
  SaveSchedule(site, level.id);
  return {};
}

bool IsFull(const PoolState& pool) {
  const auto space = pool.namespaces.find("");
  return space != pool.namespaces.end() && space->second.full;
}

/// The module has to write into a pool that is full: it waits, with a lock that
/// each of its commands takes.
bool Waits(Site& site, int64_t pool_id) {
  const auto pool = site.pools.find(pool_id);
  if (pool == site.pools.end() || !IsFull(pool->second)) return false;
  site.manager_waits_at = pool_id;
  return true;
}

CommandResult RunSchedule(Site& site, absl::string_view verb,
                          const json& command) {
  const std::string text = command.value("level_spec", "");
  Level level;
  const std::string problem = ParseLevel(site, text, &level);
  if (!problem.empty()) {
    return {-EINVAL, "",
            site.manager_of_21
                ? problem
                : absl::StrCat("Invalid level spec ", text, ": ", problem)};
  }
  if (verb == "list") return {0, ListSchedules(site, level).dump(4) + "\n", ""};
  if (verb == "add" || verb == "remove") {
    if (Waits(site, level.pool_id.value_or(-1))) return {-ETIMEDOUT, "", ""};
    return ChangeSchedule(site, level, command, verb == "add");
  }
  return {-EINVAL, "", "No handler found"};
}

json TaskJson(const FlattenTask& task, bool running, double total) {
  const std::string where =
      task.rados_namespace.empty()
          ? absl::StrCat(task.pool_name, "/", task.image_name)
          : absl::StrCat(task.pool_name, "/", task.rados_namespace, "/",
                         task.image_name);
  json result = {{"sequence", task.sequence},
                 {"id", task.id},
                 {"message", absl::StrCat("Flattening image ", where)},
                 {"refs",
                  {{"action", "flatten"},
                   {"pool_name", task.pool_name},
                   {"pool_namespace", task.rados_namespace},
                   {"image_name", task.image_name},
                   {"image_id", task.image_id}}}};
  if (running) {
    result["in_progress"] = true;
    result["progress"] = total > 0 ? task.done / total : 0.0;
  }
  return result;
}

double Objects(Site& site, const FlattenTask& task) {
  PoolState* const pool = FindPool(site, task.pool_name);
  if (pool == nullptr) return 0;
  const auto image = Model::FindImageById(
      pool->namespaces[task.rados_namespace], task.image_id);
  return image == nullptr ? 0 : static_cast<double>(image->size.objects);
}

CommandResult AddFlatten(Model& model, Site& site, const std::string& spec) {
  static const std::regex* const kPattern =
      new std::regex("^(?:([^/]+)/(?:([^/]+)/)?)?([^/@]+)$");
  std::smatch match;
  if (!std::regex_match(spec, match, *kPattern)) {
    return {-EINVAL, "", absl::StrCat("Invalid image spec: ", spec)};
  }
  PoolState* const pool =
      FindPool(site, match[1].matched ? match[1].str() : std::string("rbd"));
  if (pool == nullptr)
    return {-ENOENT, "",
            absl::StrCat("Pool ", match[1].str(), " does not exist")};
  const auto& images = pool->namespaces[match[2].str()].images;
  const auto image = images.find(match[3].str());
  if (image == images.end()) {
    return {-ENOENT, "", absl::StrCat("Image ", spec, " does not exist")};
  }
  for (const FlattenTask& task : site.tasks) {
    if (task.image_id == image->second->id) {
      return {0,
              TaskJson(task, &task == &site.tasks.front(), Objects(site, task))
                  .dump(),
              ""};
    }
  }
  if (!image->second->parent) {
    return {-ENOENT, "",
            absl::StrCat("Image ", spec, " does not have a parent")};
  }
  if (Waits(site, pool->id)) return {-ETIMEDOUT, "", ""};
  site.tasks.push_back({site.next_task++, model.NewUuid(), pool->name,
                        match[2].str(), image->first, image->second->id, 0});
  return {0, TaskJson(site.tasks.back(), false, 0).dump() + "\n", ""};
}

CommandResult ListTasks(Site& site) {
  json result = json::array();
  for (const FlattenTask& task : site.tasks) {
    result.push_back(
        TaskJson(task, &task == &site.tasks.front(), Objects(site, task)));
  }
  return {0, result.dump(4) + "\n", ""};
}

// {} when it is not an object with a prefix.
json ParseCommand(const std::string& text) {
  json command = ParseJson(text);
  if (!command.is_object() || !command.contains("prefix") ||
      !command["prefix"].is_string()) {
    return json::object();
  }
  json texts = json::object();
  for (const auto& [key, value] : command.items()) {
    if (value.is_string()) texts[key] = value;
  }
  return texts;
}

}  // namespace

void RefreshSchedules(Site& site) {
  std::erase_if(site.schedules, [&](const auto& entry) {
    const Level level = LevelFromId(entry.first, entry.second.name);
    if (level.image_id.empty()) return false;
    const auto pool = site.pools.find(level.pool_id.value_or(-1));
    if (pool == site.pools.end()) return true;
    const auto image = Model::FindImageById(
        pool->second.namespaces[level.rados_namespace.value_or("")],
        level.image_id);
    if (image != nullptr && image->mode == MirrorMode::kSnapshot) return false;
    pool->second.namespaces[""].omap["rbd_mirror_snapshot_schedule"].erase(
        entry.first);
    return true;
  });
}

/// 1 is a replicated pool, 3 an erasure-coded one.
json ListPools(const Site& site) {
  json pools = json::array();
  const auto add = [&](int64_t id, int type, bool full = false) {
    pools.push_back(
        {{"pool_id", id},
         {"type", type},
         {"flags_names", full ? "hashpspool,full,full_quota,selfmanaged_snaps"
                              : "hashpspool,selfmanaged_snaps"}});
  };
  for (const auto& [id, pool] : site.pools) {
    add(id, 1, IsFull(pool));
    for (const auto& [name, space] : pool.namespaces) {
      for (const auto& [image, found] : space.images) {
        if (found->data_pool.has_value()) add(*found->data_pool, 3);
      }
    }
  }
  return pools;
}

CommandResult RunMonCommand(Model& model, Site& site, const std::string& text) {
  const json command = ParseCommand(text);
  const std::string prefix = command.value("prefix", "");
  // As 16.2.15 prints them; a single monitor has no skews.
  if (prefix == "versions") {
    const json three = {
        {"ceph version 16.2.15 (618f440892) pacific (stable)", 3}};
    const json osds = {{absl::StrCat("ceph version ", site.osd_release,
                                     " (618f440892) pacific (stable)"),
                        1}};
    const json managers = {
        {absl::StrCat("ceph version ",
                      site.manager_of_21 ? "21.1.0" : "16.2.15",
                      " (618f440892)"),
         1}};
    return {0,
            json{{"mgr", managers}, {"osd", osds}, {"overall", three}}.dump(),
            ""};
  }
  if (prefix == "time-sync-status") {
    return {0, json{{"timechecks", {{"epoch", 4}, {"round", 0}}}}.dump(), ""};
  }
  if (prefix == "osd lspools") {
    json pools = json::array();
    for (const auto& [id, pool] : site.pools) {
      pools.push_back({{"poolnum", id}, {"poolname", pool.name}});
    }
    return {0, pools.dump(), ""};
  }
  if (prefix == "df") {
    json pools = json::array();
    for (const auto& [id, pool] : site.pools) {
      pools.push_back({{"id", id},
                       {"name", pool.name},
                       {"stats",
                        {{"stored", 0},
                         {"quota_bytes", 0},
                         {"max_avail", site.pool_room}}}});
    }
    return {0, json{{"pools", pools}}.dump(), ""};
  }
  if (prefix == "osd pool ls" && command.value("detail", "") == "detail") {
    return {0, ListPools(site).dump(), ""};
  }
  return RunBlocklistCommand(model, site, ParseJson(text));
}

// As 16.2.15 prints it. A frozen rbd-mirror sends no beacon.
CommandResult ServiceStatus(const Model& model, const Site& site) {
  if (!site.daemon.exists || (site.daemon.state != DaemonState::kRunning &&
                              site.daemon.state != DaemonState::kHung &&
                              site.daemon.state != DaemonState::kCutOff)) {
    return {0, "{}", ""};
  }
  json told = json::object();
  for (const auto& [id, pool] : site.pools) {
    json callouts = json::object();
    if (site.daemon.state == DaemonState::kCutOff) {
      callouts["3"] = {{"level", "error"},
                       {"text", "unable to connect to remote cluster"}};
    }
    told[absl::StrCat(id)] = {{"name", pool.name}, {"callouts", callouts}};
  }
  // A beacon every ten seconds.
  const int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                          model.wall().time_since_epoch())
                          .count();
  return {0,
          json{{"rbd-mirror",
                {{"4313",
                  {{"last_beacon", absl::StrCat(now - now % 10)},
                   {"status", {{"json", told.dump()}}}}}}}}
              .dump(),
          ""};
}

CommandResult RunMgrCommand(Model& model, Site& site, const std::string& text) {
  const json command = ParseCommand(text);
  const std::string prefix = command.value("prefix", "");
  constexpr absl::string_view kSchedule = "rbd mirror snapshot schedule ";
  const bool ours = absl::StartsWith(prefix, "rbd ");
  if (ours && !site.mgr_has_module) return {-EINVAL, "", "No handler found"};
  if (ours && !site.mgr_ready) {
    return {-EAGAIN, "", "rbd_support module is not ready, try again"};
  }
  if (ours && site.manager_waits_at.has_value()) {
    if (Waits(site, *site.manager_waits_at)) return {-ETIMEDOUT, "", ""};
    site.manager_waits_at.reset();
  }
  if (absl::StartsWith(prefix, kSchedule)) {
    return RunSchedule(site, prefix.substr(kSchedule.size()), command);
  }
  if (prefix == "rbd task add flatten") {
    return AddFlatten(model, site, command.value("image_spec", ""));
  }
  if (prefix == "rbd task list") return ListTasks(site);
  if (prefix == "rbd trash purge schedule list") return {0, "{}\n", ""};
  if (prefix == "service status") return ServiceStatus(model, site);
  return {-EINVAL, "", "No handler found"};
}

}  // namespace addons::model
