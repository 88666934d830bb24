// rbd-addons doctor through the socket, on simulated clusters: each fault is
// named, and gone once its remedy was applied.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/cidr.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "ceph/client_options.h"
#include "ceph/errors.h"
#include "ceph/image_objects.h"
#include "cli/commands.h"
#include "cli/inspection.h"
#include "doctor/check_cluster.h"
#include "doctor/check_key_type.h"
#include "doctor/check_limits.h"
#include "identity/identity.grpc.pb.h"
#include "networkfence/helper_marker.h"
#include "tests/rpc/replication_server.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Found {
  int exit_code = -1;
  nlohmann::json findings;
  std::string text;

  /// "OK", "PROBLEM" and so on; "" when there is no such check.
  std::string Verdict(const std::string& id) const { return Of(id, "verdict"); }
  std::string Of(const std::string& id, const std::string& field) const {
    for (const auto& finding : findings) {
      if (finding.value("id", "") == id) return finding.value(field, "");
    }
    return "";
  }
};

constexpr char kTriedWrite[] = "rados_write_op_omap_rm_keys2";
constexpr char kTriedClass[] = "rbd.mirror_image_snapshot_set_copy_progress";

class DoctorTest : public ::testing::Test {
 protected:
  std::string WriteSecrets(const std::string& key) {
    dir_.Write("secrets.json",
               absl::StrCat(R"({"userID": ")", server_.a.user()->id,
                            R"(", "userKey": ")", key, R"("})"));
    return dir_.File("secrets.json");
  }
  Found Run(const std::vector<std::string>& more = {},
            const std::string& key = "") {
    const std::string secrets =
        WriteSecrets(key.empty() ? server_.a.user()->key.Reveal() : key);
    std::vector<std::string> arguments = {
        "rbd-addons", "doctor", "--admin-endpoint", server_.admin_endpoint(),
        "--timeout",  "120",    "--secrets-file",   secrets};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    Found found;
    found.exit_code = RunCli(arguments, in, out, err);
    found.text = out.str() + err.str();
    const auto json = ParseJson(out.str());
    if (json.is_object()) {
      found.findings = json.value("findings", nlohmann::json::array());
    }
    return found;
  }
  Found Json(std::vector<std::string> more = {}) {
    more.emplace_back("--json");
    return Run(more);
  }
  /// A site in order: a mirrored volume of which both sites report.
  void Start() {
    server_.AddMirrored();
    server_.world.Advance(std::chrono::minutes(2));
    server_.Start();
  }
  /// But for the changes that are tried, which have nothing to change.
  void ExpectNothingChanged() {
    std::set<std::string> tried;
    for (const CallRecord& call : server_.world.Calls()) {
      if (!call.mutation) continue;
      tried.insert(call.call);
      EXPECT_THAT(call.object, AnyOf(HasSubstr("rbd_addons.doctor"),
                                     HasSubstr("rbd-addons-doctor")));
    }
    EXPECT_THAT(tried, ElementsAre("rados_mgr_command", "rados_mon_command",
                                   kTriedWrite, kTriedClass));
    EXPECT_FALSE(
        server_.a.HasOmap(MirroredPair::kPool, "", "rbd_addons.doctor"));
    const auto cluster = server_.pair.cluster(server_.a);
    EXPECT_EQ(
        cluster->MonCommand(R"({"prefix":"osd blocklist ls","format":"json"})")
            .value(),
        "[][]");
    EXPECT_EQ(cluster->MgrCommand(R"({"prefix":"rbd task list"})").value(),
              "[]\n");
    EXPECT_EQ(
        cluster->MgrCommand(R"({"prefix":"rbd mirror snapshot schedule list"})")
            .value(),
        "{}\n");
  }
  void FailCalls(const std::string& name, int error) {
    server_.world.SetCallHook(
        [name, error](absl::string_view, absl::string_view call, bool) {
          return call == name ? error : 0;
        });
  }

  const TempDir dir_;
  const std::string image_ = MirroredPair::ImageOf(ReplicationServer::kUuid);
  ReplicationServer server_;
};

TEST_F(DoctorTest, WhatIsInOrderIsSaidToBe) {
  Start();
  server_.world.ClearCalls();
  const Found found = Json();
  EXPECT_EQ(found.exit_code, 0) << found.text;
  for (const char* const id :
       {"config.readable", "config.site-clusters", "config.mapping",
        "cluster.connect", "cluster.key",          "caps.blocklist",
        "caps.manager",    "caps.mirror-daemons",  "caps.osd-map",
        "clock.host",      "mirror.mode",          "mirror.peer",
        "mirror.daemon",   "mirror.peer-daemon",   "caps.write",
        "caps.fence",      "caps.unfence",         "caps.evict",
        "caps.schedule",   "caps.flatten",         "cluster.key-type",
        "cluster.release", "clock.monitors",       "schedule.kept"}) {
    EXPECT_EQ(found.Verdict(id), "OK") << id << ": " << found.Of(id, "seen");
  }
  ExpectNothingChanged();
  EXPECT_THAT(Run().text, HasSubstr("0 problems, 0 unclear, "));
  EXPECT_THAT(server_.log(), Not(HasSubstr(server_.a.user()->key.Reveal())));
}

TEST_F(DoctorTest, WhatAPoolOverridesIsNamed) {
  Start();
  server_.a.SetOmap(MirroredPair::kPool, "", "rbd_info",
                    {{"metadata_conf_rbd_plugins", "parent_cache"},
                     {"metadata_conf_rbd_cache", "false"},
                     {"metadata_conf_rbd_default_order", "20"}});
  const Found found = Json();
  EXPECT_EQ(found.exit_code, kWouldNotWork);
  EXPECT_EQ(found.Verdict("pool.options"), "PROBLEM");
  EXPECT_THAT(found.Of("pool.options", "seen"),
              AllOf(HasSubstr("rbd_plugins=parent_cache"),
                    Not(HasSubstr("rbd_cache")), Not(HasSubstr("order"))));
}

TEST_F(DoctorTest, AConfigurationThatCannotBeReadIsNamed) {
  server_.RemoveConfig();
  Start();
  const Found found = Json();
  EXPECT_EQ(found.exit_code, kWouldNotWork);
  EXPECT_EQ(found.Verdict("config.readable"), "PROBLEM");
  EXPECT_THAT(found.Of("config.readable", "seen"), HasSubstr("config.json"));
  server_.WriteConfig("");
  EXPECT_EQ(Json().Verdict("config.readable"), "OK");
}

