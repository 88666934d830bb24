#ifndef ADDONS_REPLICATION_LOOK_LOCAL_RECORD_H_
#define ADDONS_REPLICATION_LOOK_LOCAL_RECORD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace addons {

/// What became of a demotion of this site's own.
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
  /// Not in a form that this version knows, so that it may say anything;
  /// `step` is kDemoted then. Never written.
  bool unclear = false;

  friend bool operator==(const OwnDemotionMark&,
                         const OwnDemotionMark&) = default;
};

/// A term as primary. The snapshots that show when it began are dropped.
struct TermNote {
  uint64_t snapshot = 0;  // the id of one of this term
  int64_t since = 0;      // unix seconds by this site's cluster

  friend bool operator==(const TermNote&, const TermNote&) = default;
};

/// A promotion that went back to a point.
struct RestoredPoint {
  std::string name;
  uint64_t point = 0;     // the id of its snapshot, which is gone
  uint64_t snapshot = 0;  // the id of one of that term, or of its first

  friend bool operator==(const RestoredPoint&, const RestoredPoint&) = default;
};

/// How far a pause of an image's mirror snapshot schedules is.
enum class PauseStep {
  kPausing,   // asked for: the manager may still have them
  kPaused,    // the manager has none
  kResuming,  // over: they are put back, and some may be already
};
/// The mirror snapshot schedules of the image that the manager is not to have
/// for now.
struct SchedulePause {
  PauseStep step = PauseStep::kPausing;
  int64_t since = 0;  // unix seconds by the host of the daemon
  /// As a JSON array of what Ceph's manager lists: KeptSchedules().
  std::string schedules;

  /// They are not to run: neither the manager nor a verb puts one back.
  bool holds() const { return step != PauseStep::kResuming; }
  friend bool operator==(const SchedulePause&, const SchedulePause&) = default;
};

/// All that this site notes of its image for itself: one value in the image's
/// metadata, which changes in one call.
struct LocalRecord {
  /// This site has demoted its image. As long as that is primary and has this,
  /// a promotion that takes the demotion back waits for the peers, and nobody
  /// was told that this site is primary.
  std::optional<OwnDemotionMark> demotion;
  std::optional<TermNote> term;
  /// The promotion followed the demotion of a peer, whose copy has this id.
  std::optional<uint64_t> promoted_from;
  /// The promotion went back to a point, and has ended.
  std::optional<RestoredPoint> restored;
  /// Replication was enabled, and nothing has shown a whole copy since.
  bool first_copy_awaited = false;
  /// The mirror snapshot schedule that was asked for, as JSON that the
  /// schedules of Ceph's manager have; empty: none was.
  std::string schedule;
  /// It is paused, or a pause begins or ends.
  std::optional<SchedulePause> pause;

  bool empty() const { return *this == LocalRecord(); }
  friend bool operator==(const LocalRecord&, const LocalRecord&) = default;
};

/// The leading dot keeps it on this site in snapshot mode. In journal mode all
/// metadata travels, and says nothing there, because it names this image.
inline constexpr char kLocalRecordKey[] = ".rbd-addons.record";

/// The notes of version 0.1, each under a key of its own. They are read where
/// there is no record, and removed when one is written; not before 0.3 goes
/// that.
inline constexpr char kOwnDemotionKey[] = ".rbd-addons.own-demotion";
inline constexpr char kPrimaryTermKey[] = ".rbd-addons.primary-since";
inline constexpr char kPromotedFromKey[] = ".rbd-addons.promoted-from";
inline constexpr char kFirstCopyKey[] = ".rbd-addons.first-copy-awaited";
inline constexpr char kScheduleKey[] = ".rbd-addons.schedule";
inline constexpr const char* kFormerLocalKeys[] = {
    kOwnDemotionKey, kPrimaryTermKey, kPromotedFromKey, kFirstCopyKey,
    kScheduleKey};

/// The value for the image `image_id`, mirrored under `global_id` (empty: not
/// yet, so that it counts for the enabling that follows).
std::string FormatLocalRecord(const LocalRecord& record,
                              const std::string& image_id,
                              const std::string& global_id);

/// What `metadata` holds of this image and this enabling; clones inherit
/// metadata. Of a form that this version does not know: a demotion that is
/// unclear.
LocalRecord ReadLocalRecord(const std::map<std::string, std::string>& metadata,
                            const std::string& image_id,
                            const std::string& global_id);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_LOCAL_RECORD_H_
