// Random days of two custom resources, one on each site, and of their operator:
// it calls Demote and then Resync with force where a secondary is wanted,
// Promote where a primary is wanted, by force at once after
// FAILED_PRECONDITION, and repeats what is not OK ever later. Both are changed
// at once, or one after the other; moves are given up and turned round.
// Meanwhile rbd-mirrors end, die, freeze and come back, also in the middle of
// calls, workloads end slowly, links are cut, sites die and come back, and
// processes die and stand still.
//
// Promised, and held here:
// - Two sites are told that they are primary only after a force.
// - Who was told can write, and has each write that was acknowledged.
// - The operator's force follows FAILED_PRECONDITION of a promotion. That
//   answer costs no acknowledged write, and makes no second primary, while the
//   other site lives and hears of the move.
// - A forced promotion keeps the newest whole state that had arrived, or a
//   newer one, never half of one.
//
// Not promised, because from here it looks like a dead site. Such forces are
// counted and printed:
// - The other site lives, and nothing can be heard of it: the link was cut for
//   the settle time.
// - The same where its rbd-mirror was down for the settle time and nothing of
//   its images arrived, unless this site's rbd-mirror was down, too.
// - The other site lives, and each call of its demotion has failed before it
//   could tell that the demotion is wanted, for the takeover time but its last
//   minute.
// After such a force nobody moves the volume before the sites hear of each
// other: the one that was forced aside may hold a demotion of before.
// Not promised either: a primary that nobody asks to be demoted is taken over
// after the takeover time. In a planned move both resources are changed.
// Nor what a demotion with the rbd command gives up where the other site's own
// demotion is its last state: nothing there tells that this site has gone on.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "replication/look/evictions.h"
#include "tests/fakes/local_notes.h"
#include "tests/faults/walker.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

/// A site of which nothing has been heard for so long looks dead: that is the
/// settle time without the half minute that its last report may be old.
constexpr seconds kLooksDead{60};
/// One that was killed begins so much later, and is silent meanwhile.
constexpr seconds kBeginsLater{50};
/// After it is back, a site is heard of again within this time: kBeginsLater,
/// and it reports each 30 s.
constexpr seconds kHeardAgain{100};
/// What a refused demotion tells needs a mirror snapshot that is copied.
constexpr seconds kNoteTravels{60};
constexpr seconds kFirstPause{5};
constexpr seconds kLongestPause{160};

/// Why an operator's force was right, or what it met.
enum class Cause {
  kDead,    // the other site had died
  kAsked,   // a person has asked for this site only
  kCutOff,  // a known limit: nothing can be heard of the other site
  kSilent,  // a known limit: its rbd-mirror is away
  kUntold,  // a known limit: its demotion was asked for, and no call told
  kUnexplained
};

const char* Text(Cause cause) {
  switch (cause) {
    case Cause::kDead:
      return "the other site has died";
    case Cause::kAsked:
      return "a person takes over a living primary";
    case Cause::kCutOff:
      return "LIMIT: nothing is heard of the other site";
    case Cause::kSilent:
      return "LIMIT: rbd-mirror of the other site is away";
    case Cause::kUntold:
      return "LIMIT: no call of the demotion there could tell";
    case Cause::kUnexplained:
      return "the other site lives";
  }
  return "?";
}

/// A state that lasts: "rbd-mirror is away".
class Spell {
 public:
  void Begin(SteadyTime now) {
    if (!begun_) begun_ = now;
    ended_.reset();
  }
  void End(SteadyTime now) {
    if (!begun_ || ended_) return;
    ended_ = now;
  }
  /// It has lasted so long, and ended a moment ago at most.
  bool Explains(SteadyTime now, SteadyDuration lasted) const {
    if (!begun_) return false;
    return ended_ ? *ended_ - *begun_ >= lasted && now - *ended_ < kHeardAgain
                  : now - *begun_ >= lasted;
  }
  bool on() const { return begun_ && !ended_; }
  /// One that comes right after another is the same.
  void Renew(SteadyTime now) {
    if (ended_ && now - *ended_ >= kHeardAgain) begun_.reset();
  }

 private:
  std::optional<SteadyTime> begun_;
  std::optional<SteadyTime> ended_;
};

