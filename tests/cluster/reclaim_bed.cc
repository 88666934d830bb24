#include "tests/cluster/reclaim_bed.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/json.h"
#include "tests/testing/http_get.h"

namespace addons::testing {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

const bool on_bluestore = OnBluestore() && StartBedWith({"--osd-commands"});

/// The secret that a PersistentVolume names as its nodeStageSecretRef has fewer
/// rights than the provisioner's.
constexpr char kNodeUser[] = "csi-rbd-node";

std::map<std::string, std::string>& NodeKeys() {
  static std::map<std::string, std::string> keys;
  return keys;
}

std::map<std::string, std::string>& MetricsUrls() {
  static std::map<std::string, std::string> urls;
  return urls;
}

/// A pool with nothing but so many objects, for StoredBytes().
constexpr char kMarkers[] = "markers";
int64_t& Markers() {
  static int64_t markers = 0;
  return markers;
}

/// The value of `key` in the last line of `log` that ends a reclaim of this
/// volume; to the line's end when it is the last one.
std::string Logged(const std::string& log, const std::string& id,
                   const std::string& key) {
  const size_t at =
      log.rfind(absl::StrCat("reclaim of volume=", id, " outcome="));
  if (at == std::string::npos) return "";
  const std::string line = log.substr(at, log.find('\n', at) - at);
  const size_t begin = line.find(key + "=") + key.size() + 1;
  return line.substr(begin, key == "reason" ? std::string::npos
                                            : line.find(' ', begin) - begin);
}

}  // namespace

std::string RandomBytes(size_t size, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::string bytes(size, '\0');
  std::generate(bytes.begin(), bytes.end(),
                [&] { return static_cast<char>(generator() | 1U); });
  return bytes;
}

Writer::Writer(std::unique_ptr<Disk> disk, milliseconds first_pause)
    : disk_(std::move(disk)),
      thread_([this, first_pause](const std::stop_token& stop) {
        RealClock().SleepFor(first_pause, stop);
        const std::string block = RandomBytes(4096, 99);
        while (!stop.stop_requested()) {
          const auto begin = steady_clock::now();
          const int result = disk_->Write((writes_ % 16) * 4096, block);
          if (result != 0) error_ = result;
          ++writes_;
          slowest_ = std::max(slowest_.load(), steady_clock::now() - begin);
        }
      }) {}

void ReclaimBed::SetUpTestSuite() { SetUpWith({}); }

void ReclaimBed::SetUpWith(const std::vector<std::string>& more_flags) {
  std::map<std::string, std::vector<std::string>> flags;
  for (const std::string site : {"a", "b"}) {
    const uint16_t port = FreePort();
    MetricsUrls()[site] = absl::StrCat("http://127.0.0.1:", port, "/metrics");
    flags[site] = {absl::StrCat("--metricsport=", port),
                   "--metrics-address=127.0.0.1"};
    flags[site].insert(flags[site].end(), more_flags.begin(), more_flags.end());
  }
  StartDaemons(flags);
  ASSERT_TRUE(on_bluestore);
  for (const std::string site : {"a", "b"}) {
    NodeKeys()[site] = Testbed(
        "ceph",
        {site, "auth", "get-or-create-key", absl::StrCat("client.", kNodeUser),
         "mon", "profile rbd", "mgr", "allow rw", "osd", "profile rbd"});
    // Statistics at once, for StoredBytes().
    Testbed("ceph", {site, "config", "set", "mgr", "mgr_stats_period", "1"});
    Testbed("ceph",
            {site, "config", "set", "mon", "mon_mgr_digest_period", "1"});
  }
  Testbed("ceph", {"a", "osd", "pool", "create", kMarkers, "1"});
  Markers() = 0;
}

Reclaimed ReclaimBed::Reclaim(const TestVolume& volume,
                              const Parameters& parameters,
                              const std::string& site, milliseconds deadline) {
  return CallReclaim(
      Daemon(site).socket(),
      {volume.id(site), kNodeUser, NodeKeys().at(site), parameters, deadline});
}

grpc::Status ReclaimBed::ReclaimAtLast(const TestVolume& volume) {
  constexpr int kMostCalls = 5;
  grpc::Status status;
  for (int call = 0; call < kMostCalls; ++call) {
    status = Reclaim(volume).status;
    if (status.error_code() != Code::ABORTED) break;
  }
  return status;
}

TestVolume ReclaimBed::MakeHollowVolume() {
  TestVolume volume = MakeVolume({"--size", "128M"});
  FillHollow(volume);
  return volume;
}

