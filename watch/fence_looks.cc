#include "watch/fence_looks.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "ceph/blocklist_commands.h"
#include "ceph/errors.h"
#include "ceph/retry_when_blocklisted.h"
#include "watch/watch_connection.h"

namespace addons {
namespace {

bool EndsFirst(const WatchedFence& a, const WatchedFence& b) {
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  return std::make_tuple(a.until.value_or(kLast), a.range) <
         std::make_tuple(b.until.value_or(kLast), b.range);
}

void Fill(const Blocklist& list, WatchedFences* seen) {
  seen->clients = 0;
  seen->fences.clear();
  for (const BlocklistEntry& entry : list.entries) {
    if (entry.kind == BlocklistEntry::Kind::kClient) {
      ++seen->clients;
      continue;
    }
    WatchedFence fence;
    fence.range = entry.Range().Text();
    if (entry.until.has_value())
      fence.until = absl::ToUnixSeconds(*entry.until);
    seen->fences.push_back(std::move(fence));
  }
  // The same range may be there in two spellings; the one that ends last
  // counts.
  std::sort(seen->fences.begin(), seen->fences.end(), EndsFirst);
  std::set<std::string> ranges;
  std::vector<WatchedFence> last;
  for (auto fence = seen->fences.rbegin(); fence != seen->fences.rend();
       ++fence) {
    if (ranges.insert(fence->range).second) last.push_back(std::move(*fence));
  }
  seen->fences.assign(std::make_move_iterator(last.rbegin()),
                      std::make_move_iterator(last.rend()));
  seen->total = seen->fences.size();
  if (seen->fences.size() > WatchedFences::kMost) {
    seen->fences.resize(WatchedFences::kMost);
  }
}

/// Whether no monitor has said anything, neither to the connection nor to the
/// command: other errors are answers.
bool IsSilence(const absl::Status& looked) {
  return CephErrno(looked) == ETIMEDOUT;
}

}  // namespace

std::set<std::string> FenceLooks::Watch(
    const std::map<std::string, CephUserRef>& others) {
  const std::map<std::string, CephUserRef> asked = watched_.FenceUsers();
  const MutexLock lock(mutex_);
  std::set<std::string> due;
  std::erase_if(entries_, [&](const auto& entry) {
    return !asked.contains(entry.first) && !others.contains(entry.first);
  });
  const auto watch = [&due](const std::string& id, const CephUserRef& user,
                            bool of_fences, Entry& entry) {
    if (entry.seen.cluster_id.empty()) {
      entry.seen.cluster_id = id;
      entry.seen.unseen = "it has not been looked at yet";
    }
    entry.user = user;
    entry.of_fences = of_fences;
    if (user != nullptr) due.insert(id);
  };
  for (const auto& [id, user] : others) watch(id, user, false, entries_[id]);
  for (const auto& [id, user] : asked) {
    // One that was refused gives way to one that is not.
    if (user != nullptr || !others.contains(id)) {
      watch(id, user, true, entries_[id]);
    }
  }
  return due;
}

absl::Status FenceLooks::Read(const std::string& cluster_id,
                              const CephUserRef& user, WatchedFences* seen) {
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<Cluster> cluster,
                          ConnectToWatch(config_, clusters_, cluster_id, user));
  ADDONS_ASSIGN_OR_RETURN(const Blocklist list, ReadBlocklist(*cluster));
  Fill(list, seen);
  return absl::OkStatus();
}

void FenceLooks::Look(const std::string& cluster_id) {
  CephUserRef user;
  WatchedFences seen;
  bool of_fences = false;
  {
    const MutexLock lock(mutex_);
    const auto found = entries_.find(cluster_id);
    if (found == entries_.end() || found->second.user == nullptr) return;
    user = found->second.user;
    of_fences = found->second.of_fences;
    seen = found->second.seen;
  }
  const SteadyTime asked_at = clock_.Now();
  const absl::Status looked =
      RetryWhenBlocklisted([&] { return Read(cluster_id, user, &seen); });
  if (of_fences && RefusesUser(looked)) {
    watched_.RefuseFences(cluster_id, user);
  }
  const MutexLock lock(mutex_);
  const auto found = entries_.find(cluster_id);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  std::optional<SteadyTime>& silent_since = entry.seen.silent_since;
  if (!IsSilence(looked)) {
    silent_since.reset();
  } else if (!silent_since.has_value()) {
    // The look before this one was answered, if there was one.
    silent_since = entry.tried_at.value_or(asked_at);
  }
  entry.tried_at = clock_.Now();
  if (looked.ok()) {
    seen.seen_at = entry.tried_at;
    seen.silent_since.reset();
    seen.unseen.clear();
    entry.seen = std::move(seen);
  } else {
    entry.seen.unseen = std::string(looked.message());
  }
}

void FenceLooks::Missed(const std::string& cluster_id, SteadyTime began,
                        const absl::Status& status) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(cluster_id);
  if (found == entries_.end() || found->second.tried_at >= began) return;
  found->second.seen.unseen =
      absl::StrCat("the look has not come to an end: ", status.message());
}

std::vector<WatchedFences> FenceLooks::Seen() const {
  const MutexLock lock(mutex_);
  std::vector<WatchedFences> seen;
  for (const auto& [id, entry] : entries_) seen.push_back(entry.seen);
  return seen;
}

}  // namespace addons
