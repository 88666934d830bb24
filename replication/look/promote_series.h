#ifndef ADDONS_REPLICATION_LOOK_PROMOTE_SERIES_H_
#define ADDONS_REPLICATION_LOOK_PROMOTE_SERIES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "ceph/mirror.h"
#include "replication/look/evictions.h"
#include "replication/look/mirror_daemons.h"

namespace addons {

struct MirrorView;

class Cluster;
class Pool;

/// For how long something has been so, seen by the calls of one series.
struct SeriesClocks {
  /// Since the first look at this image.
  SteadyDuration looked_for{0};
  /// Nothing has arrived in the pool, although it could have for this image;
  /// counted from the first look at any image of it.
  SteadyDuration quiet_for{0};
  /// The peer has been primary, for any image of the pool whose copy follows
  /// it.
  SteadyDuration peer_primary_for{0};
  /// Likewise, for this image.
  SteadyDuration image_primary_for{0};
  /// The copying of the pool was ended for a forced promotion, and no
  /// rbd-mirror of this site has reported again: since then, or since this
  /// daemon has learnt of it. nullopt: one has.
  std::optional<SteadyDuration> evicted_for;
  /// For a person, that it was: DescribeSentAway(); empty: one has.
  std::string sent_away{};
  /// The same since the first of these evictions in a row.
  std::optional<SteadyDuration> first_evicted_for;
  /// For how long nothing had arrived in the pool when that one began, although
  /// it could have for all images that were looked at. 0: not known.
  SteadyDuration quiet_before_eviction{0};
  /// No rbd-mirror of this site reports on images, and each of those that live
  /// says that it cannot connect to the peer's cluster. Not told where one of
  /// them was not seen to live within the last minute.
  bool cut_off = false;
  /// No rbd-mirror of this site reports on images, and one lives and does not
  /// say why: it was seen to live within the last minute.
  bool hangs = false;
  /// Why the manager could not be asked what these say, last time; empty: it
  /// could, or there was nothing to ask.
  std::string daemons_unread{};
};

/// What the reports of an image say, but for when: the same for the same words.
size_t DigestOf(const std::vector<SiteStatus>& sites);
/// The same of the reports of a look.
size_t DigestOf(const MirrorView& view);

/// What the calls that want to promote images of one pool have seen together,
/// so that a thousand of them wait for a dead or living primary once. A pool is
/// meant with all its namespaces, because rbd-mirror copies five images of the
/// pool at a time: one may wait behind those of another namespace. A series
/// ends when 60 s pass without a look. Kept in memory, by monotonic time: a
/// restart only makes waiting begin anew. Only that this site's rbd-mirror was
/// silenced on purpose is kept in the pool. Thread-safe.
class PromoteSeries {
 public:
  /// `clock` is not owned.
  explicit PromoteSeries(Clock& clock) : clock_(clock) {}

  /// Whether this site's copy follows the peer. What a copy that does not says
  /// of the peer may be long past.
  enum class Copy {
    kFollows,
    kFollowed,  // as its rbd-mirror, which is silent now, has said last
    kStarts,    // its rbd-mirror does
    kParted,    // not, or nobody knows
  };

  /// What one look at one image shows.
  struct Seen {
    std::string pool;   // "fsid/pool id"
    std::string image;  // unique among all pools
    /// Changes when something of the peer arrives for this image.
    std::string progress;
    /// rbd-mirror of this site could have received something.
    bool receiving = true;
    /// The peer that says that its image is primary, if there is one.
    std::optional<std::string> primary_peer;
    std::string rados_namespace{};  // of the image; the one of List()
    Copy copy = Copy::kFollows;
  };
  SeriesClocks Note(const Seen& seen);

  /// Lists the statuses of the pool that `own` is a namespace of, in all its
  /// mirrored namespaces, and notes what has arrived since the last time. What
  /// was listed within the last `young_enough` is not listed again; returns at
  /// once when somebody else is at it for the same namespace. A namespace that
  /// the user of `cluster` may not read is left out, and logged once. Blocks
  /// for a read for each namespace and two more, and every half a minute for
  /// one more each.
  absl::Status List(Cluster& cluster, Pool& own, const std::string& pool_key,
                    SteadyDuration young_enough = std::chrono::seconds(1));

  /// What the last listing has told of one image.
  struct ListedReports {
    SteadyTime at;                  // when the listing began
    size_t digest = 0;              // DigestOf() the sites
    std::vector<SiteStatus> sites;  // without their descriptions
  };
  /// From the next listing on it is kept what that tells of the image, until
  /// the series ends.
  void WatchReports(const std::string& pool_key,
                    const std::string& rados_namespace,
                    const std::string& image_id);
  /// nullopt: nothing was listed since WatchReports(), or no such image.
  std::optional<ListedReports> Reports(const std::string& pool_key,
                                       const std::string& rados_namespace,
                                       const std::string& image_id);

