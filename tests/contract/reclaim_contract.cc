// What space reclaim relies on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/image_objects.h"
#include "ceph/object_map.h"
#include "tests/contract/contract_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::chrono::seconds kMeasureLimit{10};

std::optional<uint64_t> Used(Image& image) {
  const auto used = image.UsedBytes(kMeasureLimit);
  EXPECT_OK(used);
  return used.value_or(std::nullopt);
}

TEST_P(ContractTest, NewImageHasALockFastDiffAndNothingInIt) {
  MakeImage(kA, "reclaim-new");
  const auto image = Look(kA, "reclaim-new");
  const auto features = image->Features();
  ASSERT_OK(features);
  EXPECT_TRUE(features->exclusive_lock);
  EXPECT_TRUE(features->fast_diff);
  EXPECT_FALSE(features->migrating);
  EXPECT_EQ(Used(*image), 0U);
}

TEST_P(ContractTest, WrittenObjectsCountAsUsed) {
  MakeImage(kA, "reclaim-used");
  ASSERT_OK(bed().Write(kA, "reclaim-used", 1));
  EXPECT_EQ(Used(*Look(kA, "reclaim-used")), kBytes);
}

TEST_P(ContractTest, TheObjectMapOfAnImageTellsWhatIsUsed) {
  MakeImage(kA, "reclaim-map");
  const std::string id = IdOf(kA, "reclaim-map");
  const auto pool = OpenPool(kA, Access::kRead);
  const auto exist = [&] {
    const auto header = pool->Header(id);
    EXPECT_OK(header);
    EXPECT_TRUE(header->features.fast_diff);
    const auto map = ReadObjectMap(*pool, id, kHead, header->size.objects);
    EXPECT_OK(map);
    EXPECT_EQ((*map)->objects(), header->size.objects);
    uint64_t count = 0;
    for (uint64_t i = 0; i < header->size.objects; ++i) {
      count += (*map)->At(i) != ObjectState::kNonexistent ? 1 : 0;
    }
    return count * header->size.object_bytes;
  };
  EXPECT_EQ(exist(), 0U);
  ASSERT_OK(bed().Write(kA, "reclaim-map", 1));
  EXPECT_EQ(exist(), kBytes);
  EXPECT_EQ(Used(*Look(kA, "reclaim-map")), kBytes);
}

TEST_P(ContractTest, WhoHasAnImageIsSeenWithoutOpeningIt) {
  MakeImage(kA, "reclaim-who");
  const auto pool = OpenPool(kA, Access::kRead);
  const std::string header = HeaderObject(IdOf(kA, "reclaim-who"));
  const ObjectLock lock{header, kImageLockName, ""};
  EXPECT_THAT(pool->ObjectLockers(lock).value(), IsEmpty());
  EXPECT_THAT(pool->ListWatchers(header).value(), IsEmpty());
  ASSERT_OK(Change(kA, "reclaim-who", [&](Image& image) {
    const absl::Status set = image.SetMetadata("k", "v");
    const auto opened = Look(kA, "reclaim-who");
    const auto lockers = pool->ObjectLockers(lock);
    EXPECT_OK(lockers);
    EXPECT_THAT(*lockers, SizeIs(1));
    EXPECT_EQ(lockers->front().client, opened->Lockers()->front().client);
    EXPECT_EQ(lockers->front().cookie, opened->Lockers()->front().cookie);
    const auto watchers = pool->ListWatchers(header);
    EXPECT_OK(watchers);
    EXPECT_THAT(*watchers, SizeIs(1));
    EXPECT_EQ(watchers->front().client_id,
              opened->Watchers()->front().client_id);
    return set;
  }));
  EXPECT_THAT(pool->ObjectLockers(lock).value(), IsEmpty());
  EXPECT_THAT(pool->ListWatchers(header).value(), IsEmpty());
}

TEST_P(ContractTest, MetadataIsRemovedWithoutOpeningTheImage) {
  MakeImage(kA, "reclaim-mark");
  ASSERT_OK(Change(kA, "reclaim-mark",
                   [](Image& image) { return image.SetMetadata("k", "v"); }));
  const auto pool = OpenPool(kA, Access::kMutate);
  const std::string header = HeaderObject(IdOf(kA, "reclaim-mark"));
  EXPECT_FALSE(pool->RemoveOmapValue(header, MetadataKey("k"), "w").value());
  EXPECT_EQ(Look(kA, "reclaim-mark")->Metadata("k").value(), "v");
  EXPECT_TRUE(pool->RemoveOmapValue(header, MetadataKey("k"), "v").value());
  EXPECT_EQ(Look(kA, "reclaim-mark")->Metadata("k").value(), std::nullopt);
}

