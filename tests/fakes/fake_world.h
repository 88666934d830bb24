#ifndef ADDONS_TESTS_FAKES_FAKE_WORLD_H_
#define ADDONS_TESTS_FAKES_FAKE_WORLD_H_

#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "ceph/cluster.h"
#include "tests/fakes/model.h"

namespace addons {

class FakeSite;

/// Thrown by a call hook: the process dies here. Open handles leave their
/// watches behind for 30 s, as those of a real dead client.
struct FakeCrash : std::exception {
  const char* what() const noexcept override { return "the process died here"; }
};

/// One call of an interface method, by the C function that it stands for.
struct CallRecord {
  std::string site;
  std::string call;    // "rbd_mirror_image_demote"
  std::string object;  // image, omap object or command; may be empty
  bool mutation = false;
  SteadyTime at{};
  Access access = Access::kRead;  // of the connection that it was made on
};

/// One or two mirrored Ceph clusters in memory, with their time: nothing here
/// takes real seconds. What the fakes promise is what librbd 16.2 and
/// rbd-mirror 16.2 were measured to do; tests/contract holds both to it. Not
/// modelled: snapshots that schedules take (only that nobody else may take one
/// at their moments), image content beyond one number; journal replay only
/// after ReplayJournals().
///
/// As Clock it lets simulated time pass in steps of at most a second and
/// returns at once; whoever sleeps drives rbd-mirror, statuses and timeouts.
/// Threads share the time. Thread-safe; hooks and scheduled functions run
/// without the world's lock and may use the world, block or throw.
class FakeWorld final : public Clock {
 public:
  /// Returns 0 to go on, or a positive errno that the call answers.
  using CallHook = std::function<int(absl::string_view site,
                                     absl::string_view call, bool mutation)>;

  FakeWorld();
  ~FakeWorld() override;
  FakeWorld(const FakeWorld&) = delete;
  FakeWorld& operator=(const FakeWorld&) = delete;

  SteadyTime Now() const override;
  WallTime WallNow() const override;
  bool SleepUntil(SteadyTime time, std::stop_token stop) override;

  /// SleepFor() for tests.
  void Advance(SteadyDuration duration);
  /// Advances until the wall clock is in this second of a minute, less than a
  /// minute.
  void AdvanceToSecond(int second);
  /// Advances until `condition` holds, at most `limit`; false: it never did.
  bool AdvanceUntil(const std::function<bool()>& condition,
                    SteadyDuration limit);
  /// Runs `action` once, when that much time has passed.
  void Schedule(SteadyDuration after, std::function<void()> action);

  /// A cluster "a" has the cluster id "site-a" and the user "csi-rbd".
  FakeSite& AddSite(const std::string& name);
  FakeSite& site(absl::string_view name);
  /// Makes two sites peers; replication runs in both directions.
  void Mirror(FakeSite& a, FakeSite& b);
  /// Replication runs from `source` only: no rbd-mirror there, and so no status
  /// entry of it on the other side.
  void MirrorOneWay(FakeSite& source, FakeSite& target);
  /// Whether the rbd-mirror daemons reach the other cluster.
  void SetLinkUp(bool up);
  /// Images of journal mode are replicated as well, entry by entry, from now
  /// on; else they are left alone, and a test says what is reported on them.
  void ReplayJournals();

  /// `before` runs before each call takes effect (an errno: it has none),
  /// `after` when it has (an errno: the effect stays and the caller is told of
  /// a failure). One that throws FakeCrash ends the process there; any other
  /// exception is one of the call, and handles are closed as it unwinds.
  /// `within` runs where librbd is between two changes of one call: it promotes
  /// and demotes in two steps. What it returns is of no account.
  void SetCallHook(CallHook before, CallHook after = nullptr,
                   CallHook within = nullptr);
  /// Sets the hooks so that the n-th (from 1) mutation answers `error` or, when
  /// that is 0, kills the process: before it takes effect, or after.
  void StrikeAtMutation(int n, int error, bool after);

