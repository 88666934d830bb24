#include "server/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace addons {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ConfigTest : public ::testing::Test {
 protected:
  CommandLine Parse(std::vector<std::string> flags) {
    flags.insert(flags.begin(), "rbd-addonsd");
    return ParseCommandLine(
        flags,
        [this](const std::string& name) -> std::optional<std::string> {
          const auto it = environment_.find(name);
          if (it == environment_.end()) return std::nullopt;
          return it->second;
        },
        VariableNames());
  }
  std::vector<std::string> VariableNames() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : environment_) names.push_back(name);
    return names;
  }
  // The configuration that must come out of `flags`.
  Config Good(const std::vector<std::string>& flags) {
    CommandLine line = Parse(flags);
    EXPECT_TRUE(line.config.has_value()) << line.errors;
    return line.config.value_or(Config());
  }
  // The errors that must come out of `flags`.
  std::string Bad(const std::vector<std::string>& flags) {
    const CommandLine line = Parse(flags);
    EXPECT_FALSE(line.config.has_value());
    EXPECT_EQ(line.exit_code, 2);
    EXPECT_EQ(line.output, "");
    return line.errors;
  }

  std::map<std::string, std::string> environment_;
};

TEST_F(ConfigTest, HasTheDriversDefaults) {
  const Config config = Good({});
  EXPECT_EQ(config.socket_path, "/run/rbd-addons/csi-addons.sock");
  EXPECT_EQ(config.admin_socket_path, "/run/rbd-addons/admin.sock");
  EXPECT_EQ(config.driver_name, "rbd.csi.ceph.com");
  EXPECT_EQ(config.instance_id, "default");
  EXPECT_EQ(config.config_dir, "/etc/ceph-csi-config");
  EXPECT_FALSE(config.modes.controller);
  EXPECT_FALSE(config.modes.node);
}

TEST_F(ConfigTest, HasItsOwnDefaults) {
  const Config config = Good({});
  EXPECT_EQ(config.socket_mode, 0600U);
  EXPECT_EQ(config.settle_time, seconds(90));
  EXPECT_EQ(config.operations.conflict_wait, seconds(20));
  EXPECT_EQ(config.log_level, "info");
}

// The table's texts and the fields' initialisers are two places for one value.
TEST_F(ConfigTest, DefaultsOfTheTableAndOfTheStructAgree) {
  Config config = Good({});
  config.socket_path = "";
  config.admin_socket_path = "";
  EXPECT_EQ(Describe(config), Describe(Config()));
}

TEST_F(ConfigTest, TakesThePodSpecOfTheDriversProvisioner) {
  const Config config =
      Good({"--nodeid=node-1", "--type=rbd", "--controllerserver=true",
            "--endpoint=unix:///csi/csi-provisioner.sock",
            "--csi-addons-endpoint=unix:///csi/csi-addons.sock", "--v=5",
            "--drivername=rbd.csi.ceph.com", "--pidlimit=-1",
            "--rbdhardmaxclonedepth=8", "--rbdsoftmaxclonedepth=4",
            "--enableprofiling=false", "--setmetadata=true",
            "--enable-fencing=true"});
  EXPECT_TRUE(config.modes.controller);
  EXPECT_FALSE(config.modes.node);
  EXPECT_EQ(config.node_id, "node-1");
  EXPECT_EQ(config.socket_path, "/csi/csi-addons.sock");
  EXPECT_THAT(config.ignored_flags,
              ElementsAre("--v", "--pidlimit", "--rbdhardmaxclonedepth",
                          "--rbdsoftmaxclonedepth", "--enableprofiling",
                          "--setmetadata", "--endpoint"));
  EXPECT_TRUE(config.enable_fencing);
}

