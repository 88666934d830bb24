// Planned moves with rbd-mirror's default intervals: many volumes while the
// rbd-mirror of the source is down, and moves that are given up while the other
// site goes on. They take long; RBD_ADDONS_LONG_COUNT sets how many volumes or
// tries there are, RBD_ADDONS_LONG_SEED what is left to chance.

#include <algorithm>
#include <future>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tests/cluster/two_sites.h"
#include "tests/testing/long_run.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AnyOf;
using ::testing::Each;

const bool kDefaultIntervals = StartBedWith({"--default-intervals"});

constexpr size_t kAtOnce = 10;

size_t Count(size_t otherwise) {
  return FromEnvironment("RBD_ADDONS_LONG_COUNT", otherwise);
}

unsigned Seed() {
  return static_cast<unsigned>(
      FromEnvironment("RBD_ADDONS_LONG_SEED", 20261122));
}

/// The daemons have the times that they have by default.
class LongTest : public TwoSitesTest {
 public:
  static void SetUpTestSuite() { StartDaemonsWithDefaultTimes(); }

 protected:
  /// Calls `work` for 0 to count - 1, several at a time.
  template <typename Work>
  static void ForEach(size_t count, const Work& work) {
    for (size_t begin = 0; begin < count; begin += kAtOnce) {
      std::vector<std::future<void>> running;
      for (size_t i = begin; i < std::min(count, begin + kAtOnce); ++i) {
        running.push_back(
            std::async(std::launch::async, [i, &work] { work(i); }));
      }
      for (auto& each : running) each.get();
    }
  }
  static std::vector<TestVolume> MakeVolumes(
      size_t count, const Parameters& parameters = {}) {
    std::vector<TestVolume> volumes(count);
    ForEach(count, [&](size_t i) {
      volumes[i] = parameters == kJournalMode ? MakeJournaledVolume()
                                              : MakeReplicatedVolume();
    });
    return volumes;
  }
};

class LongMoveTest : public LongTest {};

TEST_F(LongMoveTest, MovesWhileTheMirrorOfTheSourceIsDown) {
  const std::vector<TestVolume> volumes = MakeVolumes(Count(50));
  const unsigned seed = Seed();
  std::mt19937 random(seed);
  const auto down = seconds(120 + random() % 180);
  std::cerr << "seed " << seed << ": " << volumes.size()
            << " volumes, rbd-mirror of the source down for " << down.count()
            << " s before" << std::endl;
  Stop("a", "rbd-mirror");
  const auto stopped = steady_clock::now();
  std::vector<uint64_t> written(volumes.size());
  ForEach(volumes.size(), [&](size_t i) {
    Write("a", volumes[i], volumes[i].image);
    written[i] = Digest("a", volumes[i]);
    // As the operator does with a site that becomes secondary.
    bool ready = false;
    (void)Resync("b", volumes[i], false, &ready);
  });
  RealClock().SleepFor(stopped + down - steady_clock::now(), std::stop_token());
  std::vector<std::vector<grpc::Status>> answers(volumes.size());
  std::vector<std::future<void>> moves;
  for (size_t i = 0; i < volumes.size(); ++i) {
    moves.push_back(std::async(std::launch::async, [&, i] {
      EXPECT_THAT(Demote("a", volumes[i]), HasCode(Code::OK));
      answers[i] =
          PromoteRepeatedly("b", volumes[i], seconds(900), seconds(120));
    }));
  }
  for (auto& move : moves) move.get();
  size_t waited = 0;
  for (size_t i = 0; i < volumes.size(); ++i) {
    EXPECT_THAT(answers[i],
                Each(AnyOf(HasCode(Code::UNAVAILABLE), HasCode(Code::ABORTED),
                           HasCode(Code::OK))));
    EXPECT_THAT(answers[i].back(), HasCode(Code::OK));
    EXPECT_EQ(Digest("b", volumes[i]), written[i]) << volumes[i].image;
    waited = std::max(waited, answers[i].size());
  }
  std::cerr << "at most " << waited << " calls for one volume" << std::endl;
}

/// The time to take over is out of the way: in journal mode the site that goes
/// back may wait for two reports of the other one, and that one asks on for as
/// long after it, so it would rightly be told to force (seen with 20.2.4).
class LongGivenUpMoveTest : public LongTest {
 public:
  static void SetUpTestSuite() {
    const std::vector<std::string> flags = {"--settle-time=90s",
                                            "--takeover-time=900s"};
    StartDaemons({{"a", flags}, {"b", flags}});
  }

 protected:
  static void Race(const Parameters& parameters);
};

void LongGivenUpMoveTest::Race(const Parameters& parameters) {
  const size_t tries = Count(100);
  const unsigned seed = Seed();
  std::mt19937 random(seed);
  std::vector<seconds> distances(tries);
  for (seconds& distance : distances) distance = seconds(random() % 61);
  std::cerr << tries << " tries, seed " << seed << std::endl;
  for (size_t begin = 0; begin < tries; begin += kAtOnce) {
    const size_t count = std::min(kAtOnce, tries - begin);
    const std::vector<TestVolume> volumes = MakeVolumes(count, parameters);
    // The first reports, and the state that they are about.
    RealClock().SleepFor(seconds(40), std::stop_token());
    ForEach(count, [&](size_t i) {
      RaceToPromote(volumes[i], distances[begin + i], seconds(90), parameters);
    });
    std::cerr << begin + count << " tries done" << std::endl;
    if (HasFailure()) return;
  }
}

TEST_F(LongGivenUpMoveTest, BothSitesAreNeverToldOk) { Race({}); }

TEST_F(LongGivenUpMoveTest, BothSitesAreNeverToldOkInJournalMode) {
  Race(kJournalMode);
}

}  // namespace
}  // namespace addons::testing
