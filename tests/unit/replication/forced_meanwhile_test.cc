// Time passes in the middle of a forced promotion, as when the daemon or its
// node stands still, and rbd-mirror copies meanwhile: the image holds the
// newest state that was whole here, never a mixture, never an older one.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <tuple>

#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "replication/look/rescue_record.h"
#include "replication/steps/ceph_faults/eviction.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

using Kind = MirrorSnapshotKind;

/// What is on b when the promotion begins, of the states 1, 2, 3 ... of a.
enum class Begin { kInStep, kMidCopy };
/// What becomes of that meanwhile.
enum class Meanwhile { kBegins, kCompletes, kNextBegins };

struct Case {
  Begin begin;
  Meanwhile meanwhile;
  Kind last;        // the kind of the copy that begins last
  uint64_t wanted;  // the newest state that was whole when it goes on
  const char* name;
};

constexpr Case kCases[] = {
    {Begin::kInStep, Meanwhile::kBegins, Kind::kNonPrimary, 1,
     "WholeCopyBegins"},
    {Begin::kInStep, Meanwhile::kBegins, Kind::kNonPrimaryDemoted, 1,
     "WholeDemotionBegins"},
    {Begin::kInStep, Meanwhile::kCompletes, Kind::kNonPrimary, 2,
     "WholeCopyCompletes"},
    {Begin::kInStep, Meanwhile::kNextBegins, Kind::kNonPrimary, 2,
     "WholeSecondCopyBegins"},
    {Begin::kInStep, Meanwhile::kNextBegins, Kind::kNonPrimaryDemoted, 2,
     "WholeSecondDemotionBegins"},
    {Begin::kMidCopy, Meanwhile::kCompletes, Kind::kNonPrimary, 2,
     "MidCopyCompletes"},
    {Begin::kMidCopy, Meanwhile::kNextBegins, Kind::kNonPrimary, 2,
     "MidCopyNextCopyBegins"},
    {Begin::kMidCopy, Meanwhile::kNextBegins, Kind::kNonPrimaryDemoted, 2,
     "MidCopyNextDemotionBegins"},
};

/// The n-th such call of the promotion takes 50 s.
struct Where {
  const char* call;
  int nth;
  const char* name;
};

constexpr Where kWhere[] = {
    {"rbd_open", 1, "AtTheHandle"},
    {"rbd_list_lockers", 1, "InTheEviction"},
    {"rbd_list_lockers", 3, "InTheLastLook"},
    {"rbd_mirror_image_promote", 1, "AtThePromotion"},
};

class ForcedMeanwhileTest : public VerbsTest {
 protected:
  ForcedMeanwhileTest() { AddMirrored(kSmallImage); }

  void SetUp() override {
    // What it has noted of a copy, it has also copied.
    ASSERT_OK(a_.Write(image_, 1));
    a_.CreateMirrorSnapshot(image_);
    ASSERT_TRUE(world_.AdvanceUntil(
        [&] { return b_.Data(image_) == 1 && Newest(b_).complete; },
        minutes(2)));
    world_.Advance(seconds(40));
  }

  /// a has its next state, and b copies that until `half` or the end.
  void Copy(uint64_t value, Kind kind, bool half) {
    b_.SetCopySpeed(4);
    ASSERT_OK(a_.Write(image_, value));
    if (kind == Kind::kNonPrimaryDemoted) {
      a_.Demote(image_);
    } else {
      a_.CreateMirrorSnapshot(image_);
    }
    const uint64_t before = Newest(b_).id;
    ASSERT_TRUE(world_.AdvanceUntil(
        [&] {
          const MirrorSnapshot newest = Newest(b_);
          return newest.id != before &&
                 (half ? newest.last_copied_object >= 8 : newest.complete);
        },
        minutes(1)));
    ASSERT_EQ(Newest(b_).complete, !half);
    ASSERT_EQ(Newest(b_).kind, kind);
    // It gets no further before the promotion goes on.
    if (half) b_.SetCopySpeed(0.001);
  }

  /// It was sent away, and goes on sooner than it would.
  void ComesBack() {
    if (on_b_.environment().evictions.count() == 0) return;
    b_.ReconnectMirrorDaemon();
    a_.ReconnectMirrorDaemon();
  }