void ReclaimBed::FillHollow(const TestVolume& volume) {
  const auto disk = OpenDisk("a", volume);
  for (uint64_t object = 0; object < 32; ++object) {
    std::string data = RandomBytes(kObject, object);
    if (object < 16) {
      data.assign(data.size(), '\0');
    } else if (object < 24) {
      std::fill(data.begin(), data.begin() + data.size() / 2, '\0');
    }
    ASSERT_EQ(disk->Write(object * kObject, data), 0);
  }
}

TestVolume ReclaimBed::MakeLongVolume(uint64_t objects) {
  constexpr size_t kWritten = size_t{256} * kSmallObject;  // at a time
  const uint64_t bytes = objects * kSmallObject;
  const std::string size = absl::StrCat(bytes, "B");
  const TestVolume volume = MakeVolume({"--size", size});
  Rbd("a", {"rm", "--no-progress", ImageSpec(volume)});
  Rbd("a", {"create", "--size", size, "--object-size",
            absl::StrCat(kSmallObject, "B"), "--image-feature",
            "layering,exclusive-lock,object-map,fast-diff", ImageSpec(volume)});
  const auto disk = OpenDisk("a", volume);
  for (uint64_t at = 0; at < bytes; at += kWritten) {
    std::string data(std::min<uint64_t>(kWritten, bytes - at), '\0');
    for (size_t i = 0; i < data.size(); i += kSmallObject) data[i] = 'x';
    EXPECT_EQ(disk->Write(at, data), 0);
  }
  return volume;
}

int64_t ReclaimBed::StoredBytes() {
  // An OSD reports all pools at once: when this object is counted, so is all
  // that was done before.
  Testbed("rados", {"a", "-p", kMarkers, "create",
                    absl::StrCat("marker-", ++Markers())});
  int64_t stored = -1;
  EXPECT_TRUE(Eventually([&] {
    const json df = ParseJson(Testbed("ceph", {"a", "df", "--format", "json"}));
    int64_t markers = 0;
    for (const json& pool : df["pools"]) {
      if (pool["name"] == RealBed::kPool) stored = pool["stats"]["stored"];
      if (pool["name"] == kMarkers) markers = pool["stats"]["objects"];
    }
    return markers == Markers();
  }));
  return stored;
}

std::string ReclaimBed::Lockers(const TestVolume& volume) {
  return Rbd("a", {"lock", "ls", ImageSpec(volume)});
}

bool ReclaimBed::AwaitWork(const TestVolume& volume) {
  return Eventually([&] { return !Lockers(volume).empty(); });
}

void ReclaimBed::ExpectLeft(const TestVolume& volume) {
  EXPECT_EQ(Lockers(volume), "");
  EXPECT_EQ(Metadata("a", volume, ".rbd.addons/sparsify"), "");
  EXPECT_THAT(Rbd("a", {"status", ImageSpec(volume)}),
              ::testing::HasSubstr("Watchers: none"));
}

std::string ReclaimBed::Outcome(const TestVolume& volume,
                                const std::string& site) {
  return Logged(Daemon(site).Log(), volume.id(site), "outcome");
}

double ReclaimBed::Metric(const std::string& series, const std::string& site) {
  const std::vector<std::string> lines =
      absl::StrSplit(HttpGet(MetricsUrls().at(site)).body, '\n');
  const std::string start = absl::StrCat("rbd_addons_", series, " ");
  for (const std::string& line : lines) {
    double value = 0;
    if (absl::StartsWith(line, start) &&
        absl::SimpleAtod(line.substr(start.size()), &value)) {
      return value;
    }
  }
  return -1;
}

double ReclaimBed::Ended(const std::string& outcome, const std::string& site) {
  return Metric(absl::StrCat("reclaims_total{outcome=\"", outcome, "\"}"),
                site);
}

std::string ReclaimBed::Reason(const TestVolume& volume) {
  return Logged(Daemon("a").Log(), volume.id_a, "reason");
}

int ReclaimBed::Begins(const TestVolume& volume) {
  const std::vector<std::string> parts = absl::StrSplit(
      Daemon("a").Log(),
      absl::StrCat("reclaim of volume=", volume.id_a, " begins"));
  return static_cast<int>(parts.size()) - 1;
}

int ReclaimBed::MostAtOnce(size_t from) {
  int now = 0;
  int most = 0;
  for (const absl::string_view line :
       absl::StrSplit(Daemon("a").Log().substr(from), '\n')) {
    if (!absl::StrContains(line, "reclaim of volume=")) continue;
    if (absl::StrContains(line, " begins ")) most = std::max(most, ++now);
    if (absl::StrContains(line, " outcome=")) --now;
  }
  return most;
}

}  // namespace addons::testing
