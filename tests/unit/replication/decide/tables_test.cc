// Each row of each verb's table has an example here: something seen, of which
// that row is the first to speak. Left out, another row answers, and says
// something else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "replication/decide/demote.h"
#include "replication/decide/disable.h"
#include "replication/decide/enable.h"
#include "replication/decide/promote.h"
#include "replication/decide/resync.h"
#include "replication/look/mirrored_clone.h"
#include "replication/look/record.h"
#include "replication/look/rollback_mark.h"

namespace addons {
namespace {

using absl::StatusCode;
using std::chrono::minutes;
using std::chrono::seconds;
using Kind = MirrorSnapshotKind;
using State = MirrorStatusState;

constexpr int64_t kNow = 1'800'000'000;
constexpr char kPrimary[] = "local image is primary";
constexpr char kNotPrimary[] = "remote image is not primary";
constexpr char kIdle[] = R"(replaying, {"replay_state":"idle"})";
constexpr char kSplitBrain[] = "split-brain detected";

/// What a verb sees. It begins as a healthy copy in snapshot mode: the newest
/// snapshot is complete, this site's rbd-mirror copies, the peer is primary and
/// reports.
struct Scene {
  Scene() {
    view.image_id = "10a1";
    view.created.seconds = kNow - 5000;
    view.size.objects = 64;
    view.timeline_key = "key";
    view.info.state = MirrorImageState::kEnabled;
    view.info.mode = MirrorMode::kSnapshot;
    view.quiet_for = seconds(10);
    Add(Kind::kNonPrimary);
    Local(State::kReplaying, kIdle);
    Peer(State::kStopped, kPrimary);
  }

  /// A snapshot that was taken, or copied, so many seconds ago.
  MirrorSnapshot& Add(Kind kind, bool complete = true, int64_t ago = 600) {
    MirrorSnapshot snapshot;
    snapshot.id = 2 * (view.snapshots.size() + 1);
    snapshot.kind = kind;
    snapshot.complete = complete;
    snapshot.primary_mirror_uuid =
        kind == Kind::kPrimary || kind == Kind::kPrimaryDemoted ? "" : "uuid-a";
    snapshot.created = std::chrono::system_clock::from_time_t(kNow - ago);
    view.snapshots.push_back(snapshot);
    return view.snapshots.back();
  }
  static SiteView Site(const char* uuid, State state, const char* text,
                       int64_t ago) {
    SiteView site;
    site.status = {uuid, true, state, text, kNow - ago};
    site.says = SaysOf(site.status);
    site.rewritten = true;
    return site;
  }
  void Local(State state, const char* text, int64_t ago = 5) {
    view.local = Site("", state, text, ago);
  }
  void Peer(State state, const char* text, int64_t ago = 5) {
    view.peers = {Site("uuid-a", state, text, ago)};
  }
  /// In the middle of its copy rbd-mirror has begun anew.
  void GiveUpHalfDemotion(bool lists_peers) {
    MirrorSnapshot& half = Add(Kind::kNonPrimaryDemoted, false, 60);
    half.last_copied_object = 5;
    half.lists_peers = lists_peers;
    Local(State::kUnknown, kNotPrimary);
    Peer(State::kUnknown, kNotPrimary);
  }
  /// The peer has not reported for longer than the settle time.
  void PeerIsSilent() {
    for (SiteView& peer : view.peers) {
      peer.age = minutes(5);
      peer.status.up = false;
    }
    view.quiet_for = minutes(5);
    clocks.quiet_for = minutes(5);
    clocks.looked_for = minutes(5);
  }
  /// Promoted after the peer's demotion; the peer follows.
  void BecomePrimary() {
    view.info.primary = true;
    view.snapshots.clear();
    Add(Kind::kNonPrimaryDemoted, true, 700);
    view.own.promoted_from = PromotedFrom(view);
    Add(Kind::kPrimary, true, 600);
    Local(State::kStopped, kPrimary);
    Peer(State::kReplaying, kIdle);
    PeerWasHeard(2);
  }
  void PeerWasHeard(int rewrites) {
    for (SiteView& peer : view.peers) peer.rewrites = rewrites;
  }
  /// This site's own demotion is the newest, and the peer has copied it.
  void DemoteOwn(bool complete = true) {
    view.snapshots.clear();
    Add(Kind::kPrimary, true, 900);
    Add(Kind::kPrimaryDemoted, complete, 600);
    Local(State::kUnknown, kNotPrimary);
    Peer(State::kUnknown, kNotPrimary);
  }
  /// The peer's demotion is here.
  void DemotionArrives(bool complete = true) {
    Add(Kind::kNonPrimaryDemoted, complete, 300);
    Local(State::kUnknown, kNotPrimary);
    Peer(State::kUnknown, kNotPrimary);
  }
  /// As of a demotion of this site's own that may hide what a peer has written.
  void LeaveStep() {
    DemoteOwn();
    view.snapshots.front().unsynced_peer_uuids = {"uuid-a"};
    view.own.demotion = OwnDemotionMark{};
  }
  void GiveBack() {
    DemoteOwn();
    view.own.demotion = OwnDemotionMark{OwnDemotionStep::kGivenBack};
  }
  void UseJournal() {
    view.info.mode = MirrorMode::kJournal;
    view.snapshots.clear();
  }
  void State_(MirrorImageState state) { view.info.state = state; }
  void HaveParent() { view.parent = ImageParent(); }
  void BeginRollback() {
    view.marks[kRollbackKey] =
        FormatRollbackMark({"first", "before", "", "then"}, view);
  }
  void TakeBack() {
    BecomePrimary();
    view.own.demotion = OwnDemotionMark{OwnDemotionStep::kTakenBack};
  }

