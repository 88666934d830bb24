#include "base/parameter_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Status Check(const std::string& key) {
  return CheckParameterKeys({{key, "x"}}, {"pool", "journalPool", "clusterID"});
}

TEST(CheckParameterKeysTest, KnownOnesAndThoseOfOthersAreGood) {
  for (const char* key : {"pool", "journalPool", "clusterID", "imageFeatures",
                          "dataPool", "p", "", "storage.kubernetes.io/x"}) {
    EXPECT_OK(Check(key)) << key;
  }
}

TEST(CheckParameterKeysTest, AMisspeltOneIsNamedWithWhatIsMeant) {
  for (const char* key : {"Pool", "poool", "pol", "poll", "clusterId",
                          "cluster-ID", "journalpool"}) {
    EXPECT_THAT(Check(key),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(key), HasSubstr("meant?"))));
  }
}

TEST(CheckParameterKeysTest, OneKnownKeyMayResembleAnother) {
  EXPECT_OK(
      CheckParameterKeys({{"pool", "x"}, {"pools", "y"}}, {"pool", "pools"}));
}

}  // namespace
}  // namespace addons
