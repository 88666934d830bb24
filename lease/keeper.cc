#include "lease/keeper.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "base/uuid.h"
#include "ceph/blocklist_commands.h"
#include "ceph/errors.h"
#include "ceph/mirror_clients.h"
#include "lease/who_holds.h"

namespace addons {
namespace {

/// How often who has it may have changed between two calls of one try.
constexpr int kTries = 5;
/// Dead clients whose watches may still be there; each for 30 s.
constexpr size_t kMostDead = 4096;
constexpr std::chrono::milliseconds kRound{1000};

/// That the object of a lease is not there, or cannot be made, says nothing
/// about the volume.
absl::Status NoAnswer(const absl::Status& status, const LeaseTarget& target) {
  const std::string text = absl::StrCat("Failed to take the lease on ",
                                        target.text, ": ", status.message());
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:  // keeps the errno of a blocklisting
      return status;
    case absl::StatusCode::kResourceExhausted:
      return absl::UnavailableError(absl::StrCat(
          "nothing can be changed in pool '", target.place.pool_name,
          "', because it is full or its quota is reached; free space or raise "
          "the quota, then repeat the call (",
          status.message(), ")"));
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kInternal:
      return absl::Status(status.code(), text);
    default:
      return absl::UnavailableError(text);
  }
}

/// "10.0.0.1:0/123" of "v1:10.0.0.1:0/123": blocklisted is the client, whatever
/// it speaks.
absl::string_view BareAddress(absl::string_view address) {
  for (const absl::string_view type : {"v1:", "v2:", "any:"}) {
    if (absl::ConsumePrefix(&address, type)) break;
  }
  return address;
}

}  // namespace

class LeaseKeeper::Held {
 public:
  Held(LeaseTarget lease_target, std::unique_ptr<Pool> lease_pool,
       const std::string& cookie, SteadyTime now)
      : target(std::move(lease_target)),
        lock(LeaseLockOf(target, cookie)),
        pool(std::move(lease_pool)),
        renewed(now) {}

  /// Once nobody holds it, nobody else removes its object, unless somebody
  /// takes the lease again. The lock is taken anew for that, or is still there;
  /// who has it by now keeps it, and removes the object with it.
  void RemoveObject(std::chrono::seconds duration) {
    auto removed = pool->RemoveLockedObject(lock);
    if (removed.ok() && !*removed) {
      const auto taken = pool->TakeObjectLock(lock, duration);
      if (!taken.ok() || !*taken) return;
      removed = pool->RemoveLockedObject(lock);
    }
    if (!removed.ok()) {
      Log().info(
          "the object of a lost lease on {} stays until the next one: {}",
          target.text, std::string(removed.status().message()));
    }
  }

  const LeaseTarget target;
  const ObjectLock lock;
  /// Of the client that took it: another connection could not renew it.
  const std::unique_ptr<Pool> pool;

  // Guarded by the keeper's mutex.
  SteadyTime renewed;  // begin of the last renewal that Ceph confirmed
  bool busy = false;   // a thread uses the pool
  bool lost = false;
};

LeaseKeeper::LeaseKeeper(Clock& clock, LeaseOptions options)
    : clock_(clock), options_(std::move(options)) {}

LeaseKeeper::~LeaseKeeper() = default;

void LeaseKeeper::StartRenewing() {
  renewals_ = std::make_unique<BoundedThreads>("lease-renewal");
  {
    const MutexLock lock(mutex_);
    own_threads_ = true;
  }
  rounds_ =
      std::make_unique<Periodic>("lease-clock", kRound, [this] { RenewDue(); });
}

std::string LeaseKeeper::Reserve(const std::string& verb) {
  LeaseHolder holder;
  holder.process = options_.self;
  holder.instance = options_.instance;
  holder.verb = verb;
  holder.since = FormatUtc(absl::FromChrono(clock_.WallNow()));
  holder.token = NewUuid();
  std::string cookie = FormatLeaseHolder(holder);
  const MutexLock lock(mutex_);
  cookies_.insert(cookie);
  return cookie;
}

void LeaseKeeper::Release(const std::string& cookie) {
  const MutexLock lock(mutex_);
  cookies_.erase(cookie);
}