TEST_P(ContractTest, SnapshotsOfAllKindsAreListed) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto mirrored = Look(kA, kStanding)->Snapshots();
  ASSERT_OK(mirrored);
  ASSERT_FALSE(mirrored->empty());
  EXPECT_EQ(mirrored->back().kind, SnapshotKind::kMirror);

  MakeImage(kA, "reclaim-parent");
  EXPECT_THAT(*Look(kA, "reclaim-parent")->Snapshots(), IsEmpty());
  ASSERT_OK(bed().CreateClone(kA, "reclaim-parent", "reclaim-clone"));
  const auto user = Look(kA, "reclaim-parent")->Snapshots();
  ASSERT_OK(user);
  ASSERT_THAT(*user, SizeIs(1));
  EXPECT_EQ(user->front().kind, SnapshotKind::kUser);
  EXPECT_EQ(user->front().name, "for-reclaim-clone");
}

TEST_P(ContractTest, WritingMetadataTakesAFreeLockAndClosingReleasesIt) {
  MakeImage(kA, "reclaim-lock");
  ASSERT_OK(Change(kA, "reclaim-lock", [](Image& image) -> absl::Status {
    const auto holds = image.HoldsLock();
    EXPECT_FALSE(holds.value_or(true));
    return holds.status();
  }));
  ASSERT_OK(Change(kA, "reclaim-lock", [](Image& image) {
    const absl::Status set = image.SetMetadata("k", "v");
    EXPECT_TRUE(image.HoldsLock().value_or(false));
    EXPECT_THAT(*Look(kA, "reclaim-lock")->Lockers(), SizeIs(1));
    return set;
  }));
  EXPECT_THAT(*Look(kA, "reclaim-lock")->Lockers(), IsEmpty());
}

TEST_P(ContractTest, AFlushTakesAFreeLockAsAWriteDoes) {
  MakeImage(kA, "reclaim-flush");
  ASSERT_OK(Change(kA, "reclaim-flush", [](Image& image) {
    const absl::Status flushed = image.Flush();
    EXPECT_TRUE(image.HoldsLock().value_or(false));
    return flushed;
  }));
  EXPECT_THAT(*Look(kA, "reclaim-flush")->Lockers(), IsEmpty());
}

TEST_P(ContractTest, SparsifyReportsObjectsAndKeepsTheContent) {
  MakeImage(kA, "reclaim-whole");
  ASSERT_OK(bed().Write(kA, "reclaim-whole", 7));
  const auto before = bed().Fingerprint(kA, "reclaim-whole");
  const uint64_t objects = Look(kA, "reclaim-whole")->Size()->objects;
  std::vector<uint64_t> seen;
  absl::StatusOr<SparsifyEnd> end = absl::UnknownError("not called");
  ASSERT_OK(Change(kA, "reclaim-whole", [&](Image& image) {
    end = image.Sparsify(4096, [&](uint64_t done, uint64_t total) {
      EXPECT_EQ(total, objects);
      seen.push_back(done);
      return true;
    });
    return end.status();
  }));
  EXPECT_EQ(*end, SparsifyEnd::kFinished);
  EXPECT_THAT(seen, SizeIs(objects));
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(*bed().Fingerprint(kA, "reclaim-whole"), *before);
}

TEST_P(ContractTest, SparsifyStopsAtOnceAndTheHandleStaysGood) {
  MakeImage(kA, "reclaim-stop");
  ASSERT_OK(bed().Write(kA, "reclaim-stop", 7));
  ASSERT_OK(Change(kA, "reclaim-stop", [](Image& image) {
    int calls = 0;
    const auto end = image.Sparsify(4096, [&](uint64_t, uint64_t) {
      ++calls;
      return false;
    });
    EXPECT_OK(end);
    EXPECT_EQ(*end, SparsifyEnd::kStopped);
    EXPECT_EQ(calls, 1);
    return image.SetMetadata("still", "good");
  }));
}

TEST_P(ContractTest, SparsifyRefusesOtherSizes) {
  MakeImage(kA, "reclaim-size");
  for (const uint64_t size : {uint64_t{512}, uint64_t{5000}, kBytes}) {
    EXPECT_THAT(Change(kA, "reclaim-size",
                       [&](Image& image) {
                         return image.Sparsify(size, nullptr).status();
                       }),
                HasErrno(EINVAL))
        << size;
  }
}

}  // namespace
}  // namespace addons
