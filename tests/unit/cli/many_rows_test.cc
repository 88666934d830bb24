#include "cli/many_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/adopt.h"
#include "cli/audit.h"
#include "cli/inspection.h"
#include "cli/site_plan.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string NameOfRow(size_t i) { return absl::StrCat("pool/v", i, "x"); }

std::vector<Reasoned> RowsOf(size_t count, const std::string& reason) {
  std::vector<Reasoned> rows;
  for (size_t i = 0; i < count; ++i) {
    rows.push_back({NameOfRow(i), reason, "", "", {NameOfRow(i)}});
  }
  return rows;
}

std::string Listed(const std::vector<Reasoned>& rows, Listing listing) {
  return ListRows(rows, listing, [&rows](size_t i) {
    return absl::StrCat(rows[i].name, ": ", rows[i].reason, "\n");
  });
}

size_t LinesOf(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  return lines.size() - 1;
}

TEST(ManyRowsTest, NothingIsNothing) {
  EXPECT_EQ(Listed({}, Listing::kCounted), "");
  EXPECT_EQ(Listed({}, Listing::kAll), "");
}

TEST(ManyRowsTest, TwentyAreListed) {
  const SelectedRows twenty =
      SelectRows(RowsOf(20, "in use"), Listing::kCounted);
  EXPECT_EQ(twenty.counted, "");
  EXPECT_EQ(twenty.listed.size(), 20U);
  EXPECT_THAT(twenty.listed, Each(true));
}

TEST(ManyRowsTest, TwentyOneAreCountedFirst) {
  EXPECT_EQ(Listed(RowsOf(21, "in use"), Listing::kCounted),
            "more than 20 of one reason are counted:\n"
            "  21: in use (pool/v0x, pool/v1x, pool/v2x and 18 more)\n"
            "  the first 3 of each are listed; -o wide lists all\n"
            "pool/v0x: in use\npool/v1x: in use\npool/v2x: in use\n");
}

TEST(ManyRowsTest, TheWideFormCountsAndListsAll) {
  const std::string text = Listed(RowsOf(21, "in use"), Listing::kAll);
  EXPECT_THAT(text, StartsWith("more than 20 of one reason are counted:\n"
                               "  21: in use (pool/v0x, pool/v1x, pool/v2x and "
                               "18 more)\npool/v0x: in use\n"));
  EXPECT_THAT(text, Not(HasSubstr("-o wide")));
  EXPECT_EQ(LinesOf(text), 2U + 21);
}

TEST(ManyRowsTest, FiveThousandAreAPage) {
  const std::string text = Listed(RowsOf(5000, "no entry"), Listing::kCounted);
  EXPECT_THAT(text, HasSubstr("\n  5000: no entry (pool/v0x, pool/v1x, "
                              "pool/v2x and 4997 more)\n"));
  EXPECT_EQ(LinesOf(text), 6U);
  EXPECT_EQ(LinesOf(Listed(RowsOf(5000, "no entry"), Listing::kAll)), 5002U);
}

TEST(ManyRowsTest, OnlyReasonsOfManyAreCounted) {
  std::vector<Reasoned> rows = RowsOf(30, "in use");
  for (const Reasoned& row : RowsOf(40, "no peer")) rows.push_back(row);
  for (const Reasoned& row : RowsOf(20, "split brain")) rows.push_back(row);
  const SelectedRows selected = SelectRows(rows, Listing::kCounted);
  // The most frequent first.
  EXPECT_THAT(selected.counted, StartsWith("more than 20 of one reason are "
                                           "counted:\n  40: no peer ("));
  EXPECT_THAT(selected.counted, HasSubstr("\n  30: in use ("));
  EXPECT_THAT(selected.counted, Not(HasSubstr("split brain")));
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(selected.listed[i], i < 3 || (i >= 30 && i < 33) || i >= 70) << i;
  }
}

