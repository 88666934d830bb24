// The watch with a Ceph user of the daemon's own that only reads, made by
// deploy/ceph/create-user.sh: a standby that nobody calls is seen as a whole.

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/json.h"
#include "tests/cluster/two_sites.h"
#include "tests/integration/command_line.h"
#include "tests/testing/http_get.h"

namespace addons::testing {
namespace {

using json = nlohmann::json;
using std::chrono::seconds;
using ::testing::HasSubstr;

class WatchUserTest : public TwoSitesTest {
 protected:
  static constexpr seconds kSoon{30};

  /// A file with the user `name` of site b, which may watch the bed's pool.
  static std::string MakeUser(const std::string& name) {
    const std::string file = Bed().Path(name + ".json");
    const std::string command =
        absl::StrCat("CEPH_CONF='", Bed().Path("b/ceph.conf"), "' bash '",
                     ADDONS_CREATE_USER, "' --pool ", RealBed::kPool,
                     " --for watch --format json client.", name, " >'", file,
                     "' 2>/dev/null </dev/null");
    // NOLINTNEXTLINE(concurrency-mt-unsafe, cert-env33-c)
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return file;
  }
  static json TextOf(const std::string& file) {
    return json::parse(std::ifstream(file));
  }
  /// What `rbd-addons status` says of the volume with this image; null: it is
  /// not there.
  static json StatusOf(const DaemonProcess& daemon, const std::string& image) {
    const CliResult result = RbdAddons(daemon, {"status", "-o", "json"});
    const json all = ParseJson(result.out);
    if (!all.is_object() || !all.contains("volumes")) return json::object();
    for (const json& volume : all["volumes"]) {
      if (absl::StrContains(volume.value("image", ""), image)) return volume;
    }
    return json::object();
  }
};

TEST_F(WatchUserTest, AStandbyThatNobodyCallsIsSeenAfterEachStart) {
  const TestVolume volume =
      MakeReplicatedVolume({{"schedulingInterval", "1m"}});
  // The note of the schedule is in the first snapshot after the promotion.
  Synchronize("a", volume);
  ASSERT_TRUE(Eventually(
      [&] { return absl::StrContains(Status("b", volume), "up+replaying"); }));
  const std::string user = MakeUser("reader");
  const std::string key = TextOf(user)["userKey"];
  DaemonProcess standby(
      Bed().Path("watch.sock"), Bed().Path("watch.log"),
      {"--controllerserver", "--drivername=rbd.csi.ceph.com",
       "--config-dir=" + Bed().Path("b/csi-config"), "--metricsport=29643",
       "--settle-time=60s", "--watch-user=" + user});
  json seen = json::object();
  for (const bool killed : {false, true}) {
    if (killed) standby.Stop(SIGKILL);
    ASSERT_TRUE(standby.Start()) << standby.Log();
    EXPECT_TRUE(Eventually(
        [&] {
          seen = StatusOf(standby, volume.image);
          return seen.value("state", "") == "IN_STEP";
        },
        kSoon))
        << seen << standby.Log();
    EXPECT_EQ(seen.value("role", ""), "SECONDARY") << seen;
    EXPECT_EQ(seen.value("interval_seconds", 0), 60) << seen;
    EXPECT_NE(seen.value("volume_name", ""), "") << seen;
    const std::string metrics = HttpGet("http://127.0.0.1:29643/metrics").body;
    for (const char* const name :
         {"watched_pools 2", "replication_role{", "replication_lag_ratio{",
          "replication_schedule_interval_seconds{", "fence_look_ok{",
          "replication_schedules_known{"}) {
      EXPECT_THAT(metrics, HasSubstr(absl::StrCat("\nrbd_addons_", name)));
    }
    for (const absl::string_view line : absl::StrSplit(metrics, '\n')) {
      if (absl::StartsWith(line, "rbd_addons_") &&
          absl::StrContains(line, "look_ok{")) {
        EXPECT_TRUE(absl::EndsWith(line, " 1")) << line;
      }
    }
  }
  EXPECT_FALSE(absl::StrContains(standby.Log(), key));
  // The bed has pools that its capabilities leave out.
  EXPECT_FALSE(absl::StrContains(standby.Log(), "not all that is mirrored"));

  // It cannot change anything, neither through the daemon nor without it.
  const CliResult forced =
      RbdAddons(standby, {"promote", volume.id_b, "--force", "--yes",
                          "--secrets-file", user, "--timeout", "60s"});
  EXPECT_NE(forced.code, 0);
  EXPECT_FALSE(IsPrimary("b", volume));
  std::ofstream(Bed().Path("reader.keyring"))
      << "[client.reader]\n\tkey = " << key << "\n";
  const auto as_reader = [&](const std::string& command) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe, cert-env33-c)
    return std::system(absl::StrCat("CEPH_CONF='", Bed().Path("b/ceph.conf"),
                                    "' ", command, " --id reader --keyring '",
                                    Bed().Path("reader.keyring"),
                                    "' </dev/null >/dev/null 2>&1")
                           .c_str());
  };
  EXPECT_EQ(as_reader(absl::StrCat("rbd ls ", RealBed::kPool)), 0);
  for (const std::string& change :
       {absl::StrCat("rbd create --size 1 ", RealBed::kPool, "/new"),
        absl::StrCat("rbd image-meta set ", ImageSpec(volume), " k v"),
        absl::StrCat("rados -p ", RealBed::kPool, " put o /etc/passwd"),
        absl::StrCat("rbd mirror snapshot schedule add --pool ", RealBed::kPool,
                     " 5m"),
        std::string("ceph osd blocklist add 10.9.9.9:0/1")}) {
    EXPECT_NE(as_reader(change), 0) << change;
  }
}

}  // namespace
}  // namespace addons::testing
