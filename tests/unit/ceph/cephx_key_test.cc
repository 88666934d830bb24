#include "ceph/librados/cephx_key.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"

namespace addons {
namespace {

std::string Key(char type, size_t stated, size_t real) {
  std::string bytes(12, '\0');
  bytes[0] = type;
  bytes[10] = static_cast<char>(stated);
  return absl::Base64Escape(bytes + std::string(real, 'k'));
}

TEST(CephxKeyShapeTest, TakesAKeyAsCephWritesIt) {
  EXPECT_TRUE(HasCephxKeyShape("AQAAAAAAAAAAABAAQqx5/c/ziOZWPQA5TvJz6w=="));
}

TEST(CephxKeyShapeTest, TakesLongerKeysOfOtherTypes) {
  EXPECT_TRUE(HasCephxKeyShape(Key(2, 32, 32)));
}

TEST(CephxKeyShapeTest, RefusesTextThatIsNotBase64) {
  EXPECT_FALSE(HasCephxKeyShape(""));
  EXPECT_FALSE(HasCephxKeyShape("not a key"));
  EXPECT_FALSE(HasCephxKeyShape("AQAAAAAAAAAAABAA*qx5/c/ziOZWPQA5TvJz6w=="));
}

TEST(CephxKeyShapeTest, RefusesWhiteSpaceAndMissingPadding) {
  EXPECT_FALSE(HasCephxKeyShape("AQAAAAAAAAAAABAAQqx5/c/ziOZWPQA5TvJz6w"));
  EXPECT_FALSE(HasCephxKeyShape("AQAAAAAAAAAAABAAQqx5/c/ziOZWPQA5TvJz6w==\n"));
}

TEST(CephxKeyShapeTest, RefusesALengthThatIsNotTheRest) {
  EXPECT_FALSE(HasCephxKeyShape(Key(1, 16, 15)));
  EXPECT_FALSE(HasCephxKeyShape(Key(1, 16, 17)));
}

TEST(CephxKeyShapeTest, RefusesAnAesKeyOfAnotherSize) {
  EXPECT_FALSE(HasCephxKeyShape(Key(1, 15, 15)));
  EXPECT_FALSE(HasCephxKeyShape(Key(1, 32, 32)));
}

TEST(CephxKeyShapeTest, RefusesTypeNone) {
  EXPECT_FALSE(HasCephxKeyShape(Key(0, 16, 16)));
}

TEST(CephxKeyShapeTest, RefusesAHeaderWithoutAKey) {
  EXPECT_FALSE(HasCephxKeyShape(Key(2, 0, 0)));
}

}  // namespace
}  // namespace addons
