// Random sequences of verbs, faults of calls, deaths of daemons and faults of
// sites, without a forced promotion: never are two sites told that they are
// primary, and a planned move loses no write that was acknowledged.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/fakes/local_notes.h"
#include "tests/faults/walker.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

/// What an operator and a workload believe, and what must hold for it.
class Walk final : public Walker {
 public:
  explicit Walk(unsigned long seed) : Walker(seed) {
    rig_.AddMirrored();
    rig_.world_.Advance(minutes(1));
    told_a_ = true;
    acknowledged_ = rig_.a_.Data(rig_.image_);
  }

  /// One thing that happens. Afterwards wrong() says what may not be.
  void Step() {
    switch (Pick(12)) {
      case 0:
      case 1:
        return Demote(AnySite());
      case 2:
      case 3:
      case 4:
        return Promote(AnySite());
      case 5:
        return Resync(AnySite());
      case 6:
      case 7:
        return Write();
      case 8:
        return SetFault();
      case 9:
        return Heal();
      default:
        Note(absl::StrCat("wait"));
        rig_.world_.Advance(seconds(1 + Pick(60)));
    }
  }

  /// All sites work again: what the codes ask a person for leads out of a split
  /// brain, and one more move in each direction succeeds.
  void End() {
    Heal();
    rig_.world_.Advance(minutes(3));
    FakeSite* keeper = &Keeper();
    FakeSite* other = &rig_.pair_.other(*keeper);
    Told(*other) = false;
    const auto demoted = [&] {
      return Until([&] { return Call(*other, "Demote", nullptr); });
    };
    if (!demoted()) {
      // In a split brain the answer names force on the site with the right
      // content.
      ++forced_;
      if (!Until([&] { return Call(*keeper, "Promote by force", nullptr); }) ||
          !demoted()) {
        return Wrong("no demotion succeeds in the end");
      }
    }
    if (!Until([&] {
          const absl::Status status = Call(*keeper, "Promote", nullptr);
          if (!status.ok()) (void)Call(*other, "Resync by force", nullptr);
          return status;
        })) {
      keeper = PromotedAsTold(keeper);
      if (keeper == nullptr) {
        return Wrong("no promotion succeeds in the end");
      }
      other = &rig_.pair_.other(*keeper);
    }
    CheckContent(*keeper);
    if (!Until([&] { return Call(*other, "Resync by force", nullptr); })) {
      return Wrong("no resync succeeds in the end");
    }
    for (FakeSite* const to : {other, keeper}) {
      FakeSite& from = rig_.pair_.other(*to);
      if (!Until([&] { return Call(from, "Demote", nullptr); }) ||
          !Until([&] { return Call(*to, "Promote", nullptr); })) {
        return Wrong("no move succeeds in the end");
      }
      CheckContent(*to);
    }
  }

  int promotions() const { return promotions_; }
  int stopped_in_mid_copy() const { return stopped_in_mid_copy_; }
  int forced() const { return forced_; }

