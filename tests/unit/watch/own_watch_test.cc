// The user of the daemon's own that finds what is mirrored, on simulated
// clusters.

#include "watch/own_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "operation/operation_table.h"
#include "replication/steps/mirror_schedule.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "watch/replication_watch.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kUuid[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";

/// A daemon of site b that nobody has called.
class OwnWatchTest : public ::testing::Test {
 protected:
  OwnWatchTest() {
    pair_.WriteConfig(dir_.path());
    pair_.AddMirroredVolume(a_, kUuid);
    world_.Advance(seconds(60));
    WriteUser(b_.user()->key.Reveal());
  }
  void TearDown() override { EXPECT_THAT(world_.Violations(), IsEmpty()); }

  void WriteUser(const std::string& key) {
    dir_.Write("user.json", absl::StrCat(R"({"userID":")", b_.user()->id,
                                         R"(","userKey":")", key, R"("})"));
  }
  void LookOnce() {
    watch_.StartLooks();
    const SteadyTime give_up = RealClock().Now() + seconds(30);
    while (watch_.looking() && RealClock().Now() < give_up) {
      RealClock().SleepFor(std::chrono::milliseconds(2), std::stop_token());
    }
  }
  const WatchedImage& Seen() {
    static const WatchedImage kNone;
    last_ = seen_();
    for (const WatchedPool& pool : last_->pools) {
      if (pool.rados_namespace.empty() && pool.images.size() == 1) {
        return pool.images[0];
      }
    }
    ADD_FAILURE() << last_->pools.size() << " pools";
    return kNone;
  }
  /// The pool and its namespace.
  static constexpr size_t kPlaces = 2;
  absl::Status SetSchedule(const std::string& interval) {
    const std::string mark =
        absl::StrCat(R"({"interval":")", interval, R"(","global_id":")",
                     a_.Info(image_).global_id, R"("})");
    a_.SetImageMetadata(image_, kScheduleMark, mark);
    a_.CreateMirrorSnapshot(image_);
    world_.Advance(seconds(90));
    return absl::OkStatus();
  }

  FakeWorld world_;
  MirroredPair pair_{world_};
  FakeSite& a_ = pair_.a();
  FakeSite& b_ = pair_.b();
  const TempDir dir_;
  ConfigStore config_{dir_.path()};
  FakeClusterProvider clusters_{world_};
  Resolver resolver_{config_, clusters_};
  ReplicationEnvironment environment_{resolver_, config_, world_, {}};
  OperationTable operations_{OperationLimits(), world_};
  WatchedClusters named_{world_};
  ReplicationWatch watch_{operations_, environment_, named_, clusters_,
                          std::chrono::milliseconds(0)};
  const ReplicationWatch::Source seen_ = watch_.snapshots();
  std::shared_ptr<const WatchSnapshot> last_;
  int found_ = 0;
  OwnWatch own_{
      environment_,
      clusters_,
      {absl::StrCat(dir_.path(), "/user.json"), {ClusterId(b_.cluster_id())}},
      [this] { ++found_; },
      std::chrono::milliseconds(0)};
  const std::string image_ = MirroredPair::ImageOf(kUuid);
};

TEST_F(OwnWatchTest, AStandbyThatNobodyCallsSeesItsCopies) {
  LookOnce();
  EXPECT_THAT(seen_()->pools, IsEmpty());
  own_.Round();
  EXPECT_EQ(found_, 1);
  world_.ClearCalls();
  LookOnce();
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_EQ(Seen().image_id, b_.ImageId(image_));
  EXPECT_EQ(Seen().role, WatchedRole::kSecondary);
  EXPECT_EQ(Seen().health, ReplicationHealth::kHealthy) << Seen().message;
  EXPECT_EQ(Seen().copy, CopyState::kInStep);
}

// Of the other site nothing is asked: its cluster is none of this daemon's.
TEST_F(OwnWatchTest, OnlyThisSiteIsLookedAt) {
  world_.ClearCalls();
  own_.Round();
  LookOnce();
  for (const CallRecord& call : world_.Calls()) {
    EXPECT_EQ(call.site, "b") << call.call;
  }
}

TEST_F(OwnWatchTest, NamesAndScheduleAreThoseThatTravelled) {
  a_.SetImageMetadata(image_, "csi.storage.k8s.io/pvc/namespace", "ns1");
  a_.SetImageMetadata(image_, "csi.storage.k8s.io/pvc/name", "data");
  a_.SetImageMetadata(image_, "csi.storage.k8s.io/pv/name", "pvc-7");
  ASSERT_OK(SetSchedule("5m"));
  own_.Round();
  LookOnce();
  EXPECT_EQ(Seen().claim, "ns1/data");
  EXPECT_EQ(Seen().volume_name, "pvc-7");
  EXPECT_EQ(Seen().interval_seconds, 300);
  EXPECT_EQ(Seen().copy, CopyState::kInStep);
}

