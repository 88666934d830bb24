#include "cli/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <map>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kKeyring[] =
    "# of two users\n"
    "[client.first]\n"
    "\tkey = AQAAfirst==\n"
    "\tcaps mon = \"profile rbd\"\n"
    "[client.second]\n"
    "  key=AQAAsecond==  \n"
    "[client.none]\n";

TEST(KeyOfUserTest, FindsTheKeyOfTheUser) {
  EXPECT_EQ(KeyOfUser(kKeyring, "first").value_or(""), "AQAAfirst==");
  EXPECT_EQ(KeyOfUser(kKeyring, "second").value_or(""), "AQAAsecond==");
  for (const char* name : {"none", "firs", "third", ""}) {
    EXPECT_THAT(KeyOfUser(kKeyring, name),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr(name)));
  }
}

class ReadSecretsTest : public ::testing::Test {
 protected:
  void SetUp() override { Forget(); }
  void TearDown() override { Forget(); }
  static void Forget() {
    for (const char* name :
         {kUserIdVariable, kUserKeyVariable, kSecretsFileVariable}) {
      unsetenv(name);  // NOLINT(concurrency-mt-unsafe)
    }
  }
  static void Set(const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }

  const testing::TempDir dir_;
  SecretsSource source_;
};

TEST_F(ReadSecretsTest, AFileIsTakenAsItIs) {
  dir_.Write("secrets.json", "{}");
  source_.file = dir_.File("secrets.json");
  EXPECT_EQ(ReadSecrets(source_).value_or(""), "{}");
}

// One line with the system's own words; reading a folder ended the process.
TEST_F(ReadSecretsTest, WhatCannotBeReadIsSaidWithTheReason) {
  source_.file = dir_.File("");
  EXPECT_THAT(ReadSecrets(source_), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("': Is a directory")));
  source_.file = dir_.File("missing");
  EXPECT_THAT(ReadSecrets(source_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("missing': No such file or directory")));
  source_.file.clear();
  source_.ceph_user = "first";
  source_.keyring = dir_.File("");
  EXPECT_THAT(ReadSecrets(source_), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("': Is a directory")));
}

TEST_F(ReadSecretsTest, AKeyringGivesUserAndKey) {
  dir_.Write("keyring", kKeyring);
  source_.ceph_user = "client.second";
  source_.keyring = dir_.File("keyring");
  EXPECT_EQ(ReadSecrets(source_).value_or(""),
            R"({"userID":"second","userKey":"AQAAsecond=="})");
  source_.ceph_user = "none";
  EXPECT_THAT(
      ReadSecrets(source_),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr(dir_.File("keyring")), HasSubstr("client.none"),
                     Not(HasSubstr("AQAA")))));
}

TEST_F(ReadSecretsTest, AKeyringStandsWhereCephHasIt) {
  source_.ceph_user = "nobody-has-this-name";
  EXPECT_THAT(
      ReadSecrets(source_),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          HasSubstr("'/etc/ceph/ceph.client.nobody-has-this-name.keyring'")));
}

TEST_F(ReadSecretsTest, TheEnvironmentSpeaksWhereNoOptionDoes) {
  dir_.Write("of-the-environment", "{1}");
  dir_.Write("of-the-option", "{2}");
  Set(kSecretsFileVariable, dir_.File("of-the-environment"));
  EXPECT_EQ(ReadSecrets(source_).value_or(""), "{1}");
  Set(kUserIdVariable, "admin");
  EXPECT_THAT(ReadSecrets(source_), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr(kUserKeyVariable)));
  Set(kUserKeyVariable, "hush");
  EXPECT_EQ(ReadSecrets(source_).value_or(""),
            R"({"userID":"admin","userKey":"hush"})");
  source_.environment = false;
  EXPECT_FALSE(ReadSecrets(source_).ok());
  source_.environment = true;
  source_.file = dir_.File("of-the-option");
  EXPECT_EQ(ReadSecrets(source_).value_or(""), "{2}");
}

