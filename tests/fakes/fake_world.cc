#include "tests/fakes/fake_world.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "ceph/errors.h"
#include "nlohmann/json.hpp"
#include "tests/fakes/commands.h"

namespace addons {
namespace {

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

[[noreturn]] void Die(const std::string& text) {
  std::fprintf(stderr, "mistake in the test: %s\n", text.c_str());
  std::abort();
}

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
// --------------------------------------------------------------------------

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
  const auto behind = [&](const LongCall& call) {
    return call.thread != std::this_thread::get_id() &&
           call.seen < model_.now();
  };
  while (std::any_of(long_calls_.begin(), long_calls_.end(), behind) &&
         time_or_call_.WaitUntil(mutex_, limit)) {
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

bool FakeWorld::SleepFor(SteadyDuration duration, std::stop_token stop) {
  const SteadyTime target = Now() + duration;
  while (!stop.stop_requested() && Step(target)) {
  }
  return !stop.stop_requested();
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
// ---------------------------------------------------------------------------

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

// --- calls
// ---------------------------------------------------------------------------

void FakeWorld::SetCallHook(CallHook before, CallHook after) {
  MutexLock lock(mutex_);
  before_ = std::move(before);
  after_ = std::move(after);
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
        {info.site, info.call, info.object, info.mutation, model_.now()});
    guard = guard_;
  }
  if (info.mutation && guard && !guard()) {
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
  if (!info.connection->blocklisted) return 0;
  info.connection->dropped = true;
  return -ESHUTDOWN;
}

int FakeWorld::Call(const CallInfo& info, const Body& body) {
  Record(info);
  CallHook before;
  CallHook after;
  {
    MutexLock lock(mutex_);
    before = before_;
    after = after_;
  }
  if (before) {
    if (const int error = before(info.site, info.call, info.mutation);
        error > 0) {
      return -error;
    }
  }
  if (const int r = Await(info); r != 0) return r;
  int result = model::kAgain;
  const SteadyTime give_up = Now() + kHangLimit;
  while (result == model::kAgain) {
    if (Now() >= give_up) return -ETIMEDOUT;
    SteadyDuration cost{};
    {
      MutexLock lock(mutex_);
      result = body(model_, *model_.FindSite(info.site), &cost);
    }
    Advance(cost);
  }
  if (after) {
    if (const int error = after(info.site, info.call, info.mutation);
        error > 0) {
      return -error;
    }
  }
  return result;
}

// --- FakeSite: contents
// --------------------------------------------------------------

CephUser FakeSite::user() const {
  MutexLock lock(world_.mutex_);
  return {site_.user, Secret(site_.key)};
}

std::shared_ptr<model::Image> FakeSite::Find(const std::string& image) const {
  auto found = model::Model::FindImage(site_, image);
  if (found == nullptr)
    Die(absl::StrCat("no image ", image, " on site ", site_.name));
  return found;
}

model::PoolState& FakeSite::Pool(const std::string& name) const {
  for (auto& [id, pool] : site_.pools) {
    if (pool.name == name) return pool;
  }
  Die(absl::StrCat("no pool ", name, " on site ", site_.name));
}

model::Namespace& FakeSite::Space(const model::Image& image) const {
  return site_.pools[image.pool_id].namespaces[image.rados_namespace];
}

void FakeSite::AddPool(int64_t id, const std::string& name) {
  MutexLock lock(world_.mutex_);
  model::PoolState& pool = site_.pools[id];
  pool.id = id;
  pool.name = name;
  pool.namespaces[""].mode = PoolMirrorMode::kDisabled;
}

void FakeSite::SetPoolMirrorMode(const std::string& pool,
                                 const std::string& rados_namespace,
                                 PoolMirrorMode mode) {
  MutexLock lock(world_.mutex_);
  Pool(pool).namespaces[rados_namespace].mode = mode;
}

void FakeSite::AddImage(const std::string& pool,
                        const std::string& rados_namespace,
                        const std::string& image, uint64_t bytes) {
  MutexLock lock(world_.mutex_);
  world_.model_.CreateImage(site_, Pool(pool), rados_namespace, image, bytes);
}

void FakeSite::AddClone(const std::string& parent, const std::string& clone) {
  MutexLock lock(world_.mutex_);
  const auto from = Find(parent);
  model::PoolState& pool = site_.pools[from->pool_id];
  const auto image = world_.model_.CreateImage(
      site_, pool, from->rados_namespace, clone, from->size.bytes);
  from->other_snapshots.push_back({from->next_snapshot_id++,
                                   absl::StrCat("for-", clone),
                                   SnapshotKind::kUser});
  image->parent = ImageParent{pool.id,  pool.name,  from->rados_namespace,
                              from->id, from->name, false};
  image->content = from->content;
}

void FakeSite::RemoveImage(const std::string& image) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  found->removed = true;
  Space(*found).images.erase(image);
}

bool FakeSite::HasImage(const std::string& image) const {
  MutexLock lock(world_.mutex_);
  return model::Model::FindImage(site_, image) != nullptr;
}

std::string FakeSite::ImageId(const std::string& image) const {
  MutexLock lock(world_.mutex_);
  return Find(image)->id;
}

void FakeSite::SetOmap(const std::string& pool,
                       const std::string& rados_namespace,
                       const std::string& object, OmapValues values) {
  MutexLock lock(world_.mutex_);
  Pool(pool).namespaces[rados_namespace].omap[object] = std::move(values);
}

void FakeSite::AddOmapValue(const std::string& pool,
                            const std::string& rados_namespace,
                            const std::string& object, const std::string& key,
                            const std::string& value) {
  MutexLock lock(world_.mutex_);
  Pool(pool).namespaces[rados_namespace].omap[object][key] = value;
}

OmapValues FakeSite::Omap(const std::string& pool,
                          const std::string& rados_namespace,
                          const std::string& object) const {
  MutexLock lock(world_.mutex_);
  const auto& omap = Pool(pool).namespaces[rados_namespace].omap;
  const auto it = omap.find(object);
  if (it == omap.end())
    Die(absl::StrCat("no object ", object, " on ", site_.name));
  return it->second;
}

bool FakeSite::HasOmap(const std::string& pool,
                       const std::string& rados_namespace,
                       const std::string& object) const {
  MutexLock lock(world_.mutex_);
  return Pool(pool).namespaces[rados_namespace].omap.contains(object);
}

std::map<std::string, std::vector<std::string>> FakeSite::Groups(
    const std::string& pool, const std::string& rados_namespace) const {
  MutexLock lock(world_.mutex_);
  std::map<std::string, std::vector<std::string>> groups;
  for (const auto& [name, members] :
       Pool(pool).namespaces[rados_namespace].groups) {
    std::vector<std::string>& images = groups[name];
    for (const auto& [member, complete] : members) {
      const auto& [pool_id, image_id] = member;
      const auto image = model::Model::FindImageById(
          site_.pools[pool_id].namespaces[rados_namespace], image_id);
      images.push_back(image == nullptr ? "" : image->name);
    }
    std::sort(images.begin(), images.end());
  }
  return groups;
}

void FakeSite::LeaveGroupImageIncomplete(const std::string& pool,
                                         const std::string& rados_namespace,
                                         const std::string& group,
                                         const std::string& image_id) {
  MutexLock lock(world_.mutex_);
  model::PoolState& state = Pool(pool);
  state.namespaces[rados_namespace].groups[group][{state.id, image_id}] = false;
}

void FakeSite::SetImageMetadata(const std::string& image,
                                const std::string& key,
                                const std::string& value) {
  MutexLock lock(world_.mutex_);
  Find(image)->metadata[key] = value;
}

// --- FakeSite: workloads
// -----------------------------------------------------------------

absl::Status FakeSite::Write(const std::string& image, uint64_t value) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  if (found->read_only()) return CephError(-EROFS, "write", image);
  found->Fill(value);
  found->used_objects = found->size.objects;
  return absl::OkStatus();
}

uint64_t FakeSite::Data(const std::string& image) const {
  MutexLock lock(world_.mutex_);
  return Find(image)->content.front();
}

bool FakeSite::Torn(const std::string& image) const {
  MutexLock lock(world_.mutex_);
  return Find(image)->torn();
}

void FakeSite::AddWatcher(const std::string& image, const std::string& address,
                          uint64_t client_id) {
  MutexLock lock(world_.mutex_);
  Find(image)->watches.push_back(
      {{address, client_id, 93000000000000 + client_id}, false, std::nullopt});
}

void FakeSite::RemoveWatcher(const std::string& image, uint64_t client_id) {
  MutexLock lock(world_.mutex_);
  std::erase_if(Find(image)->watches, [&](const model::Watch& watch) {
    return watch.watcher.client_id == client_id;
  });
}

void FakeSite::AddLocker(const std::string& image, const std::string& address,
                         uint64_t client_id, LockKind kind) {
  MutexLock lock(world_.mutex_);
  Find(image)->lock = model::Lock{{absl::StrCat("client.", client_id),
                                   absl::StrCat("auto ", client_id), address},
                                  kind == LockKind::kExplicit};
}

void FakeSite::RemoveLocker(const std::string& image) {
  MutexLock lock(world_.mutex_);
  Find(image)->lock.reset();
}

// --- FakeSite: space
// ----------------------------------------------------------------------

void FakeSite::SetFeatures(const std::string& image,
                           const ImageFeatures& features) {
  MutexLock lock(world_.mutex_);
  Find(image)->features = features;
}

void FakeSite::AddSnapshot(const std::string& image, const std::string& name,
                           SnapshotKind kind) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  found->other_snapshots.push_back({found->next_snapshot_id++, name, kind});
}

