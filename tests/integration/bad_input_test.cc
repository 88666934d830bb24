// Wrong requests: refused by name, with nothing changed; and no secret ever
// comes out, whatever goes in.

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

namespace pb = ::replication;
using ::testing::HasSubstr;
using ::testing::Not;
using Code = grpc::StatusCode;

/// One request, whatever the verb.
struct Input {
  pb::ReplicationSource source;
  std::string old_volume_id;  // the deprecated field
  std::map<std::string, std::string> secrets;
  Parameters parameters;
  bool force = false;
};

template <typename Request, typename Response>
grpc::Status Send(pb::Controller::Stub& stub,
                  grpc::Status (pb::Controller::Stub::*method)(
                      grpc::ClientContext*, const Request&, Response*),
                  const Input& input) {
  Request request;
  *request.mutable_replication_source() = input.source;
  request.mutable_secrets()->insert(input.secrets.begin(), input.secrets.end());
  if constexpr (requires { request.mutable_parameters(); }) {
    request.mutable_parameters()->insert(input.parameters.begin(),
                                         input.parameters.end());
  }
  if constexpr (requires { request.set_force(true); }) {
    request.set_force(input.force);
  }
  if (const auto* field = Request::descriptor()->FindFieldByName("volume_id")) {
    request.GetReflection()->SetString(&request, field, input.old_volume_id);
  }
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(60));
  Response response;
  return (stub.*method)(&context, request, &response);
}

enum class Takes { kNothing, kParameters };

struct Verb {
  std::string name;
  Takes takes;
  std::function<grpc::Status(pb::Controller::Stub&, const Input&)> call;
};

template <typename Method>
Verb MakeVerb(const std::string& name, Takes takes, Method method) {
  return {name, takes, [method](pb::Controller::Stub& stub, const Input& in) {
            return Send(stub, method, in);
          }};
}

const std::vector<Verb>& Verbs() {
  using Stub = pb::Controller::Stub;
  static const auto* const verbs = new std::vector<Verb>{
      MakeVerb("enable", Takes::kParameters, &Stub::EnableVolumeReplication),
      // Ignores those that it does not need: a class with a bad one must not
      // make resources that cannot be deleted.
      MakeVerb("disable", Takes::kNothing, &Stub::DisableVolumeReplication),
      MakeVerb("promote", Takes::kParameters, &Stub::PromoteVolume),
      MakeVerb("demote", Takes::kNothing, &Stub::DemoteVolume),
      MakeVerb("resync", Takes::kNothing, &Stub::ResyncVolume),
      MakeVerb("info", Takes::kNothing, &Stub::GetVolumeReplicationInfo),
      MakeVerb("destination", Takes::kNothing,
               &Stub::GetReplicationDestinationInfo)};
  return *verbs;
}

class BadInputTest : public TwoSitesTest {
 protected:
  static Input Good(const std::string& site, const TestVolume& volume) {
    Input input = ForId(volume.id(site));
    const CephUserRef user = Bed().User(site);
    input.secrets = {{"userID", user->id}, {"userKey", user->key.Reveal()}};
    return input;
  }
  static Input ForId(const std::string& id) {
    Input input;
    input.source.mutable_volume()->set_volume_id(id);
    return input;
  }
  static Input WithId(Input input, const std::string& id) {
    input.source.mutable_volume()->set_volume_id(id);
    return input;
  }
  /// All that a call could change about the image.
  static std::string Picture(const TestVolume& volume) {
    return Rbd("a", {"info", ImageSpec(volume)}) +
           Rbd("a", {"snap", "ls", "--all", ImageSpec(volume)}) +
           Rbd("a", {"image-meta", "list", ImageSpec(volume)}) +
           Schedules("a", volume);
  }
  /// Each verb refuses `input` with `code` and says `text`.
  static void EachVerbRefuses(const Input& input, Code code,
                              const std::string& text) {
    const auto stub = Stub("a");
    for (const Verb& verb : Verbs()) {
      const grpc::Status status = verb.call(*stub, input);
      EXPECT_THAT(status, HasCode(code)) << verb.name;
      EXPECT_THAT(status.error_message(), HasSubstr(text)) << verb.name;
    }
  }
  /// The same of an id that no volume of this driver can have: there is nothing
  /// to disable.
  static void EachVerbButDisableRefuses(const Input& input,
                                        const std::string& text) {
    const auto stub = Stub("a");
    for (const Verb& verb : Verbs()) {
      const grpc::Status status = verb.call(*stub, input);
      if (verb.name == "disable") {
        EXPECT_THAT(status, HasCode(Code::OK));
        continue;
      }
      EXPECT_THAT(status, HasCode(Code::INVALID_ARGUMENT)) << verb.name;
      EXPECT_THAT(status.error_message(), HasSubstr(text)) << verb.name;
    }
  }
  static std::string OtherUuid(const std::string& id, char digit) {
    return id.substr(0, id.size() - 36) + "00000000-0000-4000-8000-" +
           std::string(12, digit);
  }
};

