#include "keyrotation/passphrase_wrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"
#include "base/json.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Ne;

constexpr char kId[] =
    "0001-0009-rook-ceph-0000000000000001-"
    "5ef79ce1-81e8-439b-8405-35138edf5b89";
constexpr char kSecret[] = "test_passphrase";
constexpr char kPassphrase[] = "cJ4jWz8dM0Kp5Qv-n1TtqL_7Xy0=";
/// Made by another implementation (Python's hashlib and cryptography), with the
/// nonce 00 01 ... 0b.
constexpr char kWrapped[] =
    R"({"dek":"k8LDDNkwpiUedxYeg2GrB5z3XxY7u7Sl0gwWl+AoKQ4TqUQUfs+l/v8euyM=",)"
    R"("nonce":"AAECAwQFBgcICQoL"})";
constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

PassphraseWrap Wrap(const char* secret = kSecret, const char* id = kId) {
  return *PassphraseWrap::Derive(Secret(secret), id);
}

TEST(PassphraseWrapTest, ReadsWhatAnotherImplementationWrote) {
  const auto passphrase = Wrap().Unwrap(kWrapped);
  ASSERT_OK(passphrase);
  EXPECT_EQ(passphrase->Reveal(), kPassphrase);
}

TEST(PassphraseWrapTest, WritesTheSameFormWithAnotherNonceEachTime) {
  const auto text = Wrap().Wrap(Secret(kPassphrase));
  ASSERT_OK(text);
  EXPECT_THAT(*text, MatchesRegex(R"(\{"dek":"[A-Za-z0-9+/]+=*",)"
                                  R"("nonce":"[A-Za-z0-9+/]{16}"\})"));
  EXPECT_EQ(text->size(), std::string(kWrapped).size());
  const auto back = Wrap().Unwrap(*text);
  ASSERT_OK(back);
  EXPECT_EQ(back->Reveal(), kPassphrase);
  EXPECT_THAT(Wrap().Wrap(Secret(kPassphrase)).value(), Ne(*text));
}

TEST(PassphraseWrapTest, AnotherSecretOrVolumeIsRefused) {
  for (const PassphraseWrap& wrap :
       {Wrap("test_passphrase\n"), Wrap(kSecret, "another id")}) {
    EXPECT_THAT(wrap.Unwrap(kWrapped),
                StatusIs(kRefused, HasSubstr("does not decrypt")));
  }
}

TEST(PassphraseWrapTest, WhatIsWrittenInAnotherWayIsRefused) {
  for (const char* text :
       {"", "x", "[]", "{}", R"({"dek":"AAAA"})", R"({"dek":1,"nonce":2})",
        R"({"dek":"!","nonce":"AAECAwQFBgcICQoL"})"}) {
    EXPECT_THAT(Wrap().Unwrap(text),
                StatusIs(kRefused, HasSubstr("is not written as")))
        << text;
  }
  for (const char* text : {R"({"dek":"AAAA","nonce":"AAECAwQFBgcICQoL"})",
                           R"({"dek":"","nonce":""})"}) {
    EXPECT_THAT(Wrap().Unwrap(text),
                StatusIs(kRefused, HasSubstr("does not decrypt")))
        << text;
  }
}

TEST(PassphraseWrapTest, EachFlippedBitIsSeen) {
  auto json = ParseJson(kWrapped);
  std::string sealed;
  ASSERT_TRUE(absl::Base64Unescape(json["dek"].get<std::string>(), &sealed));
  for (char& byte : sealed) {
    byte = static_cast<char>(byte ^ 1);
    json["dek"] = absl::Base64Escape(sealed);
    EXPECT_THAT(Wrap().Unwrap(JsonText(json)), StatusIs(kRefused));
    byte = static_cast<char>(byte ^ 1);
  }
}

TEST(NewPassphraseTest, IsAsCephCsiMakesThem) {
  const auto one = NewPassphrase();
  const auto other = NewPassphrase();
  ASSERT_OK(one);
  ASSERT_OK(other);
  EXPECT_THAT(one->Reveal(), MatchesRegex("[A-Za-z0-9_-]{27}="));
  EXPECT_NE(one->Reveal(), other->Reveal());
}

}  // namespace
}  // namespace addons::testing
