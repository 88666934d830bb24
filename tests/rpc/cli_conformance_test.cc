// `rbd-addons conformance`: our own daemon on simulated clusters, and a server
// that breaks every promise.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "tests/rpc/cli_fixture.h"

namespace addons::testing {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

/// Ids of the cases with this verdict.
std::set<std::string> IdsOf(const std::string& results,
                            const std::string& verdict) {
  std::set<std::string> ids;
  const json parsed = ParseJson(results);
  for (const json& one : parsed["cases"]) {
    if (one["verdict"] == verdict) ids.insert(one["id"].get<std::string>());
  }
  return ids;
}

class ConformanceTest : public CliVerbTest {};

TEST_F(ConformanceTest, TheDaemonDiffersOnlyWhereItIsMeant) {
  server_.AddPlain();
  const std::string member =
      server_.pair.AddVolume(server_.a, ReplicationServer::kSecondUuid);
  server_.Start();
  Run({"conformance", "--json", "--timeout=60", "--volume", server_.id,
       "--parameter=schedulingInterval=5m", "--group-volume", member,
       "--group-parameter=clusterID=site-a",
       absl::StrCat("--group-parameter=pool=", MirroredPair::kPool),
       "--fence=198.51.100.7/32", "--fence-parameter=clusterID=site-a"});
  SCOPED_TRACE(out_.str() + err_.str());
  // docs/conformance.md says why.
  EXPECT_THAT(IdsOf(out_.str(), "failed"),
              UnorderedElementsAre("group.create.other-members"));
  // A controller has no node's half, which the clients to be fenced belong to.
  for (const std::string& id : IdsOf(out_.str(), "skipped")) {
    EXPECT_THAT(id, AnyOf(HasSubstr("reclaim.node"), Eq("fence.clients")));
  }
  EXPECT_GT(IdsOf(out_.str(), "passed").size(), 80U);
}

TEST_F(ConformanceTest, WithoutWhatMayBeChangedNothingIsChanged) {
  server_.AddPlain();
  server_.Start();
  const auto before = server_.a.Contents();
  EXPECT_EQ(Run({"conformance"}), 0) << out_.str() << err_.str();
  EXPECT_EQ(server_.a.Contents(), before);
  EXPECT_THAT(out_.str(), HasSubstr("it needs a volume: --volume"));
  EXPECT_THAT(out_.str(), HasSubstr(" passed, 0 failed, "));
}

TEST_F(ConformanceTest, CasesAreChosenByName) {
  server_.Start();
  EXPECT_EQ(Run({"conformance", "--only=identity", "--skip=identity.stable"}),
            0)
      << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("passed  identity.name\n"));
  EXPECT_THAT(out_.str(), HasSubstr("5 passed, 0 failed, 0 skipped\n"));
  EXPECT_EQ(Run({"conformance", "--only=identiy"}), kCliUsage);
  EXPECT_THAT(err_.str(), HasSubstr("there is no case 'identiy'"));
}

TEST_F(ConformanceTest, TheCasesAreListedWithoutAServer) {
  EXPECT_EQ(Run({"conformance", "--list"}), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              HasSubstr("replication.promote.together\n  8 callers"));
}

TEST_F(ConformanceTest, AServerThatIsNotThereIsNoFailedCase) {
  EXPECT_EQ(Run({"conformance"}), grpc::UNAVAILABLE);
}

TEST_F(ConformanceTest, ResultsAreWrittenAsJunitsXml) {
  server_.Start();
  EXPECT_EQ(Run({"conformance", "--only=identity", "--junit",
                 dir_.File("results.xml")}),
            0);
  const std::string xml = dir_.Read("results.xml");
  EXPECT_THAT(xml, HasSubstr("tests=\"6\" failures=\"0\" skipped=\"0\""));
  EXPECT_THAT(xml, HasSubstr("<testcase name=\"identity.name\""));
}

