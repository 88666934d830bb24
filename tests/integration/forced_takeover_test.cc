// Taking over by force from a site that lives and goes on copying: the daemon
// lives, each volume holds a state that it once had whole, and after the
// failback both sites hold the same.

#include <future>
#include <iostream>
#include <random>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "tests/cluster/two_sites.h"
#include "tests/testing/long_run.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr uint64_t kBytes = uint64_t{1} << 30;

/// A volume on a that is written and snapshot again and again.
struct BusyVolume {
  TestVolume volume;
  std::set<uint64_t> whole;  // the digests of all states that were snapshot
};

class ForcedTakeoverTest : public TwoSitesTest {
 public:
  static void SetUpTestSuite() {
    TwoSitesTest::SetUpTestSuite();
    // So that a copy takes as long as with slow disks.
    CopyObjectsAtOnce(1);
  }

 protected:
  /// One state after the other, each in a mirror snapshot, until told to stop.
  static void Work(BusyVolume& busy, const std::stop_token& stop,
                   uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto disk = OpenDisk("a", busy.volume);
    for (int state = 1; !stop.stop_requested(); ++state) {
      const uint64_t bytes = kBytes / 4 * (1 + random() % 4);
      if (disk->Fill(absl::StrCat("state ", state, " of ", seed), bytes) != 0) {
        ADD_FAILURE() << "writing failed";
        return;
      }
      busy.whole.insert(disk->Digest());
      Rbd("a", {"mirror", "image", "snapshot", ImageSpec(busy.volume)});
      RealClock().SleepFor(milliseconds(random() % 500), stop);
    }
  }

  static bool HasHalfACopy(const std::string& site, const TestVolume& volume) {
    const std::string listing = Rbd(
        site, {"snap", "ls", "--all", "--format", "json", ImageSpec(volume)});
    return listing.find("\"complete\":false") != std::string::npos;
  }

  /// All volumes at once, when the first of them is seen in mid-copy; 0: none
  /// was.
  static int TakeOver(std::vector<BusyVolume>& volumes, uint64_t seed) {
    int in_mid_copy = 0;
    std::vector<std::jthread> workers;
    for (size_t i = 0; i < volumes.size(); ++i) {
      volumes[i].whole.insert(Digest("a", volumes[i].volume));
      workers.emplace_back([&volumes, i, seed](const std::stop_token& stop) {
        Work(volumes[i], stop, seed * 100 + i);
      });
    }
    std::mt19937_64 random(seed);
    RealClock().SleepFor(milliseconds(1000 + random() % 2000),
                         std::stop_token());
    // Best while something is on its way.
    const auto until = steady_clock::now() + seconds(120);
    while (in_mid_copy == 0 && steady_clock::now() < until) {
      for (const BusyVolume& busy : volumes) {
        const SeenSnapshot newest = NewestSnapshot("b", busy.volume);
        if (newest.id >= 0 && !newest.complete) in_mid_copy = 1;
        if (in_mid_copy > 0) break;
      }
    }
    std::vector<std::future<grpc::Status>> answers;
    const auto start = steady_clock::now();
    for (const BusyVolume& busy : volumes) {
      answers.push_back(std::async(std::launch::async, [&busy] {
        grpc::Status answer;
        const auto begin = steady_clock::now();
        do {
          answer = Promote("b", busy.volume, true);
        } while (answer.error_code() == Code::UNAVAILABLE &&
                 Daemon("b").Running() &&
                 steady_clock::now() - begin < seconds(120));
        return answer;
      }));
    }
    for (auto& answer : answers) EXPECT_THAT(answer.get(), HasCode(Code::OK));
    std::cerr
        << "promoted in "
        << std::chrono::duration<double>(steady_clock::now() - start).count()
        << " s, in mid-copy: " << in_mid_copy << std::endl;
    for (std::jthread& worker : workers) worker.request_stop();
    workers.clear();
    return in_mid_copy;
  }

  static void ExpectWhole(const std::vector<BusyVolume>& volumes) {
    ASSERT_TRUE(Daemon("b").Running());
    for (const BusyVolume& busy : volumes) {
      EXPECT_TRUE(IsPrimary("b", busy.volume));
      EXPECT_TRUE(busy.whole.contains(Digest("b", busy.volume)))
          << busy.volume.image << " holds what it never held";
      EXPECT_FALSE(HasHalfACopy("b", busy.volume));
    }
  }

  /// A is resynced and holds what b holds.
  static void FailBack(const std::vector<BusyVolume>& volumes) {
    for (const BusyVolume& busy : volumes) {
      Write("b", busy.volume, "of site b", kBytes / 8);
      EXPECT_TRUE(Eventually([&] { return Demote("a", busy.volume).ok(); },
                             seconds(120)));
    }
    for (const BusyVolume& busy : volumes) {
      bool ready = false;
      EXPECT_TRUE(Eventually(
          [&] { return Resync("a", busy.volume, true, &ready).ok() && ready; },
          seconds(240)))
          << Status("a", busy.volume);
      Synchronize("b", busy.volume);
      EXPECT_EQ(Digest("a", busy.volume), Digest("b", busy.volume))
          << busy.volume.image;
    }
  }

  /// More tries when none of them has met a copy: a busy machine may be done
  /// with each before it is seen.
  static void Run(int tries, size_t at_once, uint64_t seed) {
    int in_mid_copy = 0;
    int done = 0;
    while ((done < tries || (in_mid_copy == 0 && done < 3 * tries)) &&
           !HasFatalFailure()) {
      std::vector<BusyVolume> volumes(at_once);
      for (BusyVolume& busy : volumes) {
        busy.volume = MakeReplicatedVolume({}, {"--size", "1G"});
        Write("a", busy.volume, "first", kBytes);
        Synchronize("a", busy.volume);
      }
      in_mid_copy += TakeOver(volumes, ++seed);
      ExpectWhole(volumes);
      if (HasFatalFailure()) return;
      FailBack(volumes);
      for (const BusyVolume& busy : volumes) {
        EXPECT_THAT(Disable("b", busy.volume), HasCode(Code::OK));
        Rbd("b", {"rm", "--no-progress", ImageSpec(busy.volume)});
      }
      done += static_cast<int>(at_once);
      std::cerr << done << " of " << tries
                << " tries, in mid-copy: " << in_mid_copy << ", last seed "
                << seed << std::endl;
    }
    EXPECT_GT(in_mid_copy, 0) << "no try met a copy under way";
  }
};

TEST_F(ForcedTakeoverTest, EachVolumeHoldsAStateThatItOnceHadWhole) {
  Run(/*tries=*/4, /*at_once=*/4, /*seed=*/20261122);
}

class LongForcedTakeoverTest : public ForcedTakeoverTest {};

TEST_F(LongForcedTakeoverTest, EachVolumeHoldsAStateThatItOnceHadWhole) {
  Run(static_cast<int>(FromEnvironment("RBD_ADDONS_LONG_COUNT", 200)),
      /*at_once=*/8, FromEnvironment("RBD_ADDONS_LONG_SEED", 20261123));
}

}  // namespace
}  // namespace addons::testing
