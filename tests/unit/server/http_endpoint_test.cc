#include "server/http_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;

std::string Parsed(absl::string_view text) {
  const auto address = ParseHttpAddress(text);
  EXPECT_OK(address);
  return address.value_or("");
}

TEST(HttpEndpointTest, TakesAddressesOfBothKinds) {
  EXPECT_EQ(Parsed("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(Parsed("0.0.0.0"), "0.0.0.0");
  EXPECT_EQ(Parsed("[::1]"), "::1");
  EXPECT_EQ(Parsed("::"), "::");
  EXPECT_EQ(Parsed("[FD00:0:0::7]"), "fd00::7");
}

TEST(HttpEndpointTest, RefusesWhatIsNoAddress) {
  for (const char* text :
       {"", "localhost", "127.0.0.1:80", "127.0.0.1,0.0.0.0", "1.2.3", "[::1",
        "::1]", "[127.0.0.1]", "[::1]:80", "fe80::1%lo", "*"}) {
    EXPECT_THAT(ParseHttpAddress(text),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << text;
  }
}

TEST(HttpEndpointTest, ChecksPaths) {
  for (const std::string& path :
       {std::string("/metrics"), std::string("/a/b-c_d.e"),
        "/" + std::string(127, 'a')}) {
    EXPECT_OK(CheckHttpPath(path));
  }
  for (const std::string& path :
       {std::string(""), std::string("/"), std::string("metrics"),
        std::string("/a/"), std::string("//a"), std::string("/../a"),
        std::string("/a/."), std::string("/a?b"), std::string("/a b"),
        std::string("/a%20b"), std::string("/healthz"), std::string("/readyz"),
        std::string("/favicon.ico"), std::string("/status.json"),
        std::string("/docs/alerts.md"), "/" + std::string(128, 'a')}) {
    EXPECT_THAT(CheckHttpPath(path),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << path;
  }
}

TEST(HttpEndpointTest, UrlsOfSixHaveBrackets) {
  EXPECT_EQ(UrlOf({"127.0.0.1", 80, "/metrics"}),
            "http://127.0.0.1:80/metrics");
  EXPECT_EQ(UrlOf({"::1", 9090, "/m"}), "http://[::1]:9090/m");
}

}  // namespace
}  // namespace addons
