#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "cli/call.h"
#include "cli/commands.h"
#include "cli/methods.h"
#include "encryptionkeyrotation/encryptionkeyrotation.pb.h"
#include "replication/replication.pb.h"
#include "tests/rpc/app_fixture.h"

namespace addons {
namespace {

using ::addons::testing::AppFixture;
using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CliTest : public AppFixture {
 protected:
  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "rbd-addons");
    in_.clear();
    out_.str("");
    err_.str("");
    return RunCli(arguments, in_, out_, err_);
  }
  int Call(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"call", "--endpoint", endpoint()});
    return Run(std::move(arguments));
  }

  std::stringstream in_;
  std::stringstream out_;
  std::stringstream err_;
};

TEST_F(CliTest, PrintsTheAnswerAsJson) {
  ASSERT_OK(Start());
  EXPECT_EQ(Call({"identity.Identity/GetIdentity"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("\"name\": \"rbd.csi.ceph.com\""));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(CliTest, TakesShortNamesThatAreUnambiguous) {
  ASSERT_OK(Start());
  EXPECT_EQ(Call({"GetCapabilities"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("CONTROLLER_SERVICE"));
}

TEST_F(CliTest, NamesTheCandidatesOfAnAmbiguousName) {
  EXPECT_EQ(Call({"Probe"}), kCliUsage);
  EXPECT_THAT(err_.str(),
              HasSubstr("csi.v1.Identity/Probe, identity.Identity/Probe"));
}

TEST_F(CliTest, RefusesUnknownMethods) {
  EXPECT_EQ(Call({"PromoteVolumes"}), kCliUsage);
  EXPECT_THAT(err_.str(), HasSubstr("there is no method 'PromoteVolumes'"));
}

TEST_F(CliTest, ExitsWithTheCallsCode) {
  ASSERT_OK(Start());
  EXPECT_EQ(Call({"DemoteVolume", R"({"volume_id": "x"})"}),
            grpc::UNAUTHENTICATED);
  EXPECT_THAT(err_.str(), StartsWith("UNAUTHENTICATED: "));
  EXPECT_THAT(err_.str(), HasSubstr("(request "));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(CliTest, ReadsTheRequestFromStandardInput) {
  ASSERT_OK(Start());
  in_.str(R"({"volume_id": "from-standard-input"})");
  EXPECT_EQ(Call({"DemoteVolume", "-"}), grpc::UNAUTHENTICATED);
  EXPECT_THAT(log_.text(), HasSubstr("from-standard-input"));
}

TEST_F(CliTest, RefusesWhatIsNotJsonWithoutRepeatingIt) {
  EXPECT_EQ(Call({"DemoteVolume", "hush"}), kCliUsage);
  EXPECT_THAT(err_.str(), Not(HasSubstr("hush")));
}

TEST_F(CliTest, RefusesUnknownFields) {
  EXPECT_EQ(Call({"DemoteVolume", R"({"volumeid": "x"})"}), kCliUsage);
}

TEST_F(CliTest, SendsTheSecretsOfAFile) {
  ASSERT_OK(Start());
  dir_.Write("secrets.json", R"({"userID": "admin", "userKey": "hush"})");
  EXPECT_EQ(Call({"DemoteVolume",
                  R"({"replication_source": {"volume": {"volume_id": ")" +
                      VolumeId() + R"("}}})",
                  "--secrets-file", dir_.File("secrets.json")}),
            grpc::UNAUTHENTICATED)
      << err_.str();
  EXPECT_THAT(log_.text(), HasSubstr("secrets: ***"));
  EXPECT_THAT(err_.str(), Not(HasSubstr("hush")));
}

TEST_F(CliTest, RefusesSecretsOnTheCommandLine) {
  EXPECT_EQ(Call({"DemoteVolume", R"({"secrets": {"userKey": "hush"}})"}),
            kCliUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--secrets-file"));
  EXPECT_THAT(err_.str(), Not(HasSubstr("hush")));
}

TEST_F(CliTest, RefusesAMissingSecretsFile) {
  EXPECT_EQ(Call({"DemoteVolume", "--secrets-file", dir_.File("none")}),
            kCliUsage);
  EXPECT_THAT(err_.str(), HasSubstr(dir_.File("none")));
}

TEST_F(CliTest, RefusesABrokenSecretsFileWithoutRepeatingIt) {
  dir_.Write("secrets.json", R"({"userKey": hush})");
  EXPECT_EQ(Call({"DemoteVolume", "--secrets-file", dir_.File("secrets.json")}),
            kCliUsage);
  EXPECT_THAT(err_.str(), Not(HasSubstr("hush")));
}

TEST_F(CliTest, ReportsADaemonThatIsNotThere) {
  EXPECT_EQ(Call({"GetIdentity"}), grpc::UNAVAILABLE);
  EXPECT_THAT(err_.str(), StartsWith("UNAVAILABLE: "));
}

TEST_F(CliTest, RefusesAWrongEndpoint) {
  EXPECT_EQ(Run({"call", "GetIdentity", "--endpoint", "tcp://x"}), kCliUsage);
}

TEST_F(CliTest, ListsMethods) {
  EXPECT_EQ(Run({"methods"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("replication.Controller/PromoteVolume\n"));
  EXPECT_THAT(out_.str(),
              HasSubstr("volumegroup.Controller/CreateVolumeGroup\n"));
}

TEST_F(CliTest, ProbeSaysReady) {
  ASSERT_OK(Start());
  EXPECT_EQ(Run({"probe", "--endpoint", endpoint()}), 0);
  EXPECT_EQ(out_.str(), "ready\n");
}

TEST_F(CliTest, ProbeSaysWhatIsMissing) {
  std::filesystem::remove(dir_.File("config.json"));
  ASSERT_OK(Start());
  EXPECT_EQ(Run({"probe", "--endpoint", endpoint()}),
            grpc::FAILED_PRECONDITION);
  EXPECT_THAT(err_.str(), HasSubstr("config.json"));
}

TEST_F(CliTest, HelpExitsWithZero) {
  EXPECT_EQ(Run({"--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Exit codes"));
}

TEST_F(CliTest, WrongUseHasItsOwnExitCode) {
  EXPECT_EQ(Run({}), kCliUsage);
  EXPECT_EQ(Run({"nonsense"}), kCliUsage);
  EXPECT_EQ(Run({"call"}), kCliUsage);
  EXPECT_EQ(Run({"probe", "--timeout", "0"}), kCliUsage);
}

TEST(MakeRequestTest, RefusesSecretsWhereNoneAreTaken) {
  const auto method = FindMethod("GetIdentity");
  ASSERT_OK(method);
  EXPECT_THAT(MakeRequest(**method, "", TextSource::kInput, R"({"a": "b"})"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(MakeRequestTest, RefusesSecretsThatAreNoStrings) {
  const auto method = FindMethod("PromoteVolume");
  ASSERT_OK(method);
  EXPECT_THAT(
      MakeRequest(**method, "", TextSource::kInput, R"({"userKey": 5})"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("userKey")));
}

TEST(MakeRequestTest, NamesTheFieldThatIsWrongButNoValue) {
  struct Row {
    const char* request;
    const char* named;
  };
  const auto method = FindMethod("PromoteVolume");
  ASSERT_OK(method);
  for (const Row& row :
       {Row{R"({"volumeID": "hush"})", "'volumeID', but volume_id"},
        Row{R"({"replication_source": {"volume": {"id": "hush"}}})",
            "'replication_source.volume.id', but volume_id"},
        Row{R"({"force": "hush"})", "'force' is of another type"},
        Row{R"({"parameters": {"schedulingInterval": 5}})",
            "'parameters.schedulingInterval' is of another type"},
        Row{R"({"parameters": "hush"})", "'parameters' is no JSON object"},
        Row{R"({"force": true, hush)", "it is not JSON"},
        Row{R"(["hush"])", "it is no JSON object"}}) {
    EXPECT_THAT(MakeRequest(**method, row.request, TextSource::kInput, ""),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(row.named), Not(HasSubstr("hush")))))
        << row.request;
  }
}

TEST(MakeRequestTest, AddsSecretsToTheRequest) {
  const auto method = FindMethod("PromoteVolume");
  ASSERT_OK(method);
  const auto request =
      MakeRequest(**method, R"({"force": true})", TextSource::kCommandLine,
                  R"({"userKey": "k"})");
  ASSERT_OK(request);
  const auto* promote =
      dynamic_cast<const ::replication::PromoteVolumeRequest*>(request->get());
  ASSERT_NE(promote, nullptr);
  EXPECT_TRUE(promote->force());
  EXPECT_EQ(promote->secrets().at("userKey"), "k");
}

TEST(ToJsonTest, HidesSecrets) {
  encryptionkeyrotation::EncryptionKeyRotateRequest request;
  request.set_encryption_key("hush");
  (*request.mutable_secrets())["userKey"] = "hush";
  const auto json = ToJson(request);
  ASSERT_OK(json);
  EXPECT_THAT(*json, HasSubstr("\"encryption_key\": \"***\""));
  EXPECT_THAT(*json, Not(HasSubstr("hush")));
}

/// Of commands that talk to the administrators' socket.
class CliSocketTest : public CliTest {
 protected:
  void WriteSecrets() {
    dir_.Write("secrets.json", R"({"userID": "a", "userKey": "b"})");
  }
};

TEST_F(CliSocketTest, AskAdministratorsServicesOnTheirSocket) {
  ASSERT_OK(Start());
  EXPECT_EQ(Run({"operations", "--admin-endpoint", admin_endpoint()}), 0)
      << err_.str();
  EXPECT_EQ(Call({"ListOperations", "--admin-endpoint", admin_endpoint()}), 0)
      << err_.str();
}

// What one daemon shows must not be done by another.
TEST_F(CliSocketTest, OneSocketOfAnotherDaemonIsNotEnough) {
  ASSERT_OK(Start());
  WriteSecrets();
  EXPECT_EQ(Run({"operations", "--endpoint", endpoint()}), kCliUsage);
  EXPECT_THAT(err_.str(), HasSubstr("requires --admin-endpoint"));
  EXPECT_EQ(Run({"audit", "--pool", "replicapool", "--endpoint", endpoint()}),
            kCliUsage);
  EXPECT_THAT(err_.str(), HasSubstr("requires --admin-endpoint"));
  // What names one daemon to all commands is no reason to refuse.
  EXPECT_EQ(Run({"operations", "--endpoint", endpoint(), "--admin-endpoint",
                 admin_endpoint()}),
            0)
      << err_.str();
  EXPECT_EQ(Call({"ListOperations"}), kCliUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--admin-endpoint as well"));
  EXPECT_EQ(Run({"promote", "pvc-1", "--endpoint", endpoint(), "--secrets-file",
                 dir_.File("secrets.json")}),
            kCliUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--admin-endpoint as well"));
  EXPECT_EQ(Run({"site", "failover", "replicapool", "--endpoint", endpoint(),
                 "--secrets-file", dir_.File("secrets.json")}),
            kCliUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--admin-endpoint as well"));
  // An id is not looked for.
  EXPECT_EQ(Run({"info", VolumeId(), "--endpoint", endpoint(), "--secrets-file",
                 dir_.File("secrets.json")}),
            grpc::StatusCode::UNAUTHENTICATED)
      << err_.str();
}

TEST_F(CliSocketTest, TheOtherSocketIsNamedWhereItIsNeeded) {
  ASSERT_OK(Start());
  EXPECT_EQ(Run({"operations", "--admin-endpoint", endpoint()}),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(err_.str(), HasSubstr(admin_endpoint()));
}

}  // namespace
}  // namespace addons
