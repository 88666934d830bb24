// The process that holds the locks: RunSnapshotChild().

#include <unistd.h>

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bounded_threads.h"
#include "base/clock.h"
#include "base/run_bounded.h"
#include "base/secret.h"
#include "base/status_macros.h"
#include "ceph/librados/rados_cluster.h"
#include "ceph/librados/snapshot_order.h"
#include "ceph/pool.h"

namespace addons {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kOrderPatience = seconds(10);
constexpr milliseconds kOpenPatience = seconds(25);
/// Longer than the daemon waits (SnapshotChildOptions), which kills it then.
constexpr milliseconds kSnapshotPatience = seconds(10);
constexpr milliseconds kEndPatience = seconds(5);
/// With locks, when the daemon is dead.
constexpr unsigned kMostSeconds = 15;

struct Member {
  PlacedImage place;
  std::unique_ptr<Pool> pool;
  std::unique_ptr<Image> image;
};

/// Never destroyed: what hangs would keep it from that, and the process from
/// its end.
class Together {
 public:
  Together(std::shared_ptr<Cluster> cluster, SnapshotOrder order)
      : cluster_(std::move(cluster)),
        order_(std::move(order)),
        threads_(*new BoundedThreads("together")) {
    for (const PlacedImage& image : order_.images) {
      auto member = std::make_shared<Member>();
      member->place = image;
      members_.push_back(std::move(member));
    }
  }

  /// So that the addresses of its client are known.
  absl::Status Connect() {
    const PlacedImage& first = order_.images.front();
    return cluster_
        ->OpenPool(first.pool_id, first.rados_namespace, Access::kMutate)
        .status();
  }
  absl::Status Open() {
    return ForEach(members_, kOpenPatience, "could not be opened",
                   [cluster = cluster_](Member& member) {
                     return OpenMember(*cluster, member);
                   });
  }

  /// Gives back what it has, whatever happens.
  absl::Status Snapshot() {
    absl::Status made =
        ForEach(members_, order_.lock_patience,
                "is kept by a writer that does not give its lock",
                [mode = order_.lock](Member& member) {
                  return member.image->AcquireLock(mode);
                });
    if (made.ok()) {
      made = ForEach(members_, kSnapshotPatience, "got no snapshot",
                     [name = order_.snapshot](Member& member) {
                       return member.image->CreateSnapshot(name);
                     });
    }
    // A lock that somebody has broken meanwhile let its writers go on.
    if (made.ok()) {
      made = ForEach(members_, kEndPatience, "does not tell its lock",
                     [](Member& member) { return StillLocked(member); });
    }
    const absl::Status released =
        ForEach(Free(), kEndPatience, "keeps its lock",
                [](Member& member) { return member.image->ReleaseLock(); });
    return made.ok() ? released : made;
  }
  /// A step of a member has not ended.
  bool hangs() const { return !stuck_.empty(); }
  /// All that was opened: whether nothing hangs, which may get its lock yet.
  bool Close() {
    const absl::Status closed = ForEach(
        Free(), kEndPatience, "could not be closed", [](Member& member) {
          return member.image == nullptr ? absl::OkStatus()
                                         : member.image->Close();
        });
    return closed.ok() && !hangs();
  }

 private:
  using Members = std::vector<std::shared_ptr<Member>>;

  static absl::Status OpenMember(Cluster& cluster, Member& member) {
    ADDONS_ASSIGN_OR_RETURN(
        member.pool,
        cluster.OpenPool(member.place.pool_id, member.place.rados_namespace,
                         Access::kMutate));
    ADDONS_ASSIGN_OR_RETURN(member.image,
                            member.pool->OpenImage(member.place.name));
    ADDONS_ASSIGN_OR_RETURN(const std::string id, member.image->Id());
    ADDONS_ASSIGN_OR_RETURN(const ImageFeatures features,
                            member.image->Features());
    const std::string spec = member.pool->Spec(member.place.name);
    if (id != member.place.id) {
      return absl::UnavailableError(absl::StrCat(
          "image '", spec, "' is another one than before; repeat the call"));
    }
    if (features.exclusive_lock) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("image '", spec, "' has no exclusive lock"));
  }

