// The rbd-mirror daemons of both sites, on hosts of their own, are not cut off
// by accident.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/cluster/fence_bed.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class FenceMirrorTest : public FenceBedTest {
 protected:
  static void SetUpTestSuite() {
    MakeBed(HostNetwork::Family::kIPv4, {"--mirror"});
  }

  /// Moves the rbd-mirror of `site` to the host with this address.
  static std::unique_ptr<HostProcess> Move(const std::string& site,
                                           const std::string& address) {
    bed().Testbed("kill", {site, "rbd-mirror"});
    const std::string conf = bed().Path(site + "/ceph.conf");
    std::vector<std::string> command = bed().network().AddHost(address);
    for (const std::string& part :
         {std::string("env"), "CEPH_CONF=" + conf, std::string("rbd-mirror"),
          std::string("-f"), std::string("-n"),
          std::string("client.rbd-mirror")}) {
      command.push_back(part);
    }
    return std::make_unique<HostProcess>(std::move(command),
                                         bed().Path(site + "-mirror.log"));
  }
  static bool Watches(const std::string& address) {
    return Eventually(
        [&] {
          return bed()
                     .Testbed("rados", {"a", "-p", "replicapool",
                                        "listwatchers", "rbd_mirroring"})
                     .find(address + ":") != std::string::npos;
        },
        seconds(60));
  }
};

TEST_F(FenceMirrorTest, OfThisSiteAndOfThePeer) {
  const std::string own = Address(4, 10);
  const std::string peers = Address(5, 10);
  const auto own_mirror = Move("a", own);
  auto peers_mirror = Move("b", peers);
  ASSERT_TRUE(Watches(own) && Watches(peers));
  for (const std::string& address : {own, peers}) {
    const grpc::Status status = Fence({address});
    EXPECT_EQ(status.error_code(), Code::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(),
                AllOf(HasSubstr("rbd-mirror client."),
                      HasSubstr(" at " + address), HasSubstr("allowService")));
  }
  // The leader of the new rbd-mirror may just have shut out the killed one.
  for (const std::string& key : Keys()) {
    EXPECT_THAT(key, Not(AnyOf(HasSubstr(own + ":"), HasSubstr(peers + ":"))));
  }

  // One that died is the node being fenced, once Ceph has forgotten it.
  peers_mirror.reset();
  grpc::Status status;
  EXPECT_TRUE(Eventually(
      [&] {
        status = Fence({peers});
        return status.ok();
      },
      seconds(90)))
      << status.error_message();
  EXPECT_EQ(Fence({own}).error_code(), Code::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace addons::testing
