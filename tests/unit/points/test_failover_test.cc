// Test failovers on simulated clusters: a volume of its own that holds what a
// point held.

#include "points/test_failover.h"

#include <cerrno>
#include <string>
#include <utility>

#include "replication/look/mount_restriction.h"
#include "replication/look/point.h"
#include "replication/steps/upkeep.h"
#include "tests/unit/points/points_fixture.h"
#include "volume/volume_directory.h"
#include "volume/volume_id.h"
#include "volume/volume_journal.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::HasSubstr;

class TestFailoverTest : public PointsTest {
 protected:
  absl::StatusOr<StartedFailover> Start(Daemon& daemon,
                                        const std::string& point = "") {
    return Called<StartedFailover>([&](OperationContext& context) {
      return StartTest(context, daemon.environment(), daemon.Target(id_),
                       {point, 0});
    });
  }
  absl::StatusOr<StartedTest> Stop(Daemon& daemon, const std::string& id) {
    return Called<StartedTest>([&](OperationContext& context) {
      return StopTest(context, daemon.environment(), daemon.Target(id));
    });
  }
  std::unique_ptr<Pool> PoolOf(FakeSite& site) {
    return *pair_.cluster(site)->OpenPool(pair_.pool_id(site), "",
                                          Access::kRead);
  }
  std::map<std::string, StartedTest> TestsOn(FakeSite& site) {
    const auto tests = ReadTests(*PoolOf(site));
    EXPECT_OK(tests);
    return tests.value_or(std::map<std::string, StartedTest>());
  }
  std::vector<ListedTest> Listed(Daemon& daemon) {
    ResolvedPlace place;
    place.pool_id = pair_.pool_id(daemon.site());
    place.pool_name = MirroredPair::kPool;
    place.cluster = pair_.cluster(daemon.site());
    std::vector<std::string> unseen;
    const auto listed =
        Called<std::vector<ListedTest>>([&](OperationContext& context) {
          return ListTests(context, {place}, &unseen);
        });
    EXPECT_OK(listed);
    EXPECT_THAT(unseen, ::testing::IsEmpty());
    return listed.value_or(std::vector<ListedTest>());
  }
  /// Nothing of a test is on the site.
  void ExpectNothingLeft(FakeSite& site) {
    EXPECT_TRUE(TestsOn(site).empty());
    for (const auto& [what, holds] : site.Contents()) {
      EXPECT_THAT(what, ::testing::Not(HasSubstr("rbd-addons-test")));
      EXPECT_THAT(holds, ::testing::Not(HasSubstr("rbd-addons-test")));
    }
  }
};

TEST_F(TestFailoverTest, ItHoldsWhatThePointHeldWhileReplicationGoesOn) {
  ASSERT_OK(MakeWhole("first"));
  ASSERT_OK(a_.Write(image_, 8));
  ASSERT_OK(Sync());
  const auto started = Start(on_b_);
  ASSERT_OK(started);
  EXPECT_TRUE(started->test.ready);
  EXPECT_EQ(started->test.point, "first");
  EXPECT_EQ(started->proof.verdict(), Proof::Verdict::kWhole);
  const std::string copy = started->test.image().text();
  EXPECT_EQ(b_.Data(copy), 7);
  EXPECT_EQ(b_.Data(image_), 8);
  // Writes of the test are its own, and the copy goes on.
  ASSERT_OK(b_.Write(copy, 99));
  ASSERT_OK(a_.Write(image_, 9));
  ASSERT_OK(Sync());
  EXPECT_EQ(b_.Data(image_), 9);
  EXPECT_EQ(b_.Data(copy), 99);
}

// The ordinary driver finds it by its id.
TEST_F(TestFailoverTest, CephCsisJournalHasIt) {
  ASSERT_OK(MakeWhole("first"));
  const auto started = Start(on_b_);
  ASSERT_OK(started);
  const auto id = VolumeId::Parse(started->test.volume_id);
  ASSERT_OK(id);
  EXPECT_EQ(id->uuid, started->test.uuid);
  EXPECT_EQ(id->pool_id, pair_.pool_id(b_));
  EXPECT_EQ(id->cluster_id.text(), b_.cluster_id());
  const std::unique_ptr<Pool> pool = PoolOf(b_);
  const auto entry = VolumeJournal(*pool).Read(id->uuid);
  ASSERT_OK(entry);
  EXPECT_EQ(entry->image_name, started->test.image());
  EXPECT_EQ(entry->image_id, b_.ImageId(entry->image_name.text()));
  EXPECT_EQ(entry->request_name, started->test.request_name());
  const auto named =
      VolumeDirectory(*pool, "default").Find(entry->request_name);
  ASSERT_OK(named);
  ASSERT_TRUE(named->has_value());
  EXPECT_EQ((*named)->uuid, id->uuid);
}

