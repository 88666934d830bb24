// Each kind of damage is made on a simulated cluster: it is named with its
// remedy, is not named where it is not, and is unclear where it cannot be seen.

#include "inspection/audit/audit_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/shell_command.h"
#include "ceph/pool.h"
#include "inspection/audit/repair.h"
#include "lease/keeper.h"
#include "lease/who_holds.h"
#include "networkfence/helper_marker.h"
#include "replication/look/rescue_record.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/fakes/test_operation_context.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using std::chrono::hours;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kUuid[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";
constexpr char kOther[] = "b891b493-7754-470d-b2a0-4ca18f698b29";
constexpr char kGroupUuid[] = "1603eb04-e188-4ec4-a750-bec38d49ac0a";
constexpr char kGroup[] = "csi-vol-group-1603eb04-e188-4ec4-a750-bec38d49ac0a";
constexpr char kDirectory[] = "csi.volumes.default";

/// "remedy" or "unclear: seen" of each.
std::vector<std::string> Remedies(const AuditFindings& findings) {
  std::vector<std::string> texts;
  for (const AuditFinding& finding : findings) {
    EXPECT_FALSE(finding.object.empty());
    EXPECT_FALSE(finding.seen.empty());
    texts.push_back(finding.unclear ? absl::StrCat("unclear: ", finding.seen)
                                    : finding.remedy);
  }
  return texts;
}

class AuditPoolTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(world_.Violations(), IsEmpty()); }

  AuditFindings Audit(AuditKind kind) {
    ResolvedPlace place;
    place.cluster_id = ClusterId("site-a");
    place.pool_id = pair_.pool_id(a_);
    place.pool_name = MirroredPair::kPool;
    place.cluster = pair_.cluster(a_);
    request_.kinds = {kind};
    world_.ClearCalls();
    auto findings = AuditPool(threads_, place, request_);
    EXPECT_EQ(world_.CountMutations(), 0);
    EXPECT_OK(findings);
    if (!findings.ok()) return {};
    for (const AuditFinding& finding : *findings) {
      EXPECT_EQ(finding.kind, kind);
    }
    return *std::move(findings);
  }
  /// What `kind` finds while `call` fails.
  AuditFindings AuditFailing(AuditKind kind, const std::string& call) {
    world_.SetCallHook([call](absl::string_view, absl::string_view called,
                              bool) { return called == call ? ETIMEDOUT : 0; });
    auto findings = Audit(kind);
    world_.SetCallHook(nullptr);
    return findings;
  }
  void ExpectUnclear(const AuditFindings& findings) {
    EXPECT_FALSE(findings.empty());
    for (const AuditFinding& finding : findings) {
      EXPECT_TRUE(finding.unclear) << finding.seen;
    }
  }

  /// librbd's lists of images, which the simulated one does not keep.
  void List(const std::string& image, bool mirrored,
            const std::string& rados_namespace = "") {
    const std::string id = a_.ImageId(image);
    const auto size = static_cast<char>(image.size());
    a_.AddOmapValue(MirroredPair::kPool, rados_namespace, "rbd_directory",
                    "id_" + id, std::string({size, 0, 0, 0}) + image);
    if (mirrored) {
      a_.AddOmapValue(MirroredPair::kPool, rados_namespace, "rbd_mirroring",
                      "image_" + id, "");
    }
  }
  void SetJournal(const std::string& object, OmapValues values) {
    a_.SetOmap(MirroredPair::kPool, "", object, std::move(values));
  }
  /// A group with `members` in the journal.
  void AddGroup(const std::vector<std::string>& members) {
    a_.AddOmapValue(MirroredPair::kPool, "", "csi.groups.default",
                    "csi.volume.group.content", kGroupUuid);
    OmapValues values = {{"csi.volname", "content"}, {"csi.groupname", kGroup}};
    for (const std::string& member : members) values[member] = "";
    SetJournal(absl::StrCat("csi.volume.group.", kGroupUuid), values);
  }
  std::unique_ptr<Pool> Mutations() {
    return *pair_.cluster(a_)->OpenPool(pair_.pool_id(a_), "", Access::kMutate);
  }

  AuditRequest request_;
  FakeWorld world_;
  MirroredPair pair_{world_};
  FakeSite& a_ = pair_.a();
  BoundedThreads threads_{"test"};
  const std::string image_ = MirroredPair::ImageOf(kUuid);
};

TEST(RemedyTest, WordsReachTheShellAsTheyAre) {
  EXPECT_EQ(ShellWord("csi-vol-1/a.b:c"), "csi-vol-1/a.b:c");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("it's; rm"), R"('it'\''s; rm')");
  EXPECT_EQ(RadosCommand("p", "ns", {"rm", "$x"}), "rados -p p -N ns rm '$x'");
}

TEST_F(AuditPoolTest, APoolInOrderHasNothing) {
  pair_.AddMirroredVolume(a_, kUuid);
  List(image_, true);
  for (const AuditKind kind :
       {AuditKind::kClones, AuditKind::kJournal, AuditKind::kSchedules,
        AuditKind::kGroups, AuditKind::kRescues, AuditKind::kFences,
        AuditKind::kCopies, AuditKind::kImages}) {
    EXPECT_THAT(Remedies(Audit(kind)), IsEmpty());
  }
}

TEST_F(AuditPoolTest, NameWithoutJournalObject) {
  SetJournal(kDirectory, {{"csi.volume.pvc-1", kUuid}});
  EXPECT_THAT(Remedies(Audit(AuditKind::kJournal)),
              ElementsAre("rados -p replicapool rmomapkey csi.volumes.default "
                          "csi.volume.pvc-1"));
}

TEST_F(AuditPoolTest, StubIsRemovedWithItsObject) {
  SetJournal(kDirectory, {{"csi.volume.pvc-1", kUuid}});
  SetJournal(absl::StrCat("csi.volume.", kUuid), {{"csi.imageid", "1"}});
  EXPECT_THAT(
      Remedies(Audit(AuditKind::kJournal)),
      ElementsAre(absl::StrCat("rados -p replicapool rm csi.volume.", kUuid,
                               " && rados -p replicapool rmomapkey "
                               "csi.volumes.default csi.volume.pvc-1")));
}

