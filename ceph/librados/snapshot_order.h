#ifndef ADDONS_CEPH_LIBRADOS_SNAPSHOT_ORDER_H_
#define ADDONS_CEPH_LIBRADOS_SNAPSHOT_ORDER_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/unique_fd.h"
#include "ceph/librados/snapshot_together.h"

namespace addons {

// What the daemon and its process that holds locks say to each other: JSON, one
// line each.

/// Has the key: to be wiped (WipeString()).
std::string OrderText(const SnapshotOrder& order);
/// nullopt: it is no order.
std::optional<SnapshotOrder> ParseOrder(absl::string_view text);

struct SnapshotReport {
  enum class Stage { kConnected, kLocking, kReleased, kEnded };
  Stage stage = Stage::kEnded;
  std::string client;   // kConnected: its addresses, as Ceph writes them
  absl::Status status;  // kEnded
  /// kEnded: no image is open or locked any more. Of one that is, other clients
  /// wait for this one's answers.
  bool clean = false;
};
std::string ReportText(const SnapshotReport& report);
std::optional<SnapshotReport> ParseReport(absl::string_view text);

/// Reads lines from a pipe. For one thread.
class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}
  /// Without the newline. nullopt: the other end is closed, there is none by
  /// `until`, or it is longer than a MiB.
  std::optional<std::string> Next(SteadyTime until);

 private:
  const int fd_;
  std::string read_;
};

/// All of `text` and a newline. False: the other end is closed.
bool WriteLine(int fd, absl::string_view text);

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_SNAPSHOT_ORDER_H_