  std::vector<CallRecord> Calls() const;
  /// How often `call` ("rbd_open") was made on `site`.
  int CountCalls(absl::string_view site, absl::string_view call) const;
  int CountMutations() const;
  void ClearCalls();

  /// While set, a mutation for which it returns false is a violation.
  void SetMutationGuard(std::function<bool()> guard);
  /// Runs `job` on this thread without the guard: what a daemon does aside is
  /// not the work of the verb that began it.
  static void RunAside(const std::function<void()>& job);
  /// What no code may do: mutations through read connections or read-only
  /// handles, on closed handles, or against the guard. Tests expect none.
  std::vector<std::string> Violations() const;

 private:
  friend class FakeSite;
  friend class FakeCluster;
  friend class FakeClusterProvider;
  friend class FakePool;
  friend class FakeImage;
  struct Connection {
    std::string site;
    model::Client client;
    Access access = Access::kRead;
    bool blocklisted = false;
    bool dropped =
        false;  // it was seen to be blocklisted: nobody gets it any more
  };
  /// What a call needs to be answered.
  enum class Needs { kNothing, kOsd, kMon, kMgr };
  struct CallInfo {
    std::string site;
    std::string call;
    std::string object;
    bool mutation = false;
    Needs needs = Needs::kOsd;
    std::shared_ptr<Connection> connection;
  };
  using Body = std::function<int(model::Model&, model::Site&, SteadyDuration*)>;

  struct Event {
    SteadyTime at;
    std::function<void()> action;
  };

  /// The choke point of all interface calls: log, hooks, availability, body,
  /// cost.
  int Call(const CallInfo& info, const Body& body);
  int RunHook(const CallHook& hook, const CallInfo& info);
  bool ProcessDied() const;
  int Await(const CallInfo& info);
  /// A hung answer: until the cluster is up, at most `limit`.
  int AwaitCluster(const std::string& site, SteadyDuration limit);
  void Record(const CallInfo& info);
  void AddViolation(const std::string& text);
  std::shared_ptr<Connection> NewConnection(const std::string& site,
                                            Access access);
  /// A call that takes long on a thread of its own, while another thread lets
  /// time pass: time waits for it, so that what it does has its moment.
  struct LongCall {
    std::thread::id thread = std::this_thread::get_id();
    SteadyTime seen;  // it has done all that was due by then
  };
  using LongCallId = std::list<LongCall>::iterator;
  LongCallId BeginLongCall();
  void EndLongCall(LongCallId call);
  /// Until time has passed; lets it pass when nobody else does.
  SteadyTime AwaitTime(LongCallId call);
  void AwaitLongCalls();
  /// One step towards `target`; false: it is reached.
  bool Step(SteadyTime target);

  mutable Mutex mutex_;
  model::Model model_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::unique_ptr<FakeSite>, std::less<>> sites_
      ABSL_GUARDED_BY(mutex_);
  std::vector<Event> events_ ABSL_GUARDED_BY(mutex_);
  std::vector<CallRecord> calls_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> violations_ ABSL_GUARDED_BY(mutex_);
  CallHook before_ ABSL_GUARDED_BY(mutex_);
  CallHook after_ ABSL_GUARDED_BY(mutex_);
  CallHook within_ ABSL_GUARDED_BY(mutex_);
  std::function<bool()> guard_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Connection>> connections_ ABSL_GUARDED_BY(mutex_);
  /// Which exception unwinds: a dead process leaves its handles open.
  bool process_died_ ABSL_GUARDED_BY(mutex_) = true;
  std::list<LongCall> long_calls_ ABSL_GUARDED_BY(mutex_);
  CondVar time_or_call_;  // time has passed, or a long call has seen it
};

}  // namespace addons

#endif  // ADDONS_TESTS_FAKES_FAKE_WORLD_H_
