#ifndef ADDONS_TESTS_CHAOS_WORKLOAD_H_
#define ADDONS_TESTS_CHAOS_WORKLOAD_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/chaos/content.h"
#include "tests/cluster/disk.h"

namespace addons::testing {

/// An image as a workload has it open.
struct NamedDisk {
  std::string image;
  std::unique_ptr<Disk> disk;
};

/// Whether a writer has places that it clears (content.h).
enum class Clearing { kNo, kYes };

/// Does what a writer does as `number` to one image; 0 or a negative errno.
int WriteNumber(const NamedDisk& disk, uint64_t number, Clearing clearing);

/// Writes numbered blocks (content.h) to all its images, the next number when
/// the last one is written everywhere, until it is stopped.
class Workload {
 public:
  /// Goes on after `last`.
  Workload(std::vector<NamedDisk> disks, uint64_t last, Clearing clearing);
  ~Workload() { Stop(); }
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  /// The number that was last written to all images, as the cluster answered.
  uint64_t acknowledged() const { return acknowledged_; }
  /// Ends after the write under way, and closes the images.
  void Stop();
  /// The first error of a write, negative; 0: there was none. After Stop().
  int error() const { return error_; }

 private:
  void Run(const std::stop_token& stop);

  std::vector<NamedDisk> disks_;
  const Clearing clearing_;
  std::atomic<uint64_t> acknowledged_;
  std::atomic<int> error_{0};
  std::jthread writer_;
};

/// What an image holds. A fault tells of an image that cannot be read, too.
Content ReadContent(const NamedDisk& disk, Clearing clearing);

/// How two copies of one image differ. What cannot be read is damaged.
Difference CompareDisks(const NamedDisk& one, const NamedDisk& other);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CHAOS_WORKLOAD_H_
