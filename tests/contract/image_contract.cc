// Images that are not mirrored, and those that are not there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/image_header.h"
#include "ceph/mirror.h"
#include "ceph/pinned_options.h"
#include "ceph/pool.h"
#include "tests/contract/contract_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Optional;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// --- what is not there

TEST_P(ContractTest, UnknownPoolIsNotFound) {
  EXPECT_THAT(bed().ClusterFor(kA).OpenPool(4711, "", Access::kRead),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(ContractTest, AnAbsentImageHasNoIdAndNoSize) {
  const auto pool = OpenPool(kA, Access::kRead);
  EXPECT_THAT(FindImageId(*pool, ImageName("absent")),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(ReadImageSize(*pool, ImageName("absent")),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(ContractTest, IdAndSizeAreToldWithoutOpeningTheImage) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto pool = OpenPool(kA, Access::kRead);
  const auto image = pool->OpenImageReadOnly(ImageName(kStanding));
  ASSERT_OK(image);
  const auto id = FindImageId(*pool, ImageName(kStanding));
  ASSERT_OK(id);
  EXPECT_EQ(*id, (*image)->Id().value());
  EXPECT_EQ(FindImageName(*pool, *id).value(), ImageName(kStanding));
  EXPECT_THAT(FindImageName(*pool, "ffffffff"),
              StatusIs(absl::StatusCode::kNotFound));
  const auto size = ReadImageSize(*pool, ImageName(kStanding));
  ASSERT_OK(size);
  EXPECT_EQ(*size, (*image)->Size()->bytes);
}

TEST_P(ContractTest, AbsentImageIsNotFoundHoweverItIsOpened) {
  const auto pool = OpenPool(kA, Access::kMutate);
  EXPECT_THAT(pool->OpenImageReadOnly(ImageName("absent")), HasErrno(ENOENT));
  EXPECT_THAT(pool->OpenImageByIdReadOnly("ffffffff"), HasErrno(ENOENT));
  EXPECT_THAT(pool->OpenImage(ImageName("absent")), HasErrno(ENOENT));
  EXPECT_FALSE(pool->HasImage(ImageName("absent")).value());
}

TEST_P(ContractTest, ImageIsSeenWithoutOpeningIt) {
  MakeImage(kA, "plain-there");
  EXPECT_TRUE(
      OpenPool(kA, Access::kRead)->HasImage(ImageName("plain-there")).value());
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->RemoveImage(ImageName("plain-there")));
  EXPECT_FALSE(pool->HasImage(ImageName("plain-there")).value());
}

TEST_P(ContractTest, EachChangeOfAnImagesHeaderIsSeenWithoutOpeningIt) {
  MakeImage(kA, "plain-header");
  const auto pool = OpenPool(kA, Access::kMutate);
  const auto image = pool->OpenImage(ImageName("plain-header")).value();
  const std::string id = image->Id().value();
  const auto watcher = OpenPool(kA, Access::kRead);
  const uint64_t first = watcher->HeaderVersion(id).value();
  EXPECT_EQ(watcher->HeaderVersion(id).value(), first);
  ASSERT_OK(image->SetMetadata("k", "v"));
  const uint64_t second = watcher->HeaderVersion(id).value();
  EXPECT_NE(second, first);
  ASSERT_OK(image->RemoveMetadata("k"));
  ASSERT_OK(image->SetMetadata("k", "w"));
  EXPECT_NE(watcher->HeaderVersion(id).value(), second);
  ASSERT_OK(image->Close());
  EXPECT_THAT(watcher->HeaderVersion("ffffffff"), HasErrno(ENOENT));
}

TEST_P(ContractTest, WatchersOfAnAbsentObjectAreNotFound) {
  EXPECT_THAT(OpenPool(kA, Access::kRead)->ListWatchers("absent"),
              StatusIs(absl::StatusCode::kNotFound));
}

// --- plain images

TEST_P(ContractTest, ImageIsOpenedByItsId) {
  MakeImage(kA, "plain-id");
  const std::string id = IdOf(kA, "plain-id");
  const auto image = OpenPool(kA, Access::kRead)->OpenImageByIdReadOnly(id);
  ASSERT_OK(image);
  EXPECT_EQ((*image)->name().text(), "plain-id");
}

TEST_P(ContractTest, SizeAndCreationTimeAreTold) {
  MakeImage(kA, "plain-size");
  const auto image = Look(kA, "plain-size");
  ASSERT_NE(image, nullptr);
  const auto size = image->Size();
  ASSERT_OK(size);
  EXPECT_EQ(size->bytes, kBytes);
  EXPECT_EQ(size->object_bytes * size->objects, kBytes);
  const auto created = image->CreateTimestamp();
  ASSERT_OK(created);
  EXPECT_GT(created->seconds, 0);
}

TEST_P(ContractTest, ReadOnlyHandleLeavesNoWatch) {
  MakeImage(kA, "plain-read");
  const auto first = Look(kA, "plain-read");
  const auto second = Look(kA, "plain-read");
  ASSERT_NE(second, nullptr);
  EXPECT_THAT(ClientIds(second->Watchers()), IsEmpty());
}

TEST_P(ContractTest, WritableHandleIsWatchedByOneOfOurClients) {
  MakeImage(kA, "plain-write");
  const auto image =
      OpenPool(kA, Access::kMutate)->OpenImage(ImageName("plain-write"));
  ASSERT_OK(image);
  const auto watchers = ClientIds((*image)->Watchers());
  EXPECT_THAT(watchers, SizeIs(1));
  const auto own = bed().ClusterFor(kA).OwnClientIds();
  EXPECT_THAT(std::set<uint64_t>(own.begin(), own.end()),
              IsSupersetOf(watchers));
}

TEST_P(ContractTest, ClosingAWritableHandleEndsItsWatch) {
  MakeImage(kA, "plain-close");
  ASSERT_OK(Change(kA, "plain-close", [](Image&) { return absl::OkStatus(); }));
  EXPECT_THAT(ClientIds(Look(kA, "plain-close")->Watchers()), IsEmpty());
}

TEST_P(ContractTest, UnusedImageIsNotLocked) {
  MakeImage(kA, "plain-lock");
  const auto lockers = Look(kA, "plain-lock")->Lockers();
  ASSERT_OK(lockers);
  EXPECT_THAT(*lockers, IsEmpty());
}

TEST_P(ContractTest, MetadataIsKeptUnderItsKey) {
  MakeImage(kA, "plain-meta");
  ASSERT_OK(Change(kA, "plain-meta", [](Image& image) {
    return image.SetMetadata(".rbd.image.creation_time", "seconds:1");
  }));
  EXPECT_THAT(*Look(kA, "plain-meta")->Metadata(".rbd.image.creation_time"),
              Optional(Eq("seconds:1")));
}

TEST_P(ContractTest, AbsentMetadataIsNoError) {
  MakeImage(kA, "plain-nometa");
  const auto value = Look(kA, "plain-nometa")->Metadata("absent");
  ASSERT_OK(value);
  EXPECT_EQ(*value, std::nullopt);
}

TEST_P(ContractTest, MetadataIsListedByPrefix) {
  MakeImage(kA, "plain-list");
  ASSERT_OK(Change(kA, "plain-list", [](Image& image) {
    absl::Status status = image.SetMetadata("csi/a", "1");
    status.Update(image.SetMetadata("csi/b", "2"));
    status.Update(image.SetMetadata("other", "3"));
    return status;
  }));
  EXPECT_THAT(*Look(kA, "plain-list")->ListMetadata("csi/"),
              UnorderedElementsAre(Pair("csi/a", "1"), Pair("csi/b", "2")));
}

TEST_P(ContractTest, RemovingMetadataTwiceIsOk) {
  MakeImage(kA, "plain-remove");
  ASSERT_OK(Change(kA, "plain-remove",
                   [](Image& image) { return image.SetMetadata("k", "v"); }));
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(Change(kA, "plain-remove",
                     [](Image& image) { return image.RemoveMetadata("k"); }));
  }
  EXPECT_EQ(*Look(kA, "plain-remove")->Metadata("k"), std::nullopt);
}

TEST_P(ContractTest, MetadataIsSetAndRemovedAtOnce) {
  MakeImage(kA, "plain-change");
  ASSERT_OK(Change(kA, "plain-change", [](Image& image) {
    return image.ChangeMetadata({{"gone", "1"}, {"stays", "2"}});
  }));
  EXPECT_THAT(*Look(kA, "plain-change")->ListMetadata(""),
              UnorderedElementsAre(Pair("gone", "1"), Pair("stays", "2")));
  ASSERT_OK(Change(kA, "plain-change", [](Image& image) {
    return image.ChangeMetadata({{"gone", std::nullopt},
                                 {"absent", std::nullopt},
                                 {"new", "3"},
                                 {"empty", ""}});
  }));
  EXPECT_THAT(*Look(kA, "plain-change")->ListMetadata(""),
              UnorderedElementsAre(Pair("stays", "2"), Pair("new", "3"),
                                   Pair("empty", "")));
  EXPECT_OK(Change(kA, "plain-change",
                   [](Image& image) { return image.ChangeMetadata({}); }));
}

TEST_P(ContractTest, MetadataIsChangedBesideTheOwnerOfTheLock) {
  MakeImage(kA, "plain-beside");
  const auto writers = OpenPool(kA, Access::kMutate);
  const auto writer = writers->OpenImage(ImageName("plain-beside")).value();
  ASSERT_OK(writer->SetMetadata("k", "v"));
  ASSERT_TRUE(writer->HoldsLock().value());
  ASSERT_OK(Change(kA, "plain-beside", [&](Image& image) {
    const absl::Status changed = image.ChangeMetadata({{"k", "w"}});
    EXPECT_TRUE(writer->HoldsLock().value());
    return changed;
  }));
  EXPECT_EQ(*writer->Metadata("k"), "w");
  EXPECT_OK(writer->Close());
}

TEST_P(ContractTest, AnImageWithoutMirroringIsReadWithoutOpeningIt) {
  MakeImage(kA, "read-unopened");
  ASSERT_OK(Change(kA, "read-unopened", [](Image& image) {
    return image.ChangeMetadata({{"k", "v"}});
  }));
  const auto pool = OpenPool(kA, Access::kRead);
  const auto opened = Look(kA, "read-unopened");
  const std::string id = FindImageId(*pool, ImageName("read-unopened")).value();
  EXPECT_EQ(id, opened->Id().value());
  EXPECT_EQ(opened->MirrorInfo()->state, MirrorImageState::kDisabled);
  EXPECT_EQ(pool->MirrorRecord(id).value(), std::nullopt);
  const ImageHeader header = pool->Header(id).value();
  EXPECT_EQ(header.size.bytes, opened->Size()->bytes);
  EXPECT_EQ(header.created, opened->CreateTimestamp().value());
  EXPECT_EQ(header.metadata, opened->ListMetadata("").value());
  EXPECT_FALSE(header.marked_non_primary);
  EXPECT_FALSE(header.has_parent);
  EXPECT_THAT(header.mirror_snapshots, IsEmpty());
}

TEST_P(ContractTest, LongMetadataIsListedInShorterPages) {
  constexpr char kLong[] = "long-notes";
  MakeImage(kA, kLong);
  const std::string value(100000, 'x');
  ASSERT_OK(Change(kA, kLong, [&](Image& image) -> absl::Status {
    for (int i = 0; i < 64; ++i) {
      ADDONS_RETURN_IF_ERROR(
          image.SetMetadata(absl::StrCat("note-", 100 + i), value));
    }
    return absl::OkStatus();
  }));
  const auto listed = Look(kA, kLong)->ListMetadata("note-");
  ASSERT_OK(listed);
  EXPECT_THAT(*listed, SizeIs(64));
  EXPECT_EQ(listed->at("note-163"), value);
}

// --- clones

TEST_P(ContractTest, CloneNamesItsParent) {
  MakeImage(kA, "parent-1");
  ASSERT_OK(bed().CreateClone(kA, "parent-1", "clone-1"));
  const auto parent = Look(kA, "clone-1")->Parent();
  ASSERT_OK(parent);
  ASSERT_TRUE(parent->has_value());
  EXPECT_EQ((*parent)->image_name.text(), "parent-1");
  EXPECT_EQ((*parent)->image_id, IdOf(kA, "parent-1"));
  EXPECT_EQ((*parent)->pool_id, bed().PoolId(kA));
  EXPECT_EQ((*parent)->pool_name, bed().PoolName());
  EXPECT_FALSE((*parent)->in_trash);
}

TEST_P(ContractTest, ClonesAreListed) {
  MakeImage(kA, "parent-4c");
  EXPECT_THAT(*Look(kA, "parent-4c")->Clones(), IsEmpty());
  ASSERT_OK(bed().CreateClone(kA, "parent-4c", "clone-4c"));
  const auto clones = Look(kA, "parent-4c")->Clones();
  ASSERT_OK(clones);
  ASSERT_THAT(*clones, SizeIs(1));
  EXPECT_EQ(clones->front().Spec(), Spec("clone-4c"));
  EXPECT_EQ(clones->front().image_id, IdOf(kA, "clone-4c"));
  EXPECT_EQ(clones->front().pool_id, bed().PoolId(kA));
  EXPECT_FALSE(clones->front().in_trash);
}

// librbd's demotion, disable and flush wait for it without end: not called.
TEST_P(ContractTest, ALockTakenByHandIsListedAndKeepsOthersOut) {
  constexpr char kLocked[] = "locked-by-hand";
  MakeImage(kA, kLocked);
  ASSERT_OK(bed().LockByHand(kA, kLocked));
  const auto lockers = Look(kA, kLocked)->Lockers();
  ASSERT_OK(lockers);
  EXPECT_THAT(LockTakenByHand(*lockers),
              HasSubstr("has its lock 'by-hand', which 'rbd lock rm' breaks"));
  EXPECT_THAT(*Look(kA, kLocked)->Watchers(), IsEmpty());
  const auto refused = Change(
      kA, kLocked, [](Image& image) { return image.SetMetadata("k", "v"); });
  EXPECT_THAT(refused, HasErrno(EROFS));
  EXPECT_THAT(LockTakenByHand(refused), HasSubstr("'by-hand'"));
}

TEST_P(ContractTest, ImageThatIsNoCloneHasNoParent) {
  MakeImage(kA, "plain-parent");
  const auto parent = Look(kA, "plain-parent")->Parent();
  ASSERT_OK(parent);
  EXPECT_FALSE(parent->has_value());
}

TEST_P(ContractTest, FlattenReportsProgressAndRemovesTheParent) {
  MakeImage(kA, "parent-2");
  ASSERT_OK(bed().CreateClone(kA, "parent-2", "clone-2"));
  int calls = 0;
  ASSERT_OK(Change(kA, "clone-2", [&](Image& image) {
    return image.Flatten([&](uint64_t done, uint64_t total) {
      calls += done <= total ? 1 : 0;
      return true;
    });
  }));
  EXPECT_GT(calls, 0);
  EXPECT_FALSE(Look(kA, "clone-2")->Parent()->has_value());
}

TEST_P(ContractTest, CloneOfAnUnmirroredParentCannotBeMirrored) {
  MakeImage(kA, "parent-3");
  ASSERT_OK(bed().CreateClone(kA, "parent-3", "clone-3"));
  EXPECT_THAT(Change(kA, "clone-3",
                     [](Image& image) {
                       return image.MirrorEnable(MirrorMode::kSnapshot);
                     }),
              HasErrno(EINVAL));
}

// --- no mirroring

TEST_P(ContractTest, UnmirroredImageIsDisabledAndHasNoRole) {
  MakeImage(kA, "plain-off");
  const auto info = Look(kA, "plain-off")->MirrorInfo();
  ASSERT_OK(info);
  EXPECT_EQ(info->state, MirrorImageState::kDisabled);
  const auto by_id =
      OpenPool(kA, Access::kRead)->MirrorInfoById(IdOf(kA, "plain-off"));
  ASSERT_OK(by_id);
  EXPECT_FALSE(by_id->has_value());
}

TEST_P(ContractTest, DisablingAnUnmirroredImageIsOk) {
  MakeImage(kA, "plain-disable");
  EXPECT_OK(Change(kA, "plain-disable", [](Image& image) {
    return image.MirrorDisable(Force::kNo);
  }));
}

TEST_P(ContractTest, UnmirroredImageCannotChangeItsRole) {
  MakeImage(kA, "plain-role");
  EXPECT_THAT(
      Change(kA, "plain-role",
             [](Image& image) { return image.MirrorPromote(Force::kNo); }),
      HasEitherErrno(ENOENT, EINVAL));  // 20.2: EINVAL
  EXPECT_THAT(Change(kA, "plain-role",
                     [](Image& image) { return image.MirrorDemote(); }),
              HasErrno(EINVAL));
  EXPECT_THAT(Change(kA, "plain-role",
                     [](Image& image) { return image.MirrorResync(); }),
              HasEitherErrno(ENOENT, EINVAL));
}

}  // namespace
}  // namespace addons