// ceph-csi's default KMS has one passphrase for all volumes.
TEST_F(TestFailoverTest, AnEncryptedVolumesTestIsCalledSo) {
  a_.SetImageMetadata(image_, "rbd.csi.ceph.com/encrypted", "encrypted");
  a_.SetImageMetadata(image_, "csi.storage.k8s.io/pvc/name", "claim");
  ASSERT_OK(Sync());
  world_.Advance(minutes(1));
  ASSERT_OK(MakeWhole("first"));
  const auto started = Start(on_b_);
  ASSERT_OK(started);
  const auto metadata = b_.ImageMetadata(started->test.image().text());
  EXPECT_EQ(metadata.at("rbd.csi.ceph.com/encrypted"), "encrypted");
  EXPECT_THAT(metadata.at("rbd-addons.test"), HasSubstr("point first of"));
  // It is nobody's claim, and not mirrored.
  EXPECT_FALSE(metadata.contains("csi.storage.k8s.io/pvc/name"));
  EXPECT_FALSE(metadata.contains(kPointRecordKey));
}

// Wrapped with the volume's id.
TEST_F(TestFailoverTest, WhatTheDriverCouldNotOpenIsNoTest) {
  a_.SetImageMetadata(image_, "rbd.csi.ceph.com/dek", "wrapped");
  ASSERT_OK(Sync());
  world_.Advance(minutes(1));
  ASSERT_OK(MakeWhole("first"));
  EXPECT_THAT(Start(on_b_),
              StatusIs(kFailedPrecondition, HasSubstr("could not open")));
  EXPECT_EQ(world_.CountCalls("b", "rbd_create4"), 0);
}

// Its data are the volume's.
TEST_F(TestFailoverTest, WhoMayNotMountTheVolumeMayNotMountItsTest) {
  a_.SetImageMetadata(image_, kServiceAccountKey, "db");
  ASSERT_OK(Info(on_a_));
  ASSERT_OK(Run([&](OperationContext& context) {
    return KeepUp(context, on_a_.environment(), {on_a_.Target(id_)});
  }));
  ASSERT_OK(Sync());
  world_.Advance(minutes(1));
  ASSERT_OK(MakeWhole("first"));
  ASSERT_FALSE(b_.ImageMetadata(image_).contains(kServiceAccountKey));
  const auto started = Start(on_b_);
  ASSERT_OK(started);
  EXPECT_EQ(
      b_.ImageMetadata(started->test.image().text()).at(kServiceAccountKey),
      "db");
}

// Mirroring does not carry what the primary has cleared.
TEST_F(TestFailoverTest, OldDataWhereThePointHasZerosAreZeros) {
  ASSERT_OK(Sync());
  a_.WriteObject(image_, 2, 0);
  ASSERT_OK(MakeWhole("first"));
  b_.WriteObject(image_, 3, 0);
  ASSERT_EQ(b_.Object(image_, 2), 0);
  const auto started = Start(on_b_);
  ASSERT_OK(started);
  const std::string copy = started->test.image().text();
  EXPECT_EQ(b_.Object(copy, 2), 0);
  EXPECT_EQ(b_.Object(copy, 3), 7) << "the point's, not the head's";
}

TEST_F(TestFailoverTest, ADamagedCopyIsNotTestedWith) {
  a_.AddSnapshot(image_, "earlier", SnapshotKind::kUser);
  ASSERT_OK(a_.Write(image_, 8));
  ASSERT_OK(Sync());
  a_.RollBack(image_, "earlier");
  ASSERT_OK(MakeWhole("after"));
  EXPECT_THAT(Start(on_b_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("do not hold what they held"),
                             HasSubstr("rbd-addons verify"))));
  ExpectNothingLeft(b_);
  // A promotion knows of it from then on.
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable, HasSubstr("damaged")));
}

TEST_F(TestFailoverTest, OneVolumeHasOneTest) {
  ASSERT_OK(MakeWhole("first"));
  const auto started = Start(on_b_);
  ASSERT_OK(started);
  EXPECT_THAT(Start(on_b_), StatusIs(absl::StatusCode::kAlreadyExists,
                                     AllOf(HasSubstr(started->test.volume_id),
                                           HasSubstr("rbd-addons test stop"))));
  // Somebody has deleted it as any other volume: there is none then.
  b_.RemoveImage(started->test.image().text());
  ASSERT_EQ(Listed(on_b_).size(), 1U);
  EXPECT_EQ(Listed(on_b_).front().state, ListedTest::State::kGone);
  const auto next = Start(on_b_);
  ASSERT_OK(next);
  EXPECT_NE(next->test.uuid, started->test.uuid);
  EXPECT_EQ(TestsOn(b_).size(), 1U);
  EXPECT_EQ(Listed(on_b_).front().state, ListedTest::State::kReady);
}

