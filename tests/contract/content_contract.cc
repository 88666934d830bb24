// What the rescue of an image's content relies on, and the audit of copies.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ceph/image_diff.h"
#include "ceph/mirror.h"
#include "ceph/object_map.h"
#include "ceph/pool.h"
#include "ceph/raw_snapshot.h"
#include "tests/contract/contract_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kObject = uint64_t{4} << 20;

/// Each object of an image of `bytes`.
std::vector<ImageRange> Objects(uint64_t bytes) {
  std::vector<ImageRange> ranges;
  for (uint64_t at = 0; at < bytes; at += kObject) {
    ranges.push_back({at, kObject});
  }
  return ranges;
}

TEST_P(ContractTest, AnImageThatIsMadeLikeAnotherTakesItsContent) {
  MakeImage(kA, "content-from");
  ASSERT_OK(bed().Write(kA, "content-from", 7));
  const auto from = Look(kA, "content-from");
  const auto layout = from->Layout();
  ASSERT_OK(layout);
  EXPECT_EQ(layout->bytes, kBytes);
  EXPECT_EQ(layout->object_bytes, kObject);
  EXPECT_EQ(layout->data_pool_id, bed().PoolId(kA));

  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateImage(ImageName("content-to"), *layout));
  EXPECT_THAT(pool->CreateImage(ImageName("content-to"), *layout),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_EQ(Look(kA, "content-to")->MirrorInfo()->state,
            MirrorImageState::kDisabled);

  const auto content = from->Read(Objects(kBytes));
  ASSERT_OK(content);
  ASSERT_THAT(*content, SizeIs(kBytes / kObject));
  ASSERT_OK(Change(kA, "content-to", [&](Image& image) {
    const auto before = image.Read({{kObject, kObject}});
    EXPECT_OK(before);
    EXPECT_EQ(before->front().bytes, "");  // zeros
    const absl::Status written = image.Write(*content);
    EXPECT_OK(image.Flush());
    return written;
  }));
  EXPECT_EQ(*bed().Fingerprint(kA, "content-to"),
            *bed().Fingerprint(kA, "content-from"));

  ASSERT_OK(Change(kA, "content-to", [](Image& image) {
    return image.Write({{{kObject, 2 * kObject}, ""}});
  }));
  const auto zeroed = Look(kA, "content-to")->Read(Objects(kBytes));
  ASSERT_OK(zeroed);
  EXPECT_NE((*zeroed)[0].bytes, "");
  EXPECT_EQ((*zeroed)[1].bytes, "");
  EXPECT_EQ((*zeroed)[2].bytes, "");
  EXPECT_EQ((*zeroed)[3].bytes, content->back().bytes);

  ASSERT_OK(Change(kA, "content-to",
                   [](Image& image) { return image.Resize(2 * kObject); }));
  EXPECT_EQ(Look(kA, "content-to")->Size()->bytes, 2 * kObject);
}

TEST_P(ContractTest, AnImageIsRemovedUnlessItIsOpen) {
  MakeImage(kA, "content-removed");
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(Change(kA, "content-removed", [&](Image&) {
    EXPECT_THAT(pool->RemoveImage(ImageName("content-removed")),
                HasErrno(EBUSY));
    return absl::OkStatus();
  }));
  EXPECT_OK(pool->RemoveImage(ImageName("content-removed")));
  EXPECT_EQ(Look(kA, "content-removed"), nullptr);
  EXPECT_OK(pool->RemoveImage(ImageName("content-removed")));
}

/// In a librbd that has it (19.2.4 and newer); older ones know no such mode.
TEST_P(ContractTest, ATransientLockIsThereOrIsNoModeOfLibrbd) {
  MakeImage(kA, "content-transient");
  const absl::StatusOr<bool> has =
      Look(kA, "content-transient")->HasTransientLock();
  ASSERT_OK(has);
  EXPECT_THAT(*Look(kA, "content-transient")->Lockers(), IsEmpty());
  ASSERT_OK(Change(kA, "content-transient", [&](Image& image) {
    const absl::Status locked = image.AcquireLock(LockMode::kTransient);
    EXPECT_EQ(image.HoldsLock().value_or(!*has), *has) << locked;
    if (*has) {
      EXPECT_OK(locked);
      EXPECT_OK(image.CreateSnapshot("within"));
    } else {
      EXPECT_THAT(locked, HasErrno(EOPNOTSUPP));
    }
    EXPECT_OK(image.ReleaseLock());
    EXPECT_FALSE(image.HoldsLock().value_or(true));
    return image.ReleaseLock();
  }));
  EXPECT_THAT(*Look(kA, "content-transient")->Snapshots(),
              SizeIs(*has ? 1 : 0));
}