class OperatorWalk final : public Walker {
 public:
  explicit OperatorWalk(unsigned long seed) : Walker(seed) {
    // Not in the gate: docs/testing.md names what is open.
    const bool all = std::getenv("RBD_ADDONS_WALK_ALL") != nullptr;
    group_ = Pick(6) == 0 && all;
    if (group_) {
      rig_.AddMirroredMembers(2, Rig::kSmallImage);
      images_ = {Rig::MemberImage(0), Rig::MemberImage(1)};
    } else if (Pick(4) == 0 && all) {
      journal_ = true;
      rig_.AddMirroredByJournal();
      images_ = {rig_.image_};
    } else {
      rig_.AddMirrored(Rig::kSmallImage);
      images_ = {rig_.image_};
    }
    Note(group_     ? "two members of a group"
         : journal_ ? "a volume with a journal"
                    : "a volume");
    if (Pick(2) == 0) {
      for (FakeSite* const site : {&rig_.a_, &rig_.b_}) {
        site->SetNoticeDelay(seconds(Pick(30)));
        site->SetClockSkew(seconds(Pick(40)) - seconds(20));
      }
    }
    rig_.world_.Advance(minutes(1));
    // Of a forced promotion of another volume, longer ago than it counts.
    if (Pick(3) == 0) {
      const auto now = std::chrono::duration_cast<seconds>(
          rig_.world_.WallNow().time_since_epoch());
      for (FakeSite* const site : {&rig_.a_, &rig_.b_}) {
        site->SetOmap(MirroredPair::kPool, "", kEvictionObject,
                      {{"newest_report", absl::StrCat(now.count())}});
      }
    }
    a_.wanted = a_.settled = b_.settled = a_.told = true;
    StartWorkload(a_);
    for (const std::string& image : images_) {
      acknowledged_[image] = rig_.a_.Data(image);
    }
    OnCephCall([this](absl::string_view site, absl::string_view call) {
      if (forcing_ != nullptr && call == "rbd_mirror_image_promote" &&
          site == forcing_->site.name()) {
        NoteWhole(*forcing_);
        if (!std::exchange(goes_on_, true) && Pick(2) == 0) CopyingGoesOn();
      }
    });
  }

  void Step() {
    if (Pick(6) == 0) SetFault();
    Work();
    if (a_.settled && b_.settled) {
      if (Pick(2) == 0) return Rest();
      return BeginSomething();
    }
    if (Pick(25) == 0) TurnRound();
    Reconcile(rig_.world_.Now());
  }

  /// All works again and stays so: the answers lead to one primary that has all
  /// that was acknowledged, and to a secondary that follows it.
  void End() {
    Note("all is well from now on");
    BeCalm();
    healing_ = true;
    HealAll();
    if (Settles(25)) return CheckAll();
    // A person looks where the last write is.
    Side& keeper = HasAll(a_) ? a_ : b_;
    if (!HasAll(keeper)) return Wrong("no site has what was acknowledged");
    Note("a person wants the site with the last write: " + keeper.site.name());
    Want(keeper);
    if (Settles(25)) return CheckAll();
    Note("and asks for force");
    ++by_hand_;
    (void)Force(keeper, Cause::kAsked);
    if (Settles(25)) return CheckAll();
    Wrong("it never settles");
  }

  int promotions() const { return promotions_; }
  int by_hand() const { return by_hand_; }
  int forces(Cause cause) const {
    const auto found = forces_.find(cause);
    return found == forces_.end() ? 0 : found->second;
  }
  int losses(Cause cause) const {
    const auto found = losses_.find(cause);
    return found == losses_.end() ? 0 : found->second;
  }

 private:
  struct Side {
    FakeSite& site;
    bool wanted = false;   // as primary, by its resource
    bool settled = false;  // its resource shows what is wanted
    bool told = false;     // OK of a promotion, no demotion asked for since
    bool works = false;    // a workload runs, and writes
    bool dead = false;
    SteadyTime due{};  // the next call
    seconds pause = kFirstPause;
    std::optional<Cause> forced_as{};           // and no OK since
    std::set<std::string> forced{};             // images that are primary so
    std::optional<SteadyTime> told_demotion{};  // by a call of Demote
    bool noted = false;                         // by one, on its own site
    Spell died{};                               // the site
    Spell silent{};                             // its rbd-mirror
    Spell unheard{};                            // that, or the link is cut
    bool killed = false;                        // that one, when it went last
    SteadyTime stops{};                         // the workload, when it is to
  };

  Side& Other(const Side& side) { return &side == &a_ ? b_ : a_; }
  Side& AnySide() { return Pick(2) == 0 ? a_ : b_; }

