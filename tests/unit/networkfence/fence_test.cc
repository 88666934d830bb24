#include <cerrno>
#include <chrono>
#include <memory>
#include <set>
#include <string>

#include "absl/synchronization/notification.h"
#include "ceph/pool.h"
#include "networkfence/fence_clients.h"
#include "tests/unit/networkfence/fence_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class FenceTest : public FenceFixture {};

TEST_F(FenceTest, MakesOneEntryPerRange) {
  EXPECT_OK(
      Fence({"192.168.1.77/24", "fd99::5", "192.168.1.3", "192.168.2.1"}));
  EXPECT_THAT(Keys(),
              ElementsAre("range 192.168.1.0:0/24", "range 192.168.2.1:0/32",
                          "range [fd99::5]:0/128"));
  ExpectFiveYears("range 192.168.1.0:0/24");
  EXPECT_EQ(mutations_begun_, 1);
}

TEST_F(FenceTest, TakesTheMapToEveryPlacementGroup) {
  EXPECT_OK(Fence({"192.168.1.1"}));
  std::set<std::string> reached;
  bool map_known = false;
  for (const CallRecord& call : world_.Calls()) {
    if (call.call == "rados_wait_for_latest_osdmap") map_known = true;
    if (call.call != "rados_object_list") continue;
    EXPECT_TRUE(map_known);
    reached.insert(call.object);
  }
  // The pool has six groups: eight equal slices.
  EXPECT_THAT(reached, SizeIs(8));
}

TEST_F(FenceTest, ClusterOfAnotherSiteIsNeitherChangedNorAsked) {
  daemon_.environment().options.home = {ClusterId("site-b")};
  const auto refused = [](const absl::Status& status) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("--site-clusters (site-b)")));
  };
  refused(Fence({"192.168.1.1"}));
  refused(Unfence({"192.168.1.1"}));
  refused(ListFences(daemon_.environment(), Target()).status());
  refused(FindFenceClient(daemon_.environment(), Target()).status());
  EXPECT_THAT(world_.Calls(), IsEmpty());
}

TEST_F(FenceTest, RepeatingItChangesNothing) {
  EXPECT_OK(Fence({"192.168.1.0/24"}));
  const auto before = a_.Blocklist();
  EXPECT_OK(Fence({"192.168.1.0/24"}));
  EXPECT_OK(Fence({"192.168.1.0/24"}));
  EXPECT_EQ(a_.Blocklist(), before);
  EXPECT_EQ(CountCommands("\"rm\""), 0);
}

TEST_F(FenceTest, TheMapAloneShowsWhatIsBlocked) {
  a_.AddRangeBlocklistEntry("192.168.1.0:0/24", hours(1));
  world_.ClearCalls();
  EXPECT_OK(Fence({"192.168.1.0/24"}));
  EXPECT_GT(CountCommands("osd dump"), 0);
  EXPECT_EQ(CountCommands("osd blocklist ls"), 0);
}

// Each listing that counts is compared with the map.
TEST_F(FenceTest, NoListingIsReadWithoutTheMap) {
  a_.SetBlocklistListing(BlocklistListing::kObject);
  a_.AddRangeBlocklistEntry("192.168.1.0:0/24", hours(1));
  world_.ClearCalls();
  EXPECT_OK(Fence({"192.168.1.0/24"}));
  EXPECT_GT(CountCommands("osd blocklist ls"), 0);
  EXPECT_EQ(CountCommands("osd blocklist ls"), CountCommands("osd dump"));
}

TEST_F(FenceTest, EachPoolIsOpenedOnceForTheBarrier) {
  EXPECT_OK(Fence({"192.168.1.1"}));
  // One pool: for rbd-mirror's clients, and for the barrier.
  EXPECT_EQ(CountCalls("rados_ioctx_create2"), 2);
}

