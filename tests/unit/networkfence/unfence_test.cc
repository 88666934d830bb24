#include <chrono>
#include <string>
#include <vector>

#include "networkfence/auto_unfence.h"
#include "networkfence/fence_clients.h"
#include "tests/unit/networkfence/fence_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class UnfenceTest : public FenceFixture {};

TEST_F(UnfenceTest, RemovesEverySpelling) {
  a_.AddRangeBlocklistEntry("192.168.1.77:0/24", hours(1));
  a_.AddRangeBlocklistEntry("192.168.1.0:0/24", hours(1));
  a_.AddRangeBlocklistEntry("192.168.2.1:0/32", hours(1));
  a_.AddBlocklistEntry("192.168.2.1:0/0", hours(1));
  a_.AddBlocklistEntry("[fd99::1]:0/0", hours(1));
  a_.AddRangeBlocklistEntry("[::ffff:192.168.2.1]:0/128", hours(1));
  EXPECT_OK(Unfence({"192.168.1.9/24", "192.168.2.1", "fd99::1/128"}));
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(UnfenceTest, NothingToDoIsOk) {
  EXPECT_OK(Unfence({"192.168.1.0/24"}));
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(UnfenceTest, AWiderFenceStaysAndIsNamed) {
  EXPECT_OK(Fence({"192.168.1.0/24"}));
  EXPECT_OK(Fence({"192.168.1.5"}));
  const absl::Status status = Unfence({"192.168.1.5"});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("192.168.1.0/24"));
  EXPECT_THAT(Keys(), ElementsAre("range 192.168.1.0:0/24"));
  EXPECT_EQ(Unfence({"192.168.1.5"}).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_OK(Unfence({"192.168.1.0/24", "192.168.1.5"}));
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(UnfenceTest, NarrowerOnesStayUnlessAskedFor) {
  a_.AddRangeBlocklistEntry("192.168.1.5:0/32", hours(1));
  a_.AddBlocklistEntry("192.168.1.6:0/0", hours(1));
  a_.AddBlocklistEntry("192.168.1.7:0/4711", hours(1));
  EXPECT_OK(Fence({"192.168.1.0/24"}));
  EXPECT_OK(Unfence({"192.168.1.0/24"}));
  EXPECT_THAT(Keys(), SizeIs(3));
  EXPECT_OK(Unfence({"192.168.1.0/24"}, {{"removeClientEntries", "true"}}));
  EXPECT_THAT(Keys(), ElementsAre("192.168.1.6:0/0", "range 192.168.1.5:0/32"));
  EXPECT_OK(Unfence({"192.168.1.0/24"}, {{"removeContained", "true"}}));
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(UnfenceTest, ClientEntriesElsewhereAreNeverTouched) {
  a_.AddBlocklistEntry("192.168.2.7:0/4711", hours(1));
  EXPECT_OK(Unfence({"192.168.1.0/24"}, {{"removeClientEntries", "true"},
                                         {"removeContained", "true"}}));
  EXPECT_THAT(Keys(), SizeIs(1));
}

TEST_F(UnfenceTest, ReplaysEndRightInEitherOrder) {
  const auto fence = [&] { EXPECT_OK(Fence({"192.168.1.5"})); };
  const auto unfence = [&] { EXPECT_OK(Unfence({"192.168.1.0/24"})); };
  for (const bool fence_first : {true, false}) {
    EXPECT_OK(Fence({"192.168.1.0/24"}));
    fence();
    unfence();
    // The operator restarts and repeats both.
    for (int i = 0; i < 3; ++i) {
      if (fence_first) {
        fence();
        unfence();
      } else {
        unfence();
        fence();
      }
      EXPECT_THAT(Keys(), ElementsAre("range 192.168.1.5:0/32"));
    }
    EXPECT_OK(Unfence({"192.168.1.5"}));
  }
}

TEST_F(UnfenceTest, ReadsBack) {
  EXPECT_OK(Fence({"192.168.1.5"}));
  // Another replica fences it again in between.
  world_.SetCallHook(
      nullptr, [&](absl::string_view, absl::string_view, bool mutation) {
        if (mutation) a_.AddRangeBlocklistEntry("192.168.1.5:0/32", hours(1));
        return 0;
      });
  const absl::Status status = Unfence({"192.168.1.5"});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("192.168.1.5:0/32"));
}

TEST_F(UnfenceTest, ReadsTheListingOfNewerMonitors) {
  a_.SetBlocklistListing(BlocklistListing::kObject);
  EXPECT_OK(Unfence({"192.168.1.5"}));
  EXPECT_OK(Fence({"192.168.1.5", "fd99::/64"}));
  a_.AddBlocklistEntry("192.168.1.5:0/0", hours(1));
  EXPECT_EQ(List(), "192.168.1.5/32, fd99::/64");
  EXPECT_OK(Unfence({"192.168.1.5"}));
  EXPECT_THAT(Keys(), ElementsAre("range [fd99::]:0/64"));
}

TEST_F(UnfenceTest, AListingThatIsNotUnderstoodIsNotAnEmptyOne) {
  EXPECT_OK(Fence({"192.168.1.5"}));
  a_.SetBlocklistListing(BlocklistListing::kNestedArrays);
  const absl::Status status = Unfence({"192.168.1.5"});
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("'osd blocklist ls'"));
  EXPECT_THAT(Keys(), SizeIs(1));
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(UnfenceTest, AnEmptyListingIsComparedWithTheMap) {
  for (const bool range : {true, false}) {
    if (range) {
      a_.AddRangeBlocklistEntry("192.168.1.5:0/32", hours(1));
    } else {
      a_.AddBlocklistEntry("192.168.1.5:0/0", hours(1));
    }
    a_.SetBlocklistListing(BlocklistListing::kNothing);
    const absl::Status status = Unfence({"192.168.1.5"});
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(status.message(), HasSubstr("'osd dump'"));
    EXPECT_THAT(Keys(), SizeIs(1));
    a_.ClearBlocklist();
    EXPECT_OK(Unfence({"192.168.1.5"}));
  }
}

TEST_F(UnfenceTest, AnEntryThatGoesBetweenMapAndListIsNoContradiction) {
  a_.SetBlocklistListing(BlocklistListing::kObject);
  a_.AddBlocklistEntry("192.168.9.9:0/77", hours(1));
  int calls = 0;
  world_.SetCallHook(nullptr,
                     [&](absl::string_view, absl::string_view call, bool) {
                       // After the map, before the list is read for the first
                       // time.
                       if (call == "rados_mon_command" && ++calls == 1) {
                         a_.ClearBlocklist();
                       }
                       return 0;
                     });
  EXPECT_OK(Unfence({"192.168.1.5"}));
  EXPECT_EQ(calls, 4);
}

TEST_F(UnfenceTest, AListingThatGetsEmptyIsNoProofOfTheRemoval) {
  EXPECT_OK(Fence({"192.168.1.5"}));
  // Another replica fences it again, and the monitor lists nothing any more.
  world_.SetCallHook(
      nullptr, [&](absl::string_view, absl::string_view, bool mutation) {
        if (mutation) {
          a_.AddRangeBlocklistEntry("192.168.1.5:0/32", hours(1));
          a_.SetBlocklistListing(BlocklistListing::kNothing);
        }
        return 0;
      });
  const absl::Status status = Unfence({"192.168.1.5"});
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("'osd dump'"));
}

class ListFencesTest : public FenceFixture {};

TEST_F(ListFencesTest, ShowsRangesAndAddressesSorted) {
  a_.AddRangeBlocklistEntry("[fd99::]:0/64", hours(1));
  a_.AddBlocklistEntry("192.168.1.10:0/0", hours(1));
  a_.AddBlocklistEntry("192.168.1.9:0/0", hours(1));
  a_.AddRangeBlocklistEntry("192.168.1.9:0/32", hours(1));
  a_.AddRangeBlocklistEntry("192.168.0.77:0/16", hours(1));
  a_.AddBlocklistEntry("192.168.7.7:0/4711", hours(1));
  EXPECT_EQ(List(),
            "192.168.0.0/16, 192.168.1.9/32, 192.168.1.10/32, fd99::/64");
}

TEST_F(ListFencesTest, LeavesOutWhatHasExpired) {
  a_.AddRangeBlocklistEntry("192.168.1.0:0/24", seconds(1));
  world_.Advance(seconds(3));
  a_.AddRangeBlocklistEntry("192.168.2.0:0/24", hours(1));  // a newer map
  EXPECT_EQ(List(), "192.168.2.0/24");
}

TEST_F(ListFencesTest, ShowsTenThousandAddresses) {
  for (int i = 0; i < 10000; ++i) {
    a_.AddBlocklistEntry(
        absl::StrCat("192.168.", i / 250, ".", i % 250, ":0/0"), hours(1));
  }
  const auto ranges = ListFences(daemon_.environment(), Target());
  ASSERT_OK(ranges);
  EXPECT_THAT(*ranges, SizeIs(10000));
  EXPECT_EQ(ranges->front().Text(), "192.168.0.0/32");
  EXPECT_EQ(ranges->back().Text(), "192.168.39.249/32");
}

class FenceClientsTest : public FenceFixture {
 protected:
  std::vector<Cidr> Addresses() {
    const auto client = FindFenceClient(daemon_.environment(), Target());
    EXPECT_OK(client);
    return client.ok() ? client->addresses : std::vector<Cidr>();
  }
  void AutoUnfenceNow() {
    TestOperationContext context(world_);
    EXPECT_OK(auto_.Run(context, daemon_.environment(), Target(), Addresses()));
  }
  std::string OwnKey() {
    return Addresses().front().address().Text() + ":0/32";
  }

  std::string OwnRange() { return Addresses().front().Text(); }

  AutoUnfence auto_;
};

TEST_F(FenceClientsTest, NamesClusterAndAddresses) {
  const auto client = FindFenceClient(daemon_.environment(), Target());
  ASSERT_OK(client);
  EXPECT_EQ(client->id, a_.fsid());
  ASSERT_THAT(client->addresses, SizeIs(1));
  EXPECT_TRUE(client->addresses.front().IsSingle());
}

TEST_F(FenceClientsTest, NamesEveryAddressOnceAndSkipsWhatCannotBeRead) {
  EXPECT_EQ(JoinRanges(SingleAddresses(
                {"[v2:[fd99::7]:0/5,v1:10.0.0.7:0/5]", "10.0.0.7:0/6", "-", "",
                 "[::ffff:10.0.0.8]:0/9", "any:10.0.0.6:0/1"})),
            "10.0.0.6/32, 10.0.0.7/32, 10.0.0.8/32, fd99::7/128");
}

TEST_F(FenceClientsTest, AutomaticFenceIsLiftedAfterTheCoolDown) {
  a_.AddRangeBlocklistEntry(OwnKey(), AutoUnfence::kAutomaticExpiry);
  AutoUnfenceNow();
  EXPECT_THAT(Keys(), SizeIs(1)) << "just made";
  world_.Advance(minutes(4));
  AutoUnfenceNow();
  EXPECT_THAT(Keys(), SizeIs(1));
  // No new map, so only this process can tell that time has passed.
  world_.Advance(minutes(2));
  AutoUnfenceNow();
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(FenceClientsTest, AnOldAutomaticFenceIsLiftedAtOnce) {
  a_.AddRangeBlocklistEntry(OwnKey(), AutoUnfence::kAutomaticExpiry);
  world_.Advance(minutes(6));
  for (int map = 0; map < 20; ++map) {
    a_.AddRangeBlocklistEntry("192.168.1.1:0/32", hours(1));
  }
  AutoUnfenceNow();
  EXPECT_THAT(Keys(), ElementsAre("range 192.168.1.1:0/32"));
}

TEST_F(FenceClientsTest, WhatPeopleFencedStays) {
  a_.AddRangeBlocklistEntry(OwnKey(), kFiveYears);
  a_.AddRangeBlocklistEntry("192.168.1.1:0/32", hours(1));
  a_.AddRangeBlocklistEntry("10.0.0.0:0/8", hours(1));
  AutoUnfenceNow();
  world_.Advance(minutes(10));
  AutoUnfenceNow();
  EXPECT_THAT(Keys(), SizeIs(3));
}

TEST_F(FenceClientsTest, ItStaysWhileTheKernelHasADeviceOfTheFencedAddress) {
  a_.AddRangeBlocklistEntry(OwnKey(), AutoUnfence::kAutomaticExpiry);
  AutoUnfenceNow();
  world_.Advance(minutes(6));
  const std::string own = Addresses().front().address().Text() + ":0/41";
  const std::vector<LinuxTree::Krbd> harmful = {
      {"pool", "2", "", "disk", a_.fsid(), own},
      {"pool", "2", "", "disk", "", own},  // an old kernel tells no cluster
      {"pool", "2", "", "disk", a_.fsid(), ""},  // ... or no address
  };
  for (const LinuxTree::Krbd& device : harmful) {
    daemon_.node().SetKrbd(0, device);
    AutoUnfenceNow();
    EXPECT_THAT(Keys(), SizeIs(1)) << device.fsid << " " << device.address;
  }
  daemon_.node().RemoveKrbd(0);
  AutoUnfenceNow();
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(FenceClientsTest, DevicesThatItDoesNotFenceKeepNoFence) {
  a_.AddRangeBlocklistEntry(OwnKey(), AutoUnfence::kAutomaticExpiry);
  AutoUnfenceNow();
  world_.Advance(minutes(6));
  const std::string own = Addresses().front().address().Text() + ":0/41";
  daemon_.node().SetKrbd(0, {"pool", "2", "", "disk", "another-cluster", own});
  daemon_.node().SetKrbd(
      1, {"pool", "2", "", "disk", a_.fsid(), "192.168.77.7:0/41"});
  AutoUnfenceNow();
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(FenceClientsTest, ItStaysWhereTheNodeIsNotSeen) {
  a_.AddRangeBlocklistEntry(OwnKey(), AutoUnfence::kAutomaticExpiry);
  AutoUnfenceNow();
  world_.Advance(minutes(6));
  const LinuxTree nothing;
  daemon_.environment().options.roots = nothing.roots();
  AutoUnfenceNow();
  EXPECT_THAT(Keys(), SizeIs(1));
}

// Whoever made it, and however old it is: only the three years of ceph-csi's
// automatic fence say that nobody asked for it.
TEST_F(FenceClientsTest, AFenceOfAnyOtherLengthIsSomebodys) {
  for (const std::string expiry : {"60", "3600", "86400", "94608000"}) {
    ASSERT_OK(Fence({OwnRange()}, {{"expirySeconds", expiry},
                                   {"allowServiceClients", "true"}}));
    AutoUnfenceNow();
    EXPECT_THAT(Keys(), SizeIs(1)) << expiry;
    ASSERT_OK(Unfence({OwnRange()}));
  }
  // A fence for five years that is two years old has three years left.
  a_.AddRangeBlocklistEntry(OwnKey(), kFiveYears);
  a_.SetClockSkew(kFiveYears - AutoUnfence::kAutomaticExpiry);
  a_.AddRangeBlocklistEntry("192.168.1.1:0/32", hours(1));
  AutoUnfenceNow();
  world_.Advance(minutes(10));
  AutoUnfenceNow();
  EXPECT_THAT(Keys(), SizeIs(2));
}

TEST_F(FenceClientsTest, AFenceWhoseBeginningIsNotKnownStays) {
  a_.AddRangeBlocklistEntry(OwnKey(), AutoUnfence::kAutomaticExpiry);
  world_.Advance(minutes(6));
  a_.AddRangeBlocklistEntry("192.168.1.1:0/32", hours(1));
  a_.ForgetOldMaps();
  AutoUnfenceNow();
  world_.Advance(minutes(6));
  AutoUnfenceNow();
  EXPECT_THAT(Keys(), SizeIs(2));
}

// The automatic fence is there already, so that the monitor changes nothing for
// the NetworkFence of a person.
TEST_F(FenceClientsTest, WhatPeopleFenceAfterAnAutomaticFenceStays) {
  for (const std::string expiry : {"86400", "94670856", "157784760"}) {
    a_.AddRangeBlocklistEntry(OwnKey(), AutoUnfence::kAutomaticExpiry);
    ASSERT_OK(Fence({OwnRange()}, {{"expirySeconds", expiry},
                                   {"allowServiceClients", "true"}}));
    world_.Advance(minutes(6));
    AutoUnfenceNow();
    world_.Advance(minutes(6));
    AutoUnfenceNow();
    EXPECT_EQ(List(), OwnRange()) << expiry;
    ASSERT_OK(Unfence({OwnRange()}));
    EXPECT_THAT(Keys(), IsEmpty()) << expiry;
  }
}

// Three years, by the calendar, are the very number of ceph-csi.
TEST_F(FenceClientsTest, AFenceOfAPersonForThreeYearsStays) {
  ASSERT_OK(Fence({OwnRange()}, {{"expirySeconds", "94670856"},
                                 {"allowServiceClients", "true"}}));
  world_.Advance(minutes(6));
  AutoUnfenceNow();
  world_.Advance(minutes(6));
  AutoUnfenceNow();
  EXPECT_EQ(List(), OwnRange());
}

}  // namespace
}  // namespace addons::testing