  /// This daemon is about to blocklist the rbd-mirror clients of the pool, or
  /// has just done so. Where the peer is dead, rbd-mirror of this site never
  /// reports again (measured), and its silence is of our own making. Written
  /// into the pool, so that it outlives the daemon; needs mutation pools.
  /// Blocks for a read and at most four changes.
  absl::Status NoteEviction(const PoolAndDefault& pool,
                            const std::string& pool_key);

  /// The peer-is-primary clock of the image begins anew: after every mutating
  /// verb on it.
  void ForgetPrimary(const std::string& image);

  /// Makes `copy`, which is new, know of this pool and its images what this one
  /// knows. It is for those who only want to know what a promotion would see
  /// now: the series itself must not count their looks as those of calls that
  /// wait, or a living primary would be forced aside by the first of them.
  void CopyTo(const std::string& pool_key, PromoteSeries& copy) const;

  /// Whether this is the first call for `object` (a volume or group) since
  /// EndCalls(), or since it was asked for last, long ago.
  bool IsFirstCall(const std::string& object);
  void EndCalls(const std::string& object);

 private:
  /// The calls for images of one namespace, whose user may read some of the
  /// others.
  struct Reader {
    bool listing = false;
    SteadyTime listed_at;
    std::vector<std::string> others;  // mirrored namespaces that it may read
    std::optional<SteadyTime> others_at;
  };
  struct LastRead {
    SteadyTime at;
    /// Of this site's reports that were there, 0: none was. They are removed by
    /// an rbd-mirror that has come back since.
    int64_t newest_report = 0;
  };
  struct PoolState {
    uint64_t series = 0;
    SteadyTime begun;
    SteadyTime asked_at;
    SteadyTime noisy_at;                    // something arrived
    std::map<std::string, Reader> readers;  // by the namespace asked for
    std::map<std::string, LastRead> read;   // each namespace
    std::set<std::string> refused;          // namespaces that were logged
    int64_t newest_report = 0;  // of this site, by its cluster's clock
    SteadyTime reported_at;     // when that has changed last
    std::optional<SteadyTime> evicted_at;
    SentAway sent_away;  // of the last one
    // Of this series, by this process; see SeriesClocks.
    std::optional<SteadyTime> first_evicted_at;
    SteadyDuration quiet_before{0};
    // What the rbd-mirrors of this site tell the manager, while none reports.
    std::map<std::string, std::string> beacons;  // by daemon
    SteadyTime daemons_asked_at;
    std::string daemons_unread;  // see SeriesClocks
    std::optional<SteadyTime> cut_off_since;
    std::optional<SteadyTime> beacon_seen_at;     // a new one, since then
    std::optional<SteadyTime> hung_at;            // a new one of another
    std::map<std::string, std::string> numbers;   // by namespace and image id
    std::map<std::string, std::string> progress;  // by image key
    /// Those that are watched, by namespace and image id.
    std::map<std::string, std::optional<ListedReports>> reports;
    struct Claim {
      SteadyTime since;
      SteadyTime seen_at;
    };
    std::map<std::string, Claim> claims;  // by the peer's mirror uuid
  };
  struct ImageState {
    std::string pool;
    uint64_t series = 0;
    SteadyTime first_look;
    SteadyTime deaf_at;  // nothing could have arrived
    std::string primary_peer;
    SteadyTime primary_since;
    SteadyTime used_at;
  };

  /// The statuses of the namespaces, and the note of an eviction.
  struct Listing;
  /// Of a daemon whose last new beacon was seen then.
  static bool Lives(const std::optional<SteadyTime>& beacon, SteadyTime now);
  static bool CutOff(const PoolState& pool, SteadyTime now);
  absl::Status Read(Cluster& cluster, Pool& own, const std::string& pool_key,
                    Listing* listing);
  absl::StatusOr<std::vector<std::string>> MirroredOthers(
      Cluster& cluster, Pool& own, const std::string& pool_key);
  void LogRefusal(const Pool& own, const std::string& pool_key,
                  const std::string& rados_namespace,
                  const absl::Status& refusal);
  void EndListing(const std::string& pool_key, const std::string& reader);
  void Apply(const Listing& listing, const std::string& reader,
             PoolState* state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Takes the numbers of these statuses; true: data has come since the last.
  static bool Arrived(const std::string& rados_namespace,
                      const std::vector<ImageStatuses>& statuses,
                      PoolState* state);
  static void KeepReports(const std::string& rados_namespace, SteadyTime at,
                          const std::vector<ImageStatuses>& statuses,
                          PoolState* state);
  static void ApplyDaemons(const Listing& listing, PoolState* state);
  PoolState& Join(const std::string& pool)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SteadyDuration QuietFor(const std::string& key, const PoolState& pool) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Sweep(SteadyTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  mutable Mutex mutex_;
  std::map<std::string, PoolState> pools_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, ImageState> images_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, SteadyTime> calls_ ABSL_GUARDED_BY(mutex_);
  SteadyTime swept_at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_PROMOTE_SERIES_H_