LeaseKeeper::Standing LeaseKeeper::StandingOf(const Locker& locker) const {
  {
    const MutexLock lock(mutex_);
    if (cookies_.contains(locker.cookie)) return Standing::kOfThisDaemon;
  }
  const auto holder = ParseLeaseHolder(locker.cookie);
  if (!holder.has_value()) return Standing::kAnother;
  if (SameProcess(holder->process, options_.self) ||
      ProvenDead(holder->process, options_.self, options_.probe)) {
    return Standing::kDead;
  }
  return OfInstance(*holder, options_.instance) &&
                 LifeEnded(holder->process, options_.self,
                           options_.life_sign_is_gone)
             ? Standing::kPredecessor
             : Standing::kAnother;
}

void LeaseKeeper::RememberDead(const LeaseTarget& target,
                               const Locker& locker) {
  const auto id = ClientIdOf(locker.client);
  if (!id.has_value()) return;
  const MutexLock lock(mutex_);
  if (dead_.size() >= kMostDead) dead_.clear();
  dead_.emplace(target.place.cluster->fsid(), *id);
}

bool LeaseKeeper::ShutOut(const LeaseTarget& target, const Locker& locker) {
  {
    const MutexLock lock(mutex_);
    if (left_to_end_.contains(locker.cookie)) return false;
  }
  Cluster& cluster = *target.place.cluster;
  absl::Status status = FirstError(AddEntries(
      cluster, {ClientKey(BareAddress(locker.address))}, options_.blocklisted));
  // An OSD that has a call with that map from us takes nothing from it any
  // more.
  if (status.ok()) status = cluster.WaitForLatestMap();
  if (status.ok()) return true;
  Log().warn(
      "the lease on {} is left to end by itself: its dead holder cannot be "
      "blocklisted: {}: {}",
      target.text, DescribeLeaseLocker(locker), std::string(status.message()));
  const MutexLock lock(mutex_);
  if (left_to_end_.size() >= kMostDead) left_to_end_.clear();
  left_to_end_.insert(locker.cookie);
  return false;
}

absl::StatusOr<LeaseKeeper::Outcome> LeaseKeeper::TryTake(
    const LeaseTarget& target, const std::string& verb) {
  auto opened = target.place.OpenPool(Access::kMutate);
  if (!opened.ok()) return NoAnswer(opened.status(), target);
  std::unique_ptr<Pool> pool = *std::move(opened);
  for (int tries = 0; tries < kTries; ++tries) {
    const SteadyTime begin = clock_.Now();
    const std::string cookie = Reserve(verb);
    const ObjectLock lock = LeaseLockOf(target, cookie);
    const auto taken = pool->TakeObjectLock(lock, options_.duration);
    if (taken.ok() && *taken) {
      auto lease =
          std::make_shared<Held>(target, std::move(pool), cookie, begin);
      const MutexLock guard(mutex_);
      held_.push_back(lease);
      return Outcome{std::move(lease), ""};
    }
    Release(cookie);
    if (!taken.ok()) return NoAnswer(taken.status(), target);
    const auto lockers = pool->ObjectLockers(lock);
    if (!lockers.ok()) return NoAnswer(lockers.status(), target);
    if (lockers->empty()) continue;  // gone in between
    const Locker& locker = lockers->front();
    const Standing standing = StandingOf(locker);
    const bool shut_out =
        standing == Standing::kPredecessor && ShutOut(target, locker);
    if (standing != Standing::kDead && !shut_out) {
      return Outcome{nullptr, DescribeLeaseLocker(locker)};
    }
    RememberDead(target, locker);
    Log().info("the lease on {} is taken from a dead daemon{}: {}", target.text,
               shut_out ? ", whose client was blocklisted" : "",
               DescribeLeaseLocker(locker));
    const absl::Status broken = pool->BreakObjectLock(lock, locker);
    if (!broken.ok()) return NoAnswer(broken, target);
  }
  return Outcome{nullptr, "others, who come and go"};
}

bool LeaseKeeper::BeginRenewal(Held& lease) {
  if (lease.busy || lease.lost ||
      clock_.Now() - lease.renewed < options_.renew_after) {
    return false;
  }
  lease.busy = true;
  return true;
}