TEST_F(AuditPoolTest, StubOfAnImageThatIsThereIsWritten) {
  a_.AddImage(MirroredPair::kPool, "", image_);
  List(image_, false);
  SetJournal(kDirectory, {{"csi.volume.pvc-1", kUuid}});
  EXPECT_THAT(Remedies(Audit(AuditKind::kJournal)),
              ElementsAre(HasSubstr(
                  absl::StrCat("rados -p replicapool setomapval csi.volume.",
                               kUuid, " csi.volname pvc-1 && "))));
}

TEST_F(AuditPoolTest, NameOfAnImageThatIsNotThere) {
  pair_.AddVolume(a_, kUuid);  // not in librbd's list
  const AuditFindings findings = Audit(AuditKind::kJournal);
  EXPECT_THAT(Remedies(findings),
              ElementsAre(AllOf(HasSubstr("rm csi.volume.5ef79ce1"),
                                HasSubstr("rmomapkey csi.volumes.default "))));
  // That it may be needed has to be said before that command.
  EXPECT_THAT(findings.front().seen, HasSubstr("resync"));
}

// What is removed for one that is gone is all that leads to this one.
TEST_F(AuditPoolTest, NameOfAnImageThatWasRenamed) {
  pair_.AddVolume(a_, kUuid);
  a_.RenameImage(image_, "mine");
  List("mine", true);
  const AuditFindings findings = Audit(AuditKind::kJournal);
  EXPECT_THAT(Remedies(findings),
              ElementsAre(absl::StrCat(
                  "rbd rename replicapool/mine replicapool/", image_)));
  EXPECT_THAT(findings.front().seen, HasSubstr("it was renamed"));
}

TEST_F(AuditPoolTest, JournalObjectToWhichNoNameLeads) {
  pair_.AddVolume(a_, kUuid);
  List(image_, false);
  EXPECT_THAT(Remedies(Audit(AuditKind::kJournal)), IsEmpty());
  SetJournal(kDirectory, {});
  const std::string set = absl::StrCat(
      "rados -p replicapool setomapval csi.volumes.default csi.volume.",
      MirroredPair::RequestName(kUuid), " ", kUuid);
  EXPECT_THAT(Remedies(Audit(AuditKind::kJournal)), ElementsAre(set));
  // The name is another volume's: nobody can tell which is right.
  pair_.AddVolume(a_, kOther);
  List(MirroredPair::ImageOf(kOther), false);
  SetJournal(kDirectory,
             {{"csi.volume." + MirroredPair::RequestName(kUuid), kOther}});
  EXPECT_THAT(Remedies(Audit(AuditKind::kJournal)),
              ElementsAre(HasSubstr("unclear: its journal object says")));
}

TEST_F(AuditPoolTest, MirroredImageThatTheJournalDoesNotKnow) {
  a_.AddImage(MirroredPair::kPool, "", image_);
  List(image_, false);
  EXPECT_THAT(Remedies(Audit(AuditKind::kJournal)), IsEmpty());
  List(image_, true);
  EXPECT_THAT(Remedies(Audit(AuditKind::kJournal)),
              ElementsAre(absl::StrCat("rbd-addons adopt ", MirroredPair::kPool,
                                       "/", image_, " --yes")));
}

TEST_F(AuditPoolTest, MirroredNamespacesAreLookedAtToo) {
  a_.SetOmap(MirroredPair::kPool, MirroredPair::kNamespace, kDirectory,
             {{"csi.volume.pvc-1", kUuid}});
  EXPECT_THAT(Remedies(Audit(AuditKind::kJournal)),
              ElementsAre("rados -p replicapool -N tenant1 rmomapkey "
                          "csi.volumes.default csi.volume.pvc-1"));
  EXPECT_THAT(
      Remedies(AuditFailing(AuditKind::kJournal, "rbd_namespace_list")),
      ElementsAre(HasSubstr("unclear: its RADOS namespaces could not be")));
}

TEST_F(AuditPoolTest, JournalThatCannotBeReadIsUnclear) {
  pair_.AddMirroredVolume(a_, kUuid);
  List(image_, true);
  ExpectUnclear(
      AuditFailing(AuditKind::kJournal, "rados_read_op_omap_get_vals2"));
  SetJournal(kDirectory, {{"csi.volume.pvc-1", kUuid}});
  SetJournal(absl::StrCat("csi.volume.", kUuid), {});
  ExpectUnclear(AuditFailing(AuditKind::kJournal,
                             "rados_read_op_omap_get_vals_by_keys2"));
}

TEST_F(AuditPoolTest, ScheduleOfAnImageThatIsGone) {
  a_.AddImage(MirroredPair::kPool, "", image_);
  SetJournal("rbd_mirror_snapshot_schedule",
             {{"2//10gone", "[]"}, {"2//" + a_.ImageId(image_), "[]"}});
  EXPECT_THAT(Remedies(Audit(AuditKind::kSchedules)),
              ElementsAre("rados -p replicapool rmomapkey "
                          "rbd_mirror_snapshot_schedule 2//10gone"));
  ExpectUnclear(AuditFailing(AuditKind::kSchedules, "rados_list_watchers"));
}

