// A clone that somebody else mirrored by snapshots: what is said of it is what
// reading both sites shows, and the repair that is named repairs it.

#include <chrono>
#include <string>

#include "tests/cluster/two_sites.h"
#include "tests/integration/command_line.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Response = ::replication::GetVolumeReplicationInfoResponse;

const bool kCloneBed = OnBluestore({"MirroredCloneTest"});

class MirroredCloneTest : public TwoSitesTest {
 protected:
  static constexpr char kMark[] = "rbd-addons.mirrored-clone";

  /// As ceph-csi makes it: a parent full of data and a clone of it, both
  /// mirrored and arrived on b.
  static TestVolume MakeMirroredClone(const std::string& parent_name) {
    const std::string parent = MakeParent(parent_name);
    TestVolume volume = MakeVolume({"--parent", parent + "@origin"});
    for (const std::string& spec : {parent, ImageSpec(volume)}) {
      Rbd("a", {"mirror", "image", "enable", spec, "snapshot"});
    }
    volume.id_b = Testbed("peer-journal", {"b", volume.id_a});
    Synchronize("a", volume);
    return volume;
  }
  static CliResult Audit() {
    return RbdAddons(Daemon("a"), {"audit", "clones", "--pool", RealBed::kPool,
                                   "--cluster", "site-a", "--secrets-file",
                                   Bed().Path("a/secrets.json")});
  }
  static Response MustInfo(const TestVolume& volume) {
    Response info;
    EXPECT_THAT(Info("a", volume, &info), HasCode(Code::OK));
    return info;
  }
};

TEST_F(MirroredCloneTest, IsToldUntilItIsRepaired) {
  const TestVolume volume = MakeMirroredClone("golden-clone");
  Write("a", volume, "of the clone", 4096);
  Synchronize("a", volume);

  Response info = MustInfo(volume);
  EXPECT_EQ(info.status(), Response::ERROR);
  EXPECT_THAT(info.status_message(),
              AllOf(HasSubstr("golden-clone"), HasSubstr("rbd flatten"),
                    HasSubstr("rbd mirror image resync")));
  const grpc::Status refused = Demote("a", volume);
  EXPECT_THAT(refused, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(refused.error_message(), HasSubstr("rbd flatten"));
  EXPECT_TRUE(IsPrimary("a", volume));
  // The audit of the pool names it, and its parent's other images not.
  const CliResult audit = Audit();
  EXPECT_EQ(audit.code, 0) << audit.err;
  EXPECT_THAT(audit.out,
              AllOf(HasSubstr(ImageSpec(volume) + ": it is a clone of"),
                    HasSubstr("rbd flatten")));
  EXPECT_THAT(audit.out, Not(HasSubstr("golden-clone: ")));
  // Asking has written it down.
  EXPECT_THAT(Metadata("a", volume, kMark), HasSubstr("golden-clone"));

  // ceph-csi flattens by itself.
  Rbd("a", {"flatten", "--no-progress", ImageSpec(volume)});
  Synchronize("a", volume);
  EXPECT_NE(Digest("a", volume), Digest("b", volume));
  info = MustInfo(volume);
  EXPECT_EQ(info.status(), Response::ERROR);
  EXPECT_THAT(info.status_message(), HasSubstr("was flattened"));
  EXPECT_THAT(Audit().out, HasSubstr(ImageSpec(volume) + ": it was a clone"));
  EXPECT_THAT(Demote("a", volume), HasCode(Code::FAILED_PRECONDITION));

  // What the message says.
  const std::string old_id = ImageId("b", volume);
  Rbd("b", {"mirror", "image", "resync", ImageSpec(volume)});
  EXPECT_TRUE(Eventually(
      [&] {
        const std::string id = ImageId("b", volume);
        return !id.empty() && id != old_id;
      },
      std::chrono::seconds(120)));
  Synchronize("a", volume);
  EXPECT_EQ(Digest("a", volume), Digest("b", volume));
  Rbd("a", {"image-meta", "remove", ImageSpec(volume), kMark});
  Response repaired;
  Info("a", volume, &repaired);
  EXPECT_THAT(repaired.status_message(), Not(HasSubstr("flattened")));
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
}

TEST_F(MirroredCloneTest, FlattenModeForceMirrorsAllOfIt) {
  if (const auto why = NoFlattenTasks()) GTEST_SKIP() << *why;
  const std::string parent = MakeParent("flat-parent");
  const TestVolume volume = MakeVolume({"--parent", parent + "@origin"});
  ASSERT_THAT(Enable("a", volume, {{"flattenMode", "force"}}),
              HasCode(Code::OK));
  Testbed("peer-journal", {"b", volume.id_a});
  Write("a", volume, "of the clone", 4096);
  Synchronize("a", volume);
  EXPECT_EQ(Digest("a", volume), Digest("b", volume));
  EXPECT_EQ(Metadata("a", volume, kMark), "");
}

}  // namespace
}  // namespace addons::testing