TEST_F(DoctorTest, WithoutAConfigurationNoUserIsAskedFor) {
  server_.RemoveConfig();
  Start();
  const auto run = [&](std::string* text) {
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    const int code = RunCli(
        {"rbd-addons", "doctor", "--admin-endpoint", server_.admin_endpoint()},
        in, out, err);
    *text = out.str() + err.str();
    return code;
  };
  std::string text;
  EXPECT_EQ(run(&text), kWouldNotWork);
  EXPECT_THAT(text, AllOf(HasSubstr("config.json"), HasSubstr("write or mend"),
                          Not(HasSubstr("--secrets-file"))));
  server_.WriteConfig("");
  EXPECT_EQ(run(&text), kCliUsage);
  EXPECT_THAT(text, HasSubstr("--secrets-file"));
}

// The daemon goes on with what it read before, and shows nothing of it until it
// is started again.
TEST_F(DoctorTest, AFileThatWasBrokenLaterIsNamed) {
  Start();
  EXPECT_EQ(Json().Verdict("config.readable"), "OK");
  server_.RemoveConfig();
  const Found found = Json();
  EXPECT_EQ(found.exit_code, kWouldNotWork);
  EXPECT_EQ(found.Verdict("config.readable"), "PROBLEM");
  EXPECT_THAT(found.Of("config.readable", "seen"),
              AllOf(HasSubstr("config.json"), HasSubstr("read before")));
  EXPECT_EQ(found.Verdict("cluster.connect"), "OK");
  server_.WriteConfig("");
  EXPECT_EQ(Json().exit_code, 0);
  server_.WriteMapping("[");
  EXPECT_THAT(Json().Of("config.readable", "seen"),
              HasSubstr("cluster-mapping.json"));
}

TEST_F(DoctorTest, AnEntryThatIsBrokenIsNamed) {
  Start();
  server_.WriteConfig(R"(}, {"clusterID": "other", "monitors": [])");
  const Found found = Json();
  EXPECT_EQ(found.exit_code, kWouldNotWork);
  EXPECT_EQ(found.Verdict("config.readable"), "OK");
  EXPECT_EQ(found.Verdict("config.entry"), "PROBLEM");
  EXPECT_THAT(found.Of("config.entry", "seen"), HasSubstr("other"));
  server_.WriteConfig("");
  EXPECT_EQ(Json().Verdict("config.entry"), "");
}

TEST_F(DoctorTest, TheNamespaceOfAnEntryIsWhatIsLookedAt) {
  Start();
  server_.WriteConfig(R"(, "rbd": {"radosNamespace": "tenant"})");
  server_.a.SetPoolMirrorMode(MirroredPair::kPool, "tenant",
                              PoolMirrorMode::kPool);
  const Found found = Json();
  EXPECT_EQ(found.Verdict("mirror.mode"), "PROBLEM");
  EXPECT_THAT(found.Of("mirror.mode", "object"),
              HasSubstr("namespace 'replicapool/tenant'"));
  EXPECT_THAT(found.Of("mirror.mode", "remedy"),
              HasSubstr("rbd mirror pool enable replicapool/tenant image"));
  server_.a.SetPoolMirrorMode(MirroredPair::kPool, "tenant",
                              PoolMirrorMode::kImage);
  EXPECT_EQ(Json().Verdict("mirror.mode"), "OK");
}

TEST_F(DoctorTest, ASidecarThatHasNotCalledIsNamed) {
  Start();
  const Found found = Json();
  EXPECT_EQ(found.Verdict("sidecar.calls"), "WARNING");
  EXPECT_EQ(found.exit_code, 0);
  // As it does when it starts.
  grpc::ClientContext context;
  const ::identity::GetIdentityRequest request;
  ::identity::GetIdentityResponse response;
  ASSERT_TRUE(::identity::Identity::NewStub(server_.Channel())
                  ->GetIdentity(&context, request, &response)
                  .ok());
  EXPECT_EQ(Json().Verdict("sidecar.calls"), "OK");
}

TEST_F(DoctorTest, BothSitesInOneConfigurationNeedTheirNames) {
  server_.WriteConfig(
      R"(}, {"clusterID": "site-b", "monitors": ["site-b:6789"])");
  Start();
  const Found found = Json();
  EXPECT_EQ(found.exit_code, kWouldNotWork);
  EXPECT_EQ(found.Verdict("config.site-clusters"), "PROBLEM");
  EXPECT_THAT(found.Of("config.site-clusters", "remedy"),
              HasSubstr("--site-clusters=site-a"));
}

TEST_F(DoctorTest, AKeyThatTheClusterRefusesIsNamedAndNotShown) {
  Start();
  const std::string key = "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
  const Found found = Run({"--json"}, key);
  EXPECT_EQ(found.exit_code, kWouldNotWork);
  EXPECT_EQ(found.Verdict("cluster.key"), "PROBLEM");
  EXPECT_THAT(found.text, Not(HasSubstr(key)));
  // What could not be asked is not said to be in order.
  EXPECT_EQ(found.Verdict("caps.blocklist"), "");
}

TEST_F(DoctorTest, AClusterThatIsSilentIsNamed) {
  Start();
  server_.WriteConfig(
      R"(}, {"clusterID": "gone", "monitors": ["nowhere:6789"])");
  const Found found = Json();
  EXPECT_EQ(found.exit_code, kWouldNotWork);
  EXPECT_THAT(found.text, HasSubstr("cluster 'gone'"));
  // The other one is reported all the same.
  EXPECT_EQ(found.Verdict("mirror.mode"), "OK");
}

TEST_F(DoctorTest, WhatTheUserMayNotIsToldFromWhatGotNoAnswer) {
  Start();
  FailCalls("rados_mgr_command", EACCES);
  const Found refused = Json();
  EXPECT_EQ(refused.Verdict("caps.manager"), "PROBLEM");
  EXPECT_EQ(refused.Verdict("caps.mirror-daemons"), "PROBLEM");
  EXPECT_THAT(refused.Of("caps.mirror-daemons", "remedy"),
              HasSubstr("allow command \"service status\""));
  FailCalls("rados_mgr_command", ETIMEDOUT);
  const Found silent = Json();
  EXPECT_EQ(silent.Verdict("caps.manager"), "UNCLEAR");
  EXPECT_EQ(silent.exit_code, kWouldNotWork);
  FailCalls("rados_mon_command", EACCES);
  const Found found = Json();
  EXPECT_EQ(found.Verdict("caps.blocklist"), "PROBLEM");
  EXPECT_THAT(found.Of("caps.blocklist", "remedy"),
              HasSubstr("allow command \"osd blocklist\""));
  EXPECT_EQ(found.Verdict("caps.osd-map"), "PROBLEM");
  server_.world.SetCallHook(nullptr);
  EXPECT_EQ(Json().exit_code, 0);
}

TEST_F(DoctorTest, ThatTheClientIsOnTheBlocklistIsAProblem) {
  Start();
  EXPECT_EQ(Json().Verdict("cluster.blocklisted"), "");
  FailCalls("rbd_mirror_mode_get", ESHUTDOWN);
  const Found found = Json();
  EXPECT_EQ(found.Verdict("cluster.blocklisted"), "PROBLEM") << found.text;
  EXPECT_THAT(found.Of("cluster.blocklisted", "seen"),
              HasSubstr("somebody has fenced this node"));
  EXPECT_THAT(found.Of("cluster.blocklisted", "remedy"),
              HasSubstr("ceph osd blocklist ls"));
}

