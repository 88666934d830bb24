// What explain says of the verbs is what the real call answers a second later,
// and what it shows of a volume is what is there.

#include "inspection/explain.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ceph/mirror.h"
#include "replication/look/mirrored_clone.h"
#include "replication/look/mount_restriction.h"
#include "replication/look/move_marks.h"
#include "replication/look/nvmeof_export.h"
#include "tests/fakes/local_notes.h"
#include "tests/unit/replication/verbs_fixture.h"
#include "tests/unit/replication/without_numbers.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class ExplainTest : public VerbsTest {
 protected:
  Explanation Explain(Daemon& daemon) {
    absl::StatusOr<Explanation> explained = absl::UnknownError("not called");
    (void)Run([&](OperationContext& context) {
      explained = ExplainVolume(context, daemon.environment(),
                                daemon.Target(id_), std::nullopt);
      return explained.status();
    });
    EXPECT_OK(explained);
    EXPECT_EQ(mutations_begun_, 0);
    return explained.ok() ? *std::move(explained) : Explanation();
  }
  /// "topic/name", or an empty text; several of a name are joined.
  static std::string Said(const Explanation& explained,
                          const std::string& what) {
    std::vector<std::string> values;
    for (const Fact& fact : explained.facts) {
      if (absl::StrCat(fact.topic, "/", fact.name) == what) {
        values.push_back(fact.value);
      }
    }
    return absl::StrJoin(values, "; ");
  }
  static Forecast Of(const Explanation& explained, const std::string& verb,
                     Force force = Force::kNo) {
    for (const VerbForecast& one : explained.forecasts) {
      if (one.verb == verb && one.force == force) return one.forecast;
    }
    ADD_FAILURE() << "nothing is said of " << verb;
    return {};
  }
};

// --- what verbs would answer