  PromoteSeen OfPromote() {
    PromoteSeen seen{.view = view,
                     .rescue = rescue,
                     .options = options,
                     .site_name = names,
                     .force = force};
    seen.clocks = clocks;
    seen.journal_image_id = journal_image_id;
    seen.open_by_mirror = open_by_mirror;
    seen.was_primary = was_primary;
    seen.restore_point = restore_point;
    seen.done = done;
    return seen;
  }
  DemoteSeen OfDemote() {
    DemoteSeen seen{.view = view,
                    .rescue = rescue,
                    .site_name = names,
                    .settle = options.settle_time,
                    .spec = "pool/vol",
                    .rescue_spec = "pool/rescue",
                    .image = ImageName("vol"),
                    .workloads = workloads,
                    .published = published};
    seen.done = done;
    return seen;
  }
  DisableSeen OfDisable() {
    DisableSeen seen{.view = view, .options = options, .force = force};
    seen.for_something_else = for_something_else;
    seen.awaited_for = awaited_for;
    seen.unchanged_for = unchanged_for;
    seen.at_work = at_work;
    seen.obstacle = obstacle;
    if (rescue_read) seen.rescue = rescue;
    seen.rescue_image = ImageName("rescue");
    seen.forced = forced;
    seen.carried_on = carried_on;
    seen.done = done;
    return seen;
  }
  EnableSeen OfEnable() {
    EnableSeen seen{.view = view, .pool = "pool", .pool_and_namespace = "pool"};
    seen.look_gap = options.poll_interval;
    seen.unchanged_for = unchanged_for;
    seen.read = pool;
    seen.schedule_due = schedule_due;
    seen.done = done;
    return seen;
  }
  ResyncSeen OfResync() {
    ResyncSeen seen{.view = absent ? no_image : view,
                    .site_name = names,
                    .settle = options.settle_time,
                    .force = force,
                    .absent = absent,
                    .since_primary = since_primary,
                    .error = error,
                    .spec = "pool/vol"};
    seen.rescue = rescue;
    return seen;
  }

