// The verbs that change something, each from one state, for the deaths of
// crash_enumeration.h.

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/cluster/reclaim_client.h"
#include "tests/cluster/volume_group_client.h"
#include "tests/integration/crash_enumeration.h"
#include "tests/rpc/fence_call.h"

namespace addons::testing {
namespace {

// For rbd-mirror, which each forced promotion sends away for all volumes, and
// beside other work.
constexpr std::chrono::seconds kArrives{600};

using Contents = CrashBed::Contents;
using Code = grpc::StatusCode;

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& socket) {
  grpc::ChannelArguments arguments;
  // Which the death of an earlier daemon does not spoil.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(
      "unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

Contents BothSites(CrashBed& bed, const CrashSubject& subject) {
  Contents all;
  for (const TestVolume& volume : subject.volumes) {
    for (const std::string site : {"a", "b"}) {
      all.merge(bed.OfVolume(site, volume));
    }
  }
  return all;
}

Contents GroupAndMembers(CrashBed& bed, const CrashSubject& subject) {
  Contents all = bed.OfGroup(subject.GroupName(), subject.volumes);
  for (size_t i = 0; i < subject.volumes.size(); ++i) {
    for (const auto& [key, value] : bed.OfVolume("a", subject.volumes[i])) {
      all[absl::StrCat("member ", i, " ", key)] = value;
    }
  }
  return all;
}

/// Nobody has an address of these ranges, which are for benchmarks.
std::string Network(const CrashSubject& subject) {
  return absl::StrCat("198.", 18 + subject.number / 250 % 2, ".",
                      subject.number % 250, ".");
}
Contents Blocked(CrashBed& bed, const CrashSubject& subject) {
  Contents all;
  for (const auto& [key, value] : bed.OfBlocklist(Network(subject))) {
    all[absl::StrCat("blocklist ", all.size())] =
        key.substr(key.find(Network(subject)) + Network(subject).size());
  }
  return all;
}

grpc::Status Fence(const std::string& socket, const std::string& method,
                   const CrashSubject& subject) {
  const CephUserRef user = Bed().User("a");
  FenceAsk ask;
  ask.cidrs = {Network(subject) + "0/25", Network(subject) + "200/32"};
  ask.deadline = std::chrono::seconds(60);
  ask.user_id = user->id;
  ask.user_key = user->key.Reveal();
  return CallFence(ChannelTo(socket), method, ask).status;
}

grpc::Status Reclaim(const std::string& socket, const TestVolume& volume) {
  const CephUserRef user = Bed().User("a");
  return CallReclaim(socket, {volume.id_a, user->id, user->key.Reveal()})
      .status;
}

using Preparation = std::function<void(CrashBed&, CrashSubject&)>;

Preparation Plain(size_t volumes) {
  return [volumes](CrashBed& bed, CrashSubject& subject) {
    for (size_t i = 0; i < volumes; ++i) {
      subject.volumes.push_back(bed.MakeVolume());
    }
  };
}

/// Has the newest state of a, whole.
bool Arrived(CrashBed& bed, const TestVolume& volume) {
  const auto there = bed.Newest("a", volume);
  const auto here = bed.Newest("b", volume);
  return there && here && here->complete &&
         here->primary_snapshot_id >= there->id;
}

}  // namespace

std::vector<CrashScenario> CrashEnumeration::Scenarios() {
  static const Parameters kSchedule = ScheduleNotDue();
  const auto socket = [] { return Daemon("a").socket(); };
  const auto groups = [socket] { return VolumeGroupClient("a", socket()); };

  const Preparation plain = [](CrashBed& bed, CrashSubject& subject) {
    Plain(1)(bed, subject);
    bed.Write("a", subject.volumes[0], "first");
  };
  const Preparation mirrored = [plain](CrashBed& bed, CrashSubject& subject) {
    plain(bed, subject);
    TestVolume& volume = subject.volumes[0];
    EXPECT_TRUE(Enable("a", volume, kSchedule).ok());
    EXPECT_TRUE(Promote("a", volume, false, kSchedule).ok());
    bed.Write("a", volume, "copied");
    bed.TakeSnapshot("a", volume);
    EXPECT_TRUE(Eventually([&] { return Arrived(bed, volume); }, kArrives));
    bed.MakePeerJournal(&volume);
  };
  const Preparation demoted = [mirrored](CrashBed& bed, CrashSubject& subject) {
    mirrored(bed, subject);
    TestVolume& volume = subject.volumes[0];
    bed.Write("a", volume, "moved");
    EXPECT_TRUE(Demote("a", volume).ok());
    EXPECT_TRUE(Eventually(
        [&] {
          return Arrived(bed, volume) && bed.Newest("b", volume)->demoted();
        },
        kArrives));
  };
  const Preparation split = [](CrashBed& bed, CrashSubject& subject) {
    TestVolume& volume = subject.volumes[0];
    // By the daemon, because a bare promotion meets an rbd-mirror that holds
    // the image's lock, or is in the middle of a copy and goes on with it.
    EXPECT_TRUE(Promote("b", volume, true).ok());
    bed.Write("b", volume, "of site b");
    bed.TakeSnapshot("b", volume);
    bed.Write("a", volume, "of site a");
    EXPECT_TRUE(Demote("a", volume).ok());
    EXPECT_TRUE(Eventually(
        [&] {
          return absl::StrContains(bed.Report("a", volume), "split-brain");
        },
        kArrives));
  };
  const auto first = [](const CrashSubject& subject) {
    return VolumeGroupClient::Ids{subject.volumes[0].id_a,
                                  subject.volumes[1].id_a};
  };
  const Preparation grouped = [=](CrashBed& bed, CrashSubject& subject) {
    Plain(3)(bed, subject);
    const GroupReply made =
        groups().Create(subject.GroupName(), first(subject));
    EXPECT_TRUE(made.status.ok()) << made.status.error_message();
    subject.group_id = made.id;
  };
  const Preparation emptied = [=](CrashBed& bed, CrashSubject& subject) {
    grouped(bed, subject);
    EXPECT_TRUE(groups().Modify(subject.group_id, {}).status.ok());
  };

  std::vector<CrashScenario> all;
  all.push_back({"enable", "a", plain,
                 [](CrashSubject& subject) {
                   return Enable("a", subject.volumes[0], kSchedule);
                 },
                 BothSites});
  all.push_back(
      {"disable", "a", mirrored,
       [](CrashSubject& subject) { return Disable("a", subject.volumes[0]); },
       BothSites});
  all.push_back(
      {"demote",
       "a",
       mirrored,
       [](CrashSubject& subject) { return Demote("a", subject.volumes[0]); },
       BothSites,
       // The dead daemon is a client of the image for 30 s.
       {Code::FAILED_PRECONDITION}});
  all.push_back({"promote", "b", demoted,
                 [](CrashSubject& subject) {
                   return Promote("b", subject.volumes[0], false, kSchedule);
                 },
                 BothSites});
  all.push_back({"promote_forced",
                 "b",
                 mirrored,
                 [](CrashSubject& subject) {
                   return Promote("b", subject.volumes[0], true, kSchedule);
                 },
                 BothSites,
                 {},
                 /*ends_copying=*/true});
  all.push_back({"resync",
                 "a",
                 mirrored,
                 [](CrashSubject& subject) {
                   bool ready = false;
                   const grpc::Status status =
                       Resync("a", subject.volumes[0], true, &ready);
                   if (!status.ok() || ready) return status;
                   return grpc::Status(Code::UNAVAILABLE, "not ready");
                 },
                 BothSites,
                 {},
                 /*ends_copying=*/true,
                 split});
  all.push_back(
      {"group_create", "a", Plain(2),
       [=](CrashSubject& subject) {
         return groups().Create(subject.GroupName(), first(subject)).status;
       },
       GroupAndMembers});
  all.push_back({"group_modify", "a", grouped,
                 [=](CrashSubject& subject) {
                   return groups()
                       .Modify(subject.group_id, {subject.volumes[1].id_a,
                                                  subject.volumes[2].id_a})
                       .status;
                 },
                 GroupAndMembers});
  all.push_back({"group_delete", "a", emptied,
                 [=](CrashSubject& subject) {
                   return groups().Delete(subject.group_id).status;
                 },
                 GroupAndMembers});
  const auto fence = [socket](CrashSubject& subject) {
    return Fence(socket(), "FenceClusterNetwork", subject);
  };
  const auto unfence = [socket](CrashSubject& subject) {
    return Fence(socket(), "UnfenceClusterNetwork", subject);
  };
  all.push_back(
      {"fence", "a", [](CrashBed&, CrashSubject&) {}, fence, Blocked});
  all.push_back({"unfence", "a",
                 [fence](CrashBed&, CrashSubject& subject) {
                   EXPECT_TRUE(fence(subject).ok());
                 },
                 unfence, Blocked});
  all.push_back({"reclaim", "a", plain,
                 [socket](CrashSubject& subject) {
                   return Reclaim(socket(), subject.volumes[0]);
                 },
                 BothSites});
  return all;
}

}  // namespace addons::testing