  // --- the operator

  /// The resource of `side` says primary, the other one's secondary.
  void Want(Side& side) {
    asked_one_only_ = false;
    Change(side, true);
    Change(Other(side), false);
  }
  void Change(Side& side, bool primary) {
    side.wanted = primary;
    side.settled = false;
    side.told_demotion.reset();
    side.noted = false;
    side.pause = kFirstPause;
    side.due = rig_.world_.Now();
    if (!primary) side.told = false;
    if (!primary && !AnyPrimary(side)) EndForce(side);
  }

  /// A site was forced aside that hears of nothing, and still does not.
  bool Deaf() {
    const SteadyTime now = rig_.world_.Now();
    deaf_ = deaf_ && (a_.unheard.Explains(now, seconds(0)) ||
                      b_.unheard.Explains(now, seconds(0)));
    return deaf_;
  }

  void BeginSomething() {
    if (Deaf()) return Rest();
    Side& from = a_.wanted ? a_ : b_;
    Side& to = Other(from);
    switch (Pick(8)) {
      case 0:
        Note("site " + from.site.name() + " dies");
        return Kill(from);
      case 1:
        Note("a takeover by " + to.site.name());
        // Its resource only: as a person who thinks the other one dead.
        asked_one_only_ = true;
        to.wanted = true;
        to.settled = false;
        to.pause = kFirstPause;
        to.due = rig_.world_.Now();
        return;
      case 2:
      case 3:
        Note("a move to " + to.site.name() + ", one after the other");
        StopWorkload(from);
        asked_one_only_ = false;
        Change(from, false);
        then_ = &to;
        return;
      default:
        Note("a move to " + to.site.name() + ", both at once");
        StopWorkload(from);
        Want(to);
    }
  }

  void TurnRound() {
    if (then_ != nullptr) {
      Note("the move is given up");
      then_ = nullptr;
      if (overruled_) return;
      return Want(a_.wanted || b_.wanted ? (a_.wanted ? a_ : b_) : AnySide());
    }
    // Who has been overruled gives the role back before anything else.
    if (asked_one_only_ || overruled_ || Deaf()) return;
    Side& to = a_.wanted ? b_ : a_;
    Note("turned round, to " + to.site.name());
    StopWorkload(Other(to));
    Want(to);
  }

  /// Sometimes it takes its time.
  void StopWorkload(Side& side) {
    if (!side.works) return;
    if (Pick(3) != 0) return EndWorkload(side);
    side.stops = rig_.world_.Now() + seconds(10 + Pick(400));
    Note("the workload ends slowly");
  }
  void EndWorkload(Side& side) {
    side.works = false;
    side.stops = {};
    for (const std::string& image : images_) {
      if (side.site.HasImage(image)) side.site.RemoveWatcher(image, kClient);
    }
  }
  void StartWorkload(Side& side) {
    side.works = true;
    side.stops = {};
    for (const std::string& image : images_) {
      side.site.RemoveWatcher(image, kClient);
      side.site.AddWatcher(image, "10.9.9.9:0/7", kClient);
    }
  }

  /// The resource that is due first.
  void Reconcile(SteadyTime now) {
    Side* next = nullptr;
    for (Side* const side : {&a_, &b_}) {
      if (side->settled || side->dead) continue;
      if (next == nullptr || side->due < next->due) next = side;
    }
    if (next == nullptr) {
      // A dead site is waited for, or somebody decides.
      if (then_ != nullptr && Other(*then_).settled && !then_->dead) {
        Change(*then_, true);
        then_ = nullptr;
        return;
      }
      return rig_.world_.Advance(seconds(1 + Pick(60)));
    }
    if (next->due > now) rig_.world_.Advance(next->due - now);
    if (next->dead) return;
    if (Call(*next).ok()) {
      next->settled = true;
      next->pause = kFirstPause;
      if (then_ != nullptr && &Other(*then_) == next) {
        Side& to = *then_;
        then_ = nullptr;
        if (Pick(4) != 0 || healing_) return Change(to, true);
        // What was demoted is there, and its way back is not heard of.
        Note("the move is given up, because rbd-mirror there goes");
        MirrorGoes(to, Pick(2) == 0 ? DaemonState::kDown : DaemonState::kEnded,
                   seconds(0), seconds(60 + Pick(600)));
        Want(*next);
      }
      return;
    }
    next->due = rig_.world_.Now() + next->pause;
    next->pause = std::min(2 * next->pause, kLongestPause);
  }

