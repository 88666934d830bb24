// Who has a lease, who waits for it, who replaces it: two daemons on one
// simulated cluster.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "lease/keeper.h"
#include "lease/leased_context.h"
#include "lease/who_holds.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/fakes/test_operation_context.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;

class LeaseTest : public ::testing::Test {
 protected:
  /// The daemon with this pid; all of them run on one machine.
  static LeaseOptions OptionsOf(int64_t pid) {
    LeaseOptions options;
    options.instance = "csi";
    options.self = {"host", "boot", "4026531836", pid, 100};
    options.probe = [](int64_t) { return ProcessState{true, 100}; };
    return options;
  }

  void TearDown() override { EXPECT_THAT(world_.Violations(), IsEmpty()); }

  LeaseTarget Target() {
    ResolvedVolume volume;
    volume.cluster = cluster_;
    volume.pool_id = pair_.pool_id(pair_.a());
    volume.pool_name = MirroredPair::kPool;
    volume.uuid = "u1";
    volume.volume_id = VolumeHandle("handle");
    volume.attributes.image_name = ImageName("csi-vol-u1");
    return LeaseOf(volume);
  }
  int LockCalls() { return world_.CountCalls("a", "rados_lock_exclusive"); }
  void FailCall(const std::string& failing) {
    world_.SetCallHook([failing](absl::string_view, absl::string_view call,
                                 bool) { return call == failing ? EIO : 0; });
  }
  bool ObjectExists() {
    return pair_.a().HasOmap(MirroredPair::kPool, "", "rbd_addons.lease.u1");
  }
  std::shared_ptr<LeaseKeeper::Held> Take(LeaseKeeper& keeper) {
    auto outcome = keeper.TryTake(Target(), "promote");
    EXPECT_OK(outcome);
    return outcome.ok() ? outcome->lease : nullptr;
  }
  std::string HolderSeenBy(LeaseKeeper& keeper) {
    const auto outcome = keeper.TryTake(Target(), "demote");
    EXPECT_OK(outcome);
    EXPECT_TRUE(outcome.ok() && outcome->lease == nullptr);
    return outcome.ok() ? outcome->holder : "";
  }

  FakeWorld world_;
  MirroredPair pair_{world_};
  std::shared_ptr<Cluster> cluster_ = pair_.cluster(pair_.a());
  LeaseKeeper first_{world_, OptionsOf(1)};
  LeaseKeeper second_{world_, OptionsOf(2)};
};

TEST_F(LeaseTest, OnlyOneDaemonHasItAndTheOtherIsToldWho) {
  const auto lease = Take(first_);
  ASSERT_NE(lease, nullptr);
  EXPECT_THAT(HolderSeenBy(second_),
              AllOf(HasSubstr("'promote' by instance 'csi' on host 'host'"),
                    HasSubstr("(process 1) since ")));
  first_.GiveBack(lease);
  EXPECT_FALSE(ObjectExists());
  const auto next = Take(second_);
  ASSERT_NE(next, nullptr);
  second_.GiveBack(next);
  EXPECT_FALSE(ObjectExists());
}

TEST_F(LeaseTest, TwoOperationsOfOneDaemonExcludeEachOther) {
  const auto lease = Take(first_);
  EXPECT_THAT(HolderSeenBy(first_), HasSubstr("process 1"));
  first_.GiveBack(lease);
}

TEST_F(LeaseTest, ItEndsByItselfAfterItsDuration) {
  const auto lease = Take(first_);
  world_.Advance(seconds(39));
  HolderSeenBy(second_);
  world_.Advance(seconds(1));
  const auto next = Take(second_);
  ASSERT_NE(next, nullptr);
  // Who had it learns that it is lost, and removes nothing.
  EXPECT_THAT(first_.Check(lease),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("repeat")));
  first_.GiveBack(lease);
  EXPECT_TRUE(ObjectExists());
  EXPECT_OK(second_.Check(next));
  second_.GiveBack(next);
  EXPECT_FALSE(ObjectExists());
}

TEST_F(LeaseTest, OneThatWasLostLeavesNothingBehind) {
  const auto lease = Take(first_);
  world_.Advance(seconds(60));
  EXPECT_THAT(first_.Check(lease), StatusIs(absl::StatusCode::kUnavailable));
  first_.GiveBack(lease);
  EXPECT_FALSE(ObjectExists());
}

TEST_F(LeaseTest, OneThatEndedUnnoticedLeavesNothingBehind) {
  const auto lease = Take(first_);
  world_.Advance(seconds(60));
  first_.GiveBack(lease);
  EXPECT_FALSE(ObjectExists());
}

TEST_F(LeaseTest, OneThatIsTakenForLostBeforeItEndsLeavesNothingBehind) {
  const auto lease = Take(first_);
  world_.Advance(seconds(36));
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_lock_exclusive" ? EIO : 0;
  });
  EXPECT_THAT(first_.Check(lease), StatusIs(absl::StatusCode::kUnavailable));
  world_.SetCallHook(nullptr);
  first_.GiveBack(lease);
  EXPECT_FALSE(ObjectExists());
}

// That may hang as long as the OSD does: the verb is answered before.
TEST_F(LeaseTest, WhatALostOneLeftIsRemovedOnAThreadOfTheKeepers) {
  LeaseKeeper keeper(world_, OptionsOf(1));
  keeper.StartRenewing();
  const auto lease = Take(keeper);
  world_.Advance(seconds(60));
  EXPECT_THAT(keeper.Check(lease), StatusIs(absl::StatusCode::kUnavailable));
  keeper.GiveBack(lease);
  for (int look = 0; look < 2000 && ObjectExists(); ++look) {
    poll(nullptr, 0, 5);
  }
  EXPECT_FALSE(ObjectExists());
}

TEST_F(LeaseTest, WhoRenewsItKeepsIt) {
  const auto lease = Take(first_);
  for (int i = 0; i < 12; ++i) {
    world_.Advance(seconds(10));
    first_.RenewDue();
  }
  EXPECT_OK(first_.Check(lease));
  HolderSeenBy(second_);
  first_.GiveBack(lease);
}