// What could not be seen is named in one line, and nothing follows from it.
TEST_F(DoctorTest, WhatAClientOnTheBlocklistCannotSeeIsOneLine) {
  server_.a.AddPool(9, "other");
  Start();
  EXPECT_EQ(Json().Verdict("mirror.pools"), "");
  FailCalls("rbd_mirror_mode_get", ESHUTDOWN);
  Found found = Json();
  EXPECT_EQ(found.exit_code, kWouldNotWork);
  EXPECT_EQ(found.Verdict("mirror.pools"), "") << found.text;
  EXPECT_EQ(found.Verdict("mirror.mode"), "") << found.text;
  EXPECT_EQ(found.Verdict("cluster.not-seen"), "UNCLEAR") << found.text;
  EXPECT_THAT(found.Of("cluster.not-seen", "seen"),
              EndsWith("is on the blocklist: mirror.mode"));
  EXPECT_THAT(found.Of("cluster.not-seen", "remedy"),
              HasSubstr("from the blocklist"));
  // The same where only what comes later is not seen.
  FailCalls("rbd_mirror_image_global_status_list", ESHUTDOWN);
  found = Json();
  EXPECT_EQ(found.Verdict("cluster.blocklisted"), "PROBLEM") << found.text;
  EXPECT_EQ(found.Verdict("mirror.mode"), "OK");
  EXPECT_EQ(found.Verdict("mirror.daemon"), "");
  EXPECT_THAT(found.Of("cluster.not-seen", "seen"), HasSubstr("mirror.daemon"));
  for (const auto& finding : found.findings) {
    EXPECT_FALSE(absl::StartsWith(finding.value("id", ""), "schedule."))
        << found.text;
  }
}

// That no pool is mirrored is said where all were seen.
TEST_F(DoctorTest, APoolThatIsNotSeenMayBeMirrored) {
  Start();
  for (const int error : {EPERM, EIO, ETIMEDOUT}) {
    FailCalls("rbd_mirror_mode_get", error);
    const Found found = Json();
    EXPECT_EQ(found.Verdict("mirror.pools"), "") << found.text;
    EXPECT_EQ(found.Verdict("mirror.mode"),
              error == EPERM ? "PROBLEM" : "UNCLEAR");
  }
}

TEST_F(DoctorTest, AClusterThatStopsAnsweringIsNotAskedOn) {
  Start();
  FailCalls("rados_mon_command", ETIMEDOUT);
  const Found found = Json();
  EXPECT_EQ(found.exit_code, kWouldNotWork);
  EXPECT_EQ(found.Verdict("cluster.connect"), "PROBLEM");
  EXPECT_EQ(found.Verdict("cluster.key"), "");
  EXPECT_EQ(found.Verdict("caps.blocklist"), "");
  EXPECT_EQ(found.Verdict("cluster.not-asked"), "UNCLEAR");
  EXPECT_EQ(server_.CallsTo("rados_mgr_command"), 0U);
}

/// How many lines `text` has, and the first of them.
std::pair<size_t, std::string> Lines(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  return {lines.size() - 1, lines.front()};
}

// It is the first thing that is said, with what to type, and all of it.
TEST_F(DoctorTest, ADeadClusterIsSaidFirstAndOnce) {
  Start();
  EXPECT_EQ(Json().exit_code, 0);
  // Another problem, which is found before.
  server_.WriteConfig(R"(}, {"clusterID": "other", "monitors": [])");
  server_.a.SetClusterUp(false);
  const Found found = Json();
  EXPECT_EQ(found.exit_code, kWouldNotWork);
  EXPECT_EQ(found.Verdict("config.entry"), "PROBLEM");
  ASSERT_FALSE(found.findings.empty());
  EXPECT_EQ(found.findings.front().value("id", ""), "cluster.connect");
  EXPECT_EQ(found.Verdict("cluster.connect"), "PROBLEM");
  EXPECT_THAT(found.Of("cluster.connect", "seen"),
              ::testing::ContainsRegex("no monitor of cluster 'site-a' "
                                       "answered for [1-9][0-9]* s; those of "
                                       "config.json are site-a:6789"));
  EXPECT_THAT(found.Of("cluster.connect", "remedy"), StartsWith("ceph -s, "));
  EXPECT_EQ(std::count_if(found.findings.begin(), found.findings.end(),
                          [](const nlohmann::json& finding) {
                            return finding.value("verdict", "") == "UNCLEAR";
                          }),
            1);
  const std::string text = Run().text;
  EXPECT_THAT(Lines(text).second, StartsWith("problem  cluster.connect"));
  EXPECT_THAT(text, AllOf(HasSubstr("2 problems, 1 unclear, "),
                          EndsWith("next: ceph -s, on a host of that cluster; "
                                   "then rbd-addons doctor again\n")));
  server_.WriteConfig("");
  server_.a.SetClusterUp(true);
  EXPECT_EQ(Json().exit_code, 0);
  EXPECT_THAT(Run().text, Not(HasSubstr("next: ")));
}

// Monitors answer, and what comes after the manager's silence is one line.
TEST_F(DoctorTest, WhatIsNotAskedAnyMoreIsOneLine) {
  Start();
  FailCalls("rados_mgr_command", ETIMEDOUT);
  const Found found = Json();
  EXPECT_EQ(found.Verdict("cluster.connect"), "OK");
  EXPECT_EQ(found.Verdict("caps.manager"), "UNCLEAR");
  EXPECT_EQ(found.Verdict("caps.mirror-daemons"), "");
  EXPECT_THAT(
      found.Of("cluster.not-asked", "seen"),
      AllOf(HasSubstr("caps.mirror-daemons"), HasSubstr("mirror.mode")));
  EXPECT_THAT(Run().text, HasSubstr("0 problems, 2 unclear, "));
}

// Sites whose clusters have one id map only the numbers of their pools.
TEST_F(DoctorTest, AClusterThatIsMappedOntoItselfIsNoOther) {
  Start();
  server_.WriteMapping(R"([{"clusterIDMapping": {"site-a": "site-a"},
                            "RBDPoolIDMapping": [{"2": "5"}]}])");
  const Found found = Json();
  EXPECT_EQ(found.Verdict("config.site-clusters"), "OK")
      << found.Of("config.site-clusters", "seen");
}

