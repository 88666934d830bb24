// The daemon dies at any command of a fence: at no moment is the range open,
// and the next fence, or unfence, leaves what it would have left.

#include <atomic>
#include <chrono>
#include <string>

#include "ceph/blocklist.h"
#include "networkfence/auto_unfence.h"
#include "networkfence/fence_view.h"
#include "tests/unit/networkfence/fence_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ExtensionCrashTest : public FenceFixture {
 protected:
  struct Case {
    std::string range;
    std::string key;
    std::string first;  // an address at each end
    std::string last;
  };
  static constexpr std::size_t kCases = 4;
  static const Case& At(std::size_t i) {
    static const Case cases[kCases] = {
        {"192.168.1.0/24", "range 192.168.1.0:0/24", "192.168.1.0",
         "192.168.1.255"},
        {"192.168.1.6/31", "range 192.168.1.6:0/31", "192.168.1.6",
         "192.168.1.7"},
        {"192.168.1.1", "range 192.168.1.1:0/32", "192.168.1.1", "192.168.1.1"},
        {"fd99::/64", "range [fd99::]:0/64",
         "fd99::", "fd99::ffff:ffff:ffff:ffff"}};
    return cases[i];
  }

  bool Blocked(const std::string& address) const {
    const auto ip = *IpAddress::Parse(address);
    for (const auto& [key, until] : a_.Blocklist()) {
      const bool range = absl::StartsWith(key, "range ");
      const std::string json =
          range ? R"([][{"until":"","range":")" + key.substr(6) + "\"}]"
                : R"([{"until":"","addr":")" + key + "\"}][]";
      const auto list = Blocklist::Parse(json);
      if (!list.ok() || list->entries.empty()) continue;
      const BlocklistEntry& entry = list->entries.front();
      if (entry.kind != BlocklistEntry::Kind::kClient &&
          entry.Range().Contains(ip)) {
        return true;
      }
    }
    return false;
  }

  enum class When { kBefore, kAfter };
  /// Dies at the n-th change of the blocklist, and checks after each one that
  /// the range is covered. True: it died.
  bool DieAt(int n, When when, const Case& tested,
             const std::function<absl::Status()>& verb) {
    std::atomic<int> changes{0};
    const auto die = [&](absl::string_view, absl::string_view call,
                         bool mutation) {
      if (call != "rados_mon_command" || !mutation) return 0;
      if (++changes == n) throw FakeCrash();
      return 0;
    };
    const auto look = [&, this](absl::string_view, absl::string_view,
                                bool mutation) {
      if (mutation && covered_) {
        EXPECT_TRUE(Blocked(tested.first)) << tested.range << " change " << n;
        EXPECT_TRUE(Blocked(tested.last)) << tested.range << " change " << n;
      }
      return 0;
    };
    if (when == When::kBefore) {
      world_.SetCallHook(die, look);
    } else {
      world_.SetCallHook(nullptr, [=](absl::string_view site,
                                      absl::string_view call, bool mutation) {
        look(site, call, mutation);
        return die(site, call, mutation);
      });
    }
    bool died = false;
    try {
      EXPECT_OK(verb());
    } catch (const FakeCrash&) {
      died = true;
    }
    world_.SetCallHook(nullptr);
    return died;
  }

  void Clear() {
    EXPECT_OK(Unfence(
        {"192.168.1.0/24", "192.168.1.6/31", "192.168.1.1", "fd99::/64"},
        {{"removeContained", "true"}, {"removeClientEntries", "true"}}));
    ASSERT_THAT(Keys(), IsEmpty());
  }

  bool covered_ = true;
};

TEST_F(ExtensionCrashTest, RangeIsNeverOpenAndTheRetryCleansUp) {
  for (std::size_t i = 0; i < kCases; ++i) {
    const Case& tested = At(i);
    for (const When when : {When::kBefore, When::kAfter}) {
      int n = 0;
      bool died = true;
      while (died) {
        ++n;
        a_.AddRangeBlocklistEntry(tested.key.substr(6), hours(1));
        died = DieAt(n, when, tested, [&] { return Fence({tested.range}); });
        EXPECT_TRUE(Blocked(tested.first) && Blocked(tested.last));
        EXPECT_OK(Fence({tested.range}));
        EXPECT_THAT(Keys(), ElementsAre(tested.key)) << "died at " << n;
        ExpectFiveYears(tested.key);
        Clear();
      }
      // At least: the range, marker, helper, removal, addition, and two
      // removals.
      EXPECT_GE(n, 7);
    }
  }
}

TEST_F(ExtensionCrashTest, DyingAgainAndAgainEndsTheSame) {
  for (std::size_t i = 0; i < kCases; ++i) {
    const Case& tested = At(i);
    a_.AddRangeBlocklistEntry(tested.key.substr(6), hours(1));
    // Each attempt gets two changes further than it is sure to need.
    int attempts = 0;
    while (DieAt(3 + attempts % 7, When::kAfter, tested,
                 [&] { return Fence({tested.range}); })) {
      ASSERT_LT(++attempts, 50);
    }
    EXPECT_THAT(Keys(), ElementsAre(tested.key));
    ExpectFiveYears(tested.key);
    Clear();
  }
}

TEST_F(ExtensionCrashTest, AnUnfenceAfterTheCrashLeavesNothing) {
  for (std::size_t i = 0; i < kCases; ++i) {
    const Case& tested = At(i);
    bool died = true;
    for (int n = 1; died; ++n) {
      a_.AddRangeBlocklistEntry(tested.key.substr(6), hours(1));
      died =
          DieAt(n, When::kAfter, tested, [&] { return Fence({tested.range}); });
      EXPECT_OK(Unfence({tested.range}));
      EXPECT_THAT(Keys(), IsEmpty()) << tested.range << " died at " << n;
    }
  }
}

