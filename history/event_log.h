#ifndef ADDONS_HISTORY_EVENT_LOG_H_
#define ADDONS_HISTORY_EVENT_LOG_H_

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "ceph/cluster.h"
#include "history/event.h"
#include "volume/resolved.h"

namespace addons {

/// A pool and RADOS namespace that events are written to.
struct HistoryPlace {
  std::string fsid;
  int64_t pool_id = 0;
  std::string rados_namespace;
  /// How it is reached: not kept alive by an event that waits.
  std::weak_ptr<Cluster> cluster;

  friend auto operator<=>(const HistoryPlace& a, const HistoryPlace& b) {
    return std::tie(a.fsid, a.pool_id, a.rados_namespace) <=>
           std::tie(b.fsid, b.pool_id, b.rados_namespace);
  }
  friend bool operator==(const HistoryPlace& a, const HistoryPlace& b) {
    return std::is_eq(a <=> b);
  }
};

struct HistoryBatch {
  HistoryPlace place;
  std::map<std::string, HistoryEvent> events;  // by key
};

struct HistoryStats {
  uint64_t written = 0;  // entries, each of them once
  uint64_t dropped = 0;  // too many waited, or for too long
  size_t waiting = 0;
};

/// What happened to volumes and groups, in memory until it is written to their
/// pools (HistoryWriter): to add to it costs a call nothing but a lock. What
/// repeats itself within kLongestRow is one event with a number, written anew
/// every kRewrite; also where kRows kinds of calls take turns, as an operator's
/// Demote and Resync of a secondary do, but for one whose role has changed.
/// Bounded: what is too much is dropped and counted. Thread-safe.
class EventLog {
 public:
  static constexpr std::chrono::hours kLongestRow{1};
  static constexpr std::chrono::minutes kRewrite{5};
  static constexpr size_t kRows = 2;
  static constexpr size_t kMostWaiting = 4096;
  static constexpr size_t kMostObjects = 10000;
  static constexpr std::chrono::minutes kLongestWait{30};
  static constexpr std::chrono::seconds kSoon{3};

  /// `daemon` is told in each event. `clock` is not owned.
  EventLog(Clock& clock, std::string daemon);

  /// Without an effect until this is called: nobody would write it.
  void Begin();
  /// Where events of `object` are written to from now on, and what its image is
  /// called.
  void Locate(const std::string& object, const ResolvedPlace& place,
              const std::string& image);
  /// Time, number, image and daemon are filled in here.
  void Add(HistoryEvent event);
  /// Add() of a call, with the code of its answer, and the message of one that
  /// is not OK.
  void AddAnswered(HistoryEvent asked, const absl::Status& answer);

  /// What is to be written now, except to clusters of `busy` (fsids). With
  /// `all` also what only has a new number.
  std::vector<HistoryBatch> Take(const std::set<std::string>& busy, bool all);
  /// It was.
  void Written(const HistoryBatch& batch);
  /// It was not: it waits again, unless it is too old by now.
  void Return(const HistoryBatch& batch);

  /// Whether something that happened to objects of the cluster `fsid` in the
  /// last kSoon is not written yet. What cannot be written for longer is not
  /// waited for.
  bool IsOnItsWay(const std::string& fsid) const;

  HistoryStats stats() const;

 private:
  struct Row {
    std::string key;  // of `last`
    HistoryEvent last;
    SteadyTime began;
    SteadyTime taken;     // when `last` was taken to be written
    bool untold = false;  // `last` has a number that was not taken
  };
  struct Object {
    HistoryPlace place;
    std::string image;
    bool located = false;
    std::vector<Row> rows;  // that may go on, the oldest first
    SteadyTime used;
  };
  struct Waiting {
    std::string object;
    HistoryEvent event;
    SteadyTime since;
  };

  void EndWriting(const HistoryBatch& batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Wait(const std::string& key, HistoryEvent event, SteadyTime since)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// What was not told yet of any row.
  void AllWait(SteadyTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Object& ObjectOf(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  const std::string daemon_;
  const std::string writer_;  // of this process alone
  mutable Mutex mutex_;
  bool begun_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Object> objects_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);    // by key
  std::map<std::string, int> being_written_ ABSL_GUARDED_BY(mutex_);  // by fsid
  HistoryStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_HISTORY_EVENT_LOG_H_
