// What a fence, its end and the automatic one decide by: each case differs in
// one fact from one that is decided the other way.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "ceph/cluster_services.h"
#include "history/event_log.h"
#include "history/store.h"
#include "networkfence/auto_unfence.h"
#include "networkfence/fence_clients.h"
#include "networkfence/fence_view.h"
#include "networkfence/find_services.h"
#include "networkfence/helper_marker.h"
#include "tests/testing/answering_cluster.h"
#include "tests/unit/networkfence/fence_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class FencePlanTest : public FenceFixture {
 protected:
  static constexpr char kRange[] = "192.168.1.0:0/24";
  static constexpr seconds kTwoYears{63113904};

  static std::string MarkerOf(const std::string& range, uint32_t helpers) {
    return HelperMarker{*Cidr::Parse(range), helpers}.Key().argument;
  }
  void AddMarker(const std::string& range, uint32_t helpers) {
    a_.AddBlocklistEntry(MarkerOf(range, helpers), hours(1));
  }
  /// A map that is newer than what has expired.
  void NewMap() { a_.AddRangeBlocklistEntry("172.16.0.1:0/32", hours(1)); }
  /// `what` happens once, after the helper of the range's upper half was made.
  void AfterTheHelpers(std::function<void()> what) {
    world_.SetCallHook(
        nullptr, [this, what = std::move(what), done = false](
                     absl::string_view, absl::string_view, bool) mutable {
          if (!done && a_.Blocklist().contains("range 192.168.1.128:0/25") &&
              a_.Blocklist().contains("range 192.168.1.0:0/25")) {
            done = true;
            what();
          }
          return 0;
        });
  }
  int CountChanges(absl::string_view operation, absl::string_view address) {
    int count = 0;
    for (const CallRecord& call : world_.Calls()) {
      count += absl::StrContains(call.object, operation) &&
                       absl::StrContains(call.object, address)
                   ? 1
                   : 0;
    }
    return count;
  }
};

// --- the entry that is replaced

// The helpers are all that covers the range meanwhile.
TEST_F(FencePlanTest, AnEntryIsNotReplacedWithoutItsHelpers) {
  a_.AddRangeBlocklistEntry(kRange, hours(1));
  AfterTheHelpers([this] {
    a_.ClearBlocklist();
    a_.AddRangeBlocklistEntry(kRange, hours(1));
  });
  EXPECT_THAT(Fence({"192.168.1.0/24"}),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("while its entry is replaced")));
  EXPECT_EQ(CountChanges("\"rm\"", "192.168.1.0/24"), 0);
}

TEST_F(FencePlanTest, NorWithHelpersThatEndTooEarly) {
  a_.AddRangeBlocklistEntry(kRange, hours(1));
  AfterTheHelpers([this] {
    a_.ClearBlocklist();
    a_.AddRangeBlocklistEntry(kRange, hours(1));
    a_.AddRangeBlocklistEntry("192.168.1.0:0/25", hours(1));
    a_.AddRangeBlocklistEntry("192.168.1.128:0/25", hours(1));
  });
  EXPECT_THAT(Fence({"192.168.1.0/24"}),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("while its entry is replaced")));
  EXPECT_EQ(CountChanges("\"rm\"", "192.168.1.0/24"), 0);
}

TEST_F(FencePlanTest, AnEntryThatAnotherReplicaHasReplacedStays) {
  a_.AddRangeBlocklistEntry(kRange, hours(1));
  AfterTheHelpers([this] { a_.AddRangeBlocklistEntry(kRange, kFiveYears); });
  EXPECT_OK(Fence({"192.168.1.0/24"}));
  EXPECT_EQ(CountChanges("\"rm\"", "192.168.1.0/24"), 0);
  EXPECT_THAT(Keys(), ElementsAre("range 192.168.1.0:0/24"));
}

