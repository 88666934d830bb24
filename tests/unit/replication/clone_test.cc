// Clones that somebody else mirrored by snapshots: what is lost is said until
// it is repaired.

#include <map>

#include "ceph/pool.h"
#include "inspection/clone_audit.h"
#include "replication/look/mirrored_clone.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kParent[] = "golden";

class MirroredCloneTest : public VerbsTest {
 protected:
  /// As ceph-csi does it: parent and clone are mirrored.
  MirroredCloneTest() {
    a_.AddImage(MirroredPair::kPool, "", kParent);
    a_.AddClone(kParent, image_);
    a_.EnableMirroring(kParent);
    a_.EnableMirroring(image_);
    pair_.AddJournal(a_, kUuid);
    id_ = pair_.VolumeId(a_, kUuid);
    EXPECT_TRUE(world_.AdvanceUntil(
        [this] { return b_.HasImage(image_) && pair_.InSync(b_, image_); },
        minutes(3)));
    pair_.AddJournal(b_, kUuid);
    world_.Advance(minutes(1));
  }

  /// What ceph-csi does by itself.
  void Flatten() {
    auto pool =
        pair_.cluster(a_)->OpenPool(pair_.pool_id(a_), "", Access::kMutate);
    auto image = (*pool)->OpenImage(ImageName(image_));
    ASSERT_OK(image);
    ASSERT_OK((*image)->Flatten([](uint64_t, uint64_t) { return true; }));
    ASSERT_OK((*image)->Close());
  }
  void Copy() {
    a_.CreateMirrorSnapshot(image_);
    ASSERT_TRUE(world_.AdvanceUntil([this] { return pair_.InSync(b_, image_); },
                                    minutes(1)));
  }
  std::string InfoText(Daemon& daemon, ReplicationHealth health) {
    const auto info = Info(daemon);
    EXPECT_OK(info);
    if (!info.ok()) return "";
    EXPECT_EQ(info->health, health) << info->message;
    return info->message;
  }
  std::string Mark(FakeSite& site) {
    auto pool =
        pair_.cluster(site)->OpenPool(pair_.pool_id(site), "", Access::kRead);
    return (*(*pool)->OpenImageReadOnly(ImageName(image_)))
        ->Metadata(kCloneMark)
        ->value_or("");
  }
};

TEST_F(MirroredCloneTest, InfoIsAnErrorThatNamesParentAndRepair) {
  EXPECT_THAT(
      InfoText(on_a_, ReplicationHealth::kError),
      AllOf(HasSubstr("clone of 'replicapool/golden'"),
            HasSubstr("rbd flatten replicapool/" + image_),
            HasSubstr("rbd mirror image resync replicapool/" + image_)));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(MirroredCloneTest, DemoteIsRefusedBeforeAnythingChanges) {
  world_.ClearCalls();
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("clone of"), HasSubstr("rbd flatten"))));
  EXPECT_EQ(mutations_begun_, 0);
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_TRUE(a_.Info(image_).primary);
}

TEST_F(MirroredCloneTest, EnableRemembersThatItHadAParent) {
  ASSERT_OK(Enable(on_a_));
  EXPECT_THAT(Mark(a_), HasSubstr("golden"));
  world_.ClearCalls();
  ASSERT_OK(Enable(on_a_));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(MirroredCloneTest, PromoteOfThePrimaryRemembersIt) {
  ASSERT_OK(Promote(on_a_));
  EXPECT_THAT(Mark(a_), HasSubstr("golden"));
}

TEST_F(MirroredCloneTest, FlatteningBySomebodyElseIsSeenOnBothSites) {
  ASSERT_OK(Promote(on_a_));
  Flatten();
  Copy();
  EXPECT_THAT(
      InfoText(on_a_, ReplicationHealth::kError),
      AllOf(HasSubstr("was flattened"), HasSubstr("rbd mirror image resync"),
            HasSubstr(kCloneMark)));
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("was flattened")));
  EXPECT_THAT(InfoText(on_b_, ReplicationHealth::kError),
              HasSubstr("was flattened"));
}

