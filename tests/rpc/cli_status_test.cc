// `rbd-addons status` through the socket, on simulated clusters.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "admin/status_service.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/inspection.h"
#include "cli/interrupt.h"
#include "tests/rpc/app_fixture.h"
#include "tests/rpc/replication_server.h"
#include "tests/testing/interrupted_output.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

/// Without metrics: the administrators' socket alone makes it watch.
Config WatchedOften() {
  Config config;
  config.watch_interval = milliseconds(10);
  return config;
}

class CliStatusTest : public ::testing::Test {
 protected:
  explicit CliStatusTest(const std::string& site = "a",
                         const Config& config = WatchedOften())
      : server_(site, config) {
    server_.UseRealTime();
  }

  int RunAsTyped(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "rbd-addons");
    std::istringstream in;
    out_.str("");
    err_.str("");
    return RunCli(arguments, in, out_, err_);
  }
  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--admin-endpoint", server_.admin_endpoint()});
    return RunAsTyped(std::move(arguments));
  }
  /// Until it prints `text`; the last exit code.
  int Await(const std::vector<std::string>& arguments,
            const std::string& text) {
    const auto give_up = steady_clock::now() + seconds(30);
    int code = Run(arguments);
    while (out_.str().find(text) == std::string::npos &&
           steady_clock::now() < give_up) {
      RealClock().SleepFor(milliseconds(5), std::stop_token());
      code = Run(arguments);
    }
    EXPECT_THAT(out_.str(), HasSubstr(text));
    return code;
  }
  void SetSchedule(const std::string& image) {
    ASSERT_OK(server_.pair.cluster(server_.a)->MgrCommand(
        absl::StrCat(R"({"prefix":"rbd mirror snapshot schedule add",)"
                     R"("level_spec":"replicapool/)",
                     image, R"(","interval":"5m"})")));
  }
  /// A mirrored volume with a schedule, copied a moment ago, that a call has
  /// named.
  void AddWatched() {
    server_.AddMirrored();
    SetSchedule(server_.image);
    server_.site().SetImageMetadata(server_.image,
                                    "csi.storage.k8s.io/pvc/name", "data");
    server_.site().SetImageMetadata(server_.image,
                                    "csi.storage.k8s.io/pvc/namespace", "ns1");
    server_.world.Advance(seconds(60));
    server_.Start();
    server_.Call("GetVolumeReplicationInfo");
  }
  nlohmann::json Json() const { return ParseJson(out_.str()); }

  ReplicationServer server_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(CliStatusTest, CompletionsKnowWhatTheDaemonWatches) {
  AddWatched();
  Await({"known", "pools"}, MirroredPair::kPool);
  EXPECT_EQ(out_.str(), absl::StrCat(MirroredPair::kPool, "\n"));
  EXPECT_EQ(Run({"known", "clusters"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr(server_.a.cluster_id()));
  EXPECT_EQ(Run({"known", "volumes"}), 0);
  EXPECT_THAT(out_.str(), StartsWith("pvc-"));
  EXPECT_EQ(Run({"known", "secrets"}), kCliUsage);
  // Of which a daemon is not asked.
  EXPECT_EQ(
      RunAsTyped({"known", "parameters", "--admin-endpoint", "unix:///x"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("schedulingInterval=\n"));
  EXPECT_NE(RunAsTyped({"known", "pools", "--admin-endpoint", "unix:///x"}), 0);
  EXPECT_THAT(out_.str(), IsEmpty());
}

TEST_F(CliStatusTest, AnEmptyDaemonSaysWhatToDo) {
  server_.AddMirrored();
  server_.Start();
  EXPECT_EQ(Run({"status"}), kWouldNotWork) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(StartsWith("nothing is watched yet"),
                                HasSubstr("rbd-addons info VOLUME")));
  EXPECT_EQ(Run({"status", "-o", "json"}), kWouldNotWork);
  EXPECT_THAT(std::string(Json()["not_watched"]),
              StartsWith("nothing is watched"));
  EXPECT_TRUE(Json()["volumes"].empty());
}

// The first look comes some seconds after the first call.
TEST_F(CliStatusTest, WhatWasNamedAMomentAgoIsNotCalledUnnamed) {
  AddWatched();
  const int code = Run({"status"});
  EXPECT_THAT(out_.str(), Not(HasSubstr("no call has named")));
  if (code == kWouldNotWork) {
    EXPECT_THAT(out_.str(), HasSubstr("within half a minute"));
  }
}

TEST_F(CliStatusTest, AHealthyVolumeIsInStepUnderTheNameOfItsClaim) {
  AddWatched();
  EXPECT_EQ(Await({"status"}, "in step  "), 0) << out_.str() << err_.str();
  EXPECT_THAT(out_.str(), AllOf(StartsWith("POOL "), HasSubstr("\nns1/data "),
                                HasSubstr(" 5m     site-b\n"),
                                HasSubstr("1 volume: 1 in step, 0 late")));
  EXPECT_EQ(Run({"status", "-o", "wide"}), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("replicapool/" + server_.image),
                                HasSubstr(server_.id), HasSubstr("pvc-")));
}

TEST_F(CliStatusTest, JsonAndYamlHaveFields) {
  AddWatched();
  Await({"status"}, "in step  ");
  EXPECT_EQ(Run({"status", "--json"}), 0) << err_.str();
  const nlohmann::json shown = Json();
  ASSERT_EQ(shown["pools"].size(), 1U);
  EXPECT_EQ(shown["pools"][0]["pool"], "replicapool");
  EXPECT_EQ(shown["pools"][0]["in_step"], 1);
  EXPECT_EQ(shown["pools"][0]["peers"][0], "site-b");
  ASSERT_EQ(shown["volumes"].size(), 1U);
  const nlohmann::json& volume = shown["volumes"][0];
  EXPECT_EQ(volume["name"], "ns1/data");
  EXPECT_EQ(volume["claim"], "ns1/data");
  EXPECT_EQ(volume["volume_id"], server_.id);
  EXPECT_EQ(volume["image"], "replicapool/" + server_.image);
  EXPECT_EQ(volume["role"], "PRIMARY");
  EXPECT_EQ(volume["state"], "IN_STEP");
  EXPECT_EQ(volume["interval_seconds"], 300);
  EXPECT_TRUE(volume["copy_age_seconds"].is_number());
  EXPECT_THAT(std::string(volume["last_copy"]), HasSubstr("T"));
  EXPECT_EQ(shown["next_token"], "");
  EXPECT_EQ(Run({"status", "-o", "yaml"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("state: IN_STEP\n"));
}

TEST_F(CliStatusTest, AVolumeOfAGroupShowsTheGroupsName) {
  server_.AddMirrored();
  (void)server_.pair.AddMirroredVolume(server_.a,
                                       ReplicationServer::kSecondUuid);
  SetSchedule(server_.image);
  server_.AddGroup({server_.id});
  server_.a.SetOmap(MirroredPair::kPool, "", "csi.groups.default",
                    {{"csi.volume.group.vgrcontent-1", server_.kGroupUuid}});
  server_.world.Advance(seconds(60));
  server_.Start();
  server_.Call("GetVolumeReplicationInfo");
  Await({"status"}, "in step  ");
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("PEER    GROUP\n"),
                                HasSubstr(" site-b  vgrcontent-1\n"),
                                Not(HasSubstr(server_.group_id))));
  Run({"list", "-o", "wide"});
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr(" GROUP ID\n"), HasSubstr(server_.group_id)));
  Run({"ls", "vgrcontent"});
  EXPECT_THAT(out_.str(), HasSubstr(" vgrcontent-1\n"));
  Run({"status", server_.image, "--json"});
  ASSERT_EQ(Json()["volumes"].size(), 1U);
  EXPECT_EQ(Json()["volumes"][0]["group"], "vgrcontent-1");
  EXPECT_EQ(Json()["volumes"][0]["group_id"], server_.group_id);
  Run({"status", ReplicationServer::kSecondUuid, "--json"});
  ASSERT_EQ(Json()["volumes"].size(), 1U);
  EXPECT_EQ(Json()["volumes"][0]["group"], "") << "it is in none";
}

