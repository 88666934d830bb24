#include "ceph/librados/monitor_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

SteadyTime Soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(20);
}

class MonHostTest : public ::testing::Test {
 protected:
  HostResolver resolver_{[](const std::string& host) {
    return host == "monitors"
               ? std::vector<std::string>{"10.0.0.7", "[fd00::7]"}
               : std::vector<std::string>();
  }};
};

TEST_F(MonHostTest, JoinsAddresses) {
  const auto host = MonHost(resolver_, {"10.0.0.1:6789", "10.0.0.2"}, Soon());
  ASSERT_OK(host);
  EXPECT_EQ(*host, "10.0.0.1:6789,10.0.0.2");
}

class MonHostLiteralTest : public MonHostTest,
                           public ::testing::WithParamInterface<const char*> {};

TEST_P(MonHostLiteralTest, LeavesAddressesAsTheyAre) {
  const auto host = MonHost(resolver_, {GetParam()}, SteadyTime());
  ASSERT_OK(host);
  EXPECT_EQ(*host, GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    All, MonHostLiteralTest,
    ::testing::Values("10.0.0.1", "10.0.0.1:6789", "10.0.0.1:6789/0",
                      "v1:10.0.0.1:6789", "v2:10.0.0.1:3300/0",
                      "any:10.0.0.1:3300",
                      "[v2:10.0.0.1:3300,v1:10.0.0.1:6789]",
                      "[v2:[fd00::1]:3300/0,v1:[fd00::1]:6789/0]",
                      "[fd00::1]:3300", "v2:[fd00::1]:3300", "fd00::1"));

TEST_F(MonHostTest, SplitsAnEntryWithSeveralMonitors) {
  const auto host = MonHost(
      resolver_, {"10.0.0.1; 10.0.0.2,[v2:10.0.0.3:1,v1:10.0.0.3:2]"}, Soon());
  ASSERT_OK(host);
  EXPECT_EQ(*host, "10.0.0.1,10.0.0.2,[v2:10.0.0.3:1,v1:10.0.0.3:2]");
}

TEST_F(MonHostTest, PutsAllAddressesOfANameIntoItsPlace) {
  const auto host = MonHost(resolver_, {"v2:monitors:3300"}, Soon());
  ASSERT_OK(host);
  EXPECT_EQ(*host, "v2:10.0.0.7:3300,v2:[fd00::7]:3300");
}

// librados would refuse the whole list for the one name.
TEST_F(MonHostTest, LeavesOutANameThatIsNotFound) {
  const auto host =
      MonHost(resolver_, {"no-such-monitor.invalid:6789", "10.0.0.1"}, Soon());
  ASSERT_OK(host);
  EXPECT_EQ(*host, "10.0.0.1");
}

TEST_F(MonHostTest, FailsWhenNoNameIsFound) {
  EXPECT_THAT(MonHost(resolver_, {"no-such-monitor.invalid"}, Soon()),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("no-such-monitor.invalid")));
}

// With an empty mon_host librados asks DNS for the service ceph-mon instead.
TEST_F(MonHostTest, FailsWithoutMonitors) {
  for (const std::vector<std::string>& monitors :
       {std::vector<std::string>{}, {""}, {" , "}}) {
    EXPECT_THAT(MonHost(resolver_, monitors, Soon()),
                StatusIs(absl::StatusCode::kUnavailable,
                         HasSubstr("names no monitors")));
  }
}

class MonHostRefusalTest : public MonHostTest,
                           public ::testing::WithParamInterface<const char*> {};

TEST_P(MonHostRefusalTest, NamesTheEntryThatIsNeitherAddressNorName) {
  EXPECT_THAT(
      MonHost(resolver_, {"10.0.0.1", GetParam()}, Soon()),
      StatusIs(absl::StatusCode::kUnavailable,
               AllOf(HasSubstr(GetParam()), HasSubstr("correct config.json"))));
}

INSTANTIATE_TEST_SUITE_P(
    All, MonHostRefusalTest,
    ::testing::Values("host!", "10.0.0", "10.0.0.256", "host:port",
                      "v2:", "mon/a", "host:", "[host]:3300", "--keyring=x",
                      "[fd00::b[]:6789", "[fd00::1", "[fd00::1]6789",
                      "[fd00::1]:", "[fd00::g]:6789", "[]",
                      "[v2:10.0.0.1:3300,]", "[v2:host:3300]", "v2:[fd00::1]:x",
                      "10.0.0.1:0", "10.0.0.1:65536", "10.0.0.1:1/"));

}  // namespace
}  // namespace addons
