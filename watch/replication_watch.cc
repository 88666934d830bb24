#include "watch/replication_watch.h"

#include <algorithm>
#include <any>
#include <cstdint>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/image_name.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/retry_when_blocklisted.h"
#include "operation/run_operation.h"
#include "replication/look/evictions.h"
#include "replication/look/mirror_view.h"
#include "replication/look/watched.h"
#include "volume/volume_directory.h"
#include "watch/fence_looks.h"
#include "watch/pool_look.h"
#include "watch/turned_image.h"
#include "watch/watch_connection.h"

namespace addons {
namespace {

using std::chrono::milliseconds;

/// How long a look at one cluster is waited for before its pools count as
/// unseen. It is then asked to stop, and no other one begins before it has.
constexpr std::chrono::minutes kClusterPatience{1};

/// How often it is asked whether calls have changed something.
constexpr milliseconds kTick{1000};

constexpr char kRefused[] =
    "the cluster refuses the user of the last call, so nothing is looked at "
    "until a call brings another one: ";
constexpr char kOwnRefused[] =
    "the cluster refuses the user of --watch-user, which is tried again in "
    "minutes: ";

/// Before the cluster's own words.
std::string Whose(const WatchedPools::Watched& watched,
                  const absl::Status& looked) {
  if (SaysBlocklisted(looked)) return absl::StrCat(kBlocklistedWords, ": ");
  if (!RefusesUser(looked)) return "";
  return watched.own != nullptr ? kOwnRefused : kRefused;
}

}  // namespace

/// What looks and the one who starts them share.
class ReplicationWatch::State {
 public:
  State(ReplicationEnvironment& environment, WatchedClusters& named,
        ClusterProvider& clusters)
      : environment_(environment),
        clusters_(clusters),
        named_(named),
        fences_(named, environment.config, clusters, environment.clock),
        snapshot_(std::make_shared<WatchSnapshot>()) {}

  /// The clusters that are to be looked at now, `only` of these; each counts as
  /// looked at until LookEnded().
  std::vector<std::string> ClustersDue(const std::set<std::string>* only);
  /// Looks at all pools of a cluster, those first that were seen longest ago.
  absl::Status LookAt(OperationContext& context, const std::string& cluster_id);
  void LookEnded(const std::string& cluster_id, const absl::Status& status);

  /// Publishes first where a call has changed an image meanwhile.
  std::shared_ptr<const WatchSnapshot> snapshot();
  bool looking() const {
    const MutexLock lock(mutex_);
    return !looking_.empty();
  }
  std::set<std::string> ChangesDue() const {
    return environment_.watched.ChangesDue();
  }
  std::stop_source& stop() { return stop_; }

 private:
  struct Pool {
    explicit Pool(Clock& clock) : look(clock) {}
    PoolLook look;  // of the operation that looks
    WatchedPool seen;
    std::optional<SteadyTime> tried_at;
  };
  using Key = WatchedPools::Key;

