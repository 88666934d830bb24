// Pools of a real cluster, and the raw shape of their objects' omaps.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
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
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// --- pools

class RealPoolTest : public RealTest {};

TEST_F(RealPoolTest, KnowsIdNameAndNamespace) {
  const auto cluster = Connect("a");
  ASSERT_OK(cluster);
  const auto pool = (*cluster)->OpenPool(Bed().PoolId("a"), RealBed::kNamespace,
                                         Access::kRead);
  ASSERT_OK(pool);
  EXPECT_EQ((*pool)->id(), Bed().PoolId("a"));
  EXPECT_EQ((*pool)->name(), RealBed::kPool);
  EXPECT_EQ((*pool)->rados_namespace(), RealBed::kNamespace);
}

TEST_F(RealPoolTest, DoesNotFindAnUnknownId) {
  const auto cluster = Connect("a");
  ASSERT_OK(cluster);
  for (const int64_t id : {int64_t{4711}, int64_t{-1}}) {
    EXPECT_THAT((*cluster)->OpenPool(id, "", Access::kRead),
                StatusIs(absl::StatusCode::kNotFound,
                         HasSubstr(absl::StrCat("pool with id ", id))));
  }
}

TEST_F(RealPoolTest, FindsAPoolThatWasMadeAfterConnecting) {
  const auto cluster = Connect("a");
  ASSERT_OK(cluster);
  ASSERT_OK(Bed().Run("ceph", {"a", "osd", "pool", "create", "late", "1"}));
  const auto dump = Bed().Run("rados", {"a", "lspools"});
  ASSERT_OK(dump);
  for (int64_t id = Bed().PoolId("a") + 1; id < 10; ++id) {
    const auto pool = (*cluster)->OpenPool(id, "", Access::kRead);
    if (pool.ok() && (*pool)->name() == "late") return;
  }
  FAIL() << "not found in " << *dump;
}

// librados alone waits for a new map without a bound.
TEST_F(RealPoolTest, GivesUpOnAnUnknownIdWhenTheMonitorHangs) {
  const auto cluster = Connect("a");
  ASSERT_OK(cluster);
  ASSERT_OK((*cluster)->OpenPool(Bed().PoolId("a"), "", Access::kRead));
  ASSERT_OK(Bed().Run("stop", {"a", "mon"}));
  const SteadyTime begin = RealClock().Now();
  const auto unknown = (*cluster)->OpenPool(4711, "", Access::kRead);
  const auto known = (*cluster)->OpenPool(Bed().PoolId("a"), "", Access::kRead);
  const SteadyDuration took = RealClock().Now() - begin;
  ASSERT_OK(Bed().Run("cont", {"a", "mon"}));
  EXPECT_THAT(unknown, StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_OK(known);
  EXPECT_LT(took, seconds(8));
}

// --- omap

class RealOmapTest : public RealTest {
 protected:
  absl::StatusOr<bool> Replace(const std::optional<std::string>& expected,
                               const std::string& desired) {
    return pool_->ReplaceOmapValue(object_, "key", expected, desired);
  }
  std::optional<std::string> Value() {
    const OmapValues values = pool_->ReadOmap(object_, "").value();
    const auto it = values.find("key");
    return it == values.end() ? std::nullopt : std::optional(it->second);
  }

  const std::string object_ = MakeObject();
  std::unique_ptr<Pool> pool_ = OpenPool(Access::kMutate);
};

TEST_F(RealOmapTest, ReadsMoreKeysThanOnePageAndBytesOfAnyKind) {
  constexpr int kKeys = 1300;
  OmapValues written;
  for (int i = 0; i < kKeys; ++i) {
    std::string value = absl::StrCat("value ", i);
    value.push_back('\0');
    value.append("\xff\n\x01", 3);
    const std::string key = absl::StrCat("csi.volume.", i);
    ASSERT_OK(pool_->ReplaceOmapValue(object_, key, std::nullopt, value));
    written[key] = value;
  }
  ASSERT_OK(pool_->ReplaceOmapValue(object_, "other", std::nullopt, "x"));
  const auto read = OpenPool(Access::kRead)->ReadOmap(object_, "csi.volume.");
  ASSERT_OK(read);
  EXPECT_EQ(read->size(), static_cast<size_t>(kKeys));
  EXPECT_EQ(*read, written);
}

TEST_F(RealOmapTest, ReadsAnEmptyOmap) {
  const auto read = pool_->ReadOmap(object_, "");
  ASSERT_OK(read);
  EXPECT_THAT(*read, IsEmpty());
}

TEST_F(RealOmapTest, DoesNotFindAnAbsentObject) {
  EXPECT_THAT(pool_->ReadOmap("absent", ""),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("absent")));
}

