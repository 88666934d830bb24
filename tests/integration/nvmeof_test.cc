// Volumes of ceph-csi's NVMe-oF driver, which has no CSI-Addons server of its
// own: daemons under that driver's name serve them. The gateway is a client
// that has the image open, and the driver's notes in its metadata.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "identity/identity.grpc.pb.h"
#include "tests/cluster/nvmeof_notes.h"
#include "tests/cluster/reclaim_client.h"
#include "tests/cluster/test_group.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

const bool kNvmeofBed = OnBluestore({"NvmeofTest"});

constexpr char kDriver[] = "nvmeof.csi.ceph.com";
constexpr int64_t kMiB = int64_t{1} << 20;

class NvmeofTest : public GroupSitesTest {
 public:
  static void SetUpTestSuite() {
    const std::vector<std::string> name = {
        absl::StrCat("--drivername=", kDriver)};
    StartDaemons({{"a", name}, {"b", name}});
  }

 protected:
  /// What the driver notes at the image that its gateway exports.
  static void Export(const TestVolume& volume, const std::string& number) {
    for (const auto& [key, value] : NvmeofNotes(number)) {
      Rbd("a", {"image-meta", "set", ImageSpec(volume), key, value});
    }
  }
  static Reclaimed Reclaim(const TestVolume& volume) {
    const CephUserRef user = Bed().User("a");
    return CallReclaim(Daemon("a").socket(),
                       {volume.id_a, user->id, user->key.Reveal()});
  }
};

TEST_F(NvmeofTest, TheDaemonHasTheDriversName) {
  grpc::ClientContext context;
  ::identity::GetIdentityResponse identity;
  ASSERT_TRUE(::identity::Identity::NewStub(
                  grpc::CreateChannel("unix:" + Daemon("a").socket(),
                                      grpc::InsecureChannelCredentials()))
                  ->GetIdentity(&context, {}, &identity)
                  .ok());
  EXPECT_EQ(identity.name(), kDriver);
}

TEST_F(NvmeofTest, AGroupMovesWhenItsGatewaysHaveLetGo) {
  const TestGroup group = MakeReplicatedGroup(2);
  Export(group.members[0], "3");
  Export(group.members[1], "4");
  const int counter = WriteCounter("a", group, 20);
  auto gateway = OpenDisk("a", group.members[1]);
  const grpc::Status refused = DemoteGroup("a", group);
  EXPECT_THAT(refused, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(
      refused.error_message(),
      AllOf(HasSubstr("1 refused"), HasSubstr("remove namespace 4 of subsystem "
                                              "'nqn.2016-06.io.spdk:site-a'")));
  EXPECT_EQ(Primaries("a", group), 2U);
  gateway.reset();

  EXPECT_THAT(DemoteGroup("a", group), HasCode(Code::OK));
  EXPECT_THAT(PromoteGroupAtLast("b", group), HasCode(Code::OK));
  EXPECT_EQ(Primaries("b", group), 2U);
  EXPECT_THAT(Counters("b", group), Each(counter));
}

TEST_F(NvmeofTest, SpaceIsReclaimedOnlyWhileNoGatewayExportsTheImage) {
  const TestVolume volume = MakeVolume();
  Export(volume, "5");
  Write("a", volume, "kept", 16 * kMiB);
  auto gateway = OpenDisk("a", volume);
  const std::string zeros(static_cast<size_t>(16 * kMiB), '\0');
  ASSERT_EQ(gateway->Write(32 * kMiB, zeros), 0);

  const Reclaimed exported = Reclaim(volume);
  EXPECT_TRUE(exported.status.ok()) << exported.status.error_message();
  EXPECT_EQ(exported.before, exported.after);
  EXPECT_GE(exported.before, 32 * kMiB);

  gateway.reset();
  const Reclaimed freed = Reclaim(volume);
  EXPECT_TRUE(freed.status.ok()) << freed.status.error_message();
  ASSERT_TRUE(freed.before.has_value() && freed.after.has_value());
  EXPECT_EQ(*freed.before - *freed.after, 16 * kMiB);
  EXPECT_EQ(ReadText("a", volume), "kept");
}

}  // namespace
}  // namespace addons::testing
