// An administrator has what was written to volumes copied now, or not for a
// while.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "cli/commands.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "tests/fakes/local_notes.h"
#include "tests/rpc/replication_server.h"

namespace addons::testing {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kMake[] = "rbd_mirror_image_create_snapshot2";

class CliCopyingTest : public ::testing::Test {
 protected:
  CliCopyingTest() {
    server_.AddMirrored();
    server_.world.Advance(minutes(1));
    server_.world.AdvanceToSecond(30);
  }
  /// The exit code.
  int Cli(const std::string& verb, std::vector<std::string> more = {}) {
    dir_.Write("secrets.json",
               absl::StrCat(R"({"userID": ")", server_.a.user()->id,
                            R"(", "userKey": ")",
                            server_.a.user()->key.Reveal(), R"("})"));
    std::vector<std::string> arguments = {"rbd-addons", verb};
    if (more.empty() || more.front().starts_with("--")) {
      more.insert(more.begin(), server_.id);
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(),
                     {"--admin-endpoint", server_.admin_endpoint(),
                      "--secrets-file", dir_.File("secrets.json")});
    std::istringstream in;
    out_.str("");
    err_.str("");
    return RunCli(arguments, in, out_, err_);
  }
  void SetSchedule() {
    Ask ask;
    ask.volume_id = server_.id;
    ask.parameters = {{"schedulingInterval", "5m"}};
    ASSERT_TRUE(server_.Call("PromoteVolume", ask).status.ok());
  }
  bool ManagerHasIt() {
    return server_.a.Schedules().find(server_.image) != std::string::npos;
  }
  grpc::Status SyncOnce(admin_pb::SyncVolumeResponse* made) {
    admin_pb::SyncVolumeRequest request;
    request.set_volume_id(server_.id);
    (*request.mutable_secrets())["userID"] = server_.a.user()->id;
    (*request.mutable_secrets())["userKey"] = server_.a.user()->key.Reveal();
    grpc::ClientContext context;
    return admin_pb::Copying::NewStub(server_.AdminChannel())
        ->SyncVolume(&context, request, made);
  }

  /// Two syncs, of which the second one comes while the first one is held in
  /// `call`. The ids of their snapshots.
  std::pair<uint64_t, uint64_t> SyncBesideOneThatIsHeldAt(const char* call) {
    server_.Start();
    server_.Hold(call);
    admin_pb::SyncVolumeResponse first;
    admin_pb::SyncVolumeResponse second;
    auto one = std::async(std::launch::async, [&] { return SyncOnce(&first); });
    server_.AwaitHeld();
    server_.world.Advance(seconds(1));
    auto other =
        std::async(std::launch::async, [&] { return SyncOnce(&second); });
    server_.AwaitCalls("SyncVolume", 2, "rbdaddons.admin.v1.Copying");
    server_.Release();
    EXPECT_TRUE(one.get().ok());
    EXPECT_TRUE(other.get().ok());
    return {first.snapshot_id(), second.snapshot_id()};
  }

  const TempDir dir_;
  ReplicationServer server_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(CliCopyingTest, ASyncEndsWhenTheOtherSiteHasIt) {
  server_.Start();
  ASSERT_OK(server_.a.Write(server_.image, 7));
  ASSERT_EQ(Cli("sync"), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("what was written until 2"),
                                HasSubstr("is at site 'site-b'")));
  EXPECT_EQ(server_.b.Data(server_.image), 7);
  ASSERT_EQ(Cli("sync", {"--json"}), 0) << err_.str();
  const auto item = ParseJson(out_.str())["items"][0];
  EXPECT_EQ(item["volume_id"], server_.id);
  EXPECT_EQ(item["sites"][0], "site 'site-b'");
  EXPECT_TRUE(item.contains("snapshot_id"));
}

TEST_F(CliCopyingTest, ASyncThatTakesTooLongSaysHowFarItIs) {
  server_.Start();
  server_.b.SetMirrorDaemon(DaemonState::kDown);
  server_.world.Advance(minutes(2));
  server_.world.AdvanceToSecond(30);
  EXPECT_EQ(Cli("sync", {"--timeout", "3"}), 14);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("not complete at site 'site-b'"),
                    HasSubstr("has not reported"), HasSubstr("waited for")));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(CliCopyingTest, EachVolumeHasItsAnswer) {
  const std::string second =
      server_.pair.AddMirroredVolume(server_.a, ReplicationServer::kSecondUuid);
  const std::string gone =
      server_.pair.VolumeId(server_.a, ReplicationServer::kGroupUuid);
  server_.Start();
  EXPECT_EQ(Cli("sync", {server_.id, gone, second}), 5);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr(server_.id + ": what was"),
                    HasSubstr(second + ": what was"), Not(HasSubstr(gone))));
  EXPECT_THAT(err_.str(), HasSubstr(gone));
}

TEST_F(CliCopyingTest, PauseAndResumeSayWhatTheyHaveDone) {
  server_.KeepHistory();
  server_.UseRealTime();
  server_.Start();
  EXPECT_EQ(Cli("pause"), 9);
  EXPECT_THAT(err_.str(), HasSubstr("none to pause"));
  SetSchedule();
  ASSERT_EQ(Cli("pause"), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("paused since 2"), HasSubstr("kept: every 5m")));
  EXPECT_FALSE(ManagerHasIt());
  ASSERT_EQ(Cli("pause", {"--json"}), 0) << err_.str();
  const auto item = ParseJson(out_.str())["items"][0];
  EXPECT_EQ(item["changed"], false);
  EXPECT_EQ(item["schedules"], "every 5m");
  EXPECT_THAT(server_.Call("GetVolumeReplicationInfo").message,
              HasSubstr("paused since"));
  ASSERT_EQ(Cli("resume"), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("put back: every 5m"));
  EXPECT_TRUE(ManagerHasIt());
  ASSERT_EQ(Cli("resume"), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("it is not paused"));
  // It is written a second later.
  const auto limit = std::chrono::steady_clock::now() + seconds(20);
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ASSERT_EQ(Cli("history"), 0) << err_.str();
  } while (out_.str().find("resume") == std::string::npos &&
           std::chrono::steady_clock::now() < limit);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("pause"), HasSubstr("resume")));
}

// Two that ask while one is being made would both lack what the second one's
// caller has written meanwhile.
TEST_F(CliCopyingTest, WhoComesWhileOneIsMadeGetsALaterOne) {
  const auto [first, second] = SyncBesideOneThatIsHeldAt(kMake);
  EXPECT_LT(first, second);
  EXPECT_EQ(server_.CallsTo(kMake), 2);
}

// It is held before it looks at the image.
TEST_F(CliCopyingTest, WhoComesBeforeOneIsMadeGetsTheSameOne) {
  const auto [first, second] =
      SyncBesideOneThatIsHeldAt("rbd.mirror_image_status_get");
  EXPECT_EQ(first, second);
  EXPECT_EQ(server_.CallsTo(kMake), 1);
}

}  // namespace
}  // namespace addons::testing
