#include "cli/site_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/utc.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kWorks = admin_pb::Forecast::WORKS;
constexpr auto kWaits = admin_pb::Forecast::WAITS;
constexpr auto kRefuses = admin_pb::Forecast::REFUSES;
constexpr auto kUnclear = admin_pb::Forecast::UNCLEAR;

admin_pb::FailoverFinding Finding(const std::string& image,
                                  const std::string& role,
                                  admin_pb::Forecast::Verdict planned,
                                  admin_pb::Forecast::Verdict forced) {
  admin_pb::FailoverFinding finding;
  finding.set_image(absl::StrCat("pool/", image));
  finding.set_volume_id(absl::StrCat("id-", image));
  finding.set_role(role);
  finding.mutable_planned()->set_verdict(planned);
  finding.mutable_planned()->set_reason("planned reason");
  finding.mutable_forced()->set_verdict(forced);
  finding.mutable_forced()->set_reason("forced reason");
  finding.set_others_report(true);
  return finding;
}

SiteSurvey Survey(const std::vector<admin_pb::FailoverFinding>& findings) {
  SiteSurvey survey;
  for (const auto& finding : findings) {
    *survey.volumes.add_findings() = finding;
  }
  return survey;
}

void AddGroup(const std::vector<admin_pb::FailoverFinding>& members,
              admin_pb::Forecast::Verdict forced, SiteSurvey* survey) {
  auto& group = *survey->groups.add_groups();
  group.set_group_id("group-id");
  group.mutable_planned()->set_verdict(kWaits);
  group.mutable_forced()->set_verdict(forced);
  for (admin_pb::FailoverFinding member : members) {
    member.set_group_id("group-id");
    *survey->groups.add_findings() = member;
  }
}

SiteItem Only(SiteVerb verb, const admin_pb::FailoverFinding& finding) {
  const SitePlan plan = MakeSitePlan(verb, Survey({finding}), nullptr);
  EXPECT_EQ(plan.items.size(), 1U);
  return plan.items.at(0);
}

TEST(SitePlanTest, WhatIsPrimaryNeedsNothing) {
  for (const SiteVerb verb : {SiteVerb::kRelocate, SiteVerb::kFailover}) {
    const SiteItem item = Only(verb, Finding("a", "primary", kWorks, kWorks));
    EXPECT_EQ(item.action, SiteAction::kNothing);
    EXPECT_FALSE(item.may_force);
  }
  // But for what died half-way.
  EXPECT_EQ(
      Only(SiteVerb::kFailover, Finding("a", "primary", kUnclear, kUnclear))
          .action,
      SiteAction::kPromote);
}

TEST(SitePlanTest, ARelocationNeverForces) {
  const SiteItem item =
      Only(SiteVerb::kRelocate, Finding("a", "secondary", kRefuses, kWorks));
  EXPECT_EQ(item.action, SiteAction::kPromote);
  EXPECT_FALSE(item.may_force);
  EXPECT_FALSE(item.asks);
}

TEST(SitePlanTest, AFailoverForcesOnlyWhatIsSeenToWork) {
  EXPECT_TRUE(
      Only(SiteVerb::kFailover, Finding("a", "secondary", kWaits, kWorks))
          .may_force);
  for (const auto forced : {kUnclear, kRefuses, kWaits}) {
    const SiteItem item =
        Only(SiteVerb::kFailover, Finding("a", "secondary", kWaits, forced));
    EXPECT_EQ(item.action, SiteAction::kPromote);
    EXPECT_FALSE(item.may_force);
    EXPECT_FALSE(item.asks);
    EXPECT_THAT(item.reason, HasSubstr("is not forced: forced reason"));
  }
}

TEST(SitePlanTest, ManyAreCountedByReason) {
  std::vector<admin_pb::FailoverFinding> findings;
  for (int i = 0; i < 200; ++i) {
    auto lost = Finding(absl::StrCat("v", i), "secondary", kWaits, kWorks);
    lost.set_returns_to("the state of 2026-11-20T03:00:00Z");
    lost.set_returns_to_time(1795143600 + i);
    lost.mutable_forced()->set_reason(
        absl::StrCat("it returns to the state of ",
                     FormatUtc(absl::FromUnixSeconds(1795143600 + i)),
                     " and loses what was written since"));
    findings.push_back(lost);
  }
  const SitePlan plan =
      MakeSitePlan(SiteVerb::kFailover, Survey(findings), nullptr);
  const std::string asked = QuestionText(plan);
  EXPECT_THAT(asked, HasSubstr("of 200 of 200 volumes and groups:\nmore than "
                               "20 of one reason are counted:\n  200: by force "
                               "it returns to the state of "));
  EXPECT_THAT(asked, HasSubstr(" and 197 more)\n  the first 3 of each are "
                               "listed; --dry-run -o wide lists all\n"));
  EXPECT_THAT(asked, Not(HasSubstr("\n  pool/v100: ")));
  EXPECT_THAT(QuestionText(plan, Listing::kAll),
              AllOf(HasSubstr("\n  200: "), HasSubstr("\n  pool/v100: ")));
}

