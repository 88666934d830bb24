#ifndef ADDONS_WATCH_POOL_LOOK_H_
#define ADDONS_WATCH_POOL_LOOK_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "ceph/cluster.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "operation/operation_context.h"
#include "replication/look/known_proofs.h"
#include "replication/look/mirror_view.h"
#include "replication/look/timeline.h"
#include "replication/look/watched.h"
#include "replication/steps/mirror_schedule.h"
#include "watch/entry_looks.h"
#include "watch/group_looks.h"
#include "watch/pause_looks.h"
#include "watch/watch_snapshot.h"

namespace addons {

/// Looks of the background watch at one pool and namespace, and what one of
/// them remembers for the next. Opens no image: one listing of the statuses,
/// one of what comparisons have found, one question about schedules to the
/// manager, one about peers, and
///  - where the reports leave the role of an image open, a question about that
///    image, of kMostAsked images in one look;
///  - where a primary has no schedule, PauseLooks;
///  - of a secondary, and of an image that no call has named, what travels with
///    it (names, schedule): its header is read at the first look, and of
///    kMostAsked in a look again, each at most every kToldAgain;
///  - GroupLooks, and EntryLooks of secondaries;
///  - where an image's name is not known, a listing of the pool's images, at
///    most every kNamesAgain.
/// For one thread at a time.
class PoolLook {
 public:
  static constexpr size_t kMostAsked = 200;
  static constexpr std::chrono::minutes kNamesAgain{10};
  static constexpr std::chrono::minutes kToldAgain{10};
  static constexpr size_t kMostImages = WatchedPools::kMostImages;

  using NameOf =
      std::function<std::optional<WatchedPools::Named>(const std::string&)>;

  /// `clock` is not owned.
  explicit PoolLook(Clock& clock) : clock_(clock), timeline_(clock) {}

  /// Fills in what is seen of `pool`, whose cluster is `cluster`; `name_of` are
  /// the names that calls have told, by image id. On an error `seen` is as it
  /// was. Blocks; CANCELLED when nobody waits any more. Without the manager
  /// only the schedules are missing, and seen->schedules_unseen says so.
  /// `seen` names its cluster, as groups' ids have it; `instance_id` as
  /// GroupLooks; empty: they are not looked at.
  absl::Status Look(OperationContext& context, Cluster& cluster, Pool& pool,
                    SteadyDuration settle, const NameOf& name_of,
                    const std::string& instance_id, WatchedPool* seen);

  /// The last look has found what rbd-mirror told before a call has seen it
  /// change, lately: another look is to come before the round is over.
  bool awaits_reports() const { return awaits_reports_; }

  /// When the question about schedules was put that the manager has answered
  /// last; nullopt: none was. For the thread that looks.
  const std::optional<SteadyTime>& manager_answered() const {
    return manager_answered_;
  }

 private:
  /// What the image itself tells, wherever that was written.
  struct Told {
    std::string volume_name;
    std::string claim;
    std::optional<SnapshotSchedule> schedule;
  };
  struct Remembered {
    std::string image;  // its name; empty: not known
    std::optional<MirrorImageInfo> info;
    SteadyTime asked_at;  // for info
    Told told;
    std::optional<SteadyTime> told_at;
  };

  void ReadNames(Pool& pool, const std::vector<ImageStatuses>& listed,
                 const NameOf& name_of);
  void AskRoles(OperationContext& context, Pool& pool,
                const std::vector<MirrorView>& views);
  void ReadTold(OperationContext& context, Pool& pool,
                const std::vector<MirrorView>& views, SteadyDuration settle,
                const NameOf& name_of);
  /// What the image is called, and what calls have found of it.
  static void NameImage(const std::string& image_id, const Remembered& known,
                        const NameOf& name_of, WatchedImage* image);
  struct Turned {
    RoleTurn turn;
    bool awaits_report = false;
  };
  /// By image id. Leaves out of `views` and forgets what is older than the
  /// turn.
  std::map<std::string, Turned> TakeTurns(const NameOf& name_of,
                                          std::vector<MirrorView>* views);
  void ReadSchedules(Cluster& cluster, Pool& pool, WatchedPool* seen);
  void LookForPauses(OperationContext& context, Pool& pool,
                     SteadyDuration settle, std::vector<MirrorView>* views);

  void LookForEntries(OperationContext& context, Pool& pool,
                      const std::string& instance_id, WatchedPool* seen);

  Clock& clock_;
  Timeline timeline_;
  std::map<std::string, Remembered> images_;  // by id
  std::optional<SteadyTime> names_read_at_;
  std::string asked_last_;
  std::optional<PoolSchedules> schedules_;
  PauseLooks pauses_;
  GroupLooks groups_;
  EntryLooks entries_;
  std::map<std::string, KnownProof> proofs_;  // by image id
  std::optional<SteadyTime> manager_answered_;
  bool awaits_reports_ = false;
};

}  // namespace addons

#endif  // ADDONS_WATCH_POOL_LOOK_H_
