// Secrets in no log, status, metric or output, whatever goes wrong.

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "cli/call.h"
#include "cli/methods.h"
#include "rpc/method.h"
#include "tests/rpc/app_fixture.h"
#include "tests/rpc/raw_call.h"
#include "tests/testing/answering_cluster.h"
#include "tests/testing/http_get.h"

namespace addons {
namespace {

using ::addons::testing::AppFixture;
using ::addons::testing::RawCall;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kGoodKey[] = "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
constexpr char kSentinel[] = "SENTINELdoNotShow";
// One that was escaped, broken into lines or cut shows a part at least.
constexpr const char* kPieces[] = {"SENTINEL", "AQBGK0tl",
                                   "e1jGVJUIbxnSHUjzYVN5eg"};

MATCHER(ShowsASecret, "") {
  return std::any_of(std::begin(kPieces), std::end(kPieces),
                     [&](const char* piece) {
                       if (!absl::StrContains(arg, piece)) return false;
                       *result_listener << "has " << piece;
                       return true;
                     });
}

struct Case {
  std::string name;
  std::string user_key;
  std::function<AppFixture::ConnectResult()> connect;
};

/// Fills every field of a request with something plausible, so that the call
/// comes as far as it can, and every secret with what nobody may see.
class Filler {
 public:
  Filler(std::string volume_id, std::string user_key)
      : volume_id_(std::move(volume_id)), user_key_(std::move(user_key)) {}

  void Fill(Message& message) const {
    const google::protobuf::Descriptor& type = *message.GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      // The first of a choice; and no field that is there for old callers.
      const auto* const choice = field.real_containing_oneof();
      if (choice != nullptr && choice->field(0) != &field) continue;
      if (field.options().deprecated()) continue;
      // Only with another choice.
      if (field.name() == "confirmed") continue;
      // Volumes, or all of a pool, or all.
      if ((field.name() == "pool" || field.name() == "all") &&
          type.FindFieldByName("volume_ids")) {
        continue;
      }
      // A volume, or a group, or a pool.
      if ((field.name() == "pool" || field.name() == "group_id") &&
          type.FindFieldByName("volume_id")) {
        continue;
      }
      FillField(message, field);
    }
  }

 private:
  void FillField(Message& message, const FieldDescriptor& field) const {
    const google::protobuf::Reflection& reflection = *message.GetReflection();
    if (field.is_map()) {
      if (field.name() == "secrets") {
        AddEntry(message, field, "userID", "admin");
        AddEntry(message, field, "userKey", user_key_);
        AddEntry(message, field, "more", kSentinel);
        AddEntry(message, field, "encryptionPassphrase", kSentinel);
        AddEntry(message, field, "previousEncryptionPassphrase", kSentinel);
      } else if (field.name() == "parameters") {
        AddEntry(message, field, "clusterID", "cluster");
        AddEntry(message, field, "pool", "replicapool");
        AddEntry(message, field, "encryptionPassphrase", kSentinel);
      }
      return;
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Fill(field.is_repeated() ? *reflection.AddMessage(&message, &field)
                               : *reflection.MutableMessage(&message, &field));
      return;
    }
    if (field.name() == "kind") {  // the first that is one
      reflection.SetEnumValue(&message, &field,
                              field.enum_type()->value(1)->number());
      return;
    }
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) return;
    if (field.is_repeated()) {
      reflection.AddString(&message, &field, TextFor(field.name()));
    } else {
      reflection.SetString(&message, &field, TextFor(field.name()));
    }
  }
  static void AddEntry(Message& message, const FieldDescriptor& field,
                       const std::string& key, const std::string& value) {
    Message* const entry =
        message.GetReflection()->AddMessage(&message, &field);
    const google::protobuf::Descriptor& type = *entry->GetDescriptor();
    entry->GetReflection()->SetString(entry, type.map_key(), key);
    entry->GetReflection()->SetString(entry, type.map_value(), value);
  }
  std::string TextFor(const std::string& name) const {
    if (name == "cluster_id") return "cluster";
    if (absl::EndsWith(name, "_id") || absl::EndsWith(name, "_ids")) {
      return volume_id_;
    }
    if (name == "cidr") return "10.9.8.7/32";
    if (name == "starting_token" || name == "rados_namespace") return "";
    if (name == "encryption_type") return "block";
    if (name == "encryption_key") return kSentinel;
    if (absl::EndsWith(name, "path")) return "/nowhere";
    return "name";
  }

