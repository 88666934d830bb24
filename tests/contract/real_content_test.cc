// What changed in an image of a real cluster, and what it takes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ceph/image_diff.h"
#include "ceph/pool.h"
#include "tests/cluster/real_bed.h"
#include "tests/contract/real_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

const bool kContentBed = ::addons::testing::OnBluestore();

using ::addons::testing::Bed;
using ::addons::testing::RealBed;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

/// What differs between two states, against what was written.
class RealDiffTest : public RealTest {
 protected:
  std::string Make(const std::vector<std::string>& flags) {
    std::string image = Name("image");
    std::vector<std::string> args = {"a", "create", "--size", "48M",
                                     absl::StrCat(RealBed::kPool, "/", image)};
    args.insert(args.end(), flags.begin(), flags.end());
    EXPECT_OK(Bed().Run("rbd", args));
    return image;
  }
  void Put(const std::string& name, uint64_t offset, uint64_t length) {
    const auto image = OpenWritable(name);
    EXPECT_OK(image->Write({{{offset, length}, std::string(length, 'x')}}));
    EXPECT_OK(image->Flush());
  }
  void Snapshot(const std::string& name, const std::string& snapshot) {
    EXPECT_OK(Bed().Run(
        "rbd", {"a", "snap", "create",
                absl::StrCat(RealBed::kPool, "/", name, "@", snapshot)}));
  }
  std::vector<std::pair<uint64_t, uint64_t>> Changed(
      const std::string& name, const ImageStates& states) {
    const auto image = OpenReadOnly(name);
    const ImageLayout layout = image->Layout().value();
    const auto data =
        Connect("a").value()->OpenPool(layout.data_pool_id, "", Access::kRead);
    const auto ranges =
        ChangedRanges(**data, layout, {states}, layout.bytes,
                      [](uint64_t, uint64_t) { return absl::OkStatus(); });
    EXPECT_OK(ranges);
    std::vector<std::pair<uint64_t, uint64_t>> pairs;
    for (const ImageRange& range : *ranges) {
      pairs.emplace_back(range.offset, range.length);
    }
    return pairs;
  }
  uint64_t SnapshotId(const std::string& name, const std::string& snapshot) {
    const auto snapshots = OpenReadOnly(name)->Snapshots();
    EXPECT_OK(snapshots);
    for (const ImageSnapshot& one : *snapshots) {
      if (one.name == snapshot) return one.id;
    }
    return 0;
  }
  /// Writes here and there; the image must tell of just that, in 4 KiB blocks.
  void ExpectExact(const std::string& name) {
    constexpr uint64_t kMiB = uint64_t{1} << 20;
    Put(name, 0, 8 * kMiB);
    Snapshot(name, "s1");
    Put(name, 5 * kMiB + 4096, 512);  // an overwrite
    Put(name, 7 * kMiB - 100, kMiB);  // beyond what was there
    Put(name, 40 * kMiB, 70000);      // a new object
    const std::vector<std::pair<uint64_t, uint64_t>> first = {
        {5 * kMiB + 4096, 4096},
        {7 * kMiB - 4096, kMiB + 4096},
        {40 * kMiB, 73728}};
    EXPECT_EQ(Changed(name, {SnapshotId(name, "s1"), kHead}), first);
    Snapshot(name, "s2");
    EXPECT_EQ(Changed(name, {SnapshotId(name, "s1"), SnapshotId(name, "s2")}),
              first);
    EXPECT_THAT(Changed(name, {SnapshotId(name, "s2"), kHead}), IsEmpty());
    Put(name, 40 * kMiB, 4096);
    EXPECT_THAT(Changed(name, {SnapshotId(name, "s2"), kHead}),
                ElementsAre(Pair(40 * kMiB, 4096)));
    EXPECT_EQ(Changed(name, {SnapshotId(name, "s1"), SnapshotId(name, "s2")}),
              first);
  }
};