  absl::Status Call(Side& side) {
    if (side.wanted) return Promote(side);
    if (Pick(5) == 0) DemoteByHand(side);
    const absl::Status demoted = Struck(side, "Demote");
    // The role is given back with what the force had left, also where the
    // answer was lost.
    for (const std::string& image : GivenBack(side)) {
      if (*side.forced_as != Cause::kUnexplained) {
        forced_to_[image].insert(side.site.Data(image));
      }
    }
    DropGivenBack(side);
    return demoted.ok() ? Struck(side, "Resync by force") : demoted;
  }

  /// With the rbd command, which waits for nobody and tells nobody.
  void DemoteByHand(Side& side) {
    if (healing_ || side.dead || side.works || side.forced_as || overruled_) {
      return;
    }
    for (const std::string& image : images_) {
      FakeSite& other = Other(side).site;
      if (!side.site.HasImage(image) || !side.site.Info(image).primary ||
          !other.HasImage(image)) {
        continue;
      }
      const auto there = other.Snapshots(image);
      if (there.empty() ||
          there.back().kind != MirrorSnapshotKind::kNonPrimaryDemoted) {
        continue;
      }
      side.site.Demote(image);
      Note(absl::StrCat("demoted by hand: ", image, " on ", side.site.name()));
    }
  }

  absl::Status Promote(Side& side) {
    const absl::Status status = Struck(side, "Promote");
    // To a site that has been primary all the time: what that has counts.
    DropGivenBack(side);
    if (status.ok()) {
      if (side.forced_as) {
        CheckUnforced(side);
        Forced(side, *side.forced_as);
      } else {
        Told(side);
      }
      return status;
    }
    if (!absl::IsFailedPrecondition(status)) return status;
    return Force(side,
                 CauseAt(side, absl::StrContains(status.message(),
                                                 "has been primary for")));
  }

  absl::Status Force(Side& side, Cause cause) {
    // What an earlier one has changed stays changed for its reason.
    if (side.forced_as) cause = *side.forced_as;
    Note(Text(cause));
    sent_away_ = true;
    forcing_ = &side;
    goes_on_ = false;
    for (const std::string& image : images_) whole_[image] = 0;
    NoteWhole(side);
    const absl::Status status = Struck(side, "Promote by force");
    forcing_ = nullptr;
    if (status.ok()) {
      Forced(side, cause);
    } else if (AnyPrimary(side)) {
      // It has an effect of which nobody has heard yet.
      side.forced_as = cause;
      for (const std::string& image : images_) {
        if (IsPrimary(side, image)) side.forced.insert(image);
      }
      overruled_ = true;
    }
    return status;
  }
  static void EndForce(Side& side) {
    side.forced_as.reset();
    side.forced.clear();
  }
  static std::vector<std::string> GivenBack(Side& side) {
    std::vector<std::string> images;
    for (const std::string& image : side.forced) {
      if (side.site.HasImage(image) && !IsPrimary(side, image)) {
        images.push_back(image);
      }
    }
    return images;
  }
  static void DropGivenBack(Side& side) {
    for (const std::string& image : GivenBack(side)) side.forced.erase(image);
    if (side.forced.empty()) EndForce(side);
  }

  /// rbd-mirrors that were sent away are started anew, and the primary that is
  /// forced aside has a new state, whose copy may take its time.
  void CopyingGoesOn() {
    if (Pick(3) != 0) {
      FakeSite& site = forcing_->site;
      site.SetCopySpeed(1 + static_cast<double>(Pick(8)));
      After(seconds(60), [&site] { site.SetCopySpeed(100000); });
    }
    After(seconds(1 + Pick(20)), [this] {
      if (healing_) return;
      Note("rbd-mirrors connect anew");
      for (Side* const side : {&a_, &b_}) {
        if (!side->dead && !side->silent.on()) {
          side->site.ReconnectMirrorDaemon();
        }
      }
    });
    for (size_t more = Pick(3); more > 0; --more) {
      After(seconds(5 + Pick(40)), [this] {
        for (Side* const side : {&a_, &b_}) {
          if (!side->works || side->dead) continue;
          WriteOn(*side);
          Snapshot(*side);
        }
      });
    }
  }

