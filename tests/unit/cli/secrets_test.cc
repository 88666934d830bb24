#include "cli/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

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
