#include "tests/cluster/test_group.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

namespace pb = ::replication;

constexpr char kCreated[] = "2026-11-20T11:43:38.840418481Z";

std::string NewUuid() {
  std::string uuid;
  std::ifstream("/proc/sys/kernel/random/uuid") >> uuid;
  return uuid;
}

std::string UuidOf(const std::string& id) { return id.substr(id.size() - 36); }

std::string GroupName(const TestGroup& group) {
  return absl::StrCat("csi-vol-group-", UuidOf(group.id));
}

std::string GroupId(const std::string& site, const TestGroup& group,
                    const std::string& uuid) {
  const std::string cluster =
      absl::StrCat("site-", site, group.rados_namespace.empty() ? "" : "-ns");
  return absl::StrFormat("0001-%04x-%s-%016x-%s", cluster.size(), cluster,
                         Bed().PoolId(site), uuid);
}

template <typename Request>
Request RequestFor(const std::string& site, const TestGroup& group) {
  Request request;
  request.mutable_replication_source()
      ->mutable_volumegroup()
      ->set_volume_group_id(group.id);
  const CephUserRef user = Bed().User(site);
  (*request.mutable_secrets())["userID"] = user->id;
  (*request.mutable_secrets())["userKey"] = user->key.Reveal();
  return request;
}

}  // namespace

void GroupSitesTest::WriteJournal(const std::string& site,
                                  const TestGroup& group,
                                  const std::vector<TestVolume>& members) {
  const std::string uuid = UuidOf(group.id);
  const std::string object = absl::StrCat("csi.volume.group.", uuid);
  const std::string name = absl::StrCat("vgrcontent-", uuid);
  const auto set = [&](const std::string& in, const std::string& key,
                       const std::string& value) {
    Testbed("rados", {site, "-p", RealBed::kPool, "-N", group.rados_namespace,
                      "setomapval", in, key, value});
  };
  set("csi.groups.default", absl::StrCat("csi.volume.group.", name), uuid);
  set(object, "csi.volname", name);
  set(object, "csi.groupname", GroupName(group));
  set(object, "csi.creationtime", kCreated);
  for (const TestVolume& member : members) set(object, member.id_a, "");
}

TestGroup GroupSitesTest::MakeGroup(size_t members,
                                    const std::vector<std::string>& flags) {
  TestGroup group;
  const std::string uuid = NewUuid();
  group.id = GroupId("a", group, uuid);
  group.id_b = GroupId("b", group, uuid);
  const std::string spec = RbdGroup(group);
  Rbd("a", {"group", "create", spec});
  for (size_t i = 0; i < members; ++i) {
    group.members.push_back(MakeVolume(flags));
    Rbd("a", {"group", "image", "add", spec, ImageSpec(group.members.back())});
  }
  WriteJournal("a", group, group.members);
  return group;
}

TestGroup GroupSitesTest::MakeReplicatedGroup(
    size_t members, const std::vector<std::string>& flags) {
  TestGroup group = MakeGroup(members, flags);
  EXPECT_THAT(EnableGroup("a", group), HasCode(Code::OK));
  EXPECT_THAT(PromoteGroup("a", group), HasCode(Code::OK));
  for (TestVolume& member : group.members) {
    member.id_b = Testbed("peer-journal", {"b", member.id_a});
    EXPECT_TRUE(Eventually([&] {
      return MirrorState("b", member) == "enabled";
    })) << "the image did not arrive on site b";
  }
  WriteJournal("b", group, group.members);
  return group;
}

grpc::Status GroupSitesTest::EnableGroup(const std::string& site,
                                         const TestGroup& group,
                                         const Parameters& parameters) {
  auto request = RequestFor<pb::EnableVolumeReplicationRequest>(site, group);
  for (const auto& [key, value] : parameters) {
    (*request.mutable_parameters())[key] = value;
  }
  pb::EnableVolumeReplicationResponse response;
  return Ask(site, &pb::Controller::Stub::EnableVolumeReplication, request,
             &response);
}

grpc::Status GroupSitesTest::DisableGroup(const std::string& site,
                                          const TestGroup& group) {
  pb::DisableVolumeReplicationResponse response;
  return Ask(site, &pb::Controller::Stub::DisableVolumeReplication,
             RequestFor<pb::DisableVolumeReplicationRequest>(site, group),
             &response);
}

grpc::Status GroupSitesTest::PromoteGroup(const std::string& site,
                                          const TestGroup& group, bool force,
                                          std::chrono::seconds deadline) {
  auto request = RequestFor<pb::PromoteVolumeRequest>(site, group);
  request.set_force(force);
  pb::PromoteVolumeResponse response;
  return Ask(site, &pb::Controller::Stub::PromoteVolume, request, &response,
             deadline);
}

std::vector<grpc::Status> GroupSitesTest::PromoteGroupRepeatedly(
    const std::string& site, const TestGroup& group, std::chrono::seconds limit,
    std::chrono::seconds each) {
  std::vector<grpc::Status> answers;
  const auto until = std::chrono::steady_clock::now() + limit;
  do {
    answers.push_back(PromoteGroup(site, group, false, each));
  } while (answers.back().error_code() == Code::UNAVAILABLE &&
           std::chrono::steady_clock::now() < until);
  return answers;
}

