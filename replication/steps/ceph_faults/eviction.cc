#include "replication/steps/ceph_faults/eviction.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/start_thread.h"
#include "base/status_macros.h"
#include "ceph/barrier.h"
#include "ceph/blocklist_commands.h"
#include "ceph/cluster_services.h"
#include "ceph/mirror_clients.h"
#include "ceph/pool.h"
#include "replication/steps/ceph_faults/interrupted_copies.h"

namespace addons {
namespace {

/// rbd-mirror never comes back with a client that was blocklisted.
constexpr std::chrono::minutes kBlocklistTime{5};
/// So long a step serves promotions: rbd-mirror's new clients appear four
/// seconds after it at the earliest.
constexpr std::chrono::seconds kStepServes{3};
constexpr std::chrono::seconds kBarrierPatience{5};
/// A client that is dead keeps its lock, and was blocklisted by then.
constexpr std::chrono::minutes kTrusted = kBlocklistTime / 2;

/// Who may copy onto a volume, and where it would write.
struct Copiers {
  std::vector<Watcher> clients;
  std::optional<Watcher> dead_lock_owner;
  std::set<int64_t> pools;

  bool nobody() const { return clients.empty() && !dead_lock_owner; }
  std::vector<Watcher> all() const {
    std::vector<Watcher> everybody = clients;
    if (dead_lock_owner) everybody.push_back(*dead_lock_owner);
    return everybody;
  }
};

bool IsOwn(const Session& session, const Watcher& client) {
  const std::vector<uint64_t> own = session.cluster().OwnClientIds();
  return std::find(own.begin(), own.end(), client.client_id) != own.end();
}

/// (A living owner that is no rbd-mirror is a workload of old, which librbd
/// asks for the lock.)
absl::StatusOr<std::optional<LockOwner>> FindLockOwner(
    const Session& session, Image& image, const std::vector<Watcher>& mirrors) {
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Locker> lockers, image.Lockers());
  for (const Locker& locker : lockers) {
    const std::optional<uint64_t> client_id = ClientIdOf(locker.client);
    if (!client_id.has_value() || locker.address.empty()) continue;
    LockOwner owner{.client = {locker.address, *client_id, 0}};
    ADDONS_ASSIGN_OR_RETURN(const std::vector<Watcher> open, image.Watchers());
    owner.dead =
        !HasClient(open, *client_id) && !HasClient(mirrors, *client_id);
    // What a handle of this process has left needs nobody to end it.
    if (owner.dead && IsOwn(session, owner.client)) return std::nullopt;
    return owner;
  }
  return std::nullopt;
}

absl::StatusOr<Copiers> ListCopiers(Session& session, Image& image) {
  Copiers copiers;
  ADDONS_ASSIGN_OR_RETURN(copiers.clients, ListMirrorClients(*session.reads));
  ADDONS_ASSIGN_OR_RETURN(const std::optional<LockOwner> owner,
                          FindLockOwner(session, image, copiers.clients));
  // An rbd-mirror that was stopped, say, and might go on where it was.
  if (owner.has_value() && owner->dead) copiers.dead_lock_owner = owner->client;
  ADDONS_ASSIGN_OR_RETURN(const ImageLayout layout, image.Layout());
  copiers.pools = {session.reads->id(), layout.data_pool_id};
  std::erase_if(copiers.clients,
                [&](const Watcher& client) { return IsOwn(session, client); });
  return copiers;
}

absl::StatusOr<Copiers> ListCopiers(Session& session) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> image,
      session.reads->OpenImageReadOnly(session.volume.image_name()));
  ADDONS_ASSIGN_OR_RETURN(Copiers copiers, ListCopiers(session, *image));
  ADDONS_RETURN_IF_ERROR(image->Close());
  return copiers;
}

bool Ended(const Session& session, const Copiers& copiers) {
  if (copiers.nobody()) return true;
  const Eviction last =
      session.environment.evictions.Last(PoolKey(session.volume));
  const SteadyDuration age =
      session.environment.clock.Now() - last.known_to_osds_since;
  const auto blocklisted = [&](const Watcher& client) {
    return last.clients.contains(client.client_id);
  };
  if (!std::includes(last.pools.begin(), last.pools.end(),
                     copiers.pools.begin(), copiers.pools.end())) {
    return false;
  }
  if (copiers.dead_lock_owner &&
      (age > kTrusted || !blocklisted(*copiers.dead_lock_owner))) {
    return false;
  }
  return copiers.clients.empty() ||
         (age <= kStepServes &&
          std::all_of(copiers.clients.begin(), copiers.clients.end(),
                      blocklisted));
}

