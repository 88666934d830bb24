// Parts of the own cluster hang, credentials are wrong, callers go away: every
// call ends by its deadline, nothing crashes, and the retry converges.

#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <set>
#include <string>
#include <thread>

#include "base/json.h"
#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;
namespace pb = ::replication;

class FaultTest : public TwoSitesTest {
 protected:
  void TearDown() override {
    TwoSitesTest::TearDown();
    // No fault outlives its test.
    for (const std::string site : {"a", "b"}) Daemon(site).Stop(SIGKILL);
  }

  /// `call` meets site a with `part` stopped, then again when it runs.
  void MeetsAHungPart(const std::string& part, const TestVolume& volume,
                      const std::function<grpc::Status(seconds)>& call) {
    Stop("a", part);
    const auto started = std::chrono::steady_clock::now();
    EXPECT_THAT(call(seconds(4)),
                AnyOf(HasCode(Code::UNAVAILABLE), HasCode(Code::ABORTED),
                      HasCode(Code::DEADLINE_EXCEEDED)))
        << part;
    EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(6)) << part;
    EXPECT_TRUE(Daemon("a").Running()) << part;
    if (!volume.id_b.empty()) {
      pb::GetVolumeReplicationInfoResponse info;
      EXPECT_THAT(Info("b", volume, &info), HasCode(Code::OK))
          << "the other site suffers from " << part;
    }
    Continue("a", part);
    EXPECT_THAT(call(kDeadline), HasCode(Code::OK)) << part;
    EXPECT_TRUE(Daemon("a").Running()) << part;
  }

  /// Addresses of the clients that have the image open on site a.
  static std::set<std::string> Watchers(const TestVolume& volume) {
    const auto status =
        ParseJson(Rbd("a", {"status", "--format", "json", ImageSpec(volume)}));
    std::set<std::string> addresses;
    if (!status.is_object()) return addresses;
    for (const auto& watcher : status["watchers"]) {
      addresses.insert(watcher.value("address", ""));
    }
    return addresses;
  }

  static pb::DemoteVolumeRequest DemoteRequest(const TestVolume& volume,
                                               const std::string& user,
                                               const std::string& key) {
    pb::DemoteVolumeRequest request;
    request.mutable_replication_source()->mutable_volume()->set_volume_id(
        volume.id_a);
    (*request.mutable_secrets())["userID"] = user;
    (*request.mutable_secrets())["userKey"] = key;
    return request;
  }
  static grpc::Status DemoteAs(const TestVolume& volume,
                               const std::string& user,
                               const std::string& key) {
    pb::DemoteVolumeResponse response;
    return Ask("a", &pb::Controller::Stub::DemoteVolume,
               DemoteRequest(volume, user, key), &response);
  }
};

TEST_F(FaultTest, DemoteAndPromoteSurviveAHungStorageDaemon) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "kept");
  MeetsAHungPart("osd", volume, [&](seconds deadline) {
    return Demote("a", volume, deadline);
  });
  EXPECT_FALSE(IsPrimary("a", volume));
  MeetsAHungPart("osd", volume, [&](seconds deadline) {
    // It answers when b follows, which takes its time on a busy machine.
    return deadline == kDeadline ? PromoteAtLast("a", volume)
                                 : Promote("a", volume, false, {}, deadline);
  });
  EXPECT_TRUE(IsPrimary("a", volume));
  EXPECT_EQ(ReadText("a", volume), "kept");
}

TEST_F(FaultTest, EnableSurvivesAHungStorageDaemon) {
  const TestVolume volume = MakeVolume();
  MeetsAHungPart("osd", volume, [&](seconds deadline) {
    return Enable("a", volume, {}, deadline);
  });
  EXPECT_EQ(MirrorState("a", volume), "enabled");
}

TEST_F(FaultTest, AColdStartMeetsAHungMonitor) {
  const TestVolume volume = MakeReplicatedVolume();
  // Without connections, which would carry it over the stop.
  Restart("a");
  MeetsAHungPart("mon", volume, [&](seconds deadline) {
    return Demote("a", volume, deadline);
  });
  EXPECT_FALSE(IsPrimary("a", volume));
}

TEST_F(FaultTest, AHungManagerDelaysOnlyTheSchedule) {
  const TestVolume volume = MakeReplicatedVolume();
  Synchronize("a", volume);
  Stop("a", "mgr");
  EXPECT_THAT(
      Promote("a", volume, false, {{"schedulingInterval", "3h"}}, seconds(60)),
      HasCode(Code::OK));
  pb::GetVolumeReplicationInfoResponse info;
  // Once the other site has reported the first copy.
  EXPECT_TRUE(
      Eventually([&] { return Info("a", volume, &info).ok(); }, seconds(90)));
  EXPECT_EQ(info.status(), pb::GetVolumeReplicationInfoResponse::DEGRADED);
  EXPECT_THAT(info.status_message(), HasSubstr("the manager does not tell"));
  Continue("a", "mgr");
  // Nobody calls any more.
  EXPECT_TRUE(Eventually(
      [&] { return Schedules("a", volume).find("3h") != std::string::npos; },
      seconds(120)));
}