  absl::Status LookAtPool(OperationContext& context,
                          const WatchedPools::Watched& watched, PoolLook& look,
                          WatchedPool* seen);
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// `looked` is what the look came to, `reason` why the pool is unseen.
  void Failed(Pool& pool, const absl::Status& looked, std::string reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ReplicationEnvironment& environment_;
  ClusterProvider& clusters_;
  WatchedClusters& named_;
  FenceLooks fences_;
  std::stop_source stop_;
  mutable Mutex mutex_;
  std::map<Key, std::shared_ptr<Pool>> pools_ ABSL_GUARDED_BY(mutex_);
  /// Clusters under a look, with the time when it began.
  std::map<std::string, SteadyTime> looking_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const WatchSnapshot> snapshot_ ABSL_GUARDED_BY(mutex_);
  uint64_t published_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t published_turns_ ABSL_GUARDED_BY(mutex_) = 0;
  /// When snapshot() has published last.
  std::optional<SteadyTime> asked_at_ ABSL_GUARDED_BY(mutex_);
};

std::vector<std::string> ReplicationWatch::State::ClustersDue(
    const std::set<std::string>* only) {
  const std::vector<WatchedPools::Watched> all = environment_.watched.All();
  const MutexLock lock(mutex_);
  std::set<Key> known;
  std::set<std::string> due;
  std::map<std::string, CephUserRef> users;
  for (const WatchedPools::Watched& watched : all) {
    known.insert(watched.key);
    auto& pool = pools_[watched.key];
    if (pool == nullptr) {
      pool = std::make_shared<Pool>(environment_.clock);
      pool->seen.cluster_id = std::get<0>(watched.key);
      pool->seen.rados_namespace = std::get<2>(watched.key);
      pool->seen.unseen = "it has not been looked at yet";
    }
    pool->seen.pool = watched.pool_name;
    CephUserRef& user = users[pool->seen.cluster_id];
    if (user == nullptr) user = watched.reader();
    if (watched.reader() != nullptr) due.insert(pool->seen.cluster_id);
  }
  due.merge(fences_.Watch(users));
  std::erase_if(pools_,
                [&](const auto& pool) { return !known.contains(pool.first); });
  if (only != nullptr) {
    // Of what nobody can look at a change is none.
    for (const std::string& cluster : *only) {
      if (!due.contains(cluster)) environment_.watched.ForgetChanges(cluster);
    }
    std::erase_if(due, [only](const auto& id) { return !only->contains(id); });
  }
  for (const auto& [cluster, since] : looking_) due.erase(cluster);
  // Who asks each second publishes nothing for that.
  if (only != nullptr && due.empty()) return {};
  Publish();
  const SteadyTime now = environment_.clock.Now();
  for (const std::string& cluster : due) {
    looking_[cluster] = now;
    environment_.watched.ForgetChanges(cluster);
  }
  return {due.begin(), due.end()};
}

absl::Status ReplicationWatch::State::LookAt(OperationContext& context,
                                             const std::string& cluster_id) {
  struct Turn {
    WatchedPools::Watched watched;
    std::shared_ptr<Pool> pool;
    std::optional<SteadyTime> tried_at;
    WatchedPool seen;
  };
  std::vector<Turn> turns;
  {
    const auto all = environment_.watched.All();
    const MutexLock lock(mutex_);
    for (const WatchedPools::Watched& watched : all) {
      if (std::get<0>(watched.key) != cluster_id ||
          watched.reader() == nullptr) {
        continue;
      }
      const auto found = pools_.find(watched.key);
      if (found == pools_.end()) continue;  // named a moment ago
      turns.push_back({watched, found->second, found->second->tried_at,
                       found->second->seen});
    }
  }
  // First, as the monitors answer it by themselves.
  context.Step("looking at the fences");
  fences_.Look(cluster_id);
  std::stable_sort(
      turns.begin(), turns.end(),
      [](const Turn& a, const Turn& b) { return a.tried_at < b.tried_at; });
  for (Turn& turn : turns) {
    if (context.stop_token().stop_requested()) {
      return absl::CancelledError("nobody waits for the look any more");
    }
    context.Step(
        absl::StrCat("looking at pool '", turn.watched.pool_name, "'"));
    WatchedPool& seen = turn.seen;
    absl::Status looked = RetryWhenBlocklisted([&] {
      return LookAtPool(context, turn.watched, turn.pool->look, &seen);
    });
    if (absl::IsCancelled(looked)) return looked;
    if (RefusesUser(looked)) {
      environment_.watched.Refuse(turn.watched.key, turn.watched.reader());
    }
    const MutexLock lock(mutex_);
    turn.pool->tried_at = environment_.clock.Now();
    if (looked.ok() && turn.pool->look.awaits_reports()) {
      environment_.watched.AwaitReports(cluster_id);
    }
    if (looked.ok()) {
      seen.failed_looks = turn.pool->seen.failed_looks;
      seen.unseen.clear();
      seen.blocklisted_since.reset();
      seen.seen_at = turn.pool->tried_at;
      turn.pool->seen = std::move(seen);
    } else {
      Failed(*turn.pool, looked,
             absl::StrCat(Whose(turn.watched, looked), looked.message()));
    }
  }
  const MutexLock lock(mutex_);
  Publish();
  return absl::OkStatus();
}

absl::Status ReplicationWatch::State::LookAtPool(
    OperationContext& context, const WatchedPools::Watched& watched,
    PoolLook& look, WatchedPool* seen) {
  const auto& [cluster_id, pool_id, rados_namespace] = watched.key;
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<Cluster> cluster,
                          ConnectToWatch(environment_.config, clusters_,
                                         cluster_id, watched.reader()));
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<addons::Pool> pool,
      cluster->OpenPool(pool_id, rados_namespace, Access::kRead));
  const SteadyTime began = environment_.clock.Now();
  seen->began_at = began;
  absl::Status looked = look.Look(
      context, *cluster, *pool, environment_.options.settle_time,
      [&](const std::string& image_id) {
        return environment_.watched.NameOf(watched.key, image_id);
      },
      environment_.options.leases.instance, seen);
  if (look.manager_answered() >= began) {
    environment_.manager.NoteAnswer({cluster->fsid(), watched.reader()->id},
                                    *look.manager_answered());
  }
  return looked;
}

