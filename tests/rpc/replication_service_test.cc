// replication.Controller through the socket, on simulated clusters: sources,
// repeats, joins, conflicts, secrets.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/rpc/log_capture.h"
#include "tests/rpc/replication_server.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ServiceTest : public ::testing::Test {
 protected:
  void StartMirrored() {
    server_.AddMirrored();
    server_.world.Advance(minutes(1));
    server_.Start();
    server_.world.ClearCalls();
  }
  Ask For(const std::string& id) {
    Ask ask;
    ask.volume_id = id;
    return ask;
  }
  ReplicationServer server_;
};

TEST_F(ServiceTest, DisableOfWhatCannotBeOursIsDone) {
  StartMirrored();
  std::string other_version = server_.id;
  other_version[3] = '2';
  for (const std::string& id :
       {std::string("pvc-1"), std::string(200, 'x'), std::string("a\nb"),
        std::string("mig_mons-1")}) {
    const grpc::Status status =
        server_.Call("DisableVolumeReplication", For(id)).status;
    EXPECT_TRUE(status.ok()) << id << ": " << status.error_message();
    Ask group;
    group.group_id = id;
    EXPECT_TRUE(server_.Call("DisableVolumeReplication", group).status.ok())
        << id;
    // No other verb takes it for done.
    EXPECT_EQ(server_.Call("DemoteVolume", For(id)).status.error_code(),
              grpc::INVALID_ARGUMENT)
        << id;
  }
  EXPECT_THAT(server_.log(), HasSubstr("needs no disable volume=pvc-1"));
  // Of our kind, and not to be read by this build.
  const auto refused =
      server_.Call("DisableVolumeReplication", For(other_version)).status;
  EXPECT_EQ(refused.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("encoding version 2"));
  EXPECT_EQ(server_.world.CountMutations(), 0);
  EXPECT_THAT(server_.log(), Not(HasSubstr(server_.a.user()->key.Reveal())));
}

TEST_F(ServiceTest, AStaticVolumeIsToldAsWhatItIs) {
  StartMirrored();
  for (const std::string id : {"mongo", "mig_mons-1"}) {
    for (const std::string method :
         {"EnableVolumeReplication", "PromoteVolume", "DemoteVolume",
          "ResyncVolume", "GetVolumeReplicationInfo",
          "GetReplicationDestinationInfo"}) {
      const grpc::Status status = server_.Call(method, For(id)).status;
      // Never UNIMPLEMENTED, NOT_FOUND or FAILED_PRECONDITION: others act then.
      EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << method;
      EXPECT_THAT(status.error_message(),
                  HasSubstr(id == "mongo" ? "the handle of a static volume"
                                          : "migrated"))
          << method;
    }
  }
  EXPECT_EQ(server_.world.CountMutations(), 0);
}

class SourceTest : public ServiceTest,
                   public ::testing::WithParamInterface<const char*> {
 protected:
  SourceTest() { StartMirrored(); }
  bool HasOldField() const {
    return std::string(GetParam()) != "GetReplicationDestinationInfo";
  }
  grpc::StatusCode CodeOf(const Ask& ask) {
    return server_.Call(GetParam(), ask).status.error_code();
  }
};

TEST_P(SourceTest, NoSourceIsInvalid) {
  const auto answer = server_.Call(GetParam(), Ask());
  EXPECT_EQ(answer.status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("replication_source"));
}

TEST_P(SourceTest, AMissingSecretNamesTheKeysOfTheClass) {
  Ask ask = For(server_.id);
  ask.user_key = " ";
  const grpc::Status status = server_.Call(GetParam(), ask).status;
  EXPECT_EQ(status.error_code(), grpc::UNAUTHENTICATED);
  EXPECT_THAT(
      status.error_message(),
      AllOf(HasSubstr("'secrets.userKey' is empty"),
            HasSubstr(
                "replication.storage.openshift.io/replication-secret-name")));
}

TEST_P(SourceTest, DeprecatedIdAloneNamesTheVolume) {
  Ask with_source = For(server_.id);
  Ask with_old_id;
  with_old_id.deprecated_id = server_.id;
  EXPECT_EQ(CodeOf(with_old_id),
            HasOldField() ? CodeOf(with_source) : grpc::INVALID_ARGUMENT);
}

TEST_P(SourceTest, BothIdsMayBeEqual) {
  Ask ask = For(server_.id);
  const grpc::StatusCode wanted = CodeOf(ask);
  ask.deprecated_id = server_.id;
  EXPECT_EQ(CodeOf(ask), wanted);
}

TEST_P(SourceTest, DifferentIdsAreInvalid) {
  if (!HasOldField()) {
    EXPECT_EQ(CodeOf(For(server_.id)), grpc::OK);
    return;
  }
  Ask ask = For(server_.id);
  ask.deprecated_id = absl::StrCat(server_.id, "0");
  const auto answer = server_.Call(GetParam(), ask);
  EXPECT_EQ(answer.status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("volume_id"));
  EXPECT_EQ(server_.world.CountMutations(), 0);
}

