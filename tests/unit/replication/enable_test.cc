// Enabling: modes, pools that are not ready, parents.

#include "replication/steps/enable.h"

#include <cerrno>

#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "replication/steps/mirror_schedule.h"
#include "tests/fakes/local_notes.h"
#include "tests/unit/replication/verbs_fixture.h"
#include "volume/told_entry.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kEnabledParent[] = "golden";

class EnableTest : public VerbsTest {
 protected:
  /// The volume is a clone of an image that is not mirrored.
  void AddClone() {
    a_.AddImage(MirroredPair::kPool, "", kEnabledParent);
    a_.AddClone(kEnabledParent, image_);
    pair_.AddJournal(a_, kUuid);
    id_ = pair_.VolumeId(a_, kUuid);
  }
  bool HasParent() {
    auto pool =
        pair_.cluster(a_)->OpenPool(pair_.pool_id(a_), "", Access::kRead);
    return (*(*pool)->OpenImageReadOnly(ImageName(image_)))
        ->Parent()
        ->has_value();
  }
  const ParameterMap journal_{{"mirroringMode", "journal"}};
  const ParameterMap flatten_{{"flattenMode", "force"}};
};

TEST_F(EnableTest, ImageBecomesPrimary) {
  AddPlain();
  EXPECT_OK(Enable(on_a_));
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kEnabled);
  EXPECT_EQ(a_.Info(image_).mode, MirrorMode::kSnapshot);
  EXPECT_TRUE(a_.Info(image_).primary);
}

TEST_F(EnableTest, SetsTheScheduleThatItAsksFor) {
  AddPlain();
  EXPECT_OK(Enable(on_a_, {{"schedulingInterval", "7m"}}));
  EXPECT_THAT(a_.Schedules(), HasSubstr("7m"));
  EXPECT_THAT(Noted(a_, image_).schedule, HasSubstr("7m"));
  // What the other site copies tells it.
  EXPECT_THAT(a_.ImageMetadata(image_),
              Contains(Pair(kScheduleMark, HasSubstr("7m"))));
  world_.ClearCalls();
  EXPECT_OK(Enable(on_a_, {{"schedulingInterval", "7m"}}));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(EnableTest, SetsTheScheduleOfAPrimaryThatHasNone) {
  AddMirrored();
  EXPECT_OK(Enable(on_a_, {{"schedulingInterval", "7m"}}));
  EXPECT_THAT(a_.Schedules(), HasSubstr("7m"));
}

TEST_F(EnableTest, LeavesTheScheduleThatIsNoted) {
  AddMirrored();
  ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "1h"}}));
  EXPECT_OK(Enable(on_a_, {{"schedulingInterval", "7m"}}));
  EXPECT_THAT(a_.Schedules(), Not(HasSubstr("7m")));
}

TEST_F(EnableTest, AManagerThatIsAwayKeepsNoEnableFromOk) {
  AddPlain();
  a_.SetMgrModuleReady(false);
  EXPECT_OK(Enable(on_a_, {{"schedulingInterval", "7m"}}));
  EXPECT_THAT(on_a_.environment().due_schedules.All(), SizeIs(1));
}

TEST_F(EnableTest, AClientThatDoesNotPauseItsWritesIsNamed) {
  AddPlain();
  a_.AddWatcher(image_, "10.0.0.7:0/77", 4711);
  Fail("rbd_mirror_image_enable2", ETIMEDOUT, 1);
  EXPECT_THAT(Enable(on_a_),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("quiesce hook"),
                             HasSubstr("client.4711 at 10.0.0.7:0/77"))));
  EXPECT_OK(Enable(on_a_));
}

TEST_F(EnableTest, RepeatChangesNothing) {
  AddPlain();
  ASSERT_OK(Enable(on_a_));
  world_.ClearCalls();
  EXPECT_OK(Enable(on_a_));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_EQ(world_.CountCalls("a", "rbd_open"), 0);
}