TEST_F(AuditPoolTest, SchedulesThatDoSomethingElseThanTheySay) {
  a_.AddImage(MirroredPair::kPool, "", image_);
  List(image_, false);
  SetJournal(
      "rbd_mirror_snapshot_schedule",
      {{"2//" + a_.ImageId(image_),
        R"([{"interval": "0d", "start_time": null}, {"interval": "5m"}])"},
       {"2", R"([{"interval": "1d", "start_time": "14:00:00-05:00"},
                {"interval": "2d", "start_time": "14:00:00+00:00"}])"}});
  EXPECT_THAT(
      Remedies(Audit(AuditKind::kSchedules)),
      ElementsAre("rbd mirror snapshot schedule remove --pool replicapool 1d "
                  "14:00:00-05:00",
                  absl::StrCat("rbd mirror snapshot schedule remove --pool "
                               "replicapool --image ",
                               image_, " 0d")));
}

TEST_F(AuditPoolTest, AScheduleThatNobodyCanReadIsUnclear) {
  a_.AddImage(MirroredPair::kPool, "", image_);
  List(image_, false);
  SetJournal("rbd_mirror_snapshot_schedule",
             {{"2//" + a_.ImageId(image_), R"([{"interval": "nonsense"}])"},
              {"2/", R"([{"interval": "5m"}])"},
              {"2", "no JSON"}});
  const AuditFindings findings = Audit(AuditKind::kSchedules);
  ExpectUnclear(findings);
  EXPECT_THAT(
      Remedies(findings),
      ElementsAre(HasSubstr("`rbd mirror snapshot schedule remove --pool "
                            "replicapool`"),
                  HasSubstr(absl::StrCat("`rbd mirror snapshot schedule remove "
                                         "--pool replicapool --image ",
                                         image_, "`"))));
}

TEST_F(AuditPoolTest, MembersAndRbdGroupDiffer) {
  const std::string id = pair_.AddVolume(a_, kUuid);
  List(image_, false);
  AddGroup({id});
  const std::string group = absl::StrCat("replicapool/", kGroup);
  const std::string add =
      absl::StrCat("rbd group image add ", group, " replicapool/", image_);
  EXPECT_THAT(Remedies(Audit(AuditKind::kGroups)),
              ElementsAre(AllOf(HasSubstr("rbd group create " + group),
                                HasSubstr(add))));
  ASSERT_OK(Mutations()->CreateGroup(kGroup));
  ASSERT_OK(
      Mutations()->AddGroupImage(kGroup, pair_.pool_id(a_), ImageName(image_)));
  EXPECT_THAT(Remedies(Audit(AuditKind::kGroups)), IsEmpty());
  ExpectUnclear(AuditFailing(AuditKind::kGroups, "rbd_group_image_list"));
  ExpectUnclear(
      AuditFailing(AuditKind::kGroups, "rados_read_op_omap_get_vals2"));
  AddGroup({});
  EXPECT_THAT(Remedies(Audit(AuditKind::kGroups)),
              ElementsAre(absl::StrCat("rbd group image remove ", group,
                                       " replicapool/", image_)));
  // A member that cannot be followed may be that image.
  AddGroup({pair_.VolumeId(pair_.b(), kOther)});
  ExpectUnclear(Audit(AuditKind::kGroups));
}

TEST_F(AuditPoolTest, IncompleteMemberIsAddedOnceMore) {
  const std::string id = pair_.AddVolume(a_, kUuid);
  List(image_, false);
  AddGroup({id});
  ASSERT_OK(Mutations()->CreateGroup(kGroup));
  a_.LeaveGroupImageIncomplete(MirroredPair::kPool, "", kGroup,
                               a_.ImageId(image_));
  const AuditFindings findings = Audit(AuditKind::kGroups);
  EXPECT_THAT(Remedies(findings),
              ElementsAre(absl::StrCat("rbd group image add replicapool/",
                                       kGroup, " replicapool/", image_)));
  EXPECT_THAT(findings.front().seen, HasSubstr("incomplete"));
}

TEST_F(AuditPoolTest, SecondaryImageIsTakenOutOfItsRbdGroup) {
  const std::string id = pair_.AddMirroredVolume(a_, kUuid);
  List(image_, true);
  AddGroup({id});
  ASSERT_OK(Mutations()->CreateGroup(kGroup));
  ASSERT_OK(
      Mutations()->AddGroupImage(kGroup, pair_.pool_id(a_), ImageName(image_)));
  EXPECT_THAT(Remedies(Audit(AuditKind::kGroups)), IsEmpty());
  a_.Demote(image_);
  EXPECT_THAT(Remedies(Audit(AuditKind::kGroups)),
              ElementsAre(HasSubstr("rbd group image remove ")));
  ExpectUnclear(AuditFailing(AuditKind::kGroups, "rbd_mirror_image_info_list"));
}

// As the sources of a Ceph note it that is not released.
TEST_F(AuditPoolTest, AGroupThatCephMirrorsAsAGroupIsNamed) {
  a_.AddOmapValue(MirroredPair::kPool, "", "rbd_mirroring", "group_1234abcd",
                  "");
  SetJournal("rbd_group_directory",
             {{"id_1234abcd", std::string({4, 0, 0, 0}) + "apps"}});
  const AuditFindings findings = Audit(AuditKind::kGroups);
  ASSERT_THAT(Remedies(findings), ElementsAre(""));
  EXPECT_EQ(findings.front().object, "replicapool/apps");
  EXPECT_THAT(findings.front().seen, HasSubstr("mirrors this rbd group"));
  ExpectUnclear(
      AuditFailing(AuditKind::kGroups, "rados_read_op_omap_get_vals2"));
}

TEST_F(AuditPoolTest, NameOfAGroupThatIsNotThere) {
  a_.AddOmapValue(MirroredPair::kPool, "", "csi.groups.default",
                  "csi.volume.group.content", kGroupUuid);
  EXPECT_THAT(Remedies(Audit(AuditKind::kGroups)),
              ElementsAre("rados -p replicapool rmomapkey csi.groups.default "
                          "csi.volume.group.content"));
}

TEST_F(AuditPoolTest, RescueImagesAreRemovedOnlyWhenTheyAreDone) {
  pair_.AddVolume(a_, kUuid);
  List(image_, false);
  const ImageName rescue = RescueImageName(ImageName(image_));
  a_.AddImage(MirroredPair::kPool, "", rescue.text());
  List(rescue.text(), false);
  const auto write = [&](RescueStep step, const std::string& image_id) {
    const auto image = Mutations()->OpenImage(rescue);
    ASSERT_OK(image);
    RescueRecord record;
    record.step = step;
    record.image_id = image_id;
    ASSERT_OK(WriteRescueRecord(**image, record));
    ASSERT_OK((*image)->Close());
  };
  const std::string remove = "rbd rm replicapool/" + rescue.text();
  write(RescueStep::kRestored, a_.ImageId(image_));
  EXPECT_THAT(Remedies(Audit(AuditKind::kRescues)), ElementsAre(remove));
  for (const RescueStep needed :
       {RescueStep::kSaving, RescueStep::kSaved, RescueStep::kPromoting,
        RescueStep::kWritten, RescueStep::kWhole}) {
    write(needed, a_.ImageId(image_));
    EXPECT_THAT(Remedies(Audit(AuditKind::kRescues)),
                ElementsAre(HasSubstr("unclear: a forced promotion of")));
  }
  write(RescueStep::kSaved, "10gone");
  EXPECT_THAT(Remedies(Audit(AuditKind::kRescues)), ElementsAre(remove));
  ExpectUnclear(AuditFailing(AuditKind::kRescues, "rbd_open_read_only"));
}

TEST_F(AuditPoolTest, HalfDisabledImage) {
  pair_.AddMirroredVolume(a_, kUuid);
  List(image_, true);
  a_.InterruptDisable(image_);
  EXPECT_THAT(Remedies(Audit(AuditKind::kRescues)),
              ElementsAre("rbd mirror image disable replicapool/" + image_));
  ExpectUnclear(
      AuditFailing(AuditKind::kRescues, "rbd_mirror_image_info_list"));
}

TEST_F(AuditPoolTest, AnImageThatIsOnlyAName) {
  pair_.AddMirroredVolume(a_, kUuid);
  List(image_, true);
  a_.AddOmapValue(MirroredPair::kPool, "", "rbd_directory", "id_10868190e7ae",
                  std::string({4, 0, 0, 0}) + "half");
  a_.AddOmapValue(MirroredPair::kPool, "", "rbd_directory", "name_half",
                  std::string({12, 0, 0, 0}) + "10868190e7ae");
  EXPECT_THAT(Remedies(Audit(AuditKind::kRescues)),
              ElementsAre("rbd rm replicapool/half"));
  ExpectUnclear(AuditFailing(AuditKind::kRescues,
                             "rados_read_op_omap_get_vals_by_keys2"));
}

TEST_F(AuditPoolTest, AnImageThatIsRemovedMeanwhileIsNoFinding) {
  a_.AddOmapValue(MirroredPair::kPool, "", "rbd_directory", "id_10868190e7ae",
                  std::string({4, 0, 0, 0}) + "gone");
  // Between the look for the image and the one at its name.
  world_.SetCallHook([this](absl::string_view, absl::string_view call, bool) {
    if (call == "rados_read_op_omap_get_vals_by_keys2") {
      a_.SetOmap(MirroredPair::kPool, "", "rbd_directory", {});
    }
    return 0;
  });
  EXPECT_THAT(Remedies(Audit(AuditKind::kRescues)), IsEmpty());
}

TEST_F(AuditPoolTest, FenceThatEndsSoon) {
  a_.AddRangeBlocklistEntry("192.168.1.0:0/24", hours(23));
  a_.AddRangeBlocklistEntry("192.168.2.0:0/24", hours(25));
  EXPECT_THAT(Remedies(Audit(AuditKind::kFences)),
              ElementsAre("rbd-addons fence 192.168.1.0/24 --cluster site-a "
                          "--secrets-file SECRETS-FILE"));
}

TEST_F(AuditPoolTest, FenceThatHitsAService) {
  a_.SetService("osd.3", "192.168.1.3:6800", true);
  a_.AddRangeBlocklistEntry("192.168.1.3:0/32", hours(1000));
  a_.AddBlocklistEntry("192.168.1.3:0/0", hours(1000));
  a_.AddRangeBlocklistEntry("192.168.2.0:0/24", hours(1000));
  const AuditFindings findings = Audit(AuditKind::kFences);
  EXPECT_THAT(Remedies(findings),
              ::testing::UnorderedElementsAre(
                  "ceph osd blocklist range rm 192.168.1.3/32",
                  "ceph osd blocklist rm 192.168.1.3:0/0"));
  EXPECT_THAT(findings.front().seen, HasSubstr("osd.3 at 192.168.1.3"));
}

TEST_F(AuditPoolTest, HalfChangedFence) {
  a_.AddRangeBlocklistEntry("192.168.1.0:0/24", hours(1000));
  a_.AddBlocklistEntry(
      HelperMarker{*Cidr::Parse("192.168.1.0/24"), 3}.Key().argument,
      hours(1000));
  EXPECT_THAT(Remedies(Audit(AuditKind::kFences)),
              ElementsAre(HasSubstr("rbd-addons fence 192.168.1.0/24 ")));
}

TEST_F(AuditPoolTest, FencesThatCannotBeSeenAreUnclear) {
  a_.AddRangeBlocklistEntry("192.168.1.0:0/24", hours(1000));
  ExpectUnclear(AuditFailing(AuditKind::kFences, "rados_mon_command"));
  // Then it is not known whom they hit.
  ExpectUnclear(AuditFailing(AuditKind::kFences, "rados_list_watchers"));
}

// --- repairs

class RepairTest : public AuditPoolTest {
 protected:
  ResolvedPlace Place() {
    ResolvedPlace place;
    place.cluster_id = ClusterId("site-a");
    place.pool_id = pair_.pool_id(a_);
    place.pool_name = MirroredPair::kPool;
    place.cluster = pair_.cluster(a_);
    return place;
  }
  absl::StatusOr<std::vector<RepairResult>> Repair(const AuditFindings& plan) {
    TestOperationContext context(world_);
    context.SetDeadline(std::chrono::minutes(2));
    if (script_) script_(context);
    return RepairPool(context, leases_, threads_, Place(), AuditRequest(),
                      plan);
  }
  /// Those that the daemon may repair.
  AuditFindings PlanOf(AuditKind kind) {
    AuditFindings plan = Audit(kind);
    std::erase_if(plan, [](const auto& one) { return one.repair.empty(); });
    // As it comes back from who was asked.
    for (AuditFinding& finding : plan) finding.change = {};
    return plan;
  }
  static std::vector<RepairOutcome> Outcomes(
      const absl::StatusOr<std::vector<RepairResult>>& results) {
    EXPECT_OK(results);
    std::vector<RepairOutcome> outcomes;
    if (!results.ok()) return outcomes;
    for (const RepairResult& result : *results) {
      outcomes.push_back(result.outcome);
      EXPECT_EQ(result.text.empty(), result.outcome == RepairOutcome::kDone);
    }
    return outcomes;
  }

  std::function<void(TestOperationContext&)> script_;
  LeaseKeeper leases_{world_};
};

TEST_F(RepairTest, AScheduleOfAnImageThatIsGoneGoes) {
  const std::string level = absl::StrCat(pair_.pool_id(a_), "//1234gone");
  a_.AddOmapValue(MirroredPair::kPool, "", "rbd_mirror_snapshot_schedule",
                  level, R"([{"interval": "5m"}])");
  const AuditFindings plan = PlanOf(AuditKind::kSchedules);
  ASSERT_THAT(plan, ::testing::SizeIs(1));
  EXPECT_THAT(Outcomes(Repair(plan)), ElementsAre(RepairOutcome::kDone));
  EXPECT_THAT(Audit(AuditKind::kSchedules), IsEmpty());
  // Once more: there is nothing left to do.
  EXPECT_THAT(Outcomes(Repair(plan)), ElementsAre(RepairOutcome::kNotNeeded));
}

TEST_F(RepairTest, ANameThatLeadsToNothingIsFreed) {
  a_.AddOmapValue(MirroredPair::kPool, "", kDirectory, "csi.volume.pvc-1",
                  kUuid);
  const AuditFindings plan = PlanOf(AuditKind::kJournal);
  ASSERT_THAT(plan, ::testing::SizeIs(1));
  EXPECT_THAT(plan.front().repair, HasSubstr("free the name 'pvc-1'"));
  EXPECT_THAT(Outcomes(Repair(plan)), ElementsAre(RepairOutcome::kDone));
  EXPECT_FALSE(a_.Omap(MirroredPair::kPool, "", kDirectory)
                   .contains("csi.volume.pvc-1"));
}

TEST_F(RepairTest, ANameLeadsToItsVolumeAgain) {
  const std::string image = absl::StrCat("csi-vol-", kUuid);
  a_.AddImage(MirroredPair::kPool, "", image);
  List(image, true);
  a_.AddOmapValue(MirroredPair::kPool, "", kDirectory, "csi.volume.pvc-9",
                  kOther);
  SetJournal(absl::StrCat("csi.volume.", kOther),
             {{"csi.volname", "pvc-9"}, {"csi.imagename", "csi-vol-gone"}});
  SetJournal(absl::StrCat("csi.volume.", kUuid),
             {{"csi.volname", "pvc-1"}, {"csi.imagename", image}});
  const AuditFindings plan = PlanOf(AuditKind::kJournal);
  ASSERT_THAT(plan, ::testing::SizeIs(1));
  EXPECT_THAT(plan.front().repair, HasSubstr("let the name 'pvc-1' lead to"));
  EXPECT_THAT(Outcomes(Repair(plan)), ElementsAre(RepairOutcome::kDone));
  EXPECT_EQ(a_.Omap(MirroredPair::kPool, "", kDirectory).at("csi.volume.pvc-1"),
            kUuid);
  EXPECT_THAT(PlanOf(AuditKind::kJournal), IsEmpty());
}

// Which of them the PersistentVolume means only a person can tell.
TEST_F(RepairTest, ANameThatTwoVolumesSayToHaveIsForAPerson) {
  a_.AddOmapValue(MirroredPair::kPool, "", kDirectory, "csi.volume.pvc-9",
                  "0d2b7d5e-4f60-4c8e-9a36-ad5dbd9b7a11");
  for (const std::string& uuid : {std::string(kUuid), std::string(kOther)}) {
    const std::string image = absl::StrCat("csi-vol-", uuid);
    a_.AddImage(MirroredPair::kPool, "", image);
    List(image, true);
    SetJournal(absl::StrCat("csi.volume.", uuid),
               {{"csi.volname", "pvc-1"}, {"csi.imagename", image}});
  }
  AuditFindings plan = PlanOf(AuditKind::kJournal);
  std::erase_if(plan, [](const AuditFinding& finding) {
    return finding.repair.find("pvc-1") == std::string::npos;
  });
  EXPECT_THAT(plan, IsEmpty());
}

TEST_F(RepairTest, ANameOfAGroupThatIsNotThereIsFreed) {
  a_.AddOmapValue(MirroredPair::kPool, "", "csi.groups.default",
                  "csi.volume.group.half", kUuid);
  const AuditFindings plan = PlanOf(AuditKind::kGroups);
  ASSERT_THAT(plan, ::testing::SizeIs(1));
  EXPECT_THAT(Outcomes(Repair(plan)), ElementsAre(RepairOutcome::kDone));
  EXPECT_THAT(Audit(AuditKind::kGroups), IsEmpty());
}

// It may be the one that the name is for.
TEST_F(RepairTest, BesideAnImageWithoutANameNothingIsFreed) {
  a_.AddOmapValue(MirroredPair::kPool, "", kDirectory, "csi.volume.pvc-1",
                  kUuid);
  ASSERT_THAT(PlanOf(AuditKind::kJournal), ::testing::SizeIs(1));
  a_.AddOmapValue(MirroredPair::kPool, "", "rbd_directory", "id_1234unnamed",
                  "");
  EXPECT_THAT(PlanOf(AuditKind::kJournal), IsEmpty());
}

// It looked like a leftover when it was looked at first.
TEST_F(RepairTest, AVolumeThatIsJustBeingMadeIsLeftAlone) {
  a_.AddOmapValue(MirroredPair::kPool, "", kDirectory, "csi.volume.pvc-1",
                  kUuid);
  const AuditFindings plan = PlanOf(AuditKind::kJournal);
  ASSERT_THAT(plan, ::testing::SizeIs(1));
  world_.Schedule(std::chrono::seconds(5), [this] {
    SetJournal(absl::StrCat("csi.volume.", kUuid),
               {{"csi.volname", "pvc-1"},
                {"csi.imagename", absl::StrCat("csi-vol-", kUuid)}});
  });
  EXPECT_THAT(Outcomes(Repair(plan)), ElementsAre(RepairOutcome::kNotNeeded));
  EXPECT_TRUE(a_.Omap(MirroredPair::kPool, "", kDirectory)
                  .contains("csi.volume.pvc-1"));
}

TEST_F(RepairTest, WhatHoldsDataOrNeedsAPersonHasNoRepair) {
  // A stub whose image is there, and a name whose image may be on its way.
  a_.AddImage(MirroredPair::kPool, "", absl::StrCat("csi-vol-", kUuid));
  List(absl::StrCat("csi-vol-", kUuid), true);
  a_.AddOmapValue(MirroredPair::kPool, "", kDirectory, "csi.volume.pvc-1",
                  kUuid);
  a_.AddOmapValue(MirroredPair::kPool, "", kDirectory, "csi.volume.pvc-2",
                  kOther);
  SetJournal(absl::StrCat("csi.volume.", kOther),
             {{"csi.volname", "pvc-2"}, {"csi.imagename", "csi-vol-gone"}});
  EXPECT_THAT(Audit(AuditKind::kJournal), ::testing::SizeIs(2));
  EXPECT_THAT(PlanOf(AuditKind::kJournal), IsEmpty());
}

TEST_F(RepairTest, AnotherPlanThanWhatIsFoundChangesNothing) {
  AuditFinding finding;
  finding.kind = AuditKind::kSchedules;
  finding.object = "1//none";
  finding.repair = "remove the schedule of this image id";
  world_.ClearCalls();
  EXPECT_THAT(Outcomes(Repair({finding})),
              ElementsAre(RepairOutcome::kNotNeeded));
}

TEST_F(RepairTest, WhatCannotBeRemovedIsSaid) {
  const std::string level = absl::StrCat(pair_.pool_id(a_), "//1234gone");
  a_.AddOmapValue(MirroredPair::kPool, "", "rbd_mirror_snapshot_schedule",
                  level, R"([{"interval": "5m"}])");
  const AuditFindings plan = PlanOf(AuditKind::kSchedules);
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_write_op_omap_rm_keys2" ? EPERM : 0;
  });
  EXPECT_THAT(Outcomes(Repair(plan)), ElementsAre(RepairOutcome::kFailed));
  world_.SetCallHook(nullptr);
}

