#ifndef ADDONS_REPLICATION_LOOK_PEER_TRACKER_H_
#define ADDONS_REPLICATION_LOOK_PEER_TRACKER_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "ceph/mirror.h"
#include "replication/look/report.h"

namespace addons {

/// What this process remembers of mirrored images between looks: since when an
/// entry has not changed, since when nothing was copied, since when the other
/// site's note is known, since when it is primary, and the last good numbers.
/// All by monotonic time: wall clocks of sites are never compared. Losing it
/// (restart) only makes waiting start anew. Thread-safe; entries that nobody
/// asked for in half an hour are dropped.
class PeerTracker {
 public:
  /// `clock` is not owned.
  explicit PeerTracker(Clock& clock) : clock_(clock) {}

  /// At least so long has `entry` of the image `key` not been rewritten.
  /// `local` is the local site's entry, stamped by the same cluster, if there
  /// is one.
  SteadyDuration Age(const std::string& key, const SiteStatus& entry,
                     const SiteStatus* local);

  /// Whether the entry was rewritten within `time`: since a look of this
  /// process that still showed an older one. Age() counts from when it was
  /// noticed only.
  bool RewrittenWithin(const std::string& key, const std::string& mirror_uuid,
                       SteadyDuration time);

  /// The stamp of the report before the present one, of which Age() was asked
  /// in this look; nullopt: this process has seen none. rbd-mirror ran then, so
  /// what it says now is no older than a minute before that: one that stood
  /// still writes what it knew once more before it looks again.
  std::optional<int64_t> ReportedBefore(const std::string& key,
                                        const std::string& mirror_uuid);

  /// What the peer's report of this look says: whether it is primary, or
  /// nothing of its role (nullopt), which changes nothing.
  void NoteClaim(const std::string& key, const SiteStatus& entry,
                 std::optional<bool> primary);
  /// The peer's last report that told its role, where that was primary. It is
  /// kept when its entry is removed: any rbd-mirror that starts does that to
  /// those of daemons that are down.
  std::optional<SiteStatus> LastClaim(const std::string& key,
                                      const std::string& mirror_uuid);

  /// How long no peer's report has been there, in all looks since the first
  /// such one; `silent`: it is so in this look.
  SteadyDuration SilentFor(const std::string& key, bool silent);

  /// How long `progress` (any text that changes when something is copied) has
  /// been the same.
  SteadyDuration QuietFor(const std::string& key, const std::string& progress);

  /// An image's role as a look has just seen it, before the Age() of that look.
  void NoteRole(const std::string& key, bool primary);
  /// How long ago this process saw the image turn primary; nullopt: it is not
  /// primary, or was so when this process looked first.
  std::optional<SteadyDuration> PrimaryFor(const std::string& key);
  /// How often the entry, of which Age() was asked in this look, was seen to be
  /// rewritten since this process saw the image turn primary; nullopt as above.
  std::optional<int> RewrittenSinceTurn(const std::string& key,
                                        const std::string& mirror_uuid);

  /// How long `peer` has said that it is primary while the image here was
  /// primary, in all looks since the first such one: from the stamp of its
  /// report then to that of its last one. `both`: it is so in this look.
  std::chrono::seconds BothPrimaryFor(const std::string& key,
                                      const SiteStatus& peer, bool both);

  /// How long ago `mark`, a note that the other site left in the image's
  /// metadata, was seen here for the first time.
  SteadyDuration MarkAge(const std::string& key, const std::string& mark);

  /// A writable open of ours got rbd-mirror of this cluster blocklisted:
  /// reports that stop within the next two minutes are no sign of a dead peer.
  void NoteDisturbance(const std::string& fsid);
  bool Disturbed(const std::string& fsid);

  /// Last good numbers of one site's entry, with the time since they were read
  /// and the stamp of the report that they are from.
  struct LastGood {
    SyncNumbers numbers;
    SteadyDuration age{0};
    int64_t reported = 0;
  };
  void KeepNumbers(const std::string& key, const SiteStatus& entry,
                   const SyncNumbers& numbers);
  std::optional<LastGood> LastNumbers(const std::string& key,
                                      const std::string& mirror_uuid);

 private:
  struct Seen {
    int64_t last_update = 0;
    std::optional<int64_t> before;  // ReportedBefore()
    SteadyTime changed_at;
    SteadyTime looked_at;
    std::optional<SteadyTime> written_after;  // a look with an older one
    int rewrites = 0;                         // since the image turned primary
    std::optional<SiteStatus> claim;          // LastClaim()
  };
  struct Numbers {
    SyncNumbers numbers;
    SteadyTime at;
    int64_t reported = 0;
  };
  struct Image {
    SteadyTime used_at;
    std::map<std::string, Seen> entries;  // by mirror uuid
    std::optional<bool> primary;
    std::optional<SteadyTime> turned_primary_at;
    std::map<std::string, int64_t> both_primary;  // first stamp, by mirror uuid
    std::optional<SteadyTime> silent_since;
    std::string progress;
    SteadyTime progress_at;
    bool progress_seen = false;
    std::string mark;
    SteadyTime mark_at;
    std::map<std::string, Numbers> numbers;
  };

  /// An empty one, where the entry was never seen.
  static const Seen& SeenOf(const Image& image, const std::string& mirror_uuid);
  Image& Touch(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Image> images_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, SteadyTime> disturbed_ ABSL_GUARDED_BY(mutex_);
  SteadyTime swept_at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_PEER_TRACKER_H_
