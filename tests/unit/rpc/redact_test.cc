#include "rpc/redact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "encryptionkeyrotation/encryptionkeyrotation.pb.h"
#include "identity/identity.pb.h"
#include "replication/replication.pb.h"
#include "volumegroup/volumegroup.pb.h"

namespace addons {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RedactedTest, HidesFieldsMarkedSecret) {
  replication::PromoteVolumeRequest request;
  (*request.mutable_secrets())["userID"] = "hush1";
  (*request.mutable_secrets())["userKey"] = "hush2";
  EXPECT_EQ(Redacted(request), "{secrets: ***}");
}

TEST(RedactedTest, HidesASecretString) {
  encryptionkeyrotation::EncryptionKeyRotateRequest request;
  request.set_volume_id("v");
  request.set_encryption_key("hush");
  EXPECT_EQ(Redacted(request), "{volume_id: \"v\", encryption_key: ***}");
}

TEST(RedactedTest, HidesMapValuesByTheirKey) {
  replication::PromoteVolumeRequest request;
  (*request.mutable_parameters())["encryptionPassphrase"] = "hush";
  EXPECT_EQ(Redacted(request), "{parameters: [\"encryptionPassphrase\": ***]}");
}

TEST(RedactedTest, ShowsOtherMapValues) {
  replication::PromoteVolumeRequest request;
  (*request.mutable_parameters())["mirroringMode"] = "snapshot";
  EXPECT_EQ(Redacted(request),
            "{parameters: [\"mirroringMode\": \"snapshot\"]}");
}

TEST(RedactedTest, HidesInsideNestedMessages) {
  volumegroup::CreateVolumeGroupResponse response;
  auto* volume = response.mutable_volume_group()->add_volumes();
  (*volume->mutable_volume_context())["apiToken"] = "hush";
  EXPECT_THAT(Redacted(response), Not(HasSubstr("hush")));
}

TEST(RedactedTest, ShowsScalarsEnumsAndNestedMessages) {
  replication::GetVolumeReplicationInfoResponse response;
  response.mutable_last_sync_time()->set_seconds(17);
  response.set_last_sync_bytes(-4);
  response.set_status(replication::GetVolumeReplicationInfoResponse::DEGRADED);
  EXPECT_EQ(
      Redacted(response),
      "{last_sync_time: {seconds: 17}, last_sync_bytes: -4, status: DEGRADED}");
}

TEST(RedactedTest, CutsLongStrings) {
  identity::GetIdentityResponse response;
  response.set_name(std::string(300, 'x'));
  EXPECT_EQ(Redacted(response), "{name: \"" + std::string(256, 'x') + "...\"}");
}

TEST(RedactedTest, StaysOnOneLine) {
  identity::GetIdentityResponse response;
  response.set_name("a\n\"b\x1B");
  EXPECT_EQ(Redacted(response), R"({name: "a\n\"b\x1b"})");
}

TEST(RedactedTest, LeavesUnknownFieldsOut) {
  encryptionkeyrotation::EncryptionKeyRotateRequest sent;
  sent.set_encryption_key("hush");
  identity::ProbeRequest received;  // has no field 3
  ASSERT_TRUE(received.ParseFromString(sent.SerializeAsString()));
  EXPECT_EQ(Redacted(received), "{}");
}

TEST(RedactInPlaceTest, HidesAllKindsOfSecrets) {
  encryptionkeyrotation::EncryptionKeyRotateRequest request;
  request.set_encryption_key("hush");
  (*request.mutable_secrets())["plain"] = "hush";
  (*request.mutable_parameters())["password"] = "hush";
  (*request.mutable_parameters())["pool"] = "shown";
  RedactInPlace(request);
  EXPECT_THAT(request.SerializeAsString(), Not(HasSubstr("hush")));
  EXPECT_EQ(request.parameters().at("pool"), "shown");
  EXPECT_EQ(request.encryption_key(), "***");
}

TEST(RedactInPlaceTest, GoesIntoRepeatedMessages) {
  volumegroup::CreateVolumeGroupResponse response;
  auto* volume = response.mutable_volume_group()->add_volumes();
  (*volume->mutable_volume_context())["userKey"] = "hush";
  RedactInPlace(response);
  EXPECT_EQ(volume->volume_context().at("userKey"), "***");
}

TEST(LooksSecretTest, GoesByTheEndOfTheName) {
  for (const char* name :
       {"userKey", "KEY", "adminToken", "encryptionPassphrase", "secrets",
        "client_secret", "password", "Credentials"}) {
    EXPECT_TRUE(LooksSecret(name)) << name;
  }
  for (const char* name : {"", "userID", "keys_per_node", "clusterID", "pool",
                           "secretName", "encryptionKMSID"}) {
    EXPECT_FALSE(LooksSecret(name)) << name;
  }
}

TEST(HoldsSecretsTest, SeesOnlySecretsThatAreSet) {
  replication::PromoteVolumeRequest request;
  (*request.mutable_parameters())["a"] = "b";
  EXPECT_FALSE(HoldsSecrets(request));
  (*request.mutable_secrets())["a"] = "b";
  EXPECT_TRUE(HoldsSecrets(request));
}

}  // namespace
}  // namespace addons
