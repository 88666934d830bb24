// Sparsify() on a simulated cluster: when it works, when it stops, what it
// leaves behind.

#include "reclaimspace/sparsify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ceph/pool.h"
#include "history/event_log.h"
#include "reclaimspace/image_facts.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/fakes/test_operation_context.h"
#include "tests/testing/answering_cluster.h"
#include "tests/testing/documented_calls.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kUuid[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";
constexpr uint64_t kObject = uint64_t{4} << 20;
// Of each look.
constexpr char kLookCall[] = "rados_list_lockers";
constexpr char kSparsifyCall[] = "rbd_sparsify_with_progress";

bool Eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

class SparsifyTest : public ::testing::Test {
 protected:
  SparsifyTest() {
    dir_.Write(
        "config.json",
        absl::StrCat(R"([{"clusterID": ")", a_.cluster_id(),
                     R"(", "monitors": [")", a_.cluster_id(), R"(:6789"]}])"));
    dir_.Write("cluster-mapping.json", "[]");
  }
  void TearDown() override { EXPECT_THAT(world_.Violations(), IsEmpty()); }

  /// 1024 objects, 16 s of work; a quarter of them is used, all with zeros.
  void AddVolume() {
    id_ = pair_.AddVolume(a_, kUuid, 1024 * kObject);
    a_.SetUsage(image_, 256, 256);
  }

  absl::StatusOr<SparsifyResult> Run(ReclaimParameters parameters = {}) {
    TestOperationContext context(world_);
    context.SetDeadline(deadline_);
    // The work has a thread of its own, and time shall not pass without it.
    context.OnStep([this, calls = 0](absl::string_view step) mutable {
      if (step != "sparsifying") return;
      ++calls;
      EXPECT_TRUE(Eventually(
          [&] { return world_.CountCalls("a", kSparsifyCall) >= calls; }));
    });
    if (script_) script_(context);
    const SteadyTime begin = world_.Now();
    auto result = Sparsify(context, environment_,
                           {VolumeHandle(id_), a_.user(), parameters});
    took_ = world_.Now() - begin;
    progress_ = context.progress();
    return result;
  }
  absl::StatusOr<SparsifyResult> RunWithSnapshots() {
    ReclaimParameters parameters;
    parameters.with_snapshots = WithSnapshots::kYes;
    return Run(parameters);
  }

  void ExpectUntouched(const absl::StatusOr<SparsifyResult>& result,
                       ReclaimOutcome outcome, const std::string& reason) {
    ASSERT_OK(result);
    EXPECT_EQ(result->outcome, outcome);
    EXPECT_THAT(result->reason, HasSubstr(reason));
    EXPECT_TRUE(result->before_bytes.has_value());
    EXPECT_EQ(result->before_bytes, result->after_bytes);
    EXPECT_EQ(world_.CountCalls("a", kSparsifyCall), 0);
    EXPECT_EQ(stats_.count(outcome), 1U);
  }
  /// How the image was open; nullopt: it was not sparsified.
  std::optional<Access> SparsifiedWith() const {
    std::optional<Access> access;
    for (const CallRecord& call : world_.Calls()) {
      if (call.call == kSparsifyCall) access = call.access;
    }
    return access;
  }
  /// What Run() calls, but who has the image open, which is asked at each look
  /// and all the time of the work.
  void ExpectDocumented(const std::string& column) {
    world_.ClearCalls();
    ASSERT_OK(Run()) << column;
    CallCounts made;
    for (const CallRecord& record : world_.Calls()) ++made[record.call];
    made.erase("rados_list_watchers");
    EXPECT_EQ(made, DocumentedCalls(ADDONS_PERFORMANCE_DOC, column)) << column;
  }
  /// Nothing of ours stays on the image.
  void ExpectLeft() {
    const auto pool = pair_.cluster(a_)->OpenPool(2, "", Access::kRead);
    const auto image = (*pool)->OpenImageReadOnly(ImageName(image_));
    ASSERT_OK(image);
    EXPECT_EQ((*image)->Metadata(kSparsifierKey).value(), std::nullopt);
    const auto watchers = (*image)->Watchers();
    ASSERT_OK(watchers);
    for (const Watcher& watcher : *watchers) {
      EXPECT_EQ(watcher.client_id, 4464U);
    }
    EXPECT_FALSE(a_.HasLock(image_));
  }
  void FailNext(const std::string& call, int error, int times) {
    const auto left = std::make_shared<std::atomic<int>>(times);
    world_.SetCallHook(
        [call, error, left](absl::string_view, absl::string_view made, bool) {
          return made == call && (*left)-- > 0 ? error : 0;
        });
  }

  FakeWorld world_;
  MirroredPair pair_{world_};
  FakeSite& a_ = pair_.a();
  FakeSite& b_ = pair_.b();
  const TempDir dir_;
  ConfigStore config_{dir_.path()};
  FakeClusterProvider clusters_{world_};
  Resolver resolver_{config_, clusters_};
  ReclaimStats stats_;
  LeaseKeeper leases_{world_};
  SparsifyEnvironment environment_{resolver_, leases_, stats_, {}};
  const std::string image_ = MirroredPair::ImageOf(kUuid);
  std::string id_;

  SteadyDuration deadline_ = minutes(10);
  std::function<void(TestOperationContext&)> script_;
  SteadyDuration took_{};
  std::vector<std::pair<uint64_t, uint64_t>> progress_;
};

