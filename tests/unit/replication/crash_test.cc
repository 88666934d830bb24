// The process dies, or a call fails, at each call of each verb: the repeat ends
// where an undisturbed call ends, and no answer means what it must not mean.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "ceph/errors.h"
#include "ceph/mirror.h"
#include "replication/look/rescue_record.h"
#include "tests/fakes/local_notes.h"
#include "tests/rpc/error_code_table.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

/// Two sites and their daemons, for one run.
class Bench final : public VerbsTest {
 public:
  void TestBody() override {}

  using VerbsTest::a_;
  using VerbsTest::AddMirrored;
  using VerbsTest::AddPlain;
  using VerbsTest::AwaitSync;
  using VerbsTest::b_;
  using VerbsTest::deadline_;
  using VerbsTest::Demote;
  using VerbsTest::Disable;
  using VerbsTest::Enable;
  using VerbsTest::id_;
  using VerbsTest::image_;
  using VerbsTest::Info;
  using VerbsTest::kSmallImage;
  using VerbsTest::LoseA;
  using VerbsTest::MakeSync;
  using VerbsTest::pair_;
  using VerbsTest::Pause;
  using VerbsTest::Promote;
  using VerbsTest::Resume;
  using VerbsTest::Resync;
  using VerbsTest::StopMidCopy;
  using VerbsTest::world_;

  Daemon& on(FakeSite& site) {
    auto& daemon = daemons_[site.name()];
    if (daemon == nullptr) {
      daemon = std::make_unique<Daemon>(world_, pair_, site);
      // Fewer calls that do the same again.
      daemon->options().poll_interval = seconds(10);
      daemon->options().rescue_copy.pieces = 32;
    }
    return *daemon;
  }
  void RestartDaemons() { daemons_.clear(); }

  std::string KeptBy(FakeSite& site) {
    const auto pause = Noted(site, image_).pause;
    return pause.has_value()
               ? absl::StrCat(" pause of step ", static_cast<int>(pause->step),
                              " keeps ", pause->schedules)
               : "";
  }

  /// Everything that the verbs change, without ids.
  std::string State() {
    std::string text;
    for (FakeSite* const site : {&a_, &b_}) {
      absl::StrAppend(&text, site->name(), ": ");
      if (!site->HasImage(image_)) {
        absl::StrAppend(&text, "no image; ");
        continue;
      }
      const MirrorImageInfo info = site->Info(image_);
      absl::StrAppend(&text, Name(info.state), " ", Name(info.mode),
                      info.primary ? " primary" : "",
                      " data=", site->Data(image_),
                      site->Torn(image_) ? " torn" : "");
      const auto snapshots = site->Snapshots(image_);
      if (!snapshots.empty()) {
        absl::StrAppend(&text, " newest=", Name(snapshots.back().kind),
                        snapshots.back().complete ? "" : " incomplete");
      }
      const OmapValues journal = site->Omap(MirroredPair::kPool, "",
                                            absl::StrCat("csi.volume.", kUuid));
      const auto id = journal.find("csi.imageid");
      absl::StrAppend(
          &text, " imageid=",
          id != journal.end() && id->second == site->ImageId(image_) ? "right"
                                                                     : "wrong",
          " schedule=",
          absl::StrContains(site->Schedules(), image_)
              ? absl::StrContains(site->Schedules(), "5m") ? "5m" : "other"
              : "none",
          site->HasImage(RescueImageName(ImageName(image_)).text())
              ? " rescue image"
              : "",
          KeptBy(*site), "; ");
    }
    return text;
  }

 private:
  std::map<std::string, std::unique_ptr<Daemon>> daemons_;
};

struct Scenario {
  friend void PrintTo(const Scenario& scenario, std::ostream* out) {
    *out << scenario.name;
  }

  std::string name;
  std::string rpc;  // as docs/error-codes.md calls it
  std::function<void(Bench&)> prepare;
  /// NOT_FOUND and UNAVAILABLE stand for "ask again", too.
  std::function<absl::Status(Bench&)> run;
};

const ParameterMap& Every5Minutes() {
  static const ParameterMap* const map =
      new ParameterMap{{"schedulingInterval", "5m"}};
  return *map;
}

void WrongImageId(FakeSite& site) {
  site.AddOmapValue(MirroredPair::kPool, "", absl::StrCat("csi.volume.", kUuid),
                    "csi.imageid", "10old");
}

