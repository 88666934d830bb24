#include "volume/image_proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;

constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
constexpr char kUuid[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";
constexpr char kOtherUuid[] = "00000000-81e8-439b-8405-35138edf5b89";

class ImageProofTest : public ::testing::Test {
 protected:
  ImageProofTest() {
    std::vector<std::string> warnings;
    config_ = *ClusterConfig::Parse(pair_.ConfigJson(), pair_.MappingJson(),
                                    &warnings);
    volume_.volume_id = VolumeHandle(pair_.VolumeId(pair_.a(), kUuid));
    volume_.cluster_id = ClusterId("site-a");
    volume_.pool_id = 2;
    volume_.pool_name = "replicapool";
    volume_.cluster = pair_.cluster(pair_.a());
    volume_.attributes.image_name = ImageName(MirroredPair::ImageOf(kUuid));

    mapped_.device = "rbd0";
    mapped_.pool = "replicapool";
    mapped_.pool_id = 2;
    mapped_.image = ImageName(MirroredPair::ImageOf(kUuid));
    mapped_.fsid = pair_.a().fsid();
  }
  absl::Status ByCeph() { return ProveByCeph(mapped_, volume_); }
  absl::Status ByNode() { return ByNode(volume_.volume_id.text()); }
  absl::Status ByNode(const std::string& id) {
    return ProveByNode(mapped_, VolumeHandle(id), staging_.path(),
                       config_.get());
  }
  void Record(const std::string& pool, const std::string& rados_namespace,
              const std::string& image) {
    staging_.Write("image-meta.json",
                   absl::StrCat(R"({"Version":3,"pool":")", pool,
                                R"(","radosNamespace":")", rados_namespace,
                                R"(","image":")", image, R"("})"));
  }

  FakeWorld world_;
  MirroredPair pair_{world_};
  const TempDir staging_;
  std::shared_ptr<const ClusterConfig> config_;
  ResolvedVolume volume_;
  MappedImage mapped_;
};

TEST_F(ImageProofTest, CephKnowsTheImage) { EXPECT_OK(ByCeph()); }

TEST_F(ImageProofTest, CephKnowsAnotherImage) {
  mapped_.image = ImageName(MirroredPair::ImageOf(kOtherUuid));
  EXPECT_THAT(ByCeph(), StatusIs(kRefused, HasSubstr(mapped_.image.text())));
}

TEST_F(ImageProofTest, TheSameNameElsewhereIsAnotherImage) {
  mapped_.pool_id = 3;
  EXPECT_THAT(ByCeph(), StatusIs(kRefused));
  mapped_.pool_id = 2;
  mapped_.rados_namespace = "tenant1";
  EXPECT_THAT(ByCeph(), StatusIs(kRefused));
  mapped_.rados_namespace = "";
  mapped_.fsid = pair_.b().fsid();
  EXPECT_THAT(ByCeph(), StatusIs(kRefused, HasSubstr("cluster")));
}

TEST_F(ImageProofTest, APoolThatWasRenamedSinceIsTheSame) {
  mapped_.pool = "old-name";
  EXPECT_OK(ByCeph());
}

TEST_F(ImageProofTest, WithoutPoolIdAndFsidTheNamesDecide) {
  mapped_.pool_id.reset();
  mapped_.fsid.clear();
  EXPECT_OK(ByCeph());
  mapped_.pool = "other";
  EXPECT_THAT(ByCeph(), StatusIs(kRefused));
}

TEST_F(ImageProofTest, ATagAloneMustBeTheVolumeId) {
  mapped_ = MappedImage();
  mapped_.device = "nbd0";
  mapped_.tag = volume_.volume_id.text();
  EXPECT_OK(ByCeph());
  EXPECT_OK(ByNode());
  mapped_.tag = "something";
  EXPECT_THAT(ByCeph(), StatusIs(kRefused));
  Record("", "", "");
  EXPECT_THAT(ByNode(), StatusIs(kRefused, HasSubstr("command line")));
  mapped_.tag = "";
  EXPECT_THAT(ByNode(""), StatusIs(kRefused));
}

TEST_F(ImageProofTest, TheIdProvesItsImage) {
  EXPECT_OK(ByNode());
  mapped_.image = ImageName(absl::StrCat("another-prefix-", kUuid));
  EXPECT_OK(ByNode());
}

TEST_F(ImageProofTest, WithoutAPoolIdTheIdProvesItsImage) {
  mapped_.pool_id.reset();
  EXPECT_OK(ByNode());
}

TEST_F(ImageProofTest, TheIdProvesTheCopyOfAMappedSite) {
  mapped_.pool_id = 3;
  mapped_.fsid = pair_.b().fsid();
  EXPECT_OK(ByNode());
}

TEST_F(ImageProofTest, TheIdDoesNotProveOtherImages) {
  mapped_.image = ImageName(MirroredPair::ImageOf(kOtherUuid));
  EXPECT_THAT(ByNode(), StatusIs(kRefused, HasSubstr("image-meta.json")));
  mapped_.image = ImageName(absl::StrCat("csi-vol-", kUuid, "-temp"));
  EXPECT_THAT(ByNode(), StatusIs(kRefused));
  mapped_.image = ImageName(MirroredPair::ImageOf(kUuid));
  mapped_.pool_id = 9;
  EXPECT_THAT(ByNode(), StatusIs(kRefused));
  mapped_.pool_id = 2;
  mapped_.rados_namespace = "tenant1";
  EXPECT_THAT(ByNode(), StatusIs(kRefused));
}

TEST_F(ImageProofTest, TheIdOfANamespaceProvesTheImageThere) {
  const std::string id = pair_.VolumeId(pair_.a(), kUuid, "tenant1");
  EXPECT_THAT(ByNode(id), StatusIs(kRefused));
  mapped_.rados_namespace = "tenant1";
  EXPECT_OK(ByNode(id));
}

TEST_F(ImageProofTest, WorksWithoutConfiguration) {
  config_.reset();
  EXPECT_OK(ByNode());
  mapped_.pool_id = 3;
  EXPECT_THAT(ByNode(), StatusIs(kRefused));
}

TEST_F(ImageProofTest, TheRecordProvesAStaticVolume) {
  mapped_.image = ImageName("my-disk");
  EXPECT_THAT(ByNode("my-disk"), StatusIs(kRefused, HasSubstr("static")));
  Record("replicapool", "", "my-disk");
  EXPECT_OK(ByNode("my-disk"));
}

TEST_F(ImageProofTest, TheRecordMustNameThatImage) {
  mapped_.image = ImageName("my-disk");
  Record("other", "", "my-disk");
  EXPECT_THAT(ByNode("my-disk"),
              StatusIs(kRefused, HasSubstr("other/my-disk")));
  Record("replicapool", "tenant1", "my-disk");
  EXPECT_THAT(ByNode("my-disk"), StatusIs(kRefused));
  Record("replicapool", "", "other-disk");
  EXPECT_THAT(ByNode("my-disk"), StatusIs(kRefused));
}

TEST_F(ImageProofTest, WithoutStagingPathThereIsNoRecord) {
  mapped_.image = ImageName("my-disk");
  EXPECT_THAT(ProveByNode(mapped_, VolumeHandle("my-disk"), "", config_.get()),
              StatusIs(kRefused, HasSubstr("no staging path")));
}

}  // namespace
}  // namespace addons::testing