TEST_F(DoctorTest, AMissingLineOfTheMappingIsNamed) {
  Start();
  EXPECT_EQ(Json().Verdict("config.pool-mapping"), "OK");
  server_.WriteMapping(R"([{"clusterIDMapping": {"site-a": "site-b"}}])");
  Found found = Json();
  EXPECT_EQ(found.Verdict("config.mapping"), "OK");
  EXPECT_EQ(found.Verdict("config.pool-mapping"), "WARNING");
  EXPECT_THAT(found.Of("config.pool-mapping", "remedy"),
              HasSubstr("RBDPoolIDMapping"));
  server_.WriteMapping("[]");
  found = Json();
  EXPECT_EQ(found.Verdict("config.mapping"), "WARNING");
  EXPECT_EQ(found.Verdict("config.pool-mapping"), "");
}

TEST_F(DoctorTest, AHostThatIsBehindIsNamed) {
  Start();
  server_.a.SetClockSkew(std::chrono::hours(1));
  // The time of the map is that of its last change.
  server_.a.AddBlocklistEntry("192.0.2.1:0/0", std::chrono::hours(1));
  const Found found = Json();
  EXPECT_EQ(found.Verdict("clock.host"), "PROBLEM");
  EXPECT_THAT(found.Of("clock.host", "seen"), HasSubstr("ahead of this host"));
}

TEST_F(DoctorTest, APoolThatIsNotMirroredImageByImageIsNamed) {
  server_.a.SetPoolMirrorMode(MirroredPair::kPool, "", PoolMirrorMode::kPool);
  server_.Start();
  const Found found = Json();
  EXPECT_EQ(found.Verdict("mirror.mode"), "PROBLEM");
  EXPECT_THAT(found.Of("mirror.mode", "remedy"),
              HasSubstr("rbd mirror pool enable replicapool image"));
  server_.a.SetPoolMirrorMode(MirroredPair::kPool, "",
                              PoolMirrorMode::kDisabled);
  EXPECT_EQ(Json().Verdict("mirror.pools"), "WARNING");
}

TEST_F(DoctorTest, ASilentMirrorDaemonIsNamedBySite) {
  Start();
  server_.a.SetMirrorDaemon(DaemonState::kDown);
  server_.world.Advance(std::chrono::minutes(2));
  Found found = Json();
  EXPECT_EQ(found.Verdict("mirror.daemon"), "PROBLEM");
  EXPECT_EQ(found.exit_code, kWouldNotWork);
  server_.a.SetMirrorDaemon(DaemonState::kRunning);
  server_.b.SetMirrorDaemon(DaemonState::kDown);
  server_.world.Advance(std::chrono::minutes(2));
  found = Json();
  EXPECT_EQ(found.Verdict("mirror.daemon"), "OK");
  EXPECT_EQ(found.Verdict("mirror.peer-daemon"), "PROBLEM");
}

// Without a mirrored image no rbd-mirror reports.
TEST_F(DoctorTest, APoolWithoutVolumesIsServedByThoseWhoWatchIt) {
  server_.Start();
  Found found = Json();
  EXPECT_EQ(found.Verdict("mirror.daemon"), "OK");
  EXPECT_THAT(found.Of("mirror.daemon", "seen"), HasSubstr("client."));
  server_.a.SetMirrorDaemon(DaemonState::kDown);
  server_.b.SetMirrorDaemon(DaemonState::kDown);
  server_.world.Advance(std::chrono::minutes(2));
  found = Json();
  EXPECT_EQ(found.Verdict("mirror.daemon"), "UNCLEAR");
  EXPECT_THAT(found.Of("mirror.daemon", "remedy"),
              StartsWith("start rbd-mirror on this site"));
  EXPECT_EQ(found.exit_code, kWouldNotWork);
}

// Without a mirrored pool, a mapping or a sidecar there is nothing to replicate
// yet, and nothing is wrong.
TEST_F(DoctorTest, ANewInstallationIsInOrder) {
  server_.WriteMapping("[]");
  server_.Start();
  EXPECT_EQ(Json().exit_code, 0) << Run().text;
  server_.a.SetPoolMirrorMode(MirroredPair::kPool, "",
                              PoolMirrorMode::kDisabled);
  const Found found = Json();
  EXPECT_EQ(found.exit_code, 0) << Run().text;
  EXPECT_EQ(found.Verdict("mirror.pools"), "WARNING");
  EXPECT_EQ(found.Verdict("config.mapping"), "WARNING");
  EXPECT_EQ(found.Verdict("sidecar.calls"), "WARNING");
  EXPECT_THAT(Run().text, Not(HasSubstr("next: ")));
}

// --- before a hand-over

const std::vector<std::string> kConfirmed = {
    "--before-handover", "--confirmed",        "handover.built-in-server",
    "--confirmed",       "handover.resources", "--confirmed",
    "handover.replicas", "--confirmed",        "handover.other-site"};

TEST_F(DoctorTest, BeforeAHandoverOnlyWhatAPersonCanSeeIsLeftToConfirm) {
  Start();
  // librbd's list of images, which the simulated one does not keep.
  server_.a.AddOmapValue(
      MirroredPair::kPool, "", "rbd_directory",
      absl::StrCat("id_", server_.a.ImageId(image_)),
      std::string({static_cast<char>(image_.size()), 0, 0, 0}) + image_);
  const Found found = Json({"--before-handover"});
  EXPECT_EQ(found.exit_code, kWouldNotWork);
  for (const char* const id : {"handover.built-in-server", "handover.resources",
                               "handover.replicas", "handover.other-site"}) {
    EXPECT_EQ(found.Verdict(id), "CONFIRM") << id;
  }
  EXPECT_THAT(found.Of("handover.built-in-server", "remedy"),
              HasSubstr("kubectl get csiaddonsnodes"));
  for (const char* const id :
       {"handover.moves", "handover.volumes", "handover.clones",
        "handover.groups", "handover.leftovers", "handover.fences"}) {
    EXPECT_EQ(found.Verdict(id), "OK") << id << ": " << found.Of(id, "seen");
  }
  EXPECT_THAT(Run({"--before-handover"}).text,
              AllOf(HasSubstr("confirm  handover.resources\n"),
                    HasSubstr("\n  do: "), HasSubstr("4 for a person"),
                    HasSubstr("before a hand-over: not safe yet\n"),
                    Not(HasSubstr("config.readable"))));
  EXPECT_THAT(Run({"--all"}).text, AllOf(HasSubstr("ok  config.readable\n"),
                                         Not(HasSubstr("hand-over"))));
}

TEST_F(DoctorTest, BeforeAHandoverWhatIsConfirmedEndsWithSafe) {
  Start();
  server_.world.ClearCalls();
  const Found found = Run(kConfirmed);
  EXPECT_EQ(found.exit_code, 0) << found.text;
  EXPECT_THAT(found.text, HasSubstr("before a hand-over: safe\n"));
  ExpectNothingChanged();
  // Each of them is needed.
  std::vector<std::string> less(kConfirmed.begin(), kConfirmed.end() - 2);
  EXPECT_EQ(Run(less).exit_code, kWouldNotWork);
}

