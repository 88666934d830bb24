#include "rpc/secrets.h"

#include <google/protobuf/arena.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>

#include "base/clock.h"
#include "encryptionkeyrotation/encryptionkeyrotation.pb.h"
#include "replication/replication.pb.h"
#include "rpc/unary_call.h"

namespace addons {
namespace {

TEST(TakeSecretsTest, TakesEveryEntry) {
  google::protobuf::Map<std::string, std::string> request;
  request["userID"] = "admin";
  request["userKey"] = "hush";
  const std::map<std::string, Secret> secrets = TakeSecrets(request);
  ASSERT_EQ(secrets.size(), 2U);
  EXPECT_EQ(secrets.at("userID").Reveal(), "admin");
  EXPECT_EQ(secrets.at("userKey").Reveal(), "hush");
}

TEST(TakeSecretsTest, TakesNothingFromNothing) {
  EXPECT_TRUE(TakeSecrets({}).empty());
}

using Request = replication::PromoteVolumeRequest;

std::string Reflected(const Request& request) {
  const auto* const field = Request::descriptor()->FindFieldByName("secrets");
  const auto& entry =
      request.GetReflection()->GetRepeatedMessage(request, field, 0);
  return entry.GetReflection()->GetString(entry,
                                          field->message_type()->map_value());
}

TEST(WipeSecretsTest, OverwritesTheMapAndWhatReflectionCopied) {
  Request request;
  (*request.mutable_secrets())["userKey"] = "hush";
  (*request.mutable_parameters())["kept"] = "words";
  ASSERT_EQ(Reflected(request), "hush");
  WipeSecrets(request, "secrets", request.secrets());
  EXPECT_EQ(request.secrets().at("userKey"), std::string(4, '\0'));
  EXPECT_EQ(Reflected(request), std::string(4, '\0'));
  EXPECT_EQ(request.parameters().at("kept"), "words");
}

// On an arena, which keeps the memory of what was given back.
TEST(WipeSecretsTest, AKeyOfARequestIsOverwrittenAsWell) {
  using Rotate = encryptionkeyrotation::EncryptionKeyRotateRequest;
  const std::string key = "a longer text than fits in place";
  google::protobuf::Arena arena;
  auto& request = *google::protobuf::Arena::CreateMessage<Rotate>(&arena);
  request.set_encryption_key(key);
  Rpc rpc(RealClock());
  grpc::CallbackServerContext context;
  encryptionkeyrotation::EncryptionKeyRotateResponse response;
  const char* bytes = nullptr;
  grpc::ServerUnaryReactor* const reactor =
      UnaryCall(rpc, context, request, response, [&](const CallContext&) {
        bytes = request.encryption_key().data();
        EXPECT_EQ(std::string(bytes, key.size()), key);
        return absl::OkStatus();
      });
  reactor->OnDone();
  EXPECT_EQ(request.encryption_key(), "");
  ASSERT_NE(bytes, nullptr);
  EXPECT_EQ(std::string(bytes, key.size()), std::string(key.size(), '\0'));
}

TEST(WipeSecretsTest, IsTheEndOfEachHandler) {
  Rpc rpc(RealClock());
  grpc::CallbackServerContext context;
  Request request;
  request.mutable_replication_source()->mutable_volume()->set_volume_id("v");
  (*request.mutable_secrets())["userKey"] = "a longer text than fits in place";
  replication::PromoteVolumeResponse response;
  std::string seen;
  grpc::ServerUnaryReactor* const reactor =
      UnaryCall(rpc, context, request, response, [&](const CallContext&) {
        seen = request.secrets().at("userKey");
        return absl::OkStatus();
      });
  reactor->OnDone();  // as gRPC does
  EXPECT_EQ(seen, "a longer text than fits in place");
  // Overwritten, see above, and then given back.
  EXPECT_TRUE(request.secrets().empty());
  EXPECT_EQ(request.ByteSizeLong(), 0U);
}

}  // namespace
}  // namespace addons