TEST_F(SparsifyTest, FreesZerosAndTellsHowMuchWasUsed) {
  AddVolume();
  a_.SetUsage(image_, 256, 100);
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->outcome, ReclaimOutcome::kSparsified);
  EXPECT_EQ(result->before_bytes, 256 * kObject);
  EXPECT_EQ(result->after_bytes, 156 * kObject);
  EXPECT_EQ(stats_.count(ReclaimOutcome::kSparsified), 1U);
  EXPECT_EQ(stats_.examined_bytes(), 1024 * kObject);
  EXPECT_EQ(stats_.freed_bytes(), 100 * kObject);
  ExpectLeft();
}

// No more and no fewer Ceph calls than docs/performance.md says, with what each
// is for.
TEST_F(SparsifyTest, ItsCallsAreThoseThatAreDocumented) {
  AddVolume();
  ASSERT_OK(Run());  // the first call of a user makes its connections
  a_.SetUsage(image_, 1, 0);
  ExpectDocumented("reclaim");
  a_.SetUsage(image_, 0, 0);
  ExpectDocumented("reclaim, no object");
  a_.SetUsage(image_, 1, 1);
  a_.AddWatcher(image_, "10.0.0.7:0/1", 4464);
  ExpectDocumented("reclaim, in use");
}

TEST_F(SparsifyTest, AnImageWithoutObjectsIsNotOpened) {
  AddVolume();
  a_.SetUsage(image_, 0, 0);
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->outcome, ReclaimOutcome::kSparsified);
  EXPECT_EQ(result->reason, "it has no objects");
  EXPECT_EQ(result->before_bytes, 0U);
  EXPECT_EQ(result->after_bytes, 0U);
  EXPECT_EQ(stats_.examined_bytes(), 1024 * kObject);
  EXPECT_EQ(world_.CountCalls("a", "rbd_open"), 0);
  EXPECT_EQ(world_.CountMutations(), 0);
}

// Without valid fast-diff nothing tells that before all objects were asked.
TEST_F(SparsifyTest, WithoutAnObjectMapNothingIsProved) {
  AddVolume();
  a_.SetUsage(image_, 0, 0);
  a_.SetFeatures(image_, {true, false, false});
  environment_.options.measure_time = minutes(1);
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->before_bytes, 0U);
  EXPECT_EQ(world_.CountCalls("a", kSparsifyCall), 1);
}

TEST_F(SparsifyTest, WhatAKilledDaemonLeftGoesAlsoWhereNoObjectIs) {
  AddVolume();
  a_.SetUsage(image_, 0, 0);
  a_.SetImageMetadata(image_, kSparsifierKey, "4463,4464");
  ASSERT_OK(Run());
  ExpectLeft();
}

// Its header alone does not tell whether it is still primary.
TEST_F(SparsifyTest, AMirroredImageIsOpenedForEachLook) {
  id_ = pair_.AddMirroredVolume(a_, kUuid, 64 * kObject);
  world_.ClearCalls();
  const auto result = RunWithSnapshots();
  ASSERT_OK(result);
  EXPECT_EQ(result->outcome, ReclaimOutcome::kSparsified) << result->reason;
  EXPECT_EQ(world_.CountCalls("a", "rbd_open_read_only"), 3);
}