TEST_F(ReadSecretsTest, NoneAreAnErrorWhereTheyAreRequired) {
  EXPECT_THAT(ReadSecrets(source_), StatusIs(absl::StatusCode::kInvalidArgument,
                                             AllOf(HasSubstr("--secrets-file"),
                                                   HasSubstr("--ceph-user"))));
  source_.required = false;
  EXPECT_EQ(ReadSecrets(source_).value_or("error"), "");
}

// The value of userKey is "hush".
constexpr char kSecret[] = R"({
  "apiVersion": "v1",
  "kind": "Secret",
  "metadata": {"name": "rook-csi-rbd-provisioner", "labels": {"a": "{\"}"}},
  "type": "kubernetes.io/rook",
  "data": {"userID": "cmJk", "userKey": "aHVzaA=="}
})";

TEST_F(ReadSecretsTest, ASecretOfKubernetesIsItsData) {
  constexpr char kData[] = R"({"userID":"rbd","userKey":"hush"})";
  dir_.Write("secret.json", kSecret);
  source_.file = dir_.File("secret.json");
  EXPECT_EQ(ReadSecrets(source_).value_or(""), kData);
  source_.file.clear();
  Set(kSecretsFileVariable, dir_.File("secret.json"));
  EXPECT_EQ(ReadSecrets(source_).value_or(""), kData);
}

TEST_F(ReadSecretsTest, ASecretThatIsNoneIsRefusedWithoutItsValues) {
  source_.file = dir_.File("secret.json");
  dir_.Write("secret.json", R"({"kind": "Secret", "stringData": {"a": "b"}})");
  EXPECT_THAT(ReadSecrets(source_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the Secret has no data")));
  dir_.Write("secret.json", R"({"kind": "Secret", "data": {"key": "hu!sh"}})");
  EXPECT_THAT(ReadSecrets(source_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'key'"), Not(HasSubstr("hu!sh")))));
}

TEST_F(ReadSecretsTest, StandardInputIsReadOnceAndNoFurther) {
  std::istringstream in(absl::StrCat("\n", kSecret, " \r\nyes\n"));
  source_.file = kStandardInput;
  EXPECT_OK(TakeSecretsFrom(in, source_));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ReadSecrets(source_).value_or(""),
              R"({"userID":"rbd","userKey":"hush"})");
  }
  std::string left{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(left, "yes\n");
}

TEST_F(ReadSecretsTest, OfAFileNothingIsTakenFromStandardInput) {
  std::istringstream in(kSecret);
  source_.file = dir_.File("secret.json");
  EXPECT_OK(TakeSecretsFrom(in, source_));
  EXPECT_EQ(in.tellg(), 0);
}

TEST_F(ReadSecretsTest, StandardInputThatIsNoObjectIsRefusedWithoutItsText) {
  source_.file = kStandardInput;
  for (const auto& [text, why] : std::map<std::string, const char*>{
           {"", "it is empty"},
           {" \n", "it is empty"},
           {"hush", "begins with something else"},
           {R"({"userKey": "hush}")", "ends before the object does"},
           {"{} hush\n", "something follows the object"},
           {"{" + std::string(size_t{5} << 20, ' ') + "}", "4 MiB"}}) {
    std::istringstream in(text);
    EXPECT_THAT(TakeSecretsFrom(in, source_),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(why), HasSubstr("--secrets-file -"),
                               Not(HasSubstr("hush")))));
  }
}

TEST(OptionsForTest, NamesNoKey) {
  SecretsSource source;
  EXPECT_EQ(OptionsFor(source), "--secrets-file SECRETS-FILE");
  source.ceph_user = "rbd";
  EXPECT_EQ(OptionsFor(source), "--ceph-user rbd");
  source.keyring = "/k";
  EXPECT_EQ(OptionsFor(source), "--ceph-user rbd --keyring /k");
  source.file = "/f";
  EXPECT_EQ(OptionsFor(source), "--secrets-file /f");
}

}  // namespace
}  // namespace addons