  absl::Status Struck(Side& side, const std::string& verb) {
    auto fault = AnyFault();
    // Where most depends on what happens meanwhile.
    if (verb == "Promote by force" && !healing_ && Pick(4) == 0) {
      fault = Fault{Strike::kPause};
    }
    const absl::Status status =
        Walker::Call(side.site, verb, fault ? &*fault : nullptr);
    // One that waits for a follower notes it, and its next one sees to it that
    // the note travels.
    if (verb == "Demote" && !fault && !side.told_demotion) {
      if (side.noted || !absl::IsUnavailable(status)) {
        side.told_demotion = rig_.world_.Now();
      }
      side.noted = true;
    }
    for (const std::string& violation : rig_.world_.Violations()) {
      Wrong(violation);
    }
    if (absl::IsInternal(status) && !fault) Wrong("INTERNAL");
    CheckRoles();
    return status;
  }

  // --- what must hold

  /// OK without force.
  void Told(Side& side) {
    ++promotions_;
    Side& other = Other(side);
    if (other.told && !other.dead) Wrong("both sites were told: primary");
    if (other.works) Wrong("a workload still writes on the other site");
    side.told = true;
    overruled_ = false;
    if (asked_one_only_) Want(side);
    CheckContent(side);
    StartWorkload(side);
    WriteOn(side);
  }

  void Forced(Side& side, Cause cause) {
    ++forces_[cause];
    if (cause == Cause::kCutOff || cause == Cause::kSilent) deaf_ = true;
    EndForce(side);
    Side& other = Other(side);
    bool lost = false;
    for (const std::string& image : images_) {
      if (!side.site.HasImage(image)) return Wrong("the image is gone");
      if (side.site.Torn(image)) return Wrong("the new primary is torn");
      const uint64_t found = side.site.Data(image);
      if (found < whole_[image]) {
        return Wrong(absl::StrCat("the new primary has write ", found,
                                  ", and write ", whole_[image],
                                  " had arrived whole"));
      }
      lost |= found != acknowledged_[image];
    }
    const bool two = other.works || (other.told && !other.dead);
    if (lost) ++losses_[cause];
    if (cause == Cause::kUnexplained && (lost || two)) {
      return Wrong(
          absl::StrCat("the answer made the operator force aside a living site",
                       lost ? ", and acknowledged writes are given up"
                            : ", and both sites are primary"));
    }
    // From here on this site's writes count.
    for (const std::string& image : images_) {
      acknowledged_[image] = side.site.Data(image);
      forced_to_[image].clear();
    }
    if (other.works) EndWorkload(other);
    other.told = false;
    overruled_ = other.dead || AnyPrimary(other);
    side.told = true;
    Want(side);
    side.settled = true;
    StartWorkload(side);
    WriteOn(side);
  }

  /// At the moment of the answer.
  Cause CauseAt(Side& side, bool primary_for) {
    Side& other = Other(side);
    const SteadyTime now = rig_.world_.Now();
    if (other.dead || other.died.Explains(now, seconds(0))) return Cause::kDead;
    if (asked_one_only_) return Cause::kAsked;
    if (cut_.Explains(now, kLooksDead)) return Cause::kCutOff;
    // Where nothing could arrive here either, silence says nothing.
    const bool hears = !side.silent.Explains(now, kLooksDead) || sent_away_;
    if (hears &&
        other.unheard.Explains(
            now, other.killed ? kLooksDead - kBeginsLater : kLooksDead)) {
      return Cause::kSilent;
    }
    const bool told =
        other.told_demotion && now - *other.told_demotion >= kNoteTravels;
    if (!told && primary_for) return Cause::kUntold;
    return Cause::kUnexplained;
  }

  void CheckRoles() {
    // After a force the other one is demoted when it hears of that.
    if (overruled_) {
      overruled_ = a_.dead || b_.dead || (AnyPrimary(a_) && AnyPrimary(b_));
      return;
    }
    for (const std::string& image : images_) {
      bool both = true;
      for (Side* const side : {&a_, &b_}) {
        both = both && side->site.HasImage(image) &&
               side->site.Info(image).primary &&
               // Who takes its demotion back waits, and has told nobody.
               !Noted(side->site, image).demotion.has_value();
      }
      if (both && forcing_ == nullptr) {
        Wrong("both images are primary: " + image);
      }
    }
  }
  static bool IsPrimary(Side& side, const std::string& image) {
    return side.site.HasImage(image) && side.site.Info(image).primary;
  }
  bool AnyPrimary(Side& side) {
    return std::any_of(
        images_.begin(), images_.end(),
        [&](const std::string& image) { return IsPrimary(side, image); });
  }

