#include "rpc/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/cord.h"

namespace addons {
namespace {

using ::testing::EndsWith;

TEST(ToGrpcTest, KeepsOk) { EXPECT_TRUE(ToGrpc(absl::OkStatus(), "r-1").ok()); }

TEST(ToGrpcTest, KeepsEveryCode) {
  for (int code = 1; code <= 16; ++code) {
    const grpc::Status status =
        ToGrpc(absl::Status(static_cast<absl::StatusCode>(code), "x"), "r-1");
    EXPECT_EQ(static_cast<int>(status.error_code()), code);
  }
}

TEST(ToGrpcTest, AppendsTheRequestId) {
  EXPECT_EQ(ToGrpc(absl::AbortedError("busy"), "7f3a91-42").error_message(),
            "busy (request 7f3a91-42)");
}

TEST(ToGrpcTest, AlwaysSaysSomething) {
  EXPECT_EQ(ToGrpc(absl::InternalError(""), "r-1").error_message(),
            "no reason was given (request r-1)");
}

TEST(ToGrpcTest, TrimsLongMessagesAndKeepsTheRequestId) {
  const std::string message =
      ToGrpc(absl::InternalError(std::string(10000, 'x')), "r-1")
          .error_message();
  EXPECT_LT(message.size(), 2100U);
  EXPECT_THAT(message, EndsWith("... (request r-1)"));
}

TEST(ToGrpcTest, StripsControlCharacters) {
  EXPECT_EQ(ToGrpc(absl::InternalError("a\r\nb"), "r").error_message(),
            "a  b (request r)");
}

TEST(ToGrpcTest, GivesNoDetails) {
  absl::Status status = absl::InternalError("x");
  status.SetPayload("type", absl::Cord("payload"));
  EXPECT_TRUE(ToGrpc(status, "r").error_details().empty());
}

}  // namespace
}  // namespace addons