TEST_F(DoctorTest, WhatTheDaemonCanSeeIsNotForAPersonToConfirm) {
  Start();
  const Found found =
      Run({"--before-handover", "--confirmed", "handover.moves"});
  EXPECT_EQ(found.exit_code, 3) << found.text;
  EXPECT_THAT(found.text, AllOf(HasSubstr("handover.other-site"),
                                HasSubstr("the rest is looked at")));
}

TEST_F(DoctorTest, AVolumeInTheMiddleOfAMoveIsNoTimeForAHandover) {
  Start();
  server_.a.Demote(image_);
  server_.world.Advance(std::chrono::minutes(2));
  Found found = Run(kConfirmed);
  EXPECT_EQ(found.exit_code, kWouldNotWork);
  EXPECT_THAT(found.text,
              AllOf(HasSubstr("handover.moves"), HasSubstr("it is demoted"),
                    HasSubstr("not safe yet")));
  server_.b.Promote(image_, Force::kNo);
  server_.world.Advance(std::chrono::minutes(2));
  found = Run(kConfirmed);
  EXPECT_EQ(found.exit_code, 0) << found.text;
  // The other side of a move is as good a place to look.
  server_.b.Demote(image_);
  server_.world.Advance(std::chrono::minutes(2));
  EXPECT_EQ(Run(kConfirmed).exit_code, kWouldNotWork);
}

TEST_F(DoctorTest, ASplitBrainIsNoTimeForAHandover) {
  Start();
  server_.a.ForceSplitBrain(image_);
  server_.world.Advance(std::chrono::minutes(2));
  EXPECT_EQ(Json(kConfirmed).Verdict("handover.moves"), "PROBLEM");
}

TEST_F(DoctorTest, ASecondaryWhosePeerIsSilentIsUnclearBeforeAHandover) {
  Start();
  server_.a.Demote(image_);
  server_.world.Advance(std::chrono::minutes(1));
  server_.b.Promote(image_, Force::kNo);
  server_.world.Advance(std::chrono::minutes(1));
  server_.b.SetClusterUp(false);
  server_.world.Advance(std::chrono::minutes(5));
  const Found found = Json(kConfirmed);
  EXPECT_EQ(found.Verdict("handover.moves"), "UNCLEAR")
      << found.Of("handover.moves", "seen");
  EXPECT_EQ(found.exit_code, kWouldNotWork);
}

TEST_F(DoctorTest, AGroupThatIsNotWholeIsNoTimeForAHandover) {
  server_.a.AddOmapValue(MirroredPair::kPool, "", "csi.groups.default",
                         "csi.volume.group.half",
                         ReplicationServer::kGroupUuid);
  Start();
  const Found found = Json(kConfirmed);
  EXPECT_EQ(found.Verdict("handover.groups"), "PROBLEM");
  EXPECT_THAT(found.Of("handover.groups", "seen"),
              HasSubstr("the name 'half' is reserved for a volume group"));
}

TEST_F(DoctorTest, AFenceThatIsHalfChangedIsNoTimeForAHandover) {
  Start();
  server_.a.AddRangeBlocklistEntry("192.168.1.0:0/24", std::chrono::hours(100));
  // One that is as it is to be is taken over.
  EXPECT_EQ(Json(kConfirmed).Verdict("handover.fences"), "OK");
  server_.a.AddBlocklistEntry(
      HelperMarker{*Cidr::Parse("192.168.1.0/24"), 3}.Key().argument,
      std::chrono::hours(100));
  const Found found = Json(kConfirmed);
  EXPECT_EQ(found.Verdict("handover.fences"), "PROBLEM");
  EXPECT_THAT(found.Of("handover.fences", "remedy"),
              HasSubstr("rbd-addons fence 192.168.1.0/24"));
}

// --- more that is looked at of a cluster

using Answers = std::map<std::string, std::string>;
/// The errno that a command of a monitor or manager is answered with; 0: none.
using Refusal = std::function<int(const nlohmann::json& command)>;

/// A cluster whose monitors answer some commands otherwise, and refuse others,
/// as the manager does.
class TellingCluster final : public Cluster, public ClientOptions {
 public:
  TellingCluster(std::shared_ptr<Cluster> inner, const Answers& answers,
                 const Refusal& refusal)
      : inner_(std::move(inner)), answers_(answers), refusal_(refusal) {}
  const std::string& fsid() const override { return inner_->fsid(); }
  absl::StatusOr<std::unique_ptr<Pool>> OpenPool(
      int64_t pool_id, const std::string& rados_namespace,
      Access access) override {
    return inner_->OpenPool(pool_id, rados_namespace, access);
  }
  absl::StatusOr<std::string> MonCommand(const std::string& json) override {
    const auto command = ParseJson(json);
    const auto told = answers_.find(command.value("prefix", ""));
    if (told != answers_.end()) return told->second;
    ADDONS_RETURN_IF_ERROR(Refused(command));
    return inner_->MonCommand(json);
  }
  absl::StatusOr<std::string> MgrCommand(const std::string& json) override {
    ADDONS_RETURN_IF_ERROR(Refused(ParseJson(json)));
    return inner_->MgrCommand(json);
  }
  absl::StatusOr<std::string> ConfiguredOption(
      const std::string& name) override {
    const auto told = answers_.find(name);
    if (told != answers_.end()) return told->second;
    return absl::NotFoundError(name);
  }
  absl::Status SnapshotTogether(const std::vector<PlacedImage>& images,
                                const std::string& snapshot) override {
    return inner_->SnapshotTogether(images, snapshot);
  }
  std::vector<uint64_t> OwnClientIds() override {
    return inner_->OwnClientIds();
  }
  std::vector<std::string> OwnAddresses() override {
    return inner_->OwnAddresses();
  }
  absl::Status WaitForLatestMap() override {
    return inner_->WaitForLatestMap();
  }

 private:
  absl::Status Refused(const nlohmann::json& command) const {
    const int error = refusal_ ? refusal_(command) : 0;
    return error == 0 ? absl::OkStatus()
                      : CephError(-error, "run", command.dump());
  }

  const std::shared_ptr<Cluster> inner_;
  const Answers& answers_;
  const Refusal& refusal_;
};

class CheckClusterTest : public ::testing::Test, private ClusterProvider {
 protected:
  CheckClusterTest() {
    pair_.AddMirroredVolume(pair_.a(), ReplicationServer::kUuid);
    world_.Advance(std::chrono::minutes(2));
    dir_.Write("config.json",
               R"([{"clusterID": "site-a", "monitors": ["site-a:6789"]}])");
    dir_.Write("cluster-mapping.json", pair_.MappingJson());
  }
  /// What is found while the monitors answer that.
  std::map<std::string, Finding> Check(const Answers& answers = {},
                                       Refusal refusal = nullptr) {
    answers_ = answers;
    refusal_ = std::move(refusal);
    ConfigStore store(dir_.path());
    const auto config = store.Current();
    EXPECT_OK(config);
    std::map<std::string, Finding> found;
    if (!config.ok()) return found;
    mirrored_.clear();
    for (Finding& finding :
         CheckCluster(*this, **config, (*config)->entries().front(),
                      pair_.a().user(), world_, &mirrored_)) {
      found.emplace(finding.id, finding);
    }
    return found;
  }

