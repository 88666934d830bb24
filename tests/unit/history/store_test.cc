#include "history/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HistoryStoreTest : public ::testing::Test {
 protected:
  static absl::Time At(int minute) {
    return absl::FromUnixSeconds(1795000000) + absl::Minutes(minute);
  }
  void Write(int minute, const std::string& object) {
    HistoryEvent event;
    event.time = event.until = At(minute);
    event.object = object;
    event.text = absl::StrCat(minute);
    ASSERT_OK(WriteHistory(*pool_, {{HistoryKey(event.time, "w", ++number_),
                                     WriteHistoryEvent(event)}}));
  }
  std::vector<std::string> Read(const HistoryQuery& query, bool more = false) {
    const auto found = ReadHistory(*pool_, query);
    EXPECT_OK(found);
    if (!found.ok()) return {};
    EXPECT_EQ(found->more, more);
    std::vector<std::string> texts;
    for (const HistoryEvent& event : found->events) texts.push_back(event.text);
    return texts;
  }

  FakeWorld world_;
  MirroredPair pair_{world_};
  std::shared_ptr<Cluster> cluster_ = pair_.cluster(pair_.a());
  std::unique_ptr<Pool> pool_ =
      *cluster_->OpenPool(pair_.pool_id(pair_.a()), "", Access::kMutate);
  uint64_t number_ = 0;
};

TEST_F(HistoryStoreTest, NothingIsFoundWhereNothingWasWritten) {
  EXPECT_THAT(Read({}), IsEmpty());
  EXPECT_OK(TrimHistory(*pool_, 3));
}

TEST_F(HistoryStoreTest, TheNewestOfAnObjectSinceATime) {
  for (int minute = 0; minute < 6; ++minute) {
    Write(minute, minute % 2 == 0 ? "v0" : "v1");
  }
  EXPECT_THAT(Read({}), ElementsAre("0", "1", "2", "3", "4", "5"));
  EXPECT_THAT(Read({{"v1"}, absl::InfinitePast(), 100}),
              ElementsAre("1", "3", "5"));
  EXPECT_THAT(Read({{}, At(4), 100}), ElementsAre("4", "5"));
  EXPECT_THAT(Read({{}, absl::InfinitePast(), 2}, /*more=*/true),
              ElementsAre("4", "5"));
  EXPECT_THAT(Read({{"v0"}, At(1), 2}), ElementsAre("2", "4"));
}

// A volume is called by the id of the other site after a move.
TEST_F(HistoryStoreTest, AVolumeIsFoundUnderTheIdsOfBothSites) {
  const std::string uuid = "5ef79ce1-81e8-439b-8405-35138edf5b89";
  const std::string here = "0001-0006-site-b-0000000000000003-" + uuid;
  Write(1, "0001-0006-site-a-0000000000000002-" + uuid);
  Write(2, "0001-0006-site-a-0000000000000002-another");
  HistoryQuery query;
  query.objects.insert(here);
  EXPECT_THAT(Read(query), IsEmpty());
  query.uuid = uuid;
  EXPECT_THAT(Read(query), ElementsAre("1"));
}

TEST_F(HistoryStoreTest, WhatBeganBeforeAndWentOnIsFound) {
  HistoryEvent event;
  event.time = At(0);
  event.until = At(50);
  event.times = 100;
  event.text = "row";
  ASSERT_OK(WriteHistory(
      *pool_, {{HistoryKey(event.time, "w", 1), WriteHistoryEvent(event)}}));
  EXPECT_THAT(Read({{}, At(45), 100}), ElementsAre("row"));
  EXPECT_THAT(Read({{}, At(51), 100}), IsEmpty());
}

TEST_F(HistoryStoreTest, MoreThanAPageIsRead) {
  OmapValues values;
  HistoryEvent event;
  for (int i = 0; i < 1234; ++i) {
    event.time = event.until = At(0) + absl::Seconds(i);
    event.text = absl::StrCat(i);
    values[HistoryKey(event.time, "w", 1)] = WriteHistoryEvent(event);
  }
  ASSERT_OK(WriteHistory(*pool_, values));
  EXPECT_THAT(Read({{}, absl::InfinitePast(), 5000}), SizeIs(1234));
  EXPECT_THAT(Read({{}, absl::InfinitePast(), 1}, /*more=*/true),
              ElementsAre("1233"));
}

TEST_F(HistoryStoreTest, TheOldestGo) {
  for (int minute = 0; minute < 9; ++minute) Write(minute, "v0");
  ASSERT_OK(TrimHistory(*pool_, 3));
  EXPECT_THAT(Read({}), ElementsAre("6", "7", "8"));
  ASSERT_OK(TrimHistory(*pool_, 3));
  EXPECT_THAT(Read({}), SizeIs(3));
}

TEST_F(HistoryStoreTest, WhatCannotBeReadIsCounted) {
  Write(0, "v0");
  ASSERT_OK(pool_->SetOmapValues(kHistoryObject, {{"zz", "nothing"}}));
  const auto found = ReadHistory(*pool_, {});
  ASSERT_OK(found);
  EXPECT_THAT(found->events, SizeIs(1));
  EXPECT_EQ(found->unreadable, 1U);
}

}  // namespace
}  // namespace addons::testing