struct Row {
  std::string name;
  void (*prepare)(class VerbRowTest& test) = nullptr;
  std::string verb;
  Force force = Force::kNo;
  Verdict verdict = Verdict::kUnclear;
  std::string reason;  // a part of it
  bool on_a = true;    // which daemon is asked; else that of b
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class VerbRowTest : public ExplainTest,
                    public ::testing::WithParamInterface<Row> {
 public:
  using ExplainTest::a_;
  using ExplainTest::AddMirrored;
  using ExplainTest::AddPlain;
  using ExplainTest::b_;
  using ExplainTest::deadline_;
  using ExplainTest::Demote;
  using ExplainTest::Disable;
  using ExplainTest::image_;
  using ExplainTest::kSmallImage;
  using ExplainTest::LoseA;
  using ExplainTest::on_a_;
  using ExplainTest::on_b_;
  using ExplainTest::Promote;
  using ExplainTest::Resync;
  using ExplainTest::StopMidCopy;
  using ExplainTest::world_;

  static ParameterMap WithForce(Force force) {
    return force == Force::kYes ? ParameterMap{{"force", "true"}}
                                : ParameterMap{};
  }
  /// What a call has to see first, for the settle time.
  void LoseAAndSeeIt() {
    AddMirrored();
    LoseA();
    deadline_ = minutes(3);
    ASSERT_THAT(Disable(on_b_),
                StatusIs(absl::StatusCode::kFailedPrecondition));
  }
  /// b has no peer and no rbd-mirror any more, and a disable died there.
  void InterruptDisableOfB() {
    AddMirrored();
    LoseA();
    b_.SetMirrorDaemon(DaemonState::kDown);
    b_.SetMirrorImageState(image_, MirrorImageState::kDisabling);
    world_.Advance(minutes(1));
  }
  /// The forced promotion of b died before the last complete state was back.
  void LeaveHalfARescueOnB() {
    AddMirrored(kSmallImage);
    StopMidCopy(MirrorSnapshotKind::kNonPrimary, DaemonState::kRunning);
    LoseA();
    world_.SetCallHook(nullptr,
                       [](absl::string_view, absl::string_view call, bool) {
                         if (call == "rbd_mirror_image_promote") {
                           throw FakeCrash();
                         }
                         return 0;
                       });
    EXPECT_THROW((void)Promote(on_b_, Force::kYes), FakeCrash);
    world_.SetCallHook(nullptr);
  }
  /// Both are primary. a has heard of that twice: a call waits for it.
  void SplitAndLook() {
    AddMirrored();
    b_.Promote(image_, Force::kYes);
    world_.Advance(minutes(4));
    (void)Explain(on_a_);
    world_.Advance(seconds(31));
  }
  /// a was primary while b was promoted by force, and has been demoted since.
  void SplitAndDemoteA() {
    AddMirrored();
    a_.SetClusterUp(false);
    world_.Advance(minutes(3));
    b_.Promote(image_, Force::kYes);
    a_.SetClusterUp(true);
    world_.Advance(minutes(1));
    ASSERT_OK(Demote(on_a_));
    ASSERT_TRUE(world_.AdvanceUntil(
        [&] {
          return a_.Status(image_).front().state == MirrorStatusState::kError;
        },
        minutes(2)));
    world_.Advance(minutes(1));
  }
};

TEST_P(VerbRowTest, TheCallAnswersASecondLaterWhatIsSaid) {
  const Row& row = GetParam();
  row.prepare(*this);
  if (HasFatalFailure()) return;
  Daemon& daemon = row.on_a ? on_a_ : on_b_;
  const Forecast said = Of(Explain(daemon), row.verb, row.force);
  EXPECT_EQ(said.verdict, row.verdict) << said.reason;
  EXPECT_THAT(said.reason, HasSubstr(row.reason));

  world_.Advance(seconds(1));
  deadline_ = seconds(1);
  if (row.verb == "resync") {
    const absl::StatusOr<ResyncResult> answer = Resync(daemon, row.force);
    EXPECT_EQ(answer.status().code(), said.code) << answer.status();
    if (answer.ok()) {
      // A request that was issued is a copy that is not ready.
      const bool requests = row.force == Force::kYes && !answer->ready &&
                            said.verdict == Verdict::kWorks;
      EXPECT_EQ(answer->ready || requests, said.verdict == Verdict::kWorks);
    } else {
      EXPECT_THAT(WithoutNumbers(answer.status().message()),
                  HasSubstr(WithoutNumbers(said.reason)));
    }
    return;
  }
  // A disable that was interrupted is looked at for a moment first.
  if (row.verb == "disable") deadline_ = seconds(10);
  const absl::Status answer = row.verb == "disable"
                                  ? Disable(daemon, WithForce(row.force))
                                  : Demote(daemon);
  EXPECT_EQ(answer.code(), said.code) << answer;
  if (!answer.ok()) {
    EXPECT_THAT(WithoutNumbers(answer.message()),
                HasSubstr(WithoutNumbers(said.reason)));
  }
}

using Test = VerbRowTest;
constexpr Force kNo = Force::kNo;
constexpr Force kYes = Force::kYes;

const Row kRows[] = {
    {"DemoteOff", [](Test& t) { t.AddPlain(); }, "demote", kNo,
     Verdict::kRefuses, "replication is not enabled"},
    {"DemoteDisabling",
     [](Test& t) {
       t.AddMirrored();
       t.a_.SetMirrorImageState(t.image_, MirrorImageState::kDisabling);
     },
     "demote", kNo, Verdict::kRefuses, "replication is being disabled"},
    {"DemoteSecondary", [](Test& t) { t.AddMirrored(); }, "demote", kNo,
     Verdict::kWorks, "nothing to demote", false},
    {"DemotePrimary", [](Test& t) { t.AddMirrored(); }, "demote", kNo,
     Verdict::kWorks, "nobody has the image open"},
    {"DemoteWorkload",
     [](Test& t) {
       t.AddMirrored();
       t.a_.AddWatcher(t.image_, "10.1.2.3:0/77", 4464);
     },
     "demote", kNo, Verdict::kRefuses, "client.4464 at 10.1.2.3:0/77"},
    {"DemotePublished",
     [](Test& t) {
       t.AddMirrored();
       t.a_.SetImageMetadata(t.image_, ".rbd.csi.ceph.com/userid/node-1",
                             "csi-rbd");
     },
     "demote", kNo, Verdict::kWaits, "marked as published"},
    {"DemoteWithoutAFollower",
     [](Test& t) {
       t.AddMirrored();
       ASSERT_OK(t.Demote(t.on_a_));
       t.a_.SetMirrorDaemon(DaemonState::kDown);
       ASSERT_OK(t.Promote(t.on_b_));
     },
     "demote", kNo, Verdict::kWaits, "no peer has noticed yet", false},
    {"DemoteHalfDone",
     [](Test& t) {
       t.AddMirrored();
       t.a_.LeaveNextSnapshotIncomplete(t.image_);
       t.a_.Demote(t.image_);
       t.world_.Advance(seconds(40));
     },
     "demote", kNo, Verdict::kWorks, "half-done"},
    {"DemoteHalfDoneAndThePeerPrimary",
     [](Test& t) {
       t.AddMirrored();
       t.a_.LeaveNextSnapshotIncomplete(t.image_);
       t.a_.Demote(t.image_);
       t.b_.Promote(t.image_, Force::kYes);
       t.world_.Advance(seconds(65));
     },
     "demote", kNo, Verdict::kRefuses, "is primary; resync this image"},
    {"DemoteMirroredClone",
     [](Test& t) {
       t.AddMirrored();
       t.a_.SetImageMetadata(
           t.image_, kCloneMark,
           absl::StrCat(R"({"global_id": ")", t.a_.Info(t.image_).global_id,
                        R"(", "parent": "pool/golden"})"));
     },
     "demote", kNo, Verdict::kRefuses, "resync"},
    {"DemoteHalfARescue", [](Test& t) { t.LeaveHalfARescueOnB(); }, "demote",
     kNo, Verdict::kRefuses, "promote it on this site", false},
    {"DisableOff", [](Test& t) { t.AddPlain(); }, "disable", kNo,
     Verdict::kWorks, "nothing to disable"},
    {"DisablePrimary", [](Test& t) { t.AddMirrored(); }, "disable", kNo,
     Verdict::kWorks, "the other site's copy is removed"},
    // Both sites are primary: neither follows the other one.
    {"DemoteInSplitBrain", [](Test& t) { t.SplitAndLook(); }, "demote", kNo,
     Verdict::kWorks, "a resync after this deletes it"},
    {"DisableInSplitBrain",
     [](Test& t) {
       t.AddMirrored();
       t.b_.Promote(t.image_, Force::kYes);
       t.world_.Advance(minutes(4));
     },
     "disable", kNo, Verdict::kWorks,
     "the image of site 'site-b' does not follow this one"},
    {"DisablePrimaryOfALostPeer",
     [](Test& t) {
       t.AddMirrored();
       t.b_.SetClusterUp(false);
       t.world_.Advance(minutes(3));
     },
     "disable", kNo, Verdict::kWorks, "replication ends"},
    {"DisableSecondaryOfALivingPrimary", [](Test& t) { t.AddMirrored(); },
     "disable", kYes, Verdict::kWorks, "nothing is done here", false},
    {"DisableSecondaryOfAPeerJustSilent",
     [](Test& t) {
       t.AddMirrored();
       t.a_.SetClusterUp(false);
       t.world_.Advance(seconds(50));
     },
     "disable", kYes, Verdict::kWaits, "not clear yet whether the peer lives",
     false},
    {"DisableSecondaryOfADeadPeer", [](Test& t) { t.LoseAAndSeeIt(); },
     "disable", kNo, Verdict::kRefuses, "no sign of life", false},
    {"DisableSecondaryOfADeadPeerByForce", [](Test& t) { t.LoseAAndSeeIt(); },
     "disable", kYes, Verdict::kWorks, "an image of its own", false},
    {"DisableWhereNobodyIsPrimary",
     [](Test& t) {
       t.AddMirrored();
       ASSERT_OK(t.Demote(t.on_a_));
       t.world_.Advance(minutes(2));
     },
     "disable", kNo, Verdict::kWaits, "has not reported yet", false},
    {"DisableRightAfterAMove",
     [](Test& t) {
       t.AddMirrored();
       t.a_.SetNoticeDelay(seconds(25));
       ASSERT_OK(t.Demote(t.on_a_));
       ASSERT_OK(t.Promote(t.on_b_));
     },
     "disable", kNo, Verdict::kWaits, "not noticed", false},
    {"DisableInterrupted",
     [](Test& t) {
       t.AddMirrored();
       t.a_.InterruptDisable(t.image_);
     },
     "disable", kNo, Verdict::kWorks, "replication ends"},
    {"DisableInterruptedByForce", [](Test& t) { t.InterruptDisableOfB(); },
     "disable", kNo, Verdict::kRefuses, "was interrupted on this site", false},
    {"DisableInterruptedAndForcedAgain",
     [](Test& t) { t.InterruptDisableOfB(); }, "disable", kYes, Verdict::kWorks,
     "an image of its own", false},
    {"DisableInterruptedAndAClientAtIt",
     [](Test& t) {
       t.InterruptDisableOfB();
       t.b_.AddWatcher(t.image_, "10.0.0.7:0/77", 4711);
     },
     "disable", kYes, Verdict::kWaits, "10.0.0.7:0/77", false},
    {"DisableHalfARescue", [](Test& t) { t.LeaveHalfARescueOnB(); }, "disable",
     kYes, Verdict::kRefuses, "promote the image by force on this site first",
     false},
    {"ResyncOff", [](Test& t) { t.AddPlain(); }, "resync", kYes,
     Verdict::kRefuses, "replication is not enabled"},
    {"ResyncPrimary", [](Test& t) { t.AddMirrored(); }, "resync", kYes,
     Verdict::kRefuses, "primary on this site"},
    {"ResyncInStep",
     [](Test& t) {
       t.AddMirrored();
       t.world_.Advance(minutes(1));
     },
     "resync", kNo, Verdict::kWorks, "in step", false},
    {"ResyncCopying",
     [](Test& t) {
       t.AddMirrored(Test::kSmallImage);
       t.StopMidCopy(MirrorSnapshotKind::kNonPrimary, DaemonState::kRunning);
     },
     "resync", kYes, Verdict::kWaits, "of 32 objects copied", false},
    {"ResyncLocalMirrorDown",
     [](Test& t) {
       t.AddMirrored();
       t.b_.SetMirrorDaemon(DaemonState::kDown);
       t.world_.Advance(minutes(1));
     },
     "resync", kYes, Verdict::kRefuses, "rbd-mirror of this site is down",
     false},
    {"ResyncSplitBrain", [](Test& t) { t.SplitAndDemoteA(); }, "resync", kNo,
     Verdict::kRefuses, "autoResync: true"},
    {"ResyncSplitBrainByForce", [](Test& t) { t.SplitAndDemoteA(); }, "resync",
     kYes, Verdict::kWorks, "this copy is deleted"},
    {"ResyncRequested",
     [](Test& t) {
       t.SplitAndDemoteA();
       t.a_.SetMirrorDaemon(DaemonState::kFrozen);
       ASSERT_OK(t.Resync(t.on_a_, Force::kYes));
     },
     "resync", kYes, Verdict::kWaits, "requested already"},
    {"ResyncAbsent",
     [](Test& t) {
       t.AddMirrored();
       t.b_.SetMirrorDaemon(DaemonState::kDown);
       t.b_.RemoveImage(t.image_);
     },
     "resync", kYes, Verdict::kRefuses, "absent on this site", false},
    {"ResyncErrorThatMayPass",
     [](Test& t) {
       t.AddMirrored();
       t.world_.Advance(minutes(1));
       t.b_.SetMirrorDaemon(DaemonState::kFrozen);
       t.b_.SetStatus(t.image_, "", MirrorStatusState::kError,
                      "failed to refresh remote image");
     },
     "resync", kYes, Verdict::kRefuses, "this copy is left alone", false},
};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbRowTest, ::testing::ValuesIn(kRows),
                         [](const auto& tested) { return tested.param.name; });

