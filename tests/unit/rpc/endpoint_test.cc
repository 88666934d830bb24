#include "rpc/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(SocketPathTest, TakesThePathOfAUnixUrl) {
  const auto path = SocketPath("unix:///csi/csi-addons.sock");
  ASSERT_OK(path);
  EXPECT_EQ(*path, "/csi/csi-addons.sock");
}

TEST(SocketPathTest, TakesAnAbsolutePath) {
  const auto path = SocketPath("/csi/csi-addons.sock");
  ASSERT_OK(path);
  EXPECT_EQ(*path, "/csi/csi-addons.sock");
}

TEST(SocketPathTest, ExplainsAHostPart) {
  EXPECT_THAT(
      SocketPath("unix://csi/x.sock"),
      StatusIs(kInvalid, HasSubstr("did you mean unix:///csi/x.sock?")));
}

TEST(SocketPathTest, RefusesOtherForms) {
  for (const char* endpoint :
       {"", "csi.sock", "tcp://0.0.0.0:80", "unix:/csi/x.sock", "unix://",
        "unix-abstract:x"}) {
    EXPECT_THAT(SocketPath(endpoint), StatusIs(kInvalid)) << endpoint;
  }
}

TEST(SocketPathTest, AcceptsTheLongestPathThatTheKernelTakes) {
  EXPECT_OK(SocketPath("unix:///" + std::string(106, 'x')));
}

TEST(SocketPathTest, RefusesALongerOne) {
  EXPECT_THAT(
      SocketPath("unix:///" + std::string(107, 'x')),
      StatusIs(kInvalid, HasSubstr("108 bytes; a socket's can have 107")));
}

TEST(SocketPathTest, RefusesAFolder) {
  EXPECT_THAT(SocketPath("unix:///csi/"),
              StatusIs(kInvalid, HasSubstr("folder")));
}

TEST(SocketPathTest, RefusesCharactersThatClientsReadDifferently) {
  for (const char* endpoint : {"/a?b", "/a#b", "/a%20b", "/a\nb"}) {
    EXPECT_THAT(SocketPath(endpoint), StatusIs(kInvalid)) << endpoint;
  }
}

}  // namespace
}  // namespace addons