  ReplicationOptions options;
  SiteNameFn names = [](const std::string&) { return "site 'a'"; };
  MirrorView view;
  std::optional<RescueRecord> rescue;
  SeriesClocks clocks;
  Force force = Force::kNo;
  std::string restore_point;
  Done done;
  // --- of Promote
  std::optional<std::string> journal_image_id;
  std::optional<bool> open_by_mirror;
  bool was_primary = false;
  // --- of Demote
  std::vector<Watcher> workloads;
  std::map<std::string, std::string> published;
  // --- of Disable and Enable
  bool for_something_else = false;
  std::optional<SteadyDuration> awaited_for;
  SteadyDuration unchanged_for = minutes(1);
  bool schedule_due = false;
  std::string at_work;
  std::string obstacle;
  bool rescue_read = true;
  bool forced = false;
  int carried_on = 0;
  std::optional<PoolSeen> pool = PoolSeen{PoolMirrorMode::kImage, true, ""};
  // --- of Resync
  bool absent = false;
  MirrorView no_image;
  std::optional<SteadyDuration> since_primary;
  std::optional<ResyncError> error;
};

struct Example {
  const char* row;
  Step step;
  StatusCode code;
  void (*arrange)(Scene&);
};

bool Same(const Next& one, const Next& other) {
  return one.step == other.step && one.code == other.code &&
         one.reason == other.reason;
}

template <typename Seen>
void Check(absl::Span<const Rule<Seen>> table,
           const std::vector<Example>& examples, Seen (Scene::*see)()) {
  std::set<std::string> shown;
  for (const Example& example : examples) {
    SCOPED_TRACE(example.row);
    shown.insert(example.row);
    Scene scene;
    example.arrange(scene);
    const Next next = FirstOf(table, (scene.*see)());
    EXPECT_EQ(next.row, example.row) << next.reason;
    EXPECT_EQ(next.step, example.step) << next.reason;
    EXPECT_EQ(next.code, example.code) << next.reason;
    const Next without = FirstOf(
        table, (scene.*see)(),
        [&example](const Next& said) { return said.row == example.row; });
    EXPECT_FALSE(Same(next, without))
        << "without it, " << without.row << " says the same";
  }
  std::set<std::string> rows;
  for (const Rule<Seen>& row : table) {
    EXPECT_TRUE(rows.insert(std::string(row.name)).second) << row.name;
  }
  EXPECT_EQ(shown, rows) << "a row without an example, or the other way round";
}

constexpr StatusCode kGoesOn = StatusCode::kOk;
constexpr StatusCode kRepeat = StatusCode::kUnavailable;
constexpr StatusCode kForcible = StatusCode::kFailedPrecondition;

TEST(TablesTest, Promote) {
  const std::vector<Example> examples = {
      {"role-lost", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.DemotionArrives();
         s.was_primary = true;
       }},
      {"disabling", Step::kWait, kRepeat,
       [](Scene& s) { s.State_(MirrorImageState::kDisabling); }},
      {"state-unknown", Step::kWait, kRepeat,
       [](Scene& s) { s.State_(MirrorImageState::kUnknown); }},
      {"off", Step::kAnswer, kForcible,
       [](Scene& s) { s.State_(MirrorImageState::kDisabled); }},

      {"release-unseen", Step::kSeeRelease, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.UseJournal();
       }},
      {"open-by-mirror", Step::kAwaitRelease, kRepeat,
       [](Scene& s) {
         s.BecomePrimary();
         s.UseJournal();
         s.open_by_mirror = true;
         s.view.primary_for = seconds(1);
       }},
      {"half-copy-unsaved", Step::kSaveHalfCopy, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.view.snapshots.front().complete = false;
       }},
      {"refuses-writes", Step::kMakeWritable, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.view.marked_non_primary = true;
       }},
      {"half-copies", Step::kRemoveHalfCopies, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.view.snapshots.front().complete = false;
         s.Add(Kind::kPrimary, true, 100);  // it has gone on since
       }},
      {"rescue-awaited", Step::kRestore, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.rescue = RescueRecord{RescueStep::kPromoting, "10a1", 100};
       }},
      {"rescue-over", Step::kRemoveRescue, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.rescue = RescueRecord{RescueStep::kRestored, "10a1", 100};
       }},
      {"newest-incomplete", Step::kCompleteSnapshot, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.Add(Kind::kPrimary, false, 5);
       }},
      {"peer-primary-too", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.TakeBack();
         s.force = Force::kYes;
         s.Peer(State::kStopped, kPrimary);
       }},
      {"yields-to-primary", Step::kYield, kRepeat,
       [](Scene& s) {
         s.TakeBack();
         s.Peer(State::kStopped, kPrimary);
       }},
      {"follower-silent", Step::kAnswer, kForcible,
       [](Scene& s) {
         s.TakeBack();
         s.PeerIsSilent();
       }},
      {"yields-to-diverged", Step::kYield, kRepeat,
       [](Scene& s) {
         s.TakeBack();
         s.Peer(State::kError, kSplitBrain);
       }},
      {"not-followed", Step::kAwaitFollowers, kRepeat,
       [](Scene& s) {
         s.TakeBack();
         s.Peer(State::kStartingReplay, "starting replay");
       }},
      {"demotion-over", Step::kForgetDemotion, kGoesOn,
       [](Scene& s) { s.TakeBack(); }},
      {"resync-request", Step::kForgetResync, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.view.resync_requested = true;
       }},
      {"image-id", Step::kCorrectImageId, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.journal_image_id = "an earlier one";
       }},
      {"clone", Step::kRememberClone, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.HaveParent();
       }},
      {"schedule", Step::kKeepSchedule, kGoesOn,
       [](Scene& s) { s.BecomePrimary(); }},
      {"point-to-go-back-to", Step::kRollBack, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.BeginRollback();
         s.restore_point = "first";
         s.done.Count(Step::kKeepSchedule);
       }},
      {"rollback-begun", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.BecomePrimary();
         s.BeginRollback();
         s.done.Count(Step::kKeepSchedule);
       }},
      {"not-of-that-point", Step::kAnswer, StatusCode::kInvalidArgument,
       [](Scene& s) {
         s.BecomePrimary();
         s.view.own.restored = RestoredPoint{"first", 1, 1};
         s.restore_point = "first";
         s.done.Count(Step::kKeepSchedule);
       }},
      {"primary", Step::kAnswer, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.done.Count(Step::kKeepSchedule);
       }},

      {"point-not-here", Step::kAnswer, StatusCode::kInvalidArgument,
       [](Scene& s) {
         s.DemotionArrives();
         s.restore_point = "first";
       }},
      {"report-unknown", Step::kWait, kRepeat,
       [](Scene& s) {
         s.DemotionArrives();
         s.Peer(State::kUnrecognized, "something new");
       }},
      {"note-unknown", Step::kWait, kRepeat,
       [](Scene& s) {
         s.DemoteOwn();
         s.view.own.demotion = OwnDemotionMark{};
         s.view.own.demotion->unclear = true;
         s.view.peers.front().rewrites_in_call = 1;
       }},
      {"marked-copy-went-on", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.rescue = RescueRecord{RescueStep::kMarked, "10a1", 1};
         s.DemotionArrives();
       }},
      {"copy-damaged", Step::kWait, kRepeat,
       [](Scene& s) {
         s.DemotionArrives();
         s.view.proof.point = "first";
         s.view.proof.damaged = 1;
       }},
      {"rollback-copied", Step::kWait, kRepeat,
       [](Scene& s) {
         s.DemotionArrives();
         s.BeginRollback();
       }},
      {"demotion-here", Step::kPromote, kGoesOn,
       [](Scene& s) { s.DemotionArrives(); }},
      {"demotion-here-unconfirmed", Step::kWait, kRepeat,
       [](Scene& s) {
         s.DemoteOwn();
         s.force = Force::kYes;
       }},

      {"rescue-begun", Step::kRescue, kGoesOn,
       [](Scene& s) {
         s.force = Force::kYes;
         s.rescue = RescueRecord{RescueStep::kPromoting, "10a1", 100};
       }},
      {"first-copy", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.force = Force::kYes;
         s.UseJournal();
         s.view.first_copy_pending = true;
       }},
      {"nothing-complete", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.force = Force::kYes;
         s.view.snapshots.front().complete = false;
       }},
      {"complete-copy", Step::kPromoteByForce, kGoesOn,
       [](Scene& s) { s.force = Force::kYes; }},
      {"user-snapshot-in-mid-copy", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.force = Force::kYes;
         s.Add(Kind::kNonPrimary, false);
         s.view.other_snapshots = {{3, "backup", SnapshotKind::kUser}};
         s.HaveParent();
       }},
      {"mid-copy", Step::kRescue, kGoesOn,
       [](Scene& s) {
         s.force = Force::kYes;
         s.Add(Kind::kNonPrimary, false);
       }},

      {"out-of-step-dead", Step::kAnswer, kForcible,
       [](Scene& s) {
         s.LeaveStep();
         s.PeerIsSilent();
       }},
      {"out-of-step", Step::kWait, kRepeat, [](Scene& s) { s.LeaveStep(); }},
      {"claim-may-be-denied", Step::kWait, kRepeat,
       [](Scene& s) {
         s.DemotionArrives();
         s.Peer(State::kStopped, kPrimary, 30);
         s.PeerIsSilent();
       }},
      {"peer-took-role-back", Step::kAnswer, kForcible,
       [](Scene& s) {
         s.GiveBack();
         s.PeerIsSilent();
       }},
      {"diverged", Step::kWait, kRepeat, [](Scene& s) { s.GiveBack(); }},
      {"local-mirror-down", Step::kWait, kRepeat,
       [](Scene& s) {
         s.view.local->age = minutes(5);
         s.view.local->status.up = false;
         s.view.local->rewritten = false;
       }},
      {"peer-primary", Step::kAnswer, kForcible,
       [](Scene& s) {
         s.clocks.peer_primary_for = minutes(5);
         s.clocks.image_primary_for = minutes(5);
       }},
      {"workload-on-peer", Step::kWait, kRepeat,
       [](Scene& s) {
         s.view.refused_demotion = RefusedDemotion{"client.4711", "", kNow};
         s.clocks.peer_primary_for = minutes(5);
         s.clocks.image_primary_for = minutes(5);
       }},
      {"no-sign-of-life", Step::kAnswer, kForcible,
       [](Scene& s) { s.PeerIsSilent(); }},
      {"demotion-given-up", Step::kWait, kRepeat,
       [](Scene& s) { s.GiveUpHalfDemotion(/*lists_peers=*/false); }},
      {"demotion-to-resume", Step::kResumeDemotionCopy, kRepeat,
       [](Scene& s) { s.GiveUpHalfDemotion(/*lists_peers=*/true); }},
      {"not-yet", Step::kWait, kRepeat, [](Scene&) {}},
  };
  Check(PromoteTable(), examples, &Scene::OfPromote);
}