// --- what it shows

TEST_F(ExplainTest, AHealthySecondaryIsTakenApart) {
  AddMirrored();
  world_.Advance(minutes(1));
  world_.ClearCalls();
  const Explanation explained = Explain(on_b_);
  EXPECT_THAT(explained.unseen, IsEmpty());
  EXPECT_EQ(Said(explained, "id/cluster"), "site-a");
  EXPECT_EQ(Said(explained, "id/pool id"), "2");
  EXPECT_EQ(Said(explained, "id/uuid"), kUuid);
  EXPECT_EQ(Said(explained, "place/cluster"),
            "site-b, to which the id's is mapped");
  EXPECT_EQ(Said(explained, "place/pool"), "replicapool (id 3)");
  EXPECT_EQ(Said(explained, "journal/name"), MirroredPair::RequestName(kUuid));
  EXPECT_EQ(Said(explained, "image/name"),
            absl::StrCat("replicapool/", image_));
  EXPECT_EQ(Said(explained, "image/size"), "268435456 bytes in 64 objects");
  EXPECT_EQ(Said(explained, "image/parent"), "none");
  EXPECT_EQ(Said(explained, "mirroring/state"), "enabled");
  EXPECT_EQ(Said(explained, "mirroring/role"), "secondary");
  EXPECT_THAT(Said(explained, "mirroring/newest snapshot"),
              HasSubstr("complete, here since "));
  EXPECT_THAT(Said(explained, "mirroring/forcing returns to"),
              HasSubstr("the state of"));
  EXPECT_THAT(Said(explained, "mirroring/this site"),
              AllOf(HasSubstr("rbd-mirror is up"), HasSubstr("replaying")));
  EXPECT_THAT(Said(explained, "mirroring/site 'site-a'"),
              HasSubstr("local image is primary"));
  EXPECT_EQ(Said(explained, "rescue/image"), "none");
  EXPECT_EQ(Said(explained, "daemons/lease"), "nobody has it");
  EXPECT_THAT(explained.forecasts, SizeIs(7));
  EXPECT_EQ(Of(explained, "promote").verdict, Verdict::kWaits);
  EXPECT_EQ(Of(explained, "promote", Force::kYes).verdict, Verdict::kWorks);
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_EQ(world_.CountCalls("b", "rbd_open"), 0);
}

