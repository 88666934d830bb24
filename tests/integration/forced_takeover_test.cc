// Taking over by force from a site that lives and goes on copying: the daemon
// lives, each volume holds a state that it once had whole, and after the
// failback both sites hold the same. Also when the daemon stands still in the
// middle of it.

#include <algorithm>
#include <csignal>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "tests/cluster/two_sites.h"
#include "tests/testing/long_run.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AnyOf;

const bool kStandingStillBed = OnBluestore({"StandingStillTest"});

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

/// The daemon, or the one thread that promotes, stands still for 50 s right
/// before librbd's promotion. Nothing else does.
class StandingStillTest : public ForcedTakeoverTest {
 protected:
  static constexpr seconds kStandsStill{50};

  void Begin() {
    volume_ = MakeReplicatedVolume({}, {"--size", "1G"});
    NextState();
    Synchronize("a", volume_);
    ASSERT_EQ(Digest("b", volume_), states_.back());
  }
  void TearDown() override { Restart("b"); }

  /// Of site a, in a mirror snapshot.
  void NextState() {
    const std::string text = absl::StrCat("state ", states_.size() + 1);
    Write("a", volume_, text, kBytes);
    states_.push_back(Digest("a", volume_));
    Rbd("a", {"mirror", "image", "snapshot", ImageSpec(volume_)});
  }
  /// `fault` of the first promotion, in which `meanwhile` is done.
  void TakeOver(const std::string& fault,
                const std::function<void()>& meanwhile) {
    const std::string trace = dir_.File("calls");
    Restart("b",
            {{"RBD_ADDONS_FAULTS", fault}, {"RBD_ADDONS_CALL_TRACE", trace}});
    auto answer = std::async(std::launch::async, [this] {
      return Promote("b", volume_, true, {}, seconds(150));
    });
    ASSERT_TRUE(Eventually(
        [&] {
          std::ifstream calls(trace);
          for (std::string call; std::getline(calls, call);) {
            if (call == "rbd_mirror_image_promote") return true;
          }
          return false;
        },
        seconds(60)));
    ASSERT_NO_FATAL_FAILURE(meanwhile());
    grpc::Status status = answer.get();
    const auto begin = steady_clock::now();
    while (!status.ok() && Daemon("b").Running() &&
           steady_clock::now() - begin < seconds(180)) {
      std::cerr << status.error_message() << std::endl;
      EXPECT_THAT(status,
                  AnyOf(HasCode(Code::UNAVAILABLE), HasCode(Code::ABORTED)));
      status = Promote("b", volume_, true);
    }
    EXPECT_THAT(status, HasCode(Code::OK));
  }

  /// A state that was whole, and not older than the `oldest`-th.
  void ExpectState(size_t oldest) {
    ASSERT_TRUE(Daemon("b").Running());
    EXPECT_TRUE(IsPrimary("b", volume_));
    const uint64_t holds = Digest("b", volume_);
    const auto found = std::find(states_.begin(), states_.end(), holds);
    ASSERT_NE(found, states_.end()) << "it holds what it never held";
    const auto state = static_cast<size_t>(found - states_.begin()) + 1;
    std::cerr << "state " << state << " of " << states_.size()
              << ", whole before: " << oldest << std::endl;
    EXPECT_GE(state, oldest);
    EXPECT_FALSE(HasHalfACopy("b", volume_));
  }

  TestVolume volume_;
  std::vector<uint64_t> states_;  // their digests, of site a
  const TempDir dir_;
};

// rbd-mirror comes back, brings a whole state, and is in the next one.
TEST_F(StandingStillTest, TheWholeDaemon) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  size_t whole = 1;
  // The signal comes in time.
  TakeOver("rbd_mirror_image_promote#1:hang=5000", [&] {
    const auto since = steady_clock::now();
    ASSERT_TRUE(Daemon("b").Signal(SIGSTOP));
    const int64_t before = NewestSnapshot("b", volume_).id;
    NextState();
    const bool arrived = Eventually(
        [&] {
          const SeenSnapshot newest = NewestSnapshot("b", volume_);
          return newest.id != before && newest.complete;
        },
        seconds(120));
    if (arrived) whole = 2;
    NextState();
    Eventually(
        [&] {
          const SeenSnapshot newest = NewestSnapshot("b", volume_);
          return !newest.complete && newest.copied_objects > 8;
        },
        seconds(20));
    if (steady_clock::now() - since < kStandsStill) {
      std::this_thread::sleep_until(since + kStandsStill);
    }
    ASSERT_TRUE(Daemon("b").Signal(SIGCONT));
    EXPECT_TRUE(arrived) << "nothing was copied: the try proves little";
  });
  ExpectState(whole);
}

class LongStandingStillTest : public StandingStillTest {};

// The rest of the daemon lives, and keeps rbd-mirror away meanwhile.
TEST_F(LongStandingStillTest, TheThreadThatPromotes) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  TakeOver("rbd_mirror_image_promote#1:hang=50000", [&] {
    const auto since = steady_clock::now();
    while (steady_clock::now() - since < kStandsStill - seconds(5)) NextState();
  });
  ExpectState(1);
}

}  // namespace
}  // namespace addons::testing
