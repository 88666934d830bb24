// Two sites that live through moves, disasters and returns, with workloads that
// write all the time, while everything goes wrong that can. What counts is the
// data: a planned move keeps every acknowledged write, a forced one the last
// state that had arrived whole, and every state is one that the writer left.
// What it has cleared and mirroring has not is counted, and is no failure.
//
// RBD_ADDONS_CHAOS_MINUTES sets how long new rounds are begun (0: one round),
// RBD_ADDONS_CHAOS_SEED repeats a run (an odd one is on BlueStore),
// RBD_ADDONS_CHAOS_VOLUMES and _MEMBERS set how many volumes there are, and
// members of the group. scripts/chaos.sh sets them all.

#include <algorithm>
#include <csignal>
#include <future>
#include <iostream>
#include <map>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/chaos/applications.h"
#include "tests/chaos/disturbances.h"
#include "tests/chaos/side_jobs.h"
#include "tests/chaos/sites_network.h"
#include "tests/testing/long_run.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::steady_clock;

const uint64_t kMinutes = FromEnvironment("RBD_ADDONS_CHAOS_MINUTES", 0);
const bool kShort = kMinutes == 0;
const uint64_t kSeed =
    FromEnvironment("RBD_ADDONS_CHAOS_SEED", std::random_device()());
/// In turn: OSDs can die on BlueStore only, and more that mirroring does not
/// carry is seen there; memstore leaves the machine time for more of the rest.
const bool kOnBluestore = kSeed % 2 == 1;

/// Before main(), so that the clusters are started in it. Null without root.
const std::unique_ptr<SitesNetwork> kNetwork = SitesNetwork::Make();

std::vector<std::string> BedFlags() {
  std::vector<std::string> flags;
  if (kNetwork != nullptr) flags = kNetwork->BedFlags();
  if (!kShort) flags.emplace_back("--default-intervals");
  return flags;
}

const bool kBed = StartBedWith(BedFlags()) && (!kOnBluestore || OnBluestore());

class ChaosTest : public ApplicationsTest {
 public:
  static void SetUpTestSuite() {
    const std::vector<std::string> flags = {"--settle-time=90s",
                                            "--takeover-time=180s"};
    if (kShort) {
      TwoSitesTest::SetUpTestSuite();
    } else {
      StartDaemons({{"a", flags}, {"b", flags}});
    }
  }

 protected:
  Disturbances::Actions Actions() const;
  /// Makes what the side jobs of a site are done with.
  SideJobs::Place MakePlace(const std::string& site) const;
  /// While it copies nothing: one that is killed in the middle of a copy goes
  /// on one object too late (docs/replication.md, "A copy that was
  /// interrupted"), and what is lost then is not our doing.
  bool MirrorMayDie(const std::string& site) const;

  /// `work` for each application at once, disturbed meanwhile.
  void Disturbed(const Applications& applications, const std::string& dead,
                 const std::function<void(Application&)>& work);
  void Say(const std::string& text) const;

  void Move(const Applications& applications);
  void MoveOne(Application& application, bool orderly);
  /// `site` dies and comes back.
  void LoseSite(const std::string& site);

  std::unique_ptr<Disturbances> disturbances_;
  std::map<std::string, std::unique_ptr<SideJobs>> side_jobs_;
  uint64_t steps_ = 0;
  int moves_ = 0;
  int takeovers_ = 0;
  const steady_clock::time_point began_ = steady_clock::now();
};

void ChaosTest::Say(const std::string& text) const {
  const auto passed =
      std::chrono::duration_cast<seconds>(steady_clock::now() - began_);
  std::cerr << passed.count() << " s: " << text << std::endl;
}

bool ChaosTest::MirrorMayDie(const std::string& site) const {
  // A new one waits for a dead site's monitors for five minutes before it says
  // a word, and its site's daemon with it.
  if (kShort && !Lives(Other(site))) return false;
  const std::vector<TestVolume> images = Images();
  return std::all_of(images.begin(), images.end(), [&](const auto& image) {
    const SeenSnapshot newest = NewestSnapshot(site, image);
    return newest.complete || newest.copied_objects == 0;
  });
}

void ChaosTest::Disturbed(const Applications& applications,
                          const std::string& dead,
                          const std::function<void(Application&)>& work) {
  auto done =
      std::async(std::launch::async, [&] { AtOnce(applications, work); });
  disturbances_->Run(kSeed + 1000 * ++steps_, kShort ? 3 : 8, dead,
                     [&](milliseconds time) {
                       return done.wait_for(time) == std::future_status::ready;
                     });
  done.get();
}

void ChaosTest::MoveOne(Application& application, bool orderly) {
  Volume& resource = *application.resource;
  const std::string from = application.at;
  const std::string to = Other(from);
  const uint64_t written = Rest(application);
  Want(resource, from, Role::kSecondary);
  if (orderly) AwaitState(resource, from, Role::kSecondary, minutes(15));
  Create(resource, to, Role::kPrimary);
  ArriveByMove(application, to, written, minutes(20));
  CleanUp(resource, from, minutes(20));
}