TEST_F(ExplainTest, WhoHasAPrimaryOpenIsSaid) {
  AddMirrored();
  a_.AddWatcher(image_, "10.1.2.3:0/77", 4464);
  a_.AddLocker(image_, "10.1.2.3:0/77", 4464, FakeSite::LockKind::kExplicit);
  const Explanation explained = Explain(on_a_);
  EXPECT_EQ(Said(explained, "image/client.4464"),
            "a workload, at 10.1.2.3:0/77");
  EXPECT_THAT(Said(explained, "image/lock"),
              AllOf(HasSubstr("client.4464"), HasSubstr("10.1.2.3:0/77")));
  const auto by_mirror = std::any_of(
      explained.facts.begin(), explained.facts.end(), [](const Fact& fact) {
        return fact.topic == "image" &&
               fact.value.rfind("rbd-mirror, ", 0) == 0;
      });
  EXPECT_TRUE(by_mirror) << "the peer's rbd-mirror copies from it";
}

TEST_F(ExplainTest, OfCephCsisMetadataOnlyWhoPublishedIsShown) {
  AddMirrored();
  a_.SetImageMetadata(image_, ".rbd.csi.ceph.com/dek", "an-encrypted-key");
  a_.SetImageMetadata(image_, ".rbd.csi.ceph.com/userid/node-1", "csi-rbd");
  const Explanation explained = Explain(on_a_);
  EXPECT_EQ(Said(explained, "image/published"),
            ".rbd.csi.ceph.com/userid/node-1 = csi-rbd");
  for (const Fact& fact : explained.facts) {
    EXPECT_THAT(fact.value, Not(HasSubstr("an-encrypted-key")));
  }
}