grpc::Status GroupSitesTest::PromoteGroupAtLast(const std::string& site,
                                                const TestGroup& group) {
  return PromoteGroupRepeatedly(site, group, std::chrono::minutes(3), kDeadline)
      .back();
}

grpc::Status GroupSitesTest::DemoteGroup(const std::string& site,
                                         const TestGroup& group) {
  pb::DemoteVolumeResponse response;
  return Ask(site, &pb::Controller::Stub::DemoteVolume,
             RequestFor<pb::DemoteVolumeRequest>(site, group), &response);
}

grpc::Status GroupSitesTest::ResyncGroup(const std::string& site,
                                         const TestGroup& group, bool force,
                                         bool* ready) {
  auto request = RequestFor<pb::ResyncVolumeRequest>(site, group);
  request.set_force(force);
  pb::ResyncVolumeResponse response;
  const grpc::Status status =
      Ask(site, &pb::Controller::Stub::ResyncVolume, request, &response);
  *ready = response.ready();
  return status;
}

grpc::Status GroupSitesTest::GroupInfo(
    const std::string& site, const TestGroup& group,
    pb::GetVolumeReplicationInfoResponse* info) {
  return Ask(site, &pb::Controller::Stub::GetVolumeReplicationInfo,
             RequestFor<pb::GetVolumeReplicationInfoRequest>(site, group),
             info);
}

grpc::Status GroupSitesTest::GroupDestination(
    const std::string& site, const TestGroup& group,
    pb::ReplicationDestination* destination) {
  pb::GetReplicationDestinationInfoResponse response;
  const grpc::Status status =
      Ask(site, &pb::Controller::Stub::GetReplicationDestinationInfo,
          RequestFor<pb::GetReplicationDestinationInfoRequest>(site, group),
          &response);
  *destination = response.replication_destination();
  return status;
}

size_t GroupSitesTest::Primaries(const std::string& site,
                                 const TestGroup& group) {
  size_t primaries = 0;
  for (const TestVolume& member : group.members) {
    if (IsPrimary(site, member)) ++primaries;
  }
  return primaries;
}

std::string GroupSitesTest::RbdGroup(const TestGroup& group) {
  return absl::StrCat(RealBed::kPool, "/", group.rados_namespace,
                      group.rados_namespace.empty() ? "" : "/",
                      GroupName(group));
}

std::vector<std::string> GroupSitesTest::RbdGroupImages(
    const std::string& site, const TestGroup& group) {
  std::vector<std::string> images =
      absl::StrSplit(Rbd(site, {"group", "image", "list", RbdGroup(group)}),
                     absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
  const auto place = [&](const std::string& name) {
    return absl::StrCat(RealBed::kPool, "/", name, "/");
  };
  for (std::string& image : images) {
    absl::StrReplaceAll(
        {{place(RealBed::NamespaceOn(site, group.rados_namespace)),
          place(group.rados_namespace)}},
        &image);
  }
  return images;
}

void GroupSitesTest::LeaveIncomplete(const std::string& site,
                                     const TestGroup& group,
                                     const TestVolume& member) {
  EXPECT_OK(Bed().LeaveGroupImageIncomplete(
      site, GroupName(group), ImageId(site, member), group.rados_namespace));
}

std::vector<std::unique_ptr<Disk>> GroupSitesTest::OpenDisks(
    const std::string& site, const TestGroup& group, Disk::Mode mode) {
  std::vector<std::unique_ptr<Disk>> disks;
  for (const TestVolume& member : group.members) {
    disks.push_back(OpenDisk(site, member, mode));
  }
  return disks;
}

std::vector<int> GroupSitesTest::Counters(const std::string& site,
                                          const TestGroup& group) {
  std::vector<int> counters;
  for (const auto& disk : OpenDisks(site, group, Disk::Mode::kReadOnly)) {
    counters.push_back(ReadCounter(*disk));
  }
  return counters;
}

int GroupSitesTest::WriteCounter(const std::string& site,
                                 const TestGroup& group, int least) {
  CounterWriters writers(OpenDisks(site, group));
  EXPECT_TRUE(Eventually([&] { return writers.written() >= least; }));
  writers.Stop();
  return writers.written();
}

CounterWriters::CounterWriters(std::vector<std::unique_ptr<Disk>> disks)
    : disks_(std::move(disks)), writer_([this](const std::stop_token& stop) {
        for (int number = 1; !stop.stop_requested(); ++number) {
          const std::string data = absl::StrFormat("%012d", number);
          for (const auto& disk : disks_) {
            const SteadyTime begin = RealClock().Now();
            ASSERT_EQ(disk->Write(0, data), 0);
            slowest_ =
                std::max(slowest_.load(),
                         std::chrono::duration_cast<std::chrono::milliseconds>(
                             RealClock().Now() - begin));
          }
          written_ = number;
        }
      }) {}

void CounterWriters::Stop() {
  writer_.request_stop();
  if (writer_.joinable()) writer_.join();
  disks_.clear();
}

int ReadCounter(Disk& disk) {
  int number = -1;
  return absl::SimpleAtoi(disk.Read(0, 12), &number) ? number : -1;
}

}  // namespace addons::testing