TEST_P(ContractTest, ALockIsHeldUntilTheImageIsClosed) {
  MakeImage(kA, "content-locked");
  ASSERT_OK(Change(kA, "content-locked", [](Image& image) {
    EXPECT_OK(image.AcquireLock(LockMode::kExclusive));
    EXPECT_THAT(*Look(kA, "content-locked")->Lockers(), SizeIs(1));
    EXPECT_TRUE(image.HoldsLock().value_or(false));
    return image.SetMetadata("k", "v");
  }));
  EXPECT_THAT(*Look(kA, "content-locked")->Lockers(), IsEmpty());
}

TEST_P(ContractTest, AMirrorSnapshotIsReadByItsId) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto head = Look(kA, kStanding)->Read(Objects(kBytes));
  ASSERT_OK(head);
  const auto image = Look(kA, kStanding);
  const auto snapshots = image->MirrorSnapshots();
  ASSERT_OK(snapshots);
  ASSERT_FALSE(snapshots->empty());
  EXPECT_THAT(image->SelectSnapshot(snapshots->back().id + 1000),
              StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(image->SelectSnapshot(snapshots->back().id));
  EXPECT_EQ(image->Layout()->bytes, kBytes);
  const auto content = image->Read(Objects(kBytes));
  ASSERT_OK(content);
  for (size_t i = 0; i < head->size(); ++i) {
    EXPECT_EQ((*content)[i].bytes, (*head)[i].bytes) << i;
  }
}

TEST_P(ContractTest, WhatWasWrittenSinceASnapshotIsTold) {
  MakeImage(kA, "content-diff");
  ASSERT_OK(bed().Write(kA, "content-diff", 7));
  ASSERT_OK(Change(kA, "content-diff", [](Image& image) {
    return image.MirrorEnable(MirrorMode::kSnapshot);
  }));
  const auto layout = Look(kA, "content-diff")->Layout();
  ASSERT_OK(layout);
  ASSERT_NE(layout->object_prefix, "");
  const auto since = [&](uint64_t snapshot) {
    auto changed = ChangedRanges(
        *OpenPool(kA, Access::kRead), *layout, {{snapshot, kHead}}, kBytes,
        [](uint64_t, uint64_t) { return absl::OkStatus(); });
    EXPECT_OK(changed);
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (const ImageRange& range : *changed) {
      ranges.emplace_back(range.offset, range.length);
    }
    return ranges;
  };
  const auto write = [&](const ImageData& data) {
    ASSERT_OK(Change(kA, "content-diff", [&](Image& image) {
      EXPECT_OK(image.Write({data}));
      return image.Flush();
    }));
  };
  const auto snapshot = Newest(kA, "content-diff");
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_THAT(since(snapshot->id), IsEmpty());
  write({{kObject, kObject}, std::string(kObject, 'x')});
  EXPECT_THAT(since(snapshot->id), ElementsAre(std::pair(kObject, kObject)));
  write({{3 * kObject, kObject}, ""});  // zeros
  EXPECT_THAT(since(snapshot->id),
              ElementsAre(std::pair(kObject, kObject),
                          std::pair(3 * kObject, kObject)));
  EXPECT_THAT(since(kHead), IsEmpty());

  const auto absent =
      OpenPool(kA, Access::kRead)->ListSnapshots({"no-such-object"});
  ASSERT_OK(absent);
  ASSERT_THAT(*absent, SizeIs(1));
  EXPECT_THAT(absent->front().clones, IsEmpty());
}

