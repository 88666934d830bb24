// Random disasters: a site dies, or rbd-mirror and the link fail, the other one
// is promoted by force when the code says so, or by mistake, the dead one comes
// back, is demoted and resynced, and moves back as planned. Faults and deaths
// of daemons happen in all of these calls.
//
// What a forced promotion may lose is what has not arrived: the new primary has
// the newest state that had arrived whole, or a newer one that was
// acknowledged, and never a torn one. From then on its writes count, those of
// the other side do not, and no planned move loses one of them.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/faults/walker.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class ForcedWalk final : public Walker {
 public:
  explicit ForcedWalk(unsigned long seed) : Walker(seed) {
    rig_.AddMirrored(Rig::kSmallImage);
    rig_.world_.Advance(minutes(1));
    acknowledged_ = rig_.a_.Data(rig_.image_);
  }

  /// One day: work, then a planned move, a disaster, a takeover that nobody
  /// needed, or mirroring that is ended and begun again.
  void Day() {
    Work();
    switch (Pick(5)) {
      case 0:
        return Move();
      case 1:
        return Reenable();
      case 2:
        return TakeOverByMistake();
      default:
        return Disaster();
    }
  }
  /// Both sites hold the same in the end, and a move in each direction
  /// succeeds.
  void End() {
    Move();
    Move();
  }

  int forced() const { return forced_; }
  int mistaken() const { return mistaken_; }
  int lost() const { return lost_; }
  int moved_at_once() const { return moved_at_once_; }
  int tried_to_move() const { return tried_to_move_; }

 private:
  FakeSite& other() { return rig_.pair_.other(*primary_); }

  void Work() {
    for (size_t i = 0, writes = 1 + Pick(4); i < writes; ++i) {
      if (!primary_->Write(rig_.image_, ++acknowledged_).ok()) {
        return Wrong("the primary cannot write");
      }
      Note(absl::StrCat("write ", acknowledged_, " on ", primary_->name()));
      if (Pick(2) == 0) {
        primary_->CreateMirrorSnapshot(rig_.image_);
        Note("a snapshot");
      }
      rig_.world_.Advance(seconds(Pick(30)));
    }
  }

  /// After a takeover, so that the contents differ.
  void WriteOnceAtLeast() {
    if (primary_->Data(rig_.image_) != acknowledged_ &&
        !primary_->Write(rig_.image_, ++acknowledged_).ok()) {
      Wrong("the primary cannot write");
    }
  }

  absl::Status Struck(FakeSite& site, const std::string& verb) {
    const auto fault = AnyFault();
    absl::Status status = Call(site, verb, fault ? &*fault : nullptr);
    for (const std::string& violation : rig_.world_.Violations()) {
      Wrong(violation);
    }
    if (absl::IsInternal(status) && !fault) Wrong("INTERNAL");
    return status;
  }

  void Move() {
    if (!wrong().empty()) return;
    Note("a planned move");
    if (!Until([&] { return Struck(*primary_, "Demote"); })) {
      return Wrong("no demotion succeeds");
    }
    if (!Until([&] { return Struck(other(), "Promote"); })) {
      return Wrong("no promotion succeeds");
    }
    primary_ = &other();
    Check();
  }

  /// A replication that is ended and begun again keeps the primary's content,
  /// also right after a move, when the other site does not follow yet.
  void Reenable() {
    if (!wrong().empty()) return;
    Note("mirroring ends and begins");
    if (!Until([&] { return Struck(*primary_, "Disable"); })) {
      return Wrong("no disable succeeds");
    }
    rig_.world_.Advance(minutes(1));
    Check();
    if (!Until([&] { return Struck(*primary_, "Enable"); }) ||
        !Until([&] { return Struck(*primary_, "Promote"); })) {
      return Wrong("no enable succeeds");
    }
    Check();
    rig_.world_.Advance(minutes(3));
    AwaitCopy();
  }

  void Disaster() {
    FakeSite& dead = *primary_;
    FakeSite& next = other();
    const bool in_a_copy = Pick(2) == 0;
    if (in_a_copy) {
      next.SetCopySpeed(1);
      if (!dead.Write(rig_.image_, ++acknowledged_).ok()) {
        return Wrong("the primary cannot write");
      }
      dead.CreateMirrorSnapshot(rig_.image_);
      rig_.world_.Advance(seconds(1 + Pick(20)));
    }
    // Or only the clients cannot reach it.
    const bool dies = Pick(4) != 0;
    Note(absl::StrCat("site ", dead.name(), dies ? " dies" : " is given up",
                      in_a_copy ? " in the middle of a copy" : ""));
    if (dies) dead.SetClusterUp(false);
    const uint64_t whole = NewestWhole(next);
    const bool ended = Until([&] {
      if (!dies) return Struck(next, "Promote by force");
      absl::Status status = Struck(next, "Promote");
      // As the operator does.
      if (absl::IsFailedPrecondition(status)) {
        status = Struck(next, "Promote by force");
      }
      return status;
    });
    if (!ended) return Wrong("nobody takes over");
    ++forced_;
    next.SetCopySpeed(100000);
    primary_ = &next;
    if (next.Torn(rig_.image_)) return Wrong("the new primary is torn");
    const uint64_t found = next.Data(rig_.image_);
    if (found < whole || found > acknowledged_) {
      return Wrong(absl::StrCat("the new primary has write ", found,
                                ", had write ", whole, " whole, and ",
                                acknowledged_, " was acknowledged"));
    }
    if (found < acknowledged_) ++lost_;
    // What comes from now on is told from all that came before it.
    acknowledged_ += 100;
    if (dies || Pick(2) == 0) Work();
    WriteOnceAtLeast();
    Return(dead);
  }

  /// The other site is promoted by force although this one lives, and is to be
  /// demoted again. What this one writes goes on to count.
  void TakeOverByMistake() {
    if (!wrong().empty()) return;
    FakeSite& hasty = other();
    Note(absl::StrCat("site ", hasty.name(), " takes over by mistake"));
    if (!Until([&] { return Struck(hasty, "Promote by force"); })) {
      return Wrong("nobody takes over");
    }
    ++mistaken_;
    if (Pick(2) == 0 && !hasty.Write(rig_.image_, acknowledged_ + 50).ok()) {
      return Wrong("the other primary cannot write");
    }
    acknowledged_ += 100;
    if (Pick(2) == 0) Work();
    WriteOnceAtLeast();
    Return(hasty);
  }

  /// `dead` was primary beside this site, which has the content that counts.
  void Return(FakeSite& dead) {
    if (!wrong().empty()) return;
    Note(absl::StrCat("site ", dead.name(), " is back"));
    dead.SetClusterUp(true);
    if (Pick(2) == 0) rig_.world_.Advance(seconds(Pick(120)));
    if (!DemotedByHand(dead) &&
        !Until([&] { return Struck(dead, "Demote"); })) {
      return Wrong("no demotion of the site that is back succeeds");
    }
    if (Pick(2) == 0) {
      if (Pick(2) == 0) Work();
      TryToMoveBack(dead);
    }
    // An orchestrator goes on as soon as a resync has begun.
    const bool at_once = Pick(2) == 0;
    if (!Until([&] {
          // As the operator does: it may be primary after what was tried.
          (void)Struck(dead, "Demote");
          const absl::Status status = Struck(dead, "Resync by force");
          return at_once && Rig::HasBegun(status) ? absl::OkStatus() : status;
        })) {
      return Wrong("no resync succeeds");
    }
    Check();
    if (at_once) {
      // Moved to a site whose copy is still that of before the disaster.
      if (Pick(2) == 0) {
        Note(absl::StrCat("rbd-mirror of ", dead.name(), " is away"));
        dead.SetMirrorDaemon(DaemonState::kDown);
        rig_.world_.Schedule(seconds(30 + Pick(200)), [&dead] {
          dead.SetMirrorDaemon(DaemonState::kRunning);
        });
      }
      Move();
      ++moved_at_once_;
    }
    if (wrong().empty()) AwaitCopy();
  }

  /// Sometimes it is done with the rbd command, which asks for nothing.
  bool DemotedByHand(FakeSite& site) {
    if (Pick(5) != 0 || !site.Info(rig_.image_).primary) return false;
    Note(absl::StrCat("demoted by hand: ", site.name()));
    site.Demote(rig_.image_);
    rig_.world_.Advance(seconds(Pick(30)));
    return true;
  }

  /// Before anybody has asked for a resync there: what was written since the
  /// disaster does not get there, and no answer lets it be lost.
  void TryToMoveBack(FakeSite& dead) {
    if (!wrong().empty()) return;
    Note("a move back before the resync");
    ++tried_to_move_;
    bool demoted = DemotedByHand(*primary_);
    for (int call = 0; call < 5 && !demoted; ++call) {
      demoted = Struck(*primary_, "Demote").ok();
      rig_.world_.Advance(seconds(5 + Pick(30)));
    }
    if (demoted) NobodyTakesTheContentOfBefore(dead);
    // The documented way out; where no demotion was heard of it may have begun,
    // and whoever gives the move up asks for a primary again.
    if (!Until([&] { return Struck(*primary_, "Promote by force"); })) {
      return Wrong("no promotion of the right content succeeds");
    }
    Check();
  }

  void NobodyTakesTheContentOfBefore(FakeSite& dead) {
    // It said until then that it is primary itself.
    Note("both are demoted");
    for (int call = 0; call < 8; ++call) {
      const absl::Status status = Struck(dead, "Promote");
      if (status.ok()) return Wrong("the content of before is primary");
      if (absl::IsFailedPrecondition(status)) {
        return Wrong("an orchestrator would force it");
      }
      rig_.world_.Advance(seconds(5 + Pick(30)));
    }
  }

  void AwaitCopy() {
    primary_->CreateMirrorSnapshot(rig_.image_);
    if (!rig_.world_.AdvanceUntil(
            [&] { return rig_.pair_.InSync(other(), rig_.image_); },
            minutes(10))) {
      Wrong("the other site does not follow");
    }
    rig_.pair_.AddJournal(other(), kUuid);
  }

  /// What a forced promotion there must keep at least.
  uint64_t NewestWhole(FakeSite& site) {
    uint64_t newest = 0;
    for (const MirrorSnapshot& snapshot : site.Snapshots(rig_.image_)) {
      if (snapshot.complete) {
        newest = site.SnapshotData(rig_.image_, snapshot.id);
      }
    }
    return newest;
  }

  void Check() {
    if (!wrong().empty()) return;
    if (!primary_->HasImage(rig_.image_)) return Wrong("the image is gone");
    if (primary_->Torn(rig_.image_)) Wrong("the primary is torn");
    if (primary_->Data(rig_.image_) != acknowledged_) {
      Wrong(absl::StrCat("the primary has write ", primary_->Data(rig_.image_),
                         " and ", acknowledged_, " was acknowledged"));
    }
  }

  FakeSite* primary_ = &rig_.a_;
  uint64_t acknowledged_ = 0;
  int forced_ = 0;
  int mistaken_ = 0;
  int lost_ = 0;
  int moved_at_once_ = 0;
  int tried_to_move_ = 0;
};

