#include "server/page/troubles.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/shell_command.h"
#include "ceph/retry_when_blocklisted.h"
#include "server/page/documents.h"
#include "server/page/html.h"
#include "server/page/view.h"
#include "watch/copy_state.h"
#include "watch/watched_names.h"

namespace addons {
namespace {

/// About what the daemon was told, and what it does not do because of that.
constexpr char kConfigurationDocument[] = "docs/runbooks/configuration.md";

/// One that hangs keeps many others: the first ones say enough.
constexpr size_t kMostStuckNamed = 10;
/// Likewise of places and monitors.
constexpr size_t kMostNamed = 3;

std::string CountOf(size_t count, absl::string_view one) {
  return absl::StrCat(count, " ", one, count == 1 ? "" : "s");
}

/// "a, b, c and 5 more pools".
std::string Listed(const std::vector<std::string>& names,
                   absl::string_view what) {
  const size_t shown = std::min(names.size(), kMostNamed);
  std::string text = absl::StrJoin(
      names.begin(), names.begin() + static_cast<int>(shown), ", ");
  if (names.size() > shown) {
    absl::StrAppend(&text, " and ", CountOf(names.size() - shown, what),
                    " more");
  }
  return text;
}

/// What is wrong in pools, one after the other; the same in several is one.
class PoolTroubles {
 public:
  explicit PoolTroubles(const StatusPage& page) : page_(page) {}

  void Add(const WatchedPool& pool);
  /// Those of which Add() was told, the worst first.
  void AppendTo(std::vector<Trouble>* troubles) const;

 private:
  /// How a kind of trouble is told. The order is that of the page.
  enum Kind : size_t {
    kBlocklisted,
    kUnseen,
    kPeerMirror,
    kLocalMirror,
    kSplitBrain,
    kRescue,
    kRollback,
    kDamaged,
    kClone,
    kBroken,
    kNotLooked,
    kLate,
    kMissed,
    kUnknown,
    kSchedules,
    kKinds
  };
  struct Found {
    std::vector<std::string> places;
    size_t volumes = 0;
    std::string command;       // of the first one
    std::string words;         // likewise, where they are not the same for all
    int64_t seconds = 0;       // of the one that has waited longest
    size_t late = 0;           // of the volumes
    bool copies_here = false;  // a volume is secondary here
  };

  /// By kind; and by what is said, where that may differ.
  using Key = std::pair<Kind, std::string>;

  Found& Note(Kind kind, const WatchedPool& pool, size_t volumes,
              const std::string& words = "");
  /// Of `count` volumes of the pool, of which `is` says which they are.
  void NoteVolumes(Kind kind, const WatchedPool& pool, size_t count,
                   absl::string_view verb,
                   const std::function<bool(const WatchedImage&)>& is);
  void NoteSeen(const WatchedPool& pool);
  void NoteBroken(const WatchedPool& pool);
  static Trouble Told(Kind kind, const Found& found);
  void NoteBlocklisted(const WatchedPool& pool);
  static std::string LateText(const Found& found);