TEST(TablesTest, Demote) {
  const auto repeat = [](Scene& s, Step step) {
    for (int i = 0; i < 4; ++i) s.done.Count(step);
  };
  static const auto repeated = repeat;
  const std::vector<Example> examples = {
      {"disabling", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.BecomePrimary();
         s.State_(MirrorImageState::kDisabling);
       }},
      {"off", Step::kAnswer, kForcible,
       [](Scene& s) { s.State_(MirrorImageState::kDisabled); }},
      {"rescue-awaited", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.BecomePrimary();
         s.rescue = RescueRecord{RescueStep::kPromoting, "10a1", 100};
       }},
      {"rollback-begun", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.BecomePrimary();
         s.BeginRollback();
       }},
      {"clone-loss", Step::kAnswer, kForcible,
       [](Scene& s) {
         s.BecomePrimary();
         s.HaveParent();
       }},
      {"half-demotion-claimed", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.DemoteOwn(false);
         s.Peer(State::kStopped, kPrimary);
         s.Local(State::kReplaying, kIdle);
       }},
      {"half-demotion-unclear", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.DemoteOwn(false);
         s.Peer(State::kUnrecognized, "something new");
       }},
      {"half-demotion", Step::kRepair, kGoesOn,
       [](Scene& s) { s.DemoteOwn(false); }},
      {"bad-demotion", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.DemoteOwn(false);
         repeated(s, Step::kRepair);
       }},
      {"secondary", Step::kAnswer, kGoesOn,
       [](Scene& s) { s.Peer(State::kStartingReplay, "starting replay"); }},
      {"workload", Step::kAwaitWorkloadEnd, kForcible,
       [](Scene& s) {
         s.BecomePrimary();
         s.workloads = {Watcher{"10.0.0.5:0/1", 4711, 1}};
       }},
      {"no-follower", Step::kAwaitFollower, kRepeat,
       [](Scene& s) {
         s.BecomePrimary();
         s.Peer(State::kStartingReplay, "starting replay");
       }},
      {"published", Step::kAwaitReturn, kRepeat,
       [](Scene& s) {
         s.BecomePrimary();
         s.published = {{absl::StrCat(kPublishPrefix, "userid/node"), "x"}};
       }},
      {"demotion-without-effect", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.BecomePrimary();
         repeated(s, Step::kDemote);
       }},
      {"demote", Step::kDemote, kGoesOn, [](Scene& s) { s.BecomePrimary(); }},
  };
  Check(DemoteTable(), examples, &Scene::OfDemote);
}