TEST_F(SparsifyTest, ReportsBytesAndPercent) {
  AddVolume();
  ASSERT_OK(Run());
  ASSERT_FALSE(progress_.empty());
  EXPECT_EQ(progress_.back(), std::make_pair(1024 * kObject, 1024 * kObject));
  EXPECT_TRUE(std::is_sorted(progress_.begin(), progress_.end()));
}

TEST_F(SparsifyTest, ACallerThatLeavesInTheMiddleHeardHowFarItIs) {
  AddVolume();
  deadline_ = seconds(8);
  absl::Status told;
  script_ = [&](TestOperationContext& context) {
    world_.Schedule(seconds(8), [&] { told = context.pending(); });
  };
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->outcome, ReclaimOutcome::kSparsified);
  EXPECT_THAT(told, StatusIs(absl::StatusCode::kAborted,
                             AllOf(HasSubstr(" % ("), HasSubstr("of 4096 MiB"),
                                   HasSubstr("joins it"))));
}

TEST_F(SparsifyTest, AnImageInUseIsNotTouched) {
  AddVolume();
  a_.AddWatcher(image_, "10.0.0.7:0/1", 4464);
  ExpectUntouched(Run(), ReclaimOutcome::kInUse, "client.4464 at 10.0.0.7");
  EXPECT_EQ(world_.CountCalls("a", "rbd_open"), 0);
  // Only another instance of the daemon is waited for.
  EXPECT_LT(took_, seconds(5));
}

TEST_F(SparsifyTest, ALockWithoutAWatchIsInUseAndIsNotBroken) {
  AddVolume();
  a_.AddLocker(image_, "10.0.0.7:0/1", 4464, FakeSite::LockKind::kAutomatic);
  ExpectUntouched(Run(), ReclaimOutcome::kInUse, "locked by client.4464");
  EXPECT_TRUE(a_.HasLock(image_));
}

TEST_F(SparsifyTest, APrimaryIsSkippedForItsSnapshotsAndNotForRbdMirror) {
  id_ = pair_.AddMirroredVolume(a_, kUuid, 64 * kObject);
  ExpectUntouched(Run(), ReclaimOutcome::kSnapshots, "mirroring");
  // rbd-mirror of the peer has it open, and is no workload.
  const auto result = RunWithSnapshots();
  ASSERT_OK(result);
  EXPECT_EQ(result->outcome, ReclaimOutcome::kSparsified) << result->reason;
}

TEST_F(SparsifyTest, ZerosThatWouldKeepOsdsBusyAreLeftAlone) {
  AddVolume();
  a_.SetDataPool(image_, 9);
  ExpectUntouched(Run(), ReclaimOutcome::kErasureCoded, "Ceph 16.2.15");
  EXPECT_EQ(world_.CountCalls("a", "rbd_open"), 0);

  a_.SetOsdRelease("18.2.7");
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->outcome, ReclaimOutcome::kSparsified) << result->reason;
}

// Others in the pool wait as long as the objects of an erasure-coded image that
// are worked on at the same time.
TEST_F(SparsifyTest, AnErasureCodedImageIsSparsifiedGently) {
  AddVolume();
  a_.SetDataPool(image_, 9);
  a_.SetOsdRelease("18.2.7");
  ASSERT_OK(Run());
  EXPECT_EQ(SparsifiedWith(), Access::kMutateGently);
}

TEST_F(SparsifyTest, OnlyOfADataPoolTheMonitorsAreAsked) {
  AddVolume();
  ASSERT_OK(Run());
  EXPECT_EQ(world_.CountCalls("a", "rados_mon_command"), 0);
  EXPECT_EQ(SparsifiedWith(), Access::kMutate);
}

// Nothing is known of the OSDs then.
TEST_F(SparsifyTest, AMonitorThatDoesNotAnswerLeavesADataPoolAlone) {
  AddVolume();
  a_.SetDataPool(image_, 9);
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_mon_command" ? ETIMEDOUT : 0;
  });
  EXPECT_FALSE(Run().ok());
  EXPECT_EQ(world_.CountCalls("a", kSparsifyCall), 0);
}