TEST_F(OwnWatchTest, ACopyThatIsNotRenewedTurnsLateHere) {
  ASSERT_OK(SetSchedule("5m"));
  own_.Round();
  world_.Advance(minutes(12));
  LookOnce();
  EXPECT_EQ(Seen().copy, CopyState::kLate);
  EXPECT_EQ(Seen().health, ReplicationHealth::kDegraded);
  EXPECT_THAT(Seen().message, HasSubstr("older than two intervals"));
  EXPECT_GT(Seen().lag_ratio.value_or(0), 2);
}

// A clone inherits the metadata of its parent.
TEST_F(OwnWatchTest, TheScheduleOfAnotherImageIsNone) {
  a_.SetImageMetadata(image_, kScheduleMark,
                      R"({"interval":"5m","global_id":"another"})");
  a_.CreateMirrorSnapshot(image_);
  world_.Advance(seconds(90));
  own_.Round();
  LookOnce();
  EXPECT_EQ(Seen().interval_seconds, std::nullopt);
}

TEST_F(OwnWatchTest, WhatTravelsIsReadAgainAfterTenMinutes) {
  own_.Round();
  LookOnce();
  ASSERT_OK(SetSchedule("5m"));
  LookOnce();
  EXPECT_EQ(Seen().interval_seconds, std::nullopt);
  world_.Advance(minutes(10));
  LookOnce();
  EXPECT_EQ(Seen().interval_seconds, 300);
}

TEST_F(OwnWatchTest, TheUsersFileIsReadAgainAndNeverTold) {
  const std::string secret = b_.user()->key.Reveal();
  WriteUser("AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg=");
  own_.Round();
  EXPECT_THAT(environment_.watched.All(), IsEmpty());
  EXPECT_THAT(environment_.watched.own_trouble(), HasSubstr("user.json"));
  EXPECT_THAT(environment_.watched.own_trouble(), Not(HasSubstr("AQBGK0")));
  WriteUser(secret);
  own_.Round();
  EXPECT_THAT(environment_.watched.All(), IsEmpty()) << "not before it is due";
  world_.Advance(OwnWatch::kRetry);
  own_.Round();
  EXPECT_THAT(environment_.watched.All(), SizeIs(kPlaces));
  EXPECT_EQ(environment_.watched.own_trouble(), "");
}

// Nobody is told to set --watch-user who has.
TEST_F(OwnWatchTest, WhyNothingIsWatchedIsTold) {
  EXPECT_THAT(environment_.watched.own_trouble(), HasSubstr("not looked yet"));
  for (const char* place : {"", MirroredPair::kNamespace}) {
    b_.SetPoolMirrorMode(MirroredPair::kPool, place, PoolMirrorMode::kDisabled);
  }
  own_.Round();
  EXPECT_EQ(environment_.watched.own_trouble(),
            "it sees no pool that is mirrored");
  b_.SetPoolMirrorMode(MirroredPair::kPool, "", PoolMirrorMode::kImage);
  world_.Advance(OwnWatch::kAgain);
  own_.Round();
  EXPECT_EQ(environment_.watched.own_trouble(), "");
}

// What only reads is never used for a change.
TEST_F(OwnWatchTest, ItsUserIsNoneOfThoseThatChangeSomething) {
  own_.Round();
  ASSERT_THAT(environment_.watched.All(), SizeIs(kPlaces));
  const WatchedPools::Watched watched = environment_.watched.All()[0];
  EXPECT_EQ(watched.user, nullptr);
  EXPECT_EQ(watched.reader(), watched.own);
  EXPECT_EQ(watched.reader()->id, b_.user()->id);
}

TEST_F(OwnWatchTest, WhatIsNotMirroredAnyMoreIsNotWatched) {
  own_.Round();
  ASSERT_THAT(environment_.watched.All(), SizeIs(kPlaces));
  EXPECT_FALSE(environment_.watched.SetOwn({}, b_.user(), false));
  EXPECT_THAT(environment_.watched.All(), SizeIs(kPlaces));
  environment_.watched.SetOwn({}, b_.user(), true);
  EXPECT_THAT(environment_.watched.All(), IsEmpty());
}

TEST_F(OwnWatchTest, OneThatIsRefusedGivesWayToThatOfCalls) {
  own_.Round();
  const WatchedPools::Watched watched = environment_.watched.All()[0];
  environment_.watched.Refuse(watched.key, watched.own);
  EXPECT_EQ(environment_.watched.All()[0].reader(), nullptr);
  LookOnce();
  world_.Advance(OwnWatch::kAgain);
  own_.Round();
  EXPECT_EQ(found_, 2);
  EXPECT_NE(environment_.watched.All()[0].reader(), nullptr);
}

}  // namespace
}  // namespace addons::testing