TEST_F(FencePlanTest, AnEntryThatSomebodyRemovesMeanwhileIsNotInForce) {
  a_.AddRangeBlocklistEntry(kRange, hours(1));
  AfterTheHelpers([this] {
    a_.ClearBlocklist();
    a_.AddRangeBlocklistEntry("192.168.1.0:0/25", kFiveYears);
    a_.AddRangeBlocklistEntry("192.168.1.128:0/25", kFiveYears);
  });
  EXPECT_THAT(Fence({"192.168.1.0/24"}),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("is not in the blocklist")));
}

TEST_F(FencePlanTest, ARemovalThatFailsIsTold) {
  a_.AddRangeBlocklistEntry(kRange, hours(1));
  bool covered = false;
  world_.SetCallHook(
      [&](absl::string_view, absl::string_view call, bool mutation) {
        const auto entries = a_.Blocklist();
        covered = covered || entries.contains("range 192.168.1.128:0/25");
        // The first change after the helpers is the removal.
        return covered && entries.contains("range 192.168.1.0:0/25") &&
                       call == "rados_mon_command" && mutation
                   ? EACCES
                   : 0;
      });
  EXPECT_THAT(Fence({"192.168.1.0/24"}),
              StatusIs(absl::StatusCode::kPermissionDenied));
}

// It may be all that covers that range.
TEST_F(FencePlanTest, WhatIsLeftOfAnotherRangesFenceStays) {
  AddMarker("192.168.2.0/24", 3);
  a_.AddRangeBlocklistEntry("192.168.2.0:0/25", hours(1));
  a_.AddRangeBlocklistEntry("192.168.2.128:0/25", hours(1));
  const Texts before = Keys();
  EXPECT_OK(Fence({"192.168.1.0/24"}));
  for (const std::string& key : before) EXPECT_THAT(Keys(), Contains(key));
  EXPECT_THAT(Keys(), SizeIs(before.size() + 1));
}

// --- the entry beside an automatic one

TEST_F(FencePlanTest, AnAutomaticFenceOfARangeGetsNoEntryBesideIt) {
  a_.AddRangeBlocklistEntry(kRange, AutoUnfence::kAutomaticExpiry);
  EXPECT_OK(Fence({"192.168.1.0/24"}, {{"expirySeconds", "86400"}}));
  EXPECT_THAT(Keys(), ElementsAre("range 192.168.1.0:0/24"));
}

TEST_F(FencePlanTest, AFenceThatIsTooLongToBeAutomaticGetsNoneEither) {
  a_.AddRangeBlocklistEntry("192.168.1.1:0/32", kFiveYears);
  EXPECT_OK(Fence({"192.168.1.1"}, {{"expirySeconds", "3600"}}));
  EXPECT_THAT(Keys(), ElementsAre("range 192.168.1.1:0/32"));
}

TEST_F(FencePlanTest, TheEntryBesideAnAutomaticOneIsMadeOnce) {
  a_.AddRangeBlocklistEntry("192.168.1.1:0/32", AutoUnfence::kAutomaticExpiry);
  EXPECT_OK(Fence({"192.168.1.1"}, {{"expirySeconds", "86400"}}));
  EXPECT_GT(Left("192.168.1.1:0/0"), hours(23));
  world_.ClearCalls();
  EXPECT_OK(Fence({"192.168.1.1"}, {{"expirySeconds", "86400"}}));
  EXPECT_EQ(CountCommands("\"add\""), 1);
}

// The monitor does not change the end of an entry that exists. When the node is
// back and the automatic fence goes, that end would count.
TEST_F(FencePlanTest, AnEntryBesideAnAutomaticOneThatEndsTooEarlyIsReplaced) {
  constexpr char kAutomatic[] = "192.168.1.1:0/32";
  constexpr char kBeside[] = "192.168.1.1:0/0";
  a_.AddRangeBlocklistEntry(kAutomatic, AutoUnfence::kAutomaticExpiry);
  a_.AddBlocklistEntry(kBeside, hours(1));
  const auto covers = [&](absl::string_view, absl::string_view, bool) {
    EXPECT_TRUE(a_.Blocklist().contains(absl::StrCat("range ", kAutomatic)));
    return 0;
  };
  world_.SetCallHook(nullptr, covers);
  EXPECT_OK(Fence({"192.168.1.1"}, {{"expirySeconds", "86400"}}));
  world_.SetCallHook(nullptr);
  EXPECT_GT(Left(kBeside), hours(23));
  EXPECT_GT(Left(absl::StrCat("range ", kAutomatic)), kTwoYears);
  EXPECT_THAT(Keys(), SizeIs(2));
}