TEST_F(TestFailoverTest, StoppedItLeavesNothing) {
  ASSERT_OK(MakeWhole("first"));
  const auto before = b_.Contents();
  for (const bool by_its_own_id : {false, true}) {
    const auto started = Start(on_b_);
    ASSERT_OK(started);
    const auto stopped =
        Stop(on_b_, by_its_own_id ? started->test.volume_id : id_);
    ASSERT_OK(stopped);
    EXPECT_EQ(stopped->uuid, started->test.uuid);
    ExpectNothingLeft(b_);
  }
  const auto again = Stop(on_b_, id_);
  ASSERT_OK(again);
  EXPECT_EQ(again->uuid, "");
  EXPECT_EQ(b_.Data(image_), 7);
}

TEST_F(TestFailoverTest, WhoHasItOpenKeepsIt) {
  ASSERT_OK(MakeWhole("first"));
  const auto started = Start(on_b_);
  ASSERT_OK(started);
  b_.AddWatcher(started->test.image().text(), "10.0.0.7:0/1", 77);
  EXPECT_THAT(Stop(on_b_, id_),
              StatusIs(kUnavailable, HasSubstr("10.0.0.7:0/1 has its image")));
  EXPECT_EQ(world_.CountCalls("b", "rbd_remove"), 0);
  EXPECT_EQ(Listed(on_b_).front().state, ListedTest::State::kReady);
  EXPECT_OK(VolumeJournal(*PoolOf(b_)).Read(started->test.uuid));
  b_.RemoveWatcher(started->test.image().text(), 77);
  EXPECT_OK(Stop(on_b_, id_));
  ExpectNothingLeft(b_);
}

TEST_F(TestFailoverTest, WithoutRoomNothingIsChanged) {
  ASSERT_OK(MakeWhole("first"));
  const auto before = b_.Contents();
  b_.SetPoolRoom(kSmallImage / 2);
  const int begun = mutations_begun_;
  EXPECT_THAT(Start(on_b_), StatusIs(absl::StatusCode::kResourceExhausted,
                                     HasSubstr("has room for 131072")));
  EXPECT_EQ(mutations_begun_, begun);
  EXPECT_EQ(world_.CountCalls("b", "rbd_create4"), 0);
}

TEST_F(TestFailoverTest, WhatHasBecomeSomethingElseIsNotRemoved) {
  ASSERT_OK(MakeWhole("first"));
  const auto started = Start(on_b_);
  ASSERT_OK(started);
  const std::string copy = started->test.image().text();
  b_.AddSnapshot(copy, "kept", SnapshotKind::kUser);
  EXPECT_THAT(Stop(on_b_, id_),
              StatusIs(kFailedPrecondition, HasSubstr("something else")));
  EXPECT_EQ(b_.Data(copy), 7);
  b_.RemoveSnapshot(copy, "kept");
  b_.EnableMirroring(copy, MirrorMode::kSnapshot);
  EXPECT_THAT(Stop(on_b_, id_),
              StatusIs(kFailedPrecondition, HasSubstr("something else")));
  EXPECT_TRUE(b_.HasImage(copy));
}

// Another daemon was not seen, because it stood still.
TEST_F(TestFailoverTest, ATestThatAnotherDaemonHasBegunIsNotReplaced) {
  ASSERT_OK(MakeWhole("first"));
  const auto started = Start(on_b_);
  ASSERT_OK(started);
  const auto pool =
      pair_.cluster(b_)->OpenPool(pair_.pool_id(b_), "", Access::kMutate);
  ASSERT_OK(pool);
  StartedTest late = started->test;
  late.uuid = "late";
  const std::string key = VolumeHandle(id_).id()->uuid;
  EXPECT_THAT(WriteTest(**pool, key, late),
              StatusIs(absl::StatusCode::kAborted));
  EXPECT_OK(RemoveTest(**pool, key, late));
  EXPECT_EQ(TestsOn(b_).at(key).uuid, started->test.uuid);
}

// Its journal entry is gone, or it never had one.
TEST_F(TestFailoverTest, ATestIsEndedWhoeversJournalEntryIsGone) {
  ASSERT_OK(MakeWhole("first"));
  const auto started = Start(on_b_);
  ASSERT_OK(started);
  ResolvedPlace place = started->place;
  place.uuid = started->test.uuid;
  const auto stopped = Called<StartedTest>([&](OperationContext& context) {
    return StopTestAt(context, on_b_.environment(), place);
  });
  ASSERT_OK(stopped);
  EXPECT_EQ(stopped->uuid, started->test.uuid);
  ExpectNothingLeft(b_);
}

