// What a scrape of the most volumes that have series of their own takes over
// the wire.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/http_connection.h"
#include "server/metrics.h"
#include "tests/testing/gunzip.h"
#include "tests/unit/operation/table_testing.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;

constexpr size_t kVolumes = 5000;
constexpr size_t kMostBytes = 1'000'000;
constexpr int64_t kNow = 1795980000;
constexpr int64_t kInterval = 300;

std::string Uuid(std::mt19937_64& random) {
  const uint64_t a = random();
  const uint64_t b = random();
  return absl::StrFormat("%08x-%04x-4%03x-a%03x-%012x", a >> 32,
                         a >> 16 & 0xFFFF, a & 0xFFF, b >> 48 & 0xFFF,
                         b & 0xFFFFFFFFFFFF);
}

/// All are primaries, which have the most series, and are known by a call.
WatchedPool FullPool() {
  std::mt19937_64 random(7);
  WatchedPool pool;
  pool.cluster_id = "site-a";
  pool.pool = "replicapool";
  pool.seen_at = SteadyTime();
  pool.total = kVolumes;
  for (size_t i = 0; i < kVolumes; ++i) {
    const std::string uuid = Uuid(random);
    const auto age = static_cast<int64_t>(random() % 590);
    WatchedImage image;
    image.image = absl::StrCat("csi-vol-", uuid);
    image.volume_id = absl::StrCat("0001-0006-site-a-0000000000000002-", uuid);
    image.volume_name = absl::StrCat("pvc-", Uuid(random));
    image.role = WatchedRole::kPrimary;
    image.last_sync = kNow - age;
    image.lag_seconds = age;
    image.interval_seconds = kInterval;
    image.lag_ratio = static_cast<double>(age) / static_cast<double>(kInterval);
    image.bytes_remaining = 0;
    image.newest_snapshot = kNow - static_cast<int64_t>(random() % 300);
    image.missed_snapshots = 0;
    pool.images.push_back(std::move(image));
  }
  std::sort(pool.images.begin(), pool.images.end(), TroubleFirst);
  return pool;
}

class ScrapeSizeTest : public TableTest {
 protected:
  std::string Answer(const std::string& fields) {
    MetricsSources sources{calls_, table(), nullptr, nullptr, nullptr, nullptr};
    sources.watch = [this] { return watched_; };
    sources.clock = &clock_;
    return AnswerHttp(absl::StrCat("GET /metrics HTTP/1.1", fields),
                      {{"/metrics", [&sources](absl::string_view) {
                          return HttpReply{true, MetricsText(sources)};
                        }}});
  }

  CallStats calls_;
  std::shared_ptr<WatchSnapshot> watched_ = std::make_shared<WatchSnapshot>();
};

TEST_F(ScrapeSizeTest, ThousandsOfVolumesTakeAMegabyte) {
  watched_->pools = {FullPool()};
  const auto begin = std::chrono::steady_clock::now();
  const std::string plain = Answer("");
  const auto made = std::chrono::steady_clock::now();
  // As Prometheus asks.
  const std::string packed = Answer("\r\nAccept-Encoding: gzip");
  const auto end = std::chrono::steady_clock::now();
  const auto milliseconds = [](auto time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  };
  std::cout << "a scrape of " << kVolumes << " volumes: " << plain.size()
            << " bytes as text in " << milliseconds(made - begin) << " ms, "
            << packed.size() << " bytes as gzip in " << milliseconds(end - made)
            << " ms\n";
  EXPECT_THAT(packed.substr(0, 512), HasSubstr("Content-Encoding: gzip\r\n"));
  EXPECT_LE(packed.size(), kMostBytes);
  const auto body = [](const std::string& answer) {
    return answer.substr(answer.find("\r\n\r\n") + 4);
  };
  const auto unpacked = Gunzip(body(packed));
  ASSERT_TRUE(unpacked.has_value());
  // The process' own numbers change between two scrapes.
  const std::string first_image = watched_->pools[0].images[0].image;
  const auto from_images = [&first_image](const std::string& text) {
    return text.substr(text.find(first_image));
  };
  EXPECT_EQ(from_images(*unpacked), from_images(body(plain)));
}

}  // namespace
}  // namespace addons::testing