TEST_F(ConfigTest, TakesEveryFlagOfTheDriver) {
  const Config config =
      Good({"--drivernamespace=ns", "--pluginpath=/p", "--stagingpath=/s",
            "--clustername=c", "--histogramoption=0.5,2,6", "--polltime=60s",
            "--timeout=3s", "--logslowopinterval=30s",
            "--maxsnapshotsonimage=450", "--minsnapshotsonimage=250",
            "--skipforceflatten", "--enable-read-affinity",
            "--crush-location-labels=a,b", "--domainlabels=d", "--automaxprocs",
            "--feature-gates=A=true", "--logtostderr"});
  EXPECT_EQ(config.ignored_flags.size(), 17U);
}

TEST_F(ConfigTest, HomeClustersAreAList) {
  EXPECT_TRUE(Good({}).site_clusters.empty());
  EXPECT_THAT(Good({"--site-clusters=a, b,"}).site_clusters,
              ElementsAre(ClusterId("a"), ClusterId("b")));
}

TEST_F(ConfigTest, LoopDevicesAreNoImagesUnlessAsked) {
  EXPECT_EQ(Good({}).image_exports, "");
  EXPECT_EQ(Good({"--image-exports=/run/images"}).image_exports, "/run/images");
  for (const char* folder : {"images", "/run/images/", "/"}) {
    EXPECT_THAT(Bad({"--image-exports", folder}),
                HasSubstr("is not an absolute path"));
  }
}

TEST_F(ConfigTest, KeysAreRotatedOnNodesWhereThatIsAskedFor) {
  EXPECT_FALSE(Good({"--nodeserver"}).rotate_keys);
  const Config config =
      Good({"--nodeserver", "--key-rotation", "--kms-config-dir=/kms"});
  EXPECT_TRUE(config.rotate_keys);
  EXPECT_EQ(config.kms_config_dir, "/kms");
  EXPECT_THAT(Bad({"--key-rotation", "--controllerserver"}),
              HasSubstr("--key-rotation: needs --nodeserver"));
  EXPECT_THAT(Bad({"--kms-config-dir=kms"}),
              HasSubstr("is not an absolute path"));
}

TEST_F(ConfigTest, SwitchesNeedNoValue) {
  const Config config = Good({"--controllerserver", "--nodeserver"});
  EXPECT_TRUE(config.modes.controller);
  EXPECT_TRUE(config.modes.node);
}

TEST_F(ConfigTest, SwitchesCanBeTurnedOff) {
  EXPECT_FALSE(Good({"--controllerserver=false"}).modes.controller);
}

TEST_F(ConfigTest, ValuesMayFollowTheirFlag) {
  EXPECT_EQ(Good({"--drivername", "a.b"}).driver_name, "a.b");
}

TEST_F(ConfigTest, TakesOneDashAsWell) {
  EXPECT_EQ(Good({"-drivername=a.b"}).driver_name, "a.b");
}

TEST_F(ConfigTest, TheLastOfSeveralValuesWins) {
  EXPECT_EQ(Good({"--nodeid=a", "--nodeid=b"}).node_id, "b");
}

TEST_F(ConfigTest, AnEmptyDriverNameMeansTheDefault) {
  EXPECT_EQ(Good({"--drivername="}).driver_name, "rbd.csi.ceph.com");
}

TEST_F(ConfigTest, EveryFlagHasAVariable) {
  environment_ = {{"RBD_ADDONS_LOG_LEVEL", "debug"},
                  {"RBD_ADDONS_CONTROLLERSERVER", "true"},
                  {"RBD_ADDONS_CONTROL_WORKERS", "7"},
                  {"RBD_ADDONS_SETTLE_TIME", "2m"}};
  const Config config = Good({});
  EXPECT_EQ(config.log_level, "debug");
  EXPECT_TRUE(config.modes.controller);
  EXPECT_EQ(config.operations.control.workers, 7U);
  EXPECT_EQ(config.settle_time, seconds(120));
}

