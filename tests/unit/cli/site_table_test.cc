#include "cli/site_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace addons {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
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
  EXPECT_THAT(table, StartsWith("RESULT      ROLE HERE  NAME   ID"));
  size_t last = 0;
  for (const char* name : {"id-left", "id-bad", "id-waits", "id-done"}) {
    const size_t at = table.find(name);
    ASSERT_NE(at, std::string::npos);
    EXPECT_GT(at, last);
    last = at;
  }
  EXPECT_THAT(table, HasSubstr("\n2 of 5 done\n"));
}

TEST(SiteTableTest, ManyAreCountedByReasonAtTheEnd) {
  std::vector<SiteRow> rows;
  for (int i = 0; i < 30; ++i) {
    rows.push_back(Row(absl::StrCat("a", i), SiteAction::kPromote,
                       SiteState::kRefused,
                       absl::StrCat("image 'p/i' (volume '", i,
                                    "'): in use since ", i, " s")));
  }
  rows.push_back(Row("b", SiteAction::kLeave, SiteState::kNotBegun, "no peer"));
  EXPECT_THAT(SiteTable(rows),
              EndsWith("0 of 31 done\nleft alone:\n  1: no peer (b)\n"
                       "refused:\n  30: in use since 0 s (a0, a1, a2 and 27 "
                       "more)\n"));
  rows.resize(5);
  EXPECT_THAT(SiteTable(rows), EndsWith("0 of 5 done\n"));
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

}  // namespace
}  // namespace addons