TEST_F(SparsifyTest, ASecondaryIsSkipped) {
  const std::string on_b = pair_.AddMirroredVolume(b_, kUuid, 64 * kObject);
  id_ = pair_.VolumeId(a_, kUuid);
  ExpectUntouched(RunWithSnapshots(), ReclaimOutcome::kSecondary, "secondary");
  EXPECT_EQ(world_.CountCalls("a", "rbd_open"), 0);
}

TEST_F(SparsifyTest, ASizeBeyondTheObjectsIsRefused) {
  AddVolume();
  ReclaimParameters parameters;
  parameters.sparse_bytes = 2 * kObject;
  EXPECT_THAT(Run(parameters), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("sparseSize")));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(SparsifyTest, SomebodyWhoOpensTheImageEndsTheWorkWithinSeconds) {
  AddVolume();
  a_.SetUsage(image_, 1024, 1024);
  world_.Schedule(seconds(6),
                  [&] { a_.AddWatcher(image_, "10.0.0.7:0/1", 4464); });
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->outcome, ReclaimOutcome::kInterrupted);
  EXPECT_THAT(result->reason, HasSubstr("client.4464 at 10.0.0.7"));
  EXPECT_LT(took_, seconds(11));
  // 64 objects a second.
  EXPECT_LT(*result->after_bytes, (1024 - 5 * 64) * kObject);
  // Not only when the permit has run out.
  EXPECT_GT(*result->after_bytes, (1024 - 8 * 64) * kObject);
  ExpectLeft();
}

TEST_F(SparsifyTest, AClientThatAsksForTheLockGetsIt) {
  AddVolume();
  world_.Schedule(seconds(6), [&] {
    a_.AddLocker(image_, "10.0.0.7:0/1", 4464, FakeSite::LockKind::kAutomatic);
  });
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->outcome, ReclaimOutcome::kInterrupted);
  EXPECT_TRUE(a_.HasLock(image_));
}

TEST_F(SparsifyTest, SomebodyWhoComesBeforeTheFirstObjectIsSeen) {
  AddVolume();
  world_.SetCallHook(nullptr,
                     [&](absl::string_view, absl::string_view call, bool) {
                       if (call == "rbd_open")
                         a_.AddWatcher(image_, "10.0.0.7:0/1", 4464);
                       return 0;
                     });
  ExpectUntouched(Run(), ReclaimOutcome::kInUse, "client.4464");
  ExpectLeft();
}

TEST_F(SparsifyTest,
       WhatChangedWhileMeasuringIsSeenBeforeItIsOpenedForWriting) {
  AddVolume();
  world_.SetCallHook(nullptr,
                     [&](absl::string_view, absl::string_view call, bool) {
                       if (call == "rados_read") {
                         a_.AddWatcher(image_, "10.0.0.7:0/1", 4464);
                       }
                       return 0;
                     });
  ExpectUntouched(Run(), ReclaimOutcome::kInUse, "client.4464");
  EXPECT_EQ(world_.CountCalls("a", "rbd_open"), 0);
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_FALSE(a_.HasOmap(MirroredPair::kPool, "",
                          absl::StrCat("rbd_addons.lease.", kUuid)));
}

TEST_F(SparsifyTest, ASnapshotThatWasMadeWhileMeasuringIsSeen) {
  AddVolume();
  world_.SetCallHook(nullptr,
                     [&](absl::string_view, absl::string_view call, bool) {
                       if (call == "rados_read") {
                         a_.AddSnapshot(image_, "s", SnapshotKind::kUser);
                       }
                       return 0;
                     });
  ExpectUntouched(Run(), ReclaimOutcome::kSnapshots, "1 user");
  EXPECT_EQ(world_.CountCalls("a", "rbd_open"), 0);
}

TEST_F(SparsifyTest, WhatCannotBeReadUnopenedIsReadOfAnOpenImage) {
  AddVolume();
  FailNext("rados_read_op_omap_get_vals_by_keys2", EIO, 1);
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->outcome, ReclaimOutcome::kSparsified);
  EXPECT_EQ(world_.CountCalls("a", "rbd_open_read_only"), 1);
  ExpectLeft();
}

TEST_F(SparsifyTest, AnObjectMapThatIsNotUnderstoodIsLeftToLibrbd) {
  AddVolume();
  FailNext("rados_read", EIO, 1);
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->before_bytes, 256 * kObject);
  EXPECT_EQ(result->after_bytes, 0U);
  EXPECT_EQ(world_.CountCalls("a", "rbd_diff_iterate2"), 1);
}