void FakeSite::SetUsage(const std::string& image, uint64_t used_objects,
                        uint64_t zero_objects) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  found->used_objects = used_objects;
  found->zero_objects = zero_objects;
}

uint64_t FakeSite::UsedObjects(const std::string& image) const {
  MutexLock lock(world_.mutex_);
  return Find(image)->used_objects;
}

bool FakeSite::HasLock(const std::string& image) const {
  MutexLock lock(world_.mutex_);
  return Find(image)->lock.has_value();
}

// --- FakeSite: mirroring
// ------------------------------------------------------------------

void FakeSite::EnableMirroring(const std::string& image, MirrorMode mode) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  if (world_.model_.Enable(site_, Space(*found), *found, mode) != 0) {
    Die(absl::StrCat("cannot enable mirroring of ", image));
  }
}

void FakeSite::CreateMirrorSnapshot(const std::string& image) {
  MutexLock lock(world_.mutex_);
  uint64_t id = 0;
  if (world_.model_.CreateSnapshot(site_, *Find(image), &id) != 0) {
    Die(absl::StrCat("cannot create a mirror snapshot of ", image));
  }
}

void FakeSite::Demote(const std::string& image) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  const model::Client admin{world_.model_.NewClientId(), "10.0.1.1:0/1"};
  SteadyDuration ignored{};
  if (world_.model_.Demote(site_, *found, admin, &ignored) != 0) {
    Die(absl::StrCat("cannot demote ", image));
  }
  found->lock.reset();
}