 private:
  FakeSite& AnySite() { return Pick(2) == 0 ? rig_.a_ : rig_.b_; }
  bool& Told(const FakeSite& site) {
    return &site == &rig_.a_ ? told_a_ : told_b_;
  }
  void Promote(FakeSite& site) {
    const auto fault = AnyFault();
    const absl::Status status =
        Call(site, "Promote", fault ? &*fault : nullptr);
    Check();
    if (!status.ok()) return;
    ++promotions_;
    Told(site) = true;
    if (Told(rig_.pair_.other(site))) Wrong("both sites were told: primary");
    CheckContent(site);
  }
  /// Its workload is gone before.
  void Demote(FakeSite& site) {
    const auto fault = AnyFault();
    Told(site) = false;
    (void)Call(site, "Demote", fault ? &*fault : nullptr);
    Check();
  }
  void Resync(FakeSite& site) {
    // As an operator: where a secondary is wanted.
    if (Told(site)) return;
    const auto fault = AnyFault();
    (void)Call(site, "Resync", fault ? &*fault : nullptr);
    Check();
  }
  void Write() {
    for (FakeSite* const site : {&rig_.a_, &rig_.b_}) {
      if (!Told(*site)) continue;
      if (!site->Write(rig_.image_, acknowledged_ + 1).ok()) {
        Wrong("who was told that it is primary cannot write");
        continue;
      }
      ++acknowledged_;
      Note(absl::StrCat("write ", acknowledged_, " on ", site->name()));
    }
  }
  void SetFault() {
    FakeSite& site = AnySite();
    const size_t kind = Pick(5);
    silent_ = silent_ || kind != 2;
    switch (kind) {
      case 0:
        return StopMirror(site);
      case 1:
        Note("rbd-mirror hangs on " + site.name());
        return site.SetMirrorDaemon(DaemonState::kFrozen);
      case 2:
        Note("copying gets slow to " + site.name());
        return site.SetCopySpeed(4);
      case 3:
        return StopMirror(BeginCopy());
      default:
        Note("the link is cut");
        return rig_.world_.SetLinkUp(false);
    }
  }
  /// A slow one, where a site is primary. Returns that to which it goes.
  FakeSite& BeginCopy() {
    FakeSite& from = told_a_ ? rig_.a_ : rig_.b_;
    FakeSite& to = rig_.pair_.other(from);
    if (!Told(from) || Told(to)) return to;
    to.SetCopySpeed(4);
    Write();
    from.CreateMirrorSnapshot(rig_.image_);
    rig_.world_.Advance(seconds(1 + Pick(20)));
    return to;
  }
  void StopMirror(FakeSite& site) {
    if (CopyIsUnderWay(site)) {
      Note("rbd-mirror stops in mid-copy on " + site.name());
      ++stopped_in_mid_copy_;
    } else {
      Note("rbd-mirror stops on " + site.name());
    }
    site.SetMirrorDaemon(DaemonState::kDown);
  }
  void Heal() {
    Note("all is well again");
    rig_.world_.SetLinkUp(true);
    for (FakeSite* const site : {&rig_.a_, &rig_.b_}) {
      // A known limit: an rbd-mirror that comes back while the daemon does not
      // run, or before its first look, leaves an object out (walk 3000798).
      if (CopyIsUnderWay(*site) && !rig_.HasLooked(*site)) {
        Note("rbd-mirror comes back after the daemon of " + site->name());
        rig_.world_.Advance(MirrorRestartWatch::kInterval);
      }
      site->SetMirrorDaemon(DaemonState::kRunning);
      site->SetCopySpeed(100000);
    }
    // Until both sites have heard of each other again.
    if (std::exchange(silent_, false)) rig_.world_.Advance(minutes(2));
  }

  bool CopyIsUnderWay(FakeSite& site) {
    if (!site.HasImage(rig_.image_)) return false;
    const auto snapshots = site.Snapshots(rig_.image_);
    return !snapshots.empty() && !snapshots.back().complete;
  }

