#include "replication/look/local_record.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"

namespace addons {
namespace {

using Metadata = std::map<std::string, std::string>;

constexpr char kImageId[] = "10226b8b4567";
constexpr char kGlobalId[] = "5d1c-global";

LocalRecord Full() {
  LocalRecord record;
  record.demotion = OwnDemotionMark{OwnDemotionStep::kGivenBack};
  record.demotion->heard = 1795747522;
  record.demotion->told_nobody = true;
  record.term = TermNote{17, 1795747000};
  record.promoted_from = 16;
  record.first_copy_awaited = true;
  record.schedule = R"({"interval":"5m","start_time":"03:00:00+00:00"})";
  record.pause = SchedulePause{PauseStep::kPausing, 1795747600,
                               R"([{"interval":"5m"},{"interval":"1d"}])"};
  return record;
}

LocalRecord Read(const std::string& text, const std::string& image = kImageId,
                 const std::string& global = kGlobalId) {
  return ReadLocalRecord({{kLocalRecordKey, text}}, image, global);
}
LocalRecord ReadFormer(const char* key, const std::string& text) {
  return ReadLocalRecord({{key, text}}, kImageId, kGlobalId);
}

TEST(LocalRecordTest, IsReadAsItWasWritten) {
  for (const OwnDemotionStep step :
       {OwnDemotionStep::kDemoted, OwnDemotionStep::kTakenBack,
        OwnDemotionStep::kGivenBack}) {
    LocalRecord record = Full();
    record.demotion->step = step;
    EXPECT_EQ(Read(FormatLocalRecord(record, kImageId, kGlobalId)), record);
  }
  EXPECT_EQ(Read(FormatLocalRecord(LocalRecord(), kImageId, kGlobalId)),
            LocalRecord());
  EXPECT_EQ(ReadLocalRecord({}, kImageId, kGlobalId), LocalRecord());
}

TEST(LocalRecordTest, EachStepOfAPauseIsReadAsItWasWritten) {
  for (const PauseStep step :
       {PauseStep::kPausing, PauseStep::kPaused, PauseStep::kResuming}) {
    LocalRecord record = Full();
    record.pause->step = step;
    EXPECT_EQ(Read(FormatLocalRecord(record, kImageId, kGlobalId)), record);
  }
}

// What it keeps must not be lost, whatever a newer version does with it.
TEST(LocalRecordTest, APauseOfAStepThatIsNotKnownIsOne) {
  const LocalRecord record = Read(absl::StrCat(
      R"({"version":1,"image":")", kImageId, R"(","global":")", kGlobalId,
      R"(","pause":{"step":"another","since":7,)"
      R"("schedules":[{"interval":"5m"}]}})"));
  ASSERT_TRUE(record.pause.has_value());
  EXPECT_EQ(record.pause->step, PauseStep::kPaused);
  EXPECT_EQ(record.pause->since, 7);
  EXPECT_EQ(record.pause->schedules, R"([{"interval":"5m"}])");
}

// Clones inherit metadata, journal mode carries it to the other site, and an
// image that is mirrored anew has another history.
TEST(LocalRecordTest, CountsForItsImageAndItsEnablingOnly) {
  const std::string text = FormatLocalRecord(Full(), kImageId, kGlobalId);
  EXPECT_TRUE(Read(text, "4567").empty());
  EXPECT_TRUE(Read(text, kImageId, "another").empty());
  // Written before the image was mirrored.
  const std::string early = FormatLocalRecord(Full(), kImageId, "");
  EXPECT_EQ(Read(early), Full());
  EXPECT_TRUE(Read(early, "4567").empty());
}

// Never one that says nothing of a demotion, nor one that is known.
TEST(LocalRecordTest, OfANewerVersionIsUnclear) {
  OwnDemotionMark unclear;
  unclear.unclear = true;
  const std::string of = absl::StrCat(R"({"image":")", kImageId, R"(",)");
  for (const std::string& text :
       {std::string("of a later version"), std::string("{}"),
        absl::StrCat(of, R"("version":2})"),
        absl::StrCat(of, R"("version":1,"demotion":{"step":"handed over"}})"),
        absl::StrCat(of, R"("version":1,"demotion":"demoted"})"),
        absl::StrCat(of, R"("version":1,"demotion":{"step":"demoted",)",
                     R"("heard":"noon"}})"),
        absl::StrCat(of, R"("version":1,"demotion":{"step":"demoted",)",
                     R"("told_nobody":"one"}})")}) {
    const LocalRecord record = Read(text);
    EXPECT_EQ(record.demotion, unclear) << text;
    EXPECT_FALSE(record.promoted_from.has_value()) << text;
  }
}

TEST(LocalRecordTest, WhatIsNoNumberIsNotNoted) {
  const LocalRecord record = Read(absl::StrCat(
      R"({"image":")", kImageId,
      R"(","version":1,"promoted_from":"16","term":{"snapshot":-1,"since":5},)",
      R"("first_copy_awaited":"yes","schedule":"5m"})"));
  EXPECT_EQ(record, LocalRecord());
}

TEST(FormerNotesTest, AreReadWhereThereIsNoRecord) {
  const Metadata former = {
      {kOwnDemotionKey, absl::StrCat("given back, nobody told, peers heard at ",
                                     "1795747522, image ", kImageId)},
      {kPrimaryTermKey, absl::StrCat(R"({"image":")", kImageId,
                                     R"(","snapshot":17,"since":1795747000})")},
      {kPromotedFromKey,
       absl::StrCat(R"({"image":")", kImageId, R"(","demotion":16})")},
      {kFirstCopyKey, kImageId},
      {kScheduleKey,
       absl::StrCat(R"({"global_id":")", kGlobalId, R"(","interval":"5m",)",
                    R"("start_time":"03:00:00+00:00"})")}};
  LocalRecord known = Full();
  known.pause.reset();  // is younger
  EXPECT_EQ(ReadLocalRecord(former, kImageId, kGlobalId), known);
  EXPECT_TRUE(ReadLocalRecord(former, "4567", "another").empty());
  Metadata both = former;
  both[kLocalRecordKey] = FormatLocalRecord({}, kImageId, kGlobalId);
  EXPECT_TRUE(ReadLocalRecord(both, kImageId, kGlobalId).empty());
}

TEST(FormerNotesTest, ADemotionOfTheFirstVersionsCountsEverywhere) {
  EXPECT_EQ(ReadFormer(kOwnDemotionKey, "demoted").demotion,
            OwnDemotionMark{OwnDemotionStep::kDemoted});
  EXPECT_EQ(ReadFormer(kOwnDemotionKey, "taken back").demotion,
            OwnDemotionMark{OwnDemotionStep::kTakenBack});
}

TEST(FormerNotesTest, WhatIsNotKnownIsUnclear) {
  OwnDemotionMark unclear;
  unclear.unclear = true;
  for (const char* const text :
       {"handed over", "of a later version", "demoted, peers heard at noon",
        "demoted, peers heard at 17, twice", "given back, told one",
        "taken back twice"}) {
    EXPECT_EQ(ReadFormer(kOwnDemotionKey, text).demotion, unclear) << text;
  }
  EXPECT_TRUE(ReadFormer(kPrimaryTermKey, "{").empty());
  EXPECT_TRUE(ReadFormer(kPromotedFromKey, "[]").empty());
}

}  // namespace
}  // namespace addons
