#include "history/event_log.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/uuid.h"
#include "history/store.h"

namespace addons {

EventLog::EventLog(Clock& clock, std::string daemon)
    : clock_(clock),
      daemon_(std::move(daemon)),
      writer_(NewUuid().substr(0, 8)) {}

void EventLog::Begin() {
  const MutexLock lock(mutex_);
  begun_ = true;
}

EventLog::Object& EventLog::ObjectOf(const std::string& id) {
  Object& object = objects_[id];
  object.used = clock_.Now();
  if (objects_.size() > kMostObjects) {
    // Never this one: it is the newest.
    objects_.erase(std::min_element(objects_.begin(), objects_.end(),
                                    [](const auto& a, const auto& b) {
                                      return a.second.used < b.second.used;
                                    }));
  }
  return object;
}

void EventLog::Locate(const std::string& object, const ResolvedPlace& place,
                      const std::string& image) {
  const MutexLock lock(mutex_);
  if (!begun_ || object.empty()) return;
  Object& found = ObjectOf(object);
  found.place = {place.cluster->fsid(), place.pool_id, place.rados_namespace,
                 place.cluster};
  found.image = image;
  found.located = true;
}

void EventLog::AddAnswered(HistoryEvent asked, const absl::Status& answer) {
  asked.code = absl::StatusCodeToString(answer.code());
  if (!answer.ok()) asked.text = std::string(answer.message());
  Add(std::move(asked));
}

void EventLog::Add(HistoryEvent event) {
  const MutexLock lock(mutex_);
  if (!begun_ || event.object.empty()) return;
  Object& object = ObjectOf(event.object);
  const SteadyTime now = clock_.Now();
  event.time = event.until = absl::FromChrono(clock_.WallNow());
  event.times = 1;
  event.image = object.image;
  event.daemon = daemon_;
  for (Row& row : object.rows) {
    if (now - row.began >= kLongestRow || !SaysTheSame(row.last, event)) {
      continue;
    }
    row.last.until = event.time;
    ++row.last.times;
    row.untold = true;
    if (const auto found = waiting_.find(row.key); found != waiting_.end()) {
      found->second.event = row.last;
      row.untold = false;
    } else if (now - row.taken >= kRewrite) {
      Wait(row.key, row.last, now);
      row.untold = false;
    }
    return;
  }
  // Nothing that was before a change of the role goes on after it.
  const bool new_kind =
      std::none_of(object.rows.begin(), object.rows.end(),
                   [&](const Row& row) { return row.last.verb == event.verb; });
  const bool all_end =
      !event.to.empty() || (new_kind && object.rows.size() >= kRows);
  std::vector<Row> rows;
  for (Row& row : object.rows) {
    if (!all_end && row.last.verb != event.verb) {
      rows.push_back(std::move(row));
    } else if (row.untold) {
      Wait(row.key, row.last, now);
    }
  }
  Row row{HistoryKey(event.time, writer_, ++number_), event, now, now};
  if (event.to.empty()) rows.push_back(row);
  object.rows = std::move(rows);
  Wait(row.key, std::move(event), now);
}

void EventLog::Wait(const std::string& key, HistoryEvent event,
                    SteadyTime since) {
  if (waiting_.size() >= kMostWaiting && !waiting_.contains(key)) {
    ++stats_.dropped;
    return;
  }
  std::string object = event.object;
  waiting_.insert_or_assign(
      key, Waiting{std::move(object), std::move(event), since});
}

void EventLog::AllWait(SteadyTime now) {
  for (auto& [id, object] : objects_) {
    for (Row& row : object.rows) {
      if (std::exchange(row.untold, false)) Wait(row.key, row.last, now);
    }
  }
}

std::vector<HistoryBatch> EventLog::Take(const std::set<std::string>& busy,
                                         bool all) {
  const MutexLock lock(mutex_);
  const SteadyTime now = clock_.Now();
  if (all) AllWait(now);
  std::map<HistoryPlace, HistoryBatch> batches;
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const auto one = next++;
    const auto object = objects_.find(one->second.object);
    const bool located = object != objects_.end() && object->second.located &&
                         !object->second.place.cluster.expired();
    if (!located) {
      if (now - one->second.since > kLongestWait) {
        ++stats_.dropped;
        waiting_.erase(one);
      }
      continue;
    }
    const HistoryPlace& place = object->second.place;
    if (busy.contains(place.fsid)) continue;
    HistoryBatch& batch = batches[place];
    batch.place = place;
    for (Row& row : object->second.rows) {
      if (row.key == one->first) row.taken = now;
    }
    // Where the volume was found may have been seen only after this.
    if (one->second.event.image.empty()) {
      one->second.event.image = object->second.image;
    }
    batch.events.emplace(one->first, std::move(one->second.event));
    waiting_.erase(one);
  }
  std::vector<HistoryBatch> taken;
  taken.reserve(batches.size());
  for (auto& [place, batch] : batches) {
    ++being_written_[place.fsid];
    taken.push_back(std::move(batch));
  }
  return taken;
}

void EventLog::EndWriting(const HistoryBatch& batch) {
  if (const auto found = being_written_.find(batch.place.fsid);
      found != being_written_.end() && --found->second == 0) {
    being_written_.erase(found);
  }
}

bool EventLog::IsOnItsWay(const std::string& fsid) const {
  const MutexLock lock(mutex_);
  if (being_written_.contains(fsid)) return true;
  const SteadyTime soon = clock_.Now() - kSoon;
  for (const auto& [key, waiting] : waiting_) {
    const auto object = objects_.find(waiting.object);
    if (waiting.since > soon && object != objects_.end() &&
        object->second.located && object->second.place.fsid == fsid) {
      return true;
    }
  }
  return false;
}

void EventLog::Written(const HistoryBatch& batch) {
  const MutexLock lock(mutex_);
  EndWriting(batch);
  stats_.written += batch.events.size();
}

void EventLog::Return(const HistoryBatch& batch) {
  const MutexLock lock(mutex_);
  EndWriting(batch);
  const SteadyTime now = clock_.Now();
  const absl::Time oldest =
      absl::FromChrono(clock_.WallNow()) - absl::FromChrono(kLongestWait);
  for (const auto& [key, event] : batch.events) {
    // A newer form of it waits already.
    if (waiting_.contains(key)) continue;
    if (event.until < oldest) {
      ++stats_.dropped;
      continue;
    }
    Wait(key, event, now);
  }
}

HistoryStats EventLog::stats() const {
  const MutexLock lock(mutex_);
  HistoryStats stats = stats_;
  stats.waiting = waiting_.size();
  return stats;
}

}  // namespace addons