  void Happens(const Case& tested) {
    ComesBack();
    switch (tested.meanwhile) {
      case Meanwhile::kBegins:
        Copy(2, tested.last, /*half=*/true);
        break;
      case Meanwhile::kCompletes:
      case Meanwhile::kNextBegins:
        if (tested.begin == Begin::kMidCopy) {
          b_.SetCopySpeed(16);
          ASSERT_TRUE(world_.AdvanceUntil([&] { return Newest(b_).complete; },
                                          minutes(1)));
        } else {
          Copy(2, Kind::kNonPrimary, /*half=*/false);
        }
        if (tested.meanwhile == Meanwhile::kNextBegins) {
          Copy(3, tested.last, /*half=*/true);
        }
        break;
    }
  }

  /// Until the operator has its answer.
  absl::Status PromoteByForce() {
    absl::Status answer = Promote(on_b_, Force::kYes);
    for (int again = 0; again < 5 && absl::IsUnavailable(answer); ++again) {
      world_.Advance(seconds(1));
      answer = Promote(on_b_, Force::kYes);
    }
    return answer;
  }

  void ExpectWhole(uint64_t wanted) {
    EXPECT_TRUE(b_.Info(image_).primary);
    EXPECT_FALSE(b_.Torn(image_));
    EXPECT_EQ(b_.Data(image_), wanted);
    EXPECT_TRUE(Newest(b_).complete);
    EXPECT_EQ(b_.SnapshotData(image_, Newest(b_).id), wanted);
    for (const MirrorSnapshot& snapshot : b_.Snapshots(image_)) {
      EXPECT_TRUE(snapshot.complete || !snapshot.copied()) << snapshot.id;
    }
    EXPECT_FALSE(b_.HasImage(RescueImageName(ImageName(image_)).text()));
  }
  void Before(const std::string& call, int nth,
              const std::function<void()>& action) {
    const auto left = std::make_shared<std::atomic<int>>(nth);
    world_.SetCallHook([this, call, left, action](absl::string_view site,
                                                  absl::string_view made,
                                                  bool) {
      if (site == "b" && made == call && --*left == 0) action();
      return 0;
    });
  }
};

class TimePassesTest
    : public ForcedMeanwhileTest,
      public ::testing::WithParamInterface<std::tuple<Case, Where>> {};

TEST_P(TimePassesTest, AndTheNewestWholeStateIsThere) {
  const auto& [tested, where] = GetParam();
  if (tested.begin == Begin::kMidCopy) {
    ASSERT_NO_FATAL_FAILURE(
        StopMidCopy(Kind::kNonPrimary, DaemonState::kRunning));
    b_.SetCopySpeed(0.001);
  }
  bool happened = false;
  Before(where.call, where.nth, [&, tested = tested] {
    happened = true;
    const SteadyTime begin = world_.Now();
    Happens(tested);
    world_.Advance(std::max<SteadyDuration>(
        SteadyDuration::zero(), begin + seconds(50) - world_.Now()));
  });
  EXPECT_OK(PromoteByForce());
  ASSERT_TRUE(happened);
  ExpectWhole(tested.wanted);
}

INSTANTIATE_TEST_SUITE_P(Cases, TimePassesTest,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::ValuesIn(kWhere)),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param).name) +
                                  std::get<1>(tested.param).name;
                         });

/// Too quick for the last look: the copy of a demotion begins within the moment
/// that is left, and librbd takes half a demotion as it is.
class TooQuickTest : public ForcedMeanwhileTest {
 protected:
  /// `objects` of it arrive.
  void ADemotionBegins(double objects) {
    b_.ReconnectMirrorDaemon();
    b_.SetCopySpeed(2 * objects);
    ASSERT_OK(a_.Write(image_, 3));
    a_.Demote(image_);
    world_.Advance(milliseconds(500));
    ASSERT_EQ(Newest(b_).kind, Kind::kNonPrimaryDemoted);
    ASSERT_FALSE(Newest(b_).complete);
    ASSERT_TRUE(b_.Torn(image_));
    b_.SetMirrorDaemon(DaemonState::kDown);
  }
  /// The daemon dies right after the promotion.
  void DieWithHalfADemotion() {
    const auto is_it = [](absl::string_view made) {
      return made == "rbd_mirror_image_promote";
    };
    world_.SetCallHook(
        [this, is_it](absl::string_view, absl::string_view made, bool) {
          if (is_it(made)) ADemotionBegins(8);
          return 0;
        },
        [is_it](absl::string_view, absl::string_view made, bool) {
          if (is_it(made)) throw FakeCrash();
          return 0;
        });
    bool died = false;
    try {
      ADD_FAILURE() << Promote(on_b_, Force::kYes);
    } catch (const FakeCrash&) {
      died = true;
    }
    world_.SetCallHook(nullptr);
    ASSERT_TRUE(died);
    ASSERT_TRUE(b_.Info(image_).primary);
    ASSERT_TRUE(b_.Torn(image_));
    world_.Advance(minutes(1));  // the dead daemon's watch has expired
  }
};