TEST_F(RepairTest, AnotherDaemonThatRepairsIsNotDisturbed) {
  const auto pool = Place().OpenPool(Access::kMutate);
  ASSERT_OK(pool);
  ASSERT_TRUE(*(*pool)->TakeObjectLock(
      LeaseLockOf({Place(), "rbd_addons.lease.repair", ""}, "another's"),
      hours(1)));
  const std::string level = absl::StrCat(pair_.pool_id(a_), "//1234gone");
  a_.AddOmapValue(MirroredPair::kPool, "", "rbd_mirror_snapshot_schedule",
                  level, R"([{"interval": "5m"}])");
  EXPECT_THAT(Repair(PlanOf(AuditKind::kSchedules)),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr("repairs of pool 'replicapool'")));
  EXPECT_THAT(Audit(AuditKind::kSchedules), ::testing::SizeIs(1));
}

/// A primary with snapshots of a person, in step with its copy.
class CopyAuditTest : public AuditPoolTest {
 protected:
  CopyAuditTest() {
    pair_.AddMirroredVolume(a_, kUuid);
    List(image_, true);
    // Objects that were written before the older one are clean in the newer.
    a_.AddSnapshot(image_, "older", SnapshotKind::kUser);
    a_.AddSnapshot(image_, "restore-point", SnapshotKind::kUser);
    MirrorSnapshot();
  }
  void MirrorSnapshot() {
    a_.CreateMirrorSnapshot(image_);
    world_.Advance(std::chrono::seconds(10));
    ASSERT_TRUE(pair_.InSync(b_, image_));
  }
  /// What was written is on the other site, then it is rolled back.
  void WriteAndRollBack(const std::vector<uint64_t>& objects) {
    for (const uint64_t object : objects) {
      a_.WriteObject(image_, object, kWritten);
    }
    MirrorSnapshot();
    a_.RollBack(image_, "restore-point");
  }
  AuditFindings Copies() { return Audit(AuditKind::kCopies); }