std::vector<Scenario> Scenarios() {
  std::vector<Scenario> all;
  all.push_back(
      {"Enable", "EnableVolumeReplication",
       [](Bench& bench) {
         bench.AddPlain();
         bench.pair_.AddJournal(bench.b_, kUuid);
       },
       [](Bench& bench) { return bench.Enable(bench.on(bench.a_)); }});
  all.push_back(
      {"EnableFlattens", "EnableVolumeReplication",
       [](Bench& bench) {
         bench.a_.AddImage(MirroredPair::kPool, "", "golden");
         bench.a_.AddClone("golden", bench.image_);
         bench.pair_.AddJournal(bench.a_, kUuid);
         bench.pair_.AddJournal(bench.b_, kUuid);
         bench.id_ = bench.pair_.VolumeId(bench.a_, kUuid);
       },
       [](Bench& bench) {
         return bench.Enable(bench.on(bench.a_), {{"flattenMode", "force"}});
       }});
  all.push_back({"PromotePlanned", "PromoteVolume",
                 [](Bench& bench) {
                   bench.AddMirrored();
                   WrongImageId(bench.b_);
                   ASSERT_OK(bench.a_.Write(bench.image_, 5));
                   bench.a_.Demote(bench.image_);
                   bench.world_.Advance(minutes(1));
                 },
                 [](Bench& bench) {
                   return bench.Promote(bench.on(bench.b_), Force::kNo,
                                        Every5Minutes());
                 }});
  all.push_back({"PromoteForced", "PromoteVolume",
                 [](Bench& bench) {
                   bench.AddMirrored();
                   bench.LoseA();
                 },
                 [](Bench& bench) {
                   return bench.Promote(bench.on(bench.b_), Force::kYes,
                                        Every5Minutes());
                 }});
  for (const auto kind : {MirrorSnapshotKind::kNonPrimary,
                          MirrorSnapshotKind::kNonPrimaryDemoted}) {
    const bool demoted = kind == MirrorSnapshotKind::kNonPrimaryDemoted;
    all.push_back({demoted ? "PromoteRescuesFromHalfADemotion"
                           : "PromoteRescuesFromHalfACopy",
                   "PromoteVolume",
                   [kind](Bench& bench) {
                     bench.AddMirrored(Bench::kSmallImage);
                     bench.StopMidCopy(kind, DaemonState::kDown);
                     bench.LoseA();
                   },
                   [](Bench& bench) {
                     return bench.Promote(bench.on(bench.b_), Force::kYes,
                                          Every5Minutes());
                   }});
  }
  all.push_back(
      {"PromoteCompletesHalfAPromotion", "PromoteVolume",
       [](Bench& bench) {
         bench.AddMirrored();
         bench.a_.Demote(bench.image_);
         bench.world_.Advance(minutes(1));
         bench.b_.LeaveNextSnapshotIncomplete(bench.image_);
         bench.b_.Promote(bench.image_, Force::kNo);
       },
       [](Bench& bench) { return bench.Promote(bench.on(bench.b_)); }});
  all.push_back({"PromoteTakesBack", "PromoteVolume",
                 [](Bench& bench) {
                   bench.AddMirrored();
                   bench.a_.Demote(bench.image_);
                   bench.world_.Advance(minutes(1));
                 },
                 [](Bench& bench) {
                   return bench.Promote(bench.on(bench.a_), Force::kNo,
                                        Every5Minutes());
                 }});
  all.push_back(
      {"Demote", "DemoteVolume",
       [](Bench& bench) {
         bench.AddMirrored();
         ASSERT_OK(bench.a_.Write(bench.image_, 5));
         bench.a_.SetImageMetadata(bench.image_,
                                   ".rbd.csi.ceph.com/userid/node-1", "x");
       },
       [](Bench& bench) { return bench.Demote(bench.on(bench.a_)); }});
  all.push_back(
      {"DemoteRepairs", "DemoteVolume",
       [](Bench& bench) {
         bench.AddMirrored();
         bench.a_.LeaveNextSnapshotIncomplete(bench.image_);
         bench.a_.Demote(bench.image_);
         bench.world_.Advance(minutes(1));
       },
       [](Bench& bench) { return bench.Demote(bench.on(bench.a_)); }});
  all.push_back(
      {"DisablePrimary", "DisableVolumeReplication",
       [](Bench& bench) {
         bench.AddMirrored();
         ASSERT_OK(
             bench.Promote(bench.on(bench.a_), Force::kNo, Every5Minutes()));
       },
       [](Bench& bench) { return bench.Disable(bench.on(bench.a_)); }});
  all.push_back(
      {"DisableByForce", "DisableVolumeReplication",
       [](Bench& bench) {
         bench.AddMirrored();
         bench.LoseA();
       },
       [](Bench& bench) {
         return bench.Disable(bench.on(bench.b_), {{"force", "true"}});
       }});
  const auto scheduled = [](Bench& bench) {
    bench.AddMirrored();
    ASSERT_OK(bench.Promote(bench.on(bench.a_), Force::kNo, Every5Minutes()));
  };
  all.push_back({"Pause", "PauseVolume", scheduled, [](Bench& bench) {
                   return bench.Pause(bench.on(bench.a_)).status();
                 }});
  all.push_back(
      {"Resume", "ResumeVolume",
       [scheduled](Bench& bench) {
         scheduled(bench);
         ASSERT_OK(bench.Pause(bench.on(bench.a_)));
       },
       [](Bench& bench) { return bench.Resume(bench.on(bench.a_)).status(); }});
  all.push_back(
      {"PromoteEndsAPause", "PromoteVolume",
       [scheduled](Bench& bench) {
         scheduled(bench);
         ASSERT_OK(bench.Pause(bench.on(bench.a_)));
         ASSERT_OK(bench.Demote(bench.on(bench.a_)));
         bench.world_.Advance(minutes(1));
         bench.b_.Promote(bench.image_, Force::kNo);
         bench.world_.Advance(minutes(1));
         bench.b_.Demote(bench.image_);
         bench.world_.Advance(minutes(1));
       },
       [](Bench& bench) { return bench.Promote(bench.on(bench.a_)); }});
  all.push_back({"Sync", "SyncVolume",
                 [](Bench& bench) {
                   bench.AddMirrored();
                   ASSERT_OK(bench.a_.Write(bench.image_, 5));
                 },
                 [](Bench& bench) -> absl::Status {
                   const auto made = bench.MakeSync(bench.on(bench.a_));
                   return made.ok() ? bench.AwaitSync(bench.on(bench.a_), *made)
                                    : made.status();
                 }});
  all.push_back({"Resync", "ResyncVolume",
                 [](Bench& bench) {
                   bench.AddMirrored();
                   bench.LoseA();
                   bench.b_.Promote(bench.image_, Force::kYes);
                   bench.a_.SetClusterUp(true);
                   bench.world_.Advance(minutes(1));
                   ASSERT_OK(bench.Demote(bench.on(bench.a_)));
                   bench.world_.Advance(minutes(2));
                 },
                 [](Bench& bench) -> absl::Status {
                   const auto answer =
                       bench.Resync(bench.on(bench.a_), Force::kYes);
                   if (!answer.ok()) return answer.status();
                   return answer->ready ? absl::OkStatus()
                                        : absl::UnavailableError("not ready");
                 }});
  return all;
}

