#include "ceph/librados/key_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "ceph/cephx_key.h"

namespace addons {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST(LibradosVersionTest, IsThatOfARelease) {
  EXPECT_THAT(LibradosVersion(), MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+.*"));
}

TEST(UnusableKeyTypeTest, NamesTheVersionTheTypeAndWhatHelps) {
  EXPECT_THAT(UnusableKeyType(-EINVAL, kCephxAes256k, "16.2.15"),
              AllOf(HasSubstr("librados 16.2.15"), HasSubstr("type 2"),
                    HasSubstr("19.2.6, 20.2.4 or newer can")));
}

TEST(UnusableKeyTypeTest, KnowsSinceWhenLibradosCanUseThem) {
  for (const char* old : {"16.2.15", "18.2.7", "19.2.5", "20.1.0", "20.2.3",
                          "19.2.5-12-gabcdef0"}) {
    EXPECT_THAT(UnusableKeyType(-EINVAL, kCephxAes256k, old), Not(IsEmpty()))
        << old;
  }
  for (const char* able : {"19.2.6", "19.2.10", "20.2.4", "20.3.0", "21.0.0"}) {
    EXPECT_THAT(UnusableKeyType(-EINVAL, kCephxAes256k, able), IsEmpty())
        << able;
  }
}

TEST(UnusableKeyTypeTest, BlamesTheTypeOnlyWhenItIsTheCause) {
  EXPECT_THAT(UnusableKeyType(-ETIMEDOUT, kCephxAes256k, "16.2.15"), IsEmpty());
  EXPECT_THAT(UnusableKeyType(-EACCES, kCephxAes256k, "16.2.15"), IsEmpty());
  EXPECT_THAT(UnusableKeyType(-EINVAL, kCephxAes, "16.2.15"), IsEmpty());
  EXPECT_THAT(UnusableKeyType(-EINVAL, 3, "16.2.15"), IsEmpty());
  EXPECT_THAT(UnusableKeyType(-EINVAL, kCephxAes256k, ""), IsEmpty());
  EXPECT_THAT(UnusableKeyType(-EINVAL, kCephxAes256k, "main"), IsEmpty());
}

}  // namespace
}  // namespace addons
