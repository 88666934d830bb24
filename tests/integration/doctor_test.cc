// Doctor on real clusters: each fault is made once, named, and gone once its
// remedy was applied. Of what cannot be made here (daemons of several releases,
// several monitors, a key that librados cannot use, a limit of threads) doctor
// is tested on simulated sites, tests/rpc/doctor_test.cc.

#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "identity/identity.grpc.pb.h"
#include "tests/integration/doctor_bed.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DoctorTest : public DoctorBed {
 protected:
  static constexpr char kRight[] =
      "mon 'profile rbd, allow command \"osd blocklist\"' "
      "mgr 'profile rbd, allow command \"service status\"' osd 'profile rbd'";

  static void SetUpTestSuite() {
    DoctorBed::SetUpTestSuite();
    std::filesystem::create_directory(Own("config"));
    WriteRight();
    StartOwn({});
  }
  static void TearDownTestSuite() {
    own_.reset();
    DoctorBed::TearDownTestSuite();
  }

  // --- a daemon of site a with a configuration of its own

  static std::string Own(const std::string& name) {
    return Bed().Path(absl::StrCat("own-", name));
  }
  static void WriteConfig(const std::string& text) {
    WriteFile(Own("config/config.json"), text);
  }
  static void WriteMapping(const std::string& text) {
    WriteFile(Own("config/cluster-mapping.json"), text);
  }
  /// The entry of a site in config.json.
  static json Entry(const std::string& site) {
    const std::string path = Bed().Path(site + "/csi-config/config.json");
    return json::parse(std::ifstream(path)).front();
  }
  static json Mapping() {
    return json::parse(
        std::ifstream(Bed().Path("a/csi-config/cluster-mapping.json")));
  }
  static void WriteRight() {
    WriteConfig(json::array({Entry("a")}).dump());
    WriteMapping(Mapping().dump());
  }
  static void StartOwn(const std::vector<std::string>& more) {
    std::vector<std::string> flags = {
        "--controllerserver",   "--drivername=rbd.csi.ceph.com",
        "--connect-timeout=2s", "--monitor-timeout=2s",
        "--settle-time=60s",    "--config-dir=" + Own("config")};
    flags.insert(flags.end(), more.begin(), more.end());
    own_.reset();  // it has the socket
    own_ = std::make_unique<DaemonProcess>(Own("sock"), Own("log"), flags);
    ASSERT_TRUE(own_->Start()) << own_->Log();
  }
  static Found DiagnoseOwn(const std::string& secrets = "") {
    return Diagnose(*own_, secrets.empty() ? SecretsOf("a") : secrets);
  }
  static void ExpectRight(const std::string& id) {
    const Found found = DiagnoseOwn();
    EXPECT_EQ(found.Verdict(id), "OK") << found.all;
  }

  // --- Ceph users

  /// A secrets file of a new user of site a with these capabilities.
  static std::string UserWith(const std::string& name,
                              const std::string& caps) {
    RunRemedy("a",
              absl::StrCat("ceph auth get-or-create client.", name, " ", caps));
    const std::string key =
        Testbed("ceph", {"a", "auth", "get-key", "client." + name});
    const std::string file = Own(name + ".json");
    WriteFile(file, json{{"userID", name}, {"userKey", key}}.dump());
    return file;
  }

  inline static std::unique_ptr<DaemonProcess> own_;
};

