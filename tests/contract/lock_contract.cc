// What Ceph says to locks with an end on objects of our own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ceph/pool.h"
#include "tests/contract/contract_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::IsEmpty;

ObjectLock LockOf(const std::string& object, const std::string& cookie) {
  return {object, "contract", cookie};
}

constexpr std::chrono::seconds kLongLock{60};
constexpr std::chrono::seconds kShortLock{2};

// To Ceph another cookie of the same client is like another client.
TEST_P(ContractTest, ALockIsExclusiveAndMakesItsObject) {
  const auto pool = OpenPool(kA, Access::kMutate);
  EXPECT_THAT(pool->ReadOmap("lock-taken", ""),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_TRUE(*pool->TakeObjectLock(LockOf("lock-taken", "mine"), kLongLock));
  EXPECT_OK(pool->ReadOmap("lock-taken", ""));
  EXPECT_FALSE(
      *pool->TakeObjectLock(LockOf("lock-taken", "theirs"), kLongLock));
  EXPECT_THAT(pool->TakeObjectLock(LockOf("lock-taken", "mine"), kLongLock),
              StatusIs(absl::StatusCode::kAlreadyExists));
}

TEST_P(ContractTest, ALockOfOneNameDoesNotStandInTheWayOfAnother) {
  const auto pool = OpenPool(kA, Access::kMutate);
  EXPECT_TRUE(*pool->TakeObjectLock({"lock-names", "one", "x"}, kLongLock));
  EXPECT_TRUE(*pool->TakeObjectLock({"lock-names", "two", "x"}, kLongLock));
}

TEST_P(ContractTest, ALockNamesItsOwnerWhateverStandsInTheCookie) {
  const auto pool = OpenPool(kA, Access::kMutate);
  const std::string cookie =
      absl::StrCat("v=1 host=a.b since=2026-01-01T00:00:00Z verb=promote ",
                   std::string(300, 'x'));
  ASSERT_TRUE(*pool->TakeObjectLock(LockOf("lock-owner", cookie), kLongLock));
  const auto reads = OpenPool(kA, Access::kRead);
  const auto lockers = reads->ObjectLockers(LockOf("lock-owner", ""));
  ASSERT_OK(lockers);
  ASSERT_EQ(lockers->size(), 1U);
  EXPECT_EQ(lockers->front().cookie, cookie);
  // The client is the one that the watchers of an image name.
  const auto own = bed().ClusterFor(kA).OwnClientIds();
  std::vector<std::string> names;
  for (const uint64_t id : own) names.push_back(absl::StrCat("client.", id));
  EXPECT_THAT(names, ::testing::Contains(lockers->front().client));
  EXPECT_TRUE(absl::StartsWith(lockers->front().address, "v1:") ||
              absl::StartsWith(lockers->front().address, "v2:"))
      << lockers->front().address;
}

TEST_P(ContractTest, NobodyHasALockThatIsNotThere) {
  const auto pool = OpenPool(kA, Access::kMutate);
  const auto absent = pool->ObjectLockers(LockOf("lock-nowhere", ""));
  ASSERT_OK(absent);
  EXPECT_THAT(*absent, IsEmpty());
  ASSERT_OK(pool->CreateObject("lock-free"));
  const auto free = pool->ObjectLockers(LockOf("lock-free", ""));
  ASSERT_OK(free);
  EXPECT_THAT(*free, IsEmpty());
  EXPECT_FALSE(
      *pool->RenewObjectLock(LockOf("lock-nowhere", "mine"), kLongLock));
}

TEST_P(ContractTest, ALockEndsByItselfAndIsThenAnybodys) {
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_TRUE(*pool->TakeObjectLock(LockOf("lock-ends", "mine"), kShortLock));
  ASSERT_FALSE(
      *pool->TakeObjectLock(LockOf("lock-ends", "theirs"), kShortLock));
  EXPECT_TRUE(bed().WaitFor(
      [&] {
        return pool->TakeObjectLock(LockOf("lock-ends", "theirs"), kLongLock)
            .value_or(false);
      },
      std::chrono::seconds(10)));
  EXPECT_FALSE(*pool->RenewObjectLock(LockOf("lock-ends", "mine"), kLongLock));
  EXPECT_FALSE(*pool->RemoveLockedObject(LockOf("lock-ends", "mine")));
  EXPECT_TRUE(*pool->RenewObjectLock(LockOf("lock-ends", "theirs"), kLongLock));
}

// MAY_RENEW would silently take it anew.
TEST_P(ContractTest, ALockThatEndedIsNotRenewedAlsoWhenNobodyTookIt) {
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_TRUE(*pool->TakeObjectLock(LockOf("lock-over", "mine"), kShortLock));
  EXPECT_TRUE(bed().WaitFor(
      [&] {
        const auto lockers = pool->ObjectLockers(LockOf("lock-over", ""));
        return lockers.ok() && lockers->empty();
      },
      std::chrono::seconds(10)));
  EXPECT_FALSE(*pool->RenewObjectLock(LockOf("lock-over", "mine"), kLongLock));
  EXPECT_THAT(*pool->ObjectLockers(LockOf("lock-over", "")), IsEmpty());
}

TEST_P(ContractTest, TheObjectOfALockThatEndedGoesWhenItIsTakenAgain) {
  const auto pool = OpenPool(kA, Access::kMutate);
  const ObjectLock mine = LockOf("lock-left", "mine");
  ASSERT_TRUE(*pool->TakeObjectLock(mine, kShortLock));
  EXPECT_THAT(pool->TakeObjectLock(mine, kLongLock).status(),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_TRUE(bed().WaitFor(
      [&] {
        const auto lockers = pool->ObjectLockers(mine);
        return lockers.ok() && lockers->empty();
      },
      std::chrono::seconds(10)));
  EXPECT_FALSE(*pool->RemoveLockedObject(mine));
  EXPECT_OK(pool->ReadOmap("lock-left", "")) << "nobody removes it";
  ASSERT_TRUE(*pool->TakeObjectLock(mine, kLongLock));
  EXPECT_TRUE(*pool->RemoveLockedObject(mine));
  EXPECT_THAT(pool->ReadOmap("lock-left", ""),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(ContractTest, ALockThatIsRenewedLastsLonger) {
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_TRUE(*pool->TakeObjectLock(LockOf("lock-renewed", "mine"),
                                    std::chrono::seconds(4)));
  EXPECT_TRUE(
      *pool->RenewObjectLock(LockOf("lock-renewed", "mine"), kLongLock));
  EXPECT_FALSE(bed().WaitFor(
      [&] {
        const auto lockers = pool->ObjectLockers(LockOf("lock-renewed", ""));
        return lockers.ok() && lockers->empty();
      },
      std::chrono::seconds(6)));
}

TEST_P(ContractTest, ALockIsBrokenForTheOneWhoHasItAndNobodyElse) {
  const auto pool = OpenPool(kA, Access::kMutate);
  const ObjectLock mine = LockOf("lock-broken", "mine");
  ASSERT_TRUE(*pool->TakeObjectLock(mine, kLongLock));
  const Locker locker = pool->ObjectLockers(mine)->at(0);
  EXPECT_OK(pool->BreakObjectLock(mine, {locker.client, "another cookie", ""}));
  EXPECT_OK(pool->BreakObjectLock(mine, {"client.1", locker.cookie, ""}));
  EXPECT_TRUE(*pool->RenewObjectLock(mine, kLongLock));
  EXPECT_OK(pool->BreakObjectLock(mine, locker));
  EXPECT_THAT(*pool->ObjectLockers(mine), IsEmpty());
  EXPECT_OK(pool->BreakObjectLock(mine, locker));
  EXPECT_FALSE(*pool->RenewObjectLock(mine, kLongLock));
  EXPECT_TRUE(
      *pool->TakeObjectLock(LockOf("lock-broken", "theirs"), kLongLock));
  EXPECT_OK(pool->BreakObjectLock(LockOf("lock-absent", "mine"), locker));
}

TEST_P(ContractTest, AnObjectGoesWithTheLockOfItsOwnerOnly) {
  const auto pool = OpenPool(kA, Access::kMutate);
  const ObjectLock mine = LockOf("lock-removed", "mine");
  EXPECT_FALSE(*pool->RemoveLockedObject(mine));
  ASSERT_TRUE(*pool->TakeObjectLock(mine, kLongLock));
  EXPECT_FALSE(*pool->RemoveLockedObject(LockOf("lock-removed", "theirs")));
  EXPECT_OK(pool->ReadOmap("lock-removed", ""));
  EXPECT_TRUE(*pool->RemoveLockedObject(mine));
  EXPECT_THAT(pool->ReadOmap("lock-removed", ""),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_FALSE(*pool->RemoveLockedObject(mine));
  EXPECT_TRUE(
      *pool->TakeObjectLock(LockOf("lock-removed", "theirs"), kLongLock));
}

}  // namespace
}  // namespace addons
