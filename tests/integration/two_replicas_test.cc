// Two daemons of one site are asked the same, or the opposite, at the same
// moment: one changes the volume, the other one waits for it or is told who
// works, and none of them dies.

#include <fcntl.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/unique_fd.h"
#include "replication/replication.grpc.pb.h"
#include "tests/cluster/privileges.h"
#include "tests/cluster/test_group.h"
#include "tests/cluster/two_sites.h"
#include "tests/cluster/volume_group_client.h"

namespace addons::testing {
namespace {

namespace pb = ::replication;
using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// Long enough to see who has the lease and to block it, where a command of
/// Ceph's takes seconds, and shorter than a lease.
constexpr char kLongDemote[] = "rbd_mirror_image_demote#1:hang=15000";

/// So often is each race run; RBD_ADDONS_RACES sets another number.
int Rounds() {
  const char* const text =
      std::getenv("RBD_ADDONS_RACES");  // NOLINT(concurrency-mt-unsafe)
  int rounds = 5;
  if (text != nullptr && !absl::SimpleAtoi(text, &rounds)) {
    ADD_FAILURE() << "RBD_ADDONS_RACES is no number: " << text;
  }
  return rounds;
}

class TwoReplicasTest : public GroupSitesTest {
 protected:
  void SetUp() override {
    TwoSitesTest::SetUp();
    second_ = std::make_unique<DaemonProcess>(
        Bed().Path("a2.sock"), Bed().Path("a2.log"),
        std::vector<std::string>{"--controllerserver",
                                 "--drivername=rbd.csi.ceph.com",
                                 "--settle-time=60s", "--takeover-time=120s",
                                 "--config-dir=" + Bed().Path("a/csi-config")});
    ASSERT_TRUE(second_->Start()) << second_->Log();
  }
  void TearDown() override {
    // Both lived through it all.
    EXPECT_TRUE(Daemon("a").Running());
    EXPECT_TRUE(second_->Running());
    if (HasFailure()) {
      std::cerr << "--- log of the second daemon at site a\n"
                << second_->Log() << std::endl;
    }
    TwoSitesTest::TearDown();
    second_->Stop(SIGKILL);
    for (const std::string site : {"a", "b"}) Daemon(site).Stop(SIGKILL);
  }

  const std::string& first() const { return Daemon("a").socket(); }
  const std::string& second() const { return second_->socket(); }

  template <typename Request, typename Response, typename Method>
  static grpc::Status Call(const std::string& socket, const TestVolume& volume,
                           Method method, seconds deadline = kDeadline) {
    const auto stub = pb::Controller::NewStub(grpc::CreateChannel(
        "unix:" + socket, grpc::InsecureChannelCredentials()));
    Request request;
    request.mutable_replication_source()->mutable_volume()->set_volume_id(
        volume.id("a"));
    const CephUserRef user = Bed().User("a");
    (*request.mutable_secrets())["userID"] = user->id;
    (*request.mutable_secrets())["userKey"] = user->key.Reveal();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    Response response;
    return (stub.get()->*method)(&context, request, &response);
  }
  static grpc::Status EnableAt(const std::string& socket,
                               const TestVolume& volume) {
    return Call<pb::EnableVolumeReplicationRequest,
                pb::EnableVolumeReplicationResponse>(
        socket, volume, &pb::Controller::Stub::EnableVolumeReplication);
  }
  static grpc::Status PromoteAt(const std::string& socket,
                                const TestVolume& volume) {
    return Call<pb::PromoteVolumeRequest, pb::PromoteVolumeResponse>(
        socket, volume, &pb::Controller::Stub::PromoteVolume);
  }
  static grpc::Status DemoteAt(const std::string& socket,
                               const TestVolume& volume) {
    return DemoteWithin(kDeadline, socket, volume);
  }
  static grpc::Status DemoteWithin(seconds deadline, const std::string& socket,
                                   const TestVolume& volume) {
    return Call<pb::DemoteVolumeRequest, pb::DemoteVolumeResponse>(
        socket, volume, &pb::Controller::Stub::DemoteVolume, deadline);
  }

