// Listing and cancelling operations through the socket and the command line,
// on simulated clusters that hang.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "tests/rpc/reclaim_call.h"
#include "tests/rpc/replication_server.h"

namespace addons::testing {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kDemote[] = "DemoteVolume";
/// The first call that a demote makes of its image: nothing is changed yet.
constexpr char kFirstLook[] = "rbd.mirror_image_status_get";
constexpr char kChange[] = "rbd_mirror_image_demote";
constexpr char kSparsifyCall[] = "rbd_sparsify_with_progress";

/// Three workers' worth of volumes for one worker and one place in its queue.
Config NarrowLanes() {
  Config config;
  config.operations.control = {1, 1, 1};
  config.operations.bulk = {1, 1, 1};
  return config;
}

bool Soon(const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

class AdminTest : public ::testing::Test {
 protected:
  AdminTest() : server_("a", NarrowLanes()) { server_.UseRealTime(); }

  admin_pb::ListOperationsResponse List() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + seconds(10));
    admin_pb::ListOperationsResponse response;
    const grpc::Status status =
        admin_pb::Operations::NewStub(server_.AdminChannel())
            ->ListOperations(&context, admin_pb::ListOperationsRequest(),
                             &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  grpc::Status Cancel(uint64_t id,
                      admin_pb::CancelOperationResponse* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + seconds(10));
    admin_pb::CancelOperationRequest request;
    request.set_operation_id(id);
    return admin_pb::Operations::NewStub(server_.AdminChannel())
        ->CancelOperation(&context, request, response);
  }
  admin_pb::CancelOperationResponse::Effect Cancel(uint64_t id) {
    admin_pb::CancelOperationResponse response;
    const grpc::Status status = Cancel(id, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.effect();
  }
  bool AwaitOperations(int count) {
    return Soon([&] { return List().operations_size() == count; });
  }
  std::future<grpc::Status> Later(const std::string& method,
                                  const std::string& volume) {
    return std::async(std::launch::async, [this, method, volume] {
      Ask ask;
      ask.volume_id = volume;
      return server_.Call(method, ask).status;
    });
  }

  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "rbd-addons");
    out_.str("");
    err_.str("");
    return RunCli(arguments, in_, out_, err_);
  }
  int RunAtEndpoint(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--admin-endpoint", server_.admin_endpoint()});
    return Run(std::move(arguments));
  }

  ReplicationServer server_;
  std::stringstream in_;
  std::stringstream out_;
  std::stringstream err_;
};

TEST_F(AdminTest, AFullLaneOfAHangingClusterIsSeenAndEmptied) {
  server_.Hold(kFirstLook);
  server_.AddMirrored();
  const std::string second =
      server_.pair.AddMirroredVolume(server_.a, ReplicationServer::kSecondUuid);
  const std::string third =
      server_.pair.AddMirroredVolume(server_.a, ReplicationServer::kGroupUuid);
  server_.Start();
  auto hanging = Later(kDemote, server_.id);
  server_.AwaitHeld();
  auto queued = Later(kDemote, second);
  ASSERT_TRUE(AwaitOperations(2));
  EXPECT_EQ(Later(kDemote, third).get().error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);

  const admin_pb::ListOperationsResponse list = List();
  ASSERT_EQ(list.operations_size(), 2);
  EXPECT_EQ(list.operations(0).state(), admin_pb::Operation::RUNNING);
  EXPECT_THAT(list.operations(0).object(), HasSubstr(server_.id));
  EXPECT_EQ(list.operations(0).callers(), 1U);
  EXPECT_EQ(list.operations(1).state(), admin_pb::Operation::QUEUED);
  EXPECT_EQ(list.operations(1).lane(), "control");
  EXPECT_EQ(list.operations(1).cluster(), "site-a");
  EXPECT_EQ(list.lanes(0).running(), 1U);
  EXPECT_EQ(list.lanes(0).queued(), 1U);

  EXPECT_EQ(Cancel(list.operations(1).operation_id()),
            admin_pb::CancelOperationResponse::NEVER_STARTS);
  const grpc::Status never = queued.get();
  EXPECT_EQ(never.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_THAT(never.error_message(), HasSubstr("by the administrator"));

  // The caller is answered although its operation still hangs.
  EXPECT_EQ(Cancel(list.operations(0).operation_id()),
            admin_pb::CancelOperationResponse::STOPS_NOW);
  EXPECT_EQ(hanging.get().error_code(), grpc::StatusCode::CANCELLED);
  ASSERT_EQ(List().operations_size(), 1);
  EXPECT_EQ(List().operations(0).state(), admin_pb::Operation::STOPPING);
  EXPECT_EQ(List().operations(0).callers(), 0U);
  server_.Release();
  EXPECT_TRUE(AwaitOperations(0));
  EXPECT_TRUE(server_.a.Info(server_.image).primary);
}

TEST_F(AdminTest, AChangeThatHasBegunComesToItsEnd) {
  server_.Hold(kChange);
  server_.AddMirrored();
  server_.Start();
  auto demote = Later(kDemote, server_.id);
  server_.AwaitHeld();
  const admin_pb::ListOperationsResponse list = List();
  ASSERT_EQ(list.operations_size(), 1);
  EXPECT_TRUE(list.operations(0).mutating());
  EXPECT_EQ(Cancel(list.operations(0).operation_id()),
            admin_pb::CancelOperationResponse::STOPS_AFTER_CHANGE);
  server_.Release();
  demote.get();
  EXPECT_TRUE(AwaitOperations(0));
  EXPECT_FALSE(server_.a.Info(server_.image).primary);
}

TEST_F(AdminTest, ASparsifyShowsItsProgressAndStops) {
  server_.id = server_.pair.AddVolume(server_.a, ReplicationServer::kUuid,
                                      uint64_t{64} << 30);
  server_.a.SetUsage(server_.image, 16384, 16384);
  server_.Start();
  auto reclaim =
      std::async(std::launch::async, [this] { return Reclaim(server_); });
  admin_pb::ListOperationsResponse list;
  ASSERT_TRUE(Soon([&] {
    list = List();
    return list.operations_size() == 1 && list.operations(0).done() > 0;
  }));
  const admin_pb::Operation& running = list.operations(0);
  EXPECT_EQ(running.verb(), "sparsify");
  EXPECT_EQ(running.lane(), "bulk");
  EXPECT_EQ(running.step(), "sparsifying");
  EXPECT_EQ(running.total(), uint64_t{64} << 30);
  EXPECT_LT(running.done(), running.total());
  EXPECT_EQ(Cancel(running.operation_id()),
            admin_pb::CancelOperationResponse::STOPS_AFTER_CHANGE);
  const Reclaimed answer = reclaim.get();
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.after, std::nullopt);
  EXPECT_TRUE(AwaitOperations(0));
  EXPECT_GT(server_.a.UsedObjects(server_.image), 0U);
  EXPECT_FALSE(server_.a.HasLock(server_.image));
}

