// Secrets in no log, status, metric or output, whatever goes wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "replication/replication.grpc.pb.h"
#include "tests/rpc/app_fixture.h"
#include "tests/testing/http_get.h"

namespace addons {
namespace {

using ::addons::testing::AppFixture;
using ::addons::testing::BoundedContext;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSentinel[] = "SENTINELdoNotShow";

struct Case {
  std::string name;
  std::string user_key;
  std::function<AppFixture::ConnectResult()> connect;
};

class SecrecyTest : public AppFixture,
                    public ::testing::WithParamInterface<Case> {
 protected:
  template <typename Request>
  Request Filled() {
    Request request;
    request.mutable_replication_source()->mutable_volume()->set_volume_id(
        VolumeId());
    (*request.mutable_secrets())["userID"] = "admin";
    (*request.mutable_secrets())["userKey"] = GetParam().user_key;
    (*request.mutable_secrets())["more"] = kSentinel;
    return request;
  }
  template <typename Request>
  Request FilledWithParameters() {
    auto request = Filled<Request>();
    (*request.mutable_parameters())["encryptionPassphrase"] = kSentinel;
    return request;
  }
};

TEST_P(SecrecyTest, NoMethodOfReplicationShowsASecret) {
  namespace pb = ::replication;
  connect_ = GetParam().connect;
  config_.serve_metrics = true;
  ASSERT_OK(Start());
  const auto stub = pb::Controller::NewStub(Channel());
  const auto bounded = [] { return BoundedContext(std::chrono::seconds(2)); };
  std::vector<grpc::Status> answers;
  {
    pb::EnableVolumeReplicationResponse response;
    answers.push_back(stub->EnableVolumeReplication(
        bounded().get(),
        FilledWithParameters<pb::EnableVolumeReplicationRequest>(), &response));
  }
  {
    pb::DisableVolumeReplicationResponse response;
    answers.push_back(stub->DisableVolumeReplication(
        bounded().get(),
        FilledWithParameters<pb::DisableVolumeReplicationRequest>(),
        &response));
  }
  {
    pb::PromoteVolumeResponse response;
    answers.push_back(stub->PromoteVolume(
        bounded().get(), FilledWithParameters<pb::PromoteVolumeRequest>(),
        &response));
  }
  {
    pb::DemoteVolumeResponse response;
    answers.push_back(stub->DemoteVolume(
        bounded().get(), FilledWithParameters<pb::DemoteVolumeRequest>(),
        &response));
  }
  {
    pb::ResyncVolumeResponse response;
    answers.push_back(stub->ResyncVolume(
        bounded().get(), FilledWithParameters<pb::ResyncVolumeRequest>(),
        &response));
  }
  {
    pb::GetVolumeReplicationInfoResponse response;
    answers.push_back(stub->GetVolumeReplicationInfo(
        bounded().get(), Filled<pb::GetVolumeReplicationInfoRequest>(),
        &response));
  }
  {
    pb::GetReplicationDestinationInfoResponse response;
    answers.push_back(stub->GetReplicationDestinationInfo(
        bounded().get(), Filled<pb::GetReplicationDestinationInfoRequest>(),
        &response));
  }
  const std::string metrics = testing::HttpGet(app_->metrics_url()).body;
  app_.reset();
  EXPECT_THAT(metrics, HasSubstr("method=\"replication.Controller/"));
  EXPECT_THAT(metrics, Not(HasSubstr(kSentinel)));
  EXPECT_THAT(metrics, Not(HasSubstr(GetParam().user_key)));
  EXPECT_THAT(metrics, Not(HasSubstr(VolumeId())));
  for (const grpc::Status& answer : answers) {
    EXPECT_THAT(answer.error_message(), Not(HasSubstr(kSentinel)));
    EXPECT_THAT(answer.error_message(), Not(HasSubstr(GetParam().user_key)));
  }
  const std::string log = log_.text();
  EXPECT_EQ(answers.size(), 7U);
  EXPECT_THAT(log, HasSubstr("secrets: ***"));
  EXPECT_THAT(log, Not(HasSubstr(kSentinel)));
  EXPECT_THAT(log, Not(HasSubstr(GetParam().user_key)));
}

const char kGoodKey[] = "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";

INSTANTIATE_TEST_SUITE_P(
    Failures, SecrecyTest,
    ::testing::Values(
        Case{"ClusterSilent", kGoodKey,
             [] { return absl::UnavailableError("no monitor answered"); }},
        Case{"ClusterRefuses", kGoodKey,
             [] { return absl::UnauthenticatedError("key refused"); }},
        Case{"ClusterThrows", kGoodKey,
             []() -> AppFixture::ConnectResult {
               throw std::runtime_error("SENTINEL");
             }},
        Case{"MalformedKey", "SENTINELnotAKey\n==",
             [] { return absl::UnavailableError("never asked"); }}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace addons