  const TempDir dir_;
  FakeWorld world_;
  MirroredPair pair_{world_};
  std::vector<MirroredPlace> mirrored_;

 private:
  absl::StatusOr<std::shared_ptr<Cluster>> Connect(
      const ClusterTarget& target, const CephUserRef& user) override {
    auto cluster = clusters_.Connect(target, user);
    if (!cluster.ok()) return cluster.status();
    return std::make_shared<TellingCluster>(*std::move(cluster), answers_,
                                            refusal_);
  }

  FakeClusterProvider clusters_{world_};
  Answers answers_;
  Refusal refusal_;
};

TEST_F(CheckClusterTest, DaemonsOfSeveralReleasesAreNamed) {
  EXPECT_THAT(Check().at("cluster.release").seen,
              AllOf(HasSubstr("16.2.15 on 3 daemons"),
                    HasSubstr("cannot be seen from here")));
  ASSERT_EQ(mirrored_.size(), 1U);
  EXPECT_EQ(mirrored_.front().place.pool_name, MirroredPair::kPool);
  const Finding finding =
      Check({{"versions",
              R"x({"overall": {"ceph version 18.2.7 (a) reef (stable)": 2, )x"
              R"x("ceph version 20.2.4 (b) tentacle (stable)": 1}})x"}})
          .at("cluster.release");
  EXPECT_EQ(finding.verdict, FindingVerdict::kWarning);
  EXPECT_THAT(finding.seen, AllOf(HasSubstr("18.2.7 on 2 daemons"),
                                  HasSubstr("20.2.4 on 1 daemon")));
  for (const char* const odd :
       {"[]", "{}", R"({"overall": {}})", R"({"overall": {"x": "y"}})"}) {
    EXPECT_EQ(Check({{"versions", odd}}).at("cluster.release").verdict,
              FindingVerdict::kUnclear)
        << odd;
  }
}

TEST_F(CheckClusterTest, OptionsOfClientsThatHarmReplicationAreNamed) {
  const char* const expiry = "rbd_blocklist_expire_seconds";
  const char* const on_break = "rbd_blocklist_on_break_lock";
  const Finding finding =
      Check({{expiry, "3600"}, {on_break, "true"}}).at("cluster.options");
  EXPECT_EQ(finding.verdict, FindingVerdict::kProblem);
  EXPECT_THAT(finding.seen, AllOf(HasSubstr("expire_seconds is 3600"),
                                  Not(HasSubstr("break_lock"))));
  EXPECT_THAT(finding.remedy,
              HasSubstr("ceph config rm client rbd_blocklist_expire_seconds"));
  EXPECT_EQ(Check({{expiry, "0"}}).at("cluster.options").verdict,
            FindingVerdict::kOk);
  EXPECT_EQ(Check({{on_break, "false"}}).at("cluster.options").verdict,
            FindingVerdict::kProblem);
}

TEST_F(CheckClusterTest, ThatRemovedSnapshotsAreNotTrimmedIsNamed) {
  const auto seen = [this](const std::string& flags, const std::string& queue) {
    return Check({{"osd dump",
                   absl::StrCat(
                       R"({"epoch": 3, "osds": [], "modified": )"
                       R"("2026-11-22T01:54:00.534338+0000", "flags": ")",
                       flags, R"(", "removed_snaps_queue": )", queue,
                       R"(, "pools": [{"pool": )", pair_.pool_id(pair_.a()),
                       R"(, "pool_name": ")", MirroredPair::kPool,
                       R"(", "pg_num": 6, "application_metadata": )"
                       R"({"rbd": {}}}]})")}})
        .at("cluster.snaptrim");
  };
  EXPECT_EQ(Check().at("cluster.snaptrim").verdict, FindingVerdict::kOk);
  const char* const three =
      R"([{"pool": 9, "snaps": [{"begin": 4, "length": 3}]}])";
  const Finding off = seen("sortbitwise,nosnaptrim", three);
  EXPECT_EQ(off.verdict, FindingVerdict::kProblem);
  EXPECT_THAT(off.seen, AllOf(HasSubstr("flag nosnaptrim is set"),
                              HasSubstr("3 removed snapshots are not")));
  EXPECT_THAT(off.remedy, HasSubstr("ceph osd unset nosnaptrim"));
  // A pool that is not seen may be mirrored.
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_mirror_mode_get" ? ESHUTDOWN : 0;
  });
  EXPECT_EQ(seen("sortbitwise,nosnaptrim", three).verdict,
            FindingVerdict::kProblem);
  world_.SetCallHook(nullptr);
  // Seconds after a snapshot was removed that is so in any cluster.
  const Finding busy = seen("sortbitwise", three);
  EXPECT_EQ(busy.verdict, FindingVerdict::kOk);
  EXPECT_THAT(busy.seen, HasSubstr("3 removed snapshots are not trimmed yet"));
}

TEST_F(CheckClusterTest, MonitorsWhoseClocksAreOffAreNamed) {
  const auto skewed = [this](const std::string& skew) {
    return Check({{"time-sync-status",
                   absl::StrCat(R"({"time_skew_status": {"a": {"skew": 0.0}, )",
                                R"("b": {"skew": )", skew, "}}}")}})
        .at("clock.monitors");
  };
  EXPECT_EQ(Check().at("clock.monitors").verdict, FindingVerdict::kOk);
  const Finding finding = skewed("-0.7");
  EXPECT_EQ(finding.verdict, FindingVerdict::kProblem);
  EXPECT_THAT(finding.seen,
              AllOf(HasSubstr("mon.b by -700ms"), Not(HasSubstr("mon.a"))));
  EXPECT_EQ(skewed("0.01").verdict, FindingVerdict::kOk);
  EXPECT_EQ(skewed("\"much\"").verdict, FindingVerdict::kUnclear);
}

struct RefusedCommand {
  std::string id;
  Refusal refusal;
  const char* fails;   // in the remedy
  const char* remedy;  // in it, too
};

/// Answers `error` to commands that begin with `prefix` and have `key` set to
/// `value`.
Refusal Refuses(const std::string& prefix, const std::string& key,
                const std::string& value, int error = EACCES) {
  return [=](const nlohmann::json& command) {
    return absl::StartsWith(command.value("prefix", ""), prefix) &&
                   (key.empty() || command.value(key, "") == value)
               ? error
               : 0;
  };
}

