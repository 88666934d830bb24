// What happened to volumes, written by a daemon and read through the command
// line of the next one, on simulated clusters.

#include "cli/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "tests/rpc/replication_server.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// What it has seen is told beside what was written.
Config WithoutWatch() {
  Config config;
  config.watch_interval = std::chrono::milliseconds(0);
  return config;
}

class HistoryTest : public ::testing::Test {
 protected:
  explicit HistoryTest(const Config& config = WithoutWatch())
      : server_("a", config) {
    server_.KeepHistory();
  }

  int History(const std::vector<std::string>& more) {
    dir_.Write("secrets.json",
               absl::StrCat(R"({"userID": ")", server_.a.user()->id,
                            R"(", "userKey": ")",
                            server_.a.user()->key.Reveal(), R"("})"));
    std::vector<std::string> arguments = {
        "rbd-addons",       "history",
        "--admin-endpoint", server_.admin_endpoint(),
        "--secrets-file",   dir_.File("secrets.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::istringstream in;
    out_.str("");
    err_.str("");
    return RunCli(arguments, in, out_, err_);
  }
  grpc::Status Demote() {
    Ask ask;
    ask.volume_id = server_.id;
    return server_.Call("DemoteVolume", ask).status;
  }
  /// Another daemon, after the end of this one.
  void StartAnew() {
    ASSERT_TRUE(server_.Shutdown(std::chrono::seconds(5)));
    server_.Stop();
    server_.Start();
  }

  const TempDir dir_;
  ReplicationServer server_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(HistoryTest, TellsOfAnswersAndRolesAfterTheDaemonHasGone) {
  server_.AddMirrored();
  server_.Start();
  server_.a.AddWatcher(server_.image, "10.0.0.9:0/77", 4711);
  ASSERT_EQ(Demote().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  server_.a.RemoveWatcher(server_.image, 4711);
  ASSERT_TRUE(Demote().ok());
  ASSERT_TRUE(Demote().ok());
  StartAnew();
  ASSERT_EQ(History({server_.id}), 0) << err_.str();
  const std::string image = absl::StrCat("replicapool/", server_.image);
  EXPECT_THAT(out_.str(),
              ContainsRegex(absl::StrCat(
                  image, "  demote: FAILED_PRECONDITION\n.*10.0.0.9(.|\n)*",
                  image, "  primary -> demoted\n  demoted\n(.|\n)*", image,
                  "  demote: OK, 2 times until ")));
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr(absl::StrCat("asked by client.", server_.a.user()->id,
                                   ", request ")),
            Not(HasSubstr(std::string(server_.a.user()->key.Reveal())))));
}

TEST_F(HistoryTest, AGroupHasItsOwnEventsAndThoseOfItsMembersAreInThePool) {
  server_.AddMirroredGroup();
  server_.Start();
  Ask ask;
  ask.group_id = server_.group_id;
  ASSERT_TRUE(server_.Call("DemoteVolume", ask).status.ok());
  StartAnew();
  ASSERT_EQ(History({"--group", server_.group_id}), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr(absl::StrCat(server_.group_id, "  demote: OK")),
                    Not(HasSubstr("primary -> demoted"))));
  ASSERT_EQ(History({"--pool", MirroredPair::kPool}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("demote: OK"),
                                ContainsRegex("primary -> demoted(.|\n)*"
                                              "primary -> demoted")));
  ASSERT_EQ(History({"--pool", MirroredPair::kPool, "--limit", "1"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("there are older ones"));
}

TEST_F(HistoryTest, WhatHasJustHappenedIsTold) {
  server_.UseRealTime();  // which events are written by
  server_.AddMirrored();
  server_.Start();
  ASSERT_TRUE(Demote().ok());
  ASSERT_EQ(History({server_.id}), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("primary -> demoted"), HasSubstr("demote: OK")));
}

class WatchedHistoryTest : public HistoryTest {
 protected:
  WatchedHistoryTest() : HistoryTest(Config()) {}
};

TEST_F(WatchedHistoryTest, AVolumeIsCalledByTheNameThatTheWatchKnows) {
  server_.UseRealTime();
  server_.AddMirrored();
  server_.Start();
  ASSERT_TRUE(Demote().ok());
  const std::string name = MirroredPair::RequestName(ReplicationServer::kUuid);
  const auto limit =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  do {
    ASSERT_EQ(History({server_.id}), 0) << err_.str();
  } while (out_.str().find(name) == std::string::npos &&
           std::chrono::steady_clock::now() < limit);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("  " + name + "  demote: OK\n"),
                                Not(HasSubstr("0001-"))));
  ASSERT_EQ(History({server_.id, "-o", "wide"}), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              HasSubstr(absl::StrCat("  ", name, " (replicapool/",
                                     server_.image, ", ", server_.id, ")  ")));
}