void ChaosTest::Move(const Applications& applications) {
  const bool orderly = steps_ % 2 == 0;
  Say(absl::StrCat(
      "move of ", applications.size(),
      orderly ? ", one side after the other" : ", both sides at once"));
  Disturbed(applications, "",
            [&](Application& each) { MoveOne(each, orderly); });
  moves_ += static_cast<int>(applications.size());
}

void ChaosTest::LoseSite(const std::string& site) {
  Applications lost;
  for (const auto& each : applications_) {
    if (each->at == site) lost.push_back(each.get());
  }
  Say(absl::StrCat("site ", site, " dies with ", lost.size(), " of ",
                   applications_.size()));
  side_jobs_.at(site)->Pause();
  SendState(lost, site);
  for (Application* each : lost) (void)Rest(*each);
  StopSite(site);
  Disturbed(lost, site, [&](Application& each) { TakeOver(each, site); });
  Say(absl::StrCat("site ", site, " is back"));
  ContinueSite(site);
  side_jobs_.at(site)->Continue();
  Disturbed(lost, "", [&](Application& each) {
    Want(*each.resource, site, Role::kSecondary);
    CleanUp(*each.resource, site, minutes(40));
  });
  takeovers_ += static_cast<int>(lost.size());
}

Disturbances::Actions ChaosTest::Actions() const {
  Disturbances::Actions actions;
  actions.testbed = [](const std::string& command,
                       const std::vector<std::string>& arguments) {
    Testbed(command, arguments);
  };
  actions.restart = [](const std::string& site) { Restart(site); };
  actions.look_after_daemon = [](const std::string& site) {
    if (Daemon(site).Running()) return;
    ADD_FAILURE() << "site " << site << ": " << Daemon(site).Ending();
    Restart(site);
  };
  actions.signal = [](const std::string& site, int signal) {
    (void)Daemon(site).Signal(signal);
  };
  actions.mirror_may_die = [this](const std::string& site) {
    return MirrorMayDie(site);
  };
  actions.osds_survive = kOnBluestore;
  if (kShort) actions.longest = seconds(10);
  if (kNetwork != nullptr) {
    actions.cut = [] { return kNetwork->Cut(); };
    actions.mend = [] { return kNetwork->Mend(); };
    actions.slow_down = [] { return kNetwork->SlowDown(); };
    actions.speed_up = [] { return kNetwork->SpeedUp(); };
  }
  return actions;
}

SideJobs::Place ChaosTest::MakePlace(const std::string& site) const {
  SideJobs::Place place{site, {}, Images(), kNetwork.get()};
  for (int i = 0; i < 3; ++i) {
    TestVolume volume;
    const std::string id =
        Testbed("volume", {site, absl::StrCat("pvc-beside-", i)});
    (site == "a" ? volume.id_a : volume.id_b) = id;
    place.volumes.push_back(std::move(volume));
  }
  return place;
}

TEST_F(ChaosTest, NothingIsLostAndNothingSticks) {
  const uint64_t volumes =
      FromEnvironment("RBD_ADDONS_CHAOS_VOLUMES", kShort ? 2 : 10);
  const uint64_t members =
      FromEnvironment("RBD_ADDONS_CHAOS_MEMBERS", kShort ? 2 : 5);
  Say(absl::StrCat("seed ", kSeed, ", ",
                   kOnBluestore ? "bluestore" : "memstore", ", ", volumes,
                   " volumes and a group of ", members));
  disturbances_ = std::make_unique<Disturbances>(Actions());
  Make(volumes, members, Clearing::kYes);
  for (const std::string site : {"a", "b"}) {
    side_jobs_[site] = std::make_unique<SideJobs>(MakePlace(site), kSeed);
  }

  std::mt19937_64 random(kSeed);
  do {
    Applications some;
    for (const auto& each : applications_) {
      if (random() % 3 != 0 || kShort) some.push_back(each.get());
    }
    Move(some);
    const uint64_t drawn = random();
    if (!HasFailure()) LoseSite(kShort || drawn % 2 == 0 ? "b" : "a");
    if (HasFailure()) break;
    Say("everything rests");
    ExpectAllInStep();
    Say(absl::StrCat("compared: ", not_cleared_.load(), " blocks not cleared, ",
                     damaged_.load(), " damaged"));
  } while (!HasFailure() && steady_clock::now() - began_ < minutes(kMinutes));
  int done = 0;
  for (const auto& [site, jobs] : side_jobs_) {
    jobs->Stop();
    done += jobs->done();
  }
  for (const auto& each : applications_) each->workload->Stop();

  std::string told;
  for (const auto& [what, count] : disturbances_->counts()) {
    absl::StrAppend(&told, "; ", what, " ", count);
  }
  Say(absl::StrCat("seed ", kSeed, ": ", moves_, " planned moves, ", takeovers_,
                   " takeovers, ", done, " jobs beside, ", not_cleared_.load(),
                   " blocks not cleared, ", damaged_.load(), " damaged", told));
}

}  // namespace
}  // namespace addons::testing