  /// "127.0.0.1:0/123" of who has the lease on the volume; empty: nobody.
  static std::string HolderAddress(const TestVolume& volume) {
    const std::string uuid = volume.id("a").substr(volume.id("a").size() - 36);
    const auto info =
        Bed().Run("rados", {"a", "-p", RealBed::kPool, "lock", "info",
                            "rbd_addons.lease." + uuid, "rbd-addons.lease"});
    if (!info.ok()) return "";
    const auto parsed = ParseJson(*info);
    if (!parsed.is_object() || parsed["lockers"].empty()) return "";
    std::string address = parsed["lockers"][0]["addr"];
    return std::string(absl::StripPrefix(address, "v1:"));
  }
  static size_t BlocklistedClients() {
    return std::vector<std::string>(
               absl::StrSplit(Testbed("ceph", {"a", "osd", "blocklist", "ls"}),
                              '\n', absl::SkipEmpty()))
        .size();
  }

  template <typename Request, typename Response, typename Method>
  static grpc::Status CallOnGroup(const std::string& socket,
                                  const TestGroup& group, Method method) {
    const auto stub = pb::Controller::NewStub(grpc::CreateChannel(
        "unix:" + socket, grpc::InsecureChannelCredentials()));
    Request request;
    request.mutable_replication_source()
        ->mutable_volumegroup()
        ->set_volume_group_id(group.id);
    const CephUserRef user = Bed().User("a");
    (*request.mutable_secrets())["userID"] = user->id;
    (*request.mutable_secrets())["userKey"] = user->key.Reveal();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    Response response;
    return (stub.get()->*method)(&context, request, &response);
  }

  using Verb =
      std::function<grpc::Status(const std::string& socket, const TestVolume&)>;

  /// Asks both daemons at the same moment. Each of them answers OK, or that it
  /// is to be asked again; asked again, both answer OK.
  void Race(const std::string& what, const Verb& verb,
            const TestVolume& volume) {
    grpc::Status one;
    grpc::Status two;
    {
      const std::jthread thread([&] { two = verb(second(), volume); });
      one = verb(first(), volume);
    }
    for (const grpc::Status& answer : {one, two}) {
      EXPECT_THAT(answer, AnyOf(HasCode(Code::OK), HasCode(Code::ABORTED),
                                HasCode(Code::UNAVAILABLE)))
          << what;
    }
    ASSERT_TRUE(Daemon("a").Running()) << what;
    ASSERT_TRUE(second_->Running()) << what;
    for (const std::string& socket : {first(), second()}) {
      grpc::Status answer;
      EXPECT_TRUE(Eventually([&] {
        answer = verb(socket, volume);
        return answer.ok() || (answer.error_code() != Code::ABORTED &&
                               answer.error_code() != Code::UNAVAILABLE);
      }));
      EXPECT_THAT(answer, HasCode(Code::OK)) << what;
    }
  }

  /// No lease outlives its verb.
  static void ExpectNoLeases() {
    EXPECT_THAT(Testbed("rados", {"a", "-p", RealBed::kPool, "ls"}),
                Not(HasSubstr("rbd_addons.lease.")));
  }

