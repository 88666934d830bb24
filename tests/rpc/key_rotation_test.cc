// EncryptionKeyRotate through a socket.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "tests/rpc/key_rotation_server.h"

namespace addons::testing {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Not;

class KeyRotationTest : public ::testing::Test {
 protected:
  void AwaitOpened() {
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (server_.opened() == 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), until);
      std::this_thread::yield();
    }
  }
  KeyRotationServer server_;
};

TEST_F(KeyRotationTest, TheSidecarsCallRotates) {
  const grpc::Status status = server_.Call(server_.Ask());
  ASSERT_TRUE(status.ok()) << status.error_message();
  const std::string now = server_.node.InMetadata();
  EXPECT_EQ(server_.node.luks().SlotOf(now), 1);
  EXPECT_EQ(server_.node.luks().SlotOf(EncryptedNode::kFirst), -1);
  for (const std::string& secret : {now, std::string(EncryptedNode::kFirst),
                                    std::string(EncryptedNode::kSecret)}) {
    EXPECT_THAT(server_.log(), Not(HasSubstr(secret)));
  }
  EXPECT_THAT(server_.log(), HasSubstr("key rotation volume="));
}

TEST_F(KeyRotationTest, SlotsThatWereLeftOverAndThoseOfOthersAreNamed) {
  const LuksImage& luks = server_.node.luks();
  luks.AddKey(1, EncryptedNode::kFirst, "never stored");
  luks.AddKey(6, EncryptedNode::kFirst, "of a person");
  ASSERT_TRUE(server_.Call(server_.Ask()).ok());
  EXPECT_THAT(server_.log(), HasSubstr("removed_slots=\"1, 0\" kept_slots=6"));
}

// The second call joins: one new key, not two.
TEST_F(KeyRotationTest, TwoAtOnceAreOne) {
  server_.Hold();
  auto one = server_.CallLater(server_.Ask());
  AwaitOpened();
  auto other = server_.CallLater(server_.Ask());
  server_.Release();
  EXPECT_TRUE(one.get().ok());
  EXPECT_TRUE(other.get().ok());
  EXPECT_EQ(server_.node.luks().Slots().size(), 1U);
  EXPECT_EQ(server_.node.luks().SlotOf(EncryptedNode::kFirst), -1);
  EXPECT_GE(server_.node.luks().SlotOf(server_.node.InMetadata()), 0);
}

// What the caller had no time for is done all the same.
TEST_F(KeyRotationTest, ALateAnswerIsTheRetrys) {
  server_.Hold();
  const grpc::Status late =
      server_.Call(server_.Ask(), std::chrono::milliseconds(1500));
  EXPECT_THAT(late.error_code(), AnyOf(Eq(grpc::StatusCode::ABORTED),
                                       Eq(grpc::StatusCode::DEADLINE_EXCEEDED)))
      << late.error_message();
  auto retry = server_.CallLater(server_.Ask());
  server_.Release();
  EXPECT_TRUE(retry.get().ok());
  EXPECT_EQ(server_.node.luks().Slots().size(), 1U);
  EXPECT_EQ(server_.node.luks().SlotOf(EncryptedNode::kFirst), -1);
}

TEST_F(KeyRotationTest, AKeyOfTheCallerIsTaken) {
  auto request = server_.Ask();
  request.set_encryption_key("the caller's own key");
  EXPECT_TRUE(server_.Call(request).ok());
  EXPECT_EQ(server_.node.InMetadata(), "the caller's own key");
  EXPECT_THAT(server_.log(), Not(HasSubstr("the caller's own key")));
}

TEST_F(KeyRotationTest, WrongRequestsAreRefusedByName) {
  const auto refused = [&](const KeyRotationServer::Request& request,
                           const std::string& text) {
    const grpc::Status status = server_.Call(request);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr(text));
  };
  auto request = server_.Ask();
  request.clear_volume_id();
  refused(request, "volume_id: is missing");
  request = server_.Ask();
  request.set_volume_path("relative");
  refused(request, "volume_path: is not an absolute path");
  request = server_.Ask();
  request.set_encryption_key(std::string(513, 'x'));
  refused(request, "encryption_key: is longer than 512 bytes");
  request = server_.Ask();
  request.set_volume_id("static-volume");
  refused(request, "static-volume");
  EXPECT_THAT(server_.node.luks().Slots(), ElementsAre(0));
}

}  // namespace
}  // namespace addons::testing
