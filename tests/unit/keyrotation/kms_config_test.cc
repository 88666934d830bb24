#include "keyrotation/kms_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

class KmsConfigTest : public ::testing::Test {
 protected:
  absl::StatusOr<KmsKind> Read(const std::string& id) const {
    return ReadKmsKind(dir_.path(), id);
  }
  void ExpectRefused(const std::string& id, const std::string& why) const {
    EXPECT_THAT(Read(id), StatusIs(kRefused, AllOf(HasSubstr("'" + id + "'"),
                                                   HasSubstr(why),
                                                   HasSubstr("nothing was"))))
        << id;
  }
  const TempDir dir_;
};

TEST_F(KmsConfigTest, TheSecretAloneNeedsNoConfiguration) {
  EXPECT_EQ(Read("default").value(), KmsKind::kSecret);
}

TEST_F(KmsConfigTest, ConfigJsonSaysWhatAKmsIs) {
  dir_.Write("config.json", R"({
    "a": {"encryptionKMSType": "metadata"},
    "b": {"KMS_PROVIDER": "metadata"},
    "c": {"encryptionKMSType": "default"},
    "vault": {"encryptionKMSType": "vault", "vaultAddress": "x"},
    "tokens": {"KMS_PROVIDER": "vaulttokens"},
    "tenant": {"encryptionKMSType": "metadata", "secretName": "theirs"},
    "none": {"x": 1},
    "text": "metadata"})");
  EXPECT_EQ(Read("a").value(), KmsKind::kMetadata);
  EXPECT_EQ(Read("b").value(), KmsKind::kMetadata);
  EXPECT_EQ(Read("c").value(), KmsKind::kSecret);
  ExpectRefused("vault", "of type 'vault'");
  ExpectRefused("tokens", "of type 'vaulttokens'");
  ExpectRefused("tenant", "Secret 'theirs'");
  ExpectRefused("none", "neither encryptionKMSType nor KMS_PROVIDER");
  ExpectRefused("text", "is not in");
  ExpectRefused("absent", "is not in");
}

TEST_F(KmsConfigTest, AFileForEachKmsDoesAsWell) {
  dir_.Write("a", R"({"encryptionKMSType": "metadata"})");
  dir_.Write("b", "x");
  EXPECT_EQ(Read("a").value(), KmsKind::kMetadata);
  ExpectRefused("b", "is no JSON object");
  ExpectRefused("c", "config.json");
}

TEST_F(KmsConfigTest, AnIdIsNoPath) {
  std::filesystem::create_directory(dir_.File("kms"));
  dir_.Write("outside", R"({"encryptionKMSType": "metadata"})");
  for (const char* id : {"../outside", "..", "/etc/passwd"}) {
    EXPECT_THAT(ReadKmsKind(dir_.File("kms"), id), StatusIs(kRefused)) << id;
  }
}

TEST_F(KmsConfigTest, WhatCannotBeReadIsSaid) {
  dir_.Write("config.json", "{");
  ExpectRefused("a", "is no JSON object");
}

}  // namespace
}  // namespace addons::testing