/// A volume of a ceph-csi that notes no names at images.
class NoteVolumeTest : public EnableTest {
 protected:
  NoteVolumeTest() {
    a_.AddImage(MirroredPair::kPool, "", image_);
    pair_.AddJournal(a_, kUuid);
    id_ = pair_.VolumeId(a_, kUuid);
  }
  static ToldEntry ToldOn(const FakeSite& site, const std::string& image) {
    return ReadToldEntry(site.ImageMetadata(image), kUuid);
  }
  void ExpectTold(const FakeSite& site) {
    const ToldEntry told = ToldOn(site, image_);
    EXPECT_EQ(told.request_name, MirroredPair::RequestName(kUuid));
    EXPECT_EQ(told.owner, "ns1");
  }
};

TEST_F(NoteVolumeTest, EnableNotesItAndItTravels) {
  ASSERT_OK(Enable(on_a_));
  ExpectTold(a_);
  ASSERT_TRUE(world_.AdvanceUntil([&] { return pair_.InSync(b_, image_); },
                                  minutes(2)));
  ExpectTold(b_);
  world_.ClearCalls();
  EXPECT_OK(Enable(on_a_));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(NoteVolumeTest, WhereCephCsiNotesItNothingIsAdded) {
  a_.SetImageMetadata(image_, "csi.storage.k8s.io/pv/name",
                      MirroredPair::RequestName(kUuid));
  a_.SetImageMetadata(image_, "csi.storage.k8s.io/pvc/namespace", "ns1");
  ASSERT_OK(Enable(on_a_));
  EXPECT_FALSE(a_.ImageMetadata(image_).contains(kVolumeNoteKey));
}

// As an earlier version has enabled it.
TEST_F(NoteVolumeTest, OneThatIsReplicatedAlreadyIsNotedByTheNextCall) {
  a_.EnableMirroring(image_);
  ASSERT_TRUE(world_.AdvanceUntil([&] { return pair_.InSync(b_, image_); },
                                  minutes(2)));
  ASSERT_OK(Enable(on_a_));
  ExpectTold(a_);
  // Not on the other site, which may not write.
  EXPECT_EQ(ToldOn(b_, image_).source, ToldEntry::Source::kNothing);
  id_ = pair_.VolumeId(b_, kUuid);
  pair_.AddJournal(b_, kUuid);
  world_.ClearCalls();
  EXPECT_OK(Enable(on_b_));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(NoteVolumeTest, ReplicationDoesNotDependOnIt) {
  a_.EnableMirroring(image_);
  Fail("rbd.metadata_set", EROFS, 1);
  EXPECT_OK(Enable(on_a_));
  EXPECT_EQ(ToldOn(a_, image_).source, ToldEntry::Source::kNothing);
  EXPECT_OK(Enable(on_a_));
  ExpectTold(a_);
}

TEST_F(EnableTest, SecondaryIsEnabledAlready) {
  AddMirrored();
  world_.ClearCalls();
  EXPECT_OK(Enable(on_b_));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_EQ(world_.CountCalls("b", "rbd_open"), 0);
}

TEST_F(EnableTest, JournalModeIsEnabled) {
  AddPlain();
  EXPECT_OK(Enable(on_a_, journal_));
  EXPECT_EQ(a_.Info(image_).mode, MirrorMode::kJournal);
}

TEST_F(EnableTest, OtherModeIsRefused) {
  AddMirrored();
  EXPECT_THAT(Enable(on_a_, journal_),
              StatusIs(kFailedPrecondition, HasSubstr("mirroringMode")));
  EXPECT_THAT(Enable(on_b_, journal_), StatusIs(kFailedPrecondition));
}

TEST_F(EnableTest, SnapshotModeIsRefusedOnAJournalImage) {
  AddPlain();
  ASSERT_OK(Enable(on_a_, journal_));
  EXPECT_THAT(Enable(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("journal mode already")));
}

TEST_F(EnableTest, PoolWithoutMirroringIsRefusedWithTheCommand) {
  AddPlain();
  a_.SetPoolMirrorMode(MirroredPair::kPool, "", PoolMirrorMode::kDisabled);
  EXPECT_THAT(Enable(on_a_),
              StatusIs(kFailedPrecondition,
                       HasSubstr("rbd mirror pool enable replicapool image")));
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(EnableTest, PoolMirroredAsAWholeIsRefusedWithTheCommand) {
  AddPlain();
  a_.SetPoolMirrorMode(MirroredPair::kPool, "", PoolMirrorMode::kPool);
  EXPECT_THAT(Enable(on_a_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("as a whole"),
                             HasSubstr("rbd mirror pool enable"))));
}

TEST_F(EnableTest, NamespaceIsNamedInTheCommand) {
  id_ = pair_.AddVolume(a_, kUuid, uint64_t{4} << 20, MirroredPair::kNamespace);
  a_.SetPoolMirrorMode(MirroredPair::kPool, MirroredPair::kNamespace,
                       PoolMirrorMode::kDisabled);
  EXPECT_THAT(
      Enable(on_a_),
      StatusIs(kFailedPrecondition,
               HasSubstr("rbd mirror pool enable replicapool/tenant1 image")));
}

TEST_F(EnableTest, VolumeOfANamespaceIsEnabled) {
  id_ = pair_.AddVolume(a_, kUuid, uint64_t{4} << 20, MirroredPair::kNamespace);
  EXPECT_OK(Enable(on_a_));
  EXPECT_TRUE(a_.Info(image_).primary);
}

TEST_F(EnableTest, DisablingIsAwaitedAndThenEnabled) {
  AddMirrored();
  a_.SetMirrorImageState(image_, MirrorImageState::kDisabling);
  world_.Schedule(seconds(10), [this] {
    a_.SetMirrorImageState(image_, MirrorImageState::kDisabled);
  });
  EXPECT_OK(Enable(on_a_));
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kEnabled);
}

TEST_F(EnableTest, DisablingThatDoesNotEndIsUnavailable) {
  AddMirrored();
  a_.SetMirrorImageState(image_, MirrorImageState::kDisabling);
  EXPECT_THAT(Enable(on_a_),
              StatusIs(kUnavailable, HasSubstr("is being disabled")));
}

TEST_F(EnableTest, CloneIsRefusedInSnapshotModeWithTheWaysOut) {
  AddClone();
  const auto refused = [] {
    return StatusIs(
        kFailedPrecondition,
        AllOf(HasSubstr(kEnabledParent), HasSubstr("loses"),
              HasSubstr("flattenMode: \"force\""), HasSubstr("journal")));
  };
  EXPECT_THAT(Enable(on_a_), refused());
  // Mirroring the parent as well does not help.
  a_.EnableMirroring(kEnabledParent);
  EXPECT_THAT(Enable(on_a_), refused());
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kDisabled);
  EXPECT_TRUE(HasParent());
}