TEST_F(RealDiffTest, IsExactWithOrdinaryObjects) { ExpectExact(Make({})); }

TEST_F(RealDiffTest, IsExactWithSmallObjects) {
  ExpectExact(Make({"--object-size", "1M"}));
}

TEST_F(RealDiffTest, LeavesNothingOutWithStripes) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  const std::string name = Make(
      {"--object-size", "4M", "--stripe-unit", "65536", "--stripe-count", "3"});
  Put(name, 0, 8 * kMiB);
  Snapshot(name, "s1");
  Put(name, 5 * kMiB + 4096, 512);
  const std::vector<std::pair<uint64_t, uint64_t>> overwritten = {
      {5 * kMiB + 4096, 4096}};
  EXPECT_EQ(Changed(name, {SnapshotId(name, "s1"), kHead}), overwritten);
  // An object that is new counts from its beginning to its end, and its pieces
  // lie beside those of others: more than was written, never less.
  Put(name, 40 * kMiB, 70000);
  const auto changed = Changed(name, {SnapshotId(name, "s1"), kHead});
  for (uint64_t at = 40 * kMiB; at < 40 * kMiB + 70000; at += 4096) {
    EXPECT_TRUE(std::any_of(changed.begin(), changed.end(),
                            [&](const auto& range) {
                              return range.first <= at &&
                                     at + 4096 <= range.first + range.second;
                            }))
        << at;
  }
}

TEST_F(RealDiffTest, IsExactWithoutObjectMap) {
  ExpectExact(Make({"--image-feature", "layering,exclusive-lock"}));
}

// The first write to an object of a clone copies the parent's up, also into
// the snapshots there are: so it is not absent in the earlier state.
TEST_F(RealDiffTest, OfACloneIsExactWhereAWriteCopiesTheParentUp) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  const std::string golden = Make({});
  Put(golden, 0, 16 * kMiB);
  Snapshot(golden, "s");
  const std::string name = Name("clone");
  ASSERT_OK(Bed().Run("rbd", {"a", "clone", "--rbd-default-clone-format", "2",
                              absl::StrCat(RealBed::kPool, "/", golden, "@s"),
                              absl::StrCat(RealBed::kPool, "/", name)}));
  Put(name, 0, 4096);  // its first object is its own from here on
  Snapshot(name, "s1");
  Put(name, 5 * kMiB, 4096);
  const ImageStates since{SnapshotId(name, "s1"), kHead, AbsentObject::kParent};
  EXPECT_THAT(Changed(name, since), ElementsAre(Pair(5 * kMiB, 4096)));
  Put(name, 0, 512);
  EXPECT_THAT(Changed(name, since),
              ElementsAre(Pair(0, 4096), Pair(5 * kMiB, 4096)));
}

TEST_F(RealDiffTest, IsExactWithADataPool) {
  // Makes the pool.
  ASSERT_OK(Bed().Run("volume", {"a", "pvc-diff", "--data-pool", "data"}));
  ExpectExact(Make({"--data-pool", "data"}));
}

TEST_F(RealTest, WithoutFastDiffObjectsAreAskedUntilTheTimeIsOver) {
  const std::string name = Name("image");
  ASSERT_OK(
      Bed().Run("rbd", {"a", "create", "--size", "1G", "--image-feature",
                        "layering", absl::StrCat(RealBed::kPool, "/", name)}));
  ASSERT_OK(Bed().Run("rbd", {"a", "bench", "--io-type", "write", "--io-size",
                              "4096", "--io-total", "4096", "--io-threads", "1",
                              absl::StrCat(RealBed::kPool, "/", name)}));
  const auto image = OpenReadOnly(name);
  EXPECT_FALSE(image->Features()->fast_diff);
  EXPECT_EQ(image->UsedBytes(seconds(30)).value(), 4096U);
  EXPECT_EQ(image->UsedBytes(seconds(0)).value(), std::nullopt);
}

}  // namespace
}  // namespace addons
