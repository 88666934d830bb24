#include "tests/fakes/fake_world.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/fakes/die.h"
#include "tests/fakes/fake_site.h"

namespace addons {
namespace {

thread_local bool runs_aside = false;

using std::chrono::seconds;

constexpr SteadyDuration kReadTimeout = seconds(10);
constexpr SteadyDuration kCommandTimeout = seconds(5);
// A mutation hangs for as long as the cluster does; a test must not.
constexpr SteadyDuration kHangLimit = std::chrono::hours(1);
constexpr SteadyDuration kLongestStep = seconds(1);
constexpr SteadyDuration kLongCallStep = std::chrono::milliseconds(50);
// Real time: how long a long call waits for somebody to let time pass, and time
// for a long call that is stuck.
constexpr std::chrono::milliseconds kDriverPatience{5};
constexpr std::chrono::seconds kLongCallPatience{2};

// A cephx key: type 1, a creation time, the length and 16 bytes.
std::string MakeKey(char seed) {
  std::string bytes("\1\0\0\0\0\0\0\0\0\0\20\0", 12);
  bytes.append(16, seed);
  return absl::Base64Escape(bytes);
}

}  // namespace

FakeWorld::FakeWorld() = default;
FakeWorld::~FakeWorld() = default;

// --- time

SteadyTime FakeWorld::Now() const {
  MutexLock lock(mutex_);
  return model_.now();
}

WallTime FakeWorld::WallNow() const {
  MutexLock lock(mutex_);
  return model_.wall();
}

FakeWorld::LongCallId FakeWorld::BeginLongCall() {
  MutexLock lock(mutex_);
  LongCall call;
  call.seen = model_.now();
  return long_calls_.insert(long_calls_.end(), call);
}

void FakeWorld::EndLongCall(LongCallId call) {
  MutexLock lock(mutex_);
  long_calls_.erase(call);
  time_or_call_.NotifyAll();
}

SteadyTime FakeWorld::AwaitTime(LongCallId call) {
  const auto patience = std::chrono::steady_clock::now() + kDriverPatience;
  {
    MutexLock lock(mutex_);
    call->seen = model_.now();
    time_or_call_.NotifyAll();
    while (model_.now() == call->seen &&
           time_or_call_.WaitUntil(mutex_, patience)) {
    }
    if (model_.now() != call->seen) return model_.now();
    call->seen = SteadyTime::max();  // two that let time pass do not wait
  }
  Advance(kLongCallStep);
  return Now();
}

void FakeWorld::AwaitLongCalls() {
  const auto limit = std::chrono::steady_clock::now() + kLongCallPatience;
  MutexLock lock(mutex_);
  while (true) {
    const SteadyTime now = model_.now();
    const bool some_are_behind = std::any_of(
        long_calls_.begin(), long_calls_.end(), [now](const LongCall& call) {
          return call.thread != std::this_thread::get_id() && call.seen < now;
        });
    if (!some_are_behind || !time_or_call_.WaitUntil(mutex_, limit)) return;
  }
}

bool FakeWorld::Step(SteadyTime target) {
  AwaitLongCalls();
  std::vector<Event> due;
  {
    MutexLock lock(mutex_);
    const SteadyTime now = model_.now();
    if (now >= target) return false;
    SteadyDuration step = std::min(kLongestStep, target - now);
    for (const Event& event : events_) {
      step = std::min(step, std::max(event.at - now, SteadyDuration::zero()));
    }
    model_.Tick(step);
    time_or_call_.NotifyAll();
    const SteadyTime reached = model_.now();
    for (Event& event : events_) {
      if (event.at <= reached) due.push_back(std::move(event));
    }
    std::erase_if(events_,
                  [&](const Event& event) { return event.at <= reached; });
  }
  std::stable_sort(due.begin(), due.end(),
                   [](const Event& a, const Event& b) { return a.at < b.at; });
  for (const Event& event : due) event.action();
  return true;
}

bool FakeWorld::SleepUntil(SteadyTime time, std::stop_token stop) {
  while (!stop.stop_requested() && Step(time)) {
  }
  return !stop.stop_requested();
}

void FakeWorld::AdvanceToSecond(int second) {
  const auto now = std::chrono::ceil<std::chrono::milliseconds>(
      WallNow().time_since_epoch());
  constexpr std::chrono::milliseconds kMinute = std::chrono::minutes(1);
  const std::chrono::milliseconds wanted = std::chrono::seconds(second);
  Advance((wanted - now % kMinute + kMinute) % kMinute);
}

void FakeWorld::Advance(SteadyDuration duration) {
  SleepFor(duration, std::stop_token());
}

bool FakeWorld::AdvanceUntil(const std::function<bool()>& condition,
                             SteadyDuration limit) {
  const SteadyTime target = Now() + limit;
  while (!condition()) {
    if (!Step(target)) return false;
  }
  return true;
}

void FakeWorld::Schedule(SteadyDuration after, std::function<void()> action) {
  MutexLock lock(mutex_);
  events_.push_back({model_.now() + after, std::move(action)});
}

// --- sites

FakeSite& FakeWorld::AddSite(const std::string& name) {
  MutexLock lock(mutex_);
  model::Site& site = model_.AddSite(name);
  site.cluster_id = absl::StrCat("site-", name);
  site.key = MakeKey(name.empty() ? 'x' : name.front());
  auto& slot = sites_[name];
  slot = std::make_unique<FakeSite>(*this, site);
  return *slot;
}

FakeSite& FakeWorld::site(absl::string_view name) {
  MutexLock lock(mutex_);
  const auto it = sites_.find(name);
  if (it == sites_.end()) Die(absl::StrCat("no site ", name));
  return *it->second;
}

void FakeWorld::Mirror(FakeSite& a, FakeSite& b) {
  MutexLock lock(mutex_);
  model_.Connect(a.site_, b.site_);
}

void FakeWorld::MirrorOneWay(FakeSite& source, FakeSite& target) {
  MutexLock lock(mutex_);
  model_.Connect(source.site_, target.site_);
  source.site_.receives = false;
  source.site_.daemon.exists = false;
}

void FakeWorld::SetLinkUp(bool up) {
  MutexLock lock(mutex_);
  model_.link_up = up;
}

void FakeWorld::ReplayJournals() {
  const MutexLock lock(mutex_);
  model_.replays_journals = true;
}

// --- calls

void FakeWorld::SetCallHook(CallHook before, CallHook after, CallHook within) {
  MutexLock lock(mutex_);
  before_ = std::move(before);
  after_ = std::move(after);
  within_ = std::move(within);
}

void FakeWorld::StrikeAtMutation(int n, int error, bool after) {
  const auto left = std::make_shared<std::atomic<int>>(n);
  CallHook strike = [left, error](absl::string_view, absl::string_view,
                                  bool mutation) {
    if (!mutation || --*left != 0) return 0;
    if (error == 0) throw FakeCrash();
    return error;
  };
  if (after) {
    SetCallHook(nullptr, std::move(strike));
  } else {
    SetCallHook(std::move(strike));
  }
}

std::vector<CallRecord> FakeWorld::Calls() const {
  MutexLock lock(mutex_);
  return calls_;
}

int FakeWorld::CountCalls(absl::string_view site,
                          absl::string_view call) const {
  MutexLock lock(mutex_);
  return static_cast<int>(std::count_if(
      calls_.begin(), calls_.end(), [&](const CallRecord& record) {
        return record.site == site && record.call == call;
      }));
}

int FakeWorld::CountMutations() const {
  MutexLock lock(mutex_);
  return static_cast<int>(
      std::count_if(calls_.begin(), calls_.end(),
                    [](const CallRecord& record) { return record.mutation; }));
}

void FakeWorld::ClearCalls() {
  MutexLock lock(mutex_);
  calls_.clear();
}

void FakeWorld::SetMutationGuard(std::function<bool()> guard) {
  MutexLock lock(mutex_);
  guard_ = std::move(guard);
}

void FakeWorld::RunAside(const std::function<void()>& job) {
  struct Aside {
    Aside() : before(std::exchange(runs_aside, true)) {}
    ~Aside() { runs_aside = before; }
    const bool before;
  };
  const Aside aside;
  job();
}

std::vector<std::string> FakeWorld::Violations() const {
  MutexLock lock(mutex_);
  return violations_;
}

void FakeWorld::AddViolation(const std::string& text) {
  MutexLock lock(mutex_);
  violations_.push_back(text);
}

void FakeWorld::Record(const CallInfo& info) {
  std::function<bool()> guard;
  {
    MutexLock lock(mutex_);
    calls_.push_back(
        {info.site, info.call, info.object, info.mutation, model_.now(),
         info.connection == nullptr ? Access::kRead : info.connection->access});
    guard = guard_;
  }
  if (info.mutation && guard && !runs_aside && !guard()) {
    AddViolation(absl::StrCat(info.call, " on ", info.object,
                              " although nothing may be changed yet"));
  }
}

std::shared_ptr<FakeWorld::Connection> FakeWorld::NewConnection(
    const std::string& site, Access access) {
  MutexLock lock(mutex_);
  auto connection = std::make_shared<Connection>();
  connection->site = site;
  connection->access = access;
  connection->client.id = model_.NewClientId();
  connection->client.address = model_.Address(connection->client.id);
  connections_.push_back(connection);
  return connection;
}

int FakeWorld::AwaitCluster(const std::string& site, SteadyDuration limit) {
  const auto up = [&] {
    MutexLock lock(mutex_);
    return model_.FindSite(site)->up;
  };
  return AdvanceUntil(up, limit) ? 0 : -ETIMEDOUT;
}

int FakeWorld::Await(const CallInfo& info) {
  switch (info.needs) {
    case Needs::kNothing:
      return 0;
    case Needs::kMon:
      return AwaitCluster(info.site, kCommandTimeout);
    case Needs::kMgr: {
      const auto answers = [&] {
        MutexLock lock(mutex_);
        const model::Site* const site = model_.FindSite(info.site);
        return site->up && site->mgr_up;
      };
      // rados_mgr_command gives a positive number here.
      return AdvanceUntil(answers, kCommandTimeout) ? 0 : ETIMEDOUT;
    }
    case Needs::kOsd:
      break;
  }
  const bool read = info.connection->access == Access::kRead;
  if (const int r = AwaitCluster(info.site, read ? kReadTimeout : kHangLimit);
      r != 0) {
    return r;
  }
  MutexLock lock(mutex_);
  const model::Site& site = *model_.FindSite(info.site);
  if (!info.connection->blocklisted &&
      !site.blocklist.contains(info.connection->client.address)) {
    return 0;
  }
  info.connection->blocklisted = true;
  info.connection->dropped = true;
  return -ESHUTDOWN;
}

int FakeWorld::RunHook(const CallHook& hook, const CallInfo& info) {
  if (!hook) return 0;
  try {
    return hook(info.site, info.call, info.mutation);
  } catch (const FakeCrash&) {
    MutexLock lock(mutex_);
    process_died_ = true;
    throw;
  } catch (...) {
    MutexLock lock(mutex_);
    process_died_ = false;
    throw;
  }
}

bool FakeWorld::ProcessDied() const {
  MutexLock lock(mutex_);
  return process_died_;
}

int FakeWorld::Call(const CallInfo& info, const Body& body) {
  Record(info);
  CallHook before;
  CallHook after;
  CallHook within;
  {
    MutexLock lock(mutex_);
    before = before_;
    after = after_;
    within = within_;
  }
  if (const int error = RunHook(before, info); error > 0) return -error;
  if (const int r = Await(info); r != 0) return r;
  int result = model::kAgain;
  const SteadyTime give_up = Now() + kHangLimit;
  while (result == model::kAgain || result == model::kHalfDone) {
    if (Now() >= give_up) return -ETIMEDOUT;
    SteadyDuration cost{};
    {
      MutexLock lock(mutex_);
      result = body(model_, *model_.FindSite(info.site), &cost);
    }
    Advance(cost);
    if (result == model::kHalfDone) (void)RunHook(within, info);
  }
  if (const int error = RunHook(after, info); error > 0) return -error;
  return result;
}

}  // namespace addons