  static constexpr uint64_t kWritten = 7;
  static constexpr uint64_t kBefore = 1;
  FakeSite& b_ = pair_.b();
  const std::string spec_ = absl::StrCat("replicapool/", image_);
};

TEST_F(CopyAuditTest, ARollbackIsNamedBeforeTheNextMirrorSnapshot) {
  WriteAndRollBack({3, 5});
  const AuditFindings found = Copies();
  ASSERT_THAT(Remedies(found), ElementsAre("rbd object-map rebuild " + spec_));
  EXPECT_EQ(found.front().object, spec_);
  EXPECT_THAT(found.front().seen,
              HasSubstr("2 objects (from byte 12582912, byte 20971520 on) "
                        "changed since its newest mirror snapshot"));
}

TEST_F(CopyAuditTest, ACopyThatLacksARollbackIsNamed) {
  WriteAndRollBack({3, 5, 6, 9});
  MirrorSnapshot();
  EXPECT_EQ(a_.Object(image_, 3), kBefore);
  EXPECT_EQ(b_.Object(image_, 3), kWritten);  // all else says that all is well
  const AuditFindings found = Copies();
  ASSERT_THAT(Remedies(found), ElementsAre("rbd mirror image resync " + spec_));
  EXPECT_THAT(found.front().seen,
              AllOf(HasSubstr("4 objects (from byte 12582912, byte 20971520, "
                              "byte 25165824 ... on) changed between its two "
                              "newest mirror snapshots"),
                    HasSubstr("the other site's copy lacks them")));
  // Which is all that is left of it.
  MirrorSnapshot();
  EXPECT_THAT(Copies(), IsEmpty());
  EXPECT_EQ(b_.Object(image_, 3), kWritten);
}