TEST_F(LeaseTest, ACheckRenewsWhatIsDue) {
  const auto lease = Take(first_);
  for (int i = 0; i < 4; ++i) {
    world_.Advance(seconds(30));
    EXPECT_OK(first_.Check(lease));
  }
  HolderSeenBy(second_);
  first_.GiveBack(lease);
}

TEST_F(LeaseTest, WhatCannotBeRenewedIsTakenForLostBeforeItEnds) {
  const auto lease = Take(first_);
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_lock_exclusive" ? EIO : 0;
  });
  world_.Advance(seconds(20));
  EXPECT_OK(first_.Check(lease));
  world_.Advance(seconds(15));
  EXPECT_THAT(first_.Check(lease), StatusIs(absl::StatusCode::kUnavailable));
  world_.SetCallHook(nullptr);
  HolderSeenBy(second_);  // it is still there
}

TEST_F(LeaseTest, ThatOfAProvenDeadDaemonIsReplacedAtOnce) {
  Take(first_);
  LeaseOptions options = OptionsOf(3);
  options.probe = [](int64_t pid) {
    return ProcessState{pid != 1, std::nullopt};
  };
  LeaseKeeper successor(world_, options);
  const auto lease = Take(successor);
  ASSERT_NE(lease, nullptr);
  EXPECT_EQ(world_.CountCalls("a", "rados_break_lock"), 1);
  successor.GiveBack(lease);
}

// Its own clock would trust it for much longer.
TEST_F(LeaseTest, OneThatSomebodyElseHasIsLostWithItsNextRenewal) {
  const auto lease = Take(first_);
  LeaseOptions options = OptionsOf(3);
  options.probe = [](int64_t) { return ProcessState{false, std::nullopt}; };
  LeaseKeeper successor(world_, options);
  const auto next = Take(successor);
  ASSERT_NE(next, nullptr);
  world_.Advance(seconds(10));
  EXPECT_THAT(first_.Check(lease), StatusIs(absl::StatusCode::kUnavailable));
  // Nor is it asked for again.
  const int asked = LockCalls();
  first_.RenewDue();
  EXPECT_EQ(LockCalls(), asked);
  first_.GiveBack(lease);
  EXPECT_TRUE(ObjectExists());
  EXPECT_OK(successor.Check(next));
  successor.GiveBack(next);
}

TEST_F(LeaseTest, OneThatCannotBeReplacedIsNotTaken) {
  Take(first_);
  LeaseOptions options = OptionsOf(3);
  options.probe = [](int64_t) { return ProcessState{false, std::nullopt}; };
  LeaseKeeper successor(world_, options);
  FailCall("rados_break_lock");
  EXPECT_THAT(successor.TryTake(Target(), "promote").status(),
              StatusIs(absl::StatusCode::kInternal));
}

TEST_F(LeaseTest, CephIsAskedForNoMoreThanIsNeeded) {
  const auto lease = Take(first_);
  world_.Advance(seconds(9));
  EXPECT_OK(first_.Check(lease));
  first_.RenewDue();
  first_.GiveBack(lease);
  EXPECT_EQ(LockCalls(), 1);
  EXPECT_EQ(world_.CountCalls("a", "lock.assert_locked"), 1);
}

TEST_F(LeaseTest, OneIsRenewedOnceAtATime) {
  const auto lease = Take(first_);
  world_.Advance(seconds(10));
  int renewals = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    if (call == "rados_lock_exclusive" && ++renewals == 1) {
      first_.RenewDue();
    }
    return 0;
  });
  first_.RenewDue();
  EXPECT_EQ(renewals, 1);
  world_.SetCallHook(nullptr);
  first_.GiveBack(lease);
}

TEST_F(LeaseTest, NearItsEndTheRenewalThatIsUnderWayIsAwaited) {
  const auto lease = Take(first_);
  absl::Notification under_way;
  absl::Notification go_on;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    if (call == "rados_lock_exclusive" && !under_way.HasBeenNotified()) {
      under_way.Notify();
      go_on.WaitForNotification();
    }
    return 0;
  });
  world_.Advance(seconds(10));
  std::thread renews([&] { first_.RenewDue(); });
  under_way.WaitForNotification();
  world_.Advance(seconds(26));
  std::thread checks([&] { EXPECT_OK(first_.Check(lease)); });
  poll(nullptr, 0, 50);  // so that it waits
  go_on.Notify();
  renews.join();
  checks.join();
  world_.SetCallHook(nullptr);
  first_.GiveBack(lease);
}

TEST_F(LeaseTest, TheKeepersThreadsRenewWhatIsDue) {
  LeaseKeeper keeper(world_, OptionsOf(1));
  keeper.StartRenewing();
  const auto lease = Take(keeper);
  world_.Advance(seconds(20));
  keeper.RenewDue();
  for (int look = 0; look < 2000 && LockCalls() < 2; ++look) {
    poll(nullptr, 0, 5);
  }
  ASSERT_GE(LockCalls(), 2);
  keeper.GiveBack(lease);
}

TEST_F(LeaseTest, OneThatCannotBeGivenBackIsReplacedByThisDaemon) {
  const auto lease = Take(first_);
  FailCall("lock.assert_locked");
  first_.GiveBack(lease);
  world_.SetCallHook(nullptr);
  HolderSeenBy(second_);
  const auto again = Take(first_);
  ASSERT_NE(again, nullptr);
  first_.GiveBack(again);
}

TEST_F(LeaseTest, OneThatWasForgottenEndsAndIsReplacedByThisDaemon) {
  const auto lease = Take(first_);
  first_.Forget(lease);
  HolderSeenBy(second_);
  const auto again = Take(first_);
  ASSERT_NE(again, nullptr);
  first_.GiveBack(again);
}

