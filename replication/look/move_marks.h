#ifndef ADDONS_REPLICATION_LOOK_MOVE_MARKS_H_
#define ADDONS_REPLICATION_LOOK_MOVE_MARKS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace addons {

// What a planned move notes in an image's metadata. Keys that begin with
// ".rbd" stay on their site in snapshot mode, others travel to the peer with
// the next mirror snapshot. In journal mode all of them travel by themselves.

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

/// This site has demoted its image, and what became of that. As long as the
/// image is primary and has this mark, a promotion that takes the demotion back
/// waits for the peers, and nobody was told that this site is primary.
inline constexpr char kOwnDemotionKey[] = ".rbd-addons.own-demotion";

enum class OwnDemotionStep {
  /// Demoted. A primary that has this one was promoted by another program, or
  /// by a daemon that died inside the promotion.
  kDemoted,
  /// Promoted again by this daemon, which waits until the peers follow.
  kTakenBack,
  /// A peer was promoted meanwhile, and this site demotes itself again: what
  /// that peer wrote as primary is not here and cannot arrive any more, so this
  /// demotion is not one to take back.
  kGivenBack,
};
struct OwnDemotionMark {
  OwnDemotionStep step = OwnDemotionStep::kDemoted;
  /// When the peer that had been silent for longest had reported last before
  /// the demotion, unix seconds by this site's cluster; nullopt: nobody noted
  /// it.
  std::optional<int64_t> heard = {};
  /// With kGivenBack: no promotion had answered OK since the demotion before,
  /// so that nothing was acknowledged here since that.
  bool told_nobody = false;
  /// Not in the form that this version writes, so that it may say anything;
  /// `step` is kDemoted then. Never written.
  bool unclear = false;

  friend bool operator==(const OwnDemotionMark&,
                         const OwnDemotionMark&) = default;
};
/// The value for the image `image_id`: the ids differ between sites, so that
/// the copy knows that the mark is not its own.
std::string FormatOwnDemotion(const OwnDemotionMark& mark,
                              const std::string& image_id);
/// nullopt: the mark is that of another image. One without an id, which older
/// versions wrote, counts everywhere.
std::optional<OwnDemotionMark> ParseOwnDemotion(const std::string& value,
                                                const std::string& image_id);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_MOVE_MARKS_H_