TEST_F(ConfigTest, FlagsComeBeforeVariables) {
  environment_ = {{"RBD_ADDONS_LOG_LEVEL", "debug"}};
  EXPECT_EQ(Good({"--log-level=warn"}).log_level, "warn");
  EXPECT_EQ(Good({}).log_format, LogFormat::kText);
  EXPECT_EQ(Good({"--log-format=json"}).log_format, LogFormat::kJson);
  EXPECT_THAT(Bad({"--log-format=xml"}), HasSubstr("is not text or json"));
}

TEST_F(ConfigTest, TakesTheEndpointFromTheSpecificationsVariable) {
  environment_ = {{"CSI_ENDPOINT", "unix:///a"}};
  EXPECT_EQ(Good({}).socket_path, "/a");
}

TEST_F(ConfigTest, PrefersTheDriversVariableForTheEndpoint) {
  environment_ = {{"CSI_ENDPOINT", "unix:///a"},
                  {"CSI_ADDONS_ENDPOINT", "unix:///b"}};
  EXPECT_EQ(Good({}).socket_path, "/b");
}

TEST_F(ConfigTest, PrefersItsOwnVariableForTheEndpoint) {
  environment_ = {{"CSI_ADDONS_ENDPOINT", "unix:///b"},
                  {"RBD_ADDONS_CSI_ADDONS_ENDPOINT", "unix:///c"}};
  EXPECT_EQ(Good({}).socket_path, "/c");
}

TEST_F(ConfigTest, UnderstandsTheShortNameOfTheEndpoint) {
  environment_ = {{"CSI_ENDPOINT", "unix:///a"}};
  const Config config = Good({"--endpoint", "unix:///e"});
  EXPECT_EQ(config.socket_path, "/e");
  EXPECT_THAT(config.ignored_flags, ElementsAre());
}

// Where both are there, --endpoint is the driver's own socket.
TEST_F(ConfigTest, TheFullNameOfTheEndpointGoesBeforeTheShortOne) {
  const Config config =
      Good({"--csi-addons-endpoint=unix:///c", "--endpoint=unix:///e"});
  EXPECT_EQ(config.socket_path, "/c");
  EXPECT_THAT(config.ignored_flags, ElementsAre("--endpoint"));
  environment_ = {{"CSI_ADDONS_ENDPOINT", "unix:///b"}};
  EXPECT_EQ(Good({"--endpoint=unix:///e"}).socket_path, "/b");
}

TEST_F(ConfigTest, AWrongShortEndpointIsNamedAsItWasWritten) {
  EXPECT_THAT(Bad({"--endpoint=tcp://x"}), HasSubstr("--endpoint tcp://x"));
}

TEST_F(ConfigTest, NamesVariablesThatDoNotExist) {
  environment_ = {{"RBD_ADDONS_LOG_LEVEL", "debug"},
                  {"RBD_ADDONS_LOGLEVEL", "debug"},
                  {"RBD_ADDONS_SETTLE", "1m"},
                  {"PATH", "/bin"}};
  EXPECT_THAT(Good({}).unknown_variables,
              ElementsAre("RBD_ADDONS_LOGLEVEL", "RBD_ADDONS_SETTLE"));
}

TEST_F(ConfigTest, VariablesOfAServiceAreNoMistake) {
  environment_ = {{"RBD_ADDONS_METRICS_SERVICE_HOST", "10.0.0.1"},
                  {"RBD_ADDONS_METRICS_SERVICE_PORT_HTTP", "9641"},
                  {"RBD_ADDONS_PORT", "tcp://10.0.0.1:9641"},
                  {"RBD_ADDONS_PORT_9641_TCP_ADDR", "10.0.0.1"}};
  EXPECT_THAT(Good({}).unknown_variables, ElementsAre());
}

TEST_F(ConfigTest, AnEmptyVariableIsNotSet) {
  environment_ = {{"CSI_ADDONS_ENDPOINT", ""}};
  EXPECT_EQ(Good({}).socket_path, "/run/rbd-addons/csi-addons.sock");
}