// So mirroring carries nothing of it: rbd-mirror asks the object maps.
TEST_P(ContractTest, AfterARollbackTheObjectMapCallsUnchangedWhatChanged) {
  constexpr char kImage[] = "content-rollback";
  constexpr size_t kObjects = kBytes / kObject;
  MakeImage(kA, kImage);
  ASSERT_OK(bed().Write(kA, kImage, 7));
  ASSERT_OK(Change(kA, kImage, [](Image& image) {
    return image.MirrorEnable(MirrorMode::kSnapshot);
  }));
  // What was written before the older one is clean in the newer one.
  ASSERT_OK(bed().CreateSnapshot(kA, kImage, "older"));
  ASSERT_OK(bed().CreateSnapshot(kA, kImage, "restore-point"));
  const std::string restored = *bed().Fingerprint(kA, kImage);
  const auto mirror = [&] {
    EXPECT_OK(Change(kA, kImage, [](Image& image) {
      return image.CreateMirrorSnapshot().status();
    }));
    return Newest(kA, kImage)->id;
  };
  const auto map_of = [&](uint64_t state) {
    const auto map = ReadObjectMap(*OpenPool(kA, Access::kRead),
                                   IdOf(kA, kImage), state, kObjects);
    EXPECT_OK(map);
    std::vector<ObjectState> states;
    for (size_t i = 0; map->has_value() && i < (*map)->objects(); ++i) {
      states.push_back((*map)->At(i));
    }
    return states;
  };
  const std::vector<ObjectState> clean(kObjects, ObjectState::kExistsClean);
  const std::vector<ObjectState> changed(kObjects, ObjectState::kExists);

  ASSERT_OK(bed().Write(kA, kImage, 8));
  EXPECT_EQ(map_of(kHead), changed);
  const uint64_t written = mirror();
  EXPECT_EQ(map_of(written), changed);
  EXPECT_EQ(map_of(kHead), clean);
  ASSERT_OK(bed().RollBack(kA, kImage, "restore-point"));
  EXPECT_EQ(*bed().Fingerprint(kA, kImage), restored);
  EXPECT_EQ(map_of(kHead), clean);
  const uint64_t rolled_back = mirror();
  EXPECT_EQ(map_of(rolled_back), clean);

  const auto pool = OpenPool(kA, Access::kRead);
  const auto layout = Look(kA, kImage)->Layout();
  ASSERT_OK(layout);
  std::vector<std::string> objects;
  for (size_t i = 0; i < kObjects; ++i) {
    objects.push_back(DataObjectName(*layout, i));
  }
  const auto listed = pool->ListSnapshots(objects);
  ASSERT_OK(listed);
  for (size_t i = 0; i < kObjects; ++i) {
    EXPECT_FALSE(ObjectDifference((*listed)[i], {written, rolled_back}).empty())
        << i;
    EXPECT_NE(pool->ReadObject(objects[i], written, kObject).value()->bytes,
              pool->ReadObject(objects[i], rolled_back, kObject).value()->bytes)
        << i;
  }

  // A write is noted before it is made, as ever.
  ASSERT_OK(Change(kA, kImage, [&](Image& image) {
    EXPECT_OK(image.Write({{{kObject, kObject}, std::string(kObject, 'x')}}));
    return image.Flush();
  }));
  std::vector<ObjectState> one = clean;
  one[1] = ObjectState::kExists;
  EXPECT_EQ(map_of(kHead), one);
  EXPECT_EQ(*ReadObjectMap(*pool, "no-such-image", kHead, kObjects),
            std::nullopt);
}

TEST_P(ContractTest, AnObjectIsReplacedAsLongAsItIsWhatWasSeen) {
  MakeImage(kA, "content-object");
  ASSERT_OK(bed().Write(kA, "content-object", 7));
  ASSERT_OK(Change(kA, "content-object", [](Image& image) {
    return image.MirrorEnable(MirrorMode::kSnapshot);
  }));
  const auto snapshot = Newest(kA, "content-object");
  ASSERT_TRUE(snapshot.has_value());
  const auto layout = Look(kA, "content-object")->Layout();
  ASSERT_OK(layout);
  const std::string object =
      absl::StrCat(layout->object_prefix, ".0000000000000001");
  const auto pool = OpenPool(kA, Access::kMutate);
  const auto read = [&](uint64_t state) {
    auto found = pool->ReadObject(object, state, kObject);
    EXPECT_OK(found);
    return *std::move(found);
  };

  const auto replace = [&](std::optional<uint64_t> version,
                           const std::optional<std::string>& bytes) {
    const auto replaced = pool->ReplaceObject(object, version, bytes);
    EXPECT_OK(replaced);
    return *replaced;
  };

  const auto first = read(kHead);
  ASSERT_TRUE(first.has_value());
  ASSERT_FALSE(first->bytes.empty());
  const std::string before = *bed().Fingerprint(kA, "content-object");
  ASSERT_OK(Change(kA, "content-object", [&](Image& image) {
    EXPECT_OK(image.Write({{{kObject, kObject}, std::string(kObject, 'x')}}));
    return image.Flush();
  }));
  const auto written = read(kHead);
  ASSERT_TRUE(written.has_value());
  EXPECT_NE(written->version, first->version);
  EXPECT_TRUE(written->bytes == std::string(kObject, 'x'));
  ASSERT_TRUE(read(snapshot->id).has_value());
  EXPECT_TRUE(read(snapshot->id)->bytes == first->bytes);

  // What was seen before is not what is there.
  EXPECT_FALSE(replace(first->version, first->bytes));
  EXPECT_FALSE(replace(std::nullopt, first->bytes));
  EXPECT_FALSE(replace(std::nullopt, std::nullopt));
  EXPECT_TRUE(read(kHead)->bytes == written->bytes);
  EXPECT_TRUE(replace(written->version, first->bytes));
  EXPECT_EQ(*bed().Fingerprint(kA, "content-object"), before);
  EXPECT_TRUE(read(snapshot->id)->bytes == first->bytes);

  EXPECT_TRUE(replace(read(kHead)->version, std::nullopt));
  EXPECT_FALSE(read(kHead).has_value());
  EXPECT_TRUE(read(snapshot->id)->bytes == first->bytes);
  EXPECT_FALSE(replace(first->version, first->bytes));
  EXPECT_TRUE(replace(std::nullopt, first->bytes));
  EXPECT_EQ(*bed().Fingerprint(kA, "content-object"), before);
}

