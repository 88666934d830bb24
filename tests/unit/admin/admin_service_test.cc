#include "admin/admin_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "tests/testing/in_process_server.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/operation/table_testing.h"

namespace addons::testing {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using Effect = admin_pb::CancelOperationResponse;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class AdminServiceTest : public TableTest {
 protected:
  admin_pb::ListOperationsResponse List() {
    AdminService service(rpc_, table(), nullptr, watched_);
    InProcessServer server(service);
    grpc::ClientContext context;
    admin_pb::ListOperationsResponse response;
    const grpc::Status status =
        admin_pb::Operations::NewStub(server.Channel())
            ->ListOperations(&context, admin_pb::ListOperationsRequest(),
                             &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  grpc::Status Cancel(uint64_t id,
                      admin_pb::CancelOperationResponse* response) {
    AdminService service(rpc_, table(), nullptr, watched_);
    InProcessServer server(service);
    grpc::ClientContext context;
    admin_pb::CancelOperationRequest request;
    request.set_operation_id(id);
    return admin_pb::Operations::NewStub(server.Channel())
        ->CancelOperation(&context, request, response);
  }
  Effect Cancel(uint64_t id) {
    Effect response;
    const grpc::Status status = Cancel(id, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  /// The watch has seen a volume `id` that is called `name`.
  void Watch(const std::string& id, const std::string& name) {
    WatchedPool pool;
    pool.images.resize(1);
    pool.images[0].volume_id = id;
    pool.images[0].volume_name = name;
    auto seen = std::make_shared<WatchSnapshot>();
    seen->pools = {pool};
    watched_ = [seen] { return seen; };
  }

 private:
  Rpc rpc_{clock_};
  AdminService::Watched watched_;
};

TEST_F(AdminServiceTest, CallsAVolumeByItsName) {
  const auto job = NewJob();
  BackgroundCall call(table(), Spec("promote"), Blocked(job, 1));
  job->started.Pass();
  EXPECT_EQ(List().operations(0).name(), "");
  Watch("v2", "pvc-2");
  EXPECT_EQ(List().operations(0).name(), "");
  Watch("v1", "pvc-\x1b[31m1");
  EXPECT_EQ(List().operations(0).name(), "pvc- [31m1");
  EXPECT_EQ(List().operations(0).object(), "volume 'v1'");
  EXPECT_EQ(Cancel(table().List().at(0).id).operation().name(), "pvc- [31m1");
}

TEST_F(AdminServiceTest, SaysEverythingAboutAnOperation) {
  const auto job = NewJob();
  OperationSpec spec = Spec("sparsify");
  spec.lane = Lane::kBulk;
  BackgroundCall call(
      table(), spec,
      [job](OperationContext& context) -> absl::StatusOr<std::any> {
        EXPECT_OK(context.BeginMutation());
        context.Step("sparsifying");
        context.Progress(3, 8);
        job->started.Open();
        job->release.Pass();
        return std::any(1);
      },
      "7f3a91-42");
  job->started.Pass();
  clock_.Advance(milliseconds(61500));
  const admin_pb::ListOperationsResponse list = List();
  ASSERT_EQ(list.operations_size(), 1);
  const admin_pb::Operation& operation = list.operations(0);
  EXPECT_EQ(operation.operation_id(), table().List().at(0).id);
  EXPECT_EQ(operation.verb(), "sparsify");
  EXPECT_EQ(operation.object(), "volume 'v1'");
  EXPECT_EQ(operation.lane(), "bulk");
  EXPECT_EQ(operation.cluster(), "c1");
  EXPECT_EQ(operation.state(), admin_pb::Operation::RUNNING);
  EXPECT_TRUE(operation.mutating());
  EXPECT_EQ(operation.step(), "sparsifying");
  EXPECT_EQ(operation.done(), 3U);
  EXPECT_EQ(operation.total(), 8U);
  EXPECT_EQ(operation.callers(), 1U);
  EXPECT_EQ(operation.request_id(), "7f3a91-42");
  EXPECT_EQ(operation.age_milliseconds(), 61500);
}

TEST_F(AdminServiceTest, ShowsTheClusterAsItIsCalledAndTheNode) {
  const auto cluster = [](const char* id) {
    return WorkerShare::OfCluster(ClusterId(id));
  };
  for (const auto& [share, shown] : std::map<WorkerShare, std::string>{
           {cluster("site-a"), "site-a"},
           {cluster("6:site-a"), "6:site-a"},
           {cluster("a/b"), "a/b"},
           {WorkerShare::OfFence(ClusterId("site-a")), "site-a"},
           {WorkerShare::OfNode(), "node"}}) {
    const auto job = NewJob();
    OperationSpec spec = Spec("promote", {shown});
    spec.share = share;
    BackgroundCall call(table(), spec, Blocked(job, 1));
    job->started.Pass();
    EXPECT_EQ(List().operations(0).cluster(), shown);
    job->release.Open();
    ASSERT_TRUE(AwaitEmpty());
  }
}

TEST_F(AdminServiceTest, ListsTheOldestFirstAndTheUseOfAllLanes) {
  OperationLimits limits;
  limits.control = {1, 1, 8};
  Restart(limits);
  const auto busy = NewJob();
  BackgroundCall first(table(), Spec("promote", {"other"}), Blocked(busy, 1));
  busy->started.Pass();
  clock_.Advance(seconds(1));
  BackgroundCall second(table(), Spec("demote"), Returning(2));
  ASSERT_TRUE(Eventually([&] { return table().List().size() == 2; }));
  const admin_pb::ListOperationsResponse list = List();
  ASSERT_EQ(list.operations_size(), 2);
  EXPECT_EQ(list.operations(0).verb(), "promote");
  EXPECT_EQ(list.operations(0).state(), admin_pb::Operation::RUNNING);
  EXPECT_FALSE(list.operations(0).mutating());
  EXPECT_EQ(list.operations(1).verb(), "demote");
  EXPECT_EQ(list.operations(1).state(), admin_pb::Operation::QUEUED);
  ASSERT_EQ(list.lanes_size(), 3);
  EXPECT_EQ(list.lanes(0).name(), "control");
  EXPECT_EQ(list.lanes(0).running(), 1U);
  EXPECT_EQ(list.lanes(0).workers(), 1U);
  EXPECT_EQ(list.lanes(0).queued(), 1U);
  EXPECT_EQ(list.lanes(0).queue_limit(), 8U);
  EXPECT_EQ(list.lanes(1).name(), "bulk");
  EXPECT_EQ(list.lanes(1).running(), 0U);
}

TEST_F(AdminServiceTest, ACancelledQuestionStopsNowAndIsShownUntilItEnds) {
  const auto job = NewJob();
  BackgroundCall call(table(), Spec("promote"), Blocked(job, 1));
  job->started.Pass();
  const Effect cancelled = Cancel(table().List().at(0).id);
  EXPECT_EQ(cancelled.effect(), Effect::STOPS_NOW);
  EXPECT_EQ(cancelled.operation().verb(), "promote");
  EXPECT_EQ(cancelled.operation().object(), "volume 'v1'");
  EXPECT_THAT(call.Result(), StatusIs(absl::StatusCode::kCancelled));
  // Its worker is still inside Ceph.
  ASSERT_EQ(List().operations_size(), 1);
  EXPECT_EQ(List().operations(0).state(), admin_pb::Operation::STOPPING);
  job->release.Open();
  EXPECT_TRUE(AwaitEmpty());
}

TEST_F(AdminServiceTest, AChangeUnderWayIsNotCut) {
  const auto job = NewJob();
  BackgroundCall call(table(), Spec("promote"), Mutating(job, 7));
  job->started.Pass();
  const uint64_t id = table().List().at(0).id;
  EXPECT_EQ(Cancel(id).effect(), Effect::STOPS_AFTER_CHANGE);
  EXPECT_EQ(Cancel(id).effect(), Effect::STOPS_AFTER_CHANGE);
  EXPECT_FALSE(call.returned());
  job->release.Open();
  EXPECT_EQ(call.Value(), 7);
  EXPECT_EQ(table().stats().cancelled, 1U);
}

TEST_F(AdminServiceTest, WhatIsQueuedNeverStarts) {
  OperationLimits limits;
  limits.control = {1, 1, 8};
  Restart(limits);
  const auto busy = NewJob();
  const auto queued = NewJob();
  BackgroundCall first(table(), Spec("promote", {"other"}), Blocked(busy, 1));
  busy->started.Pass();
  BackgroundCall second(table(), Spec("demote"), Blocked(queued, 2));
  ASSERT_TRUE(Eventually([&] { return table().List().size() == 2; }));
  EXPECT_EQ(Cancel(table().List().at(1).id).effect(), Effect::NEVER_STARTS);
  EXPECT_THAT(second.Result(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(List().operations_size(), 1);
  busy->release.Open();
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(queued->runs, 0);
}

TEST_F(AdminServiceTest, AnUnknownIdIsNotFoundAndSaysWhereToLook) {
  Effect response;
  const grpc::Status status = Cancel(99, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(
      status.error_message(),
      AllOf(HasSubstr("operation 99"), HasSubstr("rbd-addons operations")));
}

TEST_F(AdminServiceTest, AMissingIdIsInvalid) {
  Effect response;
  const grpc::Status status = Cancel(0, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("operation_id"));
}

TEST_F(AdminServiceTest, TheLogSaysWhatWasCancelled) {
  const LogCapture log;
  const auto job = NewJob();
  BackgroundCall call(table(), Spec("promote"), Blocked(job, 1), "r-9");
  job->started.Pass();
  Cancel(table().List().at(0).id);
  EXPECT_THAT(
      log.Lines(),
      Contains(AllOf(HasSubstr("cancelled by an administrator"),
                     HasSubstr("verb=promote"), HasSubstr("volume 'v1'"),
                     HasSubstr("of_req=r-9"))));
}

}  // namespace
}  // namespace addons::testing
