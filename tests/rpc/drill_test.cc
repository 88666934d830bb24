// A drill, from the first enable to the last unfence: the story that the
// command line tells of it is the test's own list of events, on simulated
// clusters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "tests/rpc/cli_fixture.h"
#include "tests/rpc/fence_call.h"
#include "tests/rpc/reclaim_call.h"
#include "tests/rpc/volume_group_call.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAreArray;

constexpr char kNoSchedule[] = "primary -> primary without a schedule";

class DrillTest : public CliVerbTest {
 protected:
  DrillTest() { server_.KeepHistory(); }

  // What the test does, each of which says what the story has of it.

  void Happened(const std::string& object, const std::string& what) {
    expected_.push_back(absl::StrCat(object, "  ", what));
  }
  void Answered(const std::string& object, const std::string& verb,
                const grpc::Status& status) {
    Happened(object, absl::StrCat(
                         verb, ": ",
                         absl::StatusCodeToString(static_cast<absl::StatusCode>(
                             status.error_code()))));
  }
  grpc::StatusCode Ask(const std::string& method, const std::string& verb,
                       bool force = false,
                       const std::vector<std::string>& roles = {}) {
    testing::Ask ask;
    ask.volume_id = server_.id;
    ask.force = force;
    const grpc::Status status = server_.Call(method, ask).status;
    for (const std::string& role : roles) Happened(server_.id, role);
    Answered(server_.id, verb, status);
    return status.error_code();
  }
  grpc::StatusCode Fence(const std::string& method, const std::string& verb,
                         const std::string& range) {
    FenceAsk ask;
    ask.cidrs = {range};
    ask.user_id = server_.a.user()->id;
    ask.user_key = server_.a.user()->key.Reveal();
    const grpc::Status status =
        CallFence(server_.Channel(), method, ask).status;
    Answered("cluster 'site-a'", absl::StrCat(verb, " ", range), status);
    return status.error_code();
  }
  VolumeGroupAnswer Group(const std::string& method, VolumeGroupAsk ask) {
    ask.user_id = server_.a.user()->id;
    ask.user_key = server_.a.user()->key.Reveal();
    if (method == "CreateVolumeGroup") {
      ask.parameters = {{"clusterID", "site-a"}, {"pool", MirroredPair::kPool}};
    }
    return CallVolumeGroup(server_.Channel(), method, ask);
  }
  void Joined(const std::string& group, const std::string& volume) {
    Happened(group, absl::StrCat("add volume ", volume, ": OK"));
    Happened(volume, "in no group -> member of a group");
  }
  void Left(const std::string& group, const std::string& volume) {
    Happened(group, absl::StrCat("remove volume ", volume, ": OK"));
    Happened(volume, "member of a group -> in no group");
  }
  void Cancel() {
    server_.Hold("rbd.mirror_image_status_get");
    testing::Ask ask;
    ask.volume_id = server_.id;
    auto call = std::async(std::launch::async, [this, ask] {
      return server_.Call("DemoteVolume", ask).status;
    });
    server_.AwaitHeld();
    ASSERT_EQ(RunOnSockets({"operations", "--json"}), 0) << err_.str();
    const auto running = ParseJson(out_.str());
    const std::string id = running["operations"][0]["operation_id"];
    ASSERT_EQ(RunOnSockets({"cancel", id, "--yes"}), 0) << err_.str();
    // Its caller is answered first.
    Answered(server_.id, "demote", call.get());
    Happened(server_.id, "cancel demote: OK");
    server_.Release();
  }

  int RunOnSockets(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "rbd-addons");
    arguments.insert(arguments.end(),
                     {"--admin-endpoint", server_.admin_endpoint()});
    std::istringstream in;
    out_.str("");
    err_.str("");
    return RunCli(arguments, in, out_, err_);
  }
  /// What `rbd-addons history` tells, each event a line.
  std::vector<std::string> Story(const std::vector<std::string>& of) {
    std::vector<std::string> arguments = {"history", "--json"};
    arguments.insert(arguments.end(), of.begin(), of.end());
    EXPECT_EQ(Run(arguments), 0) << err_.str();
    std::vector<std::string> story;
    const nlohmann::json found = ParseJson(out_.str());
    for (const auto& event : found.value("events", nlohmann::json::array())) {
      const std::string to = event.value("to", "");
      const std::string what =
          to.empty() ? absl::StrCat(std::string(event["verb"]), ": ",
                                    std::string(event["code"]))
                     : absl::StrCat(std::string(event["from"]), " -> ", to);
      const std::string times = event.value("times", "1");
      story.push_back(absl::StrCat(std::string(event["object"]), "  ", what,
                                   times == "1" ? "" : ", " + times));
    }
    // Which of the two is noted first is not told.
    for (size_t i = 1; i < story.size(); ++i) {
      if (story[i].ends_with("  demote: ABORTED") &&
          story[i - 1].ends_with("  cancel demote: OK")) {
        std::swap(story[i - 1], story[i]);
      }
    }
    return story;
  }
  std::vector<std::string> ExpectedOf(const std::string& object) const {
    std::vector<std::string> some;
    for (const std::string& line : expected_) {
      if (line.rfind(absl::StrCat(object, "  "), 0) == 0) some.push_back(line);
    }
    return some;
  }
  /// Another daemon, after the end of this one, which writes what is left.
  void StartAnew() {
    ASSERT_TRUE(server_.Shutdown(std::chrono::seconds(5)));
    server_.Stop();
    server_.Start();
  }
  void MirroringOfTheVolume();
  void ThereAndBack();
  void TheOtherSiteDies();
  void AFenceAndAGroup();

  std::vector<std::string> expected_;
  std::string group_;
  std::string second_;
};