TEST_F(ConfigTest, ReadsLaneLimits) {
  const Config config =
      Good({"--bulk-workers=2", "--bulk-workers-per-cluster=1",
            "--bulk-queue=3", "--control-queue=9"});
  EXPECT_EQ(config.operations.bulk.workers, 2U);
  EXPECT_EQ(config.operations.bulk.workers_per_cluster, 1U);
  EXPECT_EQ(config.operations.bulk.queued, 3U);
  EXPECT_EQ(config.operations.control.queued, 9U);
}

TEST_F(ConfigTest, ReadsTimeouts) {
  const Config config =
      Good({"--connect-timeout=7s", "--monitor-timeout=8", "--read-timeout=9s",
            "--operation-wait=3s", "--shutdown-grace=1500ms"});
  EXPECT_EQ(config.connect_timeout, seconds(7));
  EXPECT_EQ(config.monitor_timeout, seconds(8));
  EXPECT_EQ(config.read_timeout, seconds(9));
  EXPECT_EQ(config.operations.conflict_wait, seconds(3));
  EXPECT_EQ(config.shutdown_grace, milliseconds(1500));
}

TEST_F(ConfigTest, ReadsTheSocketsModeAndGroup) {
  const Config config = Good({"--socket-mode=0660", "--socket-group=csi"});
  EXPECT_EQ(config.socket_mode, 0660U);
  EXPECT_EQ(config.socket_group, "csi");
}

TEST_F(ConfigTest, ServesNoMetricsUnlessAsked) {
  EXPECT_FALSE(Good({}).serve_metrics);
  EXPECT_FALSE(Good({"--metricsport=0", "--metricspath=/m"}).serve_metrics);
  EXPECT_THAT(Describe(Good({})), HasSubstr(" metrics=none "));
}

TEST_F(ConfigTest, TakesTheDriversFlagsForMetrics) {
  const Config config = Good({"--metricsport=8090", "--metricspath=/m"});
  EXPECT_TRUE(config.serve_metrics);
  EXPECT_THAT(Describe(config), HasSubstr(" metrics=http://127.0.0.1:8090/m "));
}

TEST_F(ConfigTest, MetricsAreAtThePodsAddressUnlessAskedOtherwise) {
  environment_["POD_IP"] = "fd00::5";
  EXPECT_THAT(Describe(Good({"--metricsport=1"})),
              HasSubstr(" metrics=http://[fd00::5]:1/metrics "));
  environment_["RBD_ADDONS_METRICS_ADDRESS"] = "10.0.0.1";
  EXPECT_EQ(Good({}).metrics.address, "10.0.0.1");
  EXPECT_EQ(Good({"--metrics-address=[::]"}).metrics.address, "::");
}

TEST_F(ConfigTest, RefusesBadPlacesForMetricsTogether) {
  environment_["POD_IP"] = "pod";
  const std::string errors =
      Bad({"--metricsport=65536", "--metricspath=metrics"});
  EXPECT_THAT(errors, HasSubstr("--metricsport 65536: is not a port"));
  EXPECT_THAT(errors, HasSubstr("--metricspath metrics: is not a path"));
  EXPECT_THAT(errors, HasSubstr("environment variable POD_IP pod: is not an "
                                "IP address"));
  for (const char* port : {"", "-1", "x", "1.5", "99999999999"}) {
    Bad({std::string("--metricsport=") + port});
  }
}

TEST_F(ConfigTest, RefusesUnknownFlags) {
  EXPECT_THAT(Bad({"--drivernam=x"}),
              HasSubstr("flag --drivernam is not known"));
}

TEST_F(ConfigTest, RefusesArgumentsThatAreNoFlags) {
  EXPECT_THAT(Bad({"--nodeserver", "true"}),
              HasSubstr("argument true is not a flag"));
}

TEST_F(ConfigTest, RefusesAFlagWithoutItsValue) {
  EXPECT_THAT(Bad({"--drivername"}), HasSubstr("--drivername has no value"));
}