TEST_F(FencePlanTest, WhoseRemovalHasNoAnswerIsNotAddedAfterIt) {
  a_.AddRangeBlocklistEntry("192.168.1.1:0/32", AutoUnfence::kAutomaticExpiry);
  a_.AddBlocklistEntry("192.168.1.1:0/0", hours(1));
  world_.SetCallHook(nullptr, [&](absl::string_view, absl::string_view, bool) {
    return CountChanges("\"rm\"", "192.168.1.1:0/0") == 1 ? ETIMEDOUT : 0;
  });
  EXPECT_FALSE(Fence({"192.168.1.1"}, {{"expirySeconds", "86400"}}).ok());
  EXPECT_EQ(CountChanges("\"add\"", "192.168.1.1:0/0"), 0);
  world_.SetCallHook(nullptr);
  EXPECT_OK(Fence({"192.168.1.1"}, {{"expirySeconds", "86400"}}));
  EXPECT_GT(Left("192.168.1.1:0/0"), hours(23));
}

TEST_F(FencePlanTest, TheEntryBesideAnAutomaticOneIsReadBack) {
  a_.AddRangeBlocklistEntry("192.168.1.1:0/32", AutoUnfence::kAutomaticExpiry);
  world_.SetCallHook(nullptr, [&](absl::string_view, absl::string_view, bool) {
    if (Left("192.168.1.1:0/0") > seconds(0)) {
      a_.ClearBlocklist();
      a_.AddRangeBlocklistEntry("192.168.1.1:0/32",
                                AutoUnfence::kAutomaticExpiry);
    }
    return 0;
  });
  EXPECT_THAT(Fence({"192.168.1.1"}, {{"expirySeconds", "86400"}}),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("beside the automatic fence of 192.168.1.1")));
}

// --- what is alive in a range

TEST_F(FencePlanTest, WhatBlocksOneClientIsNoFenceOfItsAddress) {
  a_.SetService("osd.3", "192.168.1.3:6800", true);
  a_.AddBlocklistEntry("192.168.1.3:0/4711", hours(1));
  EXPECT_THAT(Fence({"192.168.1.3"}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("osd.3 at 192.168.1.3")));
}

TEST_F(FencePlanTest, WhichMonitorsLiveIsAskedOnceInFiveSeconds) {
  EXPECT_OK(Fence({"192.168.1.1"}));
  world_.ClearCalls();
  world_.Advance(seconds(4));
  EXPECT_OK(Fence({"192.168.1.2"}));
  EXPECT_EQ(CountCommands("quorum_status"), 0);
  EXPECT_EQ(CountCommands("mgr dump"), 0);
  a_.SetService("mon.c", "192.168.1.3:6789", true);
  world_.Advance(seconds(1));
  EXPECT_THAT(Fence({"192.168.1.3"}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("mon.c at 192.168.1.3")));
}

TEST_F(FencePlanTest, WhichOsdsLiveIsReadForEachFence) {
  EXPECT_OK(Fence({"192.168.1.1"}));
  a_.SetService("osd.3", "192.168.1.3:6800", true);
  EXPECT_THAT(Fence({"192.168.1.3"}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("osd.3 at 192.168.1.3")));
}

TEST_F(FencePlanTest, AManagerThatCouldNotBeAskedForIsAskedForAgain) {
  int commands = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    // After the map and the quorum.
    return call == "rados_mon_command" && ++commands == 3 ? EIO : 0;
  });
  EXPECT_OK(Fence({"192.168.1.1"}));
  world_.SetCallHook(nullptr);
  world_.ClearCalls();
  EXPECT_OK(Fence({"192.168.1.2"}));
  EXPECT_EQ(CountCommands("mgr dump"), 1);
}