  void CheckContent(Side& side) {
    for (const std::string& image : images_) {
      if (!side.site.HasImage(image)) return Wrong("the image is gone");
      if (side.site.Torn(image)) Wrong("the new primary is torn");
      const uint64_t found = side.site.Data(image);
      if (forced_to_[image].contains(found)) acknowledged_[image] = found;
      forced_to_[image].clear();
      if (found == acknowledged_[image]) continue;
      Wrong(absl::StrCat("the new primary has write ", found, " and ",
                         acknowledged_[image], " was acknowledged"));
    }
  }
  /// What the force of a group has not reached was promoted without it.
  void CheckUnforced(Side& side) {
    for (const std::string& image : images_) {
      if (side.forced.contains(image) || !side.site.HasImage(image)) continue;
      const uint64_t found = side.site.Data(image);
      if (MayBeLast(image, found)) continue;
      Wrong(absl::StrCat("a member that was not forced has write ", found,
                         " and ", acknowledged_[image], " was acknowledged"));
    }
  }
  void CheckAll() {
    Side& primary = a_.wanted ? a_ : b_;
    CheckContent(primary);
    if (!wrong().empty()) return;
    Snapshot(primary);
    FakeSite& other = Other(primary).site;
    const bool follows = rig_.world_.AdvanceUntil(
        [&] {
          return std::all_of(
              images_.begin(), images_.end(), [&](const std::string& image) {
                return other.HasImage(image) &&
                       (journal_ ? other.Data(image) == acknowledged_[image]
                                 : rig_.pair_.InSync(other, image));
              });
        },
        minutes(10));
    if (!follows) return Wrong("the other site does not follow");
    CheckContent(Other(primary));
  }
  bool HasAll(Side& side) {
    return std::all_of(
        images_.begin(), images_.end(), [&](const std::string& image) {
          return side.site.HasImage(image) && !side.site.Torn(image) &&
                 MayBeLast(image, side.site.Data(image));
        });
  }
  /// Of a group a force may have had its effect on one member alone: what that
  /// one is primary with counts as well, until an OK tells which.
  bool MayBeLast(const std::string& image, uint64_t data) {
    if (data == acknowledged_[image] || forced_to_[image].contains(data)) {
      return true;
    }
    for (Side* const side : {&a_, &b_}) {
      if (side->forced_as && *side->forced_as != Cause::kUnexplained &&
          side->forced.contains(image) && side->site.HasImage(image) &&
          side->site.Data(image) == data) {
        return true;
      }
    }
    return false;
  }

  /// The newest state that is whole there.
  void NoteWhole(Side& side) {
    for (const std::string& image : images_) {
      if (!side.site.HasImage(image) || side.site.Info(image).primary) continue;
      if (journal_) {
        whole_[image] = std::max(whole_[image], side.site.Data(image));
        continue;
      }
      const auto snapshots = side.site.Snapshots(image);
      if (snapshots.empty()) continue;
      const MirrorSnapshot& newest = snapshots.back();
      // What a copy reads as is what was there before it began.
      uint64_t whole = 0;
      if (!newest.complete) {
        whole = side.site.SnapshotData(image, newest.id);
      } else if (!side.site.Torn(image)) {
        whole = side.site.Data(image);
      }
      whole_[image] = std::max(whole_[image], whole);
    }
  }

  // --- the workload

  void Work() {
    for (Side* const side : {&a_, &b_}) {
      if (!side->works) continue;
      if (side->stops != SteadyTime{} && rig_.world_.Now() >= side->stops) {
        Note("the workload has ended");
        EndWorkload(*side);
      } else if (Pick(2) == 0) {
        WriteOn(*side);
        if (Pick(3) == 0) Snapshot(*side);
        // And in the middle of a call, as the manager does by its schedule.
        if (Pick(3) == 0) {
          After(seconds(Pick(120)), [this, side] {
            if (!side->works || side->dead) return;
            WriteOn(*side);
            Snapshot(*side);
          });
        }
      }
    }
  }
  void WriteOn(Side& side) {
    if (side.dead) return;
    ++last_;
    for (const std::string& image : images_) {
      if (!side.site.Write(image, last_).ok()) {
        // It is being demoted: nothing is acknowledged.
        if (side.told) Wrong("who was told that it is primary cannot write");
        return EndWorkload(side);
      }
      acknowledged_[image] = last_;
    }
    Note(absl::StrCat("write ", last_, " on ", side.site.name()));
  }
  void Snapshot(Side& side) {
    if (journal_) return;
    for (const std::string& image : images_) {
      // Not where a promotion or a demotion is half done.
      if (side.site.HasImage(image) && side.site.Info(image).primary &&
          side.site.Write(image, side.site.Data(image)).ok()) {
        side.site.CreateMirrorSnapshot(image);
      }
    }
    Note("a snapshot");
  }
  void Rest() {
    Side& primary = a_.wanted ? a_ : b_;
    if (primary.works && !primary.dead) Snapshot(primary);
    rig_.world_.Advance(seconds(1 + Pick(90)));
  }

