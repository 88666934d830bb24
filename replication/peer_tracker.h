#ifndef ADDONS_REPLICATION_PEER_TRACKER_H_
#define ADDONS_REPLICATION_PEER_TRACKER_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "ceph/mirror.h"
#include "replication/site_report.h"

namespace addons {

/// What this process remembers of mirrored images between looks: since when an
/// entry has not changed, since when nothing was copied, since when a peer has
/// been primary, and the last good numbers. All by monotonic time: wall clocks
/// of sites are never compared. Losing it (restart) only makes waiting start
/// anew. Thread-safe; entries that nobody asked for in half an hour are
/// dropped.
class PeerTracker {
 public:
  /// `clock` is not owned.
  explicit PeerTracker(Clock& clock) : clock_(clock) {}

  /// At least so long has `entry` of the image `key` not been rewritten.
  /// `local` is the local site's entry, stamped by the same cluster, if there
  /// is one.
  SteadyDuration Age(const std::string& key, const SiteStatus& entry,
                     const SiteStatus* local);

  /// How long `progress` (any text that changes when something is copied) has
  /// been the same.
  SteadyDuration QuietFor(const std::string& key, const std::string& progress);

  /// For how long `evidence` (what the peer and the newest snapshot look like)
  /// has been the same while this was asked at least once a minute. The first
  /// call starts the clock.
  SteadyDuration PeerPrimaryFor(const std::string& key,
                                const std::string& evidence);
  /// After any mutating verb, and when the peer is not primary any more.
  void ForgetPeerPrimary(const std::string& key);

  /// A writable open of ours got rbd-mirror of this cluster blocklisted:
  /// reports that stop within the next two minutes are no sign of a dead peer.
  void NoteDisturbance(const std::string& fsid);
  bool Disturbed(const std::string& fsid);

  /// Last good numbers of one site's entry, with the time since they were read.
  struct LastGood {
    SyncNumbers numbers;
    SteadyDuration age{0};
  };
  void KeepNumbers(const std::string& key, const std::string& mirror_uuid,
                   const SyncNumbers& numbers);
  std::optional<LastGood> LastNumbers(const std::string& key,
                                      const std::string& mirror_uuid);

 private:
  struct Seen {
    int64_t last_update = 0;
    SteadyTime changed_at;
  };
  struct Numbers {
    SyncNumbers numbers;
    SteadyTime at;
  };
  struct Image {
    SteadyTime used_at;
    std::map<std::string, Seen> entries;  // by mirror uuid
    std::string progress;
    SteadyTime progress_at;
    bool progress_seen = false;
    std::string evidence;
    SteadyTime evidence_since;
    SteadyTime evidence_asked;
    bool evidence_seen = false;
    std::map<std::string, Numbers> numbers;
  };

  Image& Touch(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Image> images_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, SteadyTime> disturbed_ ABSL_GUARDED_BY(mutex_);
  SteadyTime swept_at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_PEER_TRACKER_H_
