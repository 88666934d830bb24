#ifndef ADDONS_CEPH_LIBRADOS_HOST_RESOLVER_H_
#define ADDONS_CEPH_LIBRADOS_HOST_RESOLVER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/start_thread.h"

namespace addons {

/// Looks host names up with a bound, which getaddrinfo() has not: with a dead
/// name server and the search list of a pod it takes minutes. Each name that is
/// being looked up has one thread, however many wait for it. Thread-safe.
///
/// The destructor waits for the look-ups that are still running.
class HostResolver {
 public:
  /// Blocks for as long as it takes; IPv6 addresses in brackets, empty when
  /// there is none. One that throws has found none.
  using LookUpFn = std::function<std::vector<std::string>(const std::string&)>;

  /// Looks up with getaddrinfo().
  HostResolver();
  explicit HostResolver(LookUpFn look_up, ThreadStarter start = StartThread);
  HostResolver(const HostResolver&) = delete;
  HostResolver& operator=(const HostResolver&) = delete;

  /// Begins to look `host` up, unless that is going on. Does not block.
  void Prepare(const std::string& host);
  /// The addresses of `host`; empty: none, or not known by `until`.
  /// UNAVAILABLE: nobody could be asked, the system has no thread left. What
  /// was found is not kept: addresses change.
  absl::StatusOr<std::vector<std::string>> Resolve(const std::string& host,
                                                   SteadyTime until);

 private:
  struct Lookup {
    bool done = false;  // the last thing that `thread` does under the lock
    std::vector<std::string> addresses;
    std::jthread thread;
  };
  /// nullptr: the system has no thread left.
  std::shared_ptr<Lookup> FindOrStart(const std::string& host)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const LookUpFn look_up_;
  const ThreadStarter start_;
  Mutex mutex_;
  CondVar changed_;
  // Last, so that its threads end before the rest goes.
  std::map<std::string, std::shared_ptr<Lookup>> lookups_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_HOST_RESOLVER_H_
