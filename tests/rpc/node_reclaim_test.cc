// NodeReclaimSpace through a socket, on a node that is played.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "rpc/trailers.h"
#include "tests/rpc/node_reclaim_server.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

using grpc::StatusCode;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Request = NodeReclaimServer::Request;
using Answer = NodeReclaimServer::Answer;
using AccessModes = csi::v1::VolumeCapability::AccessMode;

bool Soon(const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

class NodeReclaimTest : public ::testing::Test {
 protected:
  /// The answer to the usual request after `change`.
  Answer Asked(const std::function<void(Request&)>& change) {
    Request request = server_.Ask();
    change(request);
    return server_.Call(request);
  }
  void ExpectInvalid(const std::function<void(Request&)>& change,
                     const std::string& field) {
    const Answer answer = Asked(change);
    EXPECT_EQ(answer.status.error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(answer.status.error_message(), HasSubstr(field));
    EXPECT_THAT(server_.node.opened(), IsEmpty());
  }
  /// Volumes of pool replicapool, which are proved by their records.
  Request AskStatic(const std::string& name) {
    Request request = server_.Ask();
    request.clear_secrets();
    request.set_volume_id(name);
    return request;
  }

  NodeReclaimServer server_;
};

TEST_F(NodeReclaimTest, AMissingSecretNamesTheFieldOfTheVolume) {
  const Answer answer = Asked(
      [](Request& request) { request.mutable_secrets()->erase("userKey"); });
  EXPECT_EQ(answer.status.error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(answer.status.error_message(),
              HasSubstr("nodeStageSecretRef of the PersistentVolume"));
}

TEST_F(NodeReclaimTest, SaysWhatTheImageHasBeforeAndAfter) {
  const std::string image = MirroredPair::ImageOf(NodeReclaimServer::kUuid);
  server_.site.SetUsage(image, 64, 0);
  server_.node.SetTrim([&](const TrimRange& range) {
    if (range.start == 0) server_.site.SetUsage(image, 48, 0);
    return uint64_t{1000};
  });
  const Answer answer = server_.Call(server_.Ask());
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.response.pre_usage().usage_bytes(), 256 << 20);
  EXPECT_EQ(answer.response.post_usage().usage_bytes(), 192 << 20);
}

TEST_F(NodeReclaimTest, WhatAFilesystemAskedForIsNoUsage) {
  server_.node.SetTrim([](const TrimRange&) { return uint64_t{1000}; });
  Request request = server_.Ask();
  request.clear_secrets();
  grpc::ClientContext context;
  const Answer answer =
      server_.Call(request, std::chrono::seconds(20), &context);
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_FALSE(answer.response.has_pre_usage());
  EXPECT_FALSE(answer.response.has_post_usage());
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto asked = trailers.find(kAskedBytesTrailer);
  ASSERT_NE(asked, trailers.end());
  EXPECT_EQ(asked->second, "4000");
}

TEST_F(NodeReclaimTest, ACommandSaysWhatIsMeasuredAndWhatWasAskedFor) {
  server_.site.SetUsage(MirroredPair::ImageOf(NodeReclaimServer::kUuid), 64, 0);
  server_.node.SetTrim([](const TrimRange&) { return uint64_t{3} << 20; });
  const TempDir dir;
  dir.Write("secrets.json",
            absl::StrCat(R"({"userID": ")", server_.site.user()->id,
                         R"(", "userKey": ")",
                         server_.site.user()->key.Reveal(), R"("})"));
  const auto trim = [&](std::vector<std::string> options) {
    std::vector<std::string> arguments = {
        "rbd-addons", "trim",       server_.id,        "--path",
        "/staging",   "--endpoint", server_.endpoint()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(RunCli(arguments, in, out, err), 0) << err.str();
    return out.str();
  };
  EXPECT_EQ(trim({"--secrets-file", dir.File("secrets.json")}),
            "used before  256.0 MiB\nused now     256.0 MiB\n");
  EXPECT_EQ(trim({}),
            "done; how much became free is not known\n"
            "asked to be discarded  12.0 MiB, by the filesystem's count\n");
  EXPECT_THAT(trim({"-o", "json"}), HasSubstr(R"("asked_bytes": 12582912)"));
}

TEST_F(NodeReclaimTest, LooksInsideTheStagingPath) {
  ASSERT_TRUE(server_.Call(server_.Ask()).status.ok());
  EXPECT_EQ(server_.node.opened().front(), "/staging/" + server_.id);
}

TEST_F(NodeReclaimTest, TakesTheVolumePathWhenThereIsNoStagingPath) {
  const Answer answer = Asked([](Request& request) {
    request.clear_staging_target_path();
    request.set_volume_path("/pods/x/mount");
  });
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(server_.node.opened().front(), "/pods/x/mount");
}

TEST_F(NodeReclaimTest, NeedsNoSecretsAndNoCapability) {
  EXPECT_TRUE(Asked([](Request& request) {
                request.clear_secrets();
                request.clear_volume_capability();
              }).status.ok());
}

TEST_F(NodeReclaimTest, RefusesRequestsThatMakeNoSense) {
  ExpectInvalid([](Request& r) { r.clear_volume_id(); }, "volume_id");
  for (const char* id : {"a/b", "..", "a..b", ".", "a\\b"}) {
    ExpectInvalid([id](Request& r) { r.set_volume_id(id); }, "volume_id");
  }
  ExpectInvalid([](Request& r) { r.clear_staging_target_path(); },
                "staging_target_path");
  ExpectInvalid([](Request& r) { r.set_staging_target_path("staging"); },
                "staging_target_path");
  ExpectInvalid([](Request& r) { r.set_volume_path("pods"); }, "volume_path");
  ExpectInvalid([](Request& r) { r.set_staging_target_path("/a/../b"); },
                "staging_target_path");
  ExpectInvalid([](Request& r) { r.set_volume_path("/a/.."); }, "volume_path");
  ExpectInvalid(
      [](Request& r) {
        r.set_staging_target_path("/" + std::string(4096, 'p'));
      },
      "staging_target_path");
}

TEST_F(NodeReclaimTest, TakesPathsOfFourThousandBytes) {
  const std::string path = "/" + std::string(3999, 'p');
  EXPECT_TRUE(
      Asked([&](Request& r) { r.set_staging_target_path(path); }).status.ok());
}

TEST_F(NodeReclaimTest, SkipsBlockVolumesAndSharedOnes) {
  const Answer block = Asked([](Request& request) {
    request.mutable_volume_capability()->mutable_block();
  });
  EXPECT_EQ(block.status.error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(block.status.error_message(), HasSubstr("block"));
  const Answer shared = Asked([](Request& request) {
    request.mutable_volume_capability()->mutable_access_mode()->set_mode(
        AccessModes::MULTI_NODE_MULTI_WRITER);
  });
  EXPECT_EQ(shared.status.error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(server_.node.opened(), IsEmpty());
}

TEST_F(NodeReclaimTest, AReaderOfAReadOnlyFilesystemIsDone) {
  MountEntry mount = FakeNode::Mount();
  mount.filesystem_read_only = true;
  server_.node.SetMount(mount, 2);
  EXPECT_EQ(server_.Call(server_.Ask()).status.error_code(),
            StatusCode::FAILED_PRECONDITION);
  const Answer reader = Asked([](Request& request) {
    request.mutable_volume_capability()->mutable_access_mode()->set_mode(
        AccessModes::MULTI_NODE_READER_ONLY);
  });
  EXPECT_EQ(reader.status.error_code(), StatusCode::UNIMPLEMENTED);
}

TEST_F(NodeReclaimTest, RetriesJoin) {
  server_.Hold();
  auto first = server_.CallLater(server_.Ask());
  ASSERT_TRUE(Soon([&] { return server_.inside() == 1; }));
  std::vector<std::future<Answer>> more;
  for (int i = 0; i < 5; ++i) more.push_back(server_.CallLater(server_.Ask()));
  ASSERT_TRUE(Soon([&] { return server_.operations.stats().joined == 5; }));
  server_.Release();
  EXPECT_TRUE(first.get().status.ok());
  for (auto& answer : more) EXPECT_TRUE(answer.get().status.ok());
  EXPECT_EQ(server_.operations.stats().started, 1U);
  EXPECT_THAT(server_.node.trims(), SizeIs(4));
}

TEST_F(NodeReclaimTest, SaysAbortedAtTheDeadlineAndKeepsTheResult) {
  server_.Hold();
  const Answer first = server_.Call(server_.Ask(), milliseconds(600));
  EXPECT_EQ(first.status.error_code(), StatusCode::ABORTED);
  EXPECT_THAT(first.status.error_message(), HasSubstr("trimming"));
  server_.Release();
  ASSERT_TRUE(Soon([&] { return server_.operations.stats().finished == 1; }));
  EXPECT_TRUE(server_.Call(server_.Ask()).status.ok());
  EXPECT_EQ(server_.operations.stats().kept, 1U);
  EXPECT_THAT(server_.node.trims(), SizeIs(4));
}

TEST_F(NodeReclaimTest, AnAdministratorsCancelEndsItForTheOperatorToo) {
  server_.Hold();
  auto call = server_.CallLater(server_.Ask());
  ASSERT_TRUE(Soon([&] { return server_.inside() == 1; }));
  const auto running = server_.operations.List();
  ASSERT_THAT(running, SizeIs(1));
  EXPECT_EQ(running[0].verb, "trim");
  ASSERT_TRUE(server_.operations.Cancel(running[0].id).ok());
  server_.Release();
  const auto answer = call.get();
  EXPECT_EQ(answer.status.error_code(), StatusCode::OK);
  EXPECT_FALSE(answer.response.has_post_usage());
  EXPECT_THAT(server_.node.trims(), SizeIs(1));
}

TEST_F(NodeReclaimTest, ShowsItsProgress) {
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  std::atomic<int> steps{0};
  server_.node.SetTrim([&steps, gone](const TrimRange&) {
    if (++steps == 3) gone.wait();
    return uint64_t{0};
  });
  auto call = server_.CallLater(server_.Ask());
  ASSERT_TRUE(Soon([&] { return steps == 3; }));
  const auto running = server_.operations.List();
  ASSERT_THAT(running, SizeIs(1));
  EXPECT_EQ(running[0].done, 2 * FakeNode::kGiB);
  EXPECT_EQ(running[0].total, 4 * FakeNode::kGiB);
  EXPECT_EQ(running[0].share.kind, WorkerShare::Kind::kNode);
  go.set_value();
  EXPECT_TRUE(call.get().status.ok());
}

TEST_F(NodeReclaimTest, TrimsTwoVolumesAtOnce) {
  const TempDir staging;
  server_.node.tree.SetKrbd(0, {"replicapool", "2", "", "disk", ""});
  staging.Write("image-meta.json", R"({"pool":"replicapool","image":"disk"})");
  server_.Hold();
  std::vector<std::future<Answer>> calls;
  for (int i = 0; i < 6; ++i) {
    Request request = AskStatic(absl::StrCat("disk-", i));
    request.set_staging_target_path(staging.path());
    calls.push_back(server_.CallLater(request));
  }
  ASSERT_TRUE(Soon([&] {
    return server_.inside() == 2 && server_.operations.List().size() == 6;
  }));
  server_.Release();
  for (auto& call : calls) {
    const Answer answer = call.get();
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  }
  EXPECT_EQ(server_.most(), 2);
}

TEST(NodeReclaimQueueTest, SaysAbortedWhenTooManyWait) {
  OperationLimits limits;
  limits.bulk = {1, 1, 1};
  NodeReclaimServer server(limits);
  server.Hold();
  auto running = server.CallLater(server.Ask());
  ASSERT_TRUE(Soon([&] { return server.inside() == 1; }));
  Request other = server.Ask();
  other.clear_secrets();
  other.set_volume_id("queued");
  auto queued = server.CallLater(other);
  ASSERT_TRUE(Soon([&] { return server.operations.List().size() == 2; }));
  other.set_volume_id("refused");
  const Answer refused = server.Call(other);
  EXPECT_EQ(refused.status.error_code(), StatusCode::ABORTED);
  EXPECT_THAT(refused.status.error_message(), HasSubstr("busy"));
  server.Release();
  EXPECT_TRUE(running.get().status.ok());
  EXPECT_EQ(queued.get().status.error_code(), StatusCode::FAILED_PRECONDITION);
}

TEST_F(NodeReclaimTest, TellsNobodyTheKey) {
  server_.node.SetMount({}, 0);
  const Answer answer = server_.Call(server_.Ask());
  const std::string key = server_.site.user()->key.Reveal();
  EXPECT_THAT(answer.status.error_message(), Not(HasSubstr(key)));
  EXPECT_THAT(server_.log(), Not(HasSubstr(key)));
}

}  // namespace
}  // namespace addons::testing
