// Objects with omap.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ceph/pool.h"
#include "tests/contract/contract_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// --- reading and replacing

TEST_P(ContractTest, OmapReadGivesTheEntriesWithThePrefix) {
  ASSERT_OK(bed().CreateOmap(kA, "omap-prefix",
                             {{"csi.a", "1"}, {"csi.b", ""}, {"other", "3"}}));
  const auto values =
      OpenPool(kA, Access::kRead)->ReadOmap("omap-prefix", "csi.");
  ASSERT_OK(values);
  EXPECT_THAT(*values,
              UnorderedElementsAre(Pair("csi.a", "1"), Pair("csi.b", "")));
}

TEST_P(ContractTest, OmapReadGivesMoreEntriesThanOnePageHolds) {
  OmapValues many;
  for (int i = 0; i < 1500; ++i)
    many[absl::StrFormat("key-%04d", i)] = absl::StrCat(i);
  ASSERT_OK(bed().CreateOmap(kA, "omap-many", many));
  const auto values = OpenPool(kA, Access::kRead)->ReadOmap("omap-many", "");
  ASSERT_OK(values);
  EXPECT_EQ(*values, many);
}

TEST_P(ContractTest, OmapReadOfAnAbsentObjectIsNotFound) {
  EXPECT_THAT(OpenPool(kA, Access::kRead)->ReadOmap("omap-absent", ""),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(ContractTest, ReplaceChangesTheExpectedValue) {
  ASSERT_OK(
      bed().CreateOmap(kA, "omap-replace", {{"id", "old"}, {"name", "n"}}));
  const auto pool = OpenPool(kA, Access::kMutate);
  const auto replaced =
      pool->ReplaceOmapValue("omap-replace", "id", "old", "new");
  ASSERT_OK(replaced);
  EXPECT_TRUE(*replaced);
  EXPECT_THAT(*pool->ReadOmap("omap-replace", ""),
              UnorderedElementsAre(Pair("id", "new"), Pair("name", "n")));
}

TEST_P(ContractTest, ReplaceLeavesAnUnexpectedValue) {
  ASSERT_OK(bed().CreateOmap(kA, "omap-other", {{"id", "theirs"}}));
  const auto pool = OpenPool(kA, Access::kMutate);
  const auto replaced =
      pool->ReplaceOmapValue("omap-other", "id", "old", "new");
  ASSERT_OK(replaced);
  EXPECT_FALSE(*replaced);
  EXPECT_THAT(*pool->ReadOmap("omap-other", ""),
              ElementsAre(Pair("id", "theirs")));
}

TEST_P(ContractTest, ReplaceSetsAnAbsentKeyWhenNoneIsExpected) {
  ASSERT_OK(bed().CreateOmap(kA, "omap-set", {{"name", "n"}}));
  const auto pool = OpenPool(kA, Access::kMutate);
  const auto replaced =
      pool->ReplaceOmapValue("omap-set", "id", std::nullopt, "new");
  ASSERT_OK(replaced);
  EXPECT_TRUE(*replaced);
  EXPECT_THAT(*pool->ReadOmap("omap-set", "id"),
              ElementsAre(Pair("id", "new")));
}

TEST_P(ContractTest, ReplaceLeavesAPresentKeyWhenNoneIsExpected) {
  ASSERT_OK(bed().CreateOmap(kA, "omap-present", {{"id", "theirs"}}));
  const auto pool = OpenPool(kA, Access::kMutate);
  const auto replaced =
      pool->ReplaceOmapValue("omap-present", "id", std::nullopt, "new");
  ASSERT_OK(replaced);
  EXPECT_FALSE(*replaced);
  EXPECT_THAT(*pool->ReadOmap("omap-present", ""),
              ElementsAre(Pair("id", "theirs")));
}

TEST_P(ContractTest, ReplaceDoesNothingWhenTheExpectedKeyIsAbsent) {
  ASSERT_OK(bed().CreateOmap(kA, "omap-gone", {{"name", "n"}}));
  const auto pool = OpenPool(kA, Access::kMutate);
  const auto replaced = pool->ReplaceOmapValue("omap-gone", "id", "old", "new");
  ASSERT_OK(replaced);
  EXPECT_FALSE(*replaced);
  EXPECT_THAT(*pool->ReadOmap("omap-gone", "id"), IsEmpty());
}

TEST_P(ContractTest, ReplaceNeverCreatesTheObject) {
  const auto pool = OpenPool(kA, Access::kMutate);
  EXPECT_THAT(pool->ReplaceOmapValue("omap-never", "id", std::nullopt, "new"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(pool->ReadOmap("omap-never", ""),
              StatusIs(absl::StatusCode::kNotFound));
}

// --- objects and their keys

TEST_P(ContractTest, AnObjectIsCreatedOnce) {
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateObject("object-once"));
  EXPECT_THAT(pool->CreateObject("object-once"),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(*pool->ReadOmap("object-once", ""), IsEmpty());
}

TEST_P(ContractTest, AnObjectIsRemovedHoweverOften) {
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateObject("object-gone"));
  EXPECT_OK(pool->RemoveObject("object-gone"));
  EXPECT_OK(pool->RemoveObject("object-gone"));
  EXPECT_THAT(pool->ReadOmap("object-gone", ""),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(ContractTest, OmapValuesAreSetAndRemoved) {
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateObject("omap-keys"));
  ASSERT_OK(
      pool->SetOmapValues("omap-keys", {{"a", "1"}, {"b", ""}, {"c", "3"}}));
  ASSERT_OK(pool->SetOmapValues("omap-keys", {{"a", "2"}}));
  ASSERT_OK(pool->RemoveOmapKeys("omap-keys", {"c", "absent"}));
  EXPECT_THAT(*pool->ReadOmap("omap-keys", ""),
              UnorderedElementsAre(Pair("a", "2"), Pair("b", "")));
}

TEST_P(ContractTest, SettingAndRemovingValuesNeverCreatesTheObject) {
  const auto pool = OpenPool(kA, Access::kMutate);
  EXPECT_THAT(pool->SetOmapValues("omap-nowhere", {{"a", "1"}}),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(pool->RemoveOmapKeys("omap-nowhere", {"a"}),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(pool->RemoveOmapValue("omap-nowhere", "a", "1"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(pool->ReadOmap("omap-nowhere", ""),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(ContractTest, AValueIsRemovedOnlyWhenItIsTheExpectedOne) {
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateObject("omap-compare"));
  ASSERT_OK(pool->SetOmapValues("omap-compare", {{"a", "mine"}}));
  EXPECT_FALSE(*pool->RemoveOmapValue("omap-compare", "a", "theirs"));
  EXPECT_FALSE(*pool->RemoveOmapValue("omap-compare", "absent", "mine"));
  EXPECT_EQ(*pool->ReadOmapKey("omap-compare", "a"), "mine");
  EXPECT_TRUE(*pool->RemoveOmapValue("omap-compare", "a", "mine"));
  EXPECT_EQ(*pool->ReadOmapKey("omap-compare", "a"), std::nullopt);
}

TEST_P(ContractTest, KeysOfOneObjectAreSetByManyAtTheSameTime) {
  ASSERT_OK(OpenPool(kA, Access::kMutate)->CreateObject("omap-crowd"));
  constexpr int kWriters = 16;
  constexpr int kKeysOfEach = 30;
  std::atomic<int> set{0};
  {
    std::vector<std::jthread> writers;
    for (int writer = 0; writer < kWriters; ++writer) {
      writers.emplace_back([this, writer, &set] {
        const auto pool = OpenPool(kA, Access::kMutate);
        for (int i = 0; i < kKeysOfEach; ++i) {
          const auto done =
              pool->ReplaceOmapValue("omap-crowd", absl::StrCat(writer, "-", i),
                                     std::nullopt, absl::StrCat(i));
          EXPECT_OK(done);
          if (done.ok() && *done) ++set;
        }
      });
    }
  }
  EXPECT_EQ(set, kWriters * kKeysOfEach);
  EXPECT_EQ(OpenPool(kA, Access::kRead)->ReadOmap("omap-crowd", "")->size(),
            size_t{kWriters} * kKeysOfEach);
}

TEST_P(ContractTest, OneKeyIsRead) {
  ASSERT_OK(bed().CreateOmap(kA, "omap-key", {{"a", "1"}, {"empty", ""}}));
  const auto pool = OpenPool(kA, Access::kRead);
  EXPECT_EQ(*pool->ReadOmapKey("omap-key", "a"), "1");
  EXPECT_EQ(*pool->ReadOmapKey("omap-key", "empty"), "");
  EXPECT_EQ(*pool->ReadOmapKey("omap-key", "b"), std::nullopt);
  EXPECT_THAT(pool->ReadOmapKey("omap-no-such", "a"),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(ContractTest, AnOmapIsReadPageByPage) {
  ASSERT_OK(bed().CreateOmap(
      kA, "omap-pages",
      {{"k.a", "1"}, {"k.b", "2"}, {"k.c", "3"}, {"l", "4"}, {"a", "0"}}));
  const auto pool = OpenPool(kA, Access::kRead);
  const auto first = pool->ReadOmapPage("omap-pages", "k.", "", 2);
  ASSERT_OK(first);
  EXPECT_THAT(first->values, ElementsAre(Pair("k.a", "1"), Pair("k.b", "2")));
  EXPECT_TRUE(first->more);
  const auto second = pool->ReadOmapPage("omap-pages", "k.", "k.b", 2);
  ASSERT_OK(second);
  EXPECT_THAT(second->values, ElementsAre(Pair("k.c", "3")));
  EXPECT_FALSE(second->more);
  // A key that is gone, or never was, is as good a place to go on from.
  const auto between = pool->ReadOmapPage("omap-pages", "k.", "k.aa", 9);
  ASSERT_OK(between);
  EXPECT_THAT(between->values, ElementsAre(Pair("k.b", "2"), Pair("k.c", "3")));
  const auto end = pool->ReadOmapPage("omap-pages", "k.", "k.c", 9);
  ASSERT_OK(end);
  EXPECT_THAT(end->values, IsEmpty());
  EXPECT_FALSE(end->more);
  EXPECT_THAT(pool->ReadOmapPage("omap-no-such", "k.", "", 2),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace addons