TEST_F(BadInputTest, WrongSourcesAreRefusedByName) {
  const TestVolume volume = MakeReplicatedVolume();
  const std::string before = Picture(volume);
  const Input good = Good("a", volume);

  Input none = good;
  none.source.Clear();
  EachVerbRefuses(none, Code::INVALID_ARGUMENT, "replication_source");
  EachVerbRefuses(WithId(good, ""), Code::INVALID_ARGUMENT,
                  "replication_source.volume.volume_id");
  Input group = good;
  group.source.mutable_volumegroup()->set_volume_group_id(volume.id_a);
  group.parameters["groupReplication"] = "members";
  EachVerbRefuses(group, Code::INVALID_ARGUMENT, "not of a volume group");
  EachVerbButDisableRefuses(WithId(good, "garbage"), "garbage");
  EachVerbButDisableRefuses(WithId(good, "../../etc/passwd"), "etc/passwd");
  const std::string truncated = volume.id_a.substr(0, volume.id_a.size() - 1);
  EachVerbButDisableRefuses(WithId(good, truncated), truncated);
  EachVerbButDisableRefuses(WithId(good, volume.id_a + "0"), volume.id_a);
  EachVerbButDisableRefuses(WithId(good, std::string(129, 'x')), "volume_id");

  EXPECT_EQ(Picture(volume), before);
}

TEST_F(BadInputTest, TwoDifferentSourcesAreRefused) {
  const TestVolume volume = MakeReplicatedVolume();
  const std::string before = Picture(volume);
  Input both = Good("a", volume);
  both.old_volume_id = OtherUuid(volume.id_a, '1');
  const auto stub = Stub("a");
  for (const Verb& verb : Verbs()) {
    if (verb.name == "destination") continue;  // has no deprecated field
    const grpc::Status status = verb.call(*stub, both);
    EXPECT_THAT(status, HasCode(Code::INVALID_ARGUMENT)) << verb.name;
    EXPECT_THAT(status.error_message(), HasSubstr("volume_id")) << verb.name;
  }
  EXPECT_EQ(Picture(volume), before);
}

TEST_F(BadInputTest, AnIdOfSomethingElseIsRefused) {
  const TestVolume volume = MakeReplicatedVolume();
  const Input good = Good("a", volume);
  const std::string snapshot = OtherUuid(volume.id_a, '2');
  const std::string group = OtherUuid(volume.id_a, '3');
  const auto make = [](const std::string& prefix, const std::string& id,
                       const std::string& key) {
    Testbed("rados", {"a", "-p", RealBed::kPool, "setomapval",
                      prefix + id.substr(id.size() - 36), key, "name"});
  };
  make("csi.snap.", snapshot, "csi.snapname");
  make("csi.volume.group.", group, "csi.groupname");
  EachVerbRefuses(WithId(good, snapshot), Code::INVALID_ARGUMENT, "snapshot");
  EachVerbRefuses(WithId(good, group), Code::INVALID_ARGUMENT, "group");
}