/// As the operator does. The last answer.
absl::Status RunUntilOk(Bench& bench, const Scenario& scenario) {
  absl::Status status;
  for (int call = 0; call < 20; ++call) {
    status = scenario.run(bench);
    if (status.ok()) return status;
    bench.world_.Advance(seconds(20));
  }
  return status;
}

/// When everything has settled.
std::string EndState(Bench& bench) {
  bench.a_.SetClusterUp(true);
  bench.world_.Advance(minutes(3));
  return bench.State();
}

std::unique_ptr<Bench> Prepared(const Scenario& scenario) {
  auto bench = std::make_unique<Bench>();
  scenario.prepare(*bench);
  bench->RestartDaemons();
  bench->world_.ClearCalls();
  return bench;
}

class EachCallTest : public ::testing::TestWithParam<Scenario> {
 protected:
  EachCallTest() {
    const auto bench = Prepared(GetParam());
    EXPECT_OK(RunUntilOk(*bench, GetParam()));
    calls_ = bench->world_.Calls();
    wanted_ = EndState(*bench);
  }
  std::vector<CallRecord> calls_;  // of an undisturbed run
  std::string wanted_;
};

TEST_P(EachCallTest, RepeatAfterACrashEndsAsWithoutIt) {
  const auto mutations =
      std::count_if(calls_.begin(), calls_.end(),
                    [](const CallRecord& call) { return call.mutation; });
  ASSERT_GT(mutations, 0);
  for (int k = 1; k <= mutations; ++k) {
    for (const bool after : {false, true}) {
      const auto bench = Prepared(GetParam());
      bench->world_.StrikeAtMutation(k, 0, after);
      SCOPED_TRACE(
          absl::StrCat("died ", after ? "after" : "before", " mutation ", k));
      bool died = false;
      try {
        RunUntilOk(*bench, GetParam()).IgnoreError();
      } catch (const FakeCrash&) {
        died = true;
      }
      EXPECT_TRUE(died);
      bench->world_.SetCallHook(nullptr);
      bench->RestartDaemons();
      EXPECT_OK(RunUntilOk(*bench, GetParam()));
      EXPECT_EQ(EndState(*bench), wanted_);
      EXPECT_THAT(bench->world_.Violations(), ::testing::IsEmpty());
    }
  }
}