// The first one: no volume is mirrored yet.
TEST_F(DoctorTest, ANewInstallationIsInOrder) {
  const CliResult result = Ask("a", {"doctor"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("0 problems, 0 unclear, "));
}

TEST_F(DoctorTest, WhatIsWrittenWrongIsNamed) {
  WriteConfig("[");
  Found found = DiagnoseOwn();
  EXPECT_EQ(found.Verdict("config.readable"), "PROBLEM") << found.all;
  EXPECT_THAT(found.Seen("config.readable"), HasSubstr("config.json"));
  WriteRight();
  ExpectRight("config.readable");

  json broken = Entry("a");
  broken["clusterID"] = "broken";
  broken["monitors"] = json::array();
  WriteConfig(json::array({Entry("a"), broken}).dump());
  found = DiagnoseOwn();
  EXPECT_EQ(found.Verdict("config.entry"), "PROBLEM") << found.all;
  EXPECT_THAT(found.Seen("config.entry"), HasSubstr("broken"));
  WriteRight();
  EXPECT_EQ(DiagnoseOwn().Verdict("config.entry"), "");

  json unreachable = Entry("a");
  unreachable["monitors"] = {"127.0.0.1:1"};
  WriteConfig(json::array({unreachable}).dump());
  found = DiagnoseOwn();
  EXPECT_EQ(found.Verdict("cluster.connect"), "PROBLEM") << found.all;
  EXPECT_THAT(found.Seen("cluster.connect"),
              HasSubstr("no monitor of cluster 'site-a' answered for "));
  EXPECT_THAT(found.Remedy("cluster.connect"),
              AllOf(HasSubstr("ceph -s"), HasSubstr("ceph mon dump")));
  EXPECT_EQ(found.Verdict("cluster.not-asked"), "UNCLEAR") << found.all;
  WriteRight();
  ExpectRight("cluster.connect");
}

TEST_F(DoctorTest, AMappingThatDoesNotFitIsNamed) {
  WriteMapping("[");
  StartOwn({});  // it must not have read a good one before
  EXPECT_EQ(DiagnoseOwn().Verdict("config.mapping"), "PROBLEM");
  WriteMapping("[]");
  EXPECT_EQ(DiagnoseOwn().Verdict("config.mapping"), "WARNING");
  json mapping = Mapping().front();
  mapping["RBDPoolIDMapping"] = json::array();
  WriteMapping(json::array({mapping}).dump());
  const Found found = DiagnoseOwn();
  EXPECT_EQ(found.Verdict("config.mapping"), "OK") << found.all;
  EXPECT_EQ(found.Verdict("config.pool-mapping", RealBed::kPool), "WARNING")
      << found.all;
  // "add {...} to RBDPoolIDMapping; ...".
  const std::string remedy =
      found.Remedy("config.pool-mapping", RealBed::kPool);
  const std::string line = absl::StrReplaceAll(
      remedy.substr(remedy.find('{'), remedy.find('}') - remedy.find('{') + 1),
      {{"NUMBER-THERE", absl::StrCat(Bed().PoolId("b"))}});
  mapping["RBDPoolIDMapping"].push_back(json::parse(line, nullptr, false));
  WriteMapping(json::array({mapping}).dump());
  ExpectRight("config.pool-mapping");
  WriteRight();
}

TEST_F(DoctorTest, FlagsThatDoNotFitTheConfigurationAreNamed) {
  WriteConfig(json::array({Entry("a"), Entry("b")}).dump());
  const Found found = DiagnoseOwn();
  EXPECT_EQ(found.Verdict("config.site-clusters"), "PROBLEM") << found.all;
  const std::string remedy = found.Remedy("config.site-clusters");
  StartOwn({remedy.substr(remedy.rfind("--site-clusters="))});
  ExpectRight("config.site-clusters");

  StartOwn({"--site-clusters=site-a,site-x"});
  EXPECT_EQ(DiagnoseOwn().Verdict("config.cluster"), "PROBLEM");
  json missing = Entry("a");
  missing["clusterID"] = "site-x";
  WriteConfig(json::array({Entry("a"), missing}).dump());
  EXPECT_EQ(DiagnoseOwn().Verdict("config.cluster"), "");
  WriteRight();
  StartOwn({});
}

TEST_F(DoctorTest, TooFewDescriptorsAndAMissingSidecarAreNamed) {
  const rlimit few{256, 256};
  ASSERT_EQ(prlimit(own_->pid(), RLIMIT_NOFILE, &few, nullptr), 0);
  Found found = DiagnoseOwn();
  EXPECT_EQ(found.Verdict("limits.descriptors"), "WARNING") << found.all;
  EXPECT_EQ(found.Verdict("sidecar.calls"), "WARNING") << found.all;
  StartOwn({});
  // As the sidecar does when it starts.
  grpc::ClientContext context;
  ::identity::GetIdentityResponse response;
  ASSERT_TRUE(::identity::Identity::NewStub(
                  grpc::CreateChannel("unix://" + own_->socket(),
                                      grpc::InsecureChannelCredentials()))
                  ->GetIdentity(&context, {}, &response)
                  .ok());
  found = DiagnoseOwn();
  EXPECT_EQ(found.Verdict("limits.descriptors"), "OK") << found.all;
  EXPECT_EQ(found.Verdict("sidecar.calls"), "OK") << found.all;
}

TEST_F(DoctorTest, AKeyThatIsRefusedIsNamed) {
  const auto with_key = [](const std::string& key) {
    const std::string file = Own("key.json");
    WriteFile(file,
              json{{"userID", Bed().User("a")->id}, {"userKey", key}}.dump());
    return DiagnoseOwn(file);
  };
  Found found = with_key("AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==");
  EXPECT_EQ(found.Verdict("cluster.key"), "PROBLEM") << found.all;
  // "ceph auth get-key prints it".
  found = with_key(Testbed(
      "ceph", {"a", "auth", "get-key", "client." + Bed().User("a")->id}));
  EXPECT_EQ(found.Verdict("cluster.key"), "OK") << found.all;
  EXPECT_EQ(found.Verdict("cluster.key-type"), "OK") << found.all;
}

// The daemon keeps its connection to the cluster, which goes on with the
// capabilities that the user had when it was made.
TEST_F(DoctorTest, WhatTheUserMayNotIsNamedUntilItMay) {
  struct Fault {
    const char* user;
    const char* caps;
    std::vector<std::string> ids;
    const char* remedy;
  };
  // It has data in a pool of its own.
  (void)MakeReplicatedVolume({}, {"--data-pool", "data"});
  const std::vector<Fault> faults = {
      {"no-map",
       "mon 'allow command \"mon dump\"' mgr 'profile rbd' osd 'profile rbd'",
       {"caps.blocklist", "caps.osd-map"},
       "profile rbd"},
      {"no-blocklist",
       "mon 'allow r' mgr 'profile rbd' osd 'profile rbd'",
       {"caps.fence", "caps.unfence", "caps.evict"},
       "allow command \"osd blocklist\""},
      // "profile rbd" allows to add by itself.
      {"no-unfence",
       "mon 'profile rbd' mgr 'profile rbd' osd 'profile rbd'",
       {"caps.unfence"},
       "allow command \"osd blocklist\""},
      {"schedule-reader",
       "mon 'profile rbd' mgr 'allow r' osd 'profile rbd'",
       {"caps.schedule"},
       "manager capability profile rbd pool=replicapool"},
      {"no-manager",
       "mon 'profile rbd' osd 'profile rbd'",
       {"caps.manager", "caps.mirror-daemons"},
       "allow rw"},
      {"no-status",
       "mon 'profile rbd' mgr 'profile rbd' osd 'profile rbd'",
       {"caps.mirror-daemons"},
       "allow command \"service status\""},
      {"reader",
       "mon 'profile rbd' mgr 'profile rbd' osd 'profile rbd-read-only'",
       {"caps.write"},
       "profile rbd pool=replicapool"},
      {"no-classes",
       "mon 'profile rbd' mgr 'profile rbd' "
       "osd 'profile rbd-read-only, allow rw pool=replicapool'",
       {"caps.write"},
       "profile rbd pool=replicapool"},
      {"no-data",
       "mon 'profile rbd' mgr 'profile rbd' osd 'profile rbd "
       "pool=replicapool'",
       {"caps.data-pool"},
       "profile rbd pool=data"}};
  for (const Fault& fault : faults) {
    const Found found = DiagnoseOwn(UserWith(fault.user, fault.caps));
    for (const std::string& id : fault.ids) {
      EXPECT_EQ(found.Verdict(id), "PROBLEM") << fault.user << found.all;
      EXPECT_THAT(found.Remedy(id), HasSubstr(fault.remedy)) << fault.user;
    }
    RunRemedy("a",
              absl::StrCat("ceph auth caps client.", fault.user, " ", kRight));
  }
  for (const Fault& fault : faults) {
    Found found;
    for (const std::string& id : fault.ids) {
      EXPECT_TRUE(Eventually(
          [&] {
            found = DiagnoseOwn(Own(absl::StrCat(fault.user, ".json")));
            return found.Verdict(id) == "OK";
          },
          seconds(30)))
          << fault.user << " " << found.all;
    }
  }
}

// What is tried is refused before it changes anything.
TEST_F(DoctorTest, AskingChangesNothing) {
  const auto state = [] {
    const json map =
        json::parse(Testbed("ceph", {"a", "osd", "dump", "-f", "json"}));
    return absl::StrCat(
        map.value("epoch", 0), "\n",
        Testbed("ceph", {"a", "osd", "blocklist", "ls"}),
        Testbed("ceph", {"a", "rbd", "task", "list"}),
        Testbed("ceph", {"a", "rbd", "mirror", "snapshot", "schedule", "list"}),
        Testbed("rados", {"a", "-p", RealBed::kPool, "ls"}));
  };
  (void)DiagnoseOwn();  // it connects
  const std::string before = state();
  EXPECT_EQ(DiagnoseOwn().Verdict("caps.write", kPlace), "OK");
  EXPECT_EQ(state(), before);
  EXPECT_THAT(before, Not(HasSubstr("rbd_addons.doctor")));
}

// A user of one namespace may do all there, and nothing elsewhere.
TEST_F(DoctorTest, AUserOfOneNamespaceIsRightForThatOnly) {
  json entry = Entry("a");
  entry["rbd"]["radosNamespace"] = "tenant1";
  WriteConfig(json::array({entry}).dump());
  const std::string limit = "profile rbd pool=replicapool namespace=tenant1";
  const std::string user = UserWith(
      "tenant", absl::StrCat("mon 'profile rbd, allow command \"osd "
                             "blocklist\"' mgr '",
                             limit, ", allow command \"service status\"' osd '",
                             limit, "'"));
  Found found = DiagnoseOwn(user);
  for (const char* const id :
       {"caps.fence", "caps.unfence", "caps.evict", "caps.write",
        "caps.schedule", "caps.flatten", "caps.mirror-daemons"}) {
    EXPECT_EQ(found.Verdict(id), "OK") << id << found.all;
  }
  EXPECT_THAT(found.Of("caps.write", "object"), HasSubstr("tenant1"));
  WriteRight();
  found = DiagnoseOwn(user);
  EXPECT_EQ(found.Verdict("caps.write", kPlace), "PROBLEM") << found.all;
  EXPECT_EQ(found.Verdict("caps.flatten", kPlace), "WARNING") << found.all;
}

TEST_F(DoctorTest, APlaceThatIsNotMirroredAsItShouldBeIsNamed) {
  json entry = Entry("a");
  entry["rbd"]["radosNamespace"] = "later";
  WriteConfig(json::array({entry}).dump());
  Found found = DiagnoseOwn();
  EXPECT_EQ(found.Verdict("mirror.pools"), "WARNING") << found.all;
  const std::string remedy = found.Remedy("mirror.pools");
  Rbd("a", {"namespace", "create", absl::StrCat(RealBed::kPool, "/later")});
  RunRemedy("a", absl::StrReplaceAll(remedy.substr(remedy.find("rbd mirror")),
                                     {{"POOL", RealBed::kPool}}));
  found = DiagnoseOwn();
  EXPECT_EQ(found.Verdict("mirror.pools"), "") << found.all;
  EXPECT_EQ(found.Verdict("mirror.mode", "later"), "OK") << found.all;
  WriteRight();

  for (const std::string site : {"a", "b"}) {
    Testbed("ceph", {site, "osd", "pool", "create", "other", "1"});
    Rbd(site, {"pool", "init", "other"});
  }
  Rbd("a", {"mirror", "pool", "enable", "other", "pool"});
  found = DiagnoseOwn();
  EXPECT_EQ(found.Verdict("mirror.mode", "other"), "PROBLEM") << found.all;
  RunRemedy("a", found.Remedy("mirror.mode", "other"));
  found = DiagnoseOwn();
  EXPECT_EQ(found.Verdict("mirror.mode", "other"), "OK") << found.all;
  EXPECT_EQ(found.Verdict("mirror.peer", "other"), "PROBLEM") << found.all;
  Rbd("b", {"mirror", "pool", "enable", "other", "image"});
  WriteFile(Own("token"), Rbd("b", {"mirror", "pool", "peer", "bootstrap",
                                    "create", "other"}));
  RunRemedy("a", absl::StrReplaceAll(found.Remedy("mirror.peer", "other"),
                                     {{"TOKEN-FILE", Own("token")}}));
  EXPECT_EQ(DiagnoseOwn().Verdict("mirror.peer", "other"), "OK");
}

// Ceph's own form of the flag and of the queue.
TEST_F(DoctorTest, ThatRemovedSnapshotsAreNotTrimmedIsNamed) {
  Testbed("ceph", {"a", "osd", "set", "nosnaptrim"});
  const std::string image = absl::StrCat(RealBed::kPool, "/trimmed");
  Rbd("a", {"create", "--size", "1M", image});
  Rbd("a", {"snap", "create", "--no-progress", image + "@gone"});
  Rbd("a", {"snap", "rm", "--no-progress", image + "@gone"});
  const auto seen = [](absl::string_view text) {
    return [text] {
      return absl::StrContains(Diagnose("a").Seen("cluster.snaptrim"), text);
    };
  };
  EXPECT_TRUE(Eventually(seen("not trimmed yet"), seconds(30)))
      << Diagnose("a").all;
  const Found found = Diagnose("a");
  EXPECT_EQ(found.Verdict("cluster.snaptrim"), "PROBLEM") << found.all;
  EXPECT_THAT(found.Remedy("cluster.snaptrim"),
              HasSubstr("ceph osd unset nosnaptrim"));
  Testbed("ceph", {"a", "osd", "unset", "nosnaptrim"});
  EXPECT_TRUE(Eventually(seen("have trimmed all"), seconds(60)))
      << Diagnose("a").all;
  EXPECT_EQ(Diagnose("a").Verdict("cluster.snaptrim"), "OK");
  Rbd("a", {"rm", "--no-progress", image});
}

TEST_F(DoctorTest, RbdMirrorsThatAreGoneAreNamedBySite) {
  (void)MakeReplicatedVolume();
  const auto both = [](const std::string& verdict) {
    const Found found = Diagnose("a");
    return found.Verdict("mirror.daemon", kPlace) == verdict &&
           found.Verdict("mirror.peer-daemon", kPlace) == verdict;
  };
  EXPECT_TRUE(Eventually([&] { return both("OK"); }, seconds(60)));
  for (const std::string site : {"a", "b"}) {
    Testbed("kill", {site, "rbd-mirror"});
  }
  EXPECT_TRUE(Eventually([&] { return both("PROBLEM"); }, seconds(90)))
      << Diagnose("a").all;
  // "start it there".
  for (const std::string site : {"a", "b"}) {
    Testbed("start", {site, "rbd-mirror"});
  }
  EXPECT_TRUE(Eventually([&] { return both("OK"); }, seconds(120)))
      << Diagnose("a").all;
}

// The monitor of site b is ahead of this host. The last one: it is killed.
TEST_F(DoctorTest, AHostThatIsBehindIsNamed) {
  const auto restart = [](std::vector<std::string> clock) {
    Testbed("kill", {"b", "mon"});
    std::vector<std::string> start = {"b", "mon"};
    start.insert(start.end(), clock.begin(), clock.end());
    Testbed("start", start);
    // The time of the map is that of its last change.
    Testbed("ceph", {"b", "osd", "blocklist", "add", "192.0.2.1", "60"});
  };
  EXPECT_EQ(Diagnose("b").Verdict("clock.host"), "OK");
  restart({"+60s"});
  Found found = Diagnose("b");
  EXPECT_EQ(found.Verdict("clock.host"), "PROBLEM") << found.all;
  EXPECT_THAT(found.Seen("clock.host"), HasSubstr("ahead of this host"));
  restart({});
  found = Diagnose("b");
  EXPECT_EQ(found.Verdict("clock.host"), "OK") << found.all;
}

}  // namespace
}  // namespace addons::testing