TEST_F(RealOmapTest, SeparatesNamespaces) {
  const auto other = Connect("a").value()->OpenPool(
      Bed().PoolId("a"), RealBed::kNamespace, Access::kRead);
  ASSERT_OK(other);
  EXPECT_THAT((*other)->ReadOmap(object_, ""),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(RealOmapTest, SetsAKeyThatIsAbsentAsExpected) {
  EXPECT_THAT(Replace(std::nullopt, "new").value(), true);
  EXPECT_EQ(Value(), "new");
}

TEST_F(RealOmapTest, LeavesAKeyThatShouldBeAbsent) {
  ASSERT_OK(Replace(std::nullopt, "old"));
  EXPECT_THAT(Replace(std::nullopt, "new").value(), false);
  EXPECT_EQ(Value(), "old");
}

TEST_F(RealOmapTest, ReplacesTheExpectedValue) {
  ASSERT_OK(Replace(std::nullopt, "old"));
  EXPECT_THAT(Replace("old", "new").value(), true);
  EXPECT_EQ(Value(), "new");
}

TEST_F(RealOmapTest, LeavesAnotherValue) {
  ASSERT_OK(Replace(std::nullopt, "old"));
  EXPECT_THAT(Replace("other", "new").value(), false);
  EXPECT_EQ(Value(), "old");
}

TEST_F(RealOmapTest, LeavesAnAbsentKeyThatShouldHaveAValue) {
  EXPECT_THAT(Replace("old", "new").value(), false);
  EXPECT_EQ(Value(), std::nullopt);
}

// For the comparison of the OSD these two are the same.
TEST_F(RealOmapTest, TellsAnEmptyValueFromAnAbsentKey) {
  EXPECT_THAT(Replace("", "new").value(), false);
  EXPECT_EQ(Value(), std::nullopt);
  EXPECT_THAT(Replace(std::nullopt, "").value(), true);
  EXPECT_THAT(Replace(std::nullopt, "new").value(), false);
  EXPECT_EQ(Value(), "");
  EXPECT_THAT(Replace("", "new").value(), true);
  EXPECT_EQ(Value(), "new");
}

TEST_F(RealOmapTest, ComparesBinaryValuesInFull) {
  const std::string value("a\0b", 3);
  ASSERT_OK(Replace(std::nullopt, value));
  EXPECT_THAT(Replace("a", "new").value(), false);
  EXPECT_THAT(Replace(value, "new").value(), true);
}

TEST_F(RealOmapTest, NeverCreatesAnObject) {
  for (const std::optional<std::string>& expected :
       {std::optional<std::string>(), std::optional<std::string>(""),
        std::optional<std::string>("old")}) {
    EXPECT_THAT(pool_->ReplaceOmapValue("absent", "key", expected, "new"),
                StatusIs(absl::StatusCode::kNotFound));
  }
  EXPECT_THAT(pool_->ReadOmap("absent", ""),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(RealOmapTest, LetsOneOfManyWin) {
  constexpr int kWriters = 8;
  std::atomic<int> won = 0;
  std::vector<std::jthread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] {
      const auto pool = OpenPool(Access::kMutate);
      const auto replaced = pool->ReplaceOmapValue(object_, "key", std::nullopt,
                                                   absl::StrCat("writer ", i));
      EXPECT_OK(replaced);
      if (replaced.ok() && *replaced) ++won;
    });
  }
  writers.clear();
  EXPECT_EQ(won, 1);
}

TEST_F(RealOmapTest, WritesOnlyThroughTheMutationConnection) {
  EXPECT_THAT(OpenPool(Access::kRead)
                  ->ReplaceOmapValue(object_, "key", std::nullopt, "new"),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(Value(), std::nullopt);
}

}  // namespace
}  // namespace addons