TEST(ManyRowsTest, EachWayOutIsShown) {
  std::vector<Reasoned> rows = RowsOf(60, "broken");
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].remedy =
        absl::StrCat(i < 30 ? "rbd rm " : "rbd flatten ", rows[i].name);
  }
  const std::string counted = SelectRows(rows, Listing::kCounted).counted;
  EXPECT_THAT(counted,
              AllOf(HasSubstr("  30: broken (pool/v0x, pool/v1x, pool/v2x and "
                              "27 more)\n    do, for pool/v0x: rbd rm "
                              "pool/v0x\n"),
                    HasSubstr("  30: broken (pool/v30x, pool/v31x, pool/v32x "
                              "and 27 more)\n    do, for pool/v30x: rbd "
                              "flatten pool/v30x\n")));
  for (Reasoned& row : rows) row.remedy = "start rbd-mirror";
  EXPECT_THAT(SelectRows(rows, Listing::kCounted).counted,
              HasSubstr(" and 57 more)\n    do: start rbd-mirror\n"));
  // Each for itself.
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].remedy = std::string(i + 1, 'z');
  }
  EXPECT_EQ(SelectRows(rows, Listing::kCounted).counted, "");
}

TEST(ManyRowsTest, WhatIsNotSaidOfAllIsTheFirsts) {
  std::vector<Reasoned> rows = RowsOf(21, "");
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].reason = absl::StrCat("loses ", i, " bytes");
  }
  EXPECT_THAT(SelectRows(rows, Listing::kCounted).counted,
              HasSubstr("\n  21: loses 0 bytes (as the first of pool/v0x, "
                        "pool/v1x, pool/v2x and 18 more)\n"));
}

TEST(ManyRowsTest, AnotherPlaceIsAnotherReason) {
  std::vector<Reasoned> rows = RowsOf(42, "");
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].reason = absl::StrCat("demote it on site 'dc", i % 2, "'");
  }
  EXPECT_THAT(SelectRows(rows, Listing::kCounted).counted,
              AllOf(HasSubstr("\n  21: demote it on site 'dc0' (pool/v0x, "),
                    HasSubstr("\n  21: demote it on site 'dc1' (pool/v1x, ")));
}

TEST(ManyRowsTest, UuidsTellNoReasonsApart) {
  std::vector<Reasoned> rows = RowsOf(21, "");
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].reason =
        absl::StrCat("the name 'pvc-", std::string(1, "abcdef"[i % 6]),
                     "0000000", "-0000-4000-8000-0123456789ab' is reserved");
  }
  EXPECT_THAT(SelectRows(rows, Listing::kCounted).counted,
              HasSubstr("\n  21: the name 'pvc-a0000000-"));
}

// Each command that has such a table.

admin_pb::CheckFailoverResponse ManyAnswers() {
  admin_pb::CheckFailoverResponse found;
  for (size_t i = 0; i < 30; ++i) {
    admin_pb::FailoverFinding& finding = *found.add_findings();
    finding.set_image(NameOfRow(i));
    finding.set_volume_id(absl::StrCat("id-", i));
    finding.set_role("secondary");
    finding.mutable_planned()->set_verdict(admin_pb::Forecast::WAITS);
    finding.mutable_planned()->set_reason(
        absl::StrCat("Failed to promote image '", NameOfRow(i),
                     "' (volume 'id-", i, "'): demote it there"));
    finding.mutable_forced()->set_verdict(admin_pb::Forecast::WORKS);
    finding.mutable_forced()->set_reason("it returns to the last copy");
  }
  found.set_volumes(30);
  return found;
}

TEST(ManyRowsTest, CheckFailoverCounts) {
  const std::string text = CheckFailoverText(ManyAnswers());
  EXPECT_THAT(text,
              StartsWith("more than 20 of one reason are counted:\n"
                         "  30: planned waits: demote it there; by force "
                         "works: it returns to the last copy (pool/v0x, "
                         "pool/v1x, pool/v2x and 27 more)\n"
                         "  the first 3 of each are listed; -o wide lists all\n"
                         "pool/v0x (secondary)\n"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("\npool/v2x (secondary)\n"),
                    Not(HasSubstr("\npool/v3x")), HasSubstr("\n30 volumes: ")));
  EXPECT_THAT(CheckFailoverText(ManyAnswers(), {}, /*wide=*/true),
              AllOf(HasSubstr("\n  30: planned waits: "),
                    HasSubstr("\npool/v29x, id-29 (secondary)\n"),
                    Not(HasSubstr("-o wide"))));
}

