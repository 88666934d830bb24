// Keys in texts that leave the site.

#include "cli/hide_keys.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace addons::testing {
namespace {

constexpr char kKeyOfCeph[] = "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";

std::string Hidden(const std::string& text) { return KeyHider({}).Hide(text); }

TEST(HideKeysTest, AKeyThatIsKnownIsHiddenWhateverItsForm) {
  const std::string key = "not-of-ceph-but-a-key";
  const KeyHider hider({key});
  EXPECT_EQ(hider.Hide(absl::StrCat("key=", key, ", base64 ",
                                    absl::Base64Escape(key), "\n")),
            "key=***, base64 ***\n");
}

// It would be in every other word.
TEST(HideKeysTest, WhatIsTooShortForAKeyIsLeftAlone) {
  EXPECT_EQ(KeyHider({"key", ""}).Hide("a key=key"), "a key=key");
}

TEST(HideKeysTest, AKeyOfCephIsHiddenAlsoWhereItIsNotKnown) {
  EXPECT_EQ(Hidden(kKeyOfCeph), "***");
  EXPECT_EQ(Hidden(absl::StrCat("\tkey = ", kKeyOfCeph, "\n")),
            "\tkey = ***\n");
  EXPECT_EQ(Hidden(absl::StrCat("key=", kKeyOfCeph, ".")), "key=***.");
  EXPECT_EQ(Hidden(absl::StrCat("x=key=", kKeyOfCeph, " ")), "x=key=*** ");
  EXPECT_EQ(Hidden(absl::StrCat(R"("one\n)", kKeyOfCeph, R"(\n")")),
            R"("one\n***\n")");
  EXPECT_EQ(Hidden(absl::StrCat("\"", absl::Base64Escape(kKeyOfCeph), "\"")),
            "\"***\"");
  // Of the newer type, whose keys are longer.
  std::string newer("\x02\0\0\0\0\0\0\0\0\0\x20\0", 12);
  newer.append(32, 'k');
  EXPECT_EQ(Hidden(absl::Base64Escape(newer)), "***");
}

TEST(HideKeysTest, WhatIsNoKeyStaysAsItIs) {
  for (const std::string text :
       {"", "=", "a=b==c", "csi-vol-5ef79ce1-81e8-439b-8405-35138edf5b89",
        "0123456789abcdef0123456789abcdef01234567",
        "rbd_addons_calls_total{method=\"x\"} 1\n",
        "/var/lib/kubelet/plugins/rbd.csi.ceph.com/csi-addons.sock\n"}) {
    EXPECT_EQ(Hidden(text), text);
  }
}

}  // namespace
}  // namespace addons::testing