void ReplicationWatch::State::LookEnded(const std::string& cluster_id,
                                        const absl::Status& status) {
  const MutexLock lock(mutex_);
  const auto looking = looking_.find(cluster_id);
  if (looking == looking_.end()) return;
  const SteadyTime began = looking->second;
  looking_.erase(looking);
  if (status.ok() || stop_.stop_requested()) return;
  fences_.Missed(cluster_id, began, status);
  for (auto& [key, pool] : pools_) {
    if (pool->seen.cluster_id != cluster_id) continue;
    if (pool->tried_at.has_value() && *pool->tried_at >= began) continue;
    Failed(*pool, status,
           absl::StrCat("the look has not come to an end: ", status.message()));
  }
  Publish();
}

void ReplicationWatch::State::Failed(Pool& pool, const absl::Status& looked,
                                     std::string reason) {
  pool.seen.unseen = std::move(reason);
  std::optional<SteadyTime>& since = pool.seen.blocklisted_since;
  if (!SaysBlocklisted(looked)) {
    since.reset();
  } else if (!since.has_value()) {
    since = environment_.clock.Now();
  }
  ++pool.seen.failed_looks;
}

namespace {

/// A group's journal may be in another pool than its members.
void NameGroups(std::vector<WatchedPool>* pools) {
  JournalGroups groups;
  for (const WatchedPool& pool : *pools) {
    if (pool.groups == nullptr) continue;
    groups.insert(pool.groups->begin(), pool.groups->end());
  }
  if (groups.empty()) return;
  for (WatchedPool& pool : *pools) {
    for (WatchedImage& image : pool.images) {
      const auto group = groups.find(UuidIn(ImageName(image.image)));
      if (group != groups.end()) image.group = group->second;
    }
  }
}

/// Of images that have turned since the pool was looked at.
void LeaveOutTurned(const WatchedPools& watched, const WatchedPools::Key& key,
                    WatchedPool* pool) {
  if (!pool->began_at.has_value()) return;
  std::map<std::string, RoleTurn> turned;
  for (const WatchedPools::Named& named :
       watched.TurnedSince(key, *pool->began_at)) {
    turned.emplace(named.image, *named.turn);
  }
  if (turned.empty()) return;
  for (WatchedImage& image : pool->images) {
    const auto found = turned.find(image.image);
    if (found != turned.end()) LeaveOutLook(found->second, pool, &image);
  }
  std::sort(pool->images.begin(), pool->images.end(), TroubleFirst);
}

}  // namespace

std::shared_ptr<const WatchSnapshot> ReplicationWatch::State::snapshot() {
  const MutexLock lock(mutex_);
  const SteadyTime now = environment_.clock.Now();
  // A site that moves makes a turn in each moment: not a snapshot for each, or
  // who reads it page by page would never come to an end.
  if (environment_.watched.turns() != published_turns_ &&
      (!asked_at_.has_value() || now - *asked_at_ >= kTick)) {
    asked_at_ = now;
    Publish();
  }
  return snapshot_;
}