TEST(ManyRowsTest, CheckFailoverCountsGroups) {
  admin_pb::CheckFailoverResponse found;
  for (size_t i = 0; i < 21; ++i) {
    admin_pb::GroupFailoverFinding& group = *found.add_groups();
    group.set_group_id(absl::StrCat("id-", i));
    group.set_name(absl::StrCat("g", i, "x"));
    group.mutable_planned()->set_verdict(admin_pb::Forecast::WORKS);
    group.mutable_planned()->set_reason("all are here");
    group.mutable_forced()->set_verdict(admin_pb::Forecast::WORKS);
    group.mutable_forced()->set_reason("nothing is lost");
  }
  EXPECT_THAT(CheckFailoverText(found),
              AllOf(HasSubstr("  21: planned works: all are here; by force "
                              "works: nothing is lost (group g0x, group g1x, "
                              "group g2x and 18 more)\n"),
                    HasSubstr("\ngroup g2x ("), Not(HasSubstr("\ngroup g3x"))));
}

TEST(ManyRowsTest, AdoptCounts) {
  admin_pb::AdoptVolumesResponse found;
  const auto add = [&found](size_t count, const std::string& text,
                            admin_pb::AdoptedVolume::Outcome outcome) {
    for (size_t i = 0; i < count; ++i) {
      admin_pb::AdoptedVolume& volume = *found.add_volumes();
      volume.set_image(NameOfRow(i));
      volume.set_volume_id(absl::StrCat("id-", i, "x"));
      volume.set_outcome(outcome);
      volume.set_text(text);
    }
  };
  add(21, "", admin_pb::AdoptedVolume::KNOWN);
  add(2, "it is not mirrored", admin_pb::AdoptedVolume::REFUSED);
  const std::string text = AdoptText(found);
  EXPECT_THAT(text, StartsWith("more than 20 of one reason are counted:\n"
                               "  21: known (pool/v0x, pool/v1x, pool/v2x and "
                               "18 more)\n"
                               "  the first 3 of each are listed; -o wide "
                               "lists all\nRESULT "));
  EXPECT_THAT(text, AllOf(HasSubstr("\nrefused "), HasSubstr(" id-2x "),
                          Not(HasSubstr(" id-3x "))));
  EXPECT_THAT(AdoptText(found, Listing::kAll),
              AllOf(HasSubstr("  21: known ("), HasSubstr(" id-20x ")));
}

TEST(ManyRowsTest, AuditCounts) {
  admin_pb::AuditPoolResponse found;
  for (size_t i = 0; i < 25; ++i) {
    admin_pb::AuditFinding& finding = *found.add_findings();
    finding.set_kind(admin_pb::AuditFinding::CLONES);
    finding.set_object(NameOfRow(i));
    finding.set_seen("it is a clone");
    finding.set_remedy(absl::StrCat("rbd flatten ", NameOfRow(i)));
  }
  const std::string text = AuditText({}, found);
  EXPECT_THAT(text,
              StartsWith("more than 20 of one reason are counted:\n"
                         "  25: clones: it is a clone (pool/v0x, pool/v1x, "
                         "pool/v2x and 22 more)\n"
                         "    do, for pool/v0x: rbd flatten pool/v0x\n"
                         "  the first 3 of each are listed; -o wide lists all\n"
                         "clones  pool/v0x: it is a clone\n"
                         "  do: rbd flatten pool/v0x\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("rbd flatten pool/v2x\n"),
                          Not(HasSubstr("pool/v3x")),
                          EndsWith("25 findings, 0 unclear\n")));
  EXPECT_THAT(AuditText({}, found, Listing::kAll),
              HasSubstr("  do: rbd flatten pool/v24x\n"));
}