  const StatusPage& page_;
  std::map<Key, Found> found_;
};

PoolTroubles::Found& PoolTroubles::Note(Kind kind, const WatchedPool& pool,
                                        size_t volumes,
                                        const std::string& words) {
  Found& found = found_[{kind, words}];
  found.places.push_back(PlaceOf(pool));
  found.volumes += volumes;
  found.words = words;
  return found;
}

void PoolTroubles::NoteVolumes(
    Kind kind, const WatchedPool& pool, size_t count, absl::string_view verb,
    const std::function<bool(const WatchedImage&)>& is) {
  if (count == 0) return;
  Found& found = Note(kind, pool, count);
  if (!found.command.empty()) return;
  const auto one = std::find_if(pool.images.begin(), pool.images.end(), is);
  if (one == pool.images.end()) return;
  found.command =
      absl::StrCat("rbd-addons ", verb, " ", ArgumentFor(pool, *one));
}

void PoolTroubles::NoteBroken(const WatchedPool& pool) {
  const auto broken = [&pool](BrokenCopy reason) {
    return pool.broken.at(static_cast<size_t>(reason));
  };
  const auto is = [](BrokenCopy reason) {
    return [reason](const WatchedImage& image) { return image.Is(reason); };
  };
  NoteVolumes(kSplitBrain, pool, broken(BrokenCopy::kSplitBrain), "explain",
              is(BrokenCopy::kSplitBrain));
  NoteVolumes(kRescue, pool, broken(BrokenCopy::kRescue), "rescue",
              is(BrokenCopy::kRescue));
  NoteVolumes(kRollback, pool, broken(BrokenCopy::kRollback), "explain",
              is(BrokenCopy::kRollback));
  NoteVolumes(kDamaged, pool, broken(BrokenCopy::kDamaged), "explain",
              is(BrokenCopy::kDamaged));
  if (const size_t count = broken(BrokenCopy::kClone); count > 0) {
    Note(kClone, pool, count).command =
        absl::StrCat("rbd-addons audit clones --pool ", ShellWord(pool.pool));
  }
  // Those that none of the above is about.
  const auto otherwise = [](const WatchedImage& image) {
    return image.copy == CopyState::kBroken && !image.split_brain &&
           !image.lacks_parent && !image.awaits_restore && !image.rolls_back &&
           !image.Is(BrokenCopy::kDamaged);
  };
  NoteVolumes(kBroken, pool,
              static_cast<size_t>(std::count_if(pool.images.begin(),
                                                pool.images.end(), otherwise)),
              "explain", otherwise);
}

/// Of a pool that can be seen.
void PoolTroubles::NoteSeen(const WatchedPool& pool) {
  const std::string pool_word = ShellWord(pool.pool);
  const bool within = !pool.rados_namespace.empty();
  const std::string pool_spec = ShellWord(
      absl::StrCat(pool.pool, within ? "/" : "", pool.rados_namespace));
  const auto count = [&pool](CopyState state) {
    return pool.by_copy.at(static_cast<size_t>(state));
  };
  const auto is = [](CopyState state) {
    return [state](const WatchedImage& image) { return image.copy == state; };
  };
  if (pool.local_mirror_up == false) {
    Found& found = Note(kLocalMirror, pool, pool.total);
    found.command =
        absl::StrCat("rbd mirror pool status --verbose ", pool_spec);
    found.late += count(CopyState::kLate);
  }
  if (pool.peer_mirror_up == false) {
    Found& found =
        Note(kPeerMirror, pool, pool.total, Listed(pool.peers, "site"));
    found.seconds =
        std::max(found.seconds, PeerSilentSeconds(page_, pool).value_or(0));
    found.late += count(CopyState::kLate);
    if (pool.by_role.at(static_cast<size_t>(WatchedRole::kSecondary)) > 0) {
      found.copies_here = true;
      found.command =
          absl::StrCat("rbd-addons check-failover --pool ", pool_word);
    } else if (found.command.empty()) {
      found.command =
          absl::StrCat("rbd mirror pool status --verbose ", pool_spec);
    }
  }
  // That copies turn late and unknown follows from the silence.
  if (pool.local_mirror_up != false && pool.peer_mirror_up != false) {
    NoteVolumes(kLate, pool, count(CopyState::kLate), "explain",
                is(CopyState::kLate));
    NoteVolumes(kUnknown, pool, count(CopyState::kUnknown), "explain",
                is(CopyState::kUnknown));
  }
  const auto misses = [](const WatchedImage& image) {
    return image.missed_snapshots.value_or(0) > 0;
  };
  if (const auto missed =
          std::count_if(pool.images.begin(), pool.images.end(), misses);
      missed > 0) {
    Note(kMissed, pool, static_cast<size_t>(missed)).command =
        absl::StrCat("rbd mirror snapshot schedule status --pool ", pool_word,
                     within ? " --namespace " : "",
                     within ? ShellWord(pool.rados_namespace) : "");
  }
  if (!pool.schedules_unseen.empty()) {
    Note(kSchedules, pool, pool.total, pool.schedules_unseen).command =
        "ceph mgr module ls";
  }
}

/// All pools of a cluster are one trouble.
void PoolTroubles::NoteBlocklisted(const WatchedPool& pool) {
  Found& found = Note(kBlocklisted, pool, pool.total, pool.cluster_id);
  found.command = "ceph osd blocklist ls";
  found.seconds = std::max(found.seconds,
                           SecondsBetween(*pool.blocklisted_since, page_.now));
}

void PoolTroubles::Add(const WatchedPool& pool) {
  if (pool.blocklisted_since.has_value()) {
    NoteBlocklisted(pool);
  } else if (!pool.unseen.empty() &&
             !SilentSeconds(page_, pool.cluster_id).has_value()) {
    const bool looked = pool.seen_at.has_value() || pool.failed_looks > 0;
    Found& found =
        Note(looked ? kUnseen : kNotLooked, pool, pool.total, pool.unseen);
    found.command = looked ? "rbd-addons doctor" : "";
    if (pool.seen_at.has_value()) {
      found.seconds =
          std::max(found.seconds, SecondsBetween(*pool.seen_at, page_.now));
    }
  }
  if (!pool.seen_at.has_value()) return;
  NoteBroken(pool);
  // Of one that cannot be seen the rest follows from that.
  if (pool.unseen.empty()) NoteSeen(pool);
}

std::string PoolTroubles::LateText(const Found& found) {
  if (found.late == 0) return "";
  return absl::StrCat("; the copy of ", CountOf(found.late, "volume"),
                      " is late by now");
}

Trouble PoolTroubles::Told(Kind kind, const Found& found) {
  const std::string volumes = CountOf(found.volumes, "volume");
  const std::string places = Listed(found.places, "pool");
  switch (kind) {
    case kBlocklisted:
      return {true,
              "blocklisted",
              absl::StrCat(kBlocklistedWords,
                           found.seconds > 0
                               ? absl::StrCat(", first seen ",
                                              Lasting(found.seconds), " ago")
                               : ""),
              absl::StrCat("cluster ", found.words, ": ", volumes, " in ",
                           places, " cannot be seen. ", kBlocklistedRemedy),
              found.command,
              "docs/runbooks/node-back.md"};
    case kUnseen:
      return {true,
              "pool-unseen",
              absl::StrCat(places, " cannot be seen"),
              absl::StrCat(found.words,
                           found.seconds > 0
                               ? absl::StrCat("; what is shown of it is ",
                                              Lasting(found.seconds), " old")
                               : ""),
              found.command,
              kAlertsDocument};
    case kNotLooked:
      return {false,
              "pool-not-looked-at",
              absl::StrCat("not looked at yet: ", places),
              "",
              "",
              kAlertsDocument};
    case kSplitBrain:
      return {true,
              "split-brain",
              absl::StrCat("split brain of ", volumes),
              absl::StrCat("in ", places,
                           ": both sites were written, and nothing is copied "
                           "between them"),
              found.command,
              "docs/runbooks/split-brain.md"};
    case kRescue:
      return {
          true,
          "rescue",
          absl::StrCat("a forced promotion waits for a decision on ", volumes),
          absl::StrCat("in ", places),
          found.command,
          "docs/runbooks/forced-promotion-unfinished.md"};
    case kRollback:
      return {
          true,
          "rollback",
          absl::StrCat("a rollback to a point has not ended on ", volumes),
          absl::StrCat(
              "in ", places,
              ": they do not hold what was asked for, so start no workload"),
          found.command,
          "docs/runbooks/rollback-unfinished.md"};
    case kDamaged:
      return {true,
              "damaged",
              absl::StrCat("a comparison has found the copy of ", volumes,
                           " damaged"),
              absl::StrCat("in ", places,
                           ": after a failover it would have other content"),
              found.command,
              "docs/runbooks/damaged-copy.md"};
    case kClone:
      return {
          true,
          "clone",
          absl::StrCat("the copy lacks what ", volumes, " had from a parent"),
          absl::StrCat("in ", places,
                       ": after a failover the volume would have holes"),
          found.command,
          "docs/runbooks/mirrored-clone.md"};
    case kBroken:
      return {true,
              "broken",
              absl::StrCat("the copy of ", volumes, " is broken"),
              absl::StrCat("in ", places, ": nothing is copied of ",
                           found.volumes == 1 ? "it" : "them"),
              found.command,
              "docs/runbooks/README.md"};
    case kLocalMirror:
      return {true,
              "local-mirror-silent",
              "rbd-mirror of this site does not report",
              absl::StrCat("on ", places,
                           ": nothing can arrive here, and a failover to here "
                           "waits for it",
                           LateText(found)),
              found.command,
              "docs/runbooks/rbd-mirror-down.md"};
    case kPeerMirror:
      return {true,
              "peer-silent",
              absl::StrCat("no sign of ",
                           found.words.empty() ? "the peer" : found.words,
                           found.seconds > 0
                               ? absl::StrCat(" for ", Lasting(found.seconds))
                               : ""),
              absl::StrCat(
                  "rbd-mirror of it does not report on ", places,
                  ": it is down, or its site, or the network between. What is "
                  "shown of its copies is as old as that",
                  LateText(found),
                  found.copies_here
                      ? ". Is the site dead? Then promote its volumes here"
                      : ""),
              found.command,
              found.copies_here ? "docs/runbooks/disaster.md"
                                : "docs/runbooks/rbd-mirror-down.md"};
    case kLate:
      return {true,
              "late",
              absl::StrCat("the copy of ", volumes, " is late"),
              absl::StrCat("in ", places,
                           ": a failover loses what was written since"),
              found.command,
              "docs/runbooks/copy-late.md"};
    case kMissed:
      return {false,
              "snapshots-missed",
              absl::StrCat("snapshots of ", volumes, " were not taken"),
              absl::StrCat("in ", places, ", although they were due"),
              found.command,
              "docs/runbooks/copy-late.md"};
    case kUnknown:
      return {false,
              "unknown",
              absl::StrCat("how the copy of ", volumes, " is, is not known"),
              absl::StrCat("in ", places),
              found.command,
              "docs/runbooks/README.md"};
    case kSchedules:
      return {false,
              "schedules-unseen",
              "the manager does not tell the snapshot schedules",
              absl::StrCat("of ", places, ": ", found.words),
              found.command,
              "docs/runbooks/copy-late.md"};
    case kKinds:
      break;
  }
  return {};
}

void PoolTroubles::AppendTo(std::vector<Trouble>* troubles) const {
  for (const auto& [key, found] : found_) {
    troubles->push_back(Told(key.first, found));
  }
}

std::vector<std::string> MonitorsOf(const StatusPage& page,
                                    const std::string& cluster_id) {
  for (const ConfiguredCluster& cluster : page.clusters) {
    if (cluster.id == cluster_id) return cluster.monitors;
  }
  return {};
}

/// Clusters of which no monitor answers.
void AddSilentClusters(const StatusPage& page, std::vector<Trouble>* troubles) {
  for (const WatchedFences& cluster : page.watch->fences) {
    const auto silent = SilentSeconds(page, cluster.cluster_id);
    if (!silent.has_value()) continue;
    size_t pools = 0;
    size_t volumes = 0;
    for (const WatchedPool& pool : page.watch->pools) {
      if (pool.cluster_id != cluster.cluster_id || pool.unseen.empty()) {
        continue;
      }
      ++pools;
      volumes += pool.total;
    }
    Trouble trouble{true,
                    "cluster-silent",
                    absl::StrCat("no monitor of ", cluster.cluster_id,
                                 " has answered for ", Lasting(*silent)),
                    "",
                    "ceph -s",
                    "docs/runbooks/cluster-silent.md"};
    if (pools > 0) {
      trouble.detail = absl::StrCat(
          CountOf(volumes, "volume"), " in ", CountOf(pools, "pool"),
          " cannot be seen, and what is shown of them is as old as that. Is "
          "the "
          "cluster dead? Then promote its volumes on the other site");
    }
    const std::vector<std::string> monitors =
        MonitorsOf(page, cluster.cluster_id);
    if (!monitors.empty()) {
      absl::StrAppend(&trouble.detail, trouble.detail.empty() ? "" : ". ",
                      "Monitors asked: ", Listed(monitors, "monitor"));
    }
    troubles->push_back(std::move(trouble));
  }
}

void AddFenceTroubles(const StatusPage& page, std::vector<Trouble>* troubles) {
  const int64_t now = absl::ToUnixSeconds(absl::FromChrono(page.wall_now));
  for (const WatchedFences& cluster : page.watch->fences) {
    if (!cluster.unseen.empty() && cluster.seen_at.has_value() &&
        !cluster.silent_since.has_value()) {
      troubles->push_back({false, "fences-unseen",
                           absl::StrCat("the fences of ", cluster.cluster_id,
                                        " cannot be seen"),
                           cluster.unseen, "rbd-addons doctor",
                           kAlertsDocument});
    }
    for (const WatchedFence& fence : cluster.fences) {
      if (!EndsSoon(fence, now)) break;
      troubles->push_back(
          {false, "fence-ends",
           absl::StrCat(
               "the fence of ", fence.range, " on ", cluster.cluster_id,
               *fence.until <= now
                   ? " has ended"
                   : absl::StrCat(" ends in ", Lasting(*fence.until - now))),
           "fence it again, or be sure that the node cannot write",
           absl::StrCat("rbd-addons fence ", ShellWord(fence.range),
                        " --cluster ", ShellWord(cluster.cluster_id)),
           "docs/runbooks/node-dead.md"});
    }
  }
}

void AddDaemonTroubles(const StatusPage& page, std::vector<Trouble>* troubles) {
  const WatchedNames names(page.operations.empty() ? nullptr
                                                   : page.watch.get());
  size_t named = 0;
  for (const OperationInfo& operation : page.operations) {
    if (!operation.stuck) continue;
    if (++named > kMostStuckNamed) break;
    troubles->push_back(
        {true, "operation-stuck",
         absl::StrCat("operation ", operation.id, " is stuck: ", operation.verb,
                      " of ", names.Named(operation.object)),
         absl::StrCat("it has been at '", operation.step, "' for ",
                      Lasting(std::chrono::duration_cast<std::chrono::seconds>(
                                  operation.idle)
                                  .count())),
         "rbd-addons operations", kAlertsDocument});
  }
  for (const std::string& text : page.broken_configuration) {
    troubles->push_back({true, "configuration",
                         absl::StrCat("configuration: ", text), "",
                         "rbd-addons doctor", kConfigurationDocument});
  }
}

}  // namespace

bool EndsSoon(const WatchedFence& fence, int64_t now) {
  constexpr int64_t kSoon = int64_t{24} * 60 * 60;
  return fence.until.has_value() && *fence.until - now < kSoon;
}

std::vector<Trouble> TroublesOf(const StatusPage& page) {
  std::vector<Trouble> troubles;
  if (!page.not_ready.empty()) {
    troubles.push_back({true, "not-ready",
                        absl::StrCat("not ready: ", page.not_ready), "",
                        "rbd-addons doctor", kConfigurationDocument});
  }
  if (page.watch != nullptr) AddSilentClusters(page, &troubles);
  AddDaemonTroubles(page, &troubles);
  if (page.watch == nullptr) return troubles;
  PoolTroubles pools(page);
  for (const WatchedPool& pool : page.watch->pools) pools.Add(pool);
  pools.AppendTo(&troubles);
  AddFenceTroubles(page, &troubles);
  if (page.watch->pools_left_out > 0) {
    troubles.push_back(
        {false, "pools-left-out",
         absl::StrCat(CountOf(page.watch->pools_left_out, "more pool"),
                      page.watch->pools_left_out == 1 ? " is" : " are",
                      " not watched, because there are too many"),
         "", "", kConfigurationDocument});
  }
  std::stable_sort(
      troubles.begin(), troubles.end(),
      [](const Trouble& a, const Trouble& b) { return a.bad && !b.bad; });
  return troubles;
}

std::string Headline(const StatusPage& page,
                     const std::vector<Trouble>& troubles) {
  if (!troubles.empty()) {
    return absl::StrCat(
        troubles.front().headline,
        troubles.size() > 1
            ? absl::StrCat(" (and ", troubles.size() - 1, " more)")
            : "");
  }
  if (page.watch == nullptr) return "running, replication is not watched";
  if (page.watch->pools.empty()) return "running, no replication seen yet";
  if (std::all_of(page.watch->pools.begin(), page.watch->pools.end(),
                  [](const WatchedPool& pool) { return pool.total == 0; })) {
    return "no volume is under replication";
  }
  return "no trouble seen";
}

void AddTroubles(const std::vector<Trouble>& troubles, std::string* html) {
  if (troubles.empty()) return;
  absl::StrAppend(html, "<ul class=\"trouble\">\n");
  for (const Trouble& trouble : troubles) {
    absl::StrAppend(html, "<li class=\"", trouble.bad ? "bad" : "warn",
                    "\"><b>", Escaped(trouble.headline), "</b>");
    if (!trouble.detail.empty()) {
      absl::StrAppend(html, " <span>", Escaped(trouble.detail), "</span>");
    }
    if (!trouble.command.empty() || !trouble.document.empty()) {
      absl::StrAppend(html, "<br>");
    }
    if (!trouble.command.empty()) {
      absl::StrAppend(html, "<code>", Escaped(trouble.command), "</code>");
    }
    if (!trouble.document.empty()) {
      absl::StrAppend(html, trouble.command.empty() ? "" : " ", "<a href=\"",
                      Escaped(trouble.document), "\">what to do</a>");
    }
    absl::StrAppend(html, "</li>\n");
  }
  absl::StrAppend(html, "</ul>\n");
}

}  // namespace addons