void FakeSite::Promote(const std::string& image, Force force) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  model::Model& model = world_.model_;
  const model::Client admin{model.NewClientId(), "10.0.1.1:0/1"};
  model::Model::Promotion promotion;
  SteadyDuration ignored{};
  // rbd-mirror lets go at once here.
  const auto replayer = site_.daemon.replayers.find(found->global_id);
  if (replayer != site_.daemon.replayers.end())
    replayer->second.holds_image = false;
  if (model.BeginPromotion(site_, *found, force, &promotion) != 0 ||
      model.FinishPromotion(site_, *found, admin, promotion, &ignored) != 0) {
    Die(absl::StrCat("cannot promote ", image));
  }
  found->lock.reset();
}

uint64_t FakeSite::SnapshotData(const std::string& image,
                                uint64_t snapshot_id) const {
  MutexLock lock(world_.mutex_);
  for (const model::Snapshot& snapshot : Find(image)->snapshots) {
    if (snapshot.info.id == snapshot_id) return snapshot.content.front();
  }
  Die(absl::StrCat("no snapshot ", snapshot_id, " of ", image));
}

MirrorImageInfo FakeSite::Info(const std::string& image) const {
  MutexLock lock(world_.mutex_);
  return world_.model_.Info(*Find(image));
}

std::vector<MirrorSnapshot> FakeSite::Snapshots(
    const std::string& image) const {
  MutexLock lock(world_.mutex_);
  std::vector<MirrorSnapshot> snapshots;
  for (const model::Snapshot& snapshot : Find(image)->snapshots) {
    snapshots.push_back(snapshot.info);
  }
  return snapshots;
}