TEST_F(ConfigTest, RefusesBadDriverNames) {
  const std::string long_name(64, 'a');
  for (const std::string& name :
       {std::string("-a"), std::string("a."), std::string("a_b"), long_name}) {
    EXPECT_THAT(Bad({"--drivername=" + name}),
                HasSubstr("is not a driver name"))
        << name;
  }
}

TEST_F(ConfigTest, AcceptsTheLongestDriverName) {
  EXPECT_EQ(Good({"--drivername=" + std::string(63, 'a')}).driver_name.size(),
            63U);
}

TEST_F(ConfigTest, RefusesBadSocketModes) {
  for (const char* mode : {"", "rw", "0888", "1777", "0060", "00660"}) {
    EXPECT_THAT(Bad({std::string("--socket-mode=") + mode}),
                HasSubstr("--socket-mode"))
        << mode;
  }
}

TEST_F(ConfigTest, RefusesAnEndpointWithAHost) {
  EXPECT_THAT(Bad({"--csi-addons-endpoint=unix://csi/x.sock"}),
              HasSubstr("did you mean unix:///csi/x.sock?"));
}

// Beside the other one a sidecar would see it.
TEST_F(ConfigTest, TheAdministratorsSocketStaysWhereItIs) {
  EXPECT_EQ(
      Good({"--csi-addons-endpoint=unix:///csi/x.sock"}).admin_socket_path,
      "/run/rbd-addons/admin.sock");
  environment_ = {{"RBD_ADDONS_ADMIN_ENDPOINT", "unix:///admin/x.sock"}};
  EXPECT_EQ(Good({}).admin_socket_path, "/admin/x.sock");
  EXPECT_THAT(Describe(Good({})), HasSubstr("admin_endpoint=/admin/x.sock"));
}

TEST_F(ConfigTest, RefusesOneSocketForCallersAndAdministrators) {
  EXPECT_THAT(Bad({"--csi-addons-endpoint=unix:///csi/x.sock",
                   "--admin-endpoint=/csi/x.sock"}),
              AllOf(HasSubstr("--admin-endpoint /csi/x.sock"),
                    HasSubstr("one of its own")));
  EXPECT_THAT(Bad({"--admin-endpoint=unix://host/x.sock"}),
              HasSubstr("--admin-endpoint"));
}

TEST_F(ConfigTest, RefusesToBeAnotherTypeOfDriver) {
  EXPECT_THAT(Bad({"--type=cephfs"}), HasSubstr("--type cephfs: is not rbd"));
}

TEST_F(ConfigTest, RefusesASettleTimeShorterThanTwoStatusIntervals) {
  EXPECT_THAT(Bad({"--settle-time=59s"}), HasSubstr("is less than 60s"));
}

TEST_F(ConfigTest, RefusesALaneWithoutWorkers) {
  EXPECT_THAT(Bad({"--control-workers=0"}),
              HasSubstr("is not a number from 1"));
}

TEST_F(ConfigTest, RefusesAnEmptyInstanceId) {
  EXPECT_THAT(Bad({"--instanceid="}), HasSubstr("--instanceid"));
}

TEST_F(ConfigTest, TakesTheTimesOfATakeover) {
  const Config defaults = Good({});
  EXPECT_EQ(defaults.takeover_time, seconds(180));
  EXPECT_FALSE(defaults.force_without_local_mirror);
  const Config config = Good({"--settle-time=60s", "--takeover-time=60s",
                              "--force-without-local-mirror"});
  EXPECT_EQ(config.takeover_time, seconds(60));
  EXPECT_TRUE(config.force_without_local_mirror);
}

