#include "server/page/tables.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/utc.h"
#include "server/page/html.h"
#include "server/page/troubles.h"
#include "server/page/view.h"
#include "watch/watched_names.h"

namespace addons {
namespace {

/// Of an rbd-mirror; `silent_for` in seconds, where that is known. What it said
/// of a pool that cannot be seen is old.
std::string UpText(const WatchedPool& pool, const std::optional<bool>& up,
                   std::optional<int64_t> silent_for) {
  if (!up.has_value()) return "never reported";
  if (!pool.unseen.empty()) {
    return Tag("old", *up ? "reported then" : "silent then");
  }
  if (*up) return Tag("good", "reports");
  return Tag("bad", silent_for.value_or(0) > 0
                        ? absl::StrCat("silent for ", Lasting(*silent_for))
                        : "silent");
}

/// "12: 10 primary, 2 secondary".
std::string RolesText(const WatchedPool& pool) {
  if (!pool.seen_at.has_value()) return "not known";
  std::string text = absl::StrCat(pool.total);
  absl::string_view separator = ": ";
  for (const WatchedRole role : {WatchedRole::kPrimary, WatchedRole::kSecondary,
                                 WatchedRole::kUnclear}) {
    const size_t count = pool.by_role.at(static_cast<size_t>(role));
    if (count == 0) continue;
    absl::StrAppend(&text, separator, count, " ", Name(role));
    separator = ", ";
  }
  return text;
}

std::string StateOf(const OperationInfo& operation) {
  if (operation.stuck) return Tag("bad", "stuck");
  if (operation.stopping) return "stopping";
  if (!operation.running) return "queued";
  if (operation.mutating) return "changing";
  return operation.between_looks ? "waiting" : "running";
}

int64_t SecondsOf(std::chrono::milliseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

/// "FAILED_PRECONDITION", with a colour where a person may have to do
/// something.
std::string OutcomeText(const absl::Status& status) {
  const std::string code = absl::StatusCodeToString(status.code());
  if (status.ok()) return Tag("good", code);
  // The operator asks again by itself, or somebody wanted it so.
  const bool passes = absl::IsUnavailable(status) || absl::IsAborted(status) ||
                      absl::IsCancelled(status);
  return passes ? Escaped(code) : Tag("warn", code);
}

/// What an operation is about, by its name; what it is called otherwise is a
/// pointer's distance away.
std::string NamedCell(const WatchedNames& names, const std::string& object) {
  const std::string named = names.Named(object);
  if (named == object) return Cell("object", Escaped(object), "name");
  return absl::StrCat("<td data-l=\"object\" class=\"name\" title=\"",
                      Escaped(object), "\">", Escaped(named), "</td>");
}

/// "no call has named it yet" and the like.
std::string WatchText(const StatusPage& page,
                      const ConfiguredCluster& cluster) {
  if (cluster.elsewhere) return "not this site's: not looked at";
  if (page.watch == nullptr) return "not watched";
  size_t pools = 0;
  size_t unseen = 0;
  for (const WatchedPool& pool : page.watch->pools) {
    if (pool.cluster_id != cluster.id) continue;
    ++pools;
    if (!pool.unseen.empty()) ++unseen;
  }
  const bool fences = std::any_of(
      page.watch->fences.begin(), page.watch->fences.end(),
      [&](const WatchedFences& seen) { return seen.cluster_id == cluster.id; });
  if (pools == 0 && !fences) return "no call has named it yet: not watched";
  std::string text = absl::StrCat(pools, pools == 1 ? " pool" : " pools");
  if (fences) absl::StrAppend(&text, " and its fences");
  absl::StrAppend(&text, " watched");
  if (unseen > 0) {
    absl::StrAppend(&text, " ",
                    Tag("bad", absl::StrCat(unseen, " cannot be seen")));
  }
  if (const auto silent = SilentSeconds(page, cluster.id); silent.has_value()) {
    absl::StrAppend(&text, " ",
                    Tag("bad", absl::StrCat("no monitor has answered for ",
                                            Lasting(*silent))));
  }
  return text;
}

std::string EndText(const WatchedFence& fence, int64_t now) {
  if (!fence.until.has_value()) return "not known";
  const std::string text = absl::StrCat(
      FormatUtc(absl::FromUnixSeconds(*fence.until)),
      *fence.until <= now ? ", has ended"
                          : absl::StrCat(", in ", Lasting(*fence.until - now)));
  return EndsSoon(fence, now) ? Tag("warn", text) : text;
}

}  // namespace

void AddPools(const StatusPage& page, std::string* html) {
  if (page.watch->pools.empty()) return;
  AddHeading("pools", "Pools", html);
  BeginTable("pool|seen|rbd-mirror here|rbd-mirror of the peer|volumes here",
             html);
  for (const WatchedPool& pool : page.watch->pools) {
    std::string seen = Ago(pool.seen_at, page.now);
    if (!pool.unseen.empty()) {
      seen = absl::StrCat(Tag("bad", "cannot be seen"), " ", seen);
    }
    const std::string peers = absl::StrJoin(pool.peers, ", ");
    absl::StrAppend(html, pool.unseen.empty() ? "<tr>" : "<tr class=\"stale\">",
                    Cell("pool", Escaped(PlaceOf(pool)), "name"),
                    Cell("seen", seen),
                    Cell("rbd-mirror here",
                         UpText(pool, pool.local_mirror_up, std::nullopt)),
                    Cell("rbd-mirror of the peer",
                         absl::StrCat(Escaped(peers), peers.empty() ? "" : " ",
                                      UpText(pool, pool.peer_mirror_up,
                                             PeerSilentSeconds(page, pool)))),
                    Cell("volumes here", RolesText(pool)), "</tr>\n");
  }
  EndTable(html);
}

void AddFences(const StatusPage& page, std::string* html) {
  if (page.watch->fences.empty()) return;
  const int64_t now = absl::ToUnixSeconds(absl::FromChrono(page.wall_now));
  size_t total = 0;
  for (const WatchedFences& cluster : page.watch->fences)
    total += cluster.total;
  AddHeading("fences", absl::StrCat("Fences: ", total), html);
  for (const WatchedFences& cluster : page.watch->fences) {
    absl::StrAppend(html, "<p>", Escaped(cluster.cluster_id), ": ");
    if (!cluster.unseen.empty()) {
      absl::StrAppend(html, Tag("old", "cannot be seen"), " ",
                      Escaped(cluster.unseen), "; ");
    }
    absl::StrAppend(html, cluster.total, " ranges and addresses, ",
                    cluster.clients, " single clients, seen ",
                    Ago(cluster.seen_at, page.now), "</p>\n");
    if (cluster.fences.empty()) continue;
    BeginTable("fenced|until", html);
    for (const WatchedFence& fence : cluster.fences) {
      absl::StrAppend(html, "<tr>",
                      Cell("fenced", Escaped(fence.range), "name"),
                      Cell("until", EndText(fence, now)), "</tr>\n");
    }
    EndTable(html);
    if (cluster.total > cluster.fences.size()) {
      absl::StrAppend(html, "<p>and ", cluster.total - cluster.fences.size(),
                      " that end later</p>\n");
    }
  }
}

void AddOperations(const StatusPage& page, std::string* html) {
  AddHeading("operations",
             absl::StrCat("Running operations: ", page.operations.size()),
             html);
  if (page.operations.empty()) return;
  const WatchedNames names(page.watch.get());
  BeginTable("id|verb|object|age|state|step|progress", html);
  const size_t shown = std::min(page.operations.size(), kRowsOfPage);
  for (size_t i = 0; i < shown; ++i) {
    const OperationInfo& operation = page.operations[i];
    absl::StrAppend(
        html, "<tr>", Cell("id", absl::StrCat(operation.id)),
        Cell("verb", Escaped(operation.verb)),
        NamedCell(names, operation.object),
        Cell("age", Lasting(SecondsOf(operation.age))),
        Cell("state", StateOf(operation)),
        Cell("step",
             absl::StrCat(Escaped(operation.step),
                          operation.stuck
                              ? absl::StrCat(", the same for ",
                                             Lasting(SecondsOf(operation.idle)))
                              : "")),
        Cell("progress",
             operation.total == 0
                 ? std::string()
                 : absl::StrCat(operation.done, " of ", operation.total)),
        "</tr>\n");
  }
  EndTable(html);
  if (page.operations.size() > shown) {
    absl::StrAppend(html, "<p>and ", page.operations.size() - shown,
                    " younger ones</p>\n");
  }
}

void AddEnded(const StatusPage& page, std::string* html) {
  if (page.ended.empty()) return;
  AddHeading("ended",
             absl::StrCat("Last operations that ended: ", page.ended.size()),
             html);
  const WatchedNames names(page.watch.get());
  BeginTable("verb|object|ended|took|outcome|message", html);
  for (const EndedOperation& operation : page.ended) {
    absl::StrAppend(
        html, "<tr>", Cell("verb", Escaped(operation.verb)),
        NamedCell(names, operation.object),
        Cell("ended", Ago(operation.ended_at, page.now)),
        Cell("took", Lasting(SecondsOf(operation.age))),
        Cell("outcome", OutcomeText(operation.status)),
        Cell("message", Escaped(operation.status.message()), "wide"),
        "</tr>\n");
  }
  EndTable(html);
}

void AddReclaims(const StatusPage& page, std::string* html) {
  std::vector<std::string> counts;
  for (const auto& [outcome, count] : page.reclaims) {
    if (count > 0) counts.push_back(absl::StrCat(outcome, " ", count));
  }
  if (page.reclaims.empty()) return;
  AddHeading("reclaims", "Space reclaims since the start", html);
  absl::StrAppend(
      html, "<p>",
      counts.empty() ? "none" : Escaped(absl::StrJoin(counts, ", ")));
  if (page.reclaimed_bytes > 0) {
    absl::StrAppend(html, "; freed ",
                    Bytes(static_cast<int64_t>(page.reclaimed_bytes)));
  }
  absl::StrAppend(html, "</p>\n");
}

void AddClusters(const StatusPage& page, std::string* html) {
  if (page.clusters.empty()) return;
  AddHeading("clusters",
             absl::StrCat("Clusters of config.json: ", page.clusters.size()),
             html);
  BeginTable("cluster|monitors|RADOS namespace|watched", html);
  const size_t shown = std::min(page.clusters.size(), kRowsOfPage);
  for (size_t i = 0; i < shown; ++i) {
    const ConfiguredCluster& cluster = page.clusters[i];
    absl::StrAppend(
        html, "<tr>", Cell("cluster", Escaped(cluster.id), "name"),
        Cell("monitors", Escaped(absl::StrJoin(cluster.monitors, ", ")),
             "wide"),
        Cell("RADOS namespace", Escaped(cluster.rados_namespace)),
        Cell("watched", WatchText(page, cluster)), "</tr>\n");
  }
  EndTable(html);
  if (page.clusters.size() > shown) {
    absl::StrAppend(html, "<p>and ", page.clusters.size() - shown,
                    " more</p>\n");
  }
}

}  // namespace addons