TEST_F(LeaseTest, OneThatIsGivenBackBetweenTwoCallsIsTaken) {
  const auto lease = Take(first_);
  bool given_back = false;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    if (call == "rados_list_lockers" && !std::exchange(given_back, true)) {
      first_.GiveBack(lease);
    }
    return 0;
  });
  const auto next = Take(second_);
  ASSERT_NE(next, nullptr);
  EXPECT_TRUE(given_back);
  second_.GiveBack(next);
}

// Nothing but the object is wanted, and who has it by now keeps it.
TEST_F(LeaseTest, TheObjectOfALostOneIsRemovedWithOneCall) {
  const auto lease = Take(first_);
  world_.Advance(seconds(36));
  FailCall("rados_lock_exclusive");
  EXPECT_THAT(first_.Check(lease), StatusIs(absl::StatusCode::kUnavailable));
  world_.SetCallHook(nullptr);
  const int locked = LockCalls();
  first_.GiveBack(lease);
  EXPECT_FALSE(ObjectExists());
  EXPECT_EQ(LockCalls(), locked);
}

TEST_F(LeaseTest, TheObjectOfALostOneStaysWhereItCannotBeRemoved) {
  const auto lease = Take(first_);
  world_.Advance(seconds(60));
  FailCall("rados_lock_exclusive");
  first_.GiveBack(lease);
  EXPECT_TRUE(ObjectExists());
  world_.SetCallHook(nullptr);
  first_.GiveBack(Take(first_));
  EXPECT_FALSE(ObjectExists());
}

TEST_F(LeaseTest, WhoHoldsItIsTold) {
  const auto pool =
      *cluster_->OpenPool(pair_.pool_id(pair_.a()), "", Access::kRead);
  EXPECT_EQ(*WhoHoldsLease(*pool, Target()), "");
  const auto lease = Take(first_);
  EXPECT_THAT(*WhoHoldsLease(*pool, Target()), HasSubstr("process 1"));
  first_.GiveBack(lease);
}

TEST_F(LeaseTest, ThatOfAnotherMachineIsLeftToEnd) {
  Take(first_);
  LeaseOptions options = OptionsOf(3);
  options.self.boot = "another";
  options.probe = [](int64_t) { return ProcessState{false, std::nullopt}; };
  LeaseKeeper other(world_, options);
  HolderSeenBy(other);
  EXPECT_EQ(world_.CountCalls("a", "rados_break_lock"), 0);
}

/// The daemon before this one in the same pod: its pid means nothing here.
class PredecessorTest : public LeaseTest {
 protected:
  PredecessorTest() {
    its_options_.self.net_namespace = "4026531840";
    its_options_.self.life = "life-1";
    options_.self.pid_namespace = "4026532000";
    options_.self.net_namespace = "4026531840";
    options_.self.life = "life-3";
    options_.life_sign_is_gone = [this](const std::string& name) {
      return gone_.contains(name);
    };
  }
  /// It takes the lease with a connection of its own.
  void TakeByPredecessor() {
    predecessor_ = std::make_unique<LeaseKeeper>(world_, its_options_);
    its_target_ = Target();
    its_target_.place.cluster = FakeClusterProvider(world_).Get(pair_.a());
    const auto outcome = predecessor_->TryTake(its_target_, "promote");
    ASSERT_OK(outcome);
    its_lease_ = outcome->lease;
    ASSERT_NE(its_lease_, nullptr);
    its_address_ = its_target_.place.cluster->OwnAddresses().back();
  }
  void Start() { keeper_ = std::make_unique<LeaseKeeper>(world_, options_); }
  /// Nobody takes it as long as it lasts, and nobody is shut out.
  void ExpectLeftToEnd() {
    Start();
    HolderSeenBy(*keeper_);
    world_.Advance(seconds(39));
    HolderSeenBy(*keeper_);
    world_.Advance(seconds(1));
    const auto lease = Take(*keeper_);
    ASSERT_NE(lease, nullptr);
    keeper_->GiveBack(lease);
    EXPECT_EQ(world_.CountCalls("a", "rados_break_lock"), 0);
    EXPECT_THAT(pair_.a().Blocklist(), IsEmpty());
  }

  LeaseOptions its_options_ = OptionsOf(1);
  LeaseOptions options_ = OptionsOf(3);
  std::set<std::string> gone_{"life-1"};
  LeaseTarget its_target_;
  std::shared_ptr<LeaseKeeper::Held> its_lease_;
  std::string its_address_;
  std::unique_ptr<LeaseKeeper> predecessor_;
  std::unique_ptr<LeaseKeeper> keeper_;
};

// What it has sent may still be under way.
TEST_F(PredecessorTest, IsBlocklistedBeforeItsLeaseIsReplaced) {
  TakeByPredecessor();
  const auto its_pool = *its_target_.place.OpenPool(Access::kMutate);
  bool blocklisted_first = false;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    if (call == "rados_break_lock") {
      blocklisted_first =
          world_.CountCalls("a", "rados_wait_for_latest_osdmap") == 1;
      EXPECT_THAT(its_pool->CreateObject("late"),
                  StatusIs(absl::StatusCode::kUnavailable));
    }
    return 0;
  });
  Start();
  const auto lease = Take(*keeper_);
  ASSERT_NE(lease, nullptr);
  EXPECT_TRUE(blocklisted_first);
  EXPECT_THAT(pair_.a().Blocklist(), ElementsAre(Key(its_address_)));
  EXPECT_FALSE(pair_.a().HasOmap(MirroredPair::kPool, "", "late"));
  // Its watches end with the blocklisting or 30 s later.
  EXPECT_EQ(keeper_->DaemonClients(Target())->size(), 2U);
  keeper_->GiveBack(lease);
}

TEST_F(PredecessorTest, ThatLivesIsLeftAlone) {
  gone_.clear();
  TakeByPredecessor();
  ExpectLeftToEnd();
}

TEST_F(PredecessorTest, OfAnotherInstanceIsLeftAlone) {
  its_options_.instance = "other";
  TakeByPredecessor();
  ExpectLeftToEnd();
}