TEST_F(AdminTest, AnUnknownOperationIsNotFound) {
  server_.Start();
  admin_pb::CancelOperationResponse response;
  const grpc::Status status = Cancel(77, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("operation 77"));
}

TEST_F(AdminTest, TheCommandLineShowsAndCancelsAnOperation) {
  server_.Hold(kFirstLook);
  server_.AddMirrored();
  server_.Start();
  auto demote = Later(kDemote, server_.id);
  server_.AwaitHeld();
  ASSERT_EQ(RunAtEndpoint({"operations"}), 0) << err_.str();
  EXPECT_THAT(
      out_.str(),
      AllOf(StartsWith("ID  STATE "), HasSubstr("\n1   running  demote  "),
            HasSubstr(absl::StrCat("'", server_.id, "'")),
            HasSubstr("  control  site-a  "),
            HasSubstr(
                "\nlane control: 1 of 1 running, 0 waiting, 0 of 1 queued\n"),
            HasSubstr(
                "\nlane bulk: 0 of 1 running, 0 waiting, 0 of 1 queued\n")));
  ASSERT_EQ(RunAtEndpoint({"operations", "--json"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("\"operation_id\": \"1\""),
                                HasSubstr("\"state\": \"RUNNING\""),
                                HasSubstr("\"verb\": \"demote\"")));
  // Nobody says yes.
  EXPECT_EQ(RunAtEndpoint({"cancel", "1"}), kCliUsage);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("operation 1, demote of volume '"),
                                HasSubstr("nothing was changed")));
  EXPECT_EQ(RunAtEndpoint({"cancel", "1", "--yes"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), absl::StrCat("demote of volume '", server_.id,
                                     "' stops now; it has changed nothing\n"));
  EXPECT_EQ(demote.get().error_code(), grpc::StatusCode::CANCELLED);
  server_.Release();
}

TEST_F(AdminTest, TheCommandLineFindsTheSocketInTheEnvironment) {
  // Before the daemon has threads.
  ASSERT_EQ(
      setenv("RBD_ADDONS_ADMIN_ENDPOINT",  // NOLINT(concurrency-mt-unsafe)
             server_.admin_endpoint().c_str(), 1),
      0);
  server_.Start();
  EXPECT_EQ(Run({"operations"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), StartsWith("no operations\nlane control: 0 of 1 "));
  EXPECT_EQ(Run({"cancel", "5"}), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(err_.str(), HasSubstr("rbd-addons operations"));
  server_.Stop();
  unsetenv("RBD_ADDONS_ADMIN_ENDPOINT");  // NOLINT(concurrency-mt-unsafe)
}

TEST_F(AdminTest, WrongUseOfTheCommandLineIsSaid) {
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"cancel"}, {"operations", "more"}}) {
    EXPECT_EQ(Run(wrong), kCliUsage);
    EXPECT_THAT(err_.str(), Not(::testing::IsEmpty()));
  }
}

TEST_F(AdminTest, WhatIsNoOperationsIdIsSaidInAShortLine) {
  for (const std::string id :
       {"x", "0", "-1", "1.5", "99999999999999999999", "two\nlines"}) {
    EXPECT_EQ(Run({"cancel", id}), kCliUsage) << id;
    const std::string line = err_.str().substr(0, err_.str().find('\n'));
    EXPECT_THAT(line, HasSubstr("' is no operation's id; `rbd-addons "
                                "operations` shows them"))
        << id;
    EXPECT_LT(line.size(), 100U) << line;
  }
}

TEST_F(AdminTest, ADaemonThatIsNotThereIsSaid) {
  EXPECT_EQ(RunAtEndpoint({"operations"}), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(out_.str(), "");
}

}  // namespace
}  // namespace addons::testing