/// The id of a user's snapshot; 0: there is none, or not yet.
uint64_t UserSnapshot(Image* image, const std::string& name) {
  if (image == nullptr) return 0;
  const auto all = image->Snapshots();
  if (!all.ok()) return 0;
  for (const ImageSnapshot& snapshot : *all) {
    if (snapshot.name == name && snapshot.kind == SnapshotKind::kUser) {
      return snapshot.id;
    }
  }
  return 0;
}

// What a proof that a copy is whole rests on (points/).
TEST_P(ContractTest, ASnapshotOfAUserTravelsWithTheNextMirrorSnapshot) {
  const std::string image_name = kPoint;
  NeedMirrored(image_name);
  ASSERT_OK(bed().Write(kA, image_name, 7));
  uint64_t made = 0;
  ASSERT_OK(Change(kA, image_name, [&](Image& image) -> absl::Status {
    const absl::Status created = image.CreateSnapshot("a-point");
    if (!created.ok()) return created;
    made = UserSnapshot(&image, "a-point");
    EXPECT_THAT(image.CreateSnapshot("a-point"),
                StatusIs(absl::StatusCode::kAlreadyExists));
    return image.CreateMirrorSnapshot().status();
  }));
  ASSERT_NE(made, 0U);
  const uint64_t carrier = Newest(kA, image_name)->id;
  ASSERT_GT(carrier, made);
  // Whole: a complete mirror snapshot of a later one of the primary.
  ASSERT_TRUE(bed().WaitFor(
      [&] {
        const auto newest = Newest(kB, image_name);
        return newest.has_value() && newest->complete &&
               newest->primary_snapshot_id >= carrier;
      },
      kCopyLimit));
  ASSERT_OK(bed().Write(kA, image_name, 8));
  const auto object_at = [&](Site site, uint64_t snapshot) {
    const auto image = Look(site, image_name);
    const auto pool = OpenPool(site, Access::kRead);
    return *ReadObjectAt(*pool, *image->Layout(), 0, snapshot);
  };
  const uint64_t there = UserSnapshot(Look(kB, image_name).get(), "a-point");
  ASSERT_NE(there, 0U);
  const auto held = object_at(kA, made);
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(object_at(kB, there), held);
  EXPECT_NE(object_at(kA, kHead), held);
  // Removed, it goes likewise.
  ASSERT_OK(Change(kA, image_name, [&](Image& image) -> absl::Status {
    const absl::Status removed = image.RemoveSnapshot(made);
    return removed.ok() ? image.CreateMirrorSnapshot().status() : removed;
  }));
  EXPECT_TRUE(bed().WaitFor(
      [&] { return UserSnapshot(Look(kB, image_name).get(), "a-point") == 0; },
      kCopyLimit));
}

TEST_P(ContractTest, ASnapshotIsRemovedByItsId) {
  MakeImage(kA, "content-snapshot");
  ASSERT_OK(Change(kA, "content-snapshot", [](Image& image) {
    return image.MirrorEnable(MirrorMode::kSnapshot);
  }));
  const auto before = Newest(kA, "content-snapshot");
  ASSERT_TRUE(before.has_value());
  ASSERT_OK(Change(kA, "content-snapshot", [](Image& image) {
    return image.CreateMirrorSnapshot().status();
  }));
  const uint64_t made = Newest(kA, "content-snapshot")->id;
  ASSERT_NE(made, before->id);
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(Change(kA, "content-snapshot",
                     [&](Image& image) { return image.RemoveSnapshot(made); }));
    EXPECT_NE(Newest(kA, "content-snapshot")->id, made);
  }
  ASSERT_OK(bed().CreateSnapshot(kA, "content-snapshot", "of-a-user"));
  const auto of_user = [] {
    const auto all = Look(kA, "content-snapshot")->Snapshots();
    EXPECT_OK(all);
    const auto found = std::find_if(
        all->begin(), all->end(),
        [](const auto& snapshot) { return snapshot.name == "of-a-user"; });
    return found == all->end() ? uint64_t{0} : found->id;
  };
  const uint64_t id = of_user();
  ASSERT_NE(id, 0U);
  ASSERT_OK(Change(kA, "content-snapshot",
                   [&](Image& image) { return image.RemoveSnapshot(id); }));
  EXPECT_EQ(of_user(), 0U);
}

}  // namespace
}  // namespace addons