TEST_F(TestFailoverTest, WhoseRoomIsNotKnownIsNotFilled) {
  ASSERT_OK(MakeWhole("first"));
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_mon_command" ? EACCES : 0;
  });
  EXPECT_THAT(Start(on_b_),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("whether its pool has room is not known")));
  world_.SetCallHook(nullptr);
  EXPECT_EQ(world_.CountCalls("b", "rbd_create4"), 0);
}

TEST_F(TestFailoverTest, MovesAndResyncsGoOnBesideIt) {
  ASSERT_OK(MakeWhole("first"));
  const auto started = Start(on_b_);
  ASSERT_OK(started);
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  ASSERT_OK(Promote(on_b_));
  ASSERT_OK(b_.Write(image_, 9));
  world_.Advance(minutes(2));
  EXPECT_EQ(b_.Data(started->test.image().text()), 7);
  EXPECT_OK(Stop(on_b_, id_));
  EXPECT_EQ(b_.Data(image_), 9);
  ExpectNothingLeft(b_);
}

TEST_F(TestFailoverTest, WhatFailsRemovesWhatItMade) {
  ASSERT_OK(MakeWhole("first"));
  for (const char* const call : {"rbd_create4", "rbd_open", "rbd_aio_write",
                                 "rados_read", "rbd_metadata_set"}) {
    SCOPED_TRACE(call);
    Fail(call, EIO, 2);
    const auto failed = Start(on_b_);
    if (!failed.ok()) {
      ExpectNothingLeft(b_);
    } else {
      ADD_FAILURE() << "it did not fail";
    }
    world_.SetCallHook(nullptr);
  }
  EXPECT_OK(Start(on_b_));
}

TEST_F(TestFailoverTest, WhatANewerVersionWroteIsLeftAlone) {
  ASSERT_OK(MakeWhole("first"));
  b_.AddOmapValue(MirroredPair::kPool, "", kTestsObject, "some-volume",
                  R"({"format":2})");
  EXPECT_THAT(Start(on_b_), StatusIs(absl::StatusCode::kUnimplemented,
                                     HasSubstr("a newer one wrote it")));
  EXPECT_EQ(world_.CountCalls("b", "rbd_create4"), 0);
}

class TestFailoverBench final : public TestFailoverTest {
 public:
  TestFailoverBench() { SetUp(); }
  ~TestFailoverBench() override { TearDown(); }
  void TestBody() override {}

  absl::Status StartOn(Daemon& daemon) {
    const auto started = Start(daemon);
    // The answer was lost.
    return absl::IsAlreadyExists(started.status()) ? absl::OkStatus()
                                                   : started.status();
  }
  absl::Status StopOn(Daemon& daemon) { return Stop(daemon, id_).status(); }
  Daemon& acting() { return on_b_; }

  using TestFailoverTest::b_;
  using TestFailoverTest::ExpectNothingLeft;
  using TestFailoverTest::Listed;
  using TestFailoverTest::MakeWhole;
  using TestFailoverTest::pair_;
  using TestFailoverTest::world_;
};

TEST(TestFailoverCrashTest, ATestThatWasBegunIsMadeByTheRepeat) {
  DieAtEachChange<TestFailoverBench>(
      &TestFailoverBench::StartOn,
      [](TestFailoverBench& bench) { ASSERT_OK(bench.MakeWhole("first")); },
      [](TestFailoverBench& bench, Daemon& next) {
        const auto tests = bench.Listed(next);
        ASSERT_EQ(tests.size(), 1U);
        EXPECT_EQ(tests.front().state, ListedTest::State::kReady);
        EXPECT_EQ(bench.b_.Data(tests.front().test.image().text()), 7);
        // Nothing of the first try is left beside it.
        ASSERT_OK(bench.StopOn(next));
        bench.ExpectNothingLeft(bench.b_);
      });
}

TEST(TestFailoverCrashTest, ATestThatWasToEndIsGoneAfterTheRepeat) {
  DieAtEachChange<TestFailoverBench>(
      &TestFailoverBench::StopOn,
      [](TestFailoverBench& bench) {
        ASSERT_OK(bench.MakeWhole("first"));
        ASSERT_OK(bench.StartOn(bench.acting()));
      },
      [](TestFailoverBench& bench, Daemon&) {
        bench.ExpectNothingLeft(bench.b_);
      });
}

}  // namespace
}  // namespace addons::testing
