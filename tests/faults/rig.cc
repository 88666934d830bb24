#include "tests/faults/rig.h"

#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "networkfence/fence.h"
#include "networkfence/fence_clients.h"
#include "networkfence/list_fences.h"
#include "networkfence/unfence.h"
#include "operation/job_answer.h"
#include "reclaimspace/sparsify.h"
#include "reclaimspace/trim.h"
#include "replication/group/demote.h"
#include "replication/group/destination.h"
#include "replication/group/disable.h"
#include "replication/group/enable.h"
#include "replication/group/info.h"
#include "replication/group/promote.h"
#include "replication/group/resync.h"
#include "tests/testing/handles.h"
#include "volumegroup/create.h"
#include "volumegroup/delete.h"
#include "volumegroup/get.h"
#include "volumegroup/list.h"
#include "volumegroup/modify.h"

namespace addons::testing {
namespace {

constexpr char kMembersUuid[] = "1603eb04-e188-4ec4-a750-bec38d49ac0a";

ReplicationParameters Parsed(const ParameterMap& parameters) {
  return *ReplicationParameters::Parse(parameters);
}

constexpr char kWork[] = "sparsify";
constexpr char kNotReady[] = "begun, and not ready";

absl::Status Ready(const absl::StatusOr<ResyncResult>& result) {
  if (!result.ok()) return result.status();
  return result->ready ? absl::OkStatus() : absl::UnavailableError(kNotReady);
}

FenceTarget FenceOf(FakeSite& site) {
  return {ClusterId(site.cluster_id()), site.user()};
}

}  // namespace

Rig::Rig() {
  script_ = [this](TestOperationContext& context) {
    if (injector_ != nullptr) injector_->SetContext(&context);
    context.OnProgress([this] { AwaitWork(); });
  };
}

Process& Rig::on(FakeSite& site) {
  auto& process = processes_[site.name()];
  if (process == nullptr) {
    process = std::make_unique<Process>(world_, pair_, site, StarterOf(site));
  }
  return *process;
}

ThreadStarter Rig::StarterOf(const FakeSite& site) {
  return [this, at = site.name()](
             const std::string& name,
             std::function<void()> run) -> std::optional<std::jthread> {
    if (std::this_thread::get_id() == test_thread_) {
      threads_.emplace(at, name);
      if (injector_ != nullptr && !injector_->MayStart(at, name)) {
        return std::nullopt;
      }
    }
    if (name != kWork) return StartThread(name, std::move(run));
    ++working_;
    return StartThread(name, [this, run = std::move(run)] {
      run();
      --working_;
    });
  };
}

void Rig::AwaitWork() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (working_ > 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void Rig::Restart() {
  if (injector_ != nullptr) injector_->Bury();
  processes_.clear();
  looked_.clear();
  if (injector_ != nullptr) injector_->Revive();
}

void Rig::Restart(FakeSite& site) {
  if (injector_ != nullptr) injector_->Bury();
  processes_.erase(site.name());
  looked_.erase(site.name());
  if (injector_ != nullptr) injector_->Revive();
}

void Rig::NameThePool(FakeSite& site) {
  ResolvedVolume volume;
  volume.cluster_id = ClusterId(site.cluster_id());
  volume.pool_id = pair_.pool_id(site);
  volume.pool_name = MirroredPair::kPool;
  on(site).environment().watched.Note(volume, "another", site.user());
}

void Rig::KeepLooking() {
  world_.Schedule(MirrorRestartWatch::kInterval, [this] {
    KeepLooking();
    // A look may take longer than until the next one.
    if (looking_) return;
    looking_ = true;
    const absl::Cleanup looked = [this] { looking_ = false; };
    for (FakeSite* const site : {&a_, &b_}) {
      NameThePool(*site);
      FakeWorld::RunAside([&] { on(*site).restarts().LookAtAll(); });
      looked_.insert(site->name());
    }
  });
}

std::string Rig::MemberUuid(int i) {
  return absl::StrFormat("5ef79ce1-81e8-439b-8405-%012d", i);
}

void Rig::AddMirroredByJournal() {
  world_.ReplayJournals();
  AddPlain();
  ASSERT_OK(a_.Write(image_, 1));
  a_.EnableMirroring(image_, MirrorMode::kJournal);
  world_.Advance(std::chrono::minutes(2));
  pair_.AddJournal(b_, kUuid);
}

void Rig::AddPlainMembers(int count, uint64_t bytes) {
  for (int i = 0; i < count; ++i) {
    ids_.push_back(pair_.AddVolume(a_, MemberUuid(i), bytes));
  }
  group_id_ = pair_.VolumeId(a_, kMembersUuid);
  OmapValues values = {
      {"csi.volname", "vgrcontent-1"},
      {"csi.groupname", absl::StrCat("csi-vol-group-", kMembersUuid)}};
  for (const std::string& id : ids_) values[id] = "";
  for (FakeSite* const site : {&a_, &b_}) {
    site->SetOmap(MirroredPair::kPool, "",
                  absl::StrCat("csi.volume.group.", kMembersUuid), values);
  }
}

void Rig::AddMirroredMembers(int count, uint64_t bytes) {
  AddPlainMembers(count, bytes);
  for (int i = 0; i < count; ++i) {
    ASSERT_OK(a_.Write(MemberImage(i), 1));
    a_.EnableMirroring(MemberImage(i));
  }
  // rbd-mirror of both sites has reported on what it has.
  world_.Advance(std::chrono::minutes(2));
  for (int i = 0; i < count; ++i) pair_.AddJournal(b_, MemberUuid(i));
}

void Rig::CreateGroupOf(const std::vector<std::string>& ids) {
  ASSERT_OK(CreateGroup(a_, ids));
}

void Rig::DieIn(FakeSite& site, const std::string& function,
                const std::function<absl::Status(Rig&)>& call, int occurrence) {
  Injector injector(world_, {site.name(), function, occurrence},
                    {Strike::kDieAfter});
  SetInjector(&injector);
  try {
    (void)call(*this);
  } catch (const FakeCrash&) {
  }
  ASSERT_TRUE(injector.dead());
  Restart();
  SetInjector(nullptr);
}

void Rig::WrongImageId(FakeSite& site) {
  site.AddOmapValue(MirroredPair::kPool, "", absl::StrCat("csi.volume.", kUuid),
                    "csi.imageid", "10old");
}

// --- how the server calls them

SteadyTime Rig::Soon() { return RealClock().Now() + std::chrono::minutes(1); }

absl::Status Rig::Look(const std::function<absl::Status()>& look) {
  try {
    return look();
  } catch (const FakeCrash&) {
    throw;
  } catch (const std::exception& exception) {
    return absl::InternalError(exception.what());
  }
}

absl::Status Rig::Operate(const Verb& verb) {
  absl::Status status = Look([&] { return Run(verb); });
  if (injector_ != nullptr) injector_->SetContext(nullptr);
  return status;
}

absl::Status Rig::OperateOnMembers(FakeSite& site, const GroupVerb& verb) {
  GroupTarget target{GroupHandle(group_id_), site.user(), {}};
  const absl::Status found = Look([&]() -> absl::Status {
    auto members = ReadGroupMembers(on(site).environment().resolver,
                                    target.group_id, target.user, Soon());
    if (!members.ok()) return members.status();
    target.members = std::move(members->volumes);
    target.place = std::move(members->place);
    return absl::OkStatus();
  });
  if (!found.ok()) return found;
  return Operate(
      [&](OperationContext& context) { return verb(context, target); });
}

absl::Status Rig::OperateWithKeys(const KeyedVerb& verb) {
  KeySet held;
  for (int attempt = 0; attempt < kKeyAttempts; ++attempt) {
    bool ended = false;
    const absl::Status status =
        Operate([&](OperationContext& context) -> absl::Status {
          auto outcome = verb(context, held);
          if (!outcome.ok()) return outcome.status();
          if (auto* const group = std::get_if<GroupAnswer>(&*outcome)) {
            ended = true;
            group_id_ = group->group_id;
          } else {
            held = std::get<KeySet>(*outcome);
          }
          return absl::OkStatus();
        });
    if (!status.ok() || ended) return status;
  }
  return absl::AbortedError("never enough keys");
}

// --- replication of a volume

absl::Status Rig::Enable(FakeSite& site, const ParameterMap& parameters) {
  Process& process = on(site);
  return Operate([&](OperationContext& context) {
    return addons::Enable(context, process.environment(),
                          {process.Target(id_), Parsed(parameters)});
  });
}

absl::Status Rig::Disable(FakeSite& site, const ParameterMap& parameters) {
  Process& process = on(site);
  return Operate([&](OperationContext& context) {
    return addons::Disable(context, process.environment(),
                           {process.Target(id_), Parsed(parameters)});
  });
}

absl::Status Rig::Promote(FakeSite& site, Force force,
                          const ParameterMap& parameters) {
  Process& process = on(site);
  return Operate([&](OperationContext& context) {
    return addons::Promote(context, process.environment(),
                           {process.Target(id_), force, Parsed(parameters)});
  });
}

absl::Status Rig::Demote(FakeSite& site) {
  Process& process = on(site);
  return Operate([&](OperationContext& context) {
    return addons::Demote(context, process.environment(),
                          {process.Target(id_)});
  });
}

bool Rig::HasBegun(const absl::Status& status) {
  return status.ok() || status.message() == kNotReady;
}

absl::Status Rig::Resync(FakeSite& site, Force force) {
  Process& process = on(site);
  return Operate([&](OperationContext& context) {
    return Ready(addons::Resync(context, process.environment(),
                                {process.Target(id_), force}));
  });
}

absl::Status Rig::Info(FakeSite& site) {
  Process& process = on(site);
  return Look([&]() -> absl::Status {
    const auto info =
        GetReplicationInfo(process.environment(), process.Target(id_), Soon());
    if (!info.ok()) return info.status();
    said_ = absl::StrCat(static_cast<int>(info->health));
    return absl::OkStatus();
  });
}

absl::Status Rig::Destination(FakeSite& site) {
  Process& process = on(site);
  return Look([&]() -> absl::Status {
    auto id = DestinationFinder(process.environment())
                  .Find(process.Target(id_), Soon());
    if (!id.ok()) return id.status();
    said_ = *std::move(id);
    return absl::OkStatus();
  });
}

// --- replication of a group

absl::Status Rig::EnableMembers(FakeSite& site,
                                const ParameterMap& parameters) {
  return OperateOnMembers(
      site, [&](OperationContext& context, const GroupTarget& group) {
        return EnableGroup(context, on(site).environment(), group,
                           Parsed(parameters));
      });
}

absl::Status Rig::DisableMembers(FakeSite& site,
                                 const ParameterMap& parameters) {
  return OperateOnMembers(
      site, [&](OperationContext& context, const GroupTarget& group) {
        return DisableGroup(context, on(site).environment(), group,
                            Parsed(parameters));
      });
}

absl::Status Rig::PromoteMembers(FakeSite& site, Force force,
                                 const ParameterMap& parameters) {
  return OperateOnMembers(
      site, [&](OperationContext& context, const GroupTarget& group) {
        return PromoteGroup(context, on(site).environment(), group, force,
                            Parsed(parameters));
      });
}

absl::Status Rig::DemoteMembers(FakeSite& site) {
  return OperateOnMembers(
      site, [&](OperationContext& context, const GroupTarget& group) {
        return DemoteGroup(context, on(site).environment(), group);
      });
}

absl::Status Rig::ResyncMembers(FakeSite& site, Force force) {
  return OperateOnMembers(site, [&](OperationContext& context,
                                    const GroupTarget& group) {
    return Ready(ResyncGroup(context, on(site).environment(), group, force));
  });
}

absl::Status Rig::MembersInfo(FakeSite& site) {
  return Look([&]() -> absl::Status {
    auto& environment = on(site).environment();
    const GroupHandle group(group_id_);
    auto members =
        ReadGroupMembers(environment.resolver, group, site.user(), Soon());
    if (!members.ok()) return members.status();
    const auto info = GetGroupReplicationInfo(
        environment, {group, site.user(), members->volumes, members->place},
        Soon());
    if (!info.ok()) return info.status();
    said_ = absl::StrCat(static_cast<int>(info->health));
    return absl::OkStatus();
  });
}

absl::Status Rig::MembersDestination(FakeSite& site) {
  return Look([&]() -> absl::Status {
    auto& environment = on(site).environment();
    DestinationFinder finder(environment);
    const auto found = FindGroupDestination(
        environment, finder, GroupHandle(group_id_), site.user(), Soon());
    if (!found.ok()) return found.status();
    said_ = absl::StrCat(
        found->group_id, " ",
        absl::StrJoin(found->volume_ids, ",", absl::PairFormatter("=")));
    return absl::OkStatus();
  });
}

// --- volume groups

absl::Status Rig::CreateGroup(FakeSite& site,
                              const std::vector<std::string>& ids) {
  Process& process = on(site);
  const GroupParameterMap map = {{"clusterID", site.cluster_id()},
                                 {"pool", MirroredPair::kPool}};
  return OperateWithKeys([&](OperationContext& context, const KeySet& held) {
    return addons::CreateGroup(context, process.groups(),
                               {kVolumeGroup, *GroupParameters::Parse(map), map,
                                Handles(ids), site.user()},
                               held);
  });
}

absl::Status Rig::ModifyGroup(FakeSite& site,
                              const std::vector<std::string>& ids) {
  Process& process = on(site);
  return OperateWithKeys([&](OperationContext& context, const KeySet& held) {
    return addons::ModifyGroup(
        context, process.groups(),
        {GroupHandle(group_id_), Handles(ids), {}, site.user()}, held);
  });
}

absl::Status Rig::DeleteGroup(FakeSite& site) {
  Process& process = on(site);
  return Operate([&](OperationContext& context) {
    return addons::DeleteGroup(context, process.groups(),
                               {GroupHandle(group_id_), site.user()});
  });
}

absl::Status Rig::GetGroup(FakeSite& site) {
  Process& process = on(site);
  return Look([&]() -> absl::Status {
    const auto group = addons::GetGroup(
        process.groups(), GroupHandle(group_id_), site.user(), Soon());
    if (!group.ok()) return group.status();
    said_ = group->group_id;
    for (const auto& volume : group->volumes) {
      absl::StrAppend(&said_, " ", volume.volume_id);
    }
    return absl::OkStatus();
  });
}

absl::Status Rig::ListGroups(FakeSite& site) {
  Process& process = on(site);
  return Look([&]() -> absl::Status {
    const auto page =
        addons::ListGroups(process.groups(), {0, "", site.user()});
    if (!page.ok()) return page.status();
    said_.clear();
    for (const GroupAnswer& group : page->groups) {
      absl::StrAppend(&said_, group.group_id, " ", group.volumes.size(), "; ");
    }
    return absl::OkStatus();
  });
}

// --- space reclaim

absl::Status Rig::Reclaim(FakeSite& site) {
  Process& process = on(site);
  const absl::Status status =
      Operate([&](OperationContext& context) -> absl::Status {
        const auto result = Sparsify(context, process.reclaims(),
                                     {VolumeHandle(id_), site.user(), {}});
        if (!result.ok()) return result.status();
        said_ = std::string(Name(result->outcome));
        const bool left =
            result->outcome == ReclaimOutcome::kInterrupted ||
            (result->outcome == ReclaimOutcome::kInUse &&
             !absl::StrContains(result->reason,
                                "the lock of a client that died"));
        return left ? absl::AbortedError(result->reason) : absl::OkStatus();
      });
  return AbortedIfTransient(status);
}

void Rig::NodeMounts(FakeSite& site) {
  node_.tree.SetKrbd(0, {MirroredPair::kPool, absl::StrCat(pair_.pool_id(site)),
                         "", image_, site.fsid()});
}

absl::Status Rig::Trim(FakeSite& site) {
  Process& process = on(site);
  TrimRequest request;
  request.volume_id = VolumeHandle(id_);
  request.path = "/staging/volume";
  request.user = site.user();
  const absl::Status status =
      Operate([&](OperationContext& context) -> absl::Status {
        const auto result = addons::Trim(
            context,
            node_.Environment(process.environment().resolver, process.config()),
            request);
        if (!result.ok()) return result.status();
        said_ = absl::StrCat(result->asked_bytes, " trimmed");
        return absl::OkStatus();
      });
  return AbortedIfTransient(status);
}

// --- fences

absl::Status Rig::Fence(FakeSite& site, const Ranges& ranges,
                        const ParameterMap& parameters) {
  Process& process = on(site);
  ParameterMap all = parameters;
  all["clusterID"] = site.cluster_id();
  return Operate([&](OperationContext& context) {
    return addons::Fence(context, process.fences(),
                         {FenceOf(site), Merged(*ParseRanges(ranges)),
                          *FenceParameters::Parse(all)});
  });
}

absl::Status Rig::Unfence(FakeSite& site, const Ranges& ranges) {
  Process& process = on(site);
  return Operate([&](OperationContext& context) {
    return addons::Unfence(
        context, process.fences(),
        {FenceOf(site), *ParseRanges(ranges),
         *FenceParameters::Parse({{"clusterID", site.cluster_id()}})});
  });
}

absl::Status Rig::ListFences(FakeSite& site) {
  Process& process = on(site);
  return Look([&]() -> absl::Status {
    const auto ranges = addons::ListFences(process.fences(), FenceOf(site));
    if (!ranges.ok()) return ranges.status();
    said_ = JoinRanges(*ranges);
    return absl::OkStatus();
  });
}

absl::Status Rig::FenceClients(FakeSite& site) {
  Process& process = on(site);
  return Look([&]() -> absl::Status {
    const auto client = FindFenceClient(process.fences(), FenceOf(site));
    if (!client.ok()) return client.status();
    said_ = client->id;
    return absl::OkStatus();
  });
}

}  // namespace addons::testing