TEST(ForcedWalkTest, TheLastWholeStateSurvivesAndNothingAfterIt) {
  constexpr int kDays = 5;
  int forced = 0;
  int mistaken = 0;
  int lost = 0;
  int moved = 0;
  int tried = 0;
  int struck = 0;
  const unsigned long walks = TakeWalks(20, [&](unsigned long seed) {
    ForcedWalk walk(seed);
    for (int day = 0; day < kDays && walk.wrong().empty(); ++day) walk.Day();
    if (walk.wrong().empty()) walk.End();
    forced += walk.forced();
    mistaken += walk.mistaken();
    lost += walk.lost();
    moved += walk.moved_at_once();
    tried += walk.tried_to_move();
    struck += walk.struck();
    ASSERT_TRUE(walk.wrong().empty())
        << "RBD_ADDONS_WALK_SEED=" << seed << "\n  " << walk.story();
  });
  std::printf(
      "forced walks: %lu of %d days, %d takeovers, %d of which lost what had "
      "not arrived, %d of a primary that lived, %d moves before a resync had "
      "ended, %d tried before it was asked for, %d faults\n",
      walks, kDays, forced, lost, mistaken, moved, tried, struck);
  EXPECT_GT(forced, 0);
  EXPECT_GT(mistaken, 0);
  EXPECT_GT(lost, 0);
  EXPECT_GT(moved, 0);
  EXPECT_GT(tried, 0);
  EXPECT_GT(struck, 0);
}

}  // namespace
}  // namespace addons::testing