TEST_F(TooQuickTest, WhatWasWholeIsBroughtBack) {
  Before("rbd_mirror_image_promote", 1, [&] { ADemotionBegins(8); });
  EXPECT_OK(PromoteByForce());
  EXPECT_EQ(world_.CountCalls("b", "rbd_mirror_image_promote"), 1);
  EXPECT_THAT(steps_, ::testing::Contains("saving the last complete state"));
  ExpectWhole(1);
}

// What was saved is of a copy that was completed since.
TEST_F(TooQuickTest, WhatWasSavedOfTheCopyBeforeIsOver) {
  ASSERT_NO_FATAL_FAILURE(
      StopMidCopy(Kind::kNonPrimary, DaemonState::kRunning));
  b_.SetCopySpeed(0.001);
  const uint64_t missing = 32 - Newest(b_).last_copied_object;
  Before("rbd_mirror_image_promote", 1,
         [&] { ADemotionBegins(static_cast<double>(missing) + 4); });
  EXPECT_OK(PromoteByForce());
  EXPECT_EQ(world_.CountCalls("b", "rbd_mirror_image_promote"), 1);
  ExpectWhole(2);
}

TEST_F(TooQuickTest, TheNextDaemonBringsItBack) {
  ASSERT_NO_FATAL_FAILURE(DieWithHalfADemotion());
  EXPECT_OK(Promote(on_b_));
  ExpectWhole(1);
}

TEST_F(TooQuickTest, AndTheOneAfterThat) {
  ASSERT_NO_FATAL_FAILURE(DieWithHalfADemotion());
  for (const char* const call :
       {"rbd_create4", "rbd_metadata_set", "rbd_aio_write",
        "rbd_snap_remove_by_id", "rbd_mirror_image_create_snapshot2"}) {
    Before(call, 1, [] { throw FakeCrash(); });
    EXPECT_THROW(Promote(on_b_).IgnoreError(), FakeCrash) << call;
    world_.SetCallHook(nullptr);
    world_.Advance(minutes(1));
  }
  EXPECT_OK(Promote(on_b_));
  ExpectWhole(1);
}

TEST_F(TooQuickTest, WhatWasWrittenSinceIsNotOverwritten) {
  ASSERT_NO_FATAL_FAILURE(DieWithHalfADemotion());
  ASSERT_OK(b_.Write(image_, 77));
  EXPECT_THAT(PromoteByForce(),
              StatusIs(kUnavailable, ::testing::HasSubstr("written to since")));
  EXPECT_EQ(b_.Data(image_), 77U);
}

// Half a demotion of long ago is no reason to go back.
TEST_F(TooQuickTest, APrimaryThatHasGoneOnStaysAsItIs) {
  ASSERT_NO_FATAL_FAILURE(DieWithHalfADemotion());
  ASSERT_OK(b_.Write(image_, 77));
  b_.CreateMirrorSnapshot(image_);
  EXPECT_OK(Promote(on_b_));
  ExpectWhole(77);
}

// Nobody is there any more who could have brought it.
TEST_F(ForcedMeanwhileTest, ASnapshotThatCameSinceTheLookIsLookedAtFirst) {
  Before("rbd_open", 1, [&] { b_.AddCopiedSnapshot(image_); });
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_EQ(world_.CountCalls("b", "rbd_open"), 2);
  EXPECT_EQ(world_.CountCalls("b", "rbd_mirror_image_promote"), 1);
  ExpectWhole(1);
}

// While librbd promotes, time is real.
TEST_F(ForcedMeanwhileTest, WhoComesBackWhileLibrbdPromotesIsSentAwayAtOnce) {
  on_b_.options().eviction_round = milliseconds(5);
  size_t rounds = 0;
  Before("rbd_mirror_image_promote", 1, [&] {
    for (; rounds < 3; ++rounds) {
      b_.ReconnectMirrorDaemon();
      const uint64_t before = on_b_.environment().evictions.count();
      for (int i = 0; i < 2000; ++i) {
        if (on_b_.environment().evictions.count() > before) break;
        std::this_thread::sleep_for(milliseconds(5));
      }
      ASSERT_GT(on_b_.environment().evictions.count(), before);
    }
  });
  EXPECT_OK(PromoteByForce());
  EXPECT_EQ(rounds, 3U);
  ExpectWhole(1);
}

}  // namespace
}  // namespace addons::testing
