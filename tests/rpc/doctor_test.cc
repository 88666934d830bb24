// rbd-addons doctor through the socket, on simulated clusters: each fault is
// named, and gone once its remedy was applied.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/inspection.h"
#include "doctor/check_limits.h"
#include "identity/identity.grpc.pb.h"
#include "tests/rpc/replication_server.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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
    const auto json = nlohmann::json::parse(out.str(), nullptr, false);
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
  void FailCalls(const std::string& name, int error) {
    server_.world.SetCallHook(
        [name, error](absl::string_view, absl::string_view call, bool) {
          return call == name ? error : 0;
        });
  }

  const TempDir dir_;
  ReplicationServer server_;
};

TEST_F(DoctorTest, WhatIsInOrderIsSaidToBe) {
  Start();
  server_.world.ClearCalls();
  const Found found = Json();
  EXPECT_EQ(found.exit_code, 0) << found.text;
  for (const char* const id :
       {"config.readable", "config.site-clusters", "config.mapping",
        "cluster.connect", "cluster.key", "caps.blocklist", "caps.manager",
        "caps.mirror-daemons", "caps.osd-map", "clock.host", "mirror.mode",
        "mirror.peer", "mirror.daemon", "mirror.peer-daemon"}) {
    EXPECT_EQ(found.Verdict(id), "OK") << id << ": " << found.Of(id, "seen");
  }
  EXPECT_EQ(server_.world.CountMutations(), 0);
  EXPECT_THAT(Run().text, HasSubstr("0 problems, 0 unclear, "));
  EXPECT_THAT(server_.log(), Not(HasSubstr(server_.a.user()->key.Reveal())));
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

TEST_F(DoctorTest, AClusterThatStopsAnsweringIsNotAskedOn) {
  Start();
  FailCalls("rados_mon_command", ETIMEDOUT);
  const Found found = Json();
  EXPECT_EQ(found.exit_code, kWouldNotWork);
  EXPECT_EQ(found.Verdict("caps.blocklist"), "UNCLEAR");
  EXPECT_EQ(found.Verdict("caps.manager"), "UNCLEAR");
  EXPECT_THAT(found.Of("caps.manager", "seen"), HasSubstr("not asked"));
  EXPECT_EQ(server_.CallsTo("rados_mgr_command"), 0U);
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

TEST_F(DoctorTest, WithoutAMirroredImageNobodyKnowsOfTheDaemons) {
  server_.Start();
  const Found found = Json();
  EXPECT_EQ(found.Verdict("mirror.daemon"), "UNCLEAR");
  EXPECT_EQ(found.exit_code, kWouldNotWork);
}

TEST_F(DoctorTest, BeforeAHandoverThatWhichCannotBeSeenIsAStepForAPerson) {
  Start();
  const Found found = Json({"--before-handover"});
  EXPECT_EQ(found.exit_code, kWouldNotWork);
  EXPECT_EQ(found.Verdict("handover.built-in-server"), "UNCLEAR");
  EXPECT_THAT(found.Of("handover.built-in-server", "remedy"),
              HasSubstr("kubectl get csiaddonsnodes"));
  EXPECT_THAT(Run({"--before-handover"}).text,
              AllOf(HasSubstr("unclear  handover.running\n"),
                    HasSubstr("\n  do: "), Not(HasSubstr("config.readable"))));
  EXPECT_THAT(Run({"--all"}).text, HasSubstr("ok  config.readable\n"));
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

TEST(DoctorLimitsTest, TheOwnLimitsCanBeRead) {
  EXPECT_TRUE(ReadProcessLimits().descriptors.has_value());
}

}  // namespace
}  // namespace addons::testing