TEST_F(CopyAuditTest, WhatMirroringCarriesIsNotNamed) {
  EXPECT_THAT(Copies(), IsEmpty());
  a_.WriteObject(image_, 3, kWritten);
  EXPECT_THAT(Copies(), IsEmpty());
  MirrorSnapshot();
  EXPECT_THAT(Copies(), IsEmpty());
  EXPECT_EQ(b_.Object(image_, 3), kWritten);
  // Rolled back and written again: it is the write that counts.
  a_.RollBack(image_, "restore-point");
  a_.WriteObject(image_, 3, kWritten + 1);
  EXPECT_THAT(Copies(), IsEmpty());
}

TEST_F(CopyAuditTest, ARollbackOfWhatNoMirrorSnapshotHasIsNotNamed) {
  a_.WriteObject(image_, 3, kWritten);
  a_.RollBack(image_, "restore-point");
  EXPECT_THAT(Copies(), IsEmpty());
  MirrorSnapshot();
  EXPECT_THAT(Copies(), IsEmpty());
  EXPECT_EQ(b_.Object(image_, 3), kBefore);
}

TEST_F(CopyAuditTest, WithoutAnObjectMapARollbackIsCarried) {
  a_.SetFeatures(image_, {true, false, false});
  WriteAndRollBack({3});
  EXPECT_THAT(Copies(), IsEmpty());
  MirrorSnapshot();
  EXPECT_THAT(Copies(), IsEmpty());
  EXPECT_EQ(b_.Object(image_, 3), kBefore);
}