struct Fault {
  int error;
  bool after;
};

TEST_P(EachCallTest, FailedCallGivesAnAnswerOfTheDocumentAndTheRepeatHeals) {
  const Scenario& scenario = GetParam();
  const std::set<ErrorCodeRow> rows = ReadErrorCodeRows(ADDONS_ERROR_CODES);
  ASSERT_FALSE(rows.empty());
  const auto documented = [&](absl::StatusCode code) {
    const std::string name = absl::StatusCodeToString(code);
    return code == absl::StatusCode::kOk || rows.contains({"*", name}) ||
           rows.contains({"replication.Controller/*", name}) ||
           rows.contains({scenario.rpc, name});
  };
  size_t found = 0;  // calls up to here look for the volume
  while (found < calls_.size() && calls_[found].object != "rbd_directory" &&
         calls_[found].call != "rbd_open_read_only") {
    ++found;
  }
  ASSERT_LT(found, calls_.size());
  // To wait for something is to make the same calls again and again.
  std::map<std::pair<std::string, std::string>, int> made;
  for (size_t k = 0; k < calls_.size(); ++k) {
    const bool again = ++made[{calls_[k].call, calls_[k].object}] > 3;
    std::vector<Fault> faults = {{ETIMEDOUT, false}};
    if (!again || calls_[k].mutation) {
      faults.insert(faults.end(), {{EBUSY, false},
                                   {ENOENT, false},
                                   {EAGAIN, false},
                                   {ETIMEDOUT, true},
                                   {EBUSY, true}});
    }
    for (const Fault& fault : faults) {
      SCOPED_TRACE(absl::StrCat("call ", k, " ", calls_[k].call, " ",
                                calls_[k].object, ": errno ", fault.error,
                                fault.after ? " after its effect" : ""));
      const auto bench = Prepared(scenario);
      const auto seen = std::make_shared<std::atomic<size_t>>(0);
      const auto fail = [k, seen, fault](absl::string_view, absl::string_view,
                                         bool) {
        return (*seen)++ == k ? fault.error : 0;
      };
      bench->world_.SetCallHook(
          fault.after ? nullptr : FakeWorld::CallHook(fail),
          fault.after ? FakeWorld::CallHook(fail) : nullptr);
      const absl::Status first = scenario.run(*bench);
      EXPECT_TRUE(documented(first.code())) << first;
      // Without the object that rbd-mirror watches it is a client like others.
      const bool in_use = scenario.rpc == "DemoteVolume" &&
                          calls_[k].call == "rados_list_watchers";
      if (!in_use) {
        EXPECT_NE(first.code(), absl::StatusCode::kFailedPrecondition) << first;
      }
      // That the image itself is absent is told by opening it.
      const bool absence = k <= found || calls_[k].call == "rbd_open_read_only";
      if (!absence) {
        EXPECT_NE(first.code(), absl::StatusCode::kNotFound) << first;
      }
      EXPECT_OK(RunUntilOk(*bench, scenario));
      EXPECT_EQ(EndState(*bench), wanted_);
      EXPECT_THAT(bench->world_.Violations(), ::testing::IsEmpty());
      if (HasFailure()) return;  // one is enough to read
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Verbs, EachCallTest, ::testing::ValuesIn(Scenarios()),
                         [](const auto& tested) { return tested.param.name; });

TEST(InfoFaultTest, FailedCallGivesAnAnswerOfTheDocument) {
  const std::set<ErrorCodeRow> rows = ReadErrorCodeRows(ADDONS_ERROR_CODES);
  const auto prepare = [] {
    auto bench = std::make_unique<Bench>();
    bench->AddMirrored();
    bench->world_.Advance(minutes(1));
    bench->world_.ClearCalls();
    return bench;
  };
  size_t calls = 0;
  {
    const auto bench = prepare();
    ASSERT_OK(bench->Info(bench->on(bench->a_)));
    calls = bench->world_.Calls().size();
  }
  for (size_t k = 0; k < calls; ++k) {
    for (const int error : {EBUSY, ENOENT, ETIMEDOUT, EAGAIN}) {
      const auto bench = prepare();
      const auto seen = std::make_shared<std::atomic<size_t>>(0);
      std::string failed;
      bench->world_.SetCallHook(
          [&](absl::string_view, absl::string_view call, bool) {
            if ((*seen)++ != k) return 0;
            failed = std::string(call);
            return error;
          });
      const auto info = bench->Info(bench->on(bench->a_));
      const std::string code = absl::StatusCodeToString(info.status().code());
      SCOPED_TRACE(absl::StrCat(failed, ": errno ", error));
      EXPECT_TRUE(info.ok() || rows.contains({"*", code}) ||
                  rows.contains({"replication.Controller/*", code}) ||
                  rows.contains({"GetVolumeReplicationInfo", code}))
          << info.status();
      EXPECT_NE(code, "FAILED_PRECONDITION") << info.status();
      // The operator ignores NOT_FOUND.
      if (failed != "rbd_open_read_only" && failed != "rados_ioctx_create2" &&
          failed != "rados_read_op_omap_get_vals2") {
        EXPECT_NE(code, "NOT_FOUND") << info.status();
      }
    }
  }
}

/// The daemon dies inside one of librbd's calls, between the two changes that
/// it makes: the image is primary and refuses writes.
class HalfChangeTest : public VerbsTest {
 protected:
  void DieWithin(const std::string& call) {
    world_.SetCallHook(
        nullptr, nullptr,
        [call](absl::string_view, absl::string_view made, bool) -> int {
          if (made == call) throw FakeCrash();
          return 0;
        });
  }
  void ExpectRefusesWrites(FakeSite& site) {
    world_.SetCallHook(nullptr);
    EXPECT_TRUE(site.Info(image_).primary);
    EXPECT_EQ(CephErrno(site.Write(image_, 2)), EROFS);
  }
};

TEST_F(HalfChangeTest, APrimaryThatAPromotionLeftReadOnlyIsMadeWritable) {
  AddMirrored();
  a_.Demote(image_);
  world_.Advance(minutes(1));
  DieWithin("rbd_mirror_image_promote");
  Daemon dying(world_, pair_, b_);
  EXPECT_THROW((void)Promote(dying), FakeCrash);
  ExpectRefusesWrites(b_);
  EXPECT_OK(Promote(on_b_));
  EXPECT_OK(b_.Write(image_, 2));
}

TEST_F(HalfChangeTest, APrimaryThatADemotionLeftReadOnlyIsMadeWritable) {
  AddMirrored();
  DieWithin("rbd_mirror_image_demote");
  Daemon dying(world_, pair_, a_);
  EXPECT_THROW((void)Demote(dying), FakeCrash);
  ExpectRefusesWrites(a_);
  EXPECT_OK(Promote(on_a_));
  EXPECT_OK(a_.Write(image_, 2));
}

TEST_F(HalfChangeTest, ADemotionThatDiedIsFinishedByTheNext) {
  AddMirrored();
  DieWithin("rbd_mirror_image_demote");
  Daemon dying(world_, pair_, a_);
  EXPECT_THROW((void)Demote(dying), FakeCrash);
  ExpectRefusesWrites(a_);
  EXPECT_OK(Demote(on_a_));
  EXPECT_OK(Promote(on_b_));
  EXPECT_OK(b_.Write(image_, 2));
}

}  // namespace
}  // namespace addons::testing