TEST_F(FenceTest, ExtendsWhatEndsTooEarly) {
  a_.AddRangeBlocklistEntry("192.168.1.0:0/24", hours(1));
  a_.AddRangeBlocklistEntry("192.168.2.1:0/32", hours(24 * 365 * 3));
  a_.AddRangeBlocklistEntry("192.168.3.0:0/24", kFiveYears - hours(24));
  EXPECT_OK(Fence({"192.168.1.0/24", "192.168.2.1", "192.168.3.0/24"}));
  EXPECT_THAT(Keys(),
              ElementsAre("range 192.168.1.0:0/24", "range 192.168.2.1:0/32",
                          "range 192.168.3.0:0/24"));
  ExpectFiveYears("range 192.168.1.0:0/24");
  ExpectFiveYears("range 192.168.2.1:0/32");
  // A day of five years is left as it is.
  EXPECT_LT(Left("range 192.168.3.0:0/24"), kFiveYears - hours(23));
}

TEST_F(FenceTest, OtherSpellingsOfTheRangeAreNoReasonToDoNothing) {
  a_.AddRangeBlocklistEntry("192.168.1.77:0/24", kFiveYears);
  a_.AddBlocklistEntry("192.168.2.1:0/0", minutes(10));
  EXPECT_OK(Fence({"192.168.1.0/24", "192.168.2.1"}));
  ExpectFiveYears("range 192.168.1.0:0/24");
  ExpectFiveYears("range 192.168.2.1:0/32");
  EXPECT_LT(Left("192.168.2.1:0/0"), minutes(11)) << "not ours";
}

TEST_F(FenceTest, KeepsEntriesOfOthersThatServeAsHelpers) {
  a_.AddRangeBlocklistEntry("192.168.1.0:0/24", hours(1));
  a_.AddRangeBlocklistEntry("192.168.1.0:0/25", kFiveYears);
  a_.AddRangeBlocklistEntry("192.168.1.128:0/25", minutes(20));
  EXPECT_OK(Fence({"192.168.1.0/24"}));
  EXPECT_THAT(Keys(),
              ElementsAre("range 192.168.1.0:0/24", "range 192.168.1.0:0/25",
                          "range 192.168.1.128:0/25"));
  for (const std::string& key : Keys()) ExpectFiveYears(key);
}

TEST_F(FenceTest, ExpiryMayBeChosen) {
  EXPECT_OK(Fence({"192.168.1.1"}, {{"expirySeconds", "3600"}}));
  EXPECT_LE(Left("range 192.168.1.1:0/32"), hours(1));
  // A longer one is never made shorter.
  EXPECT_OK(Fence({"192.168.1.1"}, {{"expirySeconds", "7200"}}));
  EXPECT_GT(Left("range 192.168.1.1:0/32"), minutes(115));
  EXPECT_OK(Fence({"192.168.1.1"}, {{"expirySeconds", "60"}}));
  EXPECT_GT(Left("range 192.168.1.1:0/32"), minutes(115));
}

TEST_F(FenceTest, TimeThatPassedWithoutANewMapCounts) {
  EXPECT_OK(Fence({"192.168.1.1"}, {{"expirySeconds", "3600"}}));
  world_.Advance(minutes(30));
  EXPECT_OK(Fence({"192.168.1.1"}, {{"expirySeconds", "3600"}}));
  EXPECT_GT(Left("range 192.168.1.1:0/32"), minutes(59));
}

TEST_F(FenceTest, TheClusterIdIsTakenLiterally) {
  // Under this name the peer knows site a; a fence is about one cluster.
  TestOperationContext context(world_);
  const absl::Status status = addons::Fence(
      context, daemon_.environment(),
      {{ClusterId("site-b"), a_.user()}, *ParseRanges({"192.168.1.1"}), {}});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("site-b"));
}

