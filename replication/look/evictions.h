#ifndef ADDONS_REPLICATION_LOOK_EVICTIONS_H_
#define ADDONS_REPLICATION_LOOK_EVICTIONS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "ceph/cluster.h"

namespace addons {

/// What has become of the copies that were interrupted.
enum class Rewind { kUnderWay, kDone, kFailed };

/// One time that the rbd-mirror clients of a pool were put on the blocklist.
struct Eviction {
  std::set<uint64_t> clients;      // that were blocklisted, by it or before
  std::set<int64_t> pools;         // whose OSDs know of it
  SteadyTime known_to_osds_since;  // from then on nothing more is copied
  /// Never null; changed by the thread that does so.
  std::shared_ptr<std::atomic<Rewind>> rewind =
      std::make_shared<std::atomic<Rewind>>(Rewind::kUnderWay);
};

/// Remembers for each pool, as PoolKey() names it, how its copying was ended
/// last, so that the forced promotions of the pool share one such step.
/// Thread-safe.
class Evictions {
 public:
  /// Free again when it dies.
  using Turn = std::shared_ptr<void>;

  /// nullptr: another one works on this pool now.
  Turn TryTake(const std::string& pool);

  Eviction Last(const std::string& pool);
  /// Of a pool as WholePoolKey() names it: the clients of all its namespaces,
  /// and when the last step was and what became of its copies, without its
  /// pools; no client when there was none.
  Eviction LastOfAllNamespaces(const std::string& whole_pool);
  /// Adds the clients to those of the pool; the rest takes the place of the
  /// last stop's.
  void Keep(const std::string& pool, const Eviction& stop);

  /// How often copying was ended, in all pools.
  uint64_t count() const { return count_; }

 private:
  Mutex mutex_;
  std::map<std::string, Eviction> stops_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::weak_ptr<void>> turns_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> count_ = 0;
};

class Pool;
struct MirrorView;

/// The object that holds the note, in the pool and namespace where a promotion
/// was forced and in the pool's default namespace: rbd-mirror has one client
/// for all of them. It stays; a note that is older than rbd-mirror's reports
/// says nothing.
inline constexpr char kEvictionObject[] = "rbd_addons.copying";

/// A pool as a volume sees it, and its default namespace. Nothing is owned.
struct PoolAndDefault {
  Pool& own;
  Pool* whole = nullptr;  // nullptr: `own` is that
};

/// The default namespace of the pool, for PoolAndDefault; nullptr when `own` is
/// that.
absl::StatusOr<std::unique_ptr<Pool>> OpenDefaultNamespace(Cluster& cluster,
                                                           const Pool& own,
                                                           Access access);

/// Writes into the pool that this site's rbd-mirror was blocklisted for a
/// forced promotion at `at`, by this daemon's clock, and when it had last
/// reported on an image of the pool (by the cluster's clock, seconds since
/// 1970): a daemon that starts later, and other replicas, must not take its
/// silence for an rbd-mirror that is down. The note counts for an hour by the
/// OSD's clock: rbd-mirror is back long before, or something else keeps it
/// away. Needs mutation pools. A user may be limited to the namespace, so one
/// of the two places is enough. Blocks for a few changes in each.
absl::Status WriteEvictionNote(const PoolAndDefault& pool,
                               int64_t newest_report, WallTime at);

/// Whether an eviction was ever noted there. Blocks for one read in each place.
bool HasEvictionNote(const PoolAndDefault& pool);

/// rbd-mirror of this site was sent away for a forced promotion, and has not
/// reported since.
struct SentAway {
  /// By the clock of the daemon that did it; nullopt: an older one, which did
  /// not note that.
  std::optional<WallTime> at;
};

/// Whether the silence of this site's rbd-mirror, which has reported last at
/// `newest_report`, is explained by an eviction that was noted within the last
/// hour: that report is from before it, or was under way then. 0, no report at
/// all, is none from before it. nullopt also where no place can be read. Blocks
/// for one read in each place, and where that says so for two more.
std::optional<SentAway> SilentSinceEviction(const PoolAndDefault& pool,
                                            int64_t newest_report);
/// The same of the pool that `own` is a namespace of.
std::optional<SentAway> SilentSinceEviction(Cluster& cluster, Pool& own,
                                            int64_t newest_report);

/// "rbd-mirror of this site was sent away by this daemon at 03:12:40 UTC, for a
/// forced promotion; it is back within a minute"; two minutes later what that
/// means, and what to do.
std::string DescribeSentAway(const SentAway& sent_away, WallTime now);

/// The same of the rbd-mirror of this site, which is silent since
/// `newest_report`; empty: it was not sent away. Blocks as
/// SilentSinceEviction().
std::string WhySilentHere(Cluster& cluster, Pool& own, int64_t newest_report,
                          WallTime now);
/// Where it is silent on the image of a look; empty also: it is up, or has no
/// report.
std::string WhySilentHere(Cluster& cluster, Pool& own, const MirrorView& view,
                          WallTime now);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_EVICTIONS_H_
