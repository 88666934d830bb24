#include "ceph/cephx_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "absl/strings/escaping.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string KeyOf(unsigned type, size_t announced, size_t length) {
  std::string bytes(10, '\2');
  bytes[0] = static_cast<char>(type % 256);
  bytes[1] = static_cast<char>(type / 256);
  bytes += static_cast<char>(announced % 256);
  bytes += static_cast<char>(announced / 256);
  bytes += std::string(length, 'S');
  return absl::Base64Escape(bytes);
}

::testing::Matcher<const absl::StatusOr<unsigned>&> Refuses(
    const std::string& key, const std::string& why) {
  return StatusIs(absl::StatusCode::kInvalidArgument,
                  AllOf(HasSubstr(why), Not(HasSubstr(key))));
}

// As ceph-authtool of 16.2.15 prints it: type 1, 2026-11-22, 16 bytes.
TEST(CephxKeyTest, ReadsAKeyAsOldReleasesMakeIt) {
  EXPECT_EQ(
      CephxKeyType("AQCpRwJr7kSMMhAAy5MPqzt9h5RxqJFJOgsfPg==").value_or(0),
      kCephxAes);
}

// As ceph-authtool of 20.2.4 prints it: type 2, 32 bytes.
TEST(CephxKeyTest, ReadsAKeyAsNewReleasesMakeIt) {
  EXPECT_EQ(CephxKeyType("AgC1wwJrjQXaByAA7nEtzw6bCKDt0clP7CCts7KH+e37zU0phxUi"
                         "XKWjMOg=")
                .value_or(0),
            kCephxAes256k);
}

TEST(CephxKeyTest, LeavesTypesThatItDoesNotKnowToLibrados) {
  EXPECT_EQ(CephxKeyType(KeyOf(3, 64, 64)).value_or(0), 3U);
  EXPECT_EQ(CephxKeyType(KeyOf(258, 8, 8)).value_or(0), 258U);
}

TEST(CephxKeyTest, ReadsALengthOfTwoBytes) {
  EXPECT_EQ(CephxKeyType(KeyOf(1, 300, 300)).value_or(0), kCephxAes);
}

TEST(CephxKeyTest, RefusesTextThatIsNotBase64) {
  for (const std::string text : {"not a key", "====", "AQ-_AAAAAQAAABAA",
                                 "AQABAAAAAQAAABAAQUFBQUFBQUFBQUFBQUFB!!=="}) {
    EXPECT_THAT(CephxKeyType(text), Refuses(text, "not base64"));
  }
  EXPECT_THAT(CephxKeyType(""), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(CephxKeyTest, RefusesWhiteSpaceAndMissingPadding) {
  for (const std::string text : {"AQAAAAAAAAAAABAAQqx5/c/ziOZWPQA5TvJz6w",
                                 "AQAAAAAAAAAAABAAQqx5/c/ziOZWPQA5TvJz6w=",
                                 "AQAAAAAAAAAAABAAQqx5/c/ziOZWPQA5TvJz6w==\n",
                                 "AQAAAAAAAAAA BAAQqx5/c/ziOZWPQA5TvJz6w=="}) {
    EXPECT_THAT(CephxKeyType(text), Refuses(text, "not base64"));
  }
}

TEST(CephxKeyTest, RefusesALengthThatIsNotTheRest) {
  for (const size_t announced : {15U, 17U, 272U}) {
    const std::string key = KeyOf(1, announced, 16);
    EXPECT_THAT(CephxKeyType(key), Refuses(key, "length"));
  }
}

TEST(CephxKeyTest, RefusesAHeaderWithoutAKey) {
  for (const std::string& key : {KeyOf(1, 0, 0), KeyOf(2, 0, 0)}) {
    EXPECT_THAT(CephxKeyType(key), Refuses(key, "too short"));
  }
}

TEST(CephxKeyTest, RefusesASecretThatIsTooShortForItsCipher) {
  for (const std::string& key : {KeyOf(1, 15, 15), KeyOf(2, 31, 31)}) {
    EXPECT_THAT(CephxKeyType(key), Refuses(key, "too short"));
  }
}

TEST(CephxKeyTest, RefusesAKeyThatWasEncodedTwice) {
  const std::string key = absl::Base64Escape(KeyOf(1, 16, 16));
  EXPECT_THAT(CephxKeyType(key), Refuses(key, "length"));
}

TEST(CephxKeyTest, RefusesTypeNone) {
  const std::string key = KeyOf(0, 16, 16);
  EXPECT_THAT(CephxKeyType(key), Refuses(key, "type"));
}

TEST(CephxKeyTest, RefusesATextOfAnInsaneLength) {
  const std::string key = KeyOf(1, 2000, 2000);
  EXPECT_THAT(CephxKeyType(key), Refuses(key, "too long"));
}

}  // namespace
}  // namespace addons
