// Images of a real cluster, and their parents.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ceph/errors.h"
#include "ceph/image_objects.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "tests/cluster/real_bed.h"
#include "tests/contract/real_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::Bed;
using ::addons::testing::RealBed;
using ::addons::testing::StatusIs;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class RealImageTest : public RealTest {};

TEST_F(RealImageTest, DoesNotFindAnUnknownImage) {
  const auto pool = OpenPool(Access::kMutate);
  EXPECT_THAT(pool->OpenImageReadOnly(ImageName("absent")),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("image 'replicapool/absent'")));
  EXPECT_THAT(pool->OpenImage(ImageName("absent")),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(pool->OpenImageByIdReadOnly("deadbeef"),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(RealImageTest, KnowsNameIdAndSize) {
  const std::string name = MakeImage();
  const auto image = OpenReadOnly(name);
  EXPECT_EQ(image->name().text(), name);
  const auto size = image->Size();
  ASSERT_OK(size);
  EXPECT_EQ(size->bytes, 16U << 20U);
  EXPECT_EQ(size->object_bytes, 4U << 20U);
  EXPECT_EQ(size->objects, 4U);
  const auto id = image->Id();
  ASSERT_OK(id);
  EXPECT_THAT(Bed()
                  .Run("rbd", {"a", "info", "--format", "json",
                               absl::StrCat(RealBed::kPool, "/", name)})
                  .value(),
              HasSubstr(absl::StrCat("\"id\":\"", *id, "\"")));
}

TEST_F(RealImageTest, OpensByIdAndKnowsTheName) {
  const std::string name = MakeImage();
  const std::string id = OpenReadOnly(name)->Id().value();
  const auto image = OpenPool(Access::kRead)->OpenImageByIdReadOnly(id);
  ASSERT_OK(image);
  EXPECT_EQ((*image)->name().text(), name);
}

TEST_F(RealImageTest, TellsWhenItWasMade) {
  const auto now = std::chrono::system_clock::now();
  const auto created = OpenReadOnly(MakeImage())->CreateTimestamp();
  ASSERT_OK(created);
  const auto age =
      now - std::chrono::system_clock::time_point(seconds(created->seconds));
  EXPECT_LT(std::chrono::abs(age), std::chrono::minutes(5));
  EXPECT_LT(created->nanoseconds, 1'000'000'000);
}

TEST_F(RealImageTest, KeepsMetadata) {
  const auto image = OpenWritable(MakeImage());
  EXPECT_EQ(image->Metadata("csi.key").value(), std::nullopt);
  ASSERT_OK(image->SetMetadata("csi.key", "first"));
  const std::string big(5000, 'x');
  ASSERT_OK(image->SetMetadata("csi.key", big));
  EXPECT_EQ(image->Metadata("csi.key").value(), big);
  ASSERT_OK(image->SetMetadata("csi.key", ""));
  EXPECT_EQ(image->Metadata("csi.key").value(), "");
  ASSERT_OK(image->RemoveMetadata("csi.key"));
  EXPECT_EQ(image->Metadata("csi.key").value(), std::nullopt);
}

// An operation of a class would make the object anew.
TEST_F(RealImageTest, DoesNotChangeTheMetadataOfAnImageThatIsGone) {
  const auto image = OpenWritable(MakeImage());
  const std::string header = HeaderObject(image->Id().value());
  const auto pool = OpenPool(Access::kMutate);
  ASSERT_OK(pool->RemoveObject(header));
  EXPECT_FALSE(image->ChangeMetadata({{"k", "v"}}).ok());
  EXPECT_THAT(pool->ReadOmap(header, ""),
              StatusIs(absl::StatusCode::kNotFound));
  image->Close().IgnoreError();
}

TEST_F(RealImageTest, RemovesAbsentMetadata) {
  EXPECT_OK(OpenWritable(MakeImage())->RemoveMetadata("absent"));
}

TEST_F(RealImageTest, ListsMetadataByPrefixOverManyPages) {
  const std::string name = MakeImage();
  const auto image = OpenWritable(name);
  std::map<std::string, std::string> written;
  for (int i = 0; i < 200; ++i) {
    const std::string key = absl::StrCat("csi.", i);
    written[key] = i % 3 == 0 ? "" : std::string(100, 'v');
    ASSERT_OK(image->SetMetadata(key, written[key]));
  }
  ASSERT_OK(image->SetMetadata(".rbd.image.creation_time", "now"));
  EXPECT_EQ(OpenReadOnly(name)->ListMetadata("csi.").value(), written);
  EXPECT_THAT(OpenReadOnly(name)->ListMetadata(".rbd").value(),
              ElementsAre(Pair(".rbd.image.creation_time", "now")));
  EXPECT_THAT(OpenReadOnly(name)->ListMetadata("none").value(), IsEmpty());
  EXPECT_THAT(OpenReadOnly(name)->ListMetadata("").value(), SizeIs(201));
}

// A page that is not full is taken for the last one.
TEST_F(RealImageTest, ListsMetadataThatFillsItsPages) {
  const std::string name = MakeImage();
  const auto image = OpenWritable(name);
  for (int i = 1; i <= 129; ++i) {
    ASSERT_OK(image->SetMetadata(absl::StrCat("csi.", 1000 + i), "v"));
    if (i < 63 || (i > 65 && i < 127)) continue;
    EXPECT_THAT(OpenReadOnly(name)->ListMetadata("").value(), SizeIs(i));
  }
}

TEST_F(RealImageTest, NamesTheOwnerOfTheLock) {
  const std::string name = MakeImage();
  EXPECT_THAT(OpenReadOnly(name)->Lockers().value(), IsEmpty());
  const auto image = OpenWritable(name);
  ASSERT_OK(image->SetMetadata("key", "value"));  // takes the lock
  const auto lockers = OpenReadOnly(name)->Lockers();
  ASSERT_OK(lockers);
  ASSERT_THAT(*lockers, SizeIs(1));
  const std::vector<uint64_t> own = Connect("a").value()->OwnClientIds();
  EXPECT_THAT(own, Contains(::testing::ResultOf(
                       [](uint64_t id) { return absl::StrCat("client.", id); },
                       lockers->front().client)));
  EXPECT_THAT(lockers->front().cookie, HasSubstr("auto"));
  EXPECT_THAT(lockers->front().address, HasSubstr("127.0.0.1:0/"));
}

TEST_F(RealImageTest, IsWatchedByItsWriterOnly) {
  const std::string name = MakeImage();
  const auto reader = OpenReadOnly(name);
  EXPECT_THAT(reader->Watchers().value(), IsEmpty());
  const auto writer = OpenWritable(name);
  const auto watchers = reader->Watchers();
  ASSERT_OK(watchers);
  ASSERT_THAT(*watchers, SizeIs(1));
  EXPECT_THAT(Connect("a").value()->OwnClientIds(),
              Contains(watchers->front().client_id));
}

TEST_F(RealImageTest, HasNoParent) {
  EXPECT_EQ(OpenReadOnly(MakeImage())->Parent().value().has_value(), false);
}

class RealCloneTest : public RealTest {
 protected:
  RealCloneTest() {
    parent_ = MakeImage();
    clone_ = parent_ + "-clone";
    const std::string spec = absl::StrCat(RealBed::kPool, "/", parent_);
    EXPECT_OK(Bed().Run(
        "rbd", {"a", "bench", "--io-type", "write", "--io-size", "4096",
                "--io-total", "16M", "--io-pattern", "seq", spec}));
    EXPECT_OK(Bed().Run("rbd", {"a", "snap", "create", spec + "@s"}));
    EXPECT_OK(Bed().Run(
        "rbd", {"a", "clone", "--rbd-default-clone-format", "2", spec + "@s",
                absl::StrCat(RealBed::kPool, "/", clone_)}));
  }
  std::string parent_;
  std::string clone_;
};

TEST_F(RealCloneTest, NamesItsParent) {
  const auto parent = OpenReadOnly(clone_)->Parent();
  ASSERT_OK(parent);
  ASSERT_TRUE(parent->has_value());
  EXPECT_EQ((*parent)->pool_id, Bed().PoolId("a"));
  EXPECT_EQ((*parent)->pool_name, RealBed::kPool);
  EXPECT_EQ((*parent)->rados_namespace, "");
  EXPECT_EQ((*parent)->image_name.text(), parent_);
  EXPECT_EQ((*parent)->image_id, OpenReadOnly(parent_)->Id().value());
  EXPECT_FALSE((*parent)->in_trash);
}

TEST_F(RealCloneTest, SeesAParentInTheTrash) {
  ASSERT_OK(Bed().Run(
      "rbd", {"a", "trash", "mv", absl::StrCat(RealBed::kPool, "/", parent_)}));
  const auto parent = OpenReadOnly(clone_)->Parent();
  ASSERT_OK(parent);
  ASSERT_TRUE(parent->has_value());
  EXPECT_TRUE((*parent)->in_trash);
}

TEST_F(RealCloneTest, LosesItsParentWhenFlattened) {
  uint64_t total_seen = 0;
  ASSERT_OK(OpenWritable(clone_)->Flatten([&](uint64_t, uint64_t total) {
    total_seen = total;
    return true;
  }));
  EXPECT_EQ(total_seen, 4U);
  EXPECT_FALSE(OpenReadOnly(clone_)->Parent().value().has_value());
}

TEST_F(RealCloneTest, StopsFlatteningWhenTold) {
  EXPECT_EQ(CephErrno(OpenWritable(clone_)->Flatten(
                [](uint64_t, uint64_t) { return false; })),
            ECANCELED);
  EXPECT_TRUE(OpenReadOnly(clone_)->Parent().value().has_value());
}

TEST_F(RealImageTest, IsNotMirroredByItself) {
  const std::string name = MakeImage();
  const auto image = OpenReadOnly(name);
  const auto info = image->MirrorInfo();
  ASSERT_OK(info);
  EXPECT_EQ(info->state, MirrorImageState::kDisabled);
  EXPECT_FALSE(info->primary);
  EXPECT_THAT(image->MirrorStatus().value(), IsEmpty());
  EXPECT_THAT(image->MirrorSnapshots().value(), IsEmpty());
  const auto by_id =
      OpenPool(Access::kRead)->MirrorInfoById(image->Id().value());
  ASSERT_OK(by_id);
  EXPECT_FALSE(by_id->has_value());
}

TEST_F(RealImageTest, RefusesChangesThroughAReadOnlyHandle) {
  const std::string name = MakeImage();
  const auto image =
      OpenPool(Access::kMutate)->OpenImageReadOnly(ImageName(name)).value();
  for (const absl::Status& status :
       {image->SetMetadata("k", "v"), image->RemoveMetadata("k"),
        image->MirrorEnable(MirrorMode::kSnapshot),
        image->MirrorDisable(Force::kYes), image->MirrorPromote(Force::kYes),
        image->MirrorDemote(), image->CreateMirrorSnapshot().status(),
        image->Flatten(nullptr)}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal,
                                 HasSubstr("open read-only")));
  }
}

TEST_F(RealImageTest, OpensForWritingOnlyOnTheMutationConnection) {
  EXPECT_THAT(OpenPool(Access::kRead)->OpenImage(ImageName(MakeImage())),
              StatusIs(absl::StatusCode::kInternal));
}

TEST_F(RealImageTest, ClosesOnceAndForAll) {
  const std::string name = MakeImage();
  const auto image = OpenWritable(name);
  EXPECT_OK(image->Close());
  EXPECT_OK(image->Close());
  EXPECT_THAT(OpenReadOnly(name)->Watchers().value(), IsEmpty());
}

}  // namespace
}  // namespace addons
