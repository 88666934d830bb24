#include "watch/own_watch.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/retry_when_blocklisted.h"
#include "volume/home_clusters.h"
#include "volume/mirrored_pools.h"
#include "volume/user_file.h"

namespace addons {
namespace {

bool Same(const CephUserRef& a, const CephUserRef& b) {
  return a != nullptr && b != nullptr && a->id == b->id &&
         a->key.Fingerprint() == b->key.Fingerprint();
}

}  // namespace

OwnWatch::OwnWatch(ReplicationEnvironment& environment,
                   ClusterProvider& clusters, Sources sources,
                   std::function<void()> found,
                   std::chrono::milliseconds interval)
    : environment_(environment),
      clusters_(clusters),
      sources_(std::move(sources)),
      found_(std::move(found)) {
  environment_.watched.SetOwnTrouble(
      "it has not looked yet; ask again in half a minute");
  if (interval.count() > 0) {
    rounds_.emplace("own-watch", interval, [this] { Round(); });
  }
}

void OwnWatch::Round() {
  const SteadyTime now = environment_.clock.Now();
  if (due_at_.has_value() && now < *due_at_) return;
  const absl::Status searched = Search();
  due_at_ = environment_.clock.Now();
  *due_at_ += searched.ok() ? SteadyDuration(kAgain) : SteadyDuration(kRetry);
  std::string told(searched.message());
  if (searched.ok() && environment_.watched.All().empty()) {
    told = "it sees no pool that is mirrored";
  }
  environment_.watched.SetOwnTrouble(told);
  if (told != std::exchange(told_, told) && !told.empty()) {
    Log().warn(
        "not all that is mirrored is watched with the user of "
        "--watch-user: {}",
        told);
  }
}

absl::Status OwnWatch::Search() {
  ADDONS_ASSIGN_OR_RETURN(CephUserRef user, ReadUserFile(sources_.user_file));
  // One that is the same keeps its connections.
  if (!Same(user_, user)) user_ = std::move(user);
  ADDONS_ASSIGN_OR_RETURN(const auto config, environment_.config.Current());
  std::vector<const ClusterEntry*> entries;
  for (const ClusterEntry& entry : config->entries()) {
    if (IsHome(sources_.home, entry.cluster_id)) entries.push_back(&entry);
  }
  ADDONS_ASSIGN_OR_RETURN(const MirroredPools found, RetryWhenBlocklisted([&] {
                            return FindMirroredPools(clusters_, entries, user_);
                          }));
  if (environment_.watched.SetOwn(found.places, user_, !found.may_pass) &&
      found_) {
    found_();
  }
  // A pool that its capabilities leave out is none of its own.
  if (!found.may_pass) return absl::OkStatus();
  return absl::UnavailableError(absl::StrJoin(found.unseen, "; "));
}

}  // namespace addons