TEST_F(CliStatusTest, OtherNamesAndFilters) {
  AddWatched();
  Await({"status"}, "in step  ");
  for (const char* verb : {"list", "ls"}) {
    EXPECT_EQ(Run({verb, "--pool", "replicapool"}), 0) << err_.str();
    EXPECT_THAT(out_.str(), HasSubstr("ns1/data"));
  }
  EXPECT_EQ(Run({"status", "DATA"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("ns1/data"));
  EXPECT_EQ(Run({"status", "mongo"}), kWouldNotWork);
  EXPECT_THAT(out_.str(), HasSubstr("no volume has 'mongo' in it"));
  EXPECT_EQ(Run({"status", "--trouble"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("no volume is late, broken or unknown"));
  EXPECT_EQ(Run({"status", "--pool", "other"}), kWouldNotWork);
  EXPECT_THAT(out_.str(), HasSubstr("no pool 'other' is watched"));
  EXPECT_EQ(Run({"status", "--cluster", "nowhere"}), kWouldNotWork);
}

TEST_F(CliStatusTest, WrongUseIsRefused) {
  AddWatched();
  EXPECT_EQ(Run({"status", "a", "b"}), kCliUsage);
  EXPECT_EQ(Run({"status", "-o", "xml"}), kCliUsage);
  EXPECT_EQ(RunAsTyped({"status", "--pool"}), kCliUsage);
  const std::string endless(1000, 'x');
  EXPECT_EQ(Run({"status", endless}), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(out_.str(), IsEmpty());
  EXPECT_THAT(err_.str(), StartsWith("INVALID_ARGUMENT: the text: is 1000 "));
  // By the names of flags, but for who writes the request.
  EXPECT_EQ(Run({"status", "--pool", endless}), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(err_.str(), StartsWith("INVALID_ARGUMENT: --pool: is 1000 "));
  EXPECT_EQ(Run({"call", "ListStatus",
                 absl::StrCat(R"({"pool": ")", endless, R"("})")}),
            grpc::INVALID_ARGUMENT);
  EXPECT_THAT(err_.str(), StartsWith("INVALID_ARGUMENT: pool: is 1000 "));
}

TEST_F(CliStatusTest, WhatIsLateIsTroubleAndSaysWhy) {
  server_.AddMirrored();
  server_.world.Advance(seconds(60));
  server_.Start();
  server_.Call("GetVolumeReplicationInfo");
  EXPECT_EQ(Await({"status"}, " late "), kWouldNotWork);
  EXPECT_THAT(out_.str(), HasSubstr("-o wide says why"));
  EXPECT_EQ(Run({"status", "-o", "wide"}), kWouldNotWork);
  EXPECT_THAT(out_.str(), HasSubstr("\n  site 'site-b' is replaying; no mirror "
                                    "snapshot schedule applies"));
  EXPECT_EQ(Run({"status", "--trouble"}), kWouldNotWork);
}

TEST_F(CliStatusTest, ADeadClusterIsNoHealth) {
  AddWatched();
  Await({"status"}, "in step  ");
  server_.site().SetClusterUp(false);
  EXPECT_EQ(Await({"status"}, "cannot be seen: "), kWouldNotWork);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("what is shown of it is"), HasSubstr(" unknown "),
                    Not(HasSubstr(" in step "))));
}

TEST_F(CliStatusTest, ThatTheClientIsOnTheBlocklistIsSaid) {
  AddWatched();
  Await({"status"}, "in step  ");
  server_.world.SetCallHook(
      [](absl::string_view, absl::string_view call, bool) {
        return call == "rbd_mirror_image_global_status_list" ? ESHUTDOWN : 0;
      });
  EXPECT_EQ(Await({"status"}, "on the blocklist: "), kWouldNotWork);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("somebody has fenced this node, or evicted"),
                    HasSubstr("; that was first seen ")));
  server_.world.SetCallHook(nullptr);
  EXPECT_EQ(Await({"status"}, "in step  "), 0);
}

TEST_F(CliStatusTest, AnswersWhileTheClusterHangs) {
  AddWatched();
  Await({"status"}, "in step  ");
  server_.Hold("rbd_mirror_image_global_status_list");
  server_.AwaitHeld();
  const auto begin = steady_clock::now();
  EXPECT_EQ(Run({"status"}), 0);
  EXPECT_LT(steady_clock::now() - begin, seconds(5));
  server_.Release();
}

TEST_F(CliStatusTest, WithoutAVerbADaemonThatListensIsAsked) {
  AddWatched();
  Await({"status"}, "in step  ");
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  setenv("RBD_ADDONS_ADMIN_ENDPOINT", server_.admin_endpoint().c_str(), 1);
  EXPECT_EQ(RunAsTyped({}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("ns1/data"));
  EXPECT_THAT(err_.str(), HasSubstr("rbd-addons --help"));
  server_.Stop();
  EXPECT_EQ(RunAsTyped({}), kCliUsage);
  EXPECT_THAT(err_.str(), HasSubstr("subcommand is required"));
  unsetenv("RBD_ADDONS_ADMIN_ENDPOINT");  // NOLINT(concurrency-mt-unsafe)
}

TEST_F(CliStatusTest, AWatchShowsItAgain) {
  AddWatched();
  Await({"status"}, "in step  ");
  for (const char* const verb : {"status", "ls"}) {
    std::istringstream in;
    InterruptedOutput out(/*at_flush=*/2);
    EXPECT_EQ(RunCli({"rbd-addons", verb, "--watch=0.1", "--admin-endpoint",
                      server_.admin_endpoint()},
                     in, out, err_),
              kCliInterrupted)
        << err_.str();
    const std::vector<std::string> looks = absl::StrSplit(out.text(), "--- 20");
    ASSERT_EQ(looks.size(), 3U) << out.text();
    EXPECT_THAT(looks[0], IsEmpty());
    for (size_t i = 1; i < looks.size(); ++i) {
      EXPECT_THAT(looks[i],
                  AllOf(HasSubstr("ns1/data"), HasSubstr("in step  ")));
    }
  }
}

TEST_F(CliStatusTest, NoDaemonIsUnavailable) {
  EXPECT_EQ(Run({"status", "--timeout", "1"}), grpc::UNAVAILABLE);
  EXPECT_THAT(out_.str(), IsEmpty());
}

class CliStatusOnStandbyTest : public CliStatusTest {
 protected:
  CliStatusOnStandbyTest() : CliStatusTest("b") {}
};

TEST_F(CliStatusOnStandbyTest, TheSecondaryIsShownWithItsAge) {
  server_.AddMirrored();
  server_.world.Advance(seconds(60));
  server_.id = server_.pair.VolumeId(server_.b, ReplicationServer::kUuid);
  server_.Start();
  server_.Call("GetVolumeReplicationInfo");
  EXPECT_EQ(Await({"status"}, "secondary  in step  "), 0) << out_.str();
  server_.b.ForceSplitBrain(server_.image);
  server_.world.Advance(seconds(90));
  EXPECT_EQ(Await({"status"}, "secondary  broken"), kWouldNotWork);
}

Config WatchedSeldom() {
  Config config;
  config.watch_interval = std::chrono::hours(1);
  return config;
}

class CliStatusAfterACallTest : public CliStatusTest {
 protected:
  CliStatusAfterACallTest() : CliStatusTest("a", WatchedSeldom()) {}
};

// As one who types a verb, and then status.
TEST_F(CliStatusAfterACallTest, WhatWasSeenBeforeItIsNotShown) {
  AddWatched();
  // The call has named the volume, so that it is looked at soon.
  Await({"status"}, "ns1/data  primary  in step  ");
  ASSERT_TRUE(server_.Call("DemoteVolume").status.ok());
  EXPECT_EQ(Run({"status", "-o", "wide"}), kWouldNotWork);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("ns1/data  secondary  unknown  -  "),
                    HasSubstr("no site is known to be primary"),
                    HasSubstr("the last look was before that"),
                    HasSubstr("0 in step, 0 late, 0 broken, 0 copying, 1 "
                              "unknown")));
  // The look that follows knows no more: rbd-mirror has not reported since.
  Await({"status", "-o", "wide"}, "has not reported since");
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("  secondary  unknown  -  "),
                                HasSubstr("no site is known to be primary")));
}