TEST_F(CheckClusterTest, WhichVerbFailsIsToldOfEachChangeThatIsRefused) {
  constexpr char kBlocklist[] = "allow command \"osd blocklist\"";
  constexpr char kProfile[] = "profile rbd pool=replicapool, or allow rw";
  constexpr char kSchedule[] = "rbd mirror snapshot schedule ";
  const std::vector<RefusedCommand> refusals = {
      {"caps.fence", Refuses("osd blocklist", "range", "range"), "fences fail",
       kBlocklist},
      {"caps.unfence", Refuses("osd blocklist", "blocklistop", "rm"),
       "unfencing fails", kBlocklist},
      {"caps.evict", Refuses("osd blocklist", "range", ""),
       "forced promotions fail", kBlocklist},
      {"caps.schedule", Refuses(absl::StrCat(kSchedule, "add"), "", ""),
       "promote with a schedulingInterval fail", kProfile},
      {"caps.schedule", Refuses(absl::StrCat(kSchedule, "remove"), "", ""),
       "disable where there is a schedule", kProfile},
      {"caps.flatten", Refuses("rbd task add flatten", "", ""),
       "flattens clones by itself", kProfile}};
  for (const RefusedCommand& refused : refusals) {
    const auto found = Check({}, refused.refusal);
    const Finding& finding = found.at(refused.id);
    EXPECT_EQ(finding.verdict, refused.id == "caps.flatten"
                                   ? FindingVerdict::kWarning
                                   : FindingVerdict::kProblem)
        << refused.id;
    EXPECT_THAT(finding.seen, HasSubstr("this user may not")) << refused.id;
    EXPECT_THAT(finding.remedy,
                AllOf(HasSubstr(refused.fails), HasSubstr(refused.remedy)));
  }
}

// Ceph may look at other things before it looks at what the user may: that is
// no sign of either.
TEST_F(CheckClusterTest, AnAnswerThatTellsNothingIsNotTakenForARight) {
  const auto verdicts = [this](const Refusal& refusal) {
    auto found = Check({}, refusal);
    for (const char* const id : {"caps.fence", "caps.unfence", "caps.evict"}) {
      EXPECT_THAT(found.at(id).seen, HasSubstr("not known whether"));
      EXPECT_EQ(found.at(id).verdict, FindingVerdict::kUnclear) << id;
    }
  };
  verdicts(Refuses("osd blocklist", "", "", EINVAL));
  verdicts(Refuses("osd blocklist", "", "", EAGAIN));
  for (const int error : {EAGAIN, EINVAL, EOPNOTSUPP}) {
    const auto found = Check({}, Refuses("rbd ", "", "", error));
    for (const char* const id : {"caps.schedule", "caps.flatten"}) {
      EXPECT_EQ(found.at(id).verdict, FindingVerdict::kUnclear)
          << id << " " << error << found.at(id).seen;
    }
  }
  // Nothing was asked where another question got no answer.
  const auto silent = Check({}, Refuses("osd blocklist", "", "", ETIMEDOUT));
  EXPECT_EQ(silent.count("caps.unfence"), 0U);
  EXPECT_EQ(silent.at("cluster.connect").verdict, FindingVerdict::kProblem);
  EXPECT_EQ(silent.at("cluster.not-asked").verdict, FindingVerdict::kUnclear);
}

TEST_F(CheckClusterTest, ALevelIsRefusedInTheWordsOfEachRelease) {
  for (const bool of_21 : {false, true}) {
    pair_.a().SetManagerOf21(of_21);
    const auto found = Check({}, nullptr);
    EXPECT_EQ(found.at("caps.schedule").verdict, FindingVerdict::kOk)
        << found.at("caps.schedule").seen;
  }
}

TEST_F(DoctorTest, AUserWhoMayOnlyReadIsNamed) {
  Start();
  // Objects, and what the OSDs' classes do.
  for (const char* const call : {kTriedWrite, kTriedClass}) {
    FailCalls(call, EPERM);
    const Found found = Json();
    EXPECT_EQ(found.exit_code, kWouldNotWork);
    EXPECT_EQ(found.Verdict("caps.write"), "PROBLEM") << call;
    EXPECT_THAT(found.Of("caps.write", "remedy"),
                AllOf(HasSubstr("promote"), HasSubstr("profile rbd pool=")));
  }
  FailCalls(kTriedClass, EAGAIN);
  EXPECT_EQ(Json().Verdict("caps.write"), "UNCLEAR");
  server_.world.SetCallHook(nullptr);
  EXPECT_EQ(Json().Verdict("caps.write"), "OK");
}

TEST_F(DoctorTest, ADataPoolThatTheUserMayNotWriteIntoIsNamed) {
  Start();
  EXPECT_EQ(Json().Verdict("caps.data-pool"), "");
  constexpr int64_t kDataPool = 9;
  server_.a.AddPool(kDataPool, "data");
  std::string number(8, '\0');
  number[0] = static_cast<char>(kDataPool);
  server_.a.AddOmapValue(MirroredPair::kPool, "",
                         HeaderObject(server_.a.ImageId(image_)),
                         "data_pool_id", number);
  const Found right = Json();
  EXPECT_EQ(right.Verdict("caps.data-pool"), "OK") << right.text;
  EXPECT_THAT(right.Of("caps.data-pool", "seen"), HasSubstr("pool 'data'"));

  // The first write is into the pool of the image itself.
  int writes = 0;
  server_.world.SetCallHook(
      [&writes](absl::string_view, absl::string_view call, bool) {
        return call == kTriedWrite && ++writes == 2 ? EPERM : 0;
      });
  const Found found = Json();
  EXPECT_EQ(found.exit_code, kWouldNotWork);
  EXPECT_EQ(found.Verdict("caps.write"), "OK");
  EXPECT_EQ(found.Verdict("caps.data-pool"), "PROBLEM");
  EXPECT_THAT(found.Of("caps.data-pool", "remedy"),
              AllOf(HasSubstr("reclaim"), HasSubstr("profile rbd pool=data")));

  FailCalls("rados_read_op_omap_get_vals_by_keys2", EPERM);
  const Found unseen = Json();
  EXPECT_EQ(unseen.Verdict("caps.data-pool"), "PROBLEM");
  EXPECT_THAT(unseen.Of("caps.data-pool", "seen"), HasSubstr("not known"));
}

TEST_F(DoctorTest, CopiesThatAreLaterThanTheirScheduleAreNamed) {
  Start();
  // Nobody takes snapshots by it here.
  ASSERT_OK(server_.pair.cluster(server_.a)->MgrCommand(absl::StrCat(
      R"({"prefix":"rbd mirror snapshot schedule add","level_spec":)",
      R"("replicapool/)", image_, R"(","interval":"1m"})")));
  server_.a.CreateMirrorSnapshot(image_);
  server_.world.Advance(std::chrono::seconds(61));
  EXPECT_EQ(Json().Verdict("schedule.kept"), "OK")
      << Json().Of("schedule.kept", "seen");
  server_.world.Advance(std::chrono::minutes(10));
  const Found found = Json();
  EXPECT_EQ(found.Verdict("schedule.kept"), "PROBLEM");
  EXPECT_THAT(found.Of("schedule.kept", "seen"),
              AllOf(HasSubstr("older than two intervals"),
                    HasSubstr("with a schedule of 60 s")));
}