/// Of those pools; the monitors may not tell of others.
std::vector<RbdPool> Among(std::vector<RbdPool> pools,
                           const std::set<int64_t>& wanted) {
  std::erase_if(pools,
                [&](const RbdPool& pool) { return !wanted.contains(pool.id); });
  return pools;
}

/// What was being copied goes on where it ended. Not waited for: a promotion
/// has but seconds until rbd-mirror comes back. Where it fails,
/// MirrorRestartWatch tries it once more.
void RewindAside(Session& session, const Eviction& stop) {
  session.environment.aside(
      session.cluster().fsid(),
      [cluster = session.volume.cluster, pool_id = session.reads->id(),
       rados_namespace = session.reads->rados_namespace(),
       at_once = session.environment.options.group_members_at_once,
       pool = session.volume.pool_name, rewind = stop.rewind] {
        const auto copies = RewindInterruptedCopies(*cluster, pool_id,
                                                    rados_namespace, at_once);
        if (!copies.ok()) {
          *rewind = Rewind::kFailed;
          Log().warn(
              "copies that the forced promotion has interrupted are not set "
              "back; tried once more pool={}: {}",
              Quoted(pool), Quoted(copies.status().message()));
          return;
        }
        *rewind = Rewind::kDone;
        if (*copies > 0) {
          Log().info("copies interrupted, to be gone on with pool={} images={}",
                     Quoted(pool), *copies);
        }
      });
}

/// Nothing of `clients` arrives any more, in those pools, when it returns.
absl::Status BlocklistClients(Session& session,
                              const std::vector<Watcher>& clients,
                              const std::set<int64_t>& pools) {
  std::vector<BlocklistKey> keys;
  keys.reserve(clients.size());
  for (const Watcher& client : clients) {
    keys.push_back(ClientKey(client.address));
  }
  // One client may be there under two ids.
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  Cluster& cluster = session.cluster();
  ADDONS_RETURN_IF_ERROR(FirstError(AddEntries(cluster, keys, kBlocklistTime)));
  ADDONS_RETURN_IF_ERROR(cluster.WaitForLatestMap());
  ADDONS_ASSIGN_OR_RETURN(const OsdMapView map, ReadOsdMap(cluster));
  const std::vector<std::string> silent =
      ReachAllPrimaries(session.environment.threads, session.volume.cluster,
                        Among(map.pools, pools), kBarrierPatience);
  if (!silent.empty()) {
    Log().warn(
        "OSDs that did not answer learn of the blocklisted clients when they "
        "do: {}",
        Quoted(absl::StrJoin(silent, "; ")));
  }
  return absl::OkStatus();
}

absl::Status Evict(Session& session, const Copiers& copiers) {
  const std::vector<Watcher> clients = copiers.all();
  ADDONS_RETURN_IF_ERROR(BlocklistClients(session, clients, copiers.pools));
  Eviction stop;
  stop.pools = copiers.pools;
  stop.known_to_osds_since = session.environment.clock.Now();
  for (const Watcher& client : clients) {
    stop.clients.insert(client.client_id);
  }
  session.environment.evictions.Keep(PoolKey(session.volume), stop);
  RewindAside(session, stop);
  Log().warn(
      "copying ended for a forced promotion: rbd-mirror of this site and of "
      "its peers was blocklisted and reconnects by itself; replication of this "
      "pool pauses for 20 to 70 s, in both directions pool={} clients={}",
      Quoted(session.reads->Spec("")), Quoted(DescribeWatchers(clients)));
  return absl::OkStatus();
}

/// Whoever goes on when this daemon dies must know that this site's rbd-mirror
/// was silenced, so it is written before that; and after, because rbd-mirror
/// may have reported meanwhile. Without the note other volumes wait for a
/// person.
absl::Status EvictAndNote(Session& session, const Copiers& copiers) {
  // Each time on new handles: the connection may have been replaced.
  const auto write = [&]() -> absl::Status {
    ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                            session.volume.OpenPool(Access::kMutate));
    ADDONS_ASSIGN_OR_RETURN(
        const std::unique_ptr<Pool> whole,
        OpenDefaultNamespace(session.cluster(), *pool, Access::kMutate));
    return session.environment.series.NoteEviction(
        {*pool, whole.get()}, WholePoolKey(session.volume));
  };
  const auto note = [&] {
    if (copiers.clients.empty()) return;
    const absl::Status noted = write();
    if (noted.ok()) return;
    Log().warn("the eviction of rbd-mirror could not be noted pool={}: {}",
               Quoted(session.reads->Spec("")), noted.ToString());
  };
  note();
  ADDONS_RETURN_IF_ERROR(Evict(session, copiers));
  note();
  return absl::OkStatus();
}