// In journal mode its header does not tell what it has become.
TEST_F(SparsifyTest, AMirroredImageIsOpenedAlsoWhereNobodyWatchesIt) {
  id_ = pair_.AddMirroredVolume(a_, kUuid, 64 * kObject);
  a_.SetMirrorDaemon(DaemonState::kDown);
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(2));
  world_.ClearCalls();
  ASSERT_OK(RunWithSnapshots());
  EXPECT_EQ(world_.CountCalls("a", "rbd_open_read_only"), 3);
}

TEST_F(SparsifyTest, AnImageThatVanishesMeanwhileIsLookedForAgain) {
  AddVolume();
  FailNext("rados_list_watchers", ENOENT, 1);
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->outcome, ReclaimOutcome::kSparsified);
}

TEST_F(SparsifyTest, WhoIsSeenIsNamedRatherThanItsLock) {
  AddVolume();
  world_.SetCallHook(nullptr,
                     [&](absl::string_view, absl::string_view call, bool) {
                       if (call == "rbd_open") {
                         a_.AddWatcher(image_, "10.0.0.7:0/1", 4464);
                         a_.AddLocker(image_, "10.0.0.7:0/1", 4464,
                                      FakeSite::LockKind::kAutomatic);
                       }
                       return 0;
                     });
  ExpectUntouched(Run(), ReclaimOutcome::kInUse, "client.4464 at 10.0.0.7");
}

TEST_F(SparsifyTest, TheHistoryLearnsWhereTheVolumeIs) {
  EventLog log(world_, "csi on host 'h'");
  log.Begin();
  environment_.history = &log;
  AddVolume();
  ASSERT_OK(Run());
  HistoryEvent event;
  event.object = id_;
  log.Add(event);
  const std::vector<HistoryBatch> batches = log.Take({}, true);
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches.front().place.fsid, a_.fsid());
  EXPECT_EQ(batches.front().place.pool_id, 2);
}

TEST_F(SparsifyTest, WithoutAThreadNothingIsDone) {
  AddVolume();
  environment_.options.patience = seconds(0);
  script_ = [this](TestOperationContext& context) {
    // No call comes that the script of Run() waits for.
    context.OnStep(nullptr);
    environment_.start_thread = [](const std::string&, std::function<void()>) {
      return std::optional<std::jthread>();
    };
  };
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnavailable,
                              HasSubstr("no thread left")));
  ExpectLeft();
}

TEST_F(SparsifyTest, WorkThatCannotBeWatchedStops) {
  AddVolume();
  a_.SetUsage(image_, 1024, 1024);
  environment_.options.patience = seconds(0);
  const auto blind = std::make_shared<std::atomic<bool>>(false);
  world_.SetCallHook([blind](absl::string_view, absl::string_view call, bool) {
    return *blind && call == "rados_list_watchers" ? ETIMEDOUT : 0;
  });
  world_.Schedule(seconds(6), [blind] { *blind = true; });
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnavailable,
                              HasSubstr("could not be seen")));
  // 64 objects a second: it stopped within 5 s.
  EXPECT_GT(a_.UsedObjects(image_), 1024U - 11 * 64);
  EXPECT_LT(a_.UsedObjects(image_), 1024U - 5 * 64);
  *blind = false;
  ExpectLeft();
}

TEST_F(SparsifyTest, ACancelStopsItAndLeavesNothingBehind) {
  AddVolume();
  a_.SetUsage(image_, 1024, 1024);
  script_ = [](TestOperationContext& context) {
    context.CancelAfter(seconds(6));
  };
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_GT(a_.UsedObjects(image_), 0U);
  EXPECT_LT(a_.UsedObjects(image_), 1024U);
  EXPECT_EQ(stats_.count(ReclaimOutcome::kStopped), 1U);
  ExpectLeft();
}

TEST_F(SparsifyTest, AClusterThatComesBackIsWaitedFor) {
  AddVolume();
  FailNext(kLookCall, EAGAIN, 3);
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->outcome, ReclaimOutcome::kSparsified);
}