void ReplicationWatch::State::Publish() {
  // Too many for all pools together: of the largest ones only the trouble.
  std::vector<WatchedPool*> pools;
  size_t images = 0;
  for (const auto& [key, pool] : pools_) {
    pools.push_back(&pool->seen);
    images += pool->seen.images.size();
  }
  while (images > PoolLook::kMostImages) {
    std::vector<WatchedImage>& most =
        (*std::max_element(pools.begin(), pools.end(),
                           [](const auto* a, const auto* b) {
                             return a->images.size() < b->images.size();
                           }))
            ->images;
    const size_t cut =
        std::min(images - PoolLook::kMostImages, (most.size() + 1) / 2);
    most.resize(most.size() - cut);
    images -= cut;
  }
  auto snapshot = std::make_shared<WatchSnapshot>();
  snapshot->number = ++published_;
  snapshot->taken_at = environment_.clock.Now();
  snapshot->pools_left_out = environment_.watched.left_out();
  snapshot->own_trouble = environment_.watched.own_trouble();
  published_turns_ = environment_.watched.turns();
  for (const auto& [key, pool] : pools_) {
    snapshot->pools.push_back(pool->seen);
    LeaveOutTurned(environment_.watched, key, &snapshot->pools.back());
  }
  NameGroups(&snapshot->pools);
  snapshot->fences = fences_.Seen();
  snapshot->groups = named_.Groups();
  snapshot_ = std::move(snapshot);
}

ReplicationWatch::ReplicationWatch(OperationTable& operations,
                                   ReplicationEnvironment& environment,
                                   WatchedClusters& named,
                                   ClusterProvider& clusters,
                                   std::chrono::milliseconds interval)
    : operations_(operations),
      state_(std::make_shared<State>(environment, named, clusters)) {
  if (interval.count() == 0) return;
  const auto tick = std::min(interval, kTick);
  rounds_.emplace("replica-watch", tick,
                  [this, tick, interval, passed = milliseconds(0)]() mutable {
                    passed += tick;
                    if (passed < interval) return StartLooksAtChanges();
                    passed = milliseconds(0);
                    StartLooks();
                  });
}

ReplicationWatch::~ReplicationWatch() {
  rounds_.reset();
  state_->stop().request_stop();
}

void ReplicationWatch::StartLooks() { StartLooksAt(nullptr); }

void ReplicationWatch::StartLooksAt(const std::set<std::string>* only) {
  for (const std::string& cluster_id : state_->ClustersDue(only)) {
    OperationSpec spec;
    spec.keys = {cluster_id};
    spec.share = WorkerShare::OfCluster(ClusterId(cluster_id));
    spec.verb = "watch replication";
    spec.action = "watch the replication of";
    spec.object = absl::StrCat("cluster '", cluster_id, "'");
    spec.parameters = spec.verb;
    MakeRead(&spec);
    Caller caller;
    caller.deadline = RealClock().Now() + kClusterPatience;
    caller.gone = state_->stop().get_token();
    caller.request_id = "watch";
    operations_.Start(
        spec, caller,
        [state = state_,
         cluster_id](OperationContext& context) -> absl::StatusOr<std::any> {
          ADDONS_RETURN_IF_ERROR(state->LookAt(context, cluster_id));
          return std::any();
        },
        [state = state_, cluster_id](const absl::StatusOr<std::any>& result) {
          state->LookEnded(cluster_id, result.status());
        });
  }
}

void ReplicationWatch::StartLooksAtChanges() {
  const std::set<std::string> changed = state_->ChangesDue();
  if (!changed.empty()) StartLooksAt(&changed);
}

bool ReplicationWatch::looking() const { return state_->looking(); }

ReplicationWatch::Source ReplicationWatch::snapshots() const {
  return [state = state_] { return state->snapshot(); };
}

}  // namespace addons