/// While librbd promotes. One that was blocklisted may be listed a while yet.
absl::Status EvictWhoCameBack(Session& session) {
  const std::string pool = PoolKey(session.volume);
  Evictions& stops = session.environment.evictions;
  const auto came_back = [&](const std::vector<Watcher>& clients) {
    const Eviction last = stops.Last(pool);
    return std::any_of(clients.begin(), clients.end(),
                       [&](const Watcher& client) {
                         return !last.clients.contains(client.client_id);
                       });
  };
  ADDONS_ASSIGN_OR_RETURN(const auto clients,
                          ListMirrorClients(*session.reads));
  if (!came_back(clients)) return absl::OkStatus();
  const Evictions::Turn turn = stops.TryTake(pool);
  // Another promotion of the pool does it.
  if (turn == nullptr) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const Copiers copiers, ListCopiers(session));
  return came_back(copiers.clients) ? EvictAndNote(session, copiers)
                                    : absl::OkStatus();
}

absl::Status EvictEverybody(Session& session) {
  ADDONS_ASSIGN_OR_RETURN(const Copiers copiers, ListCopiers(session));
  return copiers.nobody() ? absl::OkStatus() : EvictAndNote(session, copiers);
}

}  // namespace

absl::StatusOr<std::optional<LockOwner>> FindLockOwner(Session& session,
                                                       Image& image) {
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Watcher> mirrors,
                          ListMirrorClients(*session.reads));
  return FindLockOwner(session, image, mirrors);
}

absl::Status EndLockOwner(Session& session, const LockOwner& owner) {
  Log().warn("a client that died with an image's lock is blocklisted {}: {}",
             session.volume.Describe(), DescribeWatchers({owner.client}));
  return BlocklistClients(session, {owner.client}, {session.reads->id()});
}

absl::StatusOr<bool> CopyingHasEnded(Session& session, Image& image) {
  ADDONS_ASSIGN_OR_RETURN(const Copiers copiers, ListCopiers(session, image));
  return Ended(session, copiers);
}

absl::StatusOr<bool> CopyingHasEnded(Session& session) {
  ADDONS_ASSIGN_OR_RETURN(const Copiers copiers, ListCopiers(session));
  return Ended(session, copiers);
}

absl::Status EndCopying(Session& session, bool others_alive) {
  constexpr std::chrono::milliseconds kAskAgain{100};
  Evictions::Turn turn;
  while (true) {
    ADDONS_ASSIGN_OR_RETURN(const Copiers copiers, ListCopiers(session));
    if (Ended(session, copiers)) return absl::OkStatus();
    if (turn == nullptr) {
      turn = session.environment.evictions.TryTake(PoolKey(session.volume));
      if (turn == nullptr) {
        ADDONS_RETURN_IF_ERROR(session.context.SleepFor(kAskAgain));
      }
      continue;  // somebody else may just have done it
    }
    session.context.Step("ending the copying of the pool");
    if (others_alive) {
      session.environment.timeline.NoteDisturbance(session.cluster().fsid());
    }
    return EvictAndNote(session, copiers);
  }
}

absl::StatusOr<std::unique_ptr<EvictionWatchdog>> EvictionWatchdog::Start(
    Session& session) {
  const auto round = session.environment.options.eviction_round;
  std::unique_ptr<EvictionWatchdog> watchdog(new EvictionWatchdog);
  auto thread = session.environment.start_thread(
      "evict-watchdog", [&session, round, stop = watchdog->stop_.get_token()] {
        Clock& clock = RealClock();
        SteadyTime everybody_at = clock.Now() + kPatience;
        bool told = false;
        while (clock.SleepFor(round, stop)) {
          try {
            const bool everybody = clock.Now() >= everybody_at;
            if (everybody) everybody_at = clock.Now() + kPatience;
            const absl::Status evicted =
                everybody ? EvictEverybody(session) : EvictWhoCameBack(session);
            // A cluster that does not answer is told of once in a while.
            if (std::exchange(told, !evicted.ok()) && !everybody) continue;
            if (evicted.ok()) continue;
            Log().warn(
                "a forced promotion takes long, and rbd-mirror was not "
                "blocklisted again: {}",
                evicted.ToString());
          } catch (...) {
            // No memory, say: the next turn is another one.
          }
        }
      });
  if (!thread) {
    return FailedTo("promote", session.volume, absl::StatusCode::kUnavailable,
                    "no thread can be started that watches over it; raise the "
                    "limit of processes, or repeat the call later");
  }
  watchdog->thread_ = *std::move(thread);
  return watchdog;
}

EvictionWatchdog::~EvictionWatchdog() { stop_.request_stop(); }

}  // namespace addons