TEST_F(ExtensionCrashTest, AnUnfenceThatDiesIsFinishedByTheRetry) {
  covered_ = false;
  for (std::size_t i = 0; i < kCases; ++i) {
    const Case& tested = At(i);
    bool died = true;
    for (int n = 1; died; ++n) {
      a_.AddRangeBlocklistEntry(tested.key.substr(6), hours(1));
      // Right after the old entry was removed: helpers and marker are there.
      DieAt(5, When::kAfter, tested, [&] { return Fence({tested.range}); });
      died = DieAt(n, When::kAfter, tested,
                   [&] { return Unfence({tested.range}); });
      EXPECT_OK(Unfence({tested.range}));
      EXPECT_THAT(Keys(), IsEmpty()) << tested.range << " died at " << n;
    }
  }
}

// The automatic fence covers while the entry beside it is replaced.
TEST_F(ExtensionCrashTest, TheEntryBesideAnAutomaticOneIsReplacedBehindIt) {
  const Case& tested = At(2);
  for (const When when : {When::kBefore, When::kAfter}) {
    int n = 0;
    bool died = true;
    while (died) {
      ++n;
      a_.AddRangeBlocklistEntry(tested.key.substr(6),
                                AutoUnfence::kAutomaticExpiry);
      a_.AddBlocklistEntry("192.168.1.1:0/0", hours(1));
      const auto fence = [&] {
        return Fence({tested.range}, {{"expirySeconds", "86400"}});
      };
      died = DieAt(n, when, tested, fence);
      EXPECT_OK(fence());
      EXPECT_THAT(Keys(), ElementsAre("192.168.1.1:0/0", tested.key))
          << "died at " << n;
      EXPECT_GT(Left("192.168.1.1:0/0"), hours(23)) << "died at " << n;
      Clear();
    }
    // At least: the range, the removal and the addition.
    EXPECT_GE(n, 3);
  }
}

TEST_F(ExtensionCrashTest, AHelperThatSomebodyFencesMeanwhileStays) {
  const Case& tested = At(0);
  a_.AddRangeBlocklistEntry("192.168.1.0:0/24", hours(1));
  ASSERT_TRUE(
      DieAt(5, When::kAfter, tested, [&] { return Fence({tested.range}); }));
  EXPECT_OK(Fence({"192.168.1.128/25"}));
  EXPECT_OK(Fence({"192.168.1.0/24"}));
  EXPECT_THAT(Keys(), ElementsAre("range 192.168.1.0:0/24",
                                  "range 192.168.1.128:0/25"));
  EXPECT_OK(Unfence({"192.168.1.0/24"}));
  EXPECT_THAT(Keys(), ElementsAre("range 192.168.1.128:0/25"));
}

TEST_F(ExtensionCrashTest, AHelperIsNotUnfencedWhileItIsAllThatCovers) {
  const Case& tested = At(0);
  a_.AddRangeBlocklistEntry("192.168.1.0:0/24", hours(1));
  // Marker, two helpers, then the removal of the range itself.
  ASSERT_TRUE(
      DieAt(5, When::kAfter, tested, [&] { return Fence({tested.range}); }));
  ASSERT_EQ(Left(tested.key).count(), 0);
  EXPECT_EQ(Unfence({"192.168.1.0/25"}).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Blocked(tested.first));
}

TEST_F(ExtensionCrashTest, WhatItLeftIsNobodyElsesBusiness) {
  const Case& tested = At(0);
  a_.AddRangeBlocklistEntry("192.168.1.0:0/24", hours(1));
  ASSERT_TRUE(
      DieAt(5, When::kAfter, tested, [&] { return Fence({tested.range}); }));
  const Texts left = Keys();
  EXPECT_OK(Unfence({"192.168.9.9"}));
  // Around it: narrower ones stay.
  EXPECT_OK(Unfence({"192.168.0.0/16"}));
  EXPECT_EQ(Keys(), left);
  covered_ = false;
  EXPECT_OK(Unfence({"192.168.0.0/16"}, {{"removeContained", "true"}}));
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(ExtensionCrashTest, TwoDaemonsAtOnceLeaveOneEntry) {
  FenceDaemon other(world_, a_);
  a_.AddRangeBlocklistEntry("192.168.1.0:0/24", hours(1));
  // The second one does all of it just before the first removes the entry.
  std::atomic<bool> once{false};
  world_.SetCallHook(
      [&](absl::string_view, absl::string_view call, bool mutation) {
        if (call != "rados_mon_command" || !mutation) return 0;
        if (CountCommands("/25") == 2 && !once.exchange(true)) {
          EXPECT_OK(FenceWith(other, {"192.168.1.0/24"}));
        }
        return 0;
      });
  const absl::Status first = Fence({"192.168.1.0/24"});
  world_.SetCallHook(nullptr);
  EXPECT_TRUE(once);
  EXPECT_TRUE(Blocked("192.168.1.0") && Blocked("192.168.1.255"));
  EXPECT_OK(Fence({"192.168.1.0/24"}));
  EXPECT_THAT(Keys(), ElementsAre("range 192.168.1.0:0/24"));
  ExpectFiveYears("range 192.168.1.0:0/24");
}

}  // namespace
}  // namespace addons::testing
