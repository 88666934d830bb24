#include "volume/operation_key.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace addons {
namespace {

TEST(OperationKeyTest, HasTheLengthOfTheClusterIdInItsText) {
  const OperationKey key{ClusterId("site-a"), 2, "tenant1", "uuid"};
  EXPECT_EQ(key.ToString(), "6:site-a/2/tenant1/uuid");
  EXPECT_EQ((OperationKey{ClusterId("site-a"), 2, "", "uuid"}).ToString(),
            "6:site-a/2//uuid");
}

TEST(OperationKeyTest, DifferentKeysHaveDifferentTexts) {
  const std::vector<OperationKey> keys = {
      {ClusterId("a"), 2, "", "uuid"},      {ClusterId("a"), 2, "n", "uuid"},
      {ClusterId("a"), 2, "", "other"},     {ClusterId("a"), 3, "", "uuid"},
      {ClusterId("a/2"), 2, "", "uuid"},    {ClusterId("a/2/"), 2, "", "uuid"},
      {ClusterId("a"), 2, "2/n", "uuid"},   {ClusterId("a/2"), 2, "n", "uuid"},
      {ClusterId("1:a"), 2, "", "uuid"},    {ClusterId(""), 2, "", "uuid"},
      {ClusterId("a/2/2"), 2, "n", "uuid"},
  };
  std::set<OperationKey> different(keys.begin(), keys.end());
  std::set<std::string> texts;
  for (const OperationKey& key : keys) texts.insert(key.ToString());
  EXPECT_EQ(different.size(), keys.size());
  EXPECT_EQ(texts.size(), keys.size());
}

}  // namespace
}  // namespace addons
