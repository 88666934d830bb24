#include "networkfence/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<FenceParameters> Parse(std::map<std::string, std::string> map) {
  map.emplace("clusterID", "site-a");
  return FenceParameters::Parse(map);
}

TEST(FenceParametersTest, HasCephCsisDefaults) {
  const auto parameters = Parse({{"other", "is ignored"}});
  ASSERT_OK(parameters);
  EXPECT_EQ(parameters->cluster_id, ClusterId("site-a"));
  EXPECT_EQ(parameters->expiry, std::chrono::seconds(157784760));
  EXPECT_FALSE(parameters->allow_service_clients ||
               parameters->remove_contained ||
               parameters->remove_client_entries);
}

TEST(FenceParametersTest, TakesWhatIsGiven) {
  const auto parameters = Parse({{"expirySeconds", "3600"},
                                 {"allowServiceClients", "true"},
                                 {"removeContained", "true"},
                                 {"removeClientEntries", "true"}});
  ASSERT_OK(parameters);
  EXPECT_EQ(parameters->expiry, std::chrono::hours(1));
  EXPECT_TRUE(parameters->allow_service_clients &&
              parameters->remove_contained &&
              parameters->remove_client_entries);
}

TEST(FenceParametersTest, NamesWhatIsWrong) {
  EXPECT_THAT(FenceParameters::Parse({}).status().message(),
              HasSubstr("'clusterID' is missing"));
  EXPECT_THAT(Parse({{"clusterID", ""}}).status().message(),
              HasSubstr("'clusterID' is missing"));
  for (const std::string wrong :
       {"", "0", "59", "-1", "1577847601", "5y", "1e9", "3600.5"}) {
    const auto status = Parse({{"expirySeconds", wrong}}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(status.message(), AllOf(HasSubstr("'expirySeconds'"),
                                        HasSubstr("60 to 1577847600")));
  }
  for (const std::string key :
       {"allowServiceClients", "removeContained", "removeClientEntries"}) {
    EXPECT_THAT(Parse({{key, "maybe"}}).status().message(),
                AllOf(HasSubstr(key), HasSubstr("'maybe'")));
  }
}

TEST(FenceRangesTest, AllWrongOnesAreNamedAtOnce) {
  EXPECT_THAT(
      ParseRanges({"10.0.0.0/24", "node", "10.0.0.0/40"}).status().message(),
      AllOf(HasSubstr("'node'"), HasSubstr("'10.0.0.0/40'")));
  EXPECT_EQ(ParseRanges({}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(JoinRanges(*ParseRanges({"10.0.0.9/24", "10.0.0.0/24"})),
            "10.0.0.0/24");
}

TEST(FenceRangesTest, AddressesThatNoNodeHasAreRefused) {
  for (const std::string text :
       {"0.0.0.0", "0.0.0.0/32", "0.0.0.7/8", "224.0.0.1", "239.1.2.0/24",
        "255.255.255.255", "::", "::/128", "::ffff:0.0.0.0", "ff02::1",
        "ff00::/8"}) {
    EXPECT_THAT(CheckNodesCanHave(*ParseRanges({"10.0.0.1", text})),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("no node has such an address"),
                               Not(HasSubstr("10.0.0.1")))))
        << text;
  }
  for (const std::string text :
       {"1.0.0.0/8", "10.0.0.255", "127.0.0.1", "223.255.255.255", "240.0.0.1",
        "255.255.255.0/24", "::1", "fe80::1", "fd00::/32"}) {
    EXPECT_OK(CheckNodesCanHave(*ParseRanges({text}))) << text;
  }
}

TEST(FenceRangesTest, WideOnesAreRefused) {
  const FenceOptions options;
  EXPECT_OK(CheckWidth(*ParseRanges({"10.0.0.0/8", "fd00::/32"}), options));
  EXPECT_THAT(
      CheckWidth(*ParseRanges({"10.0.0.0/7", "10.0.0.0/8", "fd00::/31"}),
                 options)
          .message(),
      AllOf(HasSubstr("10.0.0.0/7, fd00::/31"),
            HasSubstr("--fence-shortest-mask-ipv4")));
}

}  // namespace
}  // namespace addons