TEST_F(SparsifyTest, AClusterThatStaysAwayIsAbortedForTheCaller) {
  AddVolume();
  FailNext(kLookCall, EAGAIN, 1000000);
  absl::Status told;
  script_ = [&](TestOperationContext& context) {
    world_.Schedule(seconds(8), [&] { told = context.pending(); });
  };
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_GE(took_, environment_.options.patience);
  EXPECT_THAT(told, StatusIs(absl::StatusCode::kAborted,
                             HasSubstr("list the lockers")));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(SparsifyTest, AnErrorInTheMiddleIsTriedAgain) {
  // The last two: it was removed or demoted, and the next look tells.
  for (const int error : {ETIMEDOUT, ENOENT, EROFS}) {
    if (id_.empty()) AddVolume();
    a_.SetUsage(image_, 256, 256);
    FailNext(kSparsifyCall, error, 1);
    ASSERT_OK(Run()) << error;
    EXPECT_EQ(a_.UsedObjects(image_), 0U);
    world_.SetCallHook(nullptr);
    ExpectLeft();
    world_.ClearCalls();
  }
}

TEST_F(SparsifyTest, AnErrorThatStaysIsNotTriedForLong) {
  AddVolume();
  FailNext(kLookCall, EPERM, 1000000);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_LT(took_, seconds(5));
}

TEST_F(SparsifyTest, TroubleThatStaysEndsTheWork) {
  AddVolume();
  FailNext(kSparsifyCall, ETIMEDOUT, 1000000);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_GE(took_, environment_.options.patience);
  EXPECT_LT(took_, 2 * environment_.options.patience);
}

TEST_F(SparsifyTest, ShortTroubleAfterLongWorkIsNotItsEnd) {
  AddVolume();
  environment_.options.patience = seconds(10);
  // The work takes 16 s.
  bool failed = false;
  world_.SetCallHook(
      nullptr, [&](absl::string_view, absl::string_view call, bool) {
        return call == kSparsifyCall && !std::exchange(failed, true) ? ETIMEDOUT
                                                                     : 0;
      });
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_TRUE(failed);
  EXPECT_EQ(result->outcome, ReclaimOutcome::kSparsified);
}

// However long one look takes.
TEST_F(SparsifyTest, WhoHasNotBegunHasNoMorePatience) {
  AddVolume();
  environment_.options.patience = seconds(10);
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    if (call != "rados_read") return 0;
    world_.Advance(seconds(20));
    return ETIMEDOUT;
  });
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_LT(took_, seconds(30));
}

TEST_F(SparsifyTest, OneThatAnotherVerbEndsWasStopped) {
  AddVolume();
  FailNext(kLookCall, EAGAIN, 1000000);
  script_ = [](TestOperationContext& context) {
    context.SupersedeAfter(seconds(5));
  };
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(stats_.count(ReclaimOutcome::kStopped), 1U);
}

TEST_F(SparsifyTest, AVolumeWithoutItsImageIsNotFound) {
  AddVolume();
  a_.RemoveImage(image_);
  EXPECT_THAT(
      Run(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such image")));
}

TEST_F(SparsifyTest, AKilledDaemonIsWaitedForAndItsWorkDoneAgain) {
  AddVolume();
  a_.SetUsage(image_, 1024, 1024);
  // The predecessor died in the middle: its watch lives for 30 s more.
  a_.SetImageMetadata(image_, kSparsifierKey, "4463,4464");
  a_.AddWatcher(image_, "10.0.0.9:0/1", 4464);
  a_.AddLocker(image_, "10.0.0.9:0/1", 4464, FakeSite::LockKind::kAutomatic);
  world_.Schedule(seconds(28), [&] { a_.RemoveWatcher(image_, 4464); });
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->outcome, ReclaimOutcome::kSparsified) << result->reason;
  EXPECT_EQ(a_.UsedObjects(image_), 0U);
  EXPECT_GT(took_, seconds(28));
  ExpectLeft();
}

TEST_F(SparsifyTest, ALivingOtherDaemonIsLeftAloneAndTheCallAborted) {
  AddVolume();
  a_.SetImageMetadata(image_, kSparsifierKey, "4463,4464");
  a_.AddWatcher(image_, "10.0.0.9:0/1", 4464);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kAborted,
                              HasSubstr("another instance")));
  EXPECT_EQ(world_.CountCalls("a", "rbd_open"), 0);
  EXPECT_EQ(stats_.count(ReclaimOutcome::kOtherDaemon), 1U);
}