/// Answers every call with OK and an empty message, but for what it says it can
/// do; or with an error that tells the secrets and nothing else.
class BadServer final : public grpc::CallbackGenericService {
 public:
  explicit BadServer(std::string error) : error_(std::move(error)) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new BadAnswer(context->method(), error_);
  }

 private:
  class BadAnswer final : public grpc::ServerGenericBidiReactor {
   public:
    BadAnswer(const std::string& method, std::string error)
        : error_(std::move(error)) {
      if (method == "/identity.Identity/GetCapabilities") {
        error_.clear();
        // volume_replication, network_fence and volume_group, type 1 each.
        answer_ =
            "\x0a\x04\x1a\x02\x08\x01\x0a\x04\x22\x02\x08\x01\x0a\x04"
            "\x2a\x02\x08\x01";
      }
      StartRead(&request_);
    }
    void OnReadDone(bool /*ok*/) override {
      if (!error_.empty()) {
        Finish({grpc::UNKNOWN, error_});
        return;
      }
      const grpc::Slice slice(answer_);
      buffer_ = grpc::ByteBuffer(&slice, 1);
      StartWriteAndFinish(&buffer_, grpc::WriteOptions(), grpc::Status::OK);
    }
    void OnDone() override { delete this; }

   private:
    std::string error_;
    std::string answer_;
    grpc::ByteBuffer request_;
    grpc::ByteBuffer buffer_;
  };

  const std::string error_;
};

class BadServerTest : public ::testing::Test {
 protected:
  static constexpr char kKey[] = "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";

  void Serve(const std::string& error) {
    bad_ = std::make_unique<BadServer>(error);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + dir_.File("s"),
                             grpc::InsecureServerCredentials());
    builder.RegisterCallbackGenericService(bad_.get());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  ~BadServerTest() override {
    if (server_ != nullptr) server_->Shutdown();
  }
  int Run() {
    dir_.Write("secrets.json",
               std::string(R"({"userID": "u", "userKey": ")") + kKey + "\"}");
    std::istringstream in;
    return RunCli({"rbd-addons", "conformance", "--json", "--timeout=1",
                   "--endpoint", "unix://" + dir_.File("s"), "--secrets-file",
                   dir_.File("secrets.json"), "--volume=v", "--group-volume=v",
                   "--fence=198.51.100.7/32"},
                  in, out_, err_);
  }

  const TempDir dir_;
  std::unique_ptr<BadServer> bad_;
  std::unique_ptr<grpc::Server> server_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(BadServerTest, OneThatAgreesToEverythingIsFoundOut) {
  Serve("");
  EXPECT_EQ(Run(), 9) << err_.str();
  const std::set<std::string> failed = IdsOf(out_.str(), "failed");
  for (const char* const id :
       {"identity.name", "identity.role", "unadvertised.unimplemented",
        "replication.enable.without-object", "replication.promote.no-message",
        "replication.resync.wrong-key", "replication.off.promote",
        "replication.two-sources", "replication.primary.resync",
        "replication.primary.info", "replication.disabled.info",
        "fence.not-a-range", "fence.all-or-nothing", "fence.fence",
        "fence.together", "group.create"}) {
    EXPECT_THAT(failed, Contains(id));
  }
  EXPECT_THAT(failed, Not(Contains("callers.together")));
}

TEST_F(BadServerTest, OneThatTellsASecretIsFoundOutAndTheSecretNotTold) {
  Serve(std::string("no user has the key ") + kKey);
  EXPECT_EQ(Run(), 9) << err_.str();
  const std::set<std::string> failed = IdsOf(out_.str(), "failed");
  for (const char* const id :
       {"secrets.kept", "identity.probe", "replication.enable",
        "replication.promote.together", "fence.unfence", "callers.cancelled"}) {
    EXPECT_THAT(failed, Contains(id));
  }
  EXPECT_THAT(out_.str(), Not(HasSubstr(kKey)));
}

}  // namespace
}  // namespace addons::testing
