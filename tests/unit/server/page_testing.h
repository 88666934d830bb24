#ifndef ADDONS_TESTS_UNIT_SERVER_PAGE_TESTING_H_
#define ADDONS_TESTS_UNIT_SERVER_PAGE_TESTING_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/status_page.h"

namespace addons::testing {

inline constexpr int64_t kPageNow = 1795000000;

inline std::string RandomUuid(std::mt19937_64& random) {
  const uint64_t a = random();
  const uint64_t b = random();
  return absl::StrFormat("%08x-%04x-4%03x-a%03x-%012x", a >> 32,
                         a >> 16 & 0xFFFF, a & 0xFFF, b >> 48 & 0xFFF,
                         b & 0xFFFFFFFFFFFF);
}

/// A daemon's page without volumes, of site-a at kPageNow.
inline StatusPage EmptyPage() {
  StatusPage page;
  page.version = "1.2.3";
  page.site = "site-a";
  page.host = "rbd-addons-controller-6d5f7c9b8d-x2x7k";
  page.configuration = "endpoint=x";
  page.replicates = true;
  page.now = SteadyTime(std::chrono::seconds(100000));
  page.wall_now = WallTime(std::chrono::seconds(kPageNow));
  page.clusters = {{"site-a", {"10.0.0.1:6789", "10.0.0.2:6789"}, "", false}};
  return page;
}

inline WatchedPool EmptyPool(const StatusPage& page) {
  WatchedPool pool;
  pool.cluster_id = "site-a";
  pool.pool = "replicapool";
  pool.seen_at = page.now - std::chrono::seconds(12);
  pool.peers = {"site-b"};
  pool.local_mirror_up = true;
  pool.peer_mirror_up = true;
  pool.peer_heard_at = page.now - std::chrono::seconds(20);
  return pool;
}

inline void Keep(WatchedImage image, WatchedPool* pool) {
  for (size_t i = 0; i < kBrokenCopies; ++i) {
    if (image.Is(static_cast<BrokenCopy>(i))) ++pool->broken.at(i);
  }
  ++pool->by_role.at(static_cast<size_t>(image.role));
  ++pool->by_health.at(static_cast<size_t>(image.health));
  ++pool->by_copy.at(static_cast<size_t>(image.copy));
  ++pool->total;
  pool->images.push_back(std::move(image));
}

/// A volume that is in step, as ceph-csi and rbd-mirror name and report it.
inline WatchedImage HealthyImage(std::mt19937_64& random, size_t number) {
  const std::string uuid = RandomUuid(random);
  WatchedImage image;
  image.image = absl::StrCat("csi-vol-", uuid);
  image.image_id = absl::StrFormat("%012x", random() & 0xFFFFFFFFFFFF);
  image.volume_id = absl::StrCat("0001-0006-site-a-0000000000000002-", uuid);
  image.volume_name = absl::StrCat("pvc-", RandomUuid(random));
  image.claim =
      absl::StrFormat("shop-%02d/data-postgres-%d", number / 100, number % 100);
  image.role =
      number % 5 == 4 ? WatchedRole::kSecondary : WatchedRole::kPrimary;
  image.state = "replaying";
  image.message = "site-b is replaying";
  image.lag_seconds = static_cast<int64_t>(random() % 590);
  image.last_sync = kPageNow - *image.lag_seconds;
  image.interval_seconds = 300;
  image.bytes_remaining = 0;
  image.copy = CopyState::kInStep;
  return image;
}

/// A page of `count` volumes. Where there are more than ten, a few are in every
/// kind of trouble that a volume may be in, and one in ten is late.
inline StatusPage PageOf(size_t count) {
  std::mt19937_64 random(7);
  StatusPage page = EmptyPage();
  WatchedPool pool = EmptyPool(page);
  for (size_t i = 0; i < count; ++i) {
    WatchedImage image = HealthyImage(random, i);
    if (count > 10 && i % 10 == 3) {
      image.lag_seconds = 700 + static_cast<int64_t>(random() % 3000);
      image.last_sync = kPageNow - *image.lag_seconds;
      image.copy = CopyState::kLate;
      image.health = ReplicationHealth::kDegraded;
      image.message = absl::StrCat(
          "site-b is replaying; the last copy is the state of 2026-11-18T1",
          random() % 10, ":12:40Z, older than two intervals");
    } else if (count > 10 && i == 1) {
      image.split_brain = true;
      image.copy = CopyState::kBroken;
      image.health = ReplicationHealth::kError;
      image.message =
          "split brain: site-b is primary as well; demote one site, then "
          "resync it by force";
    } else if (count > 10 && i % 50 == 7) {
      image.copy = CopyState::kCopying;
      image.state = "syncing";
      image.percent = static_cast<int64_t>(random() % 100);
      image.bytes_remaining = static_cast<int64_t>(random() % (1ULL << 33));
      image.bytes_per_second = static_cast<int64_t>(48 << 20);
      image.message = "site-b makes the copy anew";
    }
    Keep(std::move(image), &pool);
  }
  auto seen = std::make_shared<WatchSnapshot>();
  seen->pools.push_back(std::move(pool));
  WatchedFences fences;
  fences.cluster_id = "site-a";
  fences.seen_at = page.now - std::chrono::seconds(12);
  seen->fences.push_back(std::move(fences));
  page.watch = std::move(seen);
  return page;
}

/// The same `seconds` after its cluster has fallen silent.
inline StatusPage WithDeadCluster(StatusPage page,
                                  std::chrono::seconds silent) {
  auto seen = std::make_shared<WatchSnapshot>(*page.watch);
  for (WatchedPool& pool : seen->pools) {
    pool.seen_at = page.now - silent;
    pool.unseen =
        "Failed to list the mirror statuses of pool 'replicapool': (110) "
        "Connection timed out";
    pool.failed_looks = 3;
  }
  for (WatchedFences& cluster : seen->fences) {
    cluster.seen_at = page.now - silent;
    cluster.silent_since = page.now - silent;
    cluster.unseen =
        "Failed to run 'osd blocklist ls' on cluster 'site-a': (110) "
        "Connection timed out";
  }
  page.watch = std::move(seen);
  return page;
}

/// The same `seconds` after the other site has fallen silent.
inline StatusPage WithDeadPeer(StatusPage page, std::chrono::seconds silent) {
  auto seen = std::make_shared<WatchSnapshot>(*page.watch);
  for (WatchedPool& pool : seen->pools) {
    pool.peer_mirror_up = false;
    pool.peer_heard_at = page.now - silent;
    pool.by_copy = {};
    for (WatchedImage& image : pool.images) {
      image.lag_seconds = *image.lag_seconds + silent.count();
      image.percent.reset();
      image.bytes_per_second.reset();
      if (image.copy != CopyState::kBroken) {
        image.copy = *image.lag_seconds > 2 * *image.interval_seconds
                         ? CopyState::kLate
                         : CopyState::kUnknown;
        image.health = ReplicationHealth::kDegraded;
        image.message = absl::StrCat(
            "site-b is unreachable: its rbd-mirror has not reported for at "
            "least ",
            silent.count(),
            " s; check rbd-mirror and the network of that site");
      }
      ++pool.by_copy.at(static_cast<size_t>(image.copy));
    }
  }
  page.watch = std::move(seen);
  return page;
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_UNIT_SERVER_PAGE_TESTING_H_