std::vector<SiteStatus> FakeSite::Status(const std::string& image) const {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  return world_.model_.Status(site_, Space(*found), *found);
}

void FakeSite::SetStatus(const std::string& image,
                         const std::string& mirror_uuid,
                         MirrorStatusState state,
                         const std::string& description) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  model::StatusEntry& entry =
      Space(*found).statuses[found->global_id][mirror_uuid];
  entry.state = state;
  entry.description = description;
  entry.instance = mirror_uuid.empty() ? site_.daemon.local_instance
                                       : site_.peer->daemon.peer_instance;
  entry.last_update = world_.model_.ClockOf(site_);
}

void FakeSite::RemoveStatuses(const std::string& image) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  model::Model::ForgetStatus(Space(*found), *found);
}

void FakeSite::ForceSplitBrain(const std::string& image) {
  MutexLock lock(world_.mutex_);
  const auto found = Find(image);
  model::Model& model = world_.model_;
  model.AddSnapshot(site_, *found, MirrorSnapshotKind::kPrimaryDemoted);
  if (site_.peer == nullptr) return;
  const auto other = model::Model::FindImage(*site_.peer, image);
  if (other != nullptr && !other->primary()) {
    model.AddSnapshot(*site_.peer, *other, MirrorSnapshotKind::kPrimary);
  }
}

void FakeSite::LeaveNextSnapshotIncomplete(const std::string& image) {
  MutexLock lock(world_.mutex_);
  Find(image)->next_snapshot_incomplete = true;
}

void FakeSite::SetMirrorImageState(const std::string& image,
                                   MirrorImageState state) {
  MutexLock lock(world_.mutex_);
  Find(image)->mirror_state = state;
}

std::string FakeSite::Schedules() const {
  MutexLock lock(world_.mutex_);
  return model::RunMgrCommand(
             world_.model_, site_,
             R"({"prefix": "rbd mirror snapshot schedule list"})")
      .output;
}

// --- FakeSite: faults
// -----------------------------------------------------------------------

void FakeSite::SetClusterUp(bool up) {
  MutexLock lock(world_.mutex_);
  if (up && !site_.up) {
    site_.daemon.ready_at = world_.model_.now() + model::kDaemonStart;
    site_.daemon.next_report = site_.daemon.ready_at;
  }
  site_.up = up;
}

void FakeSite::SetMgrUp(bool up) {
  MutexLock lock(world_.mutex_);
  site_.mgr_up = up;
}

void FakeSite::SetMgrModuleReady(bool ready) {
  MutexLock lock(world_.mutex_);
  site_.mgr_ready = ready;
}

void FakeSite::SetMirrorDaemon(DaemonState state) {
  MutexLock lock(world_.mutex_);
  world_.model_.SetDaemon(site_, state);
}

void FakeSite::SetCopySpeed(double objects_per_second) {
  MutexLock lock(world_.mutex_);
  site_.daemon.objects_per_second = objects_per_second;
  for (auto& [global_id, replayer] : site_.daemon.replayers)
    replayer.budget = 0;
}

void FakeSite::SetResyncAbsence(SteadyDuration duration) {
  MutexLock lock(world_.mutex_);
  site_.daemon.absence_on_resync = duration;
}

void FakeSite::SetClockSkew(std::chrono::seconds skew) {
  MutexLock lock(world_.mutex_);
  site_.clock_skew = skew;
}

void FakeSite::BlocklistClients() {
  MutexLock lock(world_.mutex_);
  for (const auto& connection : world_.connections_) {
    if (connection->site != site_.name || connection->blocklisted) continue;
    connection->blocklisted = true;
    site_.blocklist[connection->client.address] =
        world_.model_.wall() + site_.clock_skew + std::chrono::hours(1);
    for (auto& [pool_id, pool] : site_.pools) {
      for (auto& [space_name, space] : pool.namespaces) {
        for (auto& [name, image] : space.images) {
          std::erase_if(image->watches, [&](const model::Watch& watch) {
            return watch.watcher.client_id == connection->client.id;
          });
        }
      }
    }
  }
}

void FakeSite::SetNeedlessOpenBlocklists(bool on) {
  MutexLock lock(world_.mutex_);
  site_.needless_open_blocklists = on;
}

void FakeSite::SetKey(const std::string& key) {
  MutexLock lock(world_.mutex_);
  site_.key = key;
}

}  // namespace addons