TEST(TablesTest, Disable) {
  const std::vector<Example> examples = {
      {"mirrored-for-group", Step::kForgetGroup, kGoesOn,
       [](Scene& s) {
         s.State_(MirrorImageState::kDisabled);
         s.view.marks[kGroupMark] = "uuid";
       }},
      {"off", Step::kAnswer, kGoesOn,
       [](Scene& s) { s.State_(MirrorImageState::kDisabled); }},
      {"own-schedule", Step::kKeepSchedule, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.for_something_else = true;
       }},
      {"kept", Step::kAnswer, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.for_something_else = true;
         s.done.Count(Step::kKeepSchedule);
       }},
      {"disabling-changes", Step::kWait, kRepeat,
       [](Scene& s) {
         s.BecomePrimary();
         s.State_(MirrorImageState::kDisabling);
         s.unchanged_for = seconds(0);
       }},
      {"disabling-at-work", Step::kWait, kRepeat,
       [](Scene& s) {
         s.State_(MirrorImageState::kDisabling);
         s.at_work = "rbd-mirror of this site";
       }},
      {"disabling-needs-force", Step::kAnswer, kForcible,
       [](Scene& s) { s.State_(MirrorImageState::kDisabling); }},
      {"disabling-does-not-end", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.BecomePrimary();
         s.State_(MirrorImageState::kDisabling);
         s.carried_on = kCarryOns;
       }},
      {"follower-late", Step::kWait, kRepeat,
       [](Scene& s) {
         s.BecomePrimary();
         s.awaited_for = seconds(5);
       }},
      {"still-mirrored", Step::kAnswer, kRepeat,
       [](Scene& s) { s.forced = true; }},
      {"half-enabled-lately", Step::kAwaitHalfEnable, kRepeat,
       [](Scene& s) {
         s.State_(MirrorImageState::kCreating);
         s.view.snapshots.clear();
         s.view.local.reset();
         s.view.peers.clear();
         s.unchanged_for = seconds(0);
       }},
      {"leave-to-primary", Step::kAnswer, kGoesOn, [](Scene&) {}},
      {"peer-may-be-promoted", Step::kWait, kRepeat,
       [](Scene& s) { s.Peer(State::kUnknown, kNotPrimary); }},
      {"peer-may-live", Step::kWait, kRepeat,
       [](Scene& s) { s.Peer(State::kReplaying, kIdle); }},
      {"copy-needs-force", Step::kAnswer, kForcible,
       [](Scene& s) { s.PeerIsSilent(); }},
      {"obstacle", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.BecomePrimary();
         s.obstacle = "somebody has locked it by hand";
       }},
      {"marked-copy-went-on", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.PeerIsSilent();
         s.force = Force::kYes;
         s.rescue = RescueRecord{RescueStep::kMarked, "10a1", 1};
       }},
      {"rescue-live", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.BecomePrimary();
         s.rescue = RescueRecord{RescueStep::kPromoting, "10a1", 100};
       }},
      {"rollback-begun", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.BecomePrimary();
         s.BeginRollback();
       }},
      {"user-snapshot-in-mid-copy", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.PeerIsSilent();
         s.force = Force::kYes;
         s.Add(Kind::kNonPrimary, false);
         s.view.other_snapshots = {{3, "backup", SnapshotKind::kUser}};
       }},
      {"rescue-over", Step::kRemoveRescue, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.rescue = RescueRecord{RescueStep::kRestored, "10a1", 100};
       }},
      {"half-enabled", Step::kUndoEnable, kGoesOn,
       [](Scene& s) {
         s.State_(MirrorImageState::kCreating);
         s.view.snapshots.clear();
         s.view.local.reset();
         s.view.peers.clear();
       }},
      {"primary", Step::kDisable, kGoesOn, [](Scene& s) { s.BecomePrimary(); }},
      {"copy", Step::kDisableByForce, kGoesOn,
       [](Scene& s) {
         s.PeerIsSilent();
         s.force = Force::kYes;
       }},
      {"rescue-unread", Step::kReadRescue, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.rescue_read = false;
       }},
  };
  Check(DisableTable(), examples, &Scene::OfDisable);
}