TEST_F(MirroredCloneTest, OnceTheMarkIsRemovedItIsAnOrdinaryVolume) {
  ASSERT_OK(Promote(on_a_));
  Flatten();
  auto pool =
      pair_.cluster(a_)->OpenPool(pair_.pool_id(a_), "", Access::kMutate);
  auto image = (*pool)->OpenImage(ImageName(image_));
  ASSERT_OK((*image)->RemoveMetadata(kCloneMark));
  ASSERT_OK((*image)->Close());
  const auto info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_THAT(info->message, Not(HasSubstr("flattened")));
  EXPECT_OK(Demote(on_a_));
}

TEST_F(MirroredCloneTest, EnablingAnewAfterTheFlatteningIsARepair) {
  ASSERT_OK(Promote(on_a_));
  Flatten();
  ASSERT_OK(Disable(on_a_));
  ASSERT_OK(Enable(on_a_));
  // The mark of the old enabling is still there and says nothing.
  EXPECT_THAT(Mark(a_), HasSubstr("golden"));
  ASSERT_TRUE(world_.AdvanceUntil(
      [this] { return b_.HasImage(image_) && pair_.InSync(b_, image_); },
      minutes(3)));
  world_.Advance(minutes(1));
  const auto info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_THAT(info->message, Not(HasSubstr("flattened")));
  EXPECT_OK(Demote(on_a_));
}

TEST_F(MirroredCloneTest, MarkInheritedFromAnotherImageSaysNothing) {
  ASSERT_OK(Promote(on_a_));
  const std::string mark = Mark(a_);
  constexpr char kOther[] = "6ef79ce1-81e8-439b-8405-35138edf5b89";
  id_ = pair_.AddMirroredVolume(a_, kOther);
  a_.SetImageMetadata(MirroredPair::ImageOf(kOther), kCloneMark, mark);
  EXPECT_OK(Demote(on_a_));
}

TEST_F(MirroredCloneTest, AuditListsClonesAndFlattenedOnesOfAPool) {
  constexpr char kOther[] = "6ef79ce1-81e8-439b-8405-35138edf5b89";
  const std::string second = MirroredPair::ImageOf(kOther);
  a_.AddClone(kParent, second);
  a_.EnableMirroring(second);
  ASSERT_OK(Promote(on_a_));
  Flatten();
  // librbd's list of what is mirrored, which the simulated one does not keep;
  // one of them is gone already.
  for (const std::string& id : {a_.ImageId(image_), a_.ImageId(second),
                                a_.ImageId(kParent), std::string("10gone")}) {
    a_.AddOmapValue(MirroredPair::kPool, "", "rbd_mirroring", "image_" + id,
                    "");
  }
  world_.ClearCalls();
  auto pool = pair_.cluster(a_)->OpenPool(pair_.pool_id(a_), "", Access::kRead);
  const auto findings = AuditMirroredClones(**pool);
  ASSERT_OK(findings);
  EXPECT_EQ(world_.CountMutations(), 0);
  std::map<std::string, CloneState> states;
  for (const CloneFinding& finding : *findings) {
    states[finding.image] = finding.state;
    EXPECT_THAT(finding.text, HasSubstr("rbd mirror image resync"));
  }
  EXPECT_EQ(states, (std::map<std::string, CloneState>{
                        {"replicapool/" + image_, CloneState::kWasFlattened},
                        {"replicapool/" + second, CloneState::kHasParent}}));
}

TEST_F(MirroredCloneTest, AuditOfAPoolThatMirrorsNothingIsEmpty) {
  auto pool = pair_.cluster(a_)->OpenPool(pair_.pool_id(a_), "", Access::kRead);
  const auto findings = AuditMirroredClones(**pool);
  ASSERT_OK(findings);
  EXPECT_TRUE(findings->empty());
}

TEST_F(MirroredCloneTest, JournalModeLosesNothing) {
  ASSERT_OK(Disable(on_a_));
  ASSERT_OK(Enable(on_a_, {{"mirroringMode", "journal"}}));
  const auto info = Info(on_a_);
  EXPECT_THAT(info.ok() ? info->message : std::string(info.status().message()),
              Not(HasSubstr("clone")));
  ASSERT_OK(Promote(on_a_));
  EXPECT_EQ(Mark(a_), "");
}

}  // namespace
}  // namespace addons::testing