  // --- faults; they end by themselves

  void SetFault() {
    if (healing_) return;
    Side& side = AnySide();
    const seconds begins(Pick(40));
    const seconds lasts(Pick(4) == 0 ? 60 + Pick(900) : 5 + Pick(120));
    switch (Pick(9)) {
      case 0:
      case 1:
        return MirrorGoes(side, DaemonState::kEnded, begins, lasts);
      case 2:
      case 3:
        return MirrorGoes(side, DaemonState::kDown, begins, lasts);
      case 4:
        return MirrorGoes(side, DaemonState::kFrozen, begins, lasts);
      case 5:
        side.site.SetCopySpeed(1 + static_cast<double>(Pick(4)));
        Note("copying gets slow to " + side.site.name());
        return After(lasts, [this, &side] {
          Note("and fast again");
          side.site.SetCopySpeed(100000);
        });
      case 6:
        return After(begins, [this, lasts] {
          if (healing_ || cut_.on()) return;
          Note("the link is cut");
          cut_.Renew(rig_.world_.Now());
          cut_.Begin(rig_.world_.Now());
          NoteUnheard();
          rig_.world_.SetLinkUp(false);
          After(lasts, [this] { Mend(); });
        });
      case 7:
        Note("the process on " + side.site.name() + " is restarted");
        if (!side.dead) rig_.Restart(side.site);
        return;
      default:
        if (Pick(3) == 0 && !side.wanted) Kill(side);
    }
  }
  void After(SteadyDuration time, const std::function<void()>& action) {
    rig_.world_.Schedule(time, action);
  }
  void Mend() {
    if (!cut_.on()) return;
    Note("the link is mended");
    cut_.End(rig_.world_.Now());
    NoteUnheard();
    rig_.world_.SetLinkUp(true);
  }
  /// One silence may go over into another.
  void NoteUnheard() {
    const SteadyTime now = rig_.world_.Now();
    for (Side* const side : {&a_, &b_}) {
      if (!cut_.on() && !side->silent.on()) {
        side->unheard.End(now);
        continue;
      }
      side->unheard.Renew(now);
      side->unheard.Begin(now);
    }
  }
  void MirrorGoes(Side& side, DaemonState state, seconds begins,
                  seconds lasts) {
    After(begins, [this, &side, state, lasts] {
      if (healing_ || side.silent.on()) return;
      Note(absl::StrCat(state == DaemonState::kEnded  ? "rbd-mirror ends on "
                        : state == DaemonState::kDown ? "rbd-mirror dies on "
                                                      : "rbd-mirror hangs on ",
                        side.site.name()));
      side.silent.Renew(rig_.world_.Now());
      side.silent.Begin(rig_.world_.Now());
      NoteUnheard();
      side.killed = state == DaemonState::kDown;
      side.site.SetMirrorDaemon(state);
      After(lasts, [this, &side] { MirrorReturns(side); });
    });
  }
  void MirrorReturns(Side& side) {
    if (!side.silent.on() || side.dead) return;
    Note("rbd-mirror is back on " + side.site.name());
    side.silent.End(rig_.world_.Now());
    NoteUnheard();
    side.site.SetMirrorDaemon(DaemonState::kRunning);
  }
  /// The whole site: cluster, rbd-mirror, processes, workload.
  void Kill(Side& side) {
    if (a_.dead || b_.dead) return;
    Note("site " + side.site.name() + " is dead");
    side.dead = true;
    side.died.Renew(rig_.world_.Now());
    side.died.Begin(rig_.world_.Now());
    side.silent.Renew(rig_.world_.Now());
    side.silent.Begin(rig_.world_.Now());
    NoteUnheard();
    side.killed = true;
    side.site.SetMirrorDaemon(DaemonState::kDown);
    side.site.SetClusterUp(false);
    if (side.works) EndWorkload(side);
    rig_.Restart(side.site);
    After(seconds(30 + Pick(900)), [this, &side] { SiteReturns(side); });
    // Where it is missed the other one is wanted after a while.
    if (!side.told || then_ != nullptr) return;
    After(seconds(Pick(180)), [this, &side] {
      if (!side.dead || healing_ || !side.told) return;
      Note("so the other one is wanted");
      Want(Other(side));
    });
  }
  void SiteReturns(Side& side) {
    if (!side.dead) return;
    Note("site " + side.site.name() + " is back");
    side.dead = false;
    side.died.End(rig_.world_.Now());
    side.site.SetClusterUp(true);
    MirrorReturns(side);
    if (side.told && side.wanted) StartWorkload(side);
    side.due = rig_.world_.Now();
  }

