#include "rpc/secrets.h"

#include <gtest/gtest.h>

namespace addons {
namespace {

TEST(TakeSecretsTest, TakesEveryEntry) {
  google::protobuf::Map<std::string, std::string> request;
  request["userID"] = "admin";
  request["userKey"] = "hush";
  const std::map<std::string, Secret> secrets = TakeSecrets(request);
  ASSERT_EQ(secrets.size(), 2U);
  EXPECT_EQ(secrets.at("userID").Reveal(), "admin");
  EXPECT_EQ(secrets.at("userKey").Reveal(), "hush");
}

TEST(TakeSecretsTest, TakesNothingFromNothing) {
  EXPECT_TRUE(TakeSecrets({}).empty());
}

}  // namespace
}  // namespace addons
