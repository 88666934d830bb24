// What is alive in a range is not cut off by accident.

#include <csignal>
#include <string>

#include "tests/cluster/fence_bed.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class FenceRefusalTest : public FenceBedTest {
 protected:
  static void SetUpTestSuite() { MakeBed(HostNetwork::Family::kIPv4); }
};

TEST_F(FenceRefusalTest, MonitorOsdsAndTheDaemonItself) {
  const grpc::Status status = Fence({Address(0, 1)});
  EXPECT_EQ(status.error_code(), Code::FAILED_PRECONDITION);
  EXPECT_THAT(
      status.error_message(),
      AllOf(HasSubstr("mon.a at " + Address(0, 1)), HasSubstr("osd.0 at "),
            HasSubstr("osd.2 at "), HasSubstr("this daemon at "),
            Not(HasSubstr("osd.1 ")), HasSubstr("allowServiceClients")));
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(FenceRefusalTest, TheManagerWhereTheUserMaySeeIt) {
  EXPECT_THAT(Fence({Address(0, 1)}).error_message(), Not(HasSubstr("mgr.")));
  bed().Ceph({"auth", "caps", "client.csi-rbd", "mon",
              "profile rbd, allow command \"osd blocklist\", "
              "allow command \"mgr dump\"",
              "mgr", "allow rw", "osd", "profile rbd"});
  daemon().Stop(SIGKILL);
  ASSERT_TRUE(daemon().Start());
  EXPECT_THAT(Fence({Address(0, 1)}).error_message(), HasSubstr("mgr.x at "));
}

TEST_F(FenceRefusalTest, TheDaemonThatFencedItselfCanUndoIt) {
  const std::string own = Address(0, 1);
  const grpc::Status status = Fence({own}, {{"allowServiceClients", "true"}});
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_THAT(List(), ElementsAre(own + "/32"));
  EXPECT_TRUE(Unfence({own}).ok());
  EXPECT_THAT(Keys(), IsEmpty());
  // Its reads of the OSDs work again: it sees what is alive, and waits for all.
  EXPECT_EQ(Fence({own}).error_code(), Code::FAILED_PRECONDITION);
  const std::string before = daemon().Log();
  EXPECT_TRUE(Fence({"203.0.113.7"}).ok());
  EXPECT_THAT(daemon().Log().substr(before.size()),
              HasSubstr("all OSDs asked know it"));
}

TEST_F(FenceRefusalTest, ADownOsdIsTheNodeBeingFenced) {
  const std::string address = Address(0, 2);
  EXPECT_THAT(Fence({address}).error_message(), HasSubstr("osd.1 at "));
  EXPECT_TRUE(Fence({address}, {{"allowServiceClients", "true"}}).ok());
  EXPECT_TRUE(Unfence({address}).ok());
  bed().Testbed("kill", {"a", "osd.1"});
  bed().Ceph({"osd", "down", "1"});
  const grpc::Status status = Fence({address});
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(Keys().size(), 1U);
}

}  // namespace
}  // namespace addons::testing