// --- the OSDs know what was added last

TEST_F(FencePlanTest, EntriesThatAreMadeAfterTheReadBackAreTakenToTheOsds) {
  a_.AddRangeBlocklistEntry("192.168.1.0:0/24", hours(1));
  EXPECT_OK(Fence({"192.168.1.0/24"}));
  bool reached = false;
  for (const CallRecord& call : world_.Calls()) {
    if (call.call == "rados_object_list") reached = true;
    if (absl::StrContains(call.object, "\"add\"")) reached = false;
  }
  EXPECT_TRUE(reached);
}

TEST_F(FencePlanTest, APoolThatOnlyTheReadBackSeesIsReached) {
  bool added = false;
  world_.SetCallHook(
      nullptr, [&](absl::string_view, absl::string_view call, bool mutation) {
        if (call == "rados_mon_command" && mutation &&
            !std::exchange(added, true)) {
          a_.AddPool(17, "made-meanwhile");
        }
        return 0;
      });
  EXPECT_OK(Fence({"192.168.1.1"}));
  const int both = CountCalls("rados_object_list");
  world_.ClearCalls();
  EXPECT_OK(Fence({"192.168.1.2"}));
  EXPECT_EQ(CountCalls("rados_object_list"), both);
}

TEST_F(FencePlanTest, AnExpiredFenceIsNone) {
  a_.SetService("osd.3", "192.168.1.3:6800", true);
  a_.AddRangeBlocklistEntry("192.168.1.3:0/32", seconds(1));
  world_.Advance(seconds(3));
  NewMap();
  EXPECT_THAT(Fence({"192.168.1.3"}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("osd.3 at 192.168.1.3")));
}

class FindServicesTest : public FencePlanTest {
 protected:
  Texts Unknown(milliseconds patience) {
    const auto cluster = pair_.cluster(a_);
    const auto map = ReadOsdMap(*cluster);
    EXPECT_OK(map);
    auto monitors = FindMonitors(*cluster);
    EXPECT_OK(monitors);
    return FindServices(threads_, cluster, *map, *std::move(monitors), patience)
        .unknown;
  }

  BoundedThreads threads_{"test"};
};

TEST_F(FindServicesTest, WhatCouldNotBeAskedIsNamed) {
  EXPECT_THAT(Unknown(minutes(1)), IsEmpty());
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_list_watchers" ? ETIMEDOUT : 0;
  });
  EXPECT_THAT(Unknown(minutes(1)),
              ElementsAre(AllOf(HasSubstr("rbd-mirror in pool 'replicapool'"),
                                Not(HasSubstr("no answer in time")))));
}

TEST_F(FindServicesTest, WhatDoesNotAnswerInTimeIsNamed) {
  const auto release = std::make_shared<absl::Notification>();
  world_.SetCallHook(
      [release](absl::string_view, absl::string_view call, bool) {
        if (call == "rados_list_watchers") release->WaitForNotification();
        return 0;
      });
  EXPECT_THAT(Unknown(milliseconds(20)),
              ElementsAre(HasSubstr("no answer in time")));
  release->Notify();
}

TEST_F(FindServicesTest, AManagerThatCouldNotBeAskedForIsNamed) {
  int commands = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    // After the map and the quorum.
    return call == "rados_mon_command" && ++commands == 3 ? EIO : 0;
  });
  EXPECT_THAT(Unknown(minutes(1)), ElementsAre(HasSubstr("manager: ")));
}

// --- the blocklist and its clock

TEST_F(FencePlanTest, MonitorsThatFailAreNotAnEmptyBlocklist) {
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_mon_command" ? EIO : 0;
  });
  EXPECT_THAT(Fence({"192.168.1.1"}), StatusIs(absl::StatusCode::kInternal));
}

TEST_F(FencePlanTest, ACephWithoutTheListingIsNamed) {
  a_.SetBlocklistListing(BlocklistListing::kObject);
  int commands = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rados_mon_command" && ++commands == 2 ? EINVAL : 0;
  });
  EXPECT_THAT(
      Fence({"192.168.1.1"}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("16.2.15")));
}