TEST_F(ExplainTest, WhoMayMountIsToldOnBothSites) {
  AddMirrored();
  world_.Advance(minutes(1));
  const auto may = [this](Daemon& daemon) {
    return Said(Explain(daemon), "image/may be mounted");
  };
  EXPECT_EQ(may(on_a_), "");
  EXPECT_EQ(may(on_b_), "");
  a_.SetImageMetadata(image_, kServiceAccountKey, "db");
  EXPECT_EQ(may(on_a_), "only by the service account 'db'");
  ASSERT_OK(Demote(on_a_));
  world_.Advance(seconds(30));
  EXPECT_EQ(may(on_b_),
            "only by the service account 'db', as the primary's site tells; a "
            "promotion restores that here");
  b_.Promote(image_, Force::kNo);
  EXPECT_THAT(may(on_b_), HasSubstr("not restored yet, so anybody may mount"));
  ASSERT_OK(Demote(on_b_));
  ASSERT_OK(Promote(on_a_));
  EXPECT_EQ(may(on_a_), "only by the service account 'db'");
}

TEST_F(ExplainTest, AGatewaysExportIsToldWhereItIsNoted) {
  AddMirrored();
  world_.Advance(minutes(1));
  const auto exported = [this](Daemon& daemon) {
    return Said(Explain(daemon), "image/exported");
  };
  EXPECT_EQ(exported(on_a_), "");
  a_.SetImageMetadata(image_, absl::StrCat(kNvmeofPrefix, "SubsystemNQN"),
                      "nqn.site-a");
  EXPECT_EQ(exported(on_a_),
            "as namespace of this image in subsystem 'nqn.site-a'");
  ASSERT_OK(Demote(on_a_));
  world_.Advance(seconds(30));
  EXPECT_EQ(exported(on_b_), "");
  EXPECT_THAT(exported(on_a_), HasSubstr("noted here while this site was"));
}

