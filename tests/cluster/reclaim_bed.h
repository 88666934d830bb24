#ifndef ADDONS_TESTS_CLUSTER_RECLAIM_BED_H_
#define ADDONS_TESTS_CLUSTER_RECLAIM_BED_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/cluster/reclaim_client.h"
#include "tests/cluster/two_sites.h"

namespace addons::testing {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kObject = 4 * kMiB;

/// Noise without any run of zeros; the same `seed` gives the same.
std::string RandomBytes(size_t size, uint64_t seed);

/// Writes all the while, on a thread and with a client of its own.
class Writer {
 public:
  explicit Writer(std::unique_ptr<Disk> disk,
                  std::chrono::milliseconds first_pause = {});

  /// Of the last write that failed; 0: none.
  int error() const { return error_; }
  uint64_t writes() const { return writes_; }
  std::chrono::steady_clock::duration slowest() const { return slowest_; }

 private:
  const std::unique_ptr<Disk> disk_;
  std::atomic<int> error_{0};
  std::atomic<uint64_t> writes_{0};
  std::atomic<std::chrono::steady_clock::duration> slowest_{};
  std::jthread thread_;
};

/// Base of the suites of ControllerReclaimSpace: clusters on bluestore, since
/// memstore has no holes in its objects. Called with the rights of a node's
/// user, as the operator does.
class ReclaimBed : public TwoSitesTest {
 public:
  static void SetUpTestSuite();
  /// The same, with further flags for the daemons.
  static void SetUpWith(const std::vector<std::string>& more_flags);

 protected:
  static Reclaimed Reclaim(const TestVolume& volume,
                           const Parameters& parameters = {},
                           const std::string& site = "a",
                           std::chrono::milliseconds deadline = kDeadline);
  /// Repeated as the operator does while the work is under way, which takes
  /// minutes on a busy machine.
  static grpc::Status ReclaimAtLast(const TestVolume& volume);

  /// 32 objects: 16 of zeros, 8 half of zeros, 8 without.
  static constexpr uint64_t kZeros = 80 * kMiB;
  static TestVolume MakeHollowVolume();
  static void FillHollow(const TestVolume& volume);
  /// Of the smallest objects that librbd makes, with one byte in each: what
  /// takes long is how many there are, 400 to 1000 a second (measured).
  static constexpr uint64_t kSmallObject = 4096;
  static TestVolume MakeLongVolume(uint64_t objects);

  /// What the pool says it has, with everything that was done so far.
  static int64_t StoredBytes();
  static std::string Lockers(const TestVolume& volume);
  /// Waits until the daemon has the lock.
  static bool AwaitWork(const TestVolume& volume);
  /// Nothing of the daemon's stays on the image.
  static void ExpectLeft(const TestVolume& volume);

  /// A number that a daemon serves over HTTP, by its series without prefix; -1
  /// when there is none.
  static double Metric(const std::string& series,
                       const std::string& site = "a");
  /// How many reclaims a daemon has counted with this outcome since its start.
  static double Ended(const std::string& outcome,
                      const std::string& site = "a");

  // --- what the log says of a volume

  static std::string Outcome(const TestVolume& volume,
                             const std::string& site = "a");
  static std::string Reason(const TestVolume& volume);
  /// How often work has begun.
  static int Begins(const TestVolume& volume);
  /// How much work ran at the same time, at most, since the log's `from`-th
  /// byte.
  static int MostAtOnce(size_t from);
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_RECLAIM_BED_H_