void DrillTest::MirroringOfTheVolume() {
  EXPECT_EQ(Ask("EnableVolumeReplication", "enable replication", false,
                {"off -> primary"}),
            grpc::StatusCode::OK);
  server_.a.AddWatcher(server_.image, "10.0.0.9:0/77", 4711);
  EXPECT_EQ(Ask("DemoteVolume", "demote"),
            grpc::StatusCode::FAILED_PRECONDITION);
  testing::Ask reclaim;
  reclaim.volume_id = server_.id;
  Answered(server_.id, "reclaim space", Reclaim(server_, reclaim).status);
  server_.a.RemoveWatcher(server_.image, 4711);
  Cancel();
  EXPECT_EQ(Ask("DemoteVolume", "demote", false, {"primary -> demoted"}),
            grpc::StatusCode::OK);
}

void DrillTest::ThereAndBack() {
  server_.world.Advance(minutes(1));
  server_.b.Promote(server_.image, Force::kNo);
  server_.world.Advance(minutes(2));
  EXPECT_EQ(Ask("ResyncVolume", "resync"), grpc::StatusCode::OK);
  server_.b.Demote(server_.image);
  server_.world.Advance(minutes(2));
  EXPECT_EQ(Ask("PromoteVolume", "promote", false,
                {"demoted -> primary", kNoSchedule}),
            grpc::StatusCode::OK);
}

void DrillTest::TheOtherSiteDies() {
  EXPECT_EQ(Ask("DemoteVolume", "demote", false, {"primary -> demoted"}),
            grpc::StatusCode::OK);
  server_.world.Advance(minutes(1));
  server_.b.Promote(server_.image, Force::kNo);
  server_.world.Advance(minutes(2));
  server_.b.SetClusterUp(false);
  EXPECT_NE(Ask("PromoteVolume", "promote"), grpc::StatusCode::OK);
  EXPECT_EQ(Ask("PromoteVolume", "promote by force", true,
                {"secondary -> primary", kNoSchedule}),
            grpc::StatusCode::OK);
  EXPECT_EQ(Ask("DisableVolumeReplication", "disable replication", false,
                {"primary -> off"}),
            grpc::StatusCode::OK);
}

void DrillTest::AFenceAndAGroup() {
  EXPECT_EQ(Fence("FenceClusterNetwork", "fence", "10.9.0.0/24"),
            grpc::StatusCode::OK);
  EXPECT_EQ(Fence("FenceClusterNetwork", "fence", "10.8.0.0/24"),
            grpc::StatusCode::OK);
  EXPECT_EQ(Fence("UnfenceClusterNetwork", "unfence", "10.9.0.0/24"),
            grpc::StatusCode::OK);
  VolumeGroupAsk ask;
  ask.name = "databases";
  ask.volume_ids = {second_};
  const VolumeGroupAnswer made = Group("CreateVolumeGroup", ask);
  ask.group_id = group_ = made.group_id;
  Joined(group_, second_);
  Answered(group_, "create group", made.status);
  EXPECT_TRUE(made.status.ok()) << made.status.error_message();
  const grpc::Status full = Group("DeleteVolumeGroup", ask).status;
  EXPECT_EQ(full.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  Answered(group_, "delete group", full);
  ask.volume_ids = {};
  const grpc::Status emptied = Group("ModifyVolumeGroupMembership", ask).status;
  Left(group_, second_);
  Answered(group_, "modify group", emptied);
  Answered(group_, "delete group", Group("DeleteVolumeGroup", ask).status);
}

TEST_F(DrillTest, TheStoryIsWhatHappenedAndNothingElse) {
  server_.AddPlain();
  second_ = server_.pair.AddVolume(server_.a, ReplicationServer::kSecondUuid);
  server_.Start();
  MirroringOfTheVolume();
  ThereAndBack();
  AFenceAndAGroup();
  TheOtherSiteDies();
  StartAnew();
  EXPECT_THAT(Story({"--pool", MirroredPair::kPool}),
              ElementsAreArray(expected_));
  for (const std::string& object : {server_.id, second_}) {
    EXPECT_THAT(Story({object}), ElementsAreArray(ExpectedOf(object)));
  }
}

}  // namespace
}  // namespace addons::testing
