// The daemon on two simulated sites, for tests that look at it from outside: at
// its metrics, its page, and through the command line.
//
//   model-daemon FOLDER VOLUMES
//
// VOLUMES volumes are mirrored from site-a, whose daemon this is. A few of them
// are in trouble when there are more than ten. FOLDER gets config.json and
// cluster-mapping.json, secrets.json for the command line, and the sockets `s`
// and, for administrators, `a`.
// Prints one line of JSON when it serves: the address of its metrics and the
// ids of the volumes. Simulated time goes as fast as real time. Ends with its
// standard input, each line of which is a trouble of Troubles() that is to be
// made, or mended ("mend NAME"), or a line for its log ("log LINE"); `done` is
// printed when it was.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/log.h"
#include "server/app.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/fakes/model_begin.h"

namespace addons {
namespace {

using std::chrono::seconds;

std::string UuidOf(uint32_t number) {
  return absl::StrFormat("%08x-7754-470d-b2a0-4ca18f698b29", number);
}

/// All at once: one after the other takes each some simulated seconds.
std::vector<std::string> AddVolumes(FakeWorld& world, MirroredPair& pair,
                                    uint32_t count, bool trouble) {
  std::vector<std::string> ids;
  for (uint32_t i = 0; i < count; ++i) {
    ids.push_back(pair.AddVolume(pair.a(), UuidOf(i)));
    pair.a().EnableMirroring(MirroredPair::ImageOf(UuidOf(i)));
  }
  world.Advance(seconds(30));
  if (trouble) pair.b().ForceSplitBrain(MirroredPair::ImageOf(UuidOf(1)));
  world.Advance(seconds(35));  // rbd-mirror has said so
  OmapValues directory;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string image = MirroredPair::ImageOf(UuidOf(i));
    pair.AddJournal(pair.b(), UuidOf(i));
    // As librbd has it: a length and the name.
    std::string value(sizeof(uint32_t), '\0');
    value[0] = static_cast<char>(image.size());
    directory[absl::StrCat("id_", pair.a().ImageId(image))] = value + image;
  }
  pair.a().SetOmap(MirroredPair::kPool, "", "rbd_directory", directory);
  return ids;
}

void MakeTrouble(MirroredPair& pair) {
  const auto image = [](uint32_t number) {
    return MirroredPair::ImageOf(UuidOf(number));
  };
  pair.a().SetStatus(image(2), pair.b().mirror_uuid(),
                     MirrorStatusState::kError,
                     "failed to open the remote image: (108) Cannot send after "
                     "transport endpoint shutdown");
  pair.a().AddRangeBlocklistEntry("10.1.2.0:0/24", std::chrono::hours(3));
  pair.a().AddRangeBlocklistEntry("[fd00:1234:5678:9abc::]:0/64",
                                  std::chrono::hours(24 * 365));
}

/// One that is made, and mended, while the daemon serves.
struct Trouble {
  std::function<void(FakeWorld& world, MirroredPair& pair)> make;
  std::function<void(FakeWorld& world, MirroredPair& pair)> mend;
};

constexpr char kNames[] = "csi.volumes.default";
constexpr char kName[] = "csi.volume.pvc-1";

const std::string& FirstImage() {
  static const auto* const kImage =
      new std::string(MirroredPair::ImageOf(UuidOf(0)));
  return *kImage;
}

void Move(FakeWorld& world, FakeSite& from, FakeSite& to) {
  from.Demote(FirstImage());
  world.Advance(std::chrono::minutes(2));
  to.Promote(FirstImage(), Force::kNo);
  world.Advance(std::chrono::minutes(2));
}

/// The first volume is primary on the other site, and half of a snapshot is
/// here.
void StopInMidCopy(FakeWorld& world, MirroredPair& pair) {
  Move(world, pair.a(), pair.b());
  pair.a().SetMirrorDaemon(DaemonState::kFrozen);
  pair.a().SetStatus(
      FirstImage(), "", MirrorStatusState::kReplaying,
      R"(replaying, {"bytes_per_snapshot":1048576.0,)"
      R"("last_snapshot_bytes":1048576,"last_snapshot_sync_seconds":20,)"
      R"("local_snapshot_timestamp":100,"remote_snapshot_timestamp":160,)"
      R"("replay_state":"syncing","syncing_percent":75})");
}

const std::map<std::string, Trouble>& Troubles() {
  static const auto* const kTroubles = new std::map<std::string, Trouble>{
      {"rbd-mirror is down",
       {[](FakeWorld& world, MirroredPair& pair) {
          pair.a().SetMirrorDaemon(DaemonState::kDown);
          world.Advance(std::chrono::minutes(2));
        },
        [](FakeWorld& world, MirroredPair& pair) {
          pair.a().SetMirrorDaemon(DaemonState::kRunning);
          world.Advance(std::chrono::minutes(2));
        }}},
      {"no monitor answers",
       {[](FakeWorld&, MirroredPair& pair) { pair.a().SetClusterUp(false); },
        [](FakeWorld&, MirroredPair& pair) { pair.a().SetClusterUp(true); }}},
      {"the other site is gone",
       {[](FakeWorld& world, MirroredPair& pair) {
          pair.b().SetMirrorDaemon(DaemonState::kDown);
          pair.b().SetClusterUp(false);
          world.Advance(std::chrono::minutes(2));
        },
        [](FakeWorld& world, MirroredPair& pair) {
          pair.b().SetClusterUp(true);
          pair.b().SetMirrorDaemon(DaemonState::kRunning);
          world.Advance(std::chrono::minutes(2));
        }}},
      {"in the middle of a copy",
       {StopInMidCopy,
        [](FakeWorld& world, MirroredPair& pair) {
          pair.a().SetMirrorDaemon(DaemonState::kRunning);
          world.Advance(std::chrono::minutes(2));
          Move(world, pair.b(), pair.a());
        }}},
      {"a name without a volume",
       {[](FakeWorld&, MirroredPair& pair) {
          pair.a().AddOmapValue(MirroredPair::kPool, "", kNames, kName,
                                UuidOf(1000));
        },
        [](FakeWorld&, MirroredPair& pair) {
          const auto pool = pair.cluster(pair.a())->OpenPool(
              pair.pool_id(pair.a()), "", Access::kMutate);
          if (pool.ok()) (*pool)->RemoveOmapKeys(kNames, {kName}).IgnoreError();
        }}},
      {"a schedule without an image",
       {[](FakeWorld&, MirroredPair& pair) {
          pair.a().AddOmapValue(
              MirroredPair::kPool, "", "rbd_mirror_snapshot_schedule",
              absl::StrCat(pair.pool_id(pair.a()), "//1234abcd"),
              R"([{"interval": "5m"}])");
        },
        // By the daemon.
        [](FakeWorld&, MirroredPair&) {}}}};
  return *kTroubles;
}

/// Does what a line of the standard input says; false: it is not understood.
bool Obey(const std::string& line, FakeWorld& world, MirroredPair& pair) {
  absl::string_view name = line;
  if (absl::ConsumePrefix(&name, "log ")) {
    Log().warn("{}", std::string(name));
    return true;
  }
  const bool mend = absl::ConsumePrefix(&name, "mend ");
  const auto trouble = Troubles().find(std::string(name));
  if (trouble == Troubles().end()) return false;
  (mend ? trouble->second.mend : trouble->second.make)(world, pair);
  return true;
}

absl::StatusOr<std::unique_ptr<App>> Serve(FakeWorld& world,
                                           const std::string& folder) {
  Config config;
  config.socket_path = folder + "/s";
  config.admin_socket_path = folder + "/a";
  config.config_dir = folder;
  config.modes.controller = true;
  config.serve_metrics = true;
  config.watch_interval = seconds(1);
  config.site_clusters.emplace_back("site-a");
  AppParts parts;
  parts.clusters = std::make_unique<FakeClusterProvider>(world);
  parts.clock = &world;
  parts.manifest = {{"librados", "0.0.0 (simulated)"}};
  return App::Create(std::move(config), std::move(parts));
}

int Main(const std::string& folder, uint32_t count) {
  if (!InitLog("warn").ok()) return 1;
  FakeWorld world;
  MirroredPair pair(world);
  const bool trouble = count > 10;
  const std::vector<std::string> ids = AddVolumes(world, pair, count, trouble);
  if (trouble) MakeTrouble(pair);
  pair.WriteConfig(folder);
  std::ofstream(folder + "/secrets.json")
      << nlohmann::json{{"userID", pair.a().user()->id},
                        {"userKey", pair.a().user()->key.Reveal()}};
  const auto app = Serve(world, folder);
  if (!app.ok()) {
    std::fprintf(stderr, "%s\n", app.status().ToString().c_str());
    return 1;
  }
  // A second of thousands of volumes takes the model as long.
  const seconds pause(1 + count / 500);
  std::jthread time([&world, pause](const std::stop_token& stop) {
    while (RealClock().SleepFor(pause, stop)) world.Advance(seconds(1));
  });
  const nlohmann::json said = {{"metrics", (*app)->metrics_url()},
                               {"volumes", ids}};
  std::printf("%s\n", said.dump().c_str());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    if (!Obey(line, world, pair)) {
      std::fprintf(stderr, "there is no trouble '%s'\n", line.c_str());
      return 2;
    }
    std::puts("done");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace addons

int main(int argc, char** argv) {
  uint32_t count = 0;
  if (argc != 3 || !absl::SimpleAtoi(argv[2], &count)) {
    std::fputs("usage: model-daemon FOLDER VOLUMES\n", stderr);
    return 2;
  }
  // The commands that are tried with it ask for the last hour.
  addons::model::BeginModelsNow();
  return addons::Main(argv[1], count);
}