  /// Who has the last write. Where both have it, who was told, and rather not
  /// one that gave the role back: it rightly asks to promote the other one.
  FakeSite& Keeper() {
    if (!HasAll(rig_.a_)) return rig_.b_;
    if (!HasAll(rig_.b_)) return rig_.a_;
    return told_b_ || HasGivenBack(rig_.a_) ? rig_.b_ : rig_.a_;
  }
  bool HasAll(FakeSite& site) {
    return site.HasImage(rig_.image_) &&
           site.Data(rig_.image_) == acknowledged_;
  }
  /// What the answers lead to where `keeper` is not promoted: its answer asks
  /// to promote the other one. Where that refuses for the same reason, because
  /// both were demoted while the other one was primary for a moment, the one
  /// that had told nobody knows that force is right on the other one; where
  /// neither does, a person knows where the workload ran last. Where the other
  /// copy is being made anew meanwhile, the code makes an operator force, or
  /// the text a person.
  /// Returns who is primary then; nullptr: they lead nowhere.
  FakeSite* PromotedAsTold(FakeSite* keeper) {
    FakeSite& other = rig_.pair_.other(*keeper);
    const bool alone = !other.HasImage(rig_.image_);
    const absl::Status told = Call(alone ? *keeper : other, "Promote", nullptr);
    if (told.ok()) return alone ? keeper : &other;
    const bool may_force =
        alone ? told.code() == absl::StatusCode::kFailedPrecondition ||
                    absl::StrContains(told.message(), "force by hand")
              : absl::StrContains(told.message(), "(by force, if it refuses") ||
                    absl::StrContains(told.message(),
                                      "(if it refuses for the same reason") ||
                    // Each names the other one: a person decides.
                    absl::StrContains(told.message(),
                                      "a resync of this image was requested") ||
                    absl::StrContains(told.message(),
                                      "may have been promoted there before");
    if (!may_force) return nullptr;
    ++forced_;
    return Call(*keeper, "Promote by force", nullptr).ok() ? keeper : nullptr;
  }
  bool HasGivenBack(const FakeSite& site) {
    const auto demotion = Noted(site, rig_.image_).demotion;
    return demotion.has_value() &&
           demotion->step == OwnDemotionStep::kGivenBack;
  }
  void CheckContent(const FakeSite& primary) {
    if (primary.Torn(rig_.image_)) Wrong("the new primary is torn");
    if (primary.Data(rig_.image_) == acknowledged_) return;
    Wrong(absl::StrCat("the new primary has write ", primary.Data(rig_.image_),
                       " and ", acknowledged_, " was acknowledged"));
  }
  /// What must hold whatever a verb has answered.
  void Check() {
    bool both = true;
    for (FakeSite* const site : {&rig_.a_, &rig_.b_}) {
      both = both && site->HasImage(rig_.image_) &&
             site->Info(rig_.image_).primary &&
             // Who takes its demotion back waits, and has told nobody.
             !Noted(*site, rig_.image_).demotion.has_value();
    }
    if (both) Wrong("both images are primary");
    for (const std::string& violation : rig_.world_.Violations()) {
      Wrong(violation);
    }
  }

  bool told_a_ = false;
  bool told_b_ = false;
  bool silent_ = false;  // one site does not hear of the other
  uint64_t acknowledged_ = 0;
  int promotions_ = 0;
  int stopped_in_mid_copy_ = 0;
  int forced_ = 0;
};

TEST(RandomWalkTest, NoTwoPrimariesAndNoWriteIsLostWithoutForce) {
  int promotions = 0;
  int struck = 0;
  int stopped = 0;
  int forced = 0;
  constexpr int kSteps = 40;
  const unsigned long walks = TakeWalks(60, [&](unsigned long seed) {
    Walk walk(seed);
    for (int step = 0; step < kSteps && walk.wrong().empty(); ++step) {
      walk.Step();
    }
    if (walk.wrong().empty()) walk.End();
    promotions += walk.promotions();
    struck += walk.struck();
    stopped += walk.stopped_in_mid_copy();
    forced += walk.forced();
    ASSERT_TRUE(walk.wrong().empty())
        << "RBD_ADDONS_WALK_SEED=" << seed << "\n  " << walk.story();
  });
  std::printf(
      "random walks: %lu of %d steps, %d promotions, %d faults, rbd-mirror "
      "stopped %d times in mid-copy, %d ended by force as the other site "
      "said\n",
      walks, kSteps, promotions, struck, stopped, forced);
  EXPECT_GT(promotions, 0);
  EXPECT_GT(struck, 0);
  EXPECT_GT(stopped, 0);
}

}  // namespace
}  // namespace addons::testing
