#include "history/writer.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "history/store.h"

namespace addons {
namespace {

/// A pool is looked through for too many events once in so many.
constexpr size_t kTrimEvery = 200;
constexpr std::chrono::minutes kWarnEvery{10};

}  // namespace

HistoryWriter::HistoryWriter(EventLog& log, Clock& clock,
                             HistoryWriterOptions options,
                             const ThreadStarter& start)
    : log_(log),
      clock_(clock),
      options_(options),
      warnings_(clock, kWarnEvery),
      threads_("history", start) {
  log_.Begin();
  rounds_ = std::make_unique<Periodic>("history-round", options.interval,
                                       [this] { WriteDue(/*all=*/false); });
}

HistoryWriter::~HistoryWriter() { rounds_.reset(); }

bool HistoryWriter::Flush(SteadyTime until) {
  rounds_.reset();
  {
    // There is no time left to leave a cluster alone.
    const MutexLock lock(mutex_);
    paused_until_.clear();
  }
  AwaitIdle(until);
  WriteDue(/*all=*/true);
  return AwaitIdle(until);
}

bool HistoryWriter::AwaitIdle(SteadyTime until) {
  const MutexLock lock(mutex_);
  while (!busy_.empty() && ended_.WaitUntil(mutex_, until)) {
  }
  return busy_.empty();
}

void HistoryWriter::WriteDue(bool all) {
  std::set<std::string> not_now;
  {
    const MutexLock lock(mutex_);
    not_now = busy_;
    for (const auto& [fsid, until] : paused_until_) {
      if (clock_.Now() < until) not_now.insert(fsid);
    }
  }
  std::map<std::string, std::vector<HistoryBatch>> by_cluster;
  for (HistoryBatch& batch : log_.Take(not_now, all)) {
    by_cluster[batch.place.fsid].push_back(std::move(batch));
  }
  for (auto& [fsid, batches] : by_cluster) {
    {
      const MutexLock lock(mutex_);
      busy_.insert(fsid);
    }
    const auto owned =
        std::make_shared<std::vector<HistoryBatch>>(std::move(batches));
    const bool runs = threads_.Run(fsid, [this, fsid = fsid, owned] {
      const absl::Cleanup end = [&] {
        const MutexLock lock(mutex_);
        busy_.erase(fsid);
        ended_.NotifyAll();
      };
      for (const HistoryBatch& batch : *owned) Write(batch);
    });
    if (runs) continue;
    for (const HistoryBatch& batch : *owned) log_.Return(batch);
    const MutexLock lock(mutex_);
    busy_.erase(fsid);
  }
}

void HistoryWriter::Write(const HistoryBatch& batch) {
  const absl::Status written = WriteTo(batch);
  if (written.ok()) {
    log_.Written(batch);
    return;
  }
  {
    const MutexLock lock(mutex_);
    paused_until_[batch.place.fsid] = clock_.Now() + options_.pause;
  }
  if (warnings_.TryTake(batch.place.fsid)) {
    Log().warn(
        "the history of what happens to volumes cannot be written now "
        "pool_id={} namespace={} fsid={}: {}",
        batch.place.pool_id, Quoted(batch.place.rados_namespace),
        batch.place.fsid, Quoted(written.message()));
  }
  log_.Return(batch);
}

absl::Status HistoryWriter::WriteTo(const HistoryBatch& batch) {
  const std::shared_ptr<Cluster> cluster = batch.place.cluster.lock();
  if (cluster == nullptr) {
    return absl::UnavailableError("the connection has been closed");
  }
  OmapValues values;
  for (const auto& [key, event] : batch.events) {
    values.emplace(key, WriteHistoryEvent(event));
  }
  return batch.place.pool_id == kEveryPool
             ? WriteToEveryPool(*cluster, batch.place, values)
             : WriteTo(*cluster, batch.place, values);
}

absl::Status HistoryWriter::WriteTo(Cluster& cluster, const HistoryPlace& place,
                                    const OmapValues& values) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> pool,
      cluster.OpenPool(place.pool_id, place.rados_namespace, Access::kMutate));
  ADDONS_RETURN_IF_ERROR(WriteHistory(*pool, values));
  if (TrimIsDue(place, values.size())) {
    // What was written stands; the next time will do.
    TrimHistory(*pool, options_.most).IgnoreError();
  }
  return absl::OkStatus();
}

/// When one of the pools cannot be written to now, all of them are tried again:
/// the same entry is written twice then.
absl::Status HistoryWriter::WriteToEveryPool(Cluster& cluster,
                                             const HistoryPlace& place,
                                             const OmapValues& values) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::vector<int64_t> pools,
      PoolsOfHistory(cluster, place.rados_namespace, options_.instance_id));
  absl::Status first = pools.empty() ? absl::NotFoundError(
                                           "no pool that the user may read has "
                                           "volumes in this namespace")
                                     : absl::OkStatus();
  for (const int64_t pool_id : pools) {
    HistoryPlace one = place;
    one.pool_id = pool_id;
    first.Update(WriteTo(cluster, one, values));
  }
  return first;
}

bool HistoryWriter::TrimIsDue(const HistoryPlace& place, size_t written) {
  const MutexLock lock(mutex_);
  const auto [since, first] = since_trim_.try_emplace(place, 0);
  since->second += written;
  if (!first && since->second < kTrimEvery) return false;
  since->second = 0;
  return true;
}

}  // namespace addons
