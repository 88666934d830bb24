// The status page for programs.

#include "base/json.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/utc.h"
#include "server/page/html.h"
#include "server/page/troubles.h"
#include "server/page/view.h"
#include "server/status_page.h"
#include "watch/copy_state.h"
#include "watch/watched_names.h"

namespace addons {
namespace {

using nlohmann::json;

/// Nothing is written of what is not known.
template <typename Value>
void Put(const char* name, const std::optional<Value>& value, json* object) {
  if (value.has_value()) (*object)[name] = *value;
}

void Put(const char* name, const std::string& value, json* object) {
  if (!value.empty()) (*object)[name] = value;
}

std::optional<int64_t> SecondsSince(std::optional<SteadyTime> then,
                                    SteadyTime now) {
  if (!then.has_value()) return std::nullopt;
  return SecondsBetween(*then, now);
}

json JsonOf(const Trouble& trouble) {
  json object = {{"severity", trouble.bad ? "bad" : "warning"},
                 {"kind", trouble.kind},
                 {"headline", trouble.headline}};
  Put("detail", trouble.detail, &object);
  Put("command", trouble.command, &object);
  Put("runbook", trouble.document, &object);
  return object;
}

json JsonOf(const StatusPage& page, const WatchedPool& pool) {
  json object = {{"cluster", pool.cluster_id},
                 {"pool", pool.pool},
                 {"volumes", pool.total},
                 {"peers", pool.peers}};
  Put("namespace", pool.rados_namespace, &object);
  Put("seen_seconds_ago", SecondsSince(pool.seen_at, page.now), &object);
  Put("unseen", pool.unseen, &object);
  Put("blocklisted_seconds", SecondsSince(pool.blocklisted_since, page.now),
      &object);
  Put("schedules_unseen", pool.schedules_unseen, &object);
  Put("local_mirror_reports", pool.local_mirror_up, &object);
  Put("peer_mirror_reports", pool.peer_mirror_up, &object);
  Put("peer_silent_seconds", PeerSilentSeconds(page, pool), &object);
  const CopyStateCounts counts = CountStatesAt(pool, page.now);
  json& states = object["states"] = json::object();
  for (size_t i = 0; i < kCopyStates; ++i) {
    states[std::string(Name(static_cast<CopyState>(i)))] = counts.at(i);
  }
  return object;
}

/// An object as a text: as trees, thousands of volumes take five times as long.
class ObjectText {
 public:
  void Put(absl::string_view name, absl::string_view value) {
    if (value.empty()) return;
    Begin(name);
    if (std::all_of(value.begin(), value.end(), IsPlain)) {
      absl::StrAppend(&text_, "\"", value, "\"");
    } else {
      text_ += ReplacedJsonText(json(std::string(value)));
    }
  }
  void Put(absl::string_view name, const std::optional<int64_t>& value) {
    if (!value.has_value()) return;
    Begin(name);
    absl::StrAppend(&text_, *value);
  }
  void PutTrue(absl::string_view name, bool holds) {
    if (!holds) return;
    Begin(name);
    text_ += "true";
  }
  std::string Whole() && { return absl::StrCat("{", text_, "}"); }

 private:
  static bool IsPlain(char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  }
  void Begin(absl::string_view name) {
    absl::StrAppend(&text_, text_.empty() ? "\"" : ",\"", name, "\":");
  }