TEST_F(CopyAuditTest, ASecondaryIsNotLookedAt) {
  WriteAndRollBack({3});
  a_.Demote(image_);
  EXPECT_THAT(Copies(), IsEmpty());
}

// A workload writes to what was rolled back, in the middle of the look.
TEST_F(CopyAuditTest, WhatIsWrittenMeanwhileIsLeftOut) {
  WriteAndRollBack({3, 5});
  world_.SetCallHook([this](absl::string_view, absl::string_view call, bool) {
    if (call == "rados_list_snaps") a_.WriteObject(image_, 3, kWritten + 1);
    return 0;
  });
  const AuditFindings found = Copies();
  world_.SetCallHook(nullptr);
  ASSERT_THAT(found, ::testing::SizeIs(1));
  EXPECT_THAT(found.front().seen,
              HasSubstr("1 object (from byte 20971520 on)"));
}

TEST_F(CopyAuditTest, AnImageThatChangesIsLookedAtAgain) {
  WriteAndRollBack({3});
  int snapshots = 1;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    if (call == "rados_list_snaps" && snapshots-- > 0) {
      a_.CreateMirrorSnapshot(image_);
    }
    return 0;
  });
  EXPECT_THAT(Remedies(Copies()),
              ElementsAre("rbd mirror image resync " + spec_));
  snapshots = 100;
  ExpectUnclear(Copies());
  world_.SetCallHook(nullptr);
}

TEST_F(CopyAuditTest, MoreThanIsComparedIsSaid) {
  WriteAndRollBack({3, 5, 6});
  request_.copies.most_compared = 2;
  const AuditFindings found = Copies();
  ASSERT_THAT(found, ::testing::SizeIs(1));
  EXPECT_THAT(found.front().seen, HasSubstr("at least 2 objects"));
  request_.copies.most_compared = 0;
  ExpectUnclear(Copies());
}

TEST_F(CopyAuditTest, WhatCannotBeLookedAtIsUnclear) {
  WriteAndRollBack({3});
  for (const char* const call :
       {"rados_list_snaps", "rados_read", "rbd_open_by_id_read_only",
        "rados_read_op_omap_get_vals2"}) {
    ExpectUnclear(AuditFailing(AuditKind::kCopies, call));
  }
}

/// A mirrored image, in step, which is primary on a.
class ImageAuditTest : public AuditPoolTest {
 protected:
  ImageAuditTest() {
    pair_.AddMirroredVolume(a_, kUuid);
    List(image_, true);
  }
  void MirrorSnapshots(int count) {
    for (int i = 0; i < count; ++i) a_.CreateMirrorSnapshot(image_);
  }
  void Schedule(const std::string& level, const std::string& text) {
    a_.AddOmapValue(MirroredPair::kPool, "", "rbd_mirror_snapshot_schedule",
                    level, text);
  }
  AuditFindings Images() { return Audit(AuditKind::kImages); }

  FakeSite& b_ = pair_.b();
  const std::string spec_ = absl::StrCat("replicapool/", image_);
  const std::string snapshot_ = "rbd mirror image snapshot " + spec_;
};

TEST_F(ImageAuditTest, ALockThatWasTakenByHandIsNamed) {
  a_.AddWatcher(image_, "10.1.2.3:0/77", 4464);
  a_.AddLocker(image_, "10.1.2.3:0/77", 4464, FakeSite::LockKind::kAutomatic);
  EXPECT_THAT(Images(), IsEmpty());
  a_.RemoveLocker(image_);
  a_.AddLocker(image_, "10.1.2.3:0/77", 4464, FakeSite::LockKind::kByHand);
  const AuditFindings found = Images();
  ASSERT_THAT(found, ::testing::SizeIs(1));
  EXPECT_THAT(
      found.front().remedy,
      AllOf(HasSubstr("rbd lock rm " + spec_ + " "), HasSubstr("client.4464")));
  EXPECT_THAT(found.front().seen, HasSubstr("wait for that without end"));
  a_.RemoveLocker(image_);
  ExpectUnclear(AuditFailing(AuditKind::kImages, "rados_list_lockers"));
}

TEST_F(ImageAuditTest, ALimitOfSnapshotsIsNamedWhereItLeavesTooLittle) {
  a_.AddSnapshot(image_, "mine", SnapshotKind::kUser);
  a_.SetSnapshotLimit(image_, 7);
  EXPECT_THAT(Images(), IsEmpty());
  a_.SetSnapshotLimit(image_, 6);
  AuditFindings found = Images();
  ASSERT_THAT(Remedies(found),
              ElementsAre("rbd snap limit set --limit 16 " + spec_));
  EXPECT_THAT(found.front().seen, HasSubstr("While the other site is away"));
  const size_t present = a_.Snapshots(image_).size() + 1;
  a_.SetSnapshotLimit(image_, present);
  found = Images();
  ASSERT_THAT(found, ::testing::SizeIs(1));
  EXPECT_THAT(found.front().seen,
              AllOf(HasSubstr("cannot be demoted: it has"),
                    HasSubstr(absl::StrCat("--limit ", present + 10))));
  ExpectUnclear(
      AuditFailing(AuditKind::kImages, "rados_read_op_omap_get_vals2"));
}

TEST_F(ImageAuditTest, OfACopyOnlyALimitThatIsReachedIsNamed) {
  a_.Demote(image_);
  world_.Advance(std::chrono::seconds(10));
  b_.Promote(image_, Force::kNo);
  b_.CreateMirrorSnapshot(image_);
  world_.Advance(std::chrono::seconds(30));
  a_.SetSnapshotLimit(image_, a_.Snapshots(image_).size() + 1);
  EXPECT_THAT(Images(), IsEmpty());
  a_.SetSnapshotLimit(image_, a_.Snapshots(image_).size());
  const AuditFindings found = Images();
  ASSERT_THAT(found, ::testing::SizeIs(1));
  EXPECT_THAT(found.front().seen, HasSubstr("where the image is primary"));
}