  static absl::Status StillLocked(Member& member) {
    ADDONS_ASSIGN_OR_RETURN(const bool holds, member.image->HoldsLock());
    if (holds) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("image '", member.pool->Spec(member.place.name),
                     "' lost its lock before all snapshots were made"));
  }

  /// Those of which no step hangs.
  Members Free() const {
    Members free;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!stuck_.contains(members_[i].get())) free.push_back(members_[i]);
    }
    return free;
  }

  absl::Status ForEach(const Members& members, milliseconds patience,
                       absl::string_view late,
                       const std::function<absl::Status(Member&)>& step) {
    std::vector<std::function<absl::Status()>> jobs;
    jobs.reserve(members.size());
    for (const std::shared_ptr<Member>& member : members) {
      jobs.emplace_back([member, step] { return step(*member); });
    }
    const auto results =
        RunBounded(threads_, "image", std::move(jobs), patience);
    absl::Status first;
    for (size_t i = 0; i < members.size(); ++i) {
      if (results[i].has_value()) {
        first.Update(*results[i]);
      } else {
        stuck_.insert(members[i].get());
        first.Update(absl::UnavailableError(
            absl::StrCat("image '", members[i]->place.name.text(), "' ", late,
                         " for ", WholeMilliseconds(patience), " ms")));
      }
    }
    return first;
  }

  const std::shared_ptr<Cluster> cluster_;
  const SnapshotOrder order_;
  BoundedThreads& threads_;  // its destructor would wait for what hangs
  Members members_;
  std::set<const Member*> stuck_;
};

SnapshotReport Ended(absl::Status status, bool clean) {
  SnapshotReport report;
  report.status = std::move(status);
  report.clean = clean;
  return report;
}

/// How it ended; says the stages before on `output`.
SnapshotReport Run(const SnapshotOrder& order, int output) {
  const ClientEnvironment environment = {
      std::make_shared<CallGate>(RealClock()), std::make_shared<HostResolver>(),
      std::make_shared<AbandonableCalls>(), order.timeouts};
  const auto cluster =
      RadosCluster::Connect(environment, order.target, order.user);
  if (!cluster.ok()) return Ended(cluster.status(), true);
  Together& together = *new Together(*cluster, order);
  if (absl::Status connected = together.Connect(); !connected.ok()) {
    return Ended(std::move(connected), true);
  }
  SnapshotReport stage;
  stage.stage = SnapshotReport::Stage::kConnected;
  stage.client = absl::StrJoin((*cluster)->OwnAddresses(), ",");
  WriteLine(output, ReportText(stage));
  absl::Status made = together.Open();
  if (made.ok()) {
    stage.stage = SnapshotReport::Stage::kLocking;
    // Nobody may have to wait for longer, also when the daemon is dead.
    alarm(kMostSeconds);
    WriteLine(output, ReportText(stage));
    made = together.Snapshot();
    stage.stage = SnapshotReport::Stage::kReleased;
    if (!together.hangs()) WriteLine(output, ReportText(stage));
  }
  const bool clean = together.Close();
  return Ended(std::move(made), clean);
}

}  // namespace

int RunSnapshotChild(int input, int output) {
  // It ends soon by itself, and its writers wait for less time then.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) {
    std::signal(signal, SIG_IGN);
  }
  LineReader reader(input);
  std::optional<std::string> text =
      reader.Next(RealClock().Now() + kOrderPatience);
  if (!text.has_value()) return 1;
  const std::optional<SnapshotOrder> order = ParseOrder(*text);
  WipeString(*text);
  if (!order.has_value()) return 1;
  WriteLine(output, ReportText(Run(*order, output)));
  _exit(0);
}

}  // namespace addons
