#include "history/store.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "ceph/omap_object.h"
#include "history/event_log.h"
#include "volume/pools.h"
#include "volume/volume_directory.h"

namespace addons {
namespace {

constexpr uint64_t kPage = 500;

/// Microseconds since 1970, so that texts are in the order of time.
std::string TimeKey(absl::Time time) {
  return absl::StrFormat("%016x", static_cast<uint64_t>(absl::ToUnixMicros(
                                      std::max(time, absl::UnixEpoch()))));
}

/// Shows all entries after `after`, in order.
absl::Status ForEachEntry(
    Pool& pool, std::string after,
    const std::function<void(const std::string&, const std::string&)>& show) {
  for (;;) {
    const auto page = pool.ReadOmapPage(kHistoryObject, "", after, kPage);
    if (absl::IsNotFound(page.status())) return absl::OkStatus();
    ADDONS_RETURN_IF_ERROR(page.status());
    for (const auto& [key, value] : page->values) show(key, value);
    if (!page->more || page->values.empty()) return absl::OkStatus();
    after = page->values.rbegin()->first;
  }
}

/// Whether the pool has `object`; false also where that cannot be read.
absl::StatusOr<bool> HasObject(Pool& pool, const std::string& object) {
  const absl::Status read = pool.ReadOmapPage(object, "", "", 1).status();
  if (absl::IsUnavailable(read) || absl::IsDeadlineExceeded(read)) return read;
  return read.ok();
}

bool IsAbout(const std::string& object, const std::string& uuid) {
  return !uuid.empty() && absl::EndsWith(object, absl::StrCat("-", uuid));
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> PoolsOfHistory(
    Cluster& cluster, const std::string& rados_namespace,
    const std::string& instance_id) {
  ADDONS_ASSIGN_OR_RETURN(const auto pools, ListPools(cluster));
  std::vector<int64_t> found;
  for (const auto& [id, name] : pools) {
    const auto pool = cluster.OpenPool(id, rados_namespace, Access::kRead);
    if (!pool.ok()) continue;
    for (const std::string& object : {std::string(kHistoryObject),
                                      VolumeDirectory::ObjectOf(instance_id)}) {
      ADDONS_ASSIGN_OR_RETURN(const bool has, HasObject(**pool, object));
      if (!has) continue;
      found.push_back(id);
      break;
    }
  }
  return found;
}

std::string HistoryKey(absl::Time time, const std::string& writer,
                       uint64_t number) {
  return absl::StrFormat("%s-%s-%08x", TimeKey(time), writer, number);
}

absl::Status WriteHistory(Pool& pool, const OmapValues& events) {
  return SetOmapValuesCreating(pool, kHistoryObject, events);
}

absl::Status TrimHistory(Pool& pool, size_t most) {
  std::vector<std::string> keys;
  ADDONS_RETURN_IF_ERROR(ForEachEntry(
      pool, "", [&](const std::string& key, const std::string& /*value*/) {
        keys.push_back(key);
      }));
  if (keys.size() <= most) return absl::OkStatus();
  keys.resize(keys.size() - most);
  return pool.RemoveOmapKeys(kHistoryObject, keys);
}

absl::StatusOr<HistoryFound> ReadHistory(Pool& pool,
                                         const HistoryQuery& query) {
  // What began before may have gone on.
  const absl::Time begun =
      query.since - absl::FromChrono(EventLog::kLongestRow);
  HistoryFound found;
  std::deque<HistoryEvent> newest;
  ADDONS_RETURN_IF_ERROR(ForEachEntry(
      pool, begun > absl::UnixEpoch() ? TimeKey(begun) : "",
      [&](const std::string& /*key*/, const std::string& value) {
        auto event = ParseHistoryEvent(value);
        if (!event.ok()) {
          ++found.unreadable;
          return;
        }
        if (event->until < query.since ||
            (!query.objects.empty() && !query.objects.contains(event->object) &&
             !IsAbout(event->object, query.uuid)))
          return;
        newest.push_back(*std::move(event));
        if (newest.size() > query.most) {
          newest.pop_front();
          found.more = true;
        }
      }));
  found.events.assign(std::make_move_iterator(newest.begin()),
                      std::make_move_iterator(newest.end()));
  return found;
}

}  // namespace addons
