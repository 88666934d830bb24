#include "volume/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "absl/strings/escaping.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A key of no cluster: type 1, 16 bytes of secret.
constexpr char kKey[] = "AQABAAAAAQAAABAAQUFBQUFBQUFBQUFBQUFBQQ==";
// And one of type 2, 32 bytes, from ceph-authtool of 20.2.4.
constexpr char kAes256kKey[] =
    "AgC1wwJrjQXaByAA7nEtzw6bCKDt0clP7CCts7KH+e37zU0phxUiXKWjMOg=";

SecretMap Secrets(const std::map<std::string, std::string>& texts) {
  SecretMap secrets;
  for (const auto& [key, value] : texts) secrets[key] = Secret(value);
  return secrets;
}

absl::StatusOr<CephUserRef> UserWithKey(const std::string& key) {
  return UserFromSecrets(Secrets({{"userID", "csi"}, {"userKey", key}}));
}

/// The refusal of `key`, which must not show it.
::testing::Matcher<const absl::StatusOr<CephUserRef>&> RefusesKey(
    const std::string& key, const std::string& text) {
  return StatusIs(absl::StatusCode::kUnauthenticated,
                  AllOf(HasSubstr("'secrets.userKey'"), HasSubstr(text),
                        Not(HasSubstr(key))));
}

TEST(CredentialsTest, TakesUserAndKey) {
  const auto user =
      UserFromSecrets(Secrets({{"userID", "csi"}, {"userKey", kKey}}));
  ASSERT_OK(user);
  EXPECT_EQ((*user)->id, "csi");
  EXPECT_EQ((*user)->key.Reveal(), kKey);
}

TEST(CredentialsTest, IgnoresOtherSecrets) {
  EXPECT_OK(UserFromSecrets(Secrets({{"userID", "csi"},
                                     {"userKey", kKey},
                                     {"encryptionPassphrase", "words"}})));
}

TEST(CredentialsTest, TrimsLineEndsAndWhiteSpace) {
  const auto user = UserFromSecrets(Secrets(
      {{"userID", "csi\n"}, {"userKey", std::string(" \t") + kKey + "\r\n"}}));
  ASSERT_OK(user);
  EXPECT_EQ((*user)->id, "csi");
  EXPECT_EQ((*user)->key.Reveal(), kKey);
}

TEST(CredentialsTest, RefusesAnEmptyMapNamingBothKeys) {
  EXPECT_THAT(UserFromSecrets({}),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("'secrets.userID'"),
                             HasSubstr("'secrets.userKey'"))));
}

TEST(CredentialsTest, RefusesAMissingUser) {
  EXPECT_THAT(UserFromSecrets(Secrets({{"userKey", kKey}})),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       HasSubstr("'secrets.userID' is missing")));
}

TEST(CredentialsTest, RefusesAMissingKey) {
  EXPECT_THAT(UserFromSecrets(Secrets({{"userID", "csi"}})),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       HasSubstr("'secrets.userKey' is missing")));
}

TEST(CredentialsTest, RefusesAnEmptyUser) {
  EXPECT_THAT(UserFromSecrets(Secrets({{"userID", "\n"}, {"userKey", kKey}})),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       HasSubstr("'secrets.userID' is empty")));
}

TEST(CredentialsTest, RefusesAnEmptyKey) {
  EXPECT_THAT(UserWithKey(" "),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       HasSubstr("'secrets.userKey' is empty")));
}

TEST(CredentialsTest, RefusesTheClientPrefixWithAHint) {
  EXPECT_THAT(
      UserFromSecrets(Secrets({{"userID", "client.csi"}, {"userKey", kKey}})),
      StatusIs(absl::StatusCode::kUnauthenticated,
               AllOf(HasSubstr("'secrets.userID'"), HasSubstr("'client.'"))));
}

TEST(CredentialsTest, RefusesWhiteSpaceInsideTheUser) {
  EXPECT_THAT(
      UserFromSecrets(Secrets({{"userID", "a b"}, {"userKey", kKey}})),
      StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("white space")));
}

TEST(CredentialsTest, RefusesAKeyThatIsNotBase64) {
  for (const std::string key :
       {"AQABAAAAAQAAABAAQUFBQUFBQUFBQUFBQUFB!!==", "AQABAAAAAQAA ABAAQUFB",
        "AQABAAAAAQAAABAAQUFBQUFBQUFBQUFBQUFBQQ=", "====",
        "AQ-_AAAAAQAAABAA"}) {
    EXPECT_THAT(UserWithKey(key), RefusesKey(key, "not base64"));
  }
}

TEST(CredentialsTest, RefusesAKeyringInsteadOfAKey) {
  const std::string keyring = std::string("[client.csi]\n\tkey = ") + kKey;
  EXPECT_THAT(UserWithKey(keyring), RefusesKey(kKey, "not base64"));
}

TEST(CredentialsTest, RefusesAKeyThatWasEncodedTwice) {
  const std::string key = absl::Base64Escape(kKey);
  EXPECT_THAT(UserWithKey(key), RefusesKey(key, "not a valid cephx key"));
}

TEST(CredentialsTest, SaysWhatIsWrongWithAKey) {
  const std::string key = "AQABAAAAAQAAABEAQUFBQUFBQUFBQUFBQUFBQQ==";
  EXPECT_THAT(UserWithKey(key),
              RefusesKey(key,
                         "its length is not the one it announces; it "
                         "should be the output of 'ceph auth get-key"));
}

TEST(CredentialsTest, LeavesItToLibradosWhichKeyTypesWork) {
  EXPECT_OK(UserWithKey(kKey));
  EXPECT_OK(UserWithKey(kAes256kKey));
}

TEST(UserFromSecretsTest, AKeyInPlaceOfTheUserIdIsRefusedUnseen) {
  const std::string key = "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
  SecretMap secrets;
  secrets["userID"] = Secret(key);
  secrets["userKey"] = Secret(key);
  const absl::Status status = UserFromSecrets(secrets).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(std::string(status.message()).find(key), std::string::npos);
}

TEST(CallFingerprintTest, IsEqualForEqualCallsAlone) {
  const CephUser user{"csi", Secret("hush")};
  const std::string print =
      CallFingerprint("promote", user, {{"a", "b"}}, {"c"});
  EXPECT_EQ(CallFingerprint("promote", user, {{"a", "b"}}, {"c"}), print);
  const std::set<std::string> others = {
      CallFingerprint("demote", user, {{"a", "b"}}, {"c"}),
      CallFingerprint("promote", {"csj", Secret("hush")}, {{"a", "b"}}, {"c"}),
      CallFingerprint("promote", {"csi", Secret("hash")}, {{"a", "b"}}, {"c"}),
      CallFingerprint("promote", user, {{"a", "c"}}, {"c"}),
      CallFingerprint("promote", user, {{"a", "b\nc"}}),
      CallFingerprint("promote", user, {{"a", "b=c"}}),
      CallFingerprint("promote", user, {{"a=b", "c"}}),
      CallFingerprint("promote", user, {{"a\"=\"b", "c"}}),
      CallFingerprint("promote", user, {{"a", "b"}}),
      CallFingerprint("promote", user, {}, {"a=b", "c"}),
      CallFingerprint("promote", user, {}, {"a", "b", "c"})};
  EXPECT_EQ(others.size(), 11U);
  EXPECT_FALSE(others.contains(print));
}

TEST(CallFingerprintTest, ShowsNoKey) {
  EXPECT_THAT(CallFingerprint("promote", {"csi", Secret("hush")}, {}),
              Not(HasSubstr("hush")));
}

}  // namespace
}  // namespace addons