TEST_F(BadInputTest, WhatDoesNotExistIsNotFound) {
  const TestVolume volume = MakeReplicatedVolume();
  const Input good = Good("a", volume);
  const std::string unknown = OtherUuid(volume.id_a, '4');
  EachVerbRefuses(WithId(good, unknown), Code::NOT_FOUND, unknown);

  std::string no_pool = unknown;
  no_pool.replace(no_pool.size() - 37 - 16, 16, "00000000000003e7");
  EachVerbRefuses(WithId(good, no_pool), Code::NOT_FOUND, no_pool);

  // A volume that is there, in a pool with another id.
  std::string other_pool = volume.id_a;
  other_pool.replace(other_pool.size() - 37 - 16, 16, "00000000000003e7");
  EachVerbRefuses(WithId(good, other_pool), Code::UNAVAILABLE,
                  "RBDPoolIDMapping");
}

TEST_F(BadInputTest, AnUnknownClusterIsUnavailableAndNeverEndsADisable) {
  const TestVolume volume = MakeReplicatedVolume();
  const Input input =
      WithId(Good("a", volume),
             absl::StrReplaceAll(volume.id_a, {{"-site-a-", "-site-x-"}}));
  const auto stub = Stub("a");
  for (const Verb& verb : Verbs()) {
    const grpc::Status status = verb.call(*stub, input);
    EXPECT_THAT(status, HasCode(Code::UNAVAILABLE)) << verb.name;
    EXPECT_THAT(status.error_message(), HasSubstr("site-x")) << verb.name;
  }
}

TEST_F(BadInputTest, SecretsThatCannotWorkAreUnauthenticated) {
  const TestVolume volume = MakeReplicatedVolume();
  const std::string before = Picture(volume);
  const Input good = Good("a", volume);
  Input bad = good;
  bad.secrets.clear();
  EachVerbRefuses(bad, Code::UNAUTHENTICATED, "userID");
  bad = good;
  bad.secrets.erase("userID");
  EachVerbRefuses(bad, Code::UNAUTHENTICATED, "userID");
  bad = good;
  bad.secrets.erase("userKey");
  EachVerbRefuses(bad, Code::UNAUTHENTICATED, "userKey");
  bad = good;
  bad.secrets["userKey"] = "no key at all!";
  EachVerbRefuses(bad, Code::UNAUTHENTICATED, "userKey");
  bad.secrets["userKey"] = good.secrets.at("userKey").substr(4);
  EachVerbRefuses(bad, Code::UNAUTHENTICATED, "userKey");
  bad = good;
  bad.secrets["userID"] = "client." + good.secrets.at("userID");
  EachVerbRefuses(bad, Code::UNAUTHENTICATED, "userID");
  EXPECT_EQ(Picture(volume), before);
}

TEST_F(BadInputTest, ParametersWithWrongValuesAreRefusedByName) {
  const TestVolume volume = MakeReplicatedVolume();
  const std::string before = Picture(volume);
  struct Case {
    Parameters parameters;
    std::string named;
  };
  const std::vector<Case> cases = {
      {{{"mirroringMode", "sometimes"}}, "mirroringMode"},
      {{{"mirroringMode", "Snapshot"}}, "mirroringMode"},
      {{{"mirroringMode", ""}}, "mirroringMode"},
      {{{"flattenMode", "maybe"}}, "flattenMode"},
      {{{"force", "maybe"}}, "force"},
      {{{"schedulingInterval", ""}}, "schedulingInterval"},
      {{{"schedulingInterval", "0m"}}, "schedulingInterval"},
      {{{"schedulingInterval", "-1h"}}, "schedulingInterval"},
      {{{"schedulingInterval", "1y"}}, "schedulingInterval"},
      {{{"schedulingInterval", "5m "}}, "schedulingInterval"},
      {{{"schedulingInterval", "99999999999h"}}, "schedulingInterval"},
      {{{"schedulingInterval", "1h"}, {"schedulingStartTime", "noon"}},
       "schedulingStartTime"},
      {{{"schedulingInterval", "1h"}, {"schedulingStartTime", "25:00:00"}},
       "schedulingStartTime"},
      {{{"schedulingStartTime", "14:00:00-05:00"}}, "schedulingStartTime"}};
  const auto stub = Stub("a");
  for (const Case& bad : cases) {
    Input input = Good("a", volume);
    input.parameters = bad.parameters;
    for (const Verb& verb : Verbs()) {
      if (verb.takes != Takes::kParameters) continue;
      const grpc::Status status = verb.call(*stub, input);
      EXPECT_THAT(status, HasCode(Code::INVALID_ARGUMENT))
          << verb.name << " " << bad.named;
      EXPECT_THAT(status.error_message(), HasSubstr(bad.named)) << verb.name;
    }
  }
  EXPECT_EQ(Picture(volume), before);
}