  void HealAll() {
    Mend();
    for (Side* const side : {&a_, &b_}) {
      SiteReturns(*side);
      MirrorReturns(*side);
      side->site.SetCopySpeed(100000);
      if (side->stops != SteadyTime{}) EndWorkload(*side);
    }
    if (then_ != nullptr) {
      Side& to = *then_;
      then_ = nullptr;
      Want(to);
    }
  }
  bool Settles(int rounds) {
    for (int i = 0; i < rounds && wrong().empty(); ++i) {
      if (a_.settled && b_.settled) return true;
      Reconcile(rig_.world_.Now());
    }
    return !wrong().empty() || (a_.settled && b_.settled);
  }

  static constexpr uint64_t kClient = 777;

  std::vector<std::string> images_;
  Side a_{rig_.a_};
  Side b_{rig_.b_};
  Side* then_ = nullptr;         // wanted when the other one has been demoted
  bool asked_one_only_ = false;  // nobody asks the primary to be demoted
  bool healing_ = false;
  bool journal_ = false;
  bool overruled_ = false;  // a forced promotion has left another primary
  bool deaf_ = false;       // see Deaf()
  Side* forcing_ = nullptr;
  bool sent_away_ = false;  // rbd-mirror, by a force of this day
  bool goes_on_ = false;    // CopyingGoesOn() was asked for in this force
  Spell cut_;
  uint64_t last_ = 1;
  std::map<std::string, uint64_t> acknowledged_;
  std::map<std::string, uint64_t> whole_;
  /// What forced promotions have left that were given back before anybody
  /// heard of them: the other site may go on from there.
  std::map<std::string, std::set<uint64_t>> forced_to_;
  std::map<Cause, int> forces_;
  std::map<Cause, int> losses_;
  int promotions_ = 0;
  int by_hand_ = 0;
};

TEST(OperatorWalkTest, NoAnswerMakesTheOperatorGiveUpAnAcknowledgedWrite) {
  constexpr int kSteps = 60;
  int promotions = 0;
  int struck = 0;
  int by_hand = 0;
  std::map<Cause, int> forces;
  std::map<Cause, int> losses;
  const unsigned long walks = TakeWalks(40, [&](unsigned long seed) {
    OperatorWalk walk(seed);
    for (int step = 0; step < kSteps && walk.wrong().empty(); ++step) {
      walk.Step();
    }
    if (walk.wrong().empty()) walk.End();
    promotions += walk.promotions();
    struck += walk.struck();
    by_hand += walk.by_hand();
    for (const Cause cause :
         {Cause::kDead, Cause::kAsked, Cause::kCutOff, Cause::kSilent,
          Cause::kUntold, Cause::kUnexplained}) {
      forces[cause] += walk.forces(cause);
      losses[cause] += walk.losses(cause);
    }
    ASSERT_TRUE(walk.wrong().empty())
        << "RBD_ADDONS_WALK_SEED=" << seed << "\n  " << walk.story();
  });
  std::printf(
      "operator walks: %lu of %d steps, %d promotions, %d faults, %d by hand\n",
      walks, kSteps, promotions, struck, by_hand);
  for (const auto& [cause, count] : forces) {
    std::printf("  forced, %s: %d, of which %d gave up a write\n", Text(cause),
                count, losses[cause]);
  }
  EXPECT_GT(promotions, 0);
  EXPECT_GT(struck, 0);
  EXPECT_GT(forces[Cause::kDead], 0);
}

}  // namespace
}  // namespace addons::testing