TEST_F(PredecessorTest, OfAnotherPodIsLeftAlone) {
  its_options_.self.net_namespace = "4026539999";
  TakeByPredecessor();
  ExpectLeftToEnd();
}

TEST_F(PredecessorTest, OfAnotherMachineIsLeftAlone) {
  its_options_.self.boot = "another";
  TakeByPredecessor();
  ExpectLeftToEnd();
}

TEST_F(PredecessorTest, WithoutASignOfLifeIsLeftAlone) {
  its_options_.self.life = "";
  gone_.insert("");
  TakeByPredecessor();
  ExpectLeftToEnd();
}

TEST_F(PredecessorTest, ThatCannotBeBlocklistedIsLeftToEndAndThatIsTriedOnce) {
  TakeByPredecessor();
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_mon_command" ? EACCES : 0;
  });
  ExpectLeftToEnd();
  EXPECT_EQ(world_.CountCalls("a", "rados_mon_command"), 1);
}

// Fencing, say. What it was doing may be half done, and nobody knows of it.
TEST_F(PredecessorTest, WhoWasBlocklistedByOthersKeepsItUntilItEnds) {
  its_options_.self = {"far", "another", "1", 1, 1};
  TakeByPredecessor();
  pair_.a().BlocklistClients();
  Start();
  HolderSeenBy(*keeper_);
  world_.Advance(seconds(39));
  HolderSeenBy(*keeper_);
  world_.Advance(seconds(1));
  const auto lease = Take(*keeper_);
  ASSERT_NE(lease, nullptr);
  keeper_->GiveBack(lease);
  EXPECT_EQ(world_.CountCalls("a", "rados_break_lock"), 0);
}

TEST_F(LeaseTest, WhatThisDaemonLostWithItsConnectionIsReplacedAtOnce) {
  const auto lease = Take(first_);
  pair_.a().BlocklistClients();
  world_.Advance(seconds(10));
  first_.RenewDue();
  EXPECT_THAT(first_.Check(lease), StatusIs(absl::StatusCode::kUnavailable));
  first_.GiveBack(lease);
  HolderSeenBy(second_);
  const auto again = Take(first_);
  ASSERT_NE(again, nullptr);
  first_.GiveBack(again);
}

TEST_F(LeaseTest, AnUnknownOwnerIsNamedAsCephDoes) {
  const auto pool =
      *cluster_->OpenPool(pair_.pool_id(pair_.a()), "", Access::kMutate);
  ASSERT_TRUE(*pool->TakeObjectLock(
      {"rbd_addons.lease.u1", "rbd-addons.lease", "by hand"}, seconds(60)));
  EXPECT_THAT(HolderSeenBy(first_), HasSubstr("client."));
}

TEST_F(LeaseTest, ErrorsOfTheLeaseAreNoAnswerAboutTheVolume) {
  struct Row {
    int error;
    absl::StatusCode code;
  };
  for (const Row& row : {Row{EPERM, absl::StatusCode::kPermissionDenied},
                         Row{ENOENT, absl::StatusCode::kUnavailable},
                         Row{EEXIST, absl::StatusCode::kUnavailable},
                         Row{EOPNOTSUPP, absl::StatusCode::kUnavailable},
                         Row{ENOSPC, absl::StatusCode::kUnavailable},
                         Row{EIO, absl::StatusCode::kInternal},
                         Row{ETIMEDOUT, absl::StatusCode::kDeadlineExceeded}}) {
    world_.SetCallHook([&row](absl::string_view, absl::string_view call, bool) {
      return call == "rados_lock_exclusive" ? row.error : 0;
    });
    EXPECT_THAT(first_.TryTake(Target(), "promote").status(),
                StatusIs(row.code))
        << row.error;
  }
}

TEST_F(LeaseTest, NorAreErrorsOfWhatIsAskedBesides) {
  for (const char* const call : {"rados_ioctx_create2", "rados_list_lockers"}) {
    Take(first_);
    FailCall(call);
    EXPECT_THAT(second_.TryTake(Target(), "promote").status(),
                StatusIs(absl::StatusCode::kInternal,
                         HasSubstr("Failed to take the lease on")))
        << call;
    world_.SetCallHook(nullptr);
  }
}

TEST_F(LeaseTest, AFullPoolIsSaid) {
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_lock_exclusive" ? EDQUOT : 0;
  });
  EXPECT_THAT(first_.TryTake(Target(), "promote").status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(MirroredPair::kPool), HasSubstr("full"),
                             HasSubstr("quota"))));
}

// What gives space back is wanted most where there is none.
TEST_F(LeaseTest, InAFullPoolItIsTakenByWhatGivesSpaceBack) {
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_lock_exclusive" ? EDQUOT : 0;
  });
  LeaseTarget target = Target();
  target.although_full = true;
  auto taken = first_.TryTake(target, "reclaim");
  ASSERT_OK(taken);
  ASSERT_NE(taken->lease, nullptr);
  // It is the one that everybody else asks for.
  world_.SetCallHook(nullptr);
  auto other = second_.TryTake(Target(), "promote");
  ASSERT_OK(other);
  EXPECT_EQ(other->lease, nullptr);
  first_.GiveBack(taken->lease);
}

TEST_F(LeaseTest, ClientsOfDaemonsAreKnown) {
  EXPECT_THAT(*first_.DaemonClients(Target()), IsEmpty());
  const auto lease = Take(first_);
  // Both daemons of this test share one connection.
  const auto own = cluster_->OwnClientIds();
  const auto clients = *second_.DaemonClients(Target());
  ASSERT_EQ(clients.size(), 1U);
  EXPECT_THAT(own, Contains(*clients.begin()));
  first_.GiveBack(lease);
  EXPECT_THAT(*second_.DaemonClients(Target()), IsEmpty());
}

TEST_F(LeaseTest, TheClientOfADeadDaemonStaysKnown) {
  Take(first_);
  LeaseOptions options = OptionsOf(3);
  options.probe = [](int64_t) { return ProcessState{false, std::nullopt}; };
  LeaseKeeper successor(world_, options);
  successor.GiveBack(Take(successor));
  EXPECT_EQ(successor.DaemonClients(Target())->size(), 1U);
}