TEST_F(BadInputTest, AnIntervalWithABlankIsRefused) {
  // The manager would refuse it after the image was promoted.
  const TestVolume volume = MakeVolume();
  Input input = Good("a", volume);
  input.parameters = {{"schedulingInterval", "5 m"}};
  const auto stub = Stub("a");
  for (const Verb& verb : Verbs()) {
    if (verb.takes != Takes::kParameters) continue;
    EXPECT_THAT(verb.call(*stub, input), HasCode(Code::INVALID_ARGUMENT))
        << verb.name;
  }
  EXPECT_EQ(MirrorState("a", volume), "disabled");
}

TEST_F(BadInputTest, AKeyInThePlaceOfTheUserIsNotRepeated) {
  const TestVolume volume = MakeVolume();
  Input input = Good("a", volume);
  const std::string key = input.secrets.at("userKey");
  const std::string name = input.secrets.at("userID");
  const std::string core = key.substr(key.size() / 2, 12);
  const auto stub = Stub("a");
  for (const std::string& other : {name, key}) {
    input.secrets = {{"userID", key}, {"userKey", other}};
    for (const Verb& verb : Verbs()) {
      const grpc::Status status = verb.call(*stub, input);
      EXPECT_THAT(status, HasCode(Code::UNAUTHENTICATED)) << verb.name;
      EXPECT_EQ(status.error_message().find(core), std::string::npos)
          << verb.name << " repeats a key";
    }
  }
  EXPECT_EQ(Daemon("a").Log().find(core), std::string::npos)
      << "a key is in the log";
}

TEST_F(BadInputTest, NoSecretIsEverLoggedOrAnswered) {
  const TestVolume volume = MakeReplicatedVolume();
  const std::string foreign =
      Testbed("ceph", {"a", "auth", "get-key", "client.admin"});
  std::map<std::string, size_t> logged;
  for (const std::string site : {"a", "b"}) {
    logged[site] = Daemon(site).Log().size();
    Restart(site, {{"RBD_ADDONS_LOG_LEVEL", "trace"}});
  }
  std::vector<std::string> secrets = {foreign, "sentinel-that-is-no-key"};
  std::string messages;
  for (const std::string site : {"a", "b"}) {
    const Input good = Good(site, volume);
    secrets.push_back(good.secrets.at("userKey"));
    std::vector<Input> inputs;
    for (const std::string& key : secrets) {
      Input input = good;
      input.secrets["userKey"] = key;
      inputs.push_back(input);
    }
    Input input = good;
    input.secrets["userID"] = "nobody";
    inputs.push_back(input);
    input = WithId(good, "garbage");
    inputs.push_back(input);
    input = good;
    input.secrets["sentinel"] = "sentinel-that-is-no-key";
    inputs.push_back(input);
    const auto stub = Stub(site);
    for (const Input& each : inputs) {
      for (const Verb& verb : Verbs()) {
        // Disabling for real would end the test's volume.
        if (verb.name == "disable" && each.secrets == good.secrets) continue;
        const grpc::Status status = verb.call(*stub, each);
        absl::StrAppend(&messages, status.error_message(), "\n",
                        status.error_details(), "\n");
      }
    }
  }
  for (const std::string site : {"a", "b"}) {
    const std::string log = Daemon(site).Log().substr(logged.at(site));
    EXPECT_THAT(log, HasSubstr(volume.id(site)));
    EXPECT_THAT(log, HasSubstr("DemoteVolume"));
    for (const std::string& secret : secrets) {
      // Also not without its padding or its beginning.
      const std::string core = secret.substr(secret.size() / 2, 12);
      EXPECT_EQ(log.find(core), std::string::npos)
          << "a key is in the log of " << site;
      EXPECT_EQ(messages.find(core), std::string::npos)
          << "a key is in a message";
    }
  }
  for (const std::string site : {"a", "b"}) Restart(site);
}

}  // namespace
}  // namespace addons::testing
