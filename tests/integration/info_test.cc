// Replication info: the truth from both sites, absent when it is not known.

#include <chrono>
#include <string>

#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;
using Response = ::replication::GetVolumeReplicationInfoResponse;

class InfoTest : public TwoSitesTest {
 protected:
  /// Asks until the health is `wanted`; rbd-mirror reports every 30 s.
  static Response WaitFor(const std::string& site, const TestVolume& volume,
                          Response::Status wanted) {
    Response info;
    grpc::Status status;
    EXPECT_TRUE(Eventually(
        [&] {
          info.Clear();
          status = Info(site, volume, &info);
          return status.ok() && info.status() == wanted;
        },
        std::chrono::seconds(90)))
        << status.error_message() << info.DebugString();
    return info;
  }
};

TEST_F(InfoTest, AHealthyPrimaryKnowsItsLastSync) {
  const TestVolume volume =
      MakeReplicatedVolume({{"schedulingInterval", "5m"}});
  Write("a", volume, "data");
  Synchronize("a", volume);
  const Response info = WaitFor("a", volume, Response::HEALTHY);
  EXPECT_TRUE(info.has_last_sync_time());
  EXPECT_NEAR(static_cast<double>(info.last_sync_time().seconds()),
              static_cast<double>(std::time(nullptr)), 300);
  EXPECT_NE(info.status_message(), "");

  // The other site hears that it is not the primary.
  const Response secondary = WaitFor("b", volume, Response::DEGRADED);
  EXPECT_THAT(secondary.status_message(),
              HasSubstr("this site is secondary, the peer is primary"));
}

TEST_F(InfoTest, WhatWasCopiedLastIsTold) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "data");
  Synchronize("a", volume);
  Response info;
  EXPECT_TRUE(Eventually(
      [&] {
        info.Clear();
        return Info("a", volume, &info).ok() && info.last_sync_bytes() > 0;
      },
      std::chrono::seconds(90)))
      << info.DebugString();
  EXPECT_TRUE(info.has_last_sync_time());
}

TEST_F(InfoTest, NothingCopiedYetIsNotFound) {
  Stop("b", "rbd-mirror");
  const TestVolume volume = MakeVolume();
  ASSERT_THAT(Enable("a", volume), HasCode(Code::OK));
  ASSERT_THAT(Promote("a", volume), HasCode(Code::OK));
  Response info;
  // The operator must ask again soon; later it need not.
  EXPECT_THAT(Info("a", volume, &info), HasCode(Code::UNAVAILABLE));
  grpc::Status status;
  EXPECT_TRUE(Eventually(
      [&] {
        status = Info("a", volume, &info);
        return status.error_code() == Code::NOT_FOUND;
      },
      std::chrono::seconds(90)))
      << status.error_message();
}

TEST_F(InfoTest, APrimaryWithoutAScheduleIsDegraded) {
  const TestVolume volume = MakeReplicatedVolume();
  Synchronize("a", volume);
  const Response info = WaitFor("a", volume, Response::DEGRADED);
  EXPECT_THAT(info.status_message(),
              HasSubstr("no mirror snapshot schedule applies"));
  ASSERT_THAT(Promote("a", volume, false, {{"schedulingInterval", "5m"}}),
              HasCode(Code::OK));
  WaitFor("a", volume, Response::HEALTHY);
}

TEST_F(InfoTest, AScheduleThatTheManagerLostIsSetAgain) {
  const TestVolume volume =
      MakeReplicatedVolume({{"schedulingInterval", "5m"}});
  Schedule("a", volume, "remove");
  ASSERT_EQ(Schedules("a", volume), "");
  Synchronize("a", volume);
  WaitFor("a", volume, Response::HEALTHY);
  EXPECT_THAT(Schedules("a", volume), HasSubstr("5m"));
}

TEST_F(InfoTest, ReplicationThatIsOffIsAFailedPrecondition) {
  const TestVolume volume = MakeVolume();
  Response info;
  EXPECT_THAT(Info("a", volume, &info), HasCode(Code::FAILED_PRECONDITION));
}

TEST_F(InfoTest, ASilentPeerIsDegradedAndTheNumbersStay) {
  const TestVolume volume =
      MakeReplicatedVolume({{"schedulingInterval", "5m"}});
  Synchronize("a", volume);
  const Response before = WaitFor("a", volume, Response::HEALTHY);
  ASSERT_TRUE(before.has_last_sync_time());
  Stop("b", "rbd-mirror");
  const Response info = WaitFor("a", volume, Response::DEGRADED);
  EXPECT_THAT(info.status_message(), HasSubstr("unreachable"));
  EXPECT_GE(info.last_sync_time().seconds(), before.last_sync_time().seconds());
}

TEST_F(InfoTest, TheDestinationIsTheOtherSitesIdInBothDirections) {
  const TestVolume volume = MakeReplicatedVolume();
  ASSERT_NE(volume.id_a, volume.id_b);
  std::string id;
  EXPECT_THAT(Destination("a", volume, &id), HasCode(Code::OK));
  EXPECT_EQ(id, volume.id_b);
  EXPECT_THAT(Destination("b", volume, &id), HasCode(Code::OK));
  EXPECT_EQ(id, volume.id_a);
}

}  // namespace
}  // namespace addons::testing