TEST_F(ExplainTest, WantedAndRealScheduleAreTold) {
  AddMirrored();
  EXPECT_EQ(Said(Explain(on_a_), "schedule/real"), "none");
  ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "5m"}}));
  const Explanation explained = Explain(on_a_);
  EXPECT_EQ(Said(explained, "schedule/wanted"), "every 5m");
  EXPECT_EQ(Said(explained, "schedule/real"), "every 5m");
}

TEST_F(ExplainTest, WhatIsLeftOfARescueIsTold) {
  AddMirrored(kSmallImage);
  StopMidCopy(MirrorSnapshotKind::kNonPrimary, DaemonState::kRunning);
  LoseA();
  world_.SetCallHook(nullptr,
                     [](absl::string_view, absl::string_view call, bool) {
                       if (call == "rbd_mirror_image_promote") {
                         throw FakeCrash();
                       }
                       return 0;
                     });
  EXPECT_THROW((void)Promote(on_b_, Force::kYes), FakeCrash);
  world_.SetCallHook(nullptr);
  const Explanation explained = Explain(on_b_);
  EXPECT_THAT(Said(explained, "rescue/image"), HasSubstr("rescue"));
  EXPECT_THAT(Said(explained, "rescue/step"), HasSubstr("get that state back"));
}

// --- what cannot be seen

// The note of an earlier move from here stays when another program promotes.
TEST_F(ExplainTest, OfAPromotionByOthersNoTakingBackIsTold) {
  AddMirrored();
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(2));
  EXPECT_EQ(Said(Explain(on_a_), "mirroring/own demotion"),
            "this site has demoted its image");
  ASSERT_OK(Promote(on_b_));
  world_.Advance(minutes(2));
  ASSERT_OK(Demote(on_b_));
  world_.Advance(minutes(2));
  a_.Promote(image_, Force::kNo);
  world_.Advance(minutes(2));
  ASSERT_TRUE(Noted(a_, image_).demotion.has_value());
  EXPECT_EQ(Said(Explain(on_a_), "mirroring/own demotion"), "");
}