  std::unique_ptr<DaemonProcess> second_;
};

TEST_F(TwoReplicasTest, EnableOfBoth) {
  for (int round = 0; round < Rounds(); ++round) {
    const TestVolume volume = MakeVolume();
    Race(absl::StrCat("enable ", round), EnableAt, volume);
    EXPECT_EQ(MirrorState("a", volume), "enabled");
    EXPECT_TRUE(IsPrimary("a", volume));
    EXPECT_THAT(Disable("a", volume), HasCode(Code::OK));
  }
  ExpectNoLeases();
}

TEST_F(TwoReplicasTest, DemoteAndPromoteOfBoth) {
  const TestVolume volume = MakeReplicatedVolume();
  for (int round = 0; round < Rounds(); ++round) {
    Race(absl::StrCat("demote ", round), DemoteAt, volume);
    EXPECT_FALSE(IsPrimary("a", volume));
    Race(absl::StrCat("promote ", round), PromoteAt, volume);
    EXPECT_TRUE(IsPrimary("a", volume));
    Write("a", volume, absl::StrCat("round ", round));
  }
  ExpectNoLeases();
}

TEST_F(TwoReplicasTest, ModifyOfOneGroupByBoth) {
  std::vector<std::string> volumes;
  for (int i = 0; i < 4; ++i) {
    volumes.push_back(
        Testbed("volume", {"a", absl::StrCat("pvc-two-", i), "--size", "8M"}));
  }
  const VolumeGroupClient one("a", first());
  const VolumeGroupClient two("a", second());
  const GroupReply group = one.Create("vg-two-replicas", {});
  ASSERT_THAT(group.status, HasCode(Code::OK));
  for (int round = 0; round < Rounds(); ++round) {
    std::vector<std::string> here = {volumes[0], volumes[1]};
    std::vector<std::string> there = {volumes[2], volumes[3]};
    std::sort(here.begin(), here.end());
    std::sort(there.begin(), there.end());
    GroupReply said_here;
    GroupReply said_there;
    {
      const std::jthread thread(
          [&] { said_there = two.Modify(group.id, there); });
      said_here = one.Modify(group.id, here);
    }
    for (const GroupReply& said : {said_here, said_there}) {
      EXPECT_THAT(said.status,
                  AnyOf(HasCode(Code::OK), HasCode(Code::ABORTED)));
    }
    EXPECT_TRUE(said_here.status.ok() || said_there.status.ok());
    const GroupReply now = one.Get(group.id);
    ASSERT_THAT(now.status, HasCode(Code::OK));
    if (said_here.status.ok() && said_there.status.ok()) {
      EXPECT_THAT(now.volumes,
                  AnyOf(ElementsAreArray(here), ElementsAreArray(there)));
    } else {
      EXPECT_THAT(now.volumes,
                  ElementsAreArray(said_here.status.ok() ? here : there));
    }
    EXPECT_THAT(one.Modify(group.id, {}).status, HasCode(Code::OK));
  }
  EXPECT_THAT(one.Delete(group.id).status, HasCode(Code::OK));
  ExpectNoLeases();
}

// Each of them also takes the members out of the rbd group, or puts them in.
TEST_F(TwoReplicasTest, DemoteAndPromoteOfOneGroupByBoth) {
  const TestGroup group = MakeReplicatedGroup(3);
  const auto demote = [&](const std::string& socket, const TestVolume&) {
    return CallOnGroup<pb::DemoteVolumeRequest, pb::DemoteVolumeResponse>(
        socket, group, &pb::Controller::Stub::DemoteVolume);
  };
  const auto promote = [&](const std::string& socket, const TestVolume&) {
    return CallOnGroup<pb::PromoteVolumeRequest, pb::PromoteVolumeResponse>(
        socket, group, &pb::Controller::Stub::PromoteVolume);
  };
  for (int round = 0; round < (Rounds() + 2) / 3; ++round) {
    Race(absl::StrCat("demote ", round), demote, {});
    EXPECT_EQ(Primaries("a", group), 0U);
    EXPECT_THAT(RbdGroupImages("a", group), IsEmpty());
    Race(absl::StrCat("promote ", round), promote, {});
    EXPECT_EQ(Primaries("a", group), 3U);
    const auto images = RbdGroupImages("a", group);
    EXPECT_THAT(images, SizeIs(3));
    EXPECT_THAT(images, Not(Contains("incomplete")));
  }
  ExpectNoLeases();
}

// Its lease is replaced at once, and its watch is no workload. librbd waits for
// that watch to end, 30 s, where the dead client has the exclusive lock.
TEST_F(TwoReplicasTest, ADaemonThatDiesInTheMiddleIsReplaced) {
  const TestVolume volume = MakeReplicatedVolume();
  for (const std::string fault :
       {"rbd_mirror_image_demote:kill", "rbd_mirror_image_demote:kill-after"}) {
    Restart("a", {{"RBD_ADDONS_FAULTS", fault}});
    EXPECT_THAT(DemoteAt(first(), volume), HasCode(Code::UNAVAILABLE));
    EXPECT_TRUE(Daemon("a").WaitForEnd(20)) << "survived " << fault;
    EXPECT_THAT(Testbed("rados", {"a", "-p", RealBed::kPool, "ls"}),
                HasSubstr("rbd_addons.lease."));
    Restart("a");
    const SteadyTime begin = RealClock().Now();
    EXPECT_THAT(DemoteAt(first(), volume), HasCode(Code::OK)) << fault;
    EXPECT_LT(RealClock().Now() - begin, seconds(38)) << fault;
    EXPECT_FALSE(IsPrimary("a", volume));
    EXPECT_THAT(PromoteAtLast("a", volume), HasCode(Code::OK)) << fault;
    ExpectNoLeases();
  }
}

// Its pid tells the next container nothing, but its sign of life is gone: its
// client is blocklisted, so that nothing it has sent comes late, and librbd
// does not wait for its watch either.
TEST_F(TwoReplicasTest, ThePredecessorInAPodIsShutOutAndReplaced) {
  if (!CanMakeNamespaces(CLONE_NEWPID | CLONE_NEWNS)) {
    GTEST_SKIP() << "making pid namespaces takes root";
  }
  const TestVolume volume = MakeReplicatedVolume();
  second_->Stop(SIGTERM);
  second_->RunInContainer();
  for (const std::string fault :
       {"rbd_mirror_image_demote:kill", "rbd_mirror_image_demote:kill-after"}) {
    const size_t before = BlocklistedClients();
    ASSERT_TRUE(second_->Start({{"RBD_ADDONS_FAULTS", fault}}));
    // As long as this is open, no other namespace gets its number: that would
    // prove the death by itself.
    const UniqueFd its_namespace(open(
        absl::StrCat("/proc/", second_->pid(), "/ns/pid_for_children").c_str(),
        O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(its_namespace.valid());
    EXPECT_THAT(DemoteAt(second(), volume), HasCode(Code::UNAVAILABLE));
    EXPECT_TRUE(second_->WaitForEnd(20)) << "survived " << fault;
    const std::string address = HolderAddress(volume);
    EXPECT_FALSE(address.empty());
    ASSERT_TRUE(second_->Start());
    const SteadyTime begin = RealClock().Now();
    EXPECT_THAT(DemoteAt(second(), volume), HasCode(Code::OK)) << fault;
    const SteadyDuration took = RealClock().Now() - begin;
    std::cerr << "replaced in " << absl::FromChrono(took) << std::endl;
    EXPECT_LT(took, seconds(15)) << fault;
    EXPECT_FALSE(IsPrimary("a", volume));
    EXPECT_THAT(PromoteAtLast("a", volume), HasCode(Code::OK)) << fault;
    ExpectNoLeases();
    // By whoever came to a change first. That one client, and nobody else.
    EXPECT_THAT(Testbed("ceph", {"a", "osd", "blocklist", "ls"}),
                HasSubstr(address));
    EXPECT_EQ(BlocklistedClients(), before + 1);
    second_->Stop(SIGKILL);
  }
  ASSERT_TRUE(second_->Start());
}

TEST_F(TwoReplicasTest, ADaemonOfAnotherContainerThatWorksIsLeftAlone) {
  if (!CanMakeNamespaces(CLONE_NEWPID | CLONE_NEWNS)) {
    GTEST_SKIP() << "making pid namespaces takes root";
  }
  const TestVolume volume = MakeReplicatedVolume();
  const size_t before = BlocklistedClients();
  second_->Stop(SIGTERM);
  second_->RunInContainer();
  ASSERT_TRUE(second_->Start({{"RBD_ADDONS_FAULTS", kLongDemote}}));
  grpc::Status answer;
  {
    const std::jthread thread([&] { answer = DemoteAt(second(), volume); });
    ASSERT_TRUE(Eventually([&] { return !HolderAddress(volume).empty(); }));
    EXPECT_THAT(
        DemoteWithin(seconds(4), first(), volume),
        AnyOf(HasCode(Code::ABORTED), HasCode(Code::DEADLINE_EXCEEDED)));
  }
  EXPECT_THAT(answer, HasCode(Code::OK));
  EXPECT_FALSE(IsPrimary("a", volume));
  EXPECT_EQ(BlocklistedClients(), before);
  ExpectNoLeases();
}

// Blocklisted is not dead: the others wait until its lease ends, and only it
// knows better.
TEST_F(TwoReplicasTest, ADaemonThatWasBlocklistedReplacesItsOwnLease) {
  const TestVolume volume = MakeReplicatedVolume();
  Restart("a", {{"RBD_ADDONS_FAULTS", kLongDemote}});
  grpc::Status answer;
  {
    const std::jthread thread([&] { answer = DemoteAt(first(), volume); });
    std::string address;
    ASSERT_TRUE(Eventually([&] {
      address = HolderAddress(volume);
      return !address.empty();
    }));
    Testbed("ceph", {"a", "osd", "blocklist", "add", address, "60"});
  }
  EXPECT_THAT(answer, HasCode(Code::UNAVAILABLE));
  EXPECT_EQ(HolderAddress(volume).empty(), false);
  EXPECT_THAT(DemoteWithin(seconds(5), second(), volume),
              AnyOf(HasCode(Code::ABORTED), HasCode(Code::DEADLINE_EXCEEDED)));
  const SteadyTime begin = RealClock().Now();
  EXPECT_THAT(DemoteAt(first(), volume), HasCode(Code::OK));
  const SteadyDuration took = RealClock().Now() - begin;
  std::cerr << "replaced in " << absl::FromChrono(took) << std::endl;
  EXPECT_LT(took, seconds(15));
  EXPECT_FALSE(IsPrimary("a", volume));
  ExpectNoLeases();
}

}  // namespace
}  // namespace addons::testing