TEST(TablesTest, Enable) {
  const std::vector<Example> examples = {
      {"half-enabled-lately", Step::kAwaitHalfEnable, kRepeat,
       [](Scene& s) {
         s.State_(MirrorImageState::kCreating);
         s.view.snapshots.clear();
         s.Add(Kind::kPrimary);
         s.unchanged_for = seconds(0);
       }},
      {"half-enabled", Step::kClearHalfEnable, kGoesOn,
       [](Scene& s) {
         s.State_(MirrorImageState::kCreating);
         s.view.snapshots.clear();
         s.Add(Kind::kPrimary);
       }},
      {"other-mode", Step::kAnswer, kForcible,
       [](Scene& s) { s.UseJournal(); }},
      {"mirrored-for-group", Step::kTakeOverFromGroup, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.view.marks[kGroupMark] = "uuid";
       }},
      {"clone", Step::kRememberClone, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.HaveParent();
       }},
      {"volume-not-noted", Step::kNoteVolume, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.view.volume_note_due = "{}";
       }},
      {"schedule", Step::kKeepSchedule, kGoesOn,
       [](Scene& s) {
         s.BecomePrimary();
         s.schedule_due = true;
       }},
      {"on", Step::kAnswer, kGoesOn, [](Scene&) {}},
      {"enable-without-effect", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.State_(MirrorImageState::kDisabled);
         s.done.Count(Step::kEnable);
       }},
      {"resync-requested", Step::kWait, kRepeat,
       [](Scene& s) {
         s.State_(MirrorImageState::kDisabled);
         s.view.resync_requested = true;
       }},
      {"disabling", Step::kWait, kRepeat,
       [](Scene& s) { s.State_(MirrorImageState::kDisabling); }},
      {"left-copy", Step::kAnswer, kForcible,
       [](Scene& s) {
         s.State_(MirrorImageState::kDisabled);
         s.view.marked_non_primary = true;
       }},
      {"pool-mode-unknown", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.State_(MirrorImageState::kDisabled);
         s.pool->mode = PoolMirrorMode::kUnknown;
       }},
      {"pool-not-mirrored", Step::kAnswer, kForcible,
       [](Scene& s) {
         s.State_(MirrorImageState::kDisabled);
         s.pool->mode = PoolMirrorMode::kDisabled;
       }},
      {"pool-mirrored-as-a-whole", Step::kAnswer, kForcible,
       [](Scene& s) {
         s.State_(MirrorImageState::kDisabled);
         s.pool->mode = PoolMirrorMode::kPool;
       }},
      {"no-peer", Step::kAnswer, kForcible,
       [](Scene& s) {
         s.State_(MirrorImageState::kDisabled);
         s.pool->has_peer = false;
       }},
      {"no-room", Step::kAnswer, kForcible,
       [](Scene& s) {
         s.State_(MirrorImageState::kDisabled);
         s.pool->no_room = "it may have 2 snapshots";
       }},
      {"parent", Step::kPrepareParent, kGoesOn,
       [](Scene& s) {
         s.State_(MirrorImageState::kDisabled);
         s.HaveParent();
       }},
      {"enable", Step::kEnable, kGoesOn,
       [](Scene& s) { s.State_(MirrorImageState::kDisabled); }},
      {"pool-unread", Step::kReadPool, kGoesOn,
       [](Scene& s) {
         s.State_(MirrorImageState::kDisabled);
         s.pool.reset();
       }},
  };
  Check(EnableTable(), examples, &Scene::OfEnable);
}

