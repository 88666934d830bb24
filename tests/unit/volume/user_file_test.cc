#include "volume/user_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kKey[] = "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";

class UserFileTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) {
    return absl::StrCat(dir_.path(), "/", name);
  }
  absl::StatusOr<CephUserRef> Of(const std::string& text) {
    dir_.Write("user", text);
    return ReadUserFile(Path("user"));
  }
  static void ExpectReader(const absl::StatusOr<CephUserRef>& user) {
    ASSERT_OK(user);
    EXPECT_EQ((*user)->id, "reader");
    EXPECT_EQ((*user)->key.Reveal(), kKey);
  }
  const TempDir dir_;
};

TEST_F(UserFileTest, AFolderOfAMountedSecret) {
  std::filesystem::create_directory(Path("secret"));
  dir_.Write("secret/userID", "reader");
  dir_.Write("secret/userKey", absl::StrCat(kKey, "\n"));
  ExpectReader(ReadUserFile(Path("secret")));
}

TEST_F(UserFileTest, JsonAsForTheCommandLine) {
  ExpectReader(
      Of(absl::StrCat(R"({"userID":"reader","userKey":")", kKey, R"("})")));
}

TEST_F(UserFileTest, AKeyring) {
  ExpectReader(Of(absl::StrCat("# of the watch\n[client.reader]\n\tkey = ",
                               kKey, "\n\tcaps mon = \"profile rbd\"\n")));
}

TEST_F(UserFileTest, WhatHoldsNoUserIsNamedWithoutItsContent) {
  for (const std::string& text :
       {std::string("not a user AQBGK0tl"), std::string("{}"),
        absl::StrCat(R"({"userID":"reader","userKey":7})"),
        absl::StrCat("[client.a]\nkey = ", kKey, "\n[client.b]\nkey = ", kKey),
        absl::StrCat("[osd.1]\nkey = ", kKey),
        std::string(R"({"userID":"reader","userKey":"AQBGK0tl"})"),
        std::string(70000, 'A')}) {
    const auto user = Of(text);
    ASSERT_FALSE(user.ok()) << text;
    EXPECT_THAT(user.status().message(),
                AllOf(HasSubstr(Path("user")), Not(HasSubstr("AQBGK0tl"))));
  }
}

TEST_F(UserFileTest, WhatIsNotThereIsSaid) {
  EXPECT_THAT(ReadUserFile(Path("none")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("No such file")));
  std::filesystem::create_directory(Path("empty"));
  EXPECT_THAT(ReadUserFile(Path("empty")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("empty/userID")));
}

}  // namespace
}  // namespace addons::testing