TEST(SitePlanTest, WhatIsLostIsInTheQuestion) {
  admin_pb::FailoverFinding lost = Finding("b", "secondary", kWaits, kWorks);
  lost.set_returns_to("the state of 2026-11-20T03:00:00Z");
  lost.set_returns_to_time(1795143600);
  // What check-failover says, which knows whose demotion it is.
  lost.mutable_forced()->set_reason(
      "it returns to its own demotion of 2026-11-20T03:00:00Z and loses only "
      "what another site has written since, if one was primary");
  const SitePlan plan = MakeSitePlan(
      SiteVerb::kFailover,
      Survey({Finding("a", "demoted", kWorks, kWorks), lost}), nullptr);
  EXPECT_TRUE(MustAsk(plan));
  EXPECT_THAT(QuestionText(plan),
              HasSubstr("of 1 of 2 volumes and groups:\n  pool/b: by force it "
                        "returns to its own demotion of 2026-11-20T03:00:00Z "
                        "and loses only what another site has written since, "
                        "if one was primary\n"));
  EXPECT_THAT(QuestionText(plan), Not(HasSubstr("pool/a")));
  EXPECT_THAT(PlanText(plan), HasSubstr("2 to work on, 0 with nothing to do"));
}

TEST(SitePlanTest, WithoutAnIdNothingIsCalled) {
  admin_pb::FailoverFinding finding = Finding("a", "secondary", kWorks, kWorks);
  finding.clear_volume_id();
  for (const SiteVerb verb : {SiteVerb::kRelocate, SiteVerb::kFailover}) {
    EXPECT_EQ(Only(verb, finding).action, SiteAction::kLeave);
  }
}

TEST(SitePlanTest, MembersGoWithTheirGroup) {
  const auto a = Finding("a", "secondary", kWaits, kWorks);
  const auto b = Finding("b", "secondary", kWaits, kWorks);
  SiteSurvey survey = Survey({a, b, Finding("c", "demoted", kWorks, kWorks)});
  AddGroup({b, a}, kWorks, &survey);
  SitePlan plan = MakeSitePlan(SiteVerb::kFailover, survey, nullptr);
  ASSERT_EQ(plan.items.size(), 2U);
  EXPECT_TRUE(plan.items[0].group);
  EXPECT_EQ(plan.items[0].id, "group-id");
  EXPECT_EQ(plan.items[0].name, "group of pool/a, pool/b");
  EXPECT_TRUE(plan.items[0].may_force);
  EXPECT_EQ(plan.items[1].name, "pool/c");
}

TEST(SitePlanTest, AGroupThatReachesFurtherIsLeft) {
  const auto a = Finding("a", "demoted", kWorks, kWorks);
  SiteSurvey survey = Survey({a});
  AddGroup({a, Finding("elsewhere", "demoted", kWorks, kWorks)}, kWorks,
           &survey);
  const SitePlan plan = MakeSitePlan(SiteVerb::kRelocate, survey, nullptr);
  ASSERT_EQ(plan.items.size(), 1U);
  EXPECT_EQ(plan.items[0].action, SiteAction::kLeave);
  EXPECT_THAT(plan.items[0].reason, HasSubstr("name that pool, too"));
}

TEST(SitePlanTest, OnlyWhatCanBeTakenOverIsDemotedThere) {
  const auto move = [](const admin_pb::FailoverFinding& here,
                       const std::vector<admin_pb::FailoverFinding>& there) {
    const SiteSurvey other = Survey(there);
    return MakeSitePlan(SiteVerb::kRelocate, Survey({here}), &other)
        .items.at(0);
  };
  admin_pb::FailoverFinding primary = Finding("a", "primary", kWorks, kWorks);
  primary.set_volume_id("id-there");
  const SiteItem item =
      move(Finding("a", "secondary", kWaits, kWorks), {primary});
  EXPECT_EQ(item.action, SiteAction::kDemoteThere);
  EXPECT_EQ(item.id, "id-a");
  EXPECT_EQ(item.id_there, "id-there");
  EXPECT_EQ(move(Finding("a", "secondary", kWaits, kRefuses), {primary}).action,
            SiteAction::kLeave);
  EXPECT_EQ(
      move(Finding("a", "secondary", kUnclear, kUnclear), {primary}).action,
      SiteAction::kLeave);
  // What is demoted there already needs no second time.
  EXPECT_EQ(move(Finding("a", "demoted", kWorks, kWorks),
                 {Finding("a", "demoted", kWorks, kWorks)})
                .action,
            SiteAction::kPromote);
  EXPECT_EQ(move(Finding("a", "secondary", kWaits, kWorks), {}).action,
            SiteAction::kLeave);
  EXPECT_EQ(move(Finding("a", "secondary", kWaits, kWorks),
                 {Finding("a", "", kUnclear, kUnclear)})
                .action,
            SiteAction::kLeave);
}

TEST(SitePlanTest, ASiteThatIsBackDemotesOnlyWhatAnotherSiteHas) {
  admin_pb::FailoverFinding primary = Finding("a", "primary", kWorks, kWorks);
  // Its last report may be older than this site's death: never "done".
  EXPECT_EQ(Only(SiteVerb::kFailback, primary).action, SiteAction::kLeave);
  primary.set_others_report(false);
  EXPECT_EQ(Only(SiteVerb::kFailback, primary).action, SiteAction::kLeave);
  primary.set_primary_elsewhere("site 'b'");
  const SiteItem both = Only(SiteVerb::kFailback, primary);
  EXPECT_EQ(both.action, SiteAction::kDemoteAndResync);
  EXPECT_TRUE(both.asks);
  EXPECT_TRUE(both.may_force);
}

TEST(SitePlanTest, OnlyWhatDiffersIsResyncedByForce) {
  admin_pb::FailoverFinding copy = Finding("a", "secondary", kWaits, kWorks);
  SiteItem item = Only(SiteVerb::kFailback, copy);
  EXPECT_EQ(item.action, SiteAction::kResync);
  EXPECT_FALSE(item.may_force);
  copy.set_split_brain(true);
  item = Only(SiteVerb::kFailback, copy);
  EXPECT_EQ(item.action, SiteAction::kResync);
  EXPECT_TRUE(item.may_force);
  EXPECT_TRUE(item.asks);
}

}  // namespace
}  // namespace addons
