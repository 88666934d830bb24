#include "reclaimspace/reclaim_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ReclaimParametersTest, WithoutKeysItIsTheSmallestSizeAndNoSnapshots) {
  const auto parameters = ReclaimParameters::Parse({});
  ASSERT_OK(parameters);
  EXPECT_EQ(parameters->sparse_bytes, 4096U);
  EXPECT_EQ(parameters->with_snapshots, WithSnapshots::kNo);
}

TEST(ReclaimParametersTest, TheAttributesOfAVolumeAreIgnored) {
  EXPECT_OK(ReclaimParameters::Parse(
      {{"clusterID", "site-a"},
       {"imageFeatures", "layering"},
       {"journalPool", "replicapool"},
       {"pool", "replicapool"},
       {"storage.kubernetes.io/csiProvisionerIdentity", "1-2-rbd"}}));
}

TEST(ReclaimParametersTest, AMisspelledKeyIsRefused) {
  EXPECT_THAT(ReclaimParameters::Parse({{"sparsesize", "65536"}}),
              StatusIs(kInvalid, AllOf(HasSubstr("'sparsesize' is not known"),
                                       HasSubstr("'sparseSize'"))));
}

TEST(ReclaimParametersTest, SizesHaveUnitsOfKubernetes) {
  for (const auto& [text, bytes] :
       std::map<std::string, uint64_t>{{"4096", 4096},
                                       {"65536", 65536},
                                       {"64Ki", 65536},
                                       {"4Mi", 4194304},
                                       {"32Mi", 33554432}}) {
    const auto parameters = ReclaimParameters::Parse({{"sparseSize", text}});
    ASSERT_OK(parameters) << text;
    EXPECT_EQ(parameters->sparse_bytes, bytes) << text;
  }
}

TEST(ReclaimParametersTest, OtherSizesAreRefusedByName) {
  for (const std::string text :
       {"", "0", "2048", "5000", "12Ki", "64Mi", "-4096", "+4096", " 4096",
        "4096 ", "4096.0", "4k", "Ki", "99999999999999999999",
        "18446744073709551615Ki",
        // 2^64 and 4096 bytes.
        "18014398509481988Ki"}) {
    EXPECT_THAT(ReclaimParameters::Parse({{"sparseSize", text}}),
                StatusIs(kInvalid, AllOf(HasSubstr("'sparseSize'"),
                                         HasSubstr("power of two"))))
        << text;
  }
}

TEST(ReclaimParametersTest, SnapshotsNeedATrueValue) {
  const auto on = ReclaimParameters::Parse({{"withSnapshots", "true"}});
  ASSERT_OK(on);
  EXPECT_EQ(on->with_snapshots, WithSnapshots::kYes);
  const auto off = ReclaimParameters::Parse({{"withSnapshots", "false"}});
  ASSERT_OK(off);
  EXPECT_EQ(off->with_snapshots, WithSnapshots::kNo);
  EXPECT_THAT(ReclaimParameters::Parse({{"withSnapshots", "maybe"}}),
              StatusIs(kInvalid, HasSubstr("'withSnapshots' is 'maybe'")));
}

TEST(ReclaimParametersTest, TheSizeFitsTheImagesObjects) {
  ReclaimParameters parameters;
  parameters.sparse_bytes = 65536;
  EXPECT_OK(parameters.CheckObjectSize(65536));
  EXPECT_THAT(parameters.CheckObjectSize(32768),
              StatusIs(kInvalid, AllOf(HasSubstr("'sparseSize' is '65536'"),
                                       HasSubstr("32768"))));
}

}  // namespace
}  // namespace addons