TEST(TablesTest, Resync) {
  const std::vector<Example> examples = {
      {"absent", Step::kAnswer, kGoesOn,
       [](Scene& s) {
         s.absent = true;
         s.since_primary = seconds(5);
       }},
      {"absent-without-source", Step::kAnswer, kRepeat,
       [](Scene& s) { s.absent = true; }},
      {"disabling", Step::kAnswer, kRepeat,
       [](Scene& s) { s.State_(MirrorImageState::kDisabling); }},
      {"off", Step::kAnswer, kForcible,
       [](Scene& s) { s.State_(MirrorImageState::kDisabled); }},
      {"primary", Step::kAnswer, kForcible,
       [](Scene& s) { s.BecomePrimary(); }},
      {"requested-without-source", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.view.resync_requested = true;
         s.PeerIsSilent();
       }},
      {"requested", Step::kAnswer, kGoesOn,
       [](Scene& s) { s.view.resync_requested = true; }},
      {"marked-copy-went-on-without-primary", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.rescue = RescueRecord{RescueStep::kMarked, "10a1", 1};
         s.PeerIsSilent();
       }},
      {"marked-copy-went-on", Step::kAnswer, kForcible,
       [](Scene& s) {
         s.rescue = RescueRecord{RescueStep::kMarked, "10a1", 1};
       }},
      {"marked-copy-went-on-forced", Step::kRequest, kGoesOn,
       [](Scene& s) {
         s.rescue = RescueRecord{RescueStep::kMarked, "10a1", 1};
         s.force = Force::kYes;
       }},
      {"marked-copy", Step::kAnswer, kRepeat,
       [](Scene& s) { s.view.marked_complete_id = 2; }},
      {"copying-without-source", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.Local(State::kSyncing, "bootstrapping");
         s.PeerIsSilent();
       }},
      {"copying", Step::kAnswer, kGoesOn,
       [](Scene& s) { s.Local(State::kSyncing, "bootstrapping"); }},
      {"not-reported", Step::kAwaitReports, kRepeat,
       [](Scene& s) { s.view.local.reset(); }},
      {"local-mirror-down", Step::kAnswer, kRepeat,
       [](Scene& s) { s.view.local->status.up = false; }},
      {"report-of-before", Step::kAwaitReports, kRepeat,
       [](Scene& s) { s.view.local->status.last_update = 1; }},
      {"peer-copies-demotion", Step::kAnswer, kGoesOn,
       [](Scene& s) {
         s.DemoteOwn();
         s.Peer(State::kReplaying, kIdle);
       }},
      {"in-step", Step::kReady, kGoesOn, [](Scene&) {}},
      {"both-demoted", Step::kReady, kGoesOn, [](Scene& s) { s.DemoteOwn(); }},
      {"both-demoted-out-of-step", Step::kAnswer, kRepeat,
       [](Scene& s) { s.LeaveStep(); }},
      {"both-demoted-given-back", Step::kAnswer, kRepeat,
       [](Scene& s) { s.GiveBack(); }},
      {"no-error", Step::kAwaitReports, kRepeat,
       [](Scene& s) { s.Local(State::kStopped, "stopped"); }},
      {"error-may-pass", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.Local(State::kError, "failed to copy: (5) Input/output error");
         s.error = ResyncError();
       }},
      {"no-living-primary", Step::kAnswer, kRepeat,
       [](Scene& s) {
         s.Local(State::kError, kSplitBrain);
         s.Peer(State::kUnknown, kNotPrimary);
         s.error = ResyncError();
       }},
      {"broken", Step::kAnswer, kForcible,
       [](Scene& s) {
         s.Local(State::kError, kSplitBrain);
         s.error = ResyncError();
       }},
      {"broken-forced", Step::kRequest, kGoesOn,
       [](Scene& s) {
         s.Local(State::kError, kSplitBrain);
         s.error = ResyncError();
         s.force = Force::kYes;
       }},
      {"error-unread", Step::kReadError, kGoesOn,
       [](Scene& s) { s.Local(State::kError, kSplitBrain); }},
  };
  Check(ResyncTable(), examples, &Scene::OfResync);
}

}  // namespace
}  // namespace addons