TEST_F(EnableTest, JournalModeRefusesACloneOfAnImageThatIsNotMirrored) {
  AddClone();
  EXPECT_THAT(Enable(on_a_, journal_),
              StatusIs(kFailedPrecondition, AllOf(HasSubstr(kEnabledParent),
                                                  HasSubstr("not mirrored"),
                                                  HasSubstr("flattenMode"))));
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kDisabled);
}

TEST_F(EnableTest, JournalModeTakesACloneOfAMirroredImage) {
  AddClone();
  a_.EnableMirroring(kEnabledParent);
  EXPECT_OK(Enable(on_a_, journal_));
  EXPECT_TRUE(HasParent());
}

TEST_F(EnableTest, CloneIsFlattenedByTheManagerWhereAsked) {
  AddClone();
  deadline_ = minutes(10);
  EXPECT_OK(Enable(on_a_, flatten_));
  EXPECT_FALSE(HasParent());
  EXPECT_TRUE(a_.Info(image_).primary);
  EXPECT_EQ(world_.CountCalls("a", "rbd_flatten_with_progress"), 0);
}

TEST_F(EnableTest, FlatteningGoesOnWhenTheCallerLeaves) {
  AddClone();
  deadline_ = seconds(2);
  EXPECT_OK(Enable(on_a_, flatten_));
  EXPECT_FALSE(HasParent());
}