  std::string text_;
};

std::string TextOf(const PageVolume& volume) {
  const WatchedImage& image = *volume.image;
  ObjectText object;
  object.Put("name", volume.name);
  object.Put("cluster", volume.pool->cluster_id);
  object.Put("image", SpecOf(*volume.pool, image));
  object.Put("role", Name(image.role));
  object.Put("state", Name(volume.state));
  object.Put("claim", image.claim);
  object.Put("group", image.group.name);
  object.Put("group_id", image.group.id);
  object.Put("volume_name", image.volume_name);
  object.Put("volume_id", image.volume_id);
  object.Put("copy_age_seconds", volume.age);
  object.Put("last_copy", image.last_sync);
  object.Put("interval_seconds", image.interval_seconds);
  object.Put("percent", image.percent);
  object.Put("bytes_remaining", image.bytes_remaining);
  object.Put("bytes_per_second", image.bytes_per_second);
  object.Put("seconds_left", volume.SecondsLeft());
  object.Put("missed_snapshots", image.missed_snapshots);
  object.Put("message", image.message);
  object.PutTrue("split_brain", image.split_brain);
  object.PutTrue("stale", volume.stale());
  return std::move(object).Whole();
}

json JsonOf(const PageTotals& totals) {
  json object = {{"volumes", totals.volumes},
                 {"protected", totals.of(CopyState::kInStep)},
                 {"late", totals.of(CopyState::kLate)},
                 {"broken", totals.of(CopyState::kBroken)},
                 {"copying", totals.of(CopyState::kCopying)},
                 {"unknown", totals.of(CopyState::kUnknown)},
                 {"primary_here", totals.primary},
                 {"stale", totals.stale}};
  Put("oldest_copy_seconds", totals.oldest_age, &object);
  Put("oldest_copy_volume", totals.oldest_name, &object);
  return object;
}

int64_t WholeSecondsOf(std::chrono::milliseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

json OperationsOf(const StatusPage& page, const WatchedNames& names) {
  json list = json::array();
  for (const OperationInfo& operation : page.operations) {
    json& object =
        list.emplace_back(json{{"id", operation.id},
                               {"verb", operation.verb},
                               {"object", names.Named(operation.object)},
                               {"age_seconds", WholeSecondsOf(operation.age)},
                               {"running", operation.running},
                               {"stuck", operation.stuck}});
    Put("step", operation.step, &object);
    if (operation.total > 0) {
      object["done"] = operation.done;
      object["total"] = operation.total;
    }
  }
  return list;
}

json EndedOf(const StatusPage& page, const WatchedNames& names) {
  json list = json::array();
  for (const EndedOperation& operation : page.ended) {
    json& object = list.emplace_back(json{
        {"verb", operation.verb},
        {"object", names.Named(operation.object)},
        {"ended_seconds_ago", SecondsBetween(operation.ended_at, page.now)},
        {"took_seconds", WholeSecondsOf(operation.age)},
        {"outcome", absl::StatusCodeToString(operation.status.code())}});
    Put("message", std::string(operation.status.message()), &object);
  }
  return list;
}

json ClustersOf(const StatusPage& page) {
  json list = json::array();
  for (const WatchedFences& cluster : page.watch->fences) {
    json& object = list.emplace_back(
        json{{"cluster", cluster.cluster_id}, {"fences", cluster.total}});
    Put("seen_seconds_ago", SecondsSince(cluster.seen_at, page.now), &object);
    Put("silent_seconds", SilentSeconds(page, cluster.cluster_id), &object);
  }
  return list;
}

std::string VolumesText(const PageView& view, size_t begin, size_t end) {
  std::string text = "[";
  for (size_t i = begin; i < end; ++i) {
    absl::StrAppend(&text, i == begin ? "\n" : ",\n", TextOf(view.volumes[i]));
  }
  return text + "]";
}

}  // namespace

std::string StatusJson(const StatusPage& page) {
  const std::vector<Trouble> troubles = TroublesOf(page);
  const bool busy = !page.operations.empty() || !page.ended.empty();
  const WatchedNames names(busy ? page.watch.get() : nullptr);
  json object = {{"version", page.version},
                 {"host", page.host},
                 {"site", page.site},
                 {"time", FormatUtc(absl::FromChrono(page.wall_now))},
                 {"headline", Headline(page, troubles)},
                 {"troubles", json::array()},
                 {"operations", OperationsOf(page, names)},
                 {"ended", EndedOf(page, names)}};
  for (const Trouble& trouble : troubles) {
    object["troubles"].push_back(JsonOf(trouble));
  }
  object["watched"] = page.watch != nullptr;
  if (page.watch == nullptr) return ReplacedJsonText(object) + "\n";
  const PageView view = ViewOf(page);
  object["totals"] = JsonOf(view.totals);
  object["clusters"] = ClustersOf(page);
  object["pools"] = json::array();
  for (const WatchedPool& pool : page.watch->pools) {
    object["pools"].push_back(JsonOf(page, pool));
  }
  object["fitting"] = view.volumes.size();
  size_t begin = 0;
  size_t end = view.volumes.size();
  if (view.query.page.has_value()) {
    begin = std::min(end, (*view.query.page - 1) * kRowsOfPage);
    end = std::min(end, begin + kRowsOfPage);
  }
  std::string text = ReplacedJsonText(object);
  text.pop_back();
  return absl::StrCat(text, ",\"volumes\":", VolumesText(view, begin, end),
                      "}\n");
}

}  // namespace addons