TEST_F(SparsifyTest, UsageThatTakesTooLongIsAbsent) {
  AddVolume();
  a_.SetFeatures(image_, {true, false, false});
  environment_.options.measure_time = std::chrono::milliseconds(500);
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->before_bytes, std::nullopt);
  EXPECT_EQ(result->after_bytes, std::nullopt);
  EXPECT_EQ(a_.UsedObjects(image_), 0U);
}

TEST_F(SparsifyTest, AnImageWithoutTheLockFeatureIsWatchedAllTheSame) {
  AddVolume();
  a_.SetFeatures(image_, {false, false, false});
  world_.Schedule(seconds(6),
                  [&] { a_.AddWatcher(image_, "10.0.0.7:0/1", 4464); });
  const auto result = Run();
  ASSERT_OK(result);
  EXPECT_EQ(result->outcome, ReclaimOutcome::kInterrupted);
  ExpectLeft();
}

/// What is read of an image before it is decided.
class ImageFactsTest : public SparsifyTest {
 protected:
  ImageFacts Facts() {
    const auto pool = cluster_->OpenPool(2, "", Access::kRead);
    const auto facts = ReadFacts(*cluster_, **pool, ImageName(image_));
    EXPECT_OK(facts);
    return facts.ok() ? *facts : ImageFacts();
  }
  absl::StatusOr<DataPool> DataPoolAsToldBy(Cluster& cluster) {
    const auto pool = cluster_->OpenPool(2, "", Access::kRead);
    const auto facts = ReadFacts(*cluster_, **pool, ImageName(image_));
    EXPECT_OK(facts);
    return ReadDataPool(cluster, **pool, *facts);
  }

  const std::shared_ptr<Cluster> cluster_ = pair_.cluster(a_);
};

TEST_F(ImageFactsTest, AnImageThatIsNotMirroredIsNoSecondary) {
  AddVolume();
  EXPECT_FALSE(Facts().secondary);
}

// Its mirroring may have been removed in the middle.
TEST_F(ImageFactsTest, AMarkAloneMakesASecondary) {
  AddVolume();
  a_.RefuseWrites(image_);
  EXPECT_TRUE(Facts().secondary);
}

TEST_F(ImageFactsTest, InJournalModeASecondaryHasNoMark) {
  AddVolume();
  a_.EnableMirroring(image_, MirrorMode::kJournal);
  EXPECT_FALSE(Facts().secondary);
  a_.Demote(image_);
  const auto pool = cluster_->OpenPool(2, "", Access::kRead);
  const auto image = (*pool)->OpenImageReadOnly(ImageName(image_));
  ASSERT_OK(image);
  ASSERT_FALSE((*image)->MarkedNonPrimary().value());
  EXPECT_TRUE(Facts().secondary);
}

TEST_F(ImageFactsTest, TheLockOfThisProcessIsNobodyElses) {
  AddVolume();
  const auto pool = cluster_->OpenPool(2, "", Access::kMutate);
  const auto image = (*pool)->OpenImage(ImageName(image_));
  ASSERT_OK(image);
  world_.SetMutationGuard(nullptr);
  ASSERT_OK((*image)->SetMetadata("conf_rbd_cache", "true"));
  ASSERT_TRUE(a_.HasLock(image_));
  EXPECT_THAT(Facts().lockers, IsEmpty());
}

TEST_F(ImageFactsTest, OfAReplicatedDataPoolNoReleaseIsAsked) {
  AddVolume();
  a_.SetDataPool(image_, 9);
  AnsweringCluster monitors;
  monitors.Answer(
      "osd pool ls",
      std::string(R"([{"pool_id":9,"type":1,"flags_names":"hashpspool"}])"));
  const auto replicated = DataPoolAsToldBy(monitors);
  ASSERT_OK(replicated);
  EXPECT_FALSE(replicated->erasure_coded);
  EXPECT_EQ(replicated->slow_release, "");
}

TEST_F(ImageFactsTest, AReleaseWithoutANumberIsNotAnOldOne) {
  AddVolume();
  a_.SetDataPool(image_, 9);
  a_.SetOsdRelease("main-1234");
  const auto data_pool = DataPoolAsToldBy(*cluster_);
  ASSERT_OK(data_pool);
  EXPECT_TRUE(data_pool->erasure_coded);
  EXPECT_EQ(data_pool->slow_release, "");
}

}  // namespace
}  // namespace addons::testing
