#ifndef ADDONS_REPLICATION_LOOK_TIMELINE_H_
#define ADDONS_REPLICATION_LOOK_TIMELINE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "ceph/mirror.h"
#include "replication/look/report.h"

namespace addons {

struct MirrorView;
struct SiteView;

/// Since when something has been seen to be so, and how often that changed.
template <typename T>
struct Held {
  T value{};
  SteadyTime since;    // the look that saw it first
  SteadyTime seen_at;  // the last look
  int changes = 0;
  bool seen = false;

  /// It is `now_value` in a look at `now`. Whether that is another value.
  bool See(const T& now_value, SteadyTime now) {
    const bool changed = seen && value != now_value;
    if (changed || !seen) {
      value = now_value;
      since = now;
    }
    if (changed) ++changes;
    seen = true;
    seen_at = now;
    return changed;
  }
};

/// What is asked of an image from one look, or call, to the next: since when
/// has it been so?
enum class Since {
  kCopied,         // the progress of the copy
  kRefused,        // the other site's note of a refused demotion
  kSilent,         // no peer's report is there
  kUnreported,     // no peer has reported in the present term
  kLeftBehind,     // a follower is awaited before the image is disabled
  kDisabling,      // what an image that is being disabled looks like
  kOpenByMirror,   // rbd-mirror of this site has the image open
  kLivingPrimary,  // a peer lives and is primary
  kError,          // rbd-mirror of this site reports an error
  kErrorReport,    // the report that says so
  kSyncAwaited,    // the mirror snapshot that a sync waits for
};
inline constexpr size_t kSinces = 11;

/// Whether a look counts: who only asks what a verb would answer changes
/// nothing of what it answers later.
enum class Counts { kNo, kYes };

/// What this process remembers of mirrored images between looks, all by
/// monotonic time: wall clocks of sites are never compared. Losing it (restart)
/// only makes waiting start anew. Thread-safe; what nobody asked for in half an
/// hour is dropped.
class Timeline {
 public:
  /// `clock` is not owned.
  explicit Timeline(Clock& clock) : clock_(clock) {}

  /// Takes what a look has seen of the image, and fills in what is known of it
  /// from the looks before: how old each report is, and what was counted.
  void Note(MirrorView* view);
  /// The same of a listing, which does not tell who is primary.
  void NoteListed(MirrorView* view);
  /// What a listing did not tell: whether the image is primary here.
  void NoteRole(bool primary, MirrorView* view);
  /// The age of the oldest of these reports of an image, as Note() finds it.
  SteadyDuration OldestAge(const std::string& key,
                           const std::vector<SiteStatus>& sites);
  /// The last report of a peer that told its role, with its age, where that was
  /// primary. It is kept when the report is removed: any rbd-mirror that starts
  /// does that to those of daemons that are down.
  std::optional<SiteView> LastClaim(const std::string& key,
                                    const std::string& mirror_uuid,
                                    const SiteStatus* local);

  /// It is `value` in this look; how that has been in the looks before.
  Held<std::string> See(const std::string& key, Since what,
                        const std::string& value, Counts counts = Counts::kYes);
  /// How long it has been `value` in all looks.
  SteadyDuration HeldFor(const std::string& key, Since what,
                         const std::string& value);
  /// How long ago it was seen last; nullopt: never, or it was forgotten.
  std::optional<SteadyDuration> SinceSeen(const std::string& key, Since what);
  /// It is not so: the next look that sees it begins anew.
  void Forget(const std::string& key, Since what);

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
  void KeepNumbers(const std::string& key, const SiteView& site,
                   const SyncNumbers& numbers);
  void ForgetNumbers(const std::string& key, const std::string& mirror_uuid);
  std::optional<LastGood> LastNumbers(const std::string& key,
                                      const std::string& mirror_uuid);

 private:
  struct Numbers {
    SyncNumbers numbers;
    SteadyTime at;
    int64_t reported = 0;
  };
  /// One site's report.
  struct Report {
    Held<int64_t> stamp;
    std::optional<int64_t> before;            // the stamp before
    std::optional<SteadyTime> written_after;  // a look with an older one
    int rewrites = 0;                 // since the image was seen in its role
    bool went_on = false;             // likewise: SiteView::went_on
    std::optional<SiteStatus> claim;  // LastClaim()
    std::optional<Numbers> numbers;
  };
  struct Image {
    SteadyTime used_at;
    Held<bool> primary;
    std::optional<int64_t> term;            // MirrorView::PrimarySince()
    std::map<std::string, Report> reports;  // by mirror uuid
    std::array<Held<std::string>, kSinces> held;

    Held<std::string>& Of(Since what) {
      return held.at(static_cast<size_t>(what));
    }
  };

  Image& Touch(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// At least so long has `entry` not been rewritten. `local` is the local
  /// site's entry, stamped by the same cluster, if there is one.
  SteadyDuration AgeOf(Image& image, const SiteStatus& entry,
                       const SiteStatus* local) const;
  void NoteReports(Image& image, MirrorView* view) const;
  void NoteRole(Image& image, bool primary, MirrorView* view) const;

  Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Image> images_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, SteadyTime> disturbed_ ABSL_GUARDED_BY(mutex_);
  SteadyTime swept_at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_TIMELINE_H_