TEST(FenceViewTest, AnEntryWhoseEndCannotBeReadHasNotExpiredNorDoesItLast) {
  FenceView view;
  BlocklistEntry entry;
  EXPECT_FALSE(view.Expired(entry));
  EXPECT_FALSE(view.LastsFor(entry, seconds(0)));
}

// The map shows that there is a range, and the list something unknown.
TEST(FenceViewTest, WhatIsNotUnderstoodMayBeWhatTheMapShows) {
  AnsweringCluster cluster;
  cluster.Answer("osd dump",
                 std::string(R"({"modified":"2026-11-22T01:54:00+0000",)"
                             R"("osds":[],"pools":[],)"
                             R"("range_blocklist":[["x"]]})"));
  cluster.Answer("osd blocklist ls",
                 std::string(R"([{"addr":"(other)/0","until":"x"}][])"));
  const auto view = ReadFenceView(cluster);
  ASSERT_OK(view);
  EXPECT_THAT(view->list.unreadable, SizeIs(1));
  cluster.Answer("osd blocklist ls", std::string("[][]"));
  EXPECT_THAT(ReadFenceView(cluster), StatusIs(absl::StatusCode::kInternal));
}

// --- the end of a fence

// Somebody may have fenced that half for itself.
TEST_F(FencePlanTest, OnlyHelpersThatWereMadeGoWithTheirRange) {
  AddMarker("192.168.1.0/24", 1);
  a_.AddRangeBlocklistEntry(kRange, hours(1));
  a_.AddRangeBlocklistEntry("192.168.1.0:0/25", hours(1));
  a_.AddRangeBlocklistEntry("192.168.1.128:0/25", hours(1));
  EXPECT_OK(Unfence({"192.168.1.0/24"}));
  EXPECT_THAT(Keys(), ElementsAre("range 192.168.1.128:0/25"));
}

TEST_F(FencePlanTest, AMarkerWhoseHelpersAreGoneGoes) {
  for (const uint32_t helpers : {0U, 3U}) {
    AddMarker("192.168.1.0/24", helpers);
    EXPECT_OK(Unfence({"192.168.1.0/24"}));
    EXPECT_THAT(Keys(), IsEmpty()) << helpers;
  }
}

// It says whose the helpers are, for whoever ends that fence.
TEST_F(FencePlanTest, TheMarkerOfAFenceThatIsNotNamedStays) {
  AddMarker("192.168.1.0/24", 3);
  a_.AddRangeBlocklistEntry("192.168.1.0:0/25", hours(1));
  const Texts before = Keys();
  EXPECT_OK(Unfence({"192.168.0.0/16"}, {{"removeClientEntries", "true"}}));
  EXPECT_EQ(Keys(), before);
}

TEST_F(FencePlanTest, WhatBlocksOneClientIsNotTheFenceOfItsAddress) {
  a_.AddBlocklistEntry("192.168.1.7:0/4711", hours(1));
  EXPECT_OK(Unfence({"192.168.1.7"}));
  EXPECT_THAT(Keys(), ElementsAre("192.168.1.7:0/4711"));
}

TEST_F(FencePlanTest, AnExpiredWiderFenceDoesNotBlock) {
  a_.AddRangeBlocklistEntry("192.168.0.0:0/16", seconds(1));
  world_.Advance(seconds(3));
  NewMap();
  EXPECT_OK(Unfence({"192.168.1.5"}));
}

TEST_F(FencePlanTest, AHelperThatGoesIsNoWiderFence) {
  AddMarker("192.168.1.0/24", 3);
  a_.AddRangeBlocklistEntry(kRange, hours(1));
  a_.AddRangeBlocklistEntry("192.168.1.0:0/25", hours(1));
  EXPECT_OK(Unfence({"192.168.1.0/24", "192.168.1.5"}));
  EXPECT_THAT(Keys(), IsEmpty());
}

// --- the automatic fence

class AutomaticFenceTest : public FencePlanTest {
 protected:
  AutomaticFenceTest() { log_.Begin(); }

