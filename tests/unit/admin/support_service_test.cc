// What a daemon tells of itself to those who help from afar.

#include "admin/support_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/in_process_server.h"
#include "tests/testing/temp_dir.h"
#include "tests/unit/operation/table_testing.h"

namespace addons::testing {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SupportServiceTest : public TableTest {
 protected:
  SupportServiceTest() {
    sources_.version = "1.2.3";
    sources_.manifest = {{"librados", "16.2.15"}};
    sources_.host = "node-a";
    sources_.flags = "config_dir=/etc/ceph-csi-config";
    sources_.files = {dir_.File("config.json")};
    sources_.metrics = [] { return "up 1\n"; };
    // Names in Ceph are bytes.
    sources_.log = [] { return "one line image=\xff\nanother\n"; };
  }
  admin_pb::DescribeDaemonResponse Describe() {
    SupportService service(rpc_, table(), sources_);
    InProcessServer server(service);
    grpc::ClientContext context;
    admin_pb::DescribeDaemonResponse response;
    const grpc::Status status =
        admin_pb::Support::NewStub(server.Channel())
            ->DescribeDaemon(&context, admin_pb::DescribeDaemonRequest(),
                             &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  admin_pb::ConfigurationFile FileOf(const std::string& text) {
    dir_.Write("config.json", text);
    const admin_pb::DescribeDaemonResponse daemon = Describe();
    EXPECT_EQ(daemon.files_size(), 1);
    return daemon.files_size() == 1 ? daemon.files(0)
                                    : admin_pb::ConfigurationFile();
  }

  const TempDir dir_;
  SupportSources sources_;
  Rpc rpc_{clock_};
};

TEST_F(SupportServiceTest, TellsWhatItIs) {
  const admin_pb::DescribeDaemonResponse daemon = Describe();
  EXPECT_EQ(daemon.version(), "1.2.3");
  EXPECT_EQ(daemon.manifest().at("librados"), "16.2.15");
  EXPECT_EQ(daemon.host(), "node-a");
  EXPECT_EQ(daemon.flags(), "config_dir=/etc/ceph-csi-config");
  EXPECT_EQ(daemon.metrics(), "up 1\n");
  EXPECT_EQ(daemon.log(), "one line image=?\nanother\n");
}

TEST_F(SupportServiceTest, WhatHasEndedIsToldWithItsAnswer) {
  EXPECT_FALSE(table()
                   .Run(Spec("promote"), Caller{},
                        [](OperationContext&) -> absl::StatusOr<std::any> {
                          return absl::AbortedError("not now");
                        })
                   .ok());
  clock_.Advance(milliseconds(1500));
  const admin_pb::DescribeDaemonResponse daemon = Describe();
  ASSERT_EQ(daemon.ended_size(), 1);
  EXPECT_EQ(daemon.ended(0).verb(), "promote");
  EXPECT_EQ(daemon.ended(0).object(), "volume 'v1'");
  EXPECT_EQ(daemon.ended(0).code(), "ABORTED");
  EXPECT_THAT(daemon.ended(0).message(), HasSubstr("not now"));
  EXPECT_EQ(daemon.ended(0).ended_milliseconds_ago(), 1500);
}

TEST_F(SupportServiceTest, TextsUnderTheNamesOfSecretsAreHidden) {
  const admin_pb::ConfigurationFile file = FileOf(
      R"([{"clusterID": "a", "userKey": "SENTINEL", "rbd": {
             "password": "SENTINEL", "list": [{"token": "SENTINEL"}],
             "passphrase": ["SENTINEL"],
             "publishSecret": {"name": "kept"}}}])");
  EXPECT_EQ(file.path(), dir_.File("config.json"));
  EXPECT_EQ(file.missing(), "");
  EXPECT_THAT(
      file.text(),
      AllOf(HasSubstr(R"("clusterID":"a")"), HasSubstr("kept"),
            HasSubstr(R"("userKey":"***")"), Not(HasSubstr("SENTINEL"))));
}

// Nobody can tell what in it is a secret.
TEST_F(SupportServiceTest, AFileThatIsNoJsonIsNotShown) {
  const admin_pb::ConfigurationFile file = FileOf(R"([{"userKey": "SENTINEL")");
  EXPECT_EQ(file.text(), "");
  EXPECT_THAT(file.missing(), HasSubstr("no JSON"));
  dir_.Remove("config.json");
  EXPECT_THAT(Describe().files(0).missing(), HasSubstr("not there"));
}

}  // namespace
}  // namespace addons::testing