// Also when nobody asks for the lease before it ends.
TEST_F(LeaseTest, TheClientOfADeadDaemonStaysKnownAfterItsLease) {
  Take(first_);
  LeaseOptions options = OptionsOf(3);
  options.probe = [](int64_t) { return ProcessState{false, std::nullopt}; };
  LeaseKeeper looks(world_, options);
  EXPECT_EQ(looks.DaemonClients(Target())->size(), 1U);
  world_.Advance(seconds(41));
  EXPECT_EQ(looks.DaemonClients(Target())->size(), 1U);
  EXPECT_THAT(*second_.DaemonClients(Target()), IsEmpty());
}

TEST_F(PredecessorTest, ItsClientStaysKnownAfterItsLease) {
  TakeByPredecessor();
  Start();
  EXPECT_EQ(keeper_->DaemonClients(Target())->size(), 1U);
  world_.Advance(seconds(41));
  EXPECT_EQ(keeper_->DaemonClients(Target())->size(), 1U);
}

// --- the context

/// A verb that notes how often it was run, and changes something.
class LeasedContextTest : public LeaseTest {
 protected:
  using Verb = std::function<absl::Status(LeasedContext&)>;

  absl::Status Run(LeaseKeeper& keeper, const Verb& verb) {
    return RunLeased(context_, keeper, "promote", [&](LeasedContext& leased) {
      ++runs_;
      leased.Aim(Target());
      return verb(leased);
    });
  }

  TestOperationContext context_{world_};
  int runs_ = 0;
};

TEST_F(LeasedContextTest, AVerbLooksAgainWhenTheLeaseIsItsOwn) {
  std::vector<bool> begun;
  EXPECT_OK(Run(first_, [&](LeasedContext& leased) {
    const absl::Status status = leased.BeginMutation();
    begun.push_back(status.ok());
    EXPECT_EQ(SaysLookAgain(status), !status.ok());
    EXPECT_EQ(leased.mutating(), status.ok());
    EXPECT_TRUE(ObjectExists());
    return status;
  }));
  EXPECT_THAT(begun, ::testing::ElementsAre(false, true));
  EXPECT_EQ(context_.mutations_begun(), 1);
  EXPECT_FALSE(ObjectExists());
}

TEST_F(LeasedContextTest, AVerbThatChangesNothingTakesNone) {
  EXPECT_OK(Run(first_, [](LeasedContext&) { return absl::OkStatus(); }));
  EXPECT_EQ(world_.CountCalls("a", "rados_lock_exclusive"), 0);
  EXPECT_EQ(runs_, 1);
}

TEST_F(LeasedContextTest, OneThatIsFreeAtFirstSavesALook) {
  EXPECT_OK(Run(first_, [&](LeasedContext& leased) {
    leased.TakeIfFree();
    EXPECT_TRUE(ObjectExists());
    return leased.BeginMutation();
  }));
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(context_.mutations_begun(), 1);
  EXPECT_FALSE(ObjectExists());
}

TEST_F(LeasedContextTest, OneThatIsNotFreeAtFirstIsWaitedForByTheChange) {
  const auto lease = Take(second_);
  world_.Schedule(seconds(3), [&] { second_.GiveBack(lease); });
  EXPECT_OK(Run(first_, [](LeasedContext& leased) {
    leased.TakeIfFree();
    return leased.BeginMutation();
  }));
  EXPECT_EQ(runs_, 2);
}

TEST_F(LeasedContextTest, OneThatWasTakenAtFirstIsNotKeptWhileWaiting) {
  bool waited = false;
  EXPECT_OK(Run(first_, [&](LeasedContext& leased) -> absl::Status {
    leased.TakeIfFree();
    if (std::exchange(waited, true)) return leased.BeginMutation();
    for (int i = 0; i < 20; ++i) EXPECT_OK(leased.SleepFor(seconds(1)));
    EXPECT_FALSE(ObjectExists());
    return leased.BeginMutation();
  }));
  EXPECT_EQ(context_.mutations_begun(), 1);
}

// It does not matter what the verb makes of the refusal.
TEST_F(LeasedContextTest, AVerbThatSwallowsTheRefusalIsRunAgainAllTheSame) {
  EXPECT_OK(Run(first_, [](LeasedContext& leased) {
    leased.BeginMutation().IgnoreError();
    EXPECT_EQ(leased.SleepFor(seconds(1)).ok(), leased.mutating());
    return absl::OkStatus();
  }));
  EXPECT_EQ(runs_, 2);
  EXPECT_EQ(context_.mutations_begun(), 1);
}

TEST_F(LeasedContextTest, AVerbThatAsksTwiceIsRefusedTwice) {
  EXPECT_OK(Run(first_, [&](LeasedContext& leased) {
    leased.BeginMutation().IgnoreError();
    const absl::Status second = leased.BeginMutation();
    EXPECT_EQ(second.ok(), runs_ == 2);
    const absl::Status waits = leased.LookAgainAfter(seconds(1));
    EXPECT_EQ(SaysLookAgain(waits), runs_ == 1);
    EXPECT_FALSE(RunsAgain(waits));
    EXPECT_TRUE(ObjectExists());
    return second;
  }));
  EXPECT_EQ(runs_, 2);
}

TEST_F(LeasedContextTest, WhoHasBegunToChangeKeepsItHoweverLongItWaits) {
  context_.SetDeadline(std::chrono::hours(1));
  EXPECT_OK(Run(first_, [&](LeasedContext& leased) -> absl::Status {
    if (absl::Status begun = leased.BeginMutation(); !begun.ok()) return begun;
    for (int i = 0; i < 60; ++i) EXPECT_OK(leased.SleepFor(seconds(1)));
    HolderSeenBy(second_);
    return leased.BeginMutation();
  }));
  EXPECT_EQ(runs_, 2);
}