class CliStatusOffTest : public AppFixture {
 protected:
  int Status() {
    std::istringstream in;
    std::ostringstream err;
    out_.str("");
    return RunCli(
        {"rbd-addons", "status", "--admin-endpoint", admin_endpoint()}, in,
        out_, err);
  }
  std::ostringstream out_;
};

TEST_F(CliStatusOffTest, ADaemonThatDoesNotWatchSaysSo) {
  config_.watch_interval = milliseconds(0);
  ASSERT_OK(Start());
  EXPECT_EQ(Status(), kWouldNotWork);
  EXPECT_THAT(out_.str(), HasSubstr("--watch-interval"));
}

TEST_F(CliStatusOffTest, ANodesDaemonSaysWhomToAsk) {
  config_.modes = {.controller = false, .node = true};
  ASSERT_OK(Start());
  EXPECT_EQ(Status(), kWouldNotWork);
  EXPECT_THAT(out_.str(), HasSubstr("--controllerserver"));
}

TEST_F(CliStatusOffTest, WithoutAClusterNothingCanBeWatched) {
  dir_.Write("config.json", "[]");
  ASSERT_OK(Start());
  EXPECT_EQ(Status(), kWouldNotWork);
  EXPECT_THAT(out_.str(), HasSubstr("no cluster of this site"));
}