TEST_F(ExplainTest, AManagerThatIsAwayLeavesTheRest) {
  AddMirrored();
  a_.SetMgrUp(false);
  const Explanation explained = Explain(on_a_);
  EXPECT_THAT(explained.unseen,
              Contains(HasSubstr("the schedule of mirror snapshots")));
  EXPECT_EQ(Said(explained, "schedule/real"), "");
  EXPECT_EQ(Of(explained, "demote").verdict, Verdict::kWorks);
}

TEST_F(ExplainTest, WhetherTheManagerIsThereIsAskedOnceForAll) {
  AddMirrored();
  ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "5m"}}));
  world_.Advance(minutes(1));
  world_.ClearCalls();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Said(Explain(on_a_), "schedule/real"), "every 5m");
  }
  EXPECT_EQ(world_.CountCalls("a", "rados_mgr_command"), 1);
}

TEST_F(ExplainTest, ClientsThatCannotBeListedMakeADemotionUnclear) {
  AddMirrored();
  Fail("rbd_watchers_list", EACCES, 100);
  const Explanation explained = Explain(on_a_);
  EXPECT_THAT(explained.unseen, Contains(HasSubstr("who has the image open")));
  EXPECT_EQ(Of(explained, "demote").verdict, Verdict::kUnclear);
  EXPECT_EQ(Of(explained, "promote").verdict, Verdict::kWorks);
}

TEST_F(ExplainTest, AMirrorThatWasSentAwayIsSaid) {
  AddMirrored();
  const std::string other =
      pair_.AddMirroredVolume(a_, "b891b493-7754-470d-b2a0-4ca18f698b29");
  world_.Advance(minutes(1));
  EXPECT_EQ(Said(Explain(on_b_), "mirroring/sent away"), "");
  ASSERT_OK(Promote(on_b_, Force::kYes));
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(std::chrono::seconds(40));
  EXPECT_THAT(Said(Explain(on_b_), "mirroring/sent away"),
              HasSubstr("was sent away by this daemon at "));
  id_ = other;
  const Explanation explained = Explain(on_b_);
  for (const char* const verb : {"promote", "resync"}) {
    EXPECT_THAT(Of(explained, verb).reason,
                HasSubstr("was sent away by this daemon at "))
        << verb;
  }
}

TEST_F(ExplainTest, AVolumeThatIsNotFoundStillHasAnId) {
  id_ = pair_.VolumeId(a_, "b891b493-7754-470d-b2a0-4ca18f698b29");
  const Explanation explained = Explain(on_b_);
  EXPECT_EQ(Said(explained, "id/uuid"), "b891b493-7754-470d-b2a0-4ca18f698b29");
  EXPECT_THAT(explained.unseen, Contains(HasSubstr("the volume: ")));
  EXPECT_THAT(explained.forecasts, SizeIs(7));
  EXPECT_EQ(Of(explained, "promote", Force::kYes).verdict, Verdict::kRefuses);
  EXPECT_EQ(Of(explained, "promote", Force::kYes).code,
            absl::StatusCode::kNotFound);
}

TEST_F(ExplainTest, ASilentClusterIsUnclear) {
  AddMirrored();
  b_.SetClusterUp(false);
  const Explanation explained = Explain(on_b_);
  EXPECT_THAT(explained.forecasts, SizeIs(7));
  for (const VerbForecast& one : explained.forecasts) {
    EXPECT_EQ(one.forecast.verdict, Verdict::kUnclear) << one.verb;
  }
}

TEST_F(ExplainTest, ARefusedUserIsAnError) {
  AddMirrored();
  b_.SetKey("AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==");
  VolumeTarget target = on_a_.Target(id_);
  const absl::Status status = Run([&](OperationContext& context) {
    return ExplainVolume(context, on_b_.environment(), target, std::nullopt)
        .status();
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnauthenticated));
}

// --- what it leaves

TEST_F(ExplainTest, NoTraceForAPromotion) {
  AddMirrored();
  for (int i = 0; i < 60; ++i) {
    (void)Explain(on_b_);
    world_.Advance(seconds(10));
  }
  deadline_ = seconds(60);
  EXPECT_THAT(Promote(on_b_), StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace addons::testing