TEST_F(LeasedContextTest, OneThatIsHeldIsNotTakenAgain) {
  LeasedContext leased(context_, first_, "create");
  leased.Aim(Target());
  ASSERT_OK(leased.Take());
  const int asked = LockCalls();
  EXPECT_OK(leased.Take());
  leased.TakeIfFree();
  EXPECT_EQ(LockCalls(), asked);
  leased.GiveBack();
}

TEST_F(LeasedContextTest, NobodyTakesOneWithoutSayingOfWhat) {
  LeasedContext leased(context_, first_, "create");
  leased.TakeIfFree();
  EXPECT_THAT(leased.Take(), StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(LockCalls(), 0);
}

TEST_F(LeasedContextTest, WhoOnlyLooksTakesNone) {
  context_.OnlyLook();
  EXPECT_THAT(Run(first_,
                  [](LeasedContext& leased) {
                    leased.TakeIfFree();
                    return leased.BeginMutation();
                  }),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(LockCalls(), 0);
}

TEST_F(LeasedContextTest, OneThatCannotBeAskedForAtFirstIsNotHeld) {
  FailCall("rados_lock_exclusive");
  EXPECT_THAT(Run(first_,
                  [](LeasedContext& leased) {
                    leased.TakeIfFree();
                    return leased.BeginMutation();
                  }),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(context_.mutations_begun(), 0);
}

TEST_F(LeasedContextTest, ASecondWaitIsAsLongAsTheFirst) {
  LeasedContext leased(context_, first_, "create");
  leased.Aim(Target());
  ASSERT_OK(leased.Take());
  leased.GiveBack();
  world_.Advance(seconds(25));
  const auto lease = Take(second_);
  world_.Schedule(seconds(3), [&] { second_.GiveBack(lease); });
  EXPECT_OK(leased.Take());
  leased.GiveBack();
}

TEST_F(LeasedContextTest, AContextThatEndsLeavesItsLeaseToEnd) {
  {
    LeasedContext leased(context_, first_, "create");
    leased.Aim(Target());
    ASSERT_OK(leased.Take());
  }
  EXPECT_TRUE(ObjectExists());
  const auto lease = Take(first_);
  ASSERT_NE(lease, nullptr);
  first_.GiveBack(lease);
}

TEST_F(LeasedContextTest, AnotherDaemonIsWaitedForAndThenNamed) {
  const auto lease = Take(second_);
  const SteadyTime begin = world_.Now();
  const SteadyDuration renew = seconds(10);
  world_.Schedule(renew, [&] { second_.RenewDue(); });
  EXPECT_THAT(
      Run(first_, [](LeasedContext& leased) { return leased.BeginMutation(); }),
      StatusIs(absl::StatusCode::kAborted,
               AllOf(HasSubstr("another daemon is at work"),
                     HasSubstr("process 2"))));
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(context_.mutations_begun(), 0);
  EXPECT_GE(world_.Now() - begin, seconds(20));
  EXPECT_LE(world_.Now() - begin, seconds(21));
  EXPECT_THAT(context_.steps(),
              Contains(HasSubstr("waiting for another daemon")));
  second_.GiveBack(lease);
}

TEST_F(LeasedContextTest, TheWaitEndsWithTheCallerWhoIsToldWhy) {
  const auto lease = Take(second_);
  context_.SetDeadline(seconds(5));
  EXPECT_THAT(
      Run(first_, [](LeasedContext& leased) { return leased.BeginMutation(); }),
      AnyOf(StatusIs(absl::StatusCode::kCancelled),
            StatusIs(absl::StatusCode::kAborted)));
  EXPECT_THAT(context_.pending(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("process 2")));
  EXPECT_LE(context_.slept(), seconds(5));
  second_.GiveBack(lease);
}

TEST_F(LeasedContextTest, ItGoesOnWhenTheOtherDaemonHasEnded) {
  const auto lease = Take(second_);
  world_.Schedule(seconds(3), [&] { second_.GiveBack(lease); });
  EXPECT_OK(Run(first_,
                [](LeasedContext& leased) { return leased.BeginMutation(); }));
  EXPECT_EQ(runs_, 2);
  EXPECT_OK(context_.pending());
}

TEST_F(LeasedContextTest, WhoWaitsBeforeTheFirstChangeGivesItBack) {
  bool waited = false;
  EXPECT_OK(Run(first_, [&](LeasedContext& leased) -> absl::Status {
    const bool free = !ObjectExists();
    if (runs_ == 2 && !waited) {
      EXPECT_FALSE(free);
      for (int i = 0; i < 30; ++i) EXPECT_OK(leased.SleepFor(seconds(1)));
      EXPECT_FALSE(ObjectExists());
      waited = true;
    }
    return leased.BeginMutation();
  }));
  EXPECT_TRUE(waited);
  EXPECT_EQ(runs_, 3);
}

// Otherwise it would be run again for ever.
TEST_F(LeasedContextTest, AVerbWhoseWaitBeginsAnewEachTimeComesToItsEnd) {
  context_.SetDeadline(std::chrono::hours(1));
  EXPECT_OK(Run(first_, [&](LeasedContext& leased) -> absl::Status {
    for (int i = 0; i < 60; ++i) EXPECT_OK(leased.SleepFor(seconds(1)));
    return leased.BeginMutation();
  }));
  EXPECT_LE(runs_, 6);
}

TEST_F(LeasedContextTest, OneThatIsLostInTheMiddleEndsTheVerb) {
  EXPECT_THAT(Run(first_,
                  [&](LeasedContext& leased) -> absl::Status {
                    const absl::Status begun = leased.BeginMutation();
                    if (!begun.ok()) return begun;
                    world_.Advance(seconds(60));
                    return leased.BeginMutation();
                  }),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("repeat")));
  EXPECT_EQ(runs_, 2);
}

TEST_F(LeasedContextTest, OneThatIsLostBeforeTheFirstChangeIsTakenAgain) {
  context_.SetDeadline(std::chrono::hours(1));
  EXPECT_OK(Run(first_, [&](LeasedContext& leased) -> absl::Status {
    if (runs_ == 2) world_.Advance(seconds(60));
    return leased.BeginMutation();
  }));
  EXPECT_EQ(runs_, 3);
}

TEST_F(LeasedContextTest, AProcessThatDiesLeavesItBehind) {
  EXPECT_THROW(Run(first_,
                   [&](LeasedContext& leased) -> absl::Status {
                     if (leased.BeginMutation().ok()) throw FakeCrash();
                     return absl::OkStatus();
                   })
                   .IgnoreError(),
               FakeCrash);
  EXPECT_TRUE(ObjectExists());
  HolderSeenBy(second_);
  // The restarted daemon.
  LeaseKeeper successor(world_, OptionsOf(1));
  const auto lease = Take(successor);
  ASSERT_NE(lease, nullptr);
  successor.GiveBack(lease);
}

/// As on a table: a verb that waits is run again.
class WithoutWorkerTest : public LeasedContextTest {
 protected:
  WithoutWorkerTest() { context_.RunAgainInsteadOfWaiting(); }

  absl::Status RunToTheEnd(const Verb& verb) {
    absl::Status status = Run(first_, verb);
    while (RunsAgain(status)) {
      status = context_.Rest();
      if (status.ok()) status = Run(first_, verb);
    }
    return status;
  }
};

TEST_F(WithoutWorkerTest, TheLeaseOfAnotherDaemonIsAwaitedWithoutALook) {
  const auto lease = Take(second_);
  const Verb verb = [](LeasedContext& leased) {
    return leased.BeginMutation();
  };
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(RunsAgain(Run(first_, verb)));
    EXPECT_OK(context_.Rest());
  }
  EXPECT_EQ(runs_, 1);
  EXPECT_THAT(context_.pending(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("process 2")));
  second_.GiveBack(lease);
  EXPECT_OK(Run(first_, [](LeasedContext& leased) {
    EXPECT_FALSE(leased.mutating());
    return leased.BeginMutation();
  }));
  EXPECT_EQ(runs_, 2);
  EXPECT_OK(context_.pending());
  EXPECT_FALSE(ObjectExists());
}

TEST_F(WithoutWorkerTest, TheWaitIsBounded) {
  const auto lease = Take(second_);
  context_.SetDeadline(std::chrono::hours(1));
  world_.Schedule(seconds(10), [&] { second_.RenewDue(); });
  EXPECT_THAT(
      RunToTheEnd([](LeasedContext& leased) { return leased.BeginMutation(); }),
      StatusIs(absl::StatusCode::kAborted, HasSubstr("process 2")));
  EXPECT_LE(context_.slept(), seconds(21));
  EXPECT_EQ(runs_, 2);
  second_.GiveBack(lease);
}

// A job that tidies up does not change the answer of its verb.
TEST_F(WithoutWorkerTest, WhoCanDoWithoutGetsItsAnswerAfterTheWait) {
  const auto lease = Take(second_);
  context_.SetDeadline(std::chrono::hours(1));
  world_.Schedule(seconds(10), [&] { second_.RenewDue(); });
  EXPECT_OK(RunToTheEnd([](LeasedContext& leased) {
    leased.BeginMutation().IgnoreError();
    return absl::OkStatus();
  }));
  EXPECT_EQ(context_.mutations_begun(), 0);
  second_.GiveBack(lease);
}

TEST_F(WithoutWorkerTest, WhoIsToBeRunAgainChangesNothingBefore) {
  int looks = 0;
  EXPECT_OK(RunToTheEnd([&](LeasedContext& leased) -> absl::Status {
    if (++looks > 1) return absl::OkStatus();
    EXPECT_TRUE(RunsAgain(leased.LookAgainAfter(seconds(1))));
    EXPECT_TRUE(RunsAgain(leased.BeginMutation()));
    EXPECT_TRUE(SaysLookAgain(leased.BeginMutation()));
    EXPECT_TRUE(RunsAgain(leased.SleepFor(seconds(1))));
    EXPECT_TRUE(RunsAgain(leased.Take()));
    leased.TakeIfFree();
    EXPECT_TRUE(RunsAgain(leased.LookAgainAfter(minutes(1))));
    EXPECT_FALSE(ObjectExists());
    return absl::UnknownError("swallowed");
  }));
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(context_.mutations_begun(), 0);
  // It rests as long as it said first.
  EXPECT_LE(context_.rested(), seconds(1));
}

TEST_F(WithoutWorkerTest, WhoOnlyLooksIsRunAgainAllTheSame) {
  context_.OnlyLook();
  bool waited = false;
  EXPECT_THAT(RunToTheEnd([&](LeasedContext& leased) -> absl::Status {
                if (!std::exchange(waited, true)) {
                  EXPECT_TRUE(RunsAgain(leased.LookAgainAfter(seconds(1))));
                  EXPECT_TRUE(RunsAgain(leased.BeginMutation()));
                }
                return leased.BeginMutation();
              }),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(runs_, 2);
}

// It may have changed its mind.
TEST_F(WithoutWorkerTest, AnotherThingIsAwaitedAnew) {
  context_.SetDeadline(std::chrono::hours(1));
  LeaseTarget other = Target();
  other.object = "rbd_addons.lease.u2";
  const auto lease = Take(second_);
  const auto others = second_.TryTake(other, "demote");
  ASSERT_OK(others);
  EXPECT_TRUE(RunsAgain(Run(
      first_, [](LeasedContext& leased) { return leased.BeginMutation(); })));
  world_.Advance(seconds(25));
  EXPECT_TRUE(RunsAgain(Run(first_, [&](LeasedContext& leased) {
    leased.Aim(other);
    return leased.BeginMutation();
  })));
  EXPECT_EQ(runs_, 2);
  second_.GiveBack(lease);
  second_.GiveBack(others->lease);
}

TEST_F(WithoutWorkerTest, AConnectionThatWasReplacedIsNotKeptForAWait) {
  const auto lease = Take(second_);
  std::shared_ptr<Cluster> connection =
      FakeClusterProvider(world_).Get(pair_.a());
  const std::weak_ptr<Cluster> seen = connection;
  EXPECT_TRUE(RunsAgain(Run(first_, [&](LeasedContext& leased) {
    LeaseTarget target = Target();
    target.place.cluster = connection;
    leased.Aim(target);
    return leased.BeginMutation();
  })));
  connection.reset();
  EXPECT_TRUE(seen.expired());
  // It looks on the new one.
  EXPECT_TRUE(RunsAgain(Run(
      first_, [](LeasedContext& leased) { return leased.BeginMutation(); })));
  EXPECT_EQ(runs_, 2);
  second_.GiveBack(lease);
}

TEST_F(WithoutWorkerTest, AWaitAfterOneThatCameToItsEndIsAsLong) {
  context_.SetDeadline(std::chrono::hours(1));
  const auto lease = Take(second_);
  EXPECT_TRUE(RunsAgain(Run(
      first_, [](LeasedContext& leased) { return leased.BeginMutation(); })));
  second_.GiveBack(lease);
  std::shared_ptr<LeaseKeeper::Held> next;
  EXPECT_TRUE(RunsAgain(Run(first_, [&](LeasedContext& leased) {
    leased.GiveBack();
    world_.Advance(seconds(25));
    next = Take(second_);
    return leased.Take();
  })));
  second_.GiveBack(next);
}

TEST_F(WithoutWorkerTest, AVerbThatIsAboutToChangeGivesItBackAfterAWhile) {
  context_.SetDeadline(std::chrono::hours(1));
  bool gave_way = false;
  EXPECT_OK(RunToTheEnd([&](LeasedContext& leased) -> absl::Status {
    if (runs_ == 2) {
      absl::Status waits = absl::OkStatus();
      for (int i = 0; i < 60 && waits.ok(); ++i) {
        waits = leased.LookAgainAfter(seconds(1));
        EXPECT_EQ(ObjectExists(), waits.ok());
      }
      gave_way = RunsAgain(waits);
      return waits;
    }
    return leased.BeginMutation();
  }));
  EXPECT_TRUE(gave_way);
}

TEST_F(WithoutWorkerTest, WhoGaveItBackWaitsWithoutAWorker) {
  EXPECT_OK(RunToTheEnd([&](LeasedContext& leased) -> absl::Status {
    if (runs_ != 2) return leased.BeginMutation();
    leased.GiveBack();
    const absl::Status waits = leased.LookAgainAfter(seconds(1));
    EXPECT_TRUE(RunsAgain(waits));
    return waits;
  }));
}

TEST_F(WithoutWorkerTest, WhoHasBegunToChangeKeepsItHoweverLongItWaits) {
  context_.SetDeadline(std::chrono::hours(1));
  EXPECT_OK(RunToTheEnd([&](LeasedContext& leased) -> absl::Status {
    if (absl::Status begun = leased.BeginMutation(); !begun.ok()) return begun;
    for (int i = 0; i < 60; ++i) EXPECT_OK(leased.LookAgainAfter(seconds(1)));
    HolderSeenBy(second_);
    return leased.BeginMutation();
  }));
  EXPECT_EQ(runs_, 2);
}

TEST_F(WithoutWorkerTest, ALeaseThatWasTakenToLookIsNotKeptWhileWaiting) {
  EXPECT_OK(RunToTheEnd([&](LeasedContext& leased) -> absl::Status {
    if (absl::Status taken = leased.Take(); !taken.ok()) return taken;
    EXPECT_TRUE(ObjectExists());
    if (runs_ == 2) return absl::OkStatus();
    const absl::Status waits = leased.LookAgainAfter(seconds(1));
    EXPECT_FALSE(ObjectExists());
    return waits;
  }));
  EXPECT_EQ(runs_, 2);
}

// One that was refused is about to change something: it waits with the lease.
TEST_F(WithoutWorkerTest, AMomentBeforeTheFirstChangeIsWaitedInPlace) {
  bool waited = false;
  EXPECT_OK(RunToTheEnd([&](LeasedContext& leased) -> absl::Status {
    if (runs_ == 2) {
      EXPECT_OK(leased.LookAgainAfter(seconds(1)));
      EXPECT_TRUE(ObjectExists());
      waited = true;
    }
    return leased.BeginMutation();
  }));
  EXPECT_TRUE(waited);
  EXPECT_EQ(runs_, 2);
}

TEST_F(LeasedContextTest, WhatIsElsewhereIsAnotherThing) {
  const std::vector<std::pair<std::string, std::function<void(ResolvedPlace&)>>>
      moves = {
          {"cluster",
           [](ResolvedPlace& place) { place.cluster_id = ClusterId("b"); }},
          {"pool", [](ResolvedPlace& place) { ++place.pool_id; }},
          {"namespace",
           [](ResolvedPlace& place) { place.rados_namespace = "tenant1"; }},
          {"connection", [this](ResolvedPlace& place) {
             place.cluster = FakeClusterProvider(world_).Get(pair_.a());
           }}};
  for (const auto& [what, move] : moves) {
    LeasedContext leased(context_, first_, "create");
    leased.Aim(Target());
    ASSERT_OK(leased.Take());
    leased.Aim(Target());
    EXPECT_TRUE(ObjectExists()) << what;
    LeaseTarget other = Target();
    move(other.place);
    leased.Aim(other);
    EXPECT_FALSE(ObjectExists()) << what;
  }
}

TEST_F(LeasedContextTest, AnotherThingHasAnotherLease) {
  LeasedContext leased(context_, first_, "create");
  leased.Aim(Target());
  ASSERT_OK(leased.Take());
  LeaseTarget other = Target();
  other.object = "rbd_addons.lease.u2";
  leased.Aim(other);
  EXPECT_FALSE(ObjectExists());
  ASSERT_OK(leased.Take());
  EXPECT_TRUE(
      pair_.a().HasOmap(MirroredPair::kPool, "", "rbd_addons.lease.u2"));
  leased.GiveBack();
}

}  // namespace
}  // namespace addons::testing