/// A service that has seen what the test says.
class CliStatusOfManyTest : public ::testing::Test {
 protected:
  CliStatusOfManyTest() {
    WatchedPool& pool = seen_.pools.emplace_back();
    pool.cluster_id = "site-a";
    pool.pool = "replicapool";
    pool.peers = {"site-b"};
    pool.seen_at = RealClock().Now();
    for (int i = 0; i < kVolumes; ++i) {
      WatchedImage& image = pool.images.emplace_back();
      image.image = absl::StrCat("csi-vol-", i);
      image.image_id = absl::StrCat("1031a976f30a", i);
      image.volume_id = absl::StrCat("0001-0006-site-a-0000000000000002-", i);
      image.volume_name = absl::StrCat("pvc-", i);
      image.claim = absl::StrCat("namespace/claim-", i);
      image.role = WatchedRole::kPrimary;
      image.copy = CopyState::kInStep;
      image.lag_seconds = 60;
      image.interval_seconds = 300;
      image.last_sync = 1700000000;
      image.message = std::string(300, 'm');
    }
    pool.total = kVolumes;
    pool.by_copy = {kVolumes, 0, 0, 0, 0};
    grpc::ServerBuilder builder;
    builder.AddListeningPort(absl::StrCat("unix:", dir_.File("a")),
                             grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~CliStatusOfManyTest() override { server_->Shutdown(); }

  std::shared_ptr<const WatchSnapshot> Seen() {
    ++asked_;
    if (asked_ <= looks_while_asked_) ++seen_.number;
    return std::make_shared<WatchSnapshot>(seen_);
  }
  int Run(const std::string& form) {
    std::istringstream in;
    out_.str("");
    err_.str("");
    return RunCli({"rbd-addons", "status", "-o", form, "--admin-endpoint",
                   absl::StrCat("unix://", dir_.File("a"))},
                  in, out_, err_);
  }

  static constexpr int kVolumes = 5000;
  const TempDir dir_;
  WatchSnapshot seen_;
  int asked_ = 0;
  int looks_while_asked_ = 0;  // one for each of the first calls
  Rpc rpc_{RealClock()};
  StatusService service_{rpc_,
                         {[this] { return Seen(); },
                          []() -> absl::StatusOr<std::vector<std::string>> {
                            return std::vector<std::string>{"site-a"};
                          },
                          true}};
  std::unique_ptr<grpc::Server> server_;
  std::ostringstream out_;
  std::ostringstream err_;
};

// Of the processor, with the server's part: on a machine with other work they
// take longer.
TEST_F(CliStatusOfManyTest, FiveThousandVolumesTakeTwoSecondsAtMost) {
  for (const char* form : {"text", "wide", "json", "yaml"}) {
    const std::clock_t begin = std::clock();
    EXPECT_EQ(Run(form), 0) << err_.str();
    const milliseconds took(1000 * (std::clock() - begin) / CLOCKS_PER_SEC);
    EXPECT_LT(took, seconds(2)) << form;
    RecordProperty(form, static_cast<int>(took.count()));
    EXPECT_THAT(out_.str(), HasSubstr("namespace/claim-0"));
    EXPECT_THAT(out_.str(), HasSubstr("namespace/claim-4999"));
  }
}

TEST_F(CliStatusOfManyTest, ALookBetweenTwoPagesIsNoGap) {
  looks_while_asked_ = 4;
  EXPECT_EQ(Run("json"), 0) << err_.str();
  EXPECT_EQ(asked_, 6) << "two tries of the second page were in vain";
  std::set<std::string> names;
  const nlohmann::json shown = ParseJson(out_.str());
  for (const nlohmann::json& volume : shown["volumes"]) {
    names.insert(std::string(volume["name"]));
  }
  EXPECT_EQ(names.size(), 5000U);
}

TEST_F(CliStatusOfManyTest, LooksWithoutEndAreAnError) {
  looks_while_asked_ = 1000;
  EXPECT_EQ(Run("text"), grpc::ABORTED);
  EXPECT_THAT(out_.str(), IsEmpty());
}

}  // namespace
}  // namespace addons::testing
