#include "ceph/librados/lock_encoding.h"

#include <gtest/gtest.h>

#include "absl/strings/escaping.h"

namespace addons {
namespace {

// cls_lock_assert_op, version 1: name, type,
// cookie and tag, each text with its length.
TEST(LockEncodingTest, IsVersionOneOfTheAssertion) {
  EXPECT_EQ(absl::BytesToHexString(EncodeAssertLocked({"object", "nm", "ck"})),
            "0101"
            "11000000"
            "02000000"
            "6e6d"
            "01"
            "02000000"
            "636b"
            "00000000");
}

// cls_lock_lock_op, version 1: name, type, cookie, tag and description, seconds
// and nanoseconds, flags.
TEST(LockEncodingTest, IsVersionOneOfTheLock) {
  EXPECT_EQ(absl::BytesToHexString(
                EncodeLock({"object", "nm", "ck"}, std::chrono::seconds(300))),
            "0101"
            "1e000000"
            "02000000"
            "6e6d"
            "01"
            "02000000"
            "636b"
            "00000000"
            "00000000"
            "2c010000"
            "00000000"
            "00");
}

TEST(LockEncodingTest, LengthsAreLittleEndian) {
  const std::string encoded =
      EncodeAssertLocked({"object", "", std::string(0x1234, 'c')});
  EXPECT_EQ(absl::BytesToHexString(encoded.substr(0, 15)),
            "0101"
            "41120000"
            "00000000"
            "01"
            "34120000");
  EXPECT_EQ(encoded.size(), 6U + 4 + 1 + 4 + 0x1234 + 4);
}

}  // namespace
}  // namespace addons