TEST(HistoryTextTest, AnEventIsCalledByWhatIsKnown) {
  ::rbdaddons::admin::v1::ListHistoryResponse found;
  ::rbdaddons::admin::v1::HistoryEvent& event = *found.add_events();
  event.set_object("0001-id");
  event.set_verb("demote");
  event.set_code("OK");
  EXPECT_THAT(HistoryText(found, "pool p"),
              HasSubstr("  0001-id  demote: OK\n"));
  EXPECT_THAT(HistoryText(found, "pool p", /*wide=*/true),
              HasSubstr("  0001-id  demote: OK\n"));
  event.set_image("pool/image");
  EXPECT_THAT(HistoryText(found, "pool p"),
              HasSubstr("  pool/image  demote: OK\n"));
  event.set_name("vgrcontent-1");
  EXPECT_THAT(HistoryText(found, "pool p"),
              HasSubstr("  vgrcontent-1  demote: OK\n"));
  EXPECT_THAT(HistoryText(found, "pool p", /*wide=*/true),
              HasSubstr("  vgrcontent-1 (pool/image, 0001-id)  demote: OK\n"));
}

TEST_F(HistoryTest, NothingIsSaidOfATimeWhenNothingHappened) {
  server_.AddMirrored();
  server_.Start();
  ASSERT_EQ(History({server_.id}), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              HasSubstr("nothing has happened to volume " + server_.id));
  EXPECT_EQ(server_.world.CountMutations(), 0);
}

TEST_F(HistoryTest, WhatIsAskedForIsOneThing) {
  server_.AddMirrored();
  server_.Start();
  EXPECT_EQ(History({}), 64);
  EXPECT_EQ(History({server_.id, "--pool", "replicapool"}), 64);
  // The name is not looked for then.
  EXPECT_EQ(History({"pvc-unknown", "--since", "yesterday"}), 64);
  EXPECT_THAT(err_.str(), HasSubstr("--since: 'yesterday' is neither a "
                                    "duration such as 2h"));
  EXPECT_EQ(History({"--pool", "none"}), 5) << err_.str();
}

TEST(ReadSinceTest, ADurationOrATime) {
  const absl::Time now = absl::FromUnixSeconds(1795143600);
  EXPECT_EQ(*ReadSince("2h", now), now - absl::Hours(2));
  EXPECT_EQ(*ReadSince("90m", now), now - absl::Minutes(90));
  // As status shows ages.
  EXPECT_EQ(*ReadSince("5d4h", now), now - absl::Hours(124));
  EXPECT_EQ(*ReadSince("2d", now), now - absl::Hours(48));
  EXPECT_EQ(*ReadSince("2026-11-20T03:00:00Z", now), now);
  EXPECT_EQ(*ReadSince("2026-11-20 03:00:00", now), now);
  EXPECT_EQ(*ReadSince("2026-11-20T04:00:00+01:00", now), now);
  EXPECT_EQ(*ReadSince("2026-11-20", now), now - absl::Hours(3));
  for (const char* const wrong : {"", "-2h", "soon", "2026", "0s", "d", "0d",
                                  "-1d", "2d0s", "5d soon", "99999d"}) {
    EXPECT_FALSE(ReadSince(wrong, now).ok()) << wrong;
  }
}

}  // namespace
}  // namespace addons::testing