TEST_F(ConfigTest, ZeroEventsSwitchTheHistoryOff) {
  EXPECT_EQ(Good({}).history_events, 5000U);
  EXPECT_EQ(Good({"--history-events=0"}).history_events, 0U);
  EXPECT_EQ(Good({"--history-events=70000"}).history_events, 70000U);
  EXPECT_THAT(Bad({"--history-events=100001"}),
              HasSubstr("is not a number from 0 to 100000"));
  EXPECT_THAT(Bad({"--group-max-members=0"}),
              HasSubstr("is not a number from 1 to 10000"));
}

TEST_F(ConfigTest, GroupsAreReplicatedByMembersWhereTheDaemonSaysSo) {
  EXPECT_FALSE(Good({}).group_members_by_default);
  EXPECT_TRUE(Good({"--group-replication=members"}).group_members_by_default);
  EXPECT_THAT(Describe(Good({"--group-replication=members"})),
              HasSubstr("group_replication=members"));
  EXPECT_FALSE(Good({"--group-replication="}).group_members_by_default);
  EXPECT_THAT(Bad({"--group-replication=native"}),
              HasSubstr("--group-replication native: is not 'members'"));
}

TEST_F(ConfigTest, ATakeoverNeedsTheSettleTimeAtLeast) {
  EXPECT_THAT(Bad({"--takeover-time=80s"}),
              HasSubstr("--takeover-time 80s: is less than the settle time"));
  // A longer settle time alone is no mistake.
  EXPECT_EQ(Good({"--settle-time=240s"}).takeover_time, seconds(240));
}

TEST_F(ConfigTest, NamesTheVariableThatIsWrong) {
  environment_ = {{"RBD_ADDONS_LOG_LEVEL", "loud"}};
  EXPECT_THAT(
      Bad({}),
      HasSubstr(
          "environment variable RBD_ADDONS_LOG_LEVEL loud: is not one of"));
}

TEST_F(ConfigTest, ReportsAllErrorsAtOnce) {
  const std::string errors = Bad({"--log-level=loud", "--nonsense", "stray",
                                  "--settle-time=x", "--controllerserver=maybe",
                                  "--config-dir=relative", "--drivername"});
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 7) << errors;
}

TEST_F(ConfigTest, HelpNamesEveryFlagAndExitsWithZero) {
  const CommandLine line = Parse({"--help", "--nonsense"});
  EXPECT_FALSE(line.config.has_value());
  EXPECT_EQ(line.exit_code, 0);
  EXPECT_EQ(line.errors, "");
  for (const char* flag :
       {"--csi-addons-endpoint", "--admin-endpoint",
        "--drivername",          "--nodeid",
        "--instanceid",          "--controllerserver",
        "--nodeserver",          "--config-dir",
        "--site-clusters",       "--image-exports",
        "--key-rotation",        "--kms-config-dir",
        "--log-level",           "--socket-mode",
        "--socket-group",        "--shutdown-grace",
        "--settle-time",         "--takeover-time",
        "--watch-interval",      "--force-without-local-mirror",
        "--history-events",      "--operation-wait",
        "--group-max-members",   "--group-replication",
        "--control-workers",     "--bulk-queue",
        "--read-timeout",        "--metricsport",
        "--metricspath",         "--metrics-address"}) {
    EXPECT_THAT(line.output, HasSubstr(std::string("\n  ") + flag)) << flag;
  }
}

TEST_F(ConfigTest, VersionIsPrintedAndExitsWithZero) {
  const CommandLine line = Parse({"--version"});
  EXPECT_FALSE(line.config.has_value());
  EXPECT_EQ(line.exit_code, 0);
  EXPECT_THAT(line.output, ::testing::MatchesRegex("rbd-addonsd [0-9.]+\n"));
}

TEST_F(ConfigTest, DescribesItselfOnOneLine) {
  const Config config = Good({"--nodeid=a b", "--socket-mode=0660"});
  EXPECT_THAT(Describe(config), HasSubstr("nodeid=\"a b\""));
  EXPECT_THAT(Describe(config), HasSubstr("socket_mode=0660"));
  EXPECT_THAT(Describe(config), Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace addons