TEST_F(FenceTest, TheClusterClockAloneCounts) {
  for (const hours skew : {hours(-24 * 365 * 10), hours(24 * 365 * 10)}) {
    a_.SetClockSkew(skew);
    skew_ = skew;
    a_.AddRangeBlocklistEntry("192.168.1.0:0/24", hours(1));
    EXPECT_OK(Fence({"192.168.1.0/24", "192.168.7.1"}));
    ExpectFiveYears("range 192.168.1.0:0/24");
    EXPECT_EQ(List(), "192.168.1.0/24, 192.168.7.1/32");
    EXPECT_OK(Unfence({"192.168.1.0/24", "192.168.7.1"}));
    EXPECT_THAT(Keys(), IsEmpty());
  }
}

TEST_F(FenceTest, AnExpiredEntryThatIsStillListedDoesNotCount) {
  a_.AddRangeBlocklistEntry("192.168.1.0:0/24", seconds(1));
  world_.Advance(seconds(3));
  EXPECT_OK(Fence({"192.168.1.0/24"}));
  world_.Advance(minutes(1));
  ExpectFiveYears("range 192.168.1.0:0/24");
  EXPECT_THAT(Keys(), SizeIs(1));
}

TEST_F(FenceTest, RefusesServicesThatAreAlive) {
  a_.SetService("osd.3", "192.168.1.3:6800", true);
  a_.SetService("mon.a", "192.168.1.4:3300", true);
  a_.SetService("mgr.x", "192.168.1.5:6801", true);
  const struct {
    const char* range;
    const char* service;
  } cases[] = {{"192.168.1.3", "osd.3 at 192.168.1.3"},
               {"192.168.1.4", "mon.a at 192.168.1.4"},
               {"192.168.1.5", "mgr.x at 192.168.1.5"}};
  for (const auto& tested : cases) {
    const absl::Status status = Fence({tested.range});
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), AllOf(HasSubstr(tested.service),
                                        HasSubstr("allowServiceClients")));
    EXPECT_EQ(mutations_begun_, 0);
  }
  EXPECT_THAT(Keys(), IsEmpty());
  EXPECT_OK(Fence({"192.168.1.0/24"}, {{"allowServiceClients", "true"}}));
  EXPECT_THAT(Keys(), SizeIs(1));
}

TEST_F(FenceTest, RefusesRbdMirrorAndItself) {
  world_.Advance(seconds(5));
  const auto cluster = pair_.cluster(a_);
  const auto pool = cluster->OpenPool(2, "", Access::kRead);
  const auto mirrors = (*pool)->ListWatchers("rbd_mirroring");
  ASSERT_OK(mirrors);
  ASSERT_THAT(*mirrors, SizeIs(2));
  for (const Watcher& mirror : *mirrors) {
    const std::string host = mirror.address.substr(0, mirror.address.find(':'));
    EXPECT_THAT(
        Fence({host}).message(),
        HasSubstr(absl::StrCat("rbd-mirror client.", mirror.client_id)));
  }
  // All addresses of the model.
  EXPECT_THAT(Fence({"10.0.0.0/8"}).message(), HasSubstr("this daemon at"));
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(FenceTest, ADaemonThatIsDownIsTheNodeBeingFenced) {
  a_.SetService("osd.3", "192.168.1.3:6800", false);
  a_.SetService("mon.b", "192.168.1.3:3300", false);
  EXPECT_OK(Fence({"192.168.1.3"}));
}

TEST_F(FenceTest, ARepeatedRequestIsOkAlsoWhenTheNodeIsBack) {
  a_.SetService("osd.3", "192.168.1.3:6800", false);
  EXPECT_OK(Fence({"192.168.1.3"}));
  a_.SetService("osd.3", "192.168.1.3:6800", true);
  EXPECT_OK(Fence({"192.168.1.3"}));
  // Not so what is new in the request.
  a_.SetService("osd.4", "192.168.1.4:6800", true);
  EXPECT_THAT(Fence({"192.168.1.3", "192.168.1.4"}).message(),
              AllOf(HasSubstr("osd.4"), Not(HasSubstr("osd.3"))));
}

TEST_F(FenceTest, OldCephIsNamedBeforeAnythingChanges) {
  a_.SetRangeBlocklists(false);
  const absl::Status status = Fence({"192.168.1.0/24"});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("16.2.15"));
  EXPECT_THAT(Keys(), IsEmpty());
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(FenceTest, ACephWithoutTheCommandIsNamedToo) {
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_mon_command" ? EINVAL : 0;
  });
  for (const absl::Status& status :
       {Fence({"192.168.1.1"}), Unfence({"192.168.1.1"}),
        ListFences(daemon_.environment(), Target()).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr("16.2.15"));
  }
}

