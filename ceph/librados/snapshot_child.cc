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

/// Its members outlive a step of theirs that hangs, because the process ends
/// without destructors.
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
    const absl::Status released =
        ForEach(Free(), kEndPatience, "keeps its lock",
                [](Member& member) { return member.image->ReleaseLock(); });
    // The daemon sees to it: what hangs may get its lock yet.
    if (!released.ok() || Free().size() < members_.size()) hangs_ = true;
    return made.ok() ? released : made;
  }
  void Close() {
    ForEach(Free(), kEndPatience, "could not be closed", [](Member& member) {
      return member.image->Close();
    }).IgnoreError();
  }
  bool hangs() const { return hangs_; }

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
  bool hangs_ = false;
};

absl::Status Run(const SnapshotOrder& order, int output) {
  const ClientEnvironment environment = {
      std::make_shared<CallGate>(RealClock()), std::make_shared<HostResolver>(),
      std::make_shared<AbandonableCalls>(), order.timeouts};
  ADDONS_ASSIGN_OR_RETURN(
      const std::shared_ptr<Cluster> cluster,
      RadosCluster::Connect(environment, order.target, order.user));
  Together together(cluster, order);
  ADDONS_RETURN_IF_ERROR(together.Open());
  SnapshotReport report;
  report.stage = SnapshotReport::Stage::kOpened;
  report.client = absl::StrJoin(cluster->OwnAddresses(), ",");
  WriteLine(output, ReportText(report));
  report.stage = SnapshotReport::Stage::kLocking;
  // Nobody may have to wait for longer, also when the daemon is dead.
  alarm(kMostSeconds);
  WriteLine(output, ReportText(report));
  absl::Status made = together.Snapshot();
  if (!together.hangs()) {
    report.stage = SnapshotReport::Stage::kReleased;
    WriteLine(output, ReportText(report));
    together.Close();
  }
  return made;
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
  SnapshotReport ended;
  ended.status = Run(*order, output);
  WriteLine(output, ReportText(ended));
  // No destructor: a step that hangs would keep it from ending.
  _exit(0);
}

}  // namespace addons
