#include "cli/site_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/changing_lines.h"
#include "cli/streams.h"

namespace addons {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

SiteRow Row(const std::string& name, SiteAction action, SiteState state,
            const std::string& message) {
  SiteRow row;
  row.item.name = name;
  row.item.id = "id-" + name;
  row.item.action = action;
  row.item.reason = "reason";
  row.progress = {state, absl::StatusCode::kUnavailable, message};
  return row;
}

std::vector<SiteRow> Rows() {
  return {Row("done", SiteAction::kPromote, SiteState::kDone, "promoted"),
          Row("idle", SiteAction::kNothing, SiteState::kNotBegun, ""),
          Row("waits", SiteAction::kPromote, SiteState::kWaiting, "why"),
          Row("left", SiteAction::kLeave, SiteState::kNotBegun, ""),
          Row("bad", SiteAction::kPromote, SiteState::kRefused, "no")};
}

TEST(SiteTableTest, TroubleComesFirst) {
  const std::string table = SiteTable(Rows());
  EXPECT_THAT(table, StartsWith("RESULT      ROLE HERE  NAME   MESSAGE"));
  size_t last = 0;
  for (const char* name : {"  left ", "  bad ", "  waits ", "  done "}) {
    const size_t at = table.find(name);
    ASSERT_NE(at, std::string::npos);
    EXPECT_GT(at, last);
    last = at;
  }
  EXPECT_THAT(table, HasSubstr("\n2 of 5 done\n"));
}

TEST(SiteTableTest, IdsAreForTheWideForm) {
  EXPECT_THAT(SiteTable(Rows()), Not(HasSubstr("id-bad")));
  EXPECT_THAT(
      SiteTable(Rows(), {}, /*wide=*/true),
      AllOf(StartsWith("RESULT      ROLE HERE  NAME   ID        MESSAGE"),
            HasSubstr("  bad    id-bad    no\n")));
}

/// 30 that are in use, and one that has no peer.
std::vector<SiteRow> ManyRows() {
  std::vector<SiteRow> rows;
  for (int i = 0; i < 30; ++i) {
    rows.push_back(Row(absl::StrCat("a", i), SiteAction::kPromote,
                       SiteState::kRefused,
                       absl::StrCat("image 'p/i' (volume '", i,
                                    "'): in use since ", i, " s")));
    rows.back().item.images = {absl::StrCat("p/a", i)};
  }
  rows.push_back(Row("b", SiteAction::kLeave, SiteState::kNotBegun, "no peer"));
  return rows;
}

TEST(SiteTableTest, ManyOfOneReasonAreCountedFirst) {
  std::vector<SiteRow> rows = ManyRows();
  const std::string table = SiteTable(rows);
  EXPECT_THAT(table,
              StartsWith("more than 20 of one reason are counted:\n"
                         "  30: refused: in use since 0 s (as the first of "
                         "a0, a1, a2 and 27 more)\n"
                         "    do, for a0: rbd-addons explain p/a0\n"
                         "  the first 3 of each are listed; the same command "
                         "with -o wide lists all\n"
                         "RESULT "));
  EXPECT_THAT(table,
              AllOf(HasSubstr("\nleft alone "), HasSubstr("  a2  "),
                    Not(HasSubstr("  a3  ")), EndsWith("s\n0 of 31 done\n")));
  rows.erase(rows.begin(), rows.begin() + 10);
  EXPECT_THAT(SiteTable(rows),
              AllOf(StartsWith("RESULT "), HasSubstr("  a29  "),
                    EndsWith("refused:\n  20: in use since 10 s (a10, a11, "
                             "a12 and 17 more)\n")));
}

TEST(SiteTableTest, TheWideFormListsAllAndCountsAtTheEndToo) {
  EXPECT_THAT(SiteTable(ManyRows(), {}, /*wide=*/true),
              AllOf(StartsWith("more than 20 of one reason are counted:\n  30: "
                               "refused: "),
                    HasSubstr("  a3    id-a3   "), HasSubstr("  a29   id-a29"),
                    Not(HasSubstr("-o wide")),
                    EndsWith("0 of 31 done\nleft alone:\n  1: no peer (b)\n"
                             "refused:\n  30: in use since 0 s (a0, a1, a2 "
                             "and 27 more)\n")));
  EXPECT_THAT(SiteJson(ManyRows(), {})["items"].size(), 31);
}

TEST(SiteTableTest, EachResultHasItsNextStep) {
  const auto counted = [](SiteAction action, SiteState state, bool group,
                          bool known) {
    std::vector<SiteRow> rows;
    for (int i = 0; i < 21; ++i) {
      rows.push_back(Row(absl::StrCat("a", i, "x"), action, state, "why"));
      rows.back().item.group = group;
      if (!known) rows.back().item.id.clear();
      rows.back().item.images = {absl::StrCat("p/a", i, "x")};
    }
    return SiteTable(rows);
  };
  constexpr SiteAction kLeave = SiteAction::kLeave;
  constexpr SiteAction kPromote = SiteAction::kPromote;
  EXPECT_THAT(counted(kLeave, SiteState::kNotBegun, false, true),
              HasSubstr("do, for a0x: rbd-addons explain p/a0x\n"));
  EXPECT_THAT(counted(kLeave, SiteState::kNotBegun, false, false),
              HasSubstr("do, for a0x: rbd-addons adopt p/a0x\n"));
  EXPECT_THAT(counted(kPromote, SiteState::kRefused, true, true),
              HasSubstr("do, for a0x: rbd-addons explain --group id-a0x\n"));
  for (const SiteState state : {SiteState::kWaiting, SiteState::kNotBegun}) {
    EXPECT_THAT(counted(kPromote, state, false, true),
                HasSubstr("do: run the same command again, which goes on "
                          "with it\n"));
  }
  EXPECT_THAT(counted(kPromote, SiteState::kDone, false, true),
              AllOf(HasSubstr("  21: done: why ("), Not(HasSubstr("  do"))));
}

TEST(SiteTableTest, WhatWasRefusedOnTheOtherSiteIsCountedApart) {
  std::vector<SiteRow> rows;
  for (int i = 0; i < 42; ++i) {
    rows.push_back(Row(absl::StrCat("a", i), SiteAction::kDemoteThere,
                       SiteState::kRefused,
                       absl::StrCat(i < 21 ? kNotDemotedThere : "",
                                    "image 'p/i' (volume 'v'): in use")));
  }
  EXPECT_THAT(SiteTable(rows),
              AllOf(HasSubstr("\n  21: refused, not demoted on the other site: "
                              "in use (a0, "),
                    HasSubstr("\n  21: refused: in use (a21, ")));
}

TEST(SiteTableTest, JsonHasTheSame) {
  const nlohmann::ordered_json answer = SiteJson(Rows(), {"pool 'x'"});
  EXPECT_EQ(answer["done"], 2);
  EXPECT_EQ(answer["all"], 5);
  EXPECT_EQ(answer["items"][0]["result"], "left alone");
  EXPECT_EQ(answer["items"][1]["message"], "no");
  EXPECT_EQ(answer["unseen"][0], "pool 'x'");
}

TEST(SiteTableTest, TheProgressNamesWhatMostWaitFor) {
  const auto waits = [](const std::string& message) {
    return SiteProgress{SiteState::kWaiting, absl::StatusCode::kUnavailable,
                        message};
  };
  EXPECT_EQ(ProgressLine({waits("Failed to promote image 'a' (volume 'x'): "
                                "its demotion"),
                          waits("Failed to promote image 'b' (volume 'y'): "
                                "its demotion"),
                          waits("other"),
                          {SiteState::kDone, {}, ""},
                          {SiteState::kRefused, {}, ""},
                          {}}),
            "1 done, 4 waiting, 1 failed; 2 for: its demotion");
}

/// What the daemon says while it waits for a site that is silent.
std::string Clock(int age) {
  return absl::StrCat(
      "UNAVAILABLE: Failed to promote image 'p/i' (volume 'x", age,
      "'): the peer's demotion has not arrived yet; no sign of site 'site-b' "
      "for ",
      age,
      " s of 90 s while calls wait (last report 48 s ago); forcing is offered "
      "at about 03:12:40 UTC if nothing changes");
}

TEST(SiteTableTest, TheProgressHasTheWholeClockOfAWait) {
  std::vector<SiteProgress> items;
  for (int age = 40; age < 43; ++age) {
    items.push_back(
        {SiteState::kWaiting, absl::StatusCode::kUnavailable, Clock(age)});
  }
  EXPECT_EQ(ProgressLine(items),
            "0 done, 3 waiting, 0 failed; 3 for: the peer's demotion has not "
            "arrived yet; no sign of site 'site-b' for 40 s of 90 s while "
            "calls wait (last report 48 s ago); forcing is offered at about "
            "03:12:40 UTC if nothing changes");
}

TEST(SiteTableTest, TheProgressIsWholeOnANarrowTerminal) {
  constexpr size_t kColumns = 40;
  std::istringstream in;
  std::ostringstream shown;
  Streams streams{in, shown, shown};
  ChangingLines lines(streams, kColumns);
  const std::string progress = ProgressLine(
      {{SiteState::kWaiting, absl::StatusCode::kUnavailable, Clock(41)}});
  lines.Draw(progress);
  std::string first = shown.str();
  ASSERT_THAT(first, StartsWith("\r\x1b[K"));
  first.erase(0, 4);
  const std::vector<std::string> drawn = absl::StrSplit(first, '\n');
  EXPECT_GT(drawn.size(), 5U);
  for (const std::string& line : drawn) EXPECT_LT(line.size(), kColumns);
  EXPECT_EQ(absl::StrJoin(drawn, " "), progress);
  // All of it is drawn over.
  shown.str("");
  lines.Draw("done");
  std::string over;
  for (size_t i = 1; i < drawn.size(); ++i) over += "\r\x1b[K\x1b[A";
  EXPECT_EQ(shown.str(), over + "\r\x1b[K\r\x1b[Kdone");
  shown.str("");
  lines.Clear();
  lines.Clear();
  EXPECT_EQ(shown.str(), "\r\x1b[K");
}

}  // namespace
}  // namespace addons