void LeaseKeeper::Renew(Held& lease) {
  const SteadyTime begin = clock_.Now();
  absl::StatusOr<bool> renewed = absl::UnavailableError("interrupted");
  try {
    renewed = lease.pool->RenewObjectLock(lease.lock, options_.duration);
  } catch (...) {
    const MutexLock lock(mutex_);
    lease.busy = false;
    changed_.NotifyAll();
    throw;
  }
  const MutexLock lock(mutex_);
  lease.busy = false;
  if (renewed.ok() && *renewed) {
    lease.renewed = begin;
  } else if (renewed.ok() || CephErrno(renewed.status()) == kBlocklistedErrno) {
    lease.lost = true;
  }
  changed_.NotifyAll();
}

absl::Status LeaseKeeper::Check(const std::shared_ptr<Held>& lease) {
  bool renew = false;
  {
    const MutexLock lock(mutex_);
    // Somebody renews it; near its end that is waited for.
    while (lease->busy && !lease->lost &&
           clock_.Now() - lease->renewed >= options_.trust) {
      changed_.Wait(mutex_);
    }
    renew = BeginRenewal(*lease);
  }
  if (renew) Renew(*lease);
  const MutexLock lock(mutex_);
  if (!lease->lost && clock_.Now() - lease->renewed < options_.trust) {
    return absl::OkStatus();
  }
  lease->lost = true;
  return absl::UnavailableError(
      absl::StrCat("the lease on ", lease->target.text,
                   " was lost in the middle of the work; repeat the call"));
}

void LeaseKeeper::GiveBack(const std::shared_ptr<Held>& lease) {
  bool lost = false;
  bool own_threads = false;
  {
    const MutexLock lock(mutex_);
    while (lease->busy) changed_.Wait(mutex_);
    lease->busy = true;  // no renewal any more
    lost = lease->lost;
    own_threads = own_threads_;
    held_.remove(lease);
  }
  bool ended = lost;
  if (!lost) {
    const auto removed = lease->pool->RemoveLockedObject(lease->lock);
    if (!removed.ok()) {
      Log().warn(
          "the lease on {} could not be given back and ends by itself: {}",
          lease->target.text, std::string(removed.status().message()));
    } else if (!*removed) {
      Log().warn("the lease on {} had ended before it was given back",
                 lease->target.text);
      ended = true;
    }
  }
  if (!ended) {
    Release(lease->lock.cookie);
    return;
  }
  // It was lost because Ceph did not answer, and that may last.
  const auto remove = [this, lease] {
    lease->RemoveObject(options_.duration);
    Release(lease->lock.cookie);
  };
  if (!own_threads) {
    remove();
  } else if (!renewals_->Run(lease->target.place.cluster->fsid(), remove)) {
    Release(lease->lock.cookie);
  }
}

void LeaseKeeper::Forget(const std::shared_ptr<Held>& lease) {
  const MutexLock lock(mutex_);
  while (lease->busy) changed_.Wait(mutex_);
  lease->busy = true;
  held_.remove(lease);
  cookies_.erase(lease->lock.cookie);
}

// A cluster that hangs keeps threads of its own only.
void LeaseKeeper::RenewDue() {
  std::vector<std::shared_ptr<Held>> due;
  bool own_threads = false;
  {
    const MutexLock lock(mutex_);
    own_threads = own_threads_;
    for (const auto& lease : held_) {
      if (BeginRenewal(*lease)) due.push_back(lease);
    }
  }
  for (const auto& lease : due) {
    const bool begun =
        own_threads && renewals_->Run(lease->target.place.cluster->fsid(),
                                      [this, lease] { Renew(*lease); });
    if (!begun) Renew(*lease);
  }
}

absl::StatusOr<std::set<uint64_t>> LeaseKeeper::DaemonClients(
    const LeaseTarget& target) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          target.place.OpenPool(Access::kRead));
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Locker> lockers,
                          pool->ObjectLockers(LeaseLockOf(target, "")));
  std::set<uint64_t> ids;
  for (const Locker& locker : lockers) {
    if (const auto id = ClientIdOf(locker.client); id.has_value())
      ids.insert(*id);
    const Standing standing = StandingOf(locker);
    if (standing == Standing::kDead || standing == Standing::kPredecessor) {
      RememberDead(target, locker);
    }
  }
  const MutexLock lock(mutex_);
  for (const auto& [fsid, id] : dead_) {
    if (fsid == target.place.cluster->fsid()) ids.insert(id);
  }
  return ids;
}

}  // namespace addons
