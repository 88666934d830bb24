// The verbs on one volume.

#include <cerrno>
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ceph/mirror_clients.h"
#include "replication/look/rescue_record.h"
#include "tests/faults/scenario.h"

namespace addons::testing {
namespace {

/// Both rbd-mirrors say so of a's image, again and again.
void ReportNotPrimary(Rig& rig) {
  for (const std::string& uuid : {std::string(), rig.b_.mirror_uuid()}) {
    rig.a_.SetStatus(rig.image_, uuid, MirrorStatusState::kUnknown,
                     "remote image is not primary");
  }
  rig.world_.Schedule(std::chrono::seconds(1),
                      [&rig] { ReportNotPrimary(rig); });
}

using std::chrono::minutes;

constexpr char kEnable[] = "EnableVolumeReplication";
constexpr char kDisable[] = "DisableVolumeReplication";
constexpr char kPromote[] = "PromoteVolume";
constexpr char kDemote[] = "DemoteVolume";
constexpr char kResync[] = "ResyncVolume";

using Prepare = std::function<void(Rig&)>;
using Call = std::function<absl::Status(Rig&)>;

Scenario Make(std::string name, std::string rpc, std::string site,
              Prepare prepare, Call call) {
  return {std::move(name), "replication.Controller", std::move(rpc),
          std::move(site), std::move(prepare),       std::move(call)};
}

const ParameterMap& Every5Minutes() {
  static const ParameterMap* const map =
      new ParameterMap{{"schedulingInterval", "5m"}};
  return *map;
}

absl::Status PromoteA(Rig& rig) {
  return rig.Promote(rig.a_, Force::kNo, Every5Minutes());
}
absl::Status PromoteB(Rig& rig) {
  return rig.Promote(rig.b_, Force::kNo, Every5Minutes());
}
absl::Status ForceB(Rig& rig) {
  return rig.Promote(rig.b_, Force::kYes, Every5Minutes());
}
absl::Status DemoteA(Rig& rig) { return rig.Demote(rig.a_); }
absl::Status DisableA(Rig& rig) { return rig.Disable(rig.a_); }
absl::Status ResyncA(Rig& rig) { return rig.Resync(rig.a_, Force::kYes); }

/// Content 5 is on a alone, until the demotion is copied.
void DemotedOnA(Rig& rig) {
  rig.AddMirrored();
  ASSERT_OK(rig.a_.Write(rig.image_, 5));
  rig.a_.Demote(rig.image_);
  rig.world_.Advance(minutes(1));
}

/// b was promoted by force while a was away, and a is demoted since.
void SplitAndDemoted(Rig& rig) {
  rig.AddMirrored();
  rig.LoseA();
  rig.b_.Promote(rig.image_, Force::kYes);
  rig.a_.SetClusterUp(true);
  rig.world_.Advance(minutes(1));
  ASSERT_OK(rig.Demote(rig.a_));
  // rbd-mirror has looked at the split brain, and looks again later only.
  rig.world_.Advance(minutes(2) + std::chrono::seconds(10));
}

void AddEnable(std::vector<Scenario>* all) {
  const auto plain = [](Rig& rig) {
    rig.AddPlain();
    rig.pair_.AddJournal(rig.b_, kUuid);
  };
  const Call enable = [](Rig& rig) { return rig.Enable(rig.a_); };
  all->push_back(Make("EnableFresh", kEnable, "a", plain, enable));
  all->push_back(Make("EnableJournalFresh", kEnable, "a", plain, [](Rig& rig) {
    return rig.Enable(rig.a_, {{"mirroringMode", "journal"}});
  }));
  all->push_back(Make(
      "EnableRepeated", kEnable, "a", [](Rig& rig) { rig.AddMirrored(); },
      enable));
  all->push_back(Make(
      "EnableHalfDone", kEnable, "a",
      [plain](Rig& rig) {
        plain(rig);
        // A running one removes an image that stays "creating".
        rig.a_.SetMirrorDaemon(DaemonState::kDown);
        rig.a_.InterruptEnable(rig.image_);
      },
      enable));
}

/// A manager that does not answer keeps no volume from being primary: the
/// schedule is written down, and the next call or the upkeep sets it.
const Deferred kSchedule = {"rados_mgr_command", ": schedule "};
const Deferred kStoredSchedule = {"rados_mgr_command",
                                  "/rbd_mirror_snapshot_schedule"};
/// It holds nothing that is needed any more: the next promotion removes it.
const Deferred kRescueImage = {"rbd_remove", "rbd-addons-rescue."};

/// A clone of "golden", whose parent is mirrored.
void Clone(Rig& rig) {
  rig.a_.AddImage(MirroredPair::kPool, "", "golden");
  rig.a_.EnableMirroring("golden");
  rig.a_.AddClone("golden", rig.image_);
  rig.pair_.AddJournal(rig.a_, kUuid);
  rig.pair_.AddJournal(rig.b_, kUuid);
  rig.id_ = rig.pair_.VolumeId(rig.a_, kUuid);
}

void AddClones(std::vector<Scenario>* all) {
  const Call flatten = [](Rig& rig) {
    return rig.Enable(rig.a_, {{"flattenMode", "force"}});
  };
  all->push_back(Make("EnableFlattens", kEnable, "a", Clone, flatten));
  // Where the user may not use the manager's queue of tasks.
  all->push_back(Make(
      "EnableFlattensItself", kEnable, "a",
      [](Rig& rig) {
        Clone(rig);
        rig.a_.SetMgrHasModule(false);
      },
      flatten));
  all->push_back(
      Make("EnableJournalOfAClone", kEnable, "a", Clone, [](Rig& rig) {
        return rig.Enable(rig.a_, {{"mirroringMode", "journal"}});
      }));
}

void AddPromote(std::vector<Scenario>* all) {
  const size_t first = all->size();
  all->push_back(Make(
      "PromotePlannedFresh", kPromote, "b",
      [](Rig& rig) {
        DemotedOnA(rig);
        rig.WrongImageId(rig.b_);
      },
      PromoteB));
  all->push_back(Make(
      "PromotePlannedRepeated", kPromote, "b",
      [](Rig& rig) {
        DemotedOnA(rig);
        ASSERT_OK(PromoteB(rig));
        rig.world_.Advance(minutes(1));
      },
      PromoteB));
  all->push_back(Make(
      "PromotePlannedHalfDone", kPromote, "b",
      [](Rig& rig) {
        DemotedOnA(rig);
        rig.b_.LeaveNextSnapshotIncomplete(rig.image_);
        rig.b_.Promote(rig.image_, Force::kNo);
      },
      PromoteB));
  all->push_back(Make("PromoteTakesBack", kPromote, "a", DemotedOnA, PromoteA));
  const auto lost = [](Rig& rig) {
    rig.AddMirrored();
    rig.LoseA();
  };
  all->push_back(Make("PromoteForcedFresh", kPromote, "b", lost, ForceB));
  all->push_back(Make(
      "PromoteForcedRepeated", kPromote, "b",
      [lost](Rig& rig) {
        lost(rig);
        ASSERT_OK(ForceB(rig));
      },
      ForceB));
  for (const auto kind : {MirrorSnapshotKind::kNonPrimary,
                          MirrorSnapshotKind::kNonPrimaryDemoted}) {
    const bool demoted = kind == MirrorSnapshotKind::kNonPrimaryDemoted;
    all->push_back(Make(
        demoted ? "PromoteForcedInHalfADemotion" : "PromoteForcedInHalfACopy",
        kPromote, "b",
        [kind](Rig& rig) {
          rig.AddMirrored(Rig::kSmallImage);
          rig.StopMidCopy(kind, DaemonState::kDown);
          rig.LoseA();
        },
        ForceB));
  }
  // What it returns to is what was there before the copy of 5.
  for (const auto kind : {MirrorSnapshotKind::kNonPrimary,
                          MirrorSnapshotKind::kNonPrimaryDemoted}) {
    const bool demoted = kind == MirrorSnapshotKind::kNonPrimaryDemoted;
    all->push_back(Make(
        demoted ? "PromoteForcedBesideASnapshotInHalfADemotion"
                : "PromoteForcedBesideASnapshotInHalfACopy",
        kPromote, "b",
        [kind](Rig& rig) {
          rig.AddMirrored(Rig::kSmallImage);
          ASSERT_OK(rig.a_.Write(rig.image_, 5));
          rig.a_.CreateMirrorSnapshot(rig.image_);
          rig.world_.Advance(minutes(1));
          ASSERT_TRUE(rig.pair_.InSync(rig.b_, rig.image_));
          rig.b_.AddSnapshot(rig.image_, "backup", SnapshotKind::kUser);
          rig.StopMidCopy(kind, DaemonState::kDown);
          rig.LoseA();
        },
        ForceB));
  }
  // rbd-mirror takes up the copy of one object anew, and goes on with that of
  // four.
  for (const uint64_t copied : {1, 4}) {
    all->push_back(Make(
        copied == 1 ? "PromoteHalfADemotionGivenUpAtOnce"
                    : "PromoteHalfADemotionGivenUp",
        kPromote, "b",
        [copied](Rig& rig) {
          rig.AddMirrored(Rig::kSmallImage);
          rig.b_.SetCopySpeed(1);
          ASSERT_OK(rig.a_.Write(rig.image_, 9));
          rig.a_.Demote(rig.image_);
          ASSERT_TRUE(rig.world_.AdvanceUntil(
              [&] {
                const auto newest = rig.b_.Snapshots(rig.image_).back();
                return newest.demoted() && newest.last_copied_object >= copied;
              },
              minutes(2)));
          rig.b_.ReconnectMirrorDaemon();
          rig.world_.Advance(minutes(1));
        },
        PromoteB));
  }
  // Of a rescue that died before the image grew.
  all->push_back(Make(
      "PromoteForcedWithAnOldRescueImage", kPromote, "b",
      [](Rig& rig) {
        rig.AddMirrored(Rig::kSmallImage);
        rig.StopMidCopy(MirrorSnapshotKind::kNonPrimary, DaemonState::kDown);
        rig.b_.AddImage(MirroredPair::kPool, "",
                        RescueImageName(ImageName(rig.image_)).text(),
                        Rig::kSmallImage / 2);
        rig.LoseA();
      },
      ForceB));
  for (size_t i = first; i < all->size(); ++i) {
    all->at(i).deferred = {kSchedule, kStoredSchedule, kRescueImage};
  }
}

void AddDemote(std::vector<Scenario>* all) {
  all->push_back(Make(
      "DemoteFresh", kDemote, "a",
      [](Rig& rig) {
        rig.AddMirrored();
        ASSERT_OK(rig.a_.Write(rig.image_, 5));
        rig.a_.SetImageMetadata(rig.image_, ".rbd.csi.ceph.com/userid/node-1",
                                "x");
      },
      DemoteA));
  all->push_back(Make(
      "DemoteRepeated", kDemote, "a",
      [](Rig& rig) {
        rig.AddMirrored();
        ASSERT_OK(DemoteA(rig));
        rig.world_.Advance(minutes(1));
      },
      DemoteA));
  // Its lease is still there.
  all->push_back(Make(
      "DemoteAfterADeadDaemon", kDemote, "a",
      [](Rig& rig) {
        rig.AddMirrored();
        rig.DieIn(rig.a_, "rados_lock_exclusive", DemoteA);
      },
      DemoteA));
  all->push_back(Make(
      "DemoteHalfDone", kDemote, "a",
      [](Rig& rig) {
        rig.AddMirrored();
        rig.a_.LeaveNextSnapshotIncomplete(rig.image_);
        rig.a_.Demote(rig.image_);
        rig.world_.Advance(minutes(1));
      },
      DemoteA));
  // Nobody has a report there, so that none is noted with the demotion.
  all->back().believes = {{ENOENT, "rbd.mirror_image_status_get"}};
}

void AddDisable(std::vector<Scenario>* all) {
  const auto scheduled = [](Rig& rig) {
    rig.AddMirrored();
    ASSERT_OK(PromoteA(rig));
  };
  all->push_back(Make("DisableFresh", kDisable, "a", scheduled, DisableA));
  all->push_back(Make(
      "DisableRepeated", kDisable, "a",
      [scheduled](Rig& rig) {
        scheduled(rig);
        ASSERT_OK(DisableA(rig));
        rig.world_.Advance(minutes(1));
      },
      DisableA));
  all->push_back(Make(
      "DisableHalfDone", kDisable, "a",
      [scheduled](Rig& rig) {
        scheduled(rig);
        rig.a_.InterruptDisable(rig.image_);
      },
      DisableA));
  // EINVAL is how librbd says that only force carries it on.
  all->back().may_answer = {absl::StatusCode::kFailedPrecondition};
  all->push_back(Make(
      "DisableForced", kDisable, "b",
      [](Rig& rig) {
        rig.AddMirrored();
        rig.LoseA();
      },
      [](Rig& rig) {
        return rig.Disable(rig.b_, {{"force", "true"}});
      }));
}

void AddResync(std::vector<Scenario>* all) {
  all->push_back(Make("ResyncFresh", kResync, "a", SplitAndDemoted, ResyncA));
  all->push_back(Make(
      "ResyncRepeated", kResync, "a",
      [](Rig& rig) {
        SplitAndDemoted(rig);
        for (int call = 0; call < 20 && !ResyncA(rig).ok(); ++call) {
          rig.world_.Advance(minutes(1));
        }
        ASSERT_OK(ResyncA(rig));
      },
      ResyncA));
  all->push_back(Make(
      "ResyncHalfDone", kResync, "a",
      [](Rig& rig) {
        SplitAndDemoted(rig);
        (void)ResyncA(rig);
        rig.world_.Advance(std::chrono::seconds(2));
      },
      ResyncA));
}

/// Those whose process has seen the role that they change: they have the lease
/// before they look (SessionOptions::changes).
void AddSeenBefore(std::vector<Scenario>* all) {
  const std::set<std::string> fresh = {"DemoteFresh", "DisableFresh",
                                       "PromoteForcedFresh",
                                       "PromoteForcedInHalfACopy"};
  std::vector<Scenario> seen;
  for (const Scenario& scenario : *all) {
    if (!fresh.contains(scenario.name)) continue;
    Scenario& more = seen.emplace_back(scenario);
    more.name += "SeenBefore";
    more.before = [on_a = scenario.site == "a"](Rig& rig) {
      return rig.Info(on_a ? rig.a_ : rig.b_);
    };
  }
  all->insert(all->end(), seen.begin(), seen.end());
}

/// The model replays no journal: what needs no peer that follows.
void AddJournalMode(std::vector<Scenario>* all) {
  const auto mirrored = [](Rig& rig) {
    rig.AddPlain();
    rig.pair_.AddJournal(rig.b_, kUuid);
    rig.a_.EnableMirroring(rig.image_, MirrorMode::kJournal);
    rig.world_.Advance(minutes(1));
  };
  all->push_back(
      Make("PromoteJournalRepeated", kPromote, "a", mirrored,
           [](Rig& rig) { return rig.Promote(rig.a_, Force::kNo); }));
  // rbd-mirror lets go of the image three seconds later.
  all->push_back(Make(
      "PromoteJournalDemoted", kPromote, "a",
      [mirrored](Rig& rig) {
        mirrored(rig);
        rig.a_.Demote(rig.image_);
        ReportNotPrimary(rig);
        const auto pool = rig.pair_.cluster(rig.a_)->OpenPool(
            rig.pair_.pool_id(rig.a_), "", Access::kRead);
        ASSERT_OK(pool);
        const auto clients = ListMirrorClients(**pool);
        ASSERT_OK(clients);
        ASSERT_FALSE(clients->empty());
        const Watcher& client = clients->front();
        rig.a_.AddWatcher(rig.image_, client.address, client.client_id);
        rig.world_.Schedule(std::chrono::seconds(3),
                            [&rig, id = client.client_id] {
                              rig.a_.RemoveWatcher(rig.image_, id);
                            });
      },
      [](Rig& rig) { return rig.Promote(rig.a_, Force::kNo); }));
  all->push_back(
      Make("DisableJournalFresh", kDisable, "a", mirrored, DisableA));
  all->push_back(Make(
      "DisableJournalHalfDone", kDisable, "a",
      [mirrored](Rig& rig) {
        mirrored(rig);
        rig.a_.InterruptDisable(rig.image_);
      },
      DisableA));
  // EINVAL is how librbd says that only force carries it on.
  all->back().may_answer = {absl::StatusCode::kFailedPrecondition};
}

void AddLooks(std::vector<Scenario>* all) {
  Scenario info = Make(
      "InfoOfASecondary", "GetVolumeReplicationInfo", "b",
      [](Rig& rig) {
        rig.AddMirrored();
        rig.world_.Advance(minutes(1));
      },
      [](Rig& rig) { return rig.Info(rig.b_); });
  // What could not be seen may make it worse, and never better.
  info.agrees = [](const std::string& said, const std::string& wanted) {
    return said >= wanted;
  };
  all->push_back(info);
  info.name = "InfoOfAPrimary";
  info.site = "a";
  info.call = [](Rig& rig) { return rig.Info(rig.a_); };
  all->push_back(info);
  all->push_back(Make(
      "Destination", "GetReplicationDestinationInfo", "a",
      [](Rig& rig) { rig.AddMirrored(); },
      [](Rig& rig) { return rig.Destination(rig.a_); }));
}

}  // namespace

std::vector<Scenario> ReplicationScenarios() {
  std::vector<Scenario> all;
  AddEnable(&all);
  AddClones(&all);
  AddPromote(&all);
  AddDemote(&all);
  AddDisable(&all);
  AddSeenBefore(&all);
  AddResync(&all);
  AddJournalMode(&all);
  AddLooks(&all);
  return all;
}

}  // namespace addons::testing
