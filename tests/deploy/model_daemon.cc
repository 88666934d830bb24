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
// standard input.

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/log.h"
#include "server/app.h"
#include "tests/fakes/mirrored_pair.h"

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
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
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
  return addons::Main(argv[1], count);
}
