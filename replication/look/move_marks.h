#ifndef ADDONS_REPLICATION_LOOK_MOVE_MARKS_H_
#define ADDONS_REPLICATION_LOOK_MOVE_MARKS_H_

#include <cstdint>
#include <string>

namespace addons {

// What a planned move tells the other site in an image's metadata: it travels
// with the next mirror snapshot, in journal mode by itself.

/// The primary wants to be demoted, and a workload keeps it from that, or that
/// no peer follows it yet.
inline constexpr char kRefusedDemotionKey[] = "rbd-addons.demotion-refused";

/// In the place of the workload.
inline constexpr char kAwaitsFollower[] =
    "no client; it waits until the other site follows it";

struct RefusedDemotion {
  std::string workload;  // "client.4464 at 10.0.0.5:0/123", kAwaitsFollower
  std::string since;     // of the first refusal, by that site's clock
  int64_t told = 0;      // when this was written, unix seconds of that site
  /// Not in the form that this version writes: `told` says nothing, and the
  /// demotion is refused all the same.
  bool unclear = false;
  /// The newest mirror snapshot there was then: a newer one carries the note.
  /// 0: written by a version that did not note it, or in journal mode.
  uint64_t after = 0;
};

std::string FormatRefusedDemotion(const RefusedDemotion& refused);
/// A text that another version wrote stands for an unknown workload.
RefusedDemotion ParseRefusedDemotion(const std::string& text);
/// For a person on the other site: what the demotion waits for, and what to do.
std::string DescribeRefusedDemotion(const RefusedDemotion& refused);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_MOVE_MARKS_H_