TEST(ManyRowsTest, RepairsAreCounted) {
  admin_pb::RepairPoolResponse done;
  const auto add = [&done](size_t count, admin_pb::Repair::Outcome outcome,
                           const std::string& text) {
    for (size_t i = 0; i < count; ++i) {
      admin_pb::Repair& repair = *done.add_repairs();
      repair.set_object(NameOfRow(i));
      repair.set_repair(absl::StrCat("free the name ", NameOfRow(i)));
      repair.set_outcome(outcome);
      repair.set_text(text);
    }
  };
  add(20, admin_pb::Repair::FAILED, "not permitted");
  EXPECT_THAT(RepairsText(done),
              AllOf(StartsWith("failed  pool/v0x: free the name pool/v0x: not "
                               "permitted\n"),
                    HasSubstr("failed  pool/v19x: ")));
  done.Clear();
  add(25, admin_pb::Repair::FAILED, "not permitted");
  add(21, admin_pb::Repair::DONE, "");
  add(1, admin_pb::Repair::NOT_NEEDED, "it is not found any more");
  const std::string text = RepairsText(done);
  EXPECT_THAT(text,
              StartsWith("more than 20 of one reason are counted:\n"
                         "  25: failed: free the name pool/v0x: not permitted "
                         "(as the first of pool/v0x, pool/v1x, pool/v2x and 22 "
                         "more)\n"
                         "    do: mend what it says, then run the same command "
                         "again\n"
                         "  21: done: free the name pool/v0x (as the first of "
                         "pool/v0x, pool/v1x, pool/v2x and 18 more)\n"
                         "  the first 3 of each are listed; -o wide lists all\n"
                         "failed  pool/v0x: "));
  EXPECT_THAT(text, AllOf(HasSubstr("\ndone  pool/v2x: "),
                          Not(HasSubstr(" pool/v3x: ")),
                          EndsWith("not needed  pool/v0x: free the name "
                                   "pool/v0x: it is not found any more\n")));
  EXPECT_THAT(
      RepairsText(done, Listing::kAll),
      AllOf(HasSubstr("\nfailed  pool/v24x: "),
            HasSubstr("\ndone  pool/v20x: "), Not(HasSubstr("-o wide"))));
}

SitePlan PlanOfMany(bool asks) {
  SitePlan plan;
  plan.verb = SiteVerb::kFailover;
  for (size_t i = 0; i < 30; ++i) {
    SiteItem item;
    item.name = NameOfRow(i);
    item.images = {NameOfRow(i)};
    item.action = SiteAction::kPromote;
    item.asks = asks;
    item.reason = "demote it there";
    plan.items.push_back(item);
  }
  return plan;
}

TEST(ManyRowsTest, ThePlanOfASiteCounts) {
  const SitePlan plan = PlanOfMany(/*asks=*/false);
  const std::string text = PlanText(plan);
  EXPECT_THAT(text, StartsWith("more than 20 of one reason are counted:\n"
                               "  30: promote: demote it there (pool/v0x, "
                               "pool/v1x, pool/v2x and 27 more)\n"
                               "  the first 3 of each are listed; --dry-run "
                               "-o wide lists all\n"
                               "pool/v0x\n  promote: demote it there\n"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("\npool/v2x\n"), Not(HasSubstr("\npool/v3x\n")),
                    EndsWith("30 volumes and groups: 30 to work on, 0 "
                             "with nothing to do, 0 left alone\n")));
  EXPECT_THAT(PlanText(plan, Listing::kAll),
              AllOf(HasSubstr("  30: promote: "), HasSubstr("\npool/v29x\n")));
}

TEST(ManyRowsTest, TheQuestionOfASiteCounts) {
  const SitePlan plan = PlanOfMany(/*asks=*/true);
  const std::string text = QuestionText(plan);
  EXPECT_THAT(text,
              AllOf(HasSubstr("of 30 of 30 volumes and groups:\nmore than 20 "
                              "of one reason are counted:\n  30: demote it "
                              "there (pool/v0x, "),
                    HasSubstr("\n  pool/v2x: demote it there\n"),
                    Not(HasSubstr("\n  pool/v3x: "))));
  EXPECT_THAT(QuestionText(plan, Listing::kAll),
              HasSubstr("\n  pool/v29x: demote it there\n"));
}

}  // namespace
}  // namespace addons