TEST_F(DoctorTest, SchedulesThatDoSomethingElseThanTheySayAreNamed) {
  Start();
  EXPECT_EQ(Json().Verdict("schedule.wrong"), "");
  const auto add = [&](const std::string& rest) {
    ASSERT_OK(server_.pair.cluster(server_.a)->MgrCommand(absl::StrCat(
        R"({"prefix":"rbd mirror snapshot schedule add","level_spec":)",
        R"("replicapool/)", image_, R"(",)", rest, "}")));
  };
  add(R"("interval":"1d","start_time":"14:00:00-05:00")");
  Found found = Json();
  EXPECT_EQ(found.Verdict("schedule.wrong"), "WARNING");
  EXPECT_THAT(found.Of("schedule.wrong", "seen"), HasSubstr("14:00:00-05:00"));
  add(R"("interval":"0m")");
  found = Json();
  EXPECT_EQ(found.Verdict("schedule.wrong"), "PROBLEM");
  EXPECT_THAT(found.Of("schedule.wrong", "seen"), HasSubstr("(0m)"));
  EXPECT_THAT(found.Of("schedule.wrong", "remedy"),
              HasSubstr("audit schedules --pool replicapool"));
}

// Nothing that is known of a copy is no sign that it is made in time.
TEST_F(DoctorTest, ACopyOfWhichNobodyHasReportedIsNotSaidToBeInTime) {
  server_.b.SetMirrorDaemon(DaemonState::kDown);
  server_.AddPlain();
  server_.a.EnableMirroring(image_);
  server_.world.Advance(std::chrono::minutes(1));
  server_.Start();
  ASSERT_OK(server_.pair.cluster(server_.a)->MgrCommand(
      R"({"prefix":"rbd mirror snapshot schedule add",)"
      R"("level_spec":"replicapool/","interval":"1h"})"));
  const Found found = Json();
  EXPECT_EQ(found.Verdict("schedule.kept"), "UNCLEAR");
  EXPECT_THAT(found.Of("schedule.kept", "seen"),
              AllOf(HasSubstr("not known of 1 image with a schedule"),
                    HasSubstr(server_.a.ImageId(image_))));
  EXPECT_THAT(found.Of("schedule.kept", "remedy"),
              HasSubstr("rbd-mirror of the other site"));
  server_.b.SetMirrorDaemon(DaemonState::kRunning);
  server_.world.Advance(std::chrono::minutes(1));
  EXPECT_EQ(Json().Verdict("schedule.kept"), "OK");
}

TEST_F(DoctorTest, APrimaryWithoutAScheduleIsNamed) {
  Start();
  const Found found = Json();
  EXPECT_EQ(found.Verdict("schedule.none"), "WARNING");
  EXPECT_THAT(found.Of("schedule.none", "seen"),
              HasSubstr(server_.a.ImageId(image_)));
  EXPECT_THAT(found.Of("schedule.none", "remedy"),
              HasSubstr("schedulingInterval"));
  ASSERT_OK(server_.pair.cluster(server_.a)->MgrCommand(
      R"({"prefix":"rbd mirror snapshot schedule add",)"
      R"("level_spec":"replicapool/","interval":"1h"})"));
  EXPECT_EQ(Json().Verdict("schedule.none"), "");
}

TEST(DoctorKeyTest, AKeyThatThisLibradosCannotUseIsNamed) {
  // Made for this test: type 1, 16 bytes.
  const CephUser user{"x", Secret("AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==")};
  const Finding fits = CheckKeyType(user, absl::OkStatus(), "cluster 'a'");
  EXPECT_EQ(fits.verdict, FindingVerdict::kOk);
  EXPECT_THAT(fits.seen, HasSubstr("type 1 (aes)"));
  const Finding not_usable = CheckKeyType(
      user,
      absl::UnauthenticatedError("Failed to connect: this librados 16.2.15 "
                                 "cannot use keys of type 2 (aes256k)"),
      "cluster 'a'");
  EXPECT_EQ(not_usable.verdict, FindingVerdict::kProblem);
  EXPECT_THAT(not_usable.remedy, HasSubstr("librados 20.2.4"));
  EXPECT_EQ(
      CheckKeyType(user, absl::UnavailableError("no monitor"), "").verdict,
      FindingVerdict::kUnclear);
  EXPECT_EQ(CheckKeyType({"x", Secret("no key")}, absl::OkStatus(), "").verdict,
            FindingVerdict::kProblem);
}

TEST(DoctorLimitsTest, TooFewThreadsOrDescriptorsAreNamed) {
  const auto verdicts = [](const ProcessLimits& limits) {
    std::vector<FindingVerdict> result;
    for (const Finding& finding : CheckLimits(limits, 164, 1)) {
      result.push_back(finding.verdict);
      EXPECT_EQ(finding.remedy.empty(), finding.verdict == FindingVerdict::kOk);
    }
    return result;
  };
  EXPECT_THAT(verdicts({1048576, UINT64_MAX}),
              ElementsAre(FindingVerdict::kOk, FindingVerdict::kOk));
  EXPECT_THAT(verdicts({256, 100}),
              ElementsAre(FindingVerdict::kWarning, FindingVerdict::kWarning));
  EXPECT_THAT(verdicts({}),
              ElementsAre(FindingVerdict::kUnclear, FindingVerdict::kUnclear));
}

TEST(DoctorLimitsTest, TheLowestLimitOfAllGroupsAboveCounts) {
  const TempDir dir;
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(
        std::filesystem::path(dir.File(path)).parent_path());
    dir.Write(path, text);
  };
  const auto threads = [&] { return ReadProcessLimits(dir.path()).threads; };
  EXPECT_EQ(threads(), std::nullopt);
  write("proc/sys/kernel/threads-max", "126000\n");
  EXPECT_EQ(threads(), 126000U);
  write("proc/self/cgroup", "0::/system.slice/rbd-addonsd.service\n");
  write("sys/fs/cgroup/system.slice/rbd-addonsd.service/pids.max", "max\n");
  EXPECT_EQ(threads(), UINT64_MAX);
  write("sys/fs/cgroup/system.slice/rbd-addonsd.service/pids.max", "4096\n");
  EXPECT_EQ(threads(), 4096U);
  // The own limit is worth nothing under one that is lower.
  write("sys/fs/cgroup/system.slice/pids.max", "300\n");
  EXPECT_EQ(threads(), 300U);
  // As a container sees itself.
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/pids.max", "512\n");
  EXPECT_EQ(threads(), 512U);
}

TEST(DoctorLimitsTest, TheOwnLimitsCanBeRead) {
  EXPECT_TRUE(ReadProcessLimits().descriptors.has_value());
}

}  // namespace
}  // namespace addons::testing