TEST_F(FenceTest, SaysWhatIsInForceWhenOneAdditionFails) {
  int additions = 0;
  world_.SetCallHook(
      [&](absl::string_view, absl::string_view call, bool mutation) {
        return call == "rados_mon_command" && mutation && ++additions == 2 ? EIO
                                                                           : 0;
      });
  const absl::Status status = Fence({"192.168.1.1", "192.168.1.2"});
  EXPECT_FALSE(status.ok());
  // The two run at the same time.
  const std::string there = List();
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr(absl::StrCat("in force: ", there, ";")),
                    HasSubstr("not in force")));
  world_.SetCallHook(nullptr);
  EXPECT_OK(Fence({"192.168.1.1", "192.168.1.2"}));
  EXPECT_THAT(Keys(), SizeIs(2));
}

TEST_F(FenceTest, ALostAnswerIsNoFailureWhenTheEntryIsThere) {
  world_.SetCallHook(
      nullptr, [](absl::string_view, absl::string_view call, bool mutation) {
        return call == "rados_mon_command" && mutation ? ETIMEDOUT : 0;
      });
  EXPECT_OK(Fence({"192.168.1.1"}));
}

TEST_F(FenceTest, OsdsThatDoNotAnswerAreNoError) {
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_object_list" || call == "rados_list_watchers"
               ? ETIMEDOUT
               : 0;
  });
  EXPECT_OK(Fence({"192.168.1.1"}));
}

TEST_F(FenceTest, OsdsThatHangDoNotHideRbdMirror) {
  world_.Advance(seconds(5));
  const auto pool = pair_.cluster(a_)->OpenPool(2, "", Access::kRead);
  const auto mirrors = (*pool)->ListWatchers("rbd_mirroring");
  ASSERT_OK(mirrors);
  const std::string host =
      mirrors->front().address.substr(0, mirrors->front().address.find(':'));
  // More calls hang than there are threads for them.
  daemon_.environment().options.barrier_patience = milliseconds(20);
  const auto release = std::make_shared<absl::Notification>();
  world_.SetCallHook(
      [release](absl::string_view, absl::string_view call, bool) {
        if (call == "rados_object_list") release->WaitForNotification();
        return 0;
      });
  for (int i = 0; i < 12; ++i) {
    EXPECT_OK(Fence({absl::StrCat("192.168.1.", i)}));
  }
  EXPECT_EQ(Fence({host}).code(), absl::StatusCode::kFailedPrecondition);
  release->Notify();
}

TEST_F(FenceTest, MonitorsThatDoNotAnswerAre) {
  a_.SetClusterUp(false);
  EXPECT_EQ(Fence({"192.168.1.1"}).code(), absl::StatusCode::kUnavailable);
}

TEST_F(FenceTest, UserWithoutTheCapabilityIsTold) {
  world_.SetCallHook(
      [](absl::string_view, absl::string_view call, bool mutation) {
        return call == "rados_mon_command" && mutation ? EACCES : 0;
      });
  const absl::Status status = Fence({"192.168.1.1"});
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(status.message(), HasSubstr("allow command"));
}

TEST_F(FenceTest, ManyRangesShareTheMonitorsRounds) {
  Texts ranges;
  for (int i = 0; i < 64; ++i) ranges.push_back(absl::StrCat("192.168.1.", i));
  EXPECT_OK(Fence(ranges));
  EXPECT_THAT(Keys(), SizeIs(64));
  EXPECT_EQ(CountCommands("\"add\""), 64);
}

}  // namespace
}  // namespace addons::testing