TEST_F(EnableTest, CloneIsFlattenedHereWhereTheTaskQueueIsForbidden) {
  AddClone();
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_mgr_command" ? EACCES : 0;
  });
  EXPECT_OK(Enable(on_a_, flatten_));
  EXPECT_FALSE(HasParent());
  EXPECT_EQ(world_.CountCalls("a", "rbd_flatten_with_progress"), 1);
}

TEST_F(EnableTest, FlattenModeDoesNotMatterWithoutAParent) {
  AddPlain();
  EXPECT_OK(Enable(on_a_, flatten_));
  EXPECT_EQ(world_.CountCalls("a", "rados_mgr_command"), 0);
}

TEST_F(EnableTest, FlattenedCloneIsNotTouchedByTheRepeat) {
  AddClone();
  ASSERT_OK(Enable(on_a_, flatten_));
  world_.ClearCalls();
  EXPECT_OK(Enable(on_a_, flatten_));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(EnableTest, MissingImageIsNotFound) {
  AddPlain();
  a_.RemoveImage(image_);
  EXPECT_THAT(Enable(on_a_), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(EnableTest, ImageThatACrashLeftCreatingIsEnabled) {
  AddMirrored();
  a_.SetMirrorImageState(image_, MirrorImageState::kCreating);
  EXPECT_OK(Enable(on_a_));
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kEnabled);
  EXPECT_TRUE(a_.Info(image_).primary);
}

TEST_F(EnableTest, EnableOfAnotherClientIsNotTakenBack) {
  AddMirrored();
  a_.SetMirrorImageState(image_, MirrorImageState::kCreating);
  world_.Schedule(std::chrono::milliseconds(500), [this] {
    a_.SetMirrorImageState(image_, MirrorImageState::kEnabled);
  });
  world_.ClearCalls();
  EXPECT_OK(Enable(on_a_));
  EXPECT_GE(took_, on_a_.options().poll_interval);
  EXPECT_EQ(world_.CountCalls("a", "rbd_mirror_image_disable"), 0);
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(EnableTest, RbdMirrorThatTakingAnEnableBackBlocklistedIsNoDeadPeer) {
  AddPlain();
  a_.InterruptEnable(image_);
  BlocklistMirrorAfter("rbd_mirror_image_disable");
  EXPECT_OK(Enable(on_a_));
  EXPECT_TRUE(Disturbed(on_a_));
}

TEST_F(EnableTest, EnableThatACrashLeftWithoutASnapshotIsFinished) {
  AddPlain();
  a_.InterruptEnable(image_);
  EXPECT_OK(Enable(on_a_));
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kEnabled);
  EXPECT_TRUE(a_.Info(image_).primary);
}

TEST_F(EnableTest, ImageThatRbdMirrorIsJustCreatingIsLeftToIt) {
  AddMirrored();
  // Made by rbd-mirror, and nobody has reported on it yet.
  a_.SetClusterUp(false);
  b_.SetMirrorImageState(image_, MirrorImageState::kCreating);
  b_.RemoveMirrorSnapshots(image_);
  b_.RemoveStatuses(image_);
  world_.ClearCalls();
  EXPECT_OK(Enable(on_b_));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_EQ(b_.Info(image_).state, MirrorImageState::kCreating);
  EXPECT_FALSE(b_.Info(image_).primary);
}

TEST_F(EnableTest, EnableThatHadNoEffectIsNoSuccess) {
  AddPlain();
  world_.SetCallHook(
      nullptr, [this](absl::string_view, absl::string_view call, bool) {
        if (call == "rbd_mirror_image_enable2") {
          a_.SetMirrorImageState(image_, MirrorImageState::kDisabled);
        }
        return 0;
      });
  EXPECT_THAT(Enable(on_a_), StatusIs(kUnavailable));
}

}  // namespace
}  // namespace addons::testing