TEST_P(SourceTest, VolumeAsGroupIsInvalid) {
  Ask ask;
  ask.group_id = server_.id;
  ask.parameters["groupReplication"] = "members";
  EXPECT_EQ(CodeOf(ask), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(server_.world.CountMutations(), 0);
}

TEST_P(SourceTest, GroupWithoutIdIsInvalid) {
  EXPECT_EQ(CodeOf(For(ReplicationServer::kEmptyGroup)),
            grpc::INVALID_ARGUMENT);
}

TEST_P(SourceTest, OversizedIdReachesNoCluster) {
  // It is none of this driver's, so there is nothing to be disabled.
  const grpc::StatusCode expected =
      GetParam() == std::string("DisableVolumeReplication")
          ? grpc::OK
          : grpc::INVALID_ARGUMENT;
  EXPECT_EQ(CodeOf(For(std::string(129, 'x'))), expected);
  EXPECT_TRUE(server_.world.Calls().empty());
}

TEST_P(SourceTest, MissingSecretsAreUnauthenticated) {
  Ask ask = For(server_.id);
  ask.user_key = "x";
  EXPECT_EQ(CodeOf(ask), grpc::UNAUTHENTICATED);
}

TEST_P(SourceTest, RepeatAnswersTheSameAndChangesNothing) {
  const auto first = server_.Call(GetParam());
  server_.world.ClearCalls();
  const auto second = server_.Call(GetParam());
  EXPECT_EQ(second.status.error_code(), first.status.error_code());
  EXPECT_EQ(second.ready, first.ready);
  EXPECT_EQ(second.destination, first.destination);
  EXPECT_EQ(server_.world.CountMutations(), 0);
}

INSTANTIATE_TEST_SUITE_P(Methods, SourceTest,
                         ::testing::ValuesIn(kReplicationMethods),
                         [](const auto& tested) {
                           return std::string(tested.param);
                         });

TEST_F(ServiceTest, DestinationIsTheMappedId) {
  StartMirrored();
  const auto answer = server_.Call("GetReplicationDestinationInfo");
  EXPECT_EQ(answer.destination,
            server_.pair.VolumeId(server_.b, ReplicationServer::kUuid));
}

TEST_F(ServiceTest, EqualCallsAtTheSameTimeAreOneMutation) {
  StartMirrored();
  server_.Hold("rbd_mirror_image_demote");
  std::vector<grpc::Status> answers(4);
  {
    std::vector<std::jthread> callers;
    callers.emplace_back(
        [&] { answers[0] = server_.Call("DemoteVolume").status; });
    server_.AwaitHeld();
    for (size_t i = 1; i < answers.size(); ++i) {
      callers.emplace_back(
          [&, i] { answers[i] = server_.Call("DemoteVolume").status; });
    }
    server_.AwaitCalls("DemoteVolume", 4);
    server_.Release();
  }
  for (const grpc::Status& answer : answers) {
    EXPECT_TRUE(answer.ok()) << answer.error_message();
  }
  EXPECT_EQ(server_.world.CountCalls("a", "rbd_mirror_image_demote"), 1);
}

TEST_F(ServiceTest, OtherVerbIsAbortedNamingWhatRuns) {
  server_.SetConflictWait(milliseconds(200));
  StartMirrored();
  server_.Hold("rbd_mirror_image_demote");
  std::jthread caller([&] { server_.Call("DemoteVolume"); });
  server_.AwaitHeld();
  const auto answer = server_.Call("PromoteVolume");
  EXPECT_EQ(answer.status.error_code(), grpc::ABORTED);
  EXPECT_THAT(answer.status.error_message(),
              AllOf(HasSubstr("demote"), HasSubstr("demoting")));
  server_.Release();
}

TEST_F(ServiceTest, AWrongKeyEndsNobodysOperation) {
  StartMirrored();
  // A promote that looks, and has not changed anything.
  server_.Hold("rbd.mirror_image_status_get");
  grpc::Status promoted(grpc::UNKNOWN, "not called");
  {
    std::jthread caller(
        [&] { promoted = server_.Call("PromoteVolume").status; });
    server_.AwaitHeld();
    Ask wrong = For(server_.id);
    wrong.user_key = "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
    for (const char* verb :
         {"DemoteVolume", "ResyncVolume", "DisableVolumeReplication"}) {
      EXPECT_EQ(server_.Call(verb, wrong).status.error_code(),
                grpc::UNAUTHENTICATED)
          << verb;
    }
    server_.Release();
  }
  EXPECT_TRUE(promoted.ok()) << promoted.error_message();
}

TEST_F(ServiceTest, QuestionsAreAnsweredWhileAVerbRuns) {
  StartMirrored();
  server_.Hold("rbd_mirror_image_demote");
  std::jthread caller([&] { server_.Call("DemoteVolume"); });
  server_.AwaitHeld();
  EXPECT_TRUE(server_.Call("GetVolumeReplicationInfo").status.ok());
  EXPECT_TRUE(server_.Call("GetReplicationDestinationInfo").status.ok());
  server_.Release();
}

TEST_F(ServiceTest, MutationGoesOnWhenTheClientCancels) {
  StartMirrored();
  server_.Hold("rbd_mirror_image_demote");
  grpc::ClientContext context;
  grpc::Status status;
  std::jthread caller([&] {
    status = server_.Call("DemoteVolume", For(server_.id), &context).status;
  });
  server_.AwaitHeld();
  context.TryCancel();
  caller.join();
  EXPECT_EQ(status.error_code(), grpc::CANCELLED);
  server_.Release();
  EXPECT_TRUE(server_.Call("DemoteVolume").status.ok());
  EXPECT_EQ(server_.world.CountCalls("a", "rbd_mirror_image_demote"), 1);
  EXPECT_FALSE(server_.a.Info(server_.image).primary);
}

TEST_F(ServiceTest, NotReadyResyncIsAnOkAnswer) {
  server_.AddMirrored();
  server_.a.ForceSplitBrain(server_.image);
  server_.world.Advance(minutes(1));
  server_.Start();
  const LogCapture log;
  Ask ask = For(server_.id);
  ask.force = true;
  const auto answer = server_.Call("ResyncVolume", ask);
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_FALSE(answer.ready);
  // What it waits for stands in the log alone.
  EXPECT_THAT(log.text(), HasSubstr("resync of volume '" + server_.id + "'"));
}

TEST_F(ServiceTest, InfoOfAnOrdinaryPrimaryHasAnswerAndNoError) {
  StartMirrored();
  const auto answer = server_.Call("GetVolumeReplicationInfo");
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_THAT(answer.message, HasSubstr("replaying"));
}

// What rbd-mirror wrote may be anything, and a client takes no answer whose
// texts are not UTF-8.
TEST_F(ServiceTest, InfoRepeatsAReportAsOneLineThatClientsCanRead) {
  StartMirrored();
  server_.a.SetStatus(server_.image, "", MirrorStatusState::kError,
                      "no\x01\nspace \xff left");
  const auto answer = server_.Call("GetVolumeReplicationInfo");
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_THAT(answer.message, HasSubstr("no  space ? left"));
}

TEST_F(ServiceTest, ParameterThatIsNotAllowedIsNamed) {
  StartMirrored();
  Ask ask = For(server_.id);
  ask.parameters = {{"schedulingInterval", "5 minutes"}};
  const auto answer = server_.Call("PromoteVolume", ask);
  EXPECT_EQ(answer.status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("schedulingInterval"));
  EXPECT_TRUE(server_.world.Calls().empty());
}

/// How the cluster behaves while secrets must not show.
struct Backend {
  std::string name;
  FakeWorld::CallHook hook;
};

class SecretsTest : public ServiceTest,
                    public ::testing::WithParamInterface<Backend> {};

TEST_P(SecretsTest, NoMethodShowsOne) {
  constexpr char kSentinel[] = "SENTINEL";  // or it is escaped or broken
  StartMirrored();
  server_.world.SetCallHook(GetParam().hook);
  const std::string key = server_.a.user()->key.Reveal();
  for (const char* method : kReplicationMethods) {
    Ask ask = For(server_.id);
    ask.deadline = seconds(5);
    ask.parameters = {{"encryptionPassphrase", "SENTINELdoNotShow"}};
    const auto answer = server_.Call(method, ask);
    EXPECT_THAT(answer.status.error_message(),
                AllOf(Not(HasSubstr(key)), Not(HasSubstr(kSentinel))));
    EXPECT_THAT(answer.message + answer.destination,
                AllOf(Not(HasSubstr(key)), Not(HasSubstr(kSentinel))));
  }
  server_.Stop();
  const std::string log = server_.log();
  EXPECT_THAT(log, AllOf(HasSubstr("secrets: ***"), Not(HasSubstr(key)),
                         Not(HasSubstr(kSentinel))));
}

INSTANTIATE_TEST_SUITE_P(
    Backends, SecretsTest,
    ::testing::Values(
        Backend{"Good", nullptr},
        Backend{"Failing",
                [](absl::string_view, absl::string_view call, bool) {
                  return call == "rbd.mirror_image_status_get" ||
                                 call == "rbd_open_read_only"
                             ? EINVAL
                             : 0;
                }},
        Backend{"Throwing",
                [](absl::string_view, absl::string_view call, bool) -> int {
                  if (call == "rbd.mirror_image_status_get") {
                    throw std::runtime_error("unexpected");
                  }
                  return 0;
                }}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace addons::testing
