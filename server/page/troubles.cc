#include "server/page/troubles.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/page/html.h"

namespace addons {
namespace {

/// One that hangs keeps many others: the first ones say enough.
constexpr size_t kMostStuckNamed = 10;

std::string Images(size_t count) {
  return count == 1 ? "1 volume" : absl::StrCat(count, " volumes");
}

void AddPoolTroubles(const WatchedPool& pool, SteadyTime now,
                     Troubles* troubles) {
  const std::string place = PlaceOf(pool);
  if (!pool.unseen.empty()) {
    (pool.seen_at.has_value() || pool.failed_looks > 0 ? troubles->bad
                                                       : troubles->warn)
        .push_back(absl::StrCat(
            place, " cannot be seen: ", pool.unseen,
            pool.seen_at.has_value()
                ? absl::StrCat("; what is shown of it is ",
                               Lasting(SecondsBetween(*pool.seen_at, now)),
                               " old")
                : ""));
  }
  if (!pool.seen_at.has_value()) return;
  const size_t split = static_cast<size_t>(std::count_if(
      pool.images.begin(), pool.images.end(),
      [](const WatchedImage& image) { return image.split_brain; }));
  if (split > 0) {
    troubles->bad.push_back(
        absl::StrCat(place, ": split brain of ", Images(split)));
  }
  const auto broken = [&pool](BrokenCopy reason) {
    return pool.broken.at(static_cast<size_t>(reason));
  };
  if (const size_t count = broken(BrokenCopy::kRescue); count > 0) {
    troubles->bad.push_back(absl::StrCat(
        place, ": a forced promotion waits for a decision on ", Images(count)));
  }
  if (const size_t count = broken(BrokenCopy::kClone); count > 0) {
    troubles->bad.push_back(absl::StrCat(place, ": the copy lacks what ",
                                         Images(count), " had from a parent"));
  }
  const size_t errors =
      pool.by_health.at(static_cast<size_t>(ReplicationHealth::kError));
  if (errors > 0) {
    troubles->bad.push_back(
        absl::StrCat(place, ": ", Images(errors), " in error"));
  }
  if (pool.local_mirror_up == false) {
    troubles->bad.push_back(
        absl::StrCat(place, ": rbd-mirror of this site does not report"));
  }
  if (pool.peer_mirror_up == false) {
    troubles->bad.push_back(
        absl::StrCat(place, ": rbd-mirror of the peer site does not report"));
  }
  const size_t degraded =
      pool.by_health.at(static_cast<size_t>(ReplicationHealth::kDegraded));
  if (degraded > 0) {
    troubles->warn.push_back(
        absl::StrCat(place, ": ", Images(degraded), " degraded"));
  }
  if (!pool.schedules_unseen.empty()) {
    troubles->warn.push_back(absl::StrCat(
        place, ": the manager does not tell the snapshot schedules: ",
        pool.schedules_unseen));
  }
}

void AddFenceTroubles(const StatusPage& page, Troubles* troubles) {
  const int64_t now = absl::ToUnixSeconds(absl::FromChrono(page.wall_now));
  for (const WatchedFences& cluster : page.watch->fences) {
    if (!cluster.unseen.empty() && cluster.seen_at.has_value()) {
      troubles->warn.push_back(
          absl::StrCat("fences of ", cluster.cluster_id,
                       " cannot be seen: ", cluster.unseen));
    }
    for (const WatchedFence& fence : cluster.fences) {
      if (!EndsSoon(fence, now)) break;
      troubles->warn.push_back(absl::StrCat(
          "the fence of ", fence.range, " on ", cluster.cluster_id,
          *fence.until <= now
              ? " has ended"
              : absl::StrCat(" ends in ", Lasting(*fence.until - now)),
          ": fence it again, or be sure that the node cannot write"));
    }
  }
}

void AddDaemonTroubles(const StatusPage& page, Troubles* troubles) {
  for (const OperationInfo& operation : page.operations) {
    if (!operation.stuck) continue;
    troubles->bad.push_back(absl::StrCat(
        "operation ", operation.id, " is stuck: ", operation.verb, " of ",
        operation.object, " has been at '", operation.step, "' for ",
        Lasting(std::chrono::duration_cast<std::chrono::seconds>(operation.idle)
                    .count())));
    if (troubles->bad.size() >= kMostStuckNamed) break;
  }
  for (const std::string& text : page.broken_configuration) {
    troubles->bad.push_back(absl::StrCat("configuration: ", text));
  }
}

}  // namespace

bool EndsSoon(const WatchedFence& fence, int64_t now) {
  constexpr int64_t kSoon = int64_t{24} * 60 * 60;
  return fence.until.has_value() && *fence.until - now < kSoon;
}

Troubles TroublesOf(const StatusPage& page) {
  Troubles troubles;
  if (!page.not_ready.empty()) {
    troubles.bad.push_back(absl::StrCat("not ready: ", page.not_ready));
  }
  AddDaemonTroubles(page, &troubles);
  if (page.watch == nullptr) return troubles;
  for (const WatchedPool& pool : page.watch->pools) {
    AddPoolTroubles(pool, page.now, &troubles);
  }
  AddFenceTroubles(page, &troubles);
  if (page.watch->pools_left_out > 0) {
    troubles.warn.push_back(absl::StrCat(
        page.watch->pools_left_out,
        " more pools are not watched, because there are too many"));
  }
  return troubles;
}

std::string Title(const StatusPage& page, const Troubles& troubles) {
  const size_t count = troubles.bad.size() + troubles.warn.size();
  if (count > 0) {
    return absl::StrCat(
        troubles.bad.empty() ? troubles.warn.front() : troubles.bad.front(),
        count > 1 ? absl::StrCat(" (and ", count - 1, " more)") : "");
  }
  if (page.watch == nullptr) return "running, replication is not watched";
  if (page.watch->pools.empty()) return "running, no replication seen yet";
  return "no trouble seen";
}

void AddTroubles(const Troubles& troubles, std::string* html) {
  if (troubles.bad.empty() && troubles.warn.empty()) return;
  absl::StrAppend(html, "<ul class=\"trouble\">\n");
  for (const std::string& text : troubles.bad) {
    absl::StrAppend(html, "<li class=\"bad\">", Escaped(text), "</li>\n");
  }
  for (const std::string& text : troubles.warn) {
    absl::StrAppend(html, "<li class=\"warn\">", Escaped(text), "</li>\n");
  }
  absl::StrAppend(html, "</ul>\n");
}

}  // namespace addons
