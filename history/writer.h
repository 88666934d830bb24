#ifndef ADDONS_HISTORY_WRITER_H_
#define ADDONS_HISTORY_WRITER_H_

#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "base/bounded_threads.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/periodic.h"
#include "base/seldom.h"
#include "base/start_thread.h"
#include "history/event_log.h"

namespace addons {

struct HistoryWriterOptions {
  std::chrono::milliseconds interval{1000};
  /// How many events a pool and namespace keeps; the oldest go.
  size_t most = 5000;
  /// ceph-csi's --instanceid: pools with its volumes are told of what happens
  /// to their whole cluster.
  std::string instance_id = "default";
  /// How long a cluster where writing failed is left alone.
  std::chrono::seconds pause{30};
};

/// Writes what is in an EventLog to the pools, on threads of its own: no call
/// waits for it. One write per cluster is under way at a time, so a cluster
/// that hangs costs one thread and delays no other cluster's events.
class HistoryWriter {
 public:
  /// `log` and `clock` are not owned. Begins `log`.
  HistoryWriter(EventLog& log, Clock& clock, HistoryWriterOptions options,
                const ThreadStarter& start = StartThread);
  /// Waits for writes that are under way; see Flush().
  ~HistoryWriter();
  HistoryWriter(const HistoryWriter&) = delete;
  HistoryWriter& operator=(const HistoryWriter&) = delete;

  /// Ends the rounds and writes what is left, until `until` (real clock) at
  /// most. False: a write is under way still, in a cluster that hangs.
  bool Flush(SteadyTime until);

 private:
  void WriteDue(bool all);
  /// False: a write is under way still at `until`.
  bool AwaitIdle(SteadyTime until);
  void Write(const HistoryBatch& batch);
  absl::Status WriteTo(const HistoryBatch& batch);
  absl::Status WriteTo(Cluster& cluster, const HistoryPlace& place,
                       const OmapValues& values);
  absl::Status WriteToEveryPool(Cluster& cluster, const HistoryPlace& place,
                                const OmapValues& values);
  bool TrimIsDue(const HistoryPlace& place, size_t written);

  EventLog& log_;
  Clock& clock_;
  const HistoryWriterOptions options_;
  Seldom warnings_;
  Mutex mutex_;
  CondVar ended_;
  std::set<std::string> busy_ ABSL_GUARDED_BY(mutex_);  // fsids
  std::map<std::string, SteadyTime> paused_until_ ABSL_GUARDED_BY(mutex_);
  /// Events that this process has written since it last looked for too many.
  std::map<HistoryPlace, size_t> since_trim_ ABSL_GUARDED_BY(mutex_);
  BoundedThreads threads_;
  std::unique_ptr<Periodic> rounds_;  // last: it uses what is above
};

}  // namespace addons

#endif  // ADDONS_HISTORY_WRITER_H_