// What an outage has left goes with the next mirror snapshot, which a schedule
// makes.
TEST_F(ImageAuditTest, SpareMirrorSnapshotsAreNamedWhereNoScheduleEndsThem) {
  EXPECT_THAT(Images(), IsEmpty());
  MirrorSnapshots(3);
  world_.Advance(std::chrono::seconds(30));
  ASSERT_TRUE(pair_.InSync(b_, image_));
  const AuditFindings found = Images();
  ASSERT_THAT(Remedies(found), ElementsAre(snapshot_));
  EXPECT_THAT(found.front().seen, HasSubstr("no site needs any more (ids "));
  const std::string pool = absl::StrCat(pair_.pool_id(a_));
  Schedule(pool, R"([{"interval": "0d"}])");  // which does not run
  EXPECT_THAT(Remedies(Images()), ElementsAre(snapshot_));
  ExpectUnclear(
      AuditFailing(AuditKind::kImages, "rados_read_op_omap_get_vals_by_keys2"));
  Schedule(pool, R"([{"interval": "1d"}])");
  EXPECT_THAT(Images(), IsEmpty());
  MirrorSnapshots(1);
  world_.Advance(std::chrono::seconds(30));
  SetJournal("rbd_mirror_snapshot_schedule", {});
  EXPECT_THAT(Images(), IsEmpty());
}

TEST_F(ImageAuditTest, WhatAPlannedMoveLeavesIsNotNamed) {
  for (FakeSite* const from : {&a_, &b_, &a_}) {
    FakeSite& to = pair_.other(*from);
    from->Demote(image_);
    world_.Advance(std::chrono::seconds(10));
    to.Promote(image_, Force::kNo);
    to.CreateMirrorSnapshot(image_);
    world_.Advance(std::chrono::seconds(30));
    ASSERT_TRUE(pair_.InSync(*from, image_));
    EXPECT_THAT(Images(), IsEmpty());
  }
}

TEST_F(ImageAuditTest, SnapshotsOfAnOutageStayOnASecondary) {
  b_.SetMirrorDaemon(DaemonState::kDown);
  MirrorSnapshots(4);
  a_.Demote(image_);
  b_.SetMirrorDaemon(DaemonState::kRunning);
  world_.Advance(std::chrono::minutes(1));
  b_.Promote(image_, Force::kNo);
  b_.CreateMirrorSnapshot(image_);
  world_.Advance(std::chrono::seconds(30));
  const AuditFindings found = Images();
  ASSERT_THAT(Remedies(found), ElementsAre(""));
  EXPECT_THAT(found.front().seen, HasSubstr("of its time as primary"));
}

TEST_F(ImageAuditTest, SnapshotsThatWaitForASiteThatIsAwayAreNamed) {
  b_.SetMirrorDaemon(DaemonState::kDown);
  MirrorSnapshots(2);
  world_.Advance(std::chrono::minutes(2));
  EXPECT_THAT(Images(), IsEmpty());  // no more than a short while leaves
  b_.SetCopySpeed(0);
  b_.SetMirrorDaemon(DaemonState::kRunning);
  MirrorSnapshots(4);
  world_.Advance(std::chrono::minutes(1));
  EXPECT_THAT(Images(), IsEmpty());  // a copy that takes long
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(std::chrono::minutes(2));
  const AuditFindings found = Images();
  ASSERT_THAT(Remedies(found), ElementsAre(""));
  EXPECT_THAT(found.front().seen,
              AllOf(HasSubstr("mirror snapshots for site 'site-b', whose "
                              "rbd-mirror does not report; the oldest is of "),
                    HasSubstr("removes the others with the next")));
  ExpectUnclear(
      AuditFailing(AuditKind::kImages, "rbd_mirror_image_global_status_list"));
  ExpectUnclear(AuditFailing(AuditKind::kImages, "rbd_mirror_peer_site_list"));
}

TEST_F(ImageAuditTest, AGroupSnapshotOfASecondaryIsNamed) {
  const std::string snapshot =
      absl::StrCat(".group.", absl::Hex(pair_.pool_id(a_)), "_1234abcd_5678");
  SetJournal("rbd_group_directory",
             {{"id_1234abcd", std::string({4, 0, 0, 0}) + "apps"}});
  a_.AddSnapshot(image_, snapshot, SnapshotKind::kGroup);
  a_.AddGroupSnapshot(MirroredPair::kPool, "", "apps", "daily");
  EXPECT_THAT(Images(), IsEmpty());
  a_.Demote(image_);
  EXPECT_THAT(Images(), IsEmpty());  // it may be taken back
  world_.Advance(std::chrono::seconds(10));
  b_.Promote(image_, Force::kNo);
  b_.CreateMirrorSnapshot(image_);
  world_.Advance(std::chrono::seconds(30));
  AuditFindings found = Images();
  ASSERT_THAT(Remedies(found),
              ElementsAre("rbd group snap rm replicapool/apps@daily"));
  EXPECT_THAT(found.front().seen,
              AllOf(HasSubstr("snapshot of the rbd group 'replicapool/apps'"),
                    HasSubstr("Once it is promoted here")));
  // Which of two it is nobody tells.
  a_.AddGroupSnapshot(MirroredPair::kPool, "", "apps", "weekly");
  EXPECT_THAT(Remedies(Images()), ElementsAre(""));
}

TEST_F(ImageAuditTest, NobodyWaitsForImages) {
  ResolvedPlace place;
  place.pool_id = pair_.pool_id(a_);
  place.cluster = pair_.cluster(a_);
  request_.kinds = {AuditKind::kImages};
  std::stop_source stop;
  int looked_at = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    if (call == "rados_list_lockers") {
      stop.request_stop();
      ++looked_at;
    }
    return 0;
  });
  pair_.AddMirroredVolume(a_, kOther);
  List(MirroredPair::ImageOf(kOther), true);
  EXPECT_THAT(AuditPool(threads_, place, request_, stop.get_token()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("nobody")));
  world_.SetCallHook(nullptr);
  EXPECT_EQ(looked_at, 1);
}

TEST_F(AuditPoolTest, NobodyWaits) {
  ResolvedPlace place;
  place.pool_id = pair_.pool_id(a_);
  place.cluster = pair_.cluster(a_);
  AuditRequest request;
  request.kinds = {AuditKind::kJournal};
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THAT(AuditPool(threads_, place, request, stop.get_token()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("nobody")));
}

}  // namespace
}  // namespace addons::testing