  absl::Status Run(int* mutations_begun = nullptr) {
    TestOperationContext context(world_);
    absl::Status status =
        auto_.Run(context, daemon_.environment(), Target(), own_);
    if (mutations_begun != nullptr) {
      *mutations_begun = context.mutations_begun();
    }
    return status;
  }
  std::string OwnKey() const { return own_.front().address().Text() + ":0/32"; }
  void FenceAutomatically() {
    a_.AddRangeBlocklistEntry(OwnKey(), AutoUnfence::kAutomaticExpiry);
    world_.Advance(minutes(6));
    NewMap();
  }

  EventLog log_{world_, "csi on host 'h'"};
  AutoUnfence auto_;
  const std::vector<Cidr> own_ =
      FindFenceClient(daemon_.environment(), Target())->addresses;
};

TEST_F(AutomaticFenceTest, WithoutOneNothingIsBegun) {
  int begun = -1;
  EXPECT_OK(Run(&begun));
  EXPECT_EQ(begun, 0);
  a_.AddRangeBlocklistEntry(OwnKey(), kFiveYears);
  EXPECT_OK(Run(&begun));
  EXPECT_EQ(begun, 0);
}

TEST_F(AutomaticFenceTest, OldMapsThatDoNotShowWhatTheyBlockProveNothing) {
  FenceAutomatically();
  a_.SetBlocklistListing(BlocklistListing::kObject);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kInternal,
                              HasSubstr("does not show what it blocks")));
  EXPECT_THAT(Keys(), SizeIs(2));
}

TEST_F(AutomaticFenceTest, OldMapsThatCannotBeReadProveNothing) {
  FenceAutomatically();
  int commands = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rados_mon_command" && ++commands > 1 ? EIO : 0;
  });
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kInternal));
  world_.SetCallHook(nullptr);
  EXPECT_THAT(Keys(), SizeIs(2));
}

// Though by the oldest map that is known it lasts three years.
TEST_F(AutomaticFenceTest, OneWithoutAMapFromBeforeItStays) {
  a_.AddRangeBlocklistEntry(OwnKey(), AutoUnfence::kAutomaticExpiry);
  NewMap();
  a_.ForgetOldMaps();
  EXPECT_OK(Run());
  world_.Advance(minutes(6));
  EXPECT_OK(Run());
  EXPECT_THAT(Keys(), SizeIs(2));
}

TEST_F(AutomaticFenceTest, ItsEndIsInTheHistoryOfTheCluster) {
  daemon_.environment().history = &log_;
  FenceAutomatically();
  EXPECT_OK(Run());
  EXPECT_THAT(Keys(), SizeIs(1));
  const std::vector<HistoryBatch> batches = log_.Take({}, true);
  ASSERT_THAT(batches, SizeIs(1));
  EXPECT_EQ(batches.front().place.fsid, a_.fsid());
  EXPECT_EQ(batches.front().place.pool_id, kEveryPool);
  ASSERT_THAT(batches.front().events, SizeIs(1));
  const HistoryEvent& event = batches.front().events.begin()->second;
  EXPECT_EQ(event.object, "cluster 'site-a'");
  EXPECT_THAT(event.verb, AllOf(HasSubstr("lift the automatic fence of"),
                                HasSubstr(own_.front().Text())));
  EXPECT_EQ(event.code, "OK");
}

TEST_F(AutomaticFenceTest, OnlyWhoReachesItsClusterHasAsked) {
  Texts asked;
  daemon_.environment().asked = [&](const FenceTarget& target) {
    asked.push_back(target.cluster_id.text());
  };
  EXPECT_OK(Run());
  EXPECT_THAT(asked, ElementsAre("site-a"));
  a_.SetClusterUp(false);
  FenceDaemon other(world_, a_);
  other.environment().asked = daemon_.environment().asked;
  EXPECT_EQ(FenceWith(other, {"192.168.1.1"}).code(),
            absl::StatusCode::kUnavailable);
  EXPECT_THAT(asked, SizeIs(1));
}

}  // namespace
}  // namespace addons::testing