  const std::string volume_id_;
  const std::string user_key_;
};

class SecrecyTest : public AppFixture,
                    public ::testing::WithParamInterface<Case> {
 protected:
  testing::RawResult Call(const google::protobuf::MethodDescriptor& method) {
    const std::unique_ptr<Message> request = NewMessage(*method.input_type());
    Filler(VolumeId(), GetParam().user_key).Fill(*request);
    const std::string name = MethodName(method);
    return RawCall(IsForAdministrators(name) ? AdminChannel() : Channel(),
                   "/" + name, request->SerializeAsString());
  }
};

TEST_P(SecrecyTest, NoMethodOfAnyServiceShowsASecret) {
  std::atomic<int> connects{0};
  connect_ = [&connects]() -> AppFixture::ConnectResult {
    ++connects;
    return GetParam().connect();
  };
  config_.serve_metrics = true;
  config_.modes.node = true;
  config_.rotate_keys = true;
  ASSERT_OK(Start());
  const bool key_is_good = GetParam().user_key == kGoodKey;
  const absl::string_view name = GetParam().name;
  std::vector<std::string> never_asked;  // no cluster
  std::vector<std::string> succeeded;
  size_t with_secrets = 0;
  for (const google::protobuf::MethodDescriptor* method : AllMethods()) {
    const bool has_secrets =
        method->input_type()->FindFieldByName("secrets") != nullptr;
    const int before = connects;
    const auto [status, answer] = Call(*method);
    EXPECT_THAT(status.error_message(), Not(ShowsASecret()))
        << MethodName(*method);
    EXPECT_THAT(status.error_details(), Not(ShowsASecret()))
        << MethodName(*method);
    EXPECT_THAT(answer, Not(ShowsASecret())) << MethodName(*method);
    EXPECT_NE(status.error_code(), grpc::DEADLINE_EXCEEDED)
        << MethodName(*method);
    if (!has_secrets) continue;
    ++with_secrets;
    if (status.ok()) succeeded.push_back(MethodName(*method));
    if (connects == before) never_asked.push_back(MethodName(*method));
  }
  const std::string metrics = testing::HttpGet(app_->metrics_url()).body;
  app_.reset();
  EXPECT_GE(with_secrets, 18U);
  if (key_is_good) {
    // A test whose calls go nowhere proves nothing. A trim looks at the node
    // first, and what is awaited is known by the volume of a call before.
    EXPECT_THAT(never_asked,
                ::testing::IsSubsetOf(
                    {"rbdaddons.admin.v1.Copying/AwaitSync",
                     "reclaimspace.ReclaimSpaceNode/NodeReclaimSpace"}));
  }
  if (name == "ClusterAnswers") {
    EXPECT_THAT(succeeded,
                ::testing::Contains(StartsWith("fence.FenceController/")));
  }
  EXPECT_THAT(metrics, HasSubstr("method=\"replication.Controller/"));
  EXPECT_THAT(metrics, Not(ShowsASecret()));
  EXPECT_THAT(metrics, Not(HasSubstr(VolumeId())));
  const std::string log = log_.text();
  EXPECT_THAT(log, HasSubstr("secrets: ***"));
  EXPECT_THAT(log, Not(ShowsASecret()));
}

/// No pools, but a blocklist that can be read.
AppFixture::ConnectResult AnsweringCluster() {
  auto cluster = std::make_shared<testing::AnsweringCluster>();
  cluster->Answer("osd blocklist ls", "[]\n[]\n");
  cluster->Answer(
      "osd dump",
      R"({"modified": "2026-11-22T10:00:00.000000+0000", "osds": [], "pools": []})");
  return cluster;
}

INSTANTIATE_TEST_SUITE_P(
    Clusters, SecrecyTest,
    ::testing::Values(
        Case{"ClusterAnswers", kGoodKey, AnsweringCluster},
        Case{"ClusterSilent", kGoodKey,
             [] { return absl::UnavailableError("no monitor answered"); }},
        Case{"ClusterRefuses", kGoodKey,
             [] { return absl::UnauthenticatedError("key refused"); }},
        Case{"ClusterThrows", kGoodKey,
             []() -> AppFixture::ConnectResult {
               throw std::runtime_error(kSentinel);
             }},
        Case{"MalformedKey", "SENTINELnotAKey\n==",
             [] { return absl::UnavailableError("never asked"); }}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace addons