TEST_F(FaultTest, AManagerWithoutItsModuleDelaysOnlyTheSchedule) {
  const TestVolume volume = MakeReplicatedVolume();
  Synchronize("a", volume);
  // Modules that are always on cannot be switched off; their commands can be
  // refused by a fault in their place.
  Restart("a", {{"RBD_ADDONS_FAULTS", "rados_mgr_command:errno=95"}});
  EXPECT_THAT(
      Promote("a", volume, false, {{"schedulingInterval", "4h"}}, seconds(60)),
      HasCode(Code::OK));
  pb::GetVolumeReplicationInfoResponse info;
  // Once the other site has reported the first copy.
  EXPECT_TRUE(
      Eventually([&] { return Info("a", volume, &info).ok(); }, seconds(60)));
  EXPECT_EQ(info.status(), pb::GetVolumeReplicationInfoResponse::DEGRADED);
  // After a restart replication info sets what it finds missing.
  Restart("a");
  EXPECT_TRUE(Eventually(
      [&] {
        return Info("a", volume, &info).ok() &&
               Schedules("a", volume).find("4h") != std::string::npos;
      },
      seconds(120)));
}

TEST_F(FaultTest, ADemotionOutlivesItsCaller) {
  const TestVolume volume = MakeReplicatedVolume();
  Restart("a", {{"RBD_ADDONS_FAULTS", "rbd_mirror_image_demote:hang=4000"}});
  const CephUserRef user = Bed().User("a");
  grpc::ClientContext context;
  pb::DemoteVolumeResponse response;
  std::thread canceller([&] {
    // This mark is written right before the demotion.
    EXPECT_TRUE(Eventually([&] {
      return !Metadata("a", volume, ".rbd.image.creation_time").empty();
    }));
    context.TryCancel();
  });
  EXPECT_THAT(Stub("a")->DemoteVolume(
                  &context, DemoteRequest(volume, user->id, user->key.Reveal()),
                  &response),
              HasCode(Code::CANCELLED));
  canceller.join();
  EXPECT_TRUE(Eventually([&] { return !IsPrimary("a", volume); }))
      << "the demotion ended with its caller";
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
}

TEST_F(FaultTest, ABlocklistedClientIsReplaced) {
  const TestVolume volume = MakeReplicatedVolume();
  Synchronize("a", volume);
  Restart("a", {{"RBD_ADDONS_FAULTS", "rbd_mirror_image_demote#1:hang=8000"}});
  const std::set<std::string> before = Watchers(volume);
  auto demoted =
      std::async(std::launch::async, [&] { return Demote("a", volume); });
  // While it hangs it has the image open, which shows its address.
  std::set<std::string> own;
  EXPECT_TRUE(Eventually([&] {
    own = Watchers(volume);
    for (const std::string& address : before) own.erase(address);
    return !own.empty();
  }));
  EXPECT_THAT(demoted.get(), HasCode(Code::OK));
  ASSERT_EQ(own.size(), 1U);
  Testbed("ceph", {"a", "osd", "blocklist", "add", *own.begin()});

  // It takes its own demotion back, so the peer must follow it first.
  EXPECT_THAT(PromoteAtLast("a", volume), HasCode(Code::OK));
  EXPECT_TRUE(IsPrimary("a", volume));
  Write("a", volume, "writable");
  EXPECT_EQ(ReadText("a", volume), "writable");
}

TEST_F(FaultTest, AKeyThatIsNotTheUsersIsUnauthenticated) {
  const TestVolume volume = MakeReplicatedVolume();
  const std::string other =
      Testbed("ceph", {"a", "auth", "get-key", "client.admin"});
  const grpc::Status status = DemoteAs(volume, Bed().User("a")->id, other);
  EXPECT_THAT(status, HasCode(Code::UNAUTHENTICATED));
  EXPECT_THAT(status.error_message(), HasSubstr(Bed().User("a")->id));
  EXPECT_TRUE(IsPrimary("a", volume));
  // The right one works at once.
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
}

TEST_F(FaultTest, AnUnknownUserIsUnauthenticated) {
  const TestVolume volume = MakeReplicatedVolume();
  const grpc::Status status =
      DemoteAs(volume, "nobody", Bed().User("a")->key.Reveal());
  EXPECT_THAT(status, HasCode(Code::UNAUTHENTICATED));
  EXPECT_THAT(status.error_message(), HasSubstr("nobody"));
  EXPECT_TRUE(IsPrimary("a", volume));
}

}  // namespace
}  // namespace addons::testing
