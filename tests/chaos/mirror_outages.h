#ifndef ADDONS_TESTS_CHAOS_MIRROR_OUTAGES_H_
#define ADDONS_TESTS_CHAOS_MIRROR_OUTAGES_H_

#include <chrono>
#include <string>

#include "tests/chaos/applications.h"

namespace addons::testing {

/// Base of suites in which an rbd-mirror ends before or in a move and is
/// started again later. What they know of rbd-mirror: one that starts removes
/// the reports of all that are down, of both sites, in both clusters; its own
/// come a moment later, and up to a minute when its predecessor was killed.
class MirrorOutagesTest : public ApplicationsTest {
 protected:
  // Each is one story, told with rbd-mirror's default intervals and with short
  // ones. Every wait of the target is watched for `watch`.

  /// rbd-mirror of the target is down before the move: of a volume whose
  /// workload has ended, and of one whose workload goes on.
  void MoveWithoutTheTargetsMirror(MirrorEnd how, std::chrono::seconds watch);
  /// rbd-mirror of the source is down, and the workload goes on.
  void MoveWithoutTheSourcesMirror(MirrorEnd how, std::chrono::seconds watch);
  /// The demotion is whole on both sites, rbd-mirror of the target is killed
  /// and comes back, and both sites are asked before it reports again.
  void AskBothBesideARestartedMirror();
  /// In journal mode; rbd-mirror of the source is killed, too, and stays away
  /// for `watch`.
  void AskBothInJournalMode(std::chrono::seconds watch);
  /// The move is over, rbd-mirror of the source is down since, and that of the
  /// new primary is killed, started, and dies again: the source, which holds
  /// its own demotion, is asked for `watch`.
  void AskTheSourceAfterTheMove(std::chrono::seconds watch);
  /// Another volume was promoted by force earlier, and everything has recovered
  /// since. Then both are down in a move, and the target's was started and died
  /// again.
  void MoveAfterAForcedPromotion(std::chrono::seconds watch);
  /// What has moved is cleaned up, and both sites hold the same.
  void CleanUpAndCompare();

 private:
  /// The time of the report of rbd-mirror of site `of` that stands in the
  /// cluster of `site`; empty: none stands there.
  static std::string ReportTime(const std::string& site, const std::string& of,
                                const TestVolume& volume);
  /// The report of the other site that `site` has is that of a demoted image.
  static bool PeerReportsADemotion(const std::string& site,
                                   const TestVolume& volume);
  /// Starts rbd-mirror of `site`, which has been killed, and waits until the
  /// reports of its predecessor are gone, which is seconds before its own come.
  void StartAndForget(const std::string& site, const TestVolume& volume);
  /// Kills it, starts it, and kills it before it reports.
  void DieBeforeItReports(const std::string& site, const TestVolume& volume);
  /// Demotes on a what is `written` there, and waits until b has it.
  void DemoteAndArrive(const TestVolume& volume, uint64_t written,
                       const Parameters& parameters);
  /// Both sites are asked without force, again and again: for `time`, or until
  /// one has said OK and the other one has been asked for half a minute more.
  /// Who has said OK before is not asked.
  struct Said {
    bool a = false;
    bool b = false;
  };
  void AskBoth(const TestVolume& volume, const Parameters& parameters,
               std::chrono::seconds time, Said* said);
  /// One of them alone, in the end, with what was written.
  void ExpectOnePrimary(const TestVolume& volume, const Said& said,
                        uint64_t written);
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CHAOS_MIRROR_OUTAGES_H_
