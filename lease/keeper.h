#ifndef ADDONS_LEASE_KEEPER_H_
#define ADDONS_LEASE_KEEPER_H_

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bounded_threads.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/periodic.h"
#include "ceph/pool.h"
#include "lease/holder.h"
#include "lease/target.h"

namespace addons {

struct LeaseOptions {
  std::string instance = "default";
  ProcessIdentity self = ThisProcess();
  ProcessProbe probe = ProbeProcess;
  LifeSignProbe life_sign_is_gone = LifeSignIsGone;
  /// How long a lease lasts by the OSD's clock when nobody renews it, and how
  /// often it is renewed.
  std::chrono::seconds duration{40};
  std::chrono::seconds renew_after{10};
  /// One that could not be renewed for so long is taken for lost.
  std::chrono::seconds trust{35};
  /// How long a verb waits for one that another daemon has, and how often it
  /// tries.
  std::chrono::seconds patience{20};
  std::chrono::milliseconds poll{250};
  /// For how long a verb that only waits keeps one.
  std::chrono::seconds idle{10};
  /// For how long a predecessor's client is blocklisted. It never comes back:
  /// each process has an address of its own.
  std::chrono::seconds blocklisted{std::chrono::hours(1)};
};

/// The leases of this daemon: who changes a volume or a volume group has one on
/// it, so that two daemons never change one thing at the same time. A lease is
/// an exclusive lock with an end on an object of our own, taken and renewed on
/// the connection for changes.
///
/// There is one keeper in a process: a lease that says it is of this process
/// and is not among those of the keeper is one that a connection lost which was
/// replaced, or one that could not be given back; it is replaced at once, like
/// that of a process of this machine that is proven dead. A predecessor of the
/// same instance that has ended, but whose pid proves nothing here, is
/// blocklisted first. Nobody else ever is: all other leases, that of a
/// blocklisted client among them, end by themselves. Thread-safe.
class LeaseKeeper {
 public:
  /// A lease that was taken.
  class Held;

  /// `clock` is not owned.
  explicit LeaseKeeper(Clock& clock, LeaseOptions options = {});
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  /// From now on threads of its own renew what is held; until then it is up to
  /// RenewDue() and Check(). Once.
  void StartRenewing();

  struct Outcome {
    std::shared_ptr<Held> lease;  // null: somebody else has it
    std::string holder;           // who
  };
  /// One try. Errors of Ceph, none of which is an answer about the volume:
  /// PERMISSION_DENIED where the user may not lock.
  absl::StatusOr<Outcome> TryTake(const LeaseTarget& target,
                                  const std::string& verb);
  /// UNAVAILABLE when it was lost, for instance because this client was
  /// blocklisted or the cluster hung. Renews it where that is due.
  absl::Status Check(const std::shared_ptr<Held>& lease);
  /// Others may have it now. The object of one that had ended goes, too.
  void GiveBack(const std::shared_ptr<Held>& lease);
  /// Like GiveBack(), but Ceph is not told: it ends by itself.
  void Forget(const std::shared_ptr<Held>& lease);
  /// Renews what is due.
  void RenewDue();

  /// RADOS instance ids of daemons, whose watches are no workload: of the one
  /// that has the lease on `target`, and of those that had a lease on its
  /// cluster and were found dead.
  absl::StatusOr<std::set<uint64_t>> DaemonClients(const LeaseTarget& target);

  const LeaseOptions& options() const { return options_; }

 private:
  enum class Standing { kAnother, kOfThisDaemon, kPredecessor, kDead };

  std::string Reserve(const std::string& verb);
  void Release(const std::string& cookie);
  Standing StandingOf(const Locker& locker) const;
  /// From now on Ceph takes nothing from it that comes after this client's next
  /// call. false: it was not possible; its lease is left to end.
  bool ShutOut(const LeaseTarget& target, const Locker& locker);
  void RememberDead(const LeaseTarget& target, const Locker& locker);
  bool BeginRenewal(Held& lease) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Renew(Held& lease);

  Clock& clock_;
  const LeaseOptions options_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::set<std::string> cookies_ ABSL_GUARDED_BY(mutex_);
  std::list<std::shared_ptr<Held>> held_ ABSL_GUARDED_BY(mutex_);
  /// By fsid.
  std::set<std::pair<std::string, uint64_t>> dead_ ABSL_GUARDED_BY(mutex_);
  /// Cookies of predecessors that could not be shut out: once is enough.
  std::set<std::string> left_to_end_ ABSL_GUARDED_BY(mutex_);
  bool own_threads_ ABSL_GUARDED_BY(mutex_) = false;

  // Last: they use what is above.
  std::unique_ptr<BoundedThreads> renewals_;
  std::unique_ptr<Periodic> rounds_;
};

}  // namespace addons

#endif  // ADDONS_LEASE_KEEPER_H_
