#ifndef ADDONS_CEPH_LIBRADOS_SNAPSHOT_TOGETHER_H_
#define ADDONS_CEPH_LIBRADOS_SNAPSHOT_TOGETHER_H_

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ceph/cluster.h"
#include "ceph/image.h"
#include "ceph/librados/client_environment.h"

namespace addons {

/// What a process is told that holds the locks of images while it makes their
/// snapshots (RunSnapshotChild()), as JSON on its standard input.
struct SnapshotOrder {
  ClusterTarget target;
  CephUserRef user;
  ConnectionTimeouts timeouts;
  std::vector<PlacedImage> images;
  std::string snapshot;
  LockMode lock = LockMode::kTransient;
  /// For how long it asks for the locks, before it gives back those it has.
  std::chrono::milliseconds lock_patience{3000};
};

/// The one argument of the daemon's program that makes it such a process.
inline constexpr char kSnapshotChildArgument[] = "--snapshot-together";

/// How the process is started, and how long it may take.
struct SnapshotChildOptions {
  /// The daemon itself.
  std::string program = "/proc/self/exe";
  /// Until it has connected, and then until it has opened all images.
  std::chrono::milliseconds open_patience = std::chrono::seconds(30);
  /// From when it asks for the first lock until it has given back the last.
  std::chrono::milliseconds held_patience = std::chrono::seconds(5);
};

/// Cluster::SnapshotTogether() in a process of its own, which can be ended when
/// librbd hangs with the locks. One that takes too long, or dies with an image
/// open, is killed, and its client put on the blocklist through `cluster`.
/// Writers wait for 10 s then, and for 30 s without that (measured, 20.2.4).
/// Without any lock it would hold up the next snapshot of an image for 30 s:
/// librbd asks everybody who has it open (16.2.15).
///
// clang-format off
///   the daemon                        the process
///     starts it, sends the order  ──>  connects
///                                 <──  connected; its client's addresses
///                                      opens the images, open_patience
///     held_patience from here     <──  locking
///                                      all locks, in parallel, lock_patience
///                                      all snapshots, in parallel
///                                 <──  released: it has no lock any more
///                                      closes the images
///     ends                        <──  ended; the status
// clang-format on
///
/// It goes on when the daemon dies, and ends by itself. Blocks; thread-safe.
absl::Status SnapshotInChild(const SnapshotOrder& order,
                             const SnapshotChildOptions& options,
                             Cluster& cluster);

/// What such a process does, with its two pipes. Returns its exit code.
int RunSnapshotChild(int input, int output);

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_SNAPSHOT_TOGETHER_H_
