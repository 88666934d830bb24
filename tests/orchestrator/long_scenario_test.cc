// A year of an administrator with rbd-mirror's default intervals: protect,
// relocate, fail over, fail back, while daemons are restarted at random.
// RBD_ADDONS_LONG_COUNT sets how many rounds there are, RBD_ADDONS_LONG_SEED
// repeats a run.

#include <future>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/orchestrator/orchestrated_sites.h"
#include "tests/testing/long_run.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const bool kDefaultIntervals = StartBedWith({"--default-intervals"});

class LongScenarioTest : public OrchestratedSitesTest {
 public:
  static void SetUpTestSuite() { StartDaemonsWithDefaultTimes(); }

 protected:
  struct Where {
    std::string from;
    std::string to;
  };

  /// `work` for all volumes at once, while daemons of living sites are
  /// restarted, one after the other; but not for ever: a site whose rbd-mirror
  /// never lives for the settle time rightly decides nothing.
  void Disturbed(const Volumes& volumes, const std::string& dead,
                 const std::function<void(Volume&)>& work) {
    auto done = std::async(std::launch::async, [&] { ForEach(volumes, work); });
    const auto ends_within = [&](seconds time) {
      return done.wait_for(time) == std::future_status::ready;
    };
    // In this thread: the daemons die with the one that started them.
    for (uint64_t left = 2 + random_() % 6; left > 0; --left) {
      if (ends_within(seconds(5 + random_() % 40))) break;
      std::string site = random_() % 2 == 0 ? "a" : "b";
      if (site == dead) site = dead == "a" ? "b" : "a";
      switch (random_() % 4) {
        case 0:
          std::cerr << "  rbd-mirror of " << site << " is away" << std::endl;
          Testbed("stop", {site, "rbd-mirror"});
          (void)ends_within(seconds(random_() % 45));
          Testbed("cont", {site, "rbd-mirror"});
          break;
        case 1:
          std::cerr << "  the manager of " << site << " dies" << std::endl;
          Testbed("kill", {site, "mgr"});
          (void)ends_within(seconds(random_() % 30));
          Testbed("start", {site, "mgr"});
          break;
        case 2:
          std::cerr << "  rbd-mirror of " << site << " dies" << std::endl;
          Testbed("kill", {site, "rbd-mirror"});
          Testbed("start", {site, "rbd-mirror"});
          break;
        default:
          std::cerr << "  the daemon of " << site << " dies" << std::endl;
          Restart(site);
          break;
      }
    }
    done.get();
  }

  void Relocate(const Volumes& volumes, const Where& where) {
    const bool orderly = random_() % 2 == 0;
    std::cerr << "relocation from " << where.from << " to " << where.to
              << (orderly ? ", one side after the other" : ", both at once")
              << std::endl;
    Disturbed(volumes, "", [&](Volume& volume) {
      Write(where.from, volume.volume, absl::StrCat("from ", where.from));
      const uint64_t written = Digest(where.from, volume.volume);
      Want(volume, where.from, Role::kSecondary);
      if (orderly) {
        AwaitState(volume, where.from, Role::kSecondary, minutes(10));
      }
      Create(volume, where.to, Role::kPrimary);
      AwaitState(volume, where.to, Role::kPrimary, minutes(15));
      EXPECT_FALSE(WasForced(volume, where.to))
          << volume.logs.at(where.to)->Text();
      EXPECT_EQ(Digest(where.to, volume.volume), written);
      CleanUp(volume, where.from, minutes(15));
    });
    for (const auto& volume : volumes) ExpectInStep(*volume, where.to);
  }

  void FailOver(const Volumes& volumes, const Where& where) {
    std::cerr << "site " << where.from << " dies" << std::endl;
    std::map<std::string, uint64_t> arrived;
    for (const auto& volume : volumes) {
      Write(where.from, volume->volume, "arrived");
      Synchronize(where.from, volume->volume);
      arrived[volume->volume.image] = Digest(where.to, volume->volume);
      Write(where.from, volume->volume, "lost");
    }
    StopSite(where.from);
    Disturbed(volumes, where.from, [&](Volume& volume) {
      Create(volume, where.to, Role::kPrimary);
      AwaitState(volume, where.to, Role::kPrimary, minutes(30));
      EXPECT_EQ(Digest(where.to, volume.volume),
                arrived.at(volume.volume.image));
      Write(where.to, volume.volume, absl::StrCat("from ", where.to));
    });
    std::cerr << "site " << where.from << " is back" << std::endl;
    ContinueSite(where.from);
    Disturbed(volumes, "", [&](Volume& volume) {
      Want(volume, where.from, Role::kSecondary);
      CleanUp(volume, where.from, minutes(30));
    });
    for (const auto& volume : volumes) ExpectInStep(*volume, where.to);
  }

  std::mt19937_64 random_;
};

TEST_F(LongScenarioTest, EachRoundEndsWithTheDataAndNothingLeft) {
  const uint64_t seed =
      FromEnvironment("RBD_ADDONS_LONG_SEED", std::random_device()());
  const uint64_t rounds = FromEnvironment("RBD_ADDONS_LONG_COUNT", 3);
  random_.seed(seed);
  std::cerr << rounds << " rounds, seed " << seed << std::endl;
  Volumes volumes;
  ProtectAllKinds(&volumes);
  Where where{"a", "b"};
  for (uint64_t round = 1; round <= rounds; ++round) {
    Relocate(volumes, where);
    std::swap(where.from, where.to);
    FailOver(volumes, where);
    std::swap(where.from, where.to);
    // Back to where it lived before.
    Relocate(volumes, where);
    std::swap(where.from, where.to);
    ExpectNothingLeft(volumes);
    std::cerr << round << " of " << rounds << " rounds done" << std::endl;
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace addons::testing
