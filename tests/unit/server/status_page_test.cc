// The status page, from made-up data.

#include "server/status_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class StatusPageTest : public ::testing::Test {
 protected:
  StatusPageTest() {
    page_.version = "1.2.3";
    page_.configuration = "endpoint=x";
    page_.replicates = true;
    page_.now = SteadyTime(seconds(1000));
    page_.wall_now = WallTime(seconds(1795000000));
    pool_.cluster_id = "site-a";
    pool_.pool = "replicapool";
    pool_.seen_at = SteadyTime(seconds(990));
  }
  void Add(const std::string& name, ReplicationHealth health) {
    WatchedImage image;
    image.image = name;
    image.role = WatchedRole::kPrimary;
    image.health = health;
    ++pool_.by_health.at(static_cast<size_t>(health));
    ++pool_.by_role.at(0);
    ++pool_.total;
    pool_.images.push_back(image);
  }
  std::string Render() {
    auto seen = std::make_shared<WatchSnapshot>();
    seen->pools.push_back(pool_);
    page_.watch = seen;
    return RenderStatusPage(page_);
  }

  StatusPage page_;
  WatchedPool pool_;
};

TEST_F(StatusPageTest, EscapesWhatOthersWrote) {
  const std::string evil = "<script>'\"&</script>";
  pool_.cluster_id = evil;
  pool_.pool = evil;
  pool_.rados_namespace = evil;
  pool_.unseen = evil;
  pool_.schedules_unseen = evil;
  Add(evil, ReplicationHealth::kError);
  pool_.images[0].message = evil;
  pool_.images[0].state = evil;
  pool_.images[0].volume_name = evil;
  OperationInfo operation;
  operation.verb = evil;
  operation.object = evil;
  operation.step = evil;
  page_.operations = {operation};
  page_.reclaims = {{evil, 1}};
  page_.clusters = {{evil, {evil}, evil, false}};
  page_.query = "q=" + evil;
  page_.configuration = evil;
  page_.version = evil;
  page_.not_ready = evil;
  EXPECT_THAT(Render(),
              AllOf(HasSubstr("&lt;script&gt;&#39;&quot;&amp;&lt;/script&gt;"),
                    Not(HasSubstr("<script")), Not(HasSubstr("'\"&<"))));
}

TEST_F(StatusPageTest, TroubleStandsFirstThenNames) {
  Add("c-good", ReplicationHealth::kHealthy);
  Add("b-good", ReplicationHealth::kHealthy);
  Add("z-degraded", ReplicationHealth::kDegraded);
  Add("y-error", ReplicationHealth::kError);
  Add("x-split", ReplicationHealth::kError);
  pool_.images.back().split_brain = true;
  const std::string html = Render();
  size_t last = 0;
  for (const char* name :
       {"x-split", "y-error", "z-degraded", "b-good", "c-good"}) {
    const size_t at = html.find(name);
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_GT(at, last) << name;
    last = at;
  }
  EXPECT_THAT(html, HasSubstr("split brain of 1 volume"));
  EXPECT_THAT(html, HasSubstr("<title>site-a/replicapool: split brain of 1 "
                              "volume (and 2 more) - rbd-addons</title>"));
}

TEST_F(StatusPageTest, VolumesComeInPages) {
  for (int i = 0; i < 500; ++i) {
    Add(absl::StrFormat("image-%04d", i), ReplicationHealth::kHealthy);
  }
  EXPECT_THAT(
      Render(),
      AllOf(HasSubstr("image-0199"), Not(HasSubstr("image-0200")),
            HasSubstr("1 to 200 of 500, trouble first"),
            HasSubstr("page <b>1</b> <a href=\"?page=2#volumes\">2</a>")));
  page_.query = "page=3";
  EXPECT_THAT(Render(),
              AllOf(HasSubstr("image-0499"), Not(HasSubstr("image-0399")),
                    HasSubstr("401 to 500 of 500")));
  for (const char* beyond : {"page=99", "page=4294967295"}) {
    page_.query = beyond;
    EXPECT_THAT(Render(), HasSubstr("401 to 500 of 500"));
  }
  for (const char* no_page : {"page=0", "page=-1", "page=x", "page", "&&=&"}) {
    page_.query = no_page;
    EXPECT_THAT(Render(), HasSubstr("1 to 200 of 500"));
  }
  pool_.total = 7000;
  EXPECT_THAT(Render(),
              HasSubstr("6500 more are counted, but not kept by name"));
}

TEST_F(StatusPageTest, AQueryChoosesVolumes) {
  Add("good", ReplicationHealth::kHealthy);
  Add("slow", ReplicationHealth::kDegraded);
  Add("broken", ReplicationHealth::kError);
  Add("split", ReplicationHealth::kHealthy);
  pool_.images[3].split_brain = true;
  pool_.images[0].volume_name = "PVC-Good";
  pool_.images[1].volume_id = "0001-slow-id";
  pool_.images[2].message = "it is 100% broken & <bad>";
  const auto shows = [this](const std::string& query) {
    page_.query = query;
    const std::string html = Render();
    std::string shown;
    for (const char* name : {"good", "slow", "broken", "split"}) {
      if (html.find(absl::StrCat("<b>", name, "</b>")) != std::string::npos) {
        absl::StrAppend(&shown, shown.empty() ? "" : " ", name);
      }
    }
    return shown;
  };
  EXPECT_EQ(shows(""), "good slow broken split");
  EXPECT_EQ(shows("health=trouble"), "slow broken split");
  EXPECT_EQ(shows("health=error"), "broken split");
  EXPECT_EQ(shows("health=degraded"), "slow");
  EXPECT_EQ(shows("health=healthy"), "good split");
  EXPECT_EQ(shows("health=nonsense"), "good slow broken split");
  EXPECT_EQ(shows("q=pvc-gOOD"), "good");
  EXPECT_EQ(shows("q=SLOW-ID"), "slow");
  EXPECT_EQ(shows("q=100%25+BROKEN+%26+%3cbad%3E"), "broken");
  EXPECT_EQ(shows("q=replicapool"), "good slow broken split");
  EXPECT_EQ(shows("q=o&health=error"), "broken split");
  EXPECT_EQ(shows("q=nowhere"), "");
  EXPECT_THAT(Render(), HasSubstr("none is like that"));
  // What was asked stands in the form again, and in no other way.
  page_.query = "q=%22%3E%3Cscript%3E";
  EXPECT_THAT(Render(), AllOf(HasSubstr("value=\"&quot;&gt;&lt;script&gt;\""),
                              Not(HasSubstr("<script"))));
  for (const char* broken : {"q=%", "q=%2", "q=%zz", "q=%00"}) {
    page_.query = broken;
    EXPECT_THAT(Render(), HasSubstr("</html>"));
  }
}

TEST_F(StatusPageTest, LinksKeepTheQuery) {
  for (int i = 0; i < 300; ++i) {
    Add(absl::StrFormat("a&b-%04d", i), ReplicationHealth::kDegraded);
  }
  page_.query = "q=a%26b&health=trouble";
  EXPECT_THAT(
      Render(),
      HasSubstr(
          "href=\"?page=2&amp;q=a%26b&amp;health=trouble#volumes\">2</a>"));
}

TEST_F(StatusPageTest, WhatIsNotKnownIsNotShownAsZero) {
  Add("image", ReplicationHealth::kHealthy);
  EXPECT_THAT(Render(),
              AllOf(HasSubstr("not known"), HasSubstr("never reported"),
                    Not(HasSubstr("1970")), Not(HasSubstr(" left<"))));
  pool_.images[0].last_sync = 1790000000;
  pool_.images[0].lag_seconds = 600;
  pool_.images[0].interval_seconds = 300;
  EXPECT_THAT(Render(), HasSubstr("10 min old (every 5 min)<br>"));
}

TEST_F(StatusPageTest, APoolThatCannotBeSeenIsTrouble) {
  Add("image", ReplicationHealth::kHealthy);
  EXPECT_THAT(Render(), HasSubstr("no trouble seen"));
  pool_.unseen = "no monitor answered";
  EXPECT_THAT(Render(),
              AllOf(Not(HasSubstr("no trouble seen")),
                    HasSubstr("cannot be seen: no monitor answered; what is "
                              "shown of it is 10 s old"),
                    HasSubstr("not seen now")));
}

TEST_F(StatusPageTest, WhatIsStuckOrBrokenIsTrouble) {
  OperationInfo operation;
  operation.id = 7;
  operation.verb = "demote";
  operation.object = "volume 'v'";
  operation.step = "demoting";
  operation.running = true;
  operation.stuck = true;
  operation.idle = std::chrono::minutes(6);
  page_.operations = {operation};
  page_.broken_configuration = {"config.json: entry 'x' has no monitors"};
  EXPECT_THAT(
      Render(),
      AllOf(HasSubstr("<li class=\"bad\">operation 7 is stuck: demote of "
                      "volume &#39;v&#39; has been at &#39;demoting&#39; for "
                      "6 min</li>"),
            HasSubstr("<li class=\"bad\">configuration: config.json: entry "
                      "&#39;x&#39; has no monitors</li>"),
            HasSubstr("demoting, the same for 6 min")));
}

TEST_F(StatusPageTest, CopiesThatCannotBeReliedOnAreTrouble) {
  Add("one", ReplicationHealth::kHealthy);
  EXPECT_THAT(Render(), Not(HasSubstr("class=\"trouble\"")));
  pool_.broken = {0, 2, 1};
  EXPECT_THAT(
      Render(),
      AllOf(HasSubstr("the copy lacks what 2 volumes had from a parent"),
            HasSubstr("waits for a decision on 1 volume<")));
}

TEST_F(StatusPageTest, ShowsWhatHasEnded) {
  EXPECT_THAT(Render(), Not(HasSubstr("id=\"ended\"")));
  EndedOperation ended;
  ended.verb = "promote";
  ended.object = "volume '<v>'";
  ended.status = absl::FailedPreconditionError("site 'b' is \"primary\"");
  ended.age = std::chrono::seconds(75);
  ended.ended_at = SteadyTime(seconds(940));
  page_.ended = {ended};
  page_.reclaims = {{"sparsified", 2}};
  page_.reclaimed_bytes = uint64_t{3} << 20;
  EXPECT_THAT(
      Render(),
      AllOf(HasSubstr("Last operations that ended: 1"), HasSubstr("60 s ago"),
            HasSubstr(">75 s<"), HasSubstr("volume &#39;&lt;v&gt;&#39;"),
            HasSubstr("FAILED_PRECONDITION"),
            HasSubstr("site &#39;b&#39; is &quot;primary&quot;"),
            HasSubstr("<a href=\"#ended\">ended</a>"),
            HasSubstr("sparsified 2; freed 3.0 MiB")));
}

TEST_F(StatusPageTest, SaysWhenNothingIsWatched) {
  EXPECT_THAT(RenderStatusPage(page_), HasSubstr("--watch-interval is 0"));
  page_.watch = std::make_shared<WatchSnapshot>();
  EXPECT_THAT(RenderStatusPage(page_), HasSubstr("so none is watched"));
}

TEST_F(StatusPageTest, FencesThatEndSoonAreTrouble) {
  auto seen = std::make_shared<WatchSnapshot>();
  WatchedFences fences;
  fences.cluster_id = "site-a";
  fences.seen_at = SteadyTime(seconds(995));
  fences.fences = {{"10.0.0.1/32", 1795000000 - 60},
                   {"10.0.0.2/32", 1795000000 + 7200},
                   {"10.0.0.3/32", 1795000000 + 90000},
                   {"10.0.0.4/32", std::nullopt}};
  fences.total = 5;
  fences.clients = 3;
  seen->fences = {fences};
  page_.watch = seen;
  EXPECT_THAT(
      RenderStatusPage(page_),
      AllOf(HasSubstr("the fence of 10.0.0.1/32 on site-a has ended"),
            HasSubstr("the fence of 10.0.0.2/32 on site-a ends in 2 h"),
            Not(HasSubstr("the fence of 10.0.0.3/32")),
            HasSubstr(">10.0.0.3/32<"), HasSubstr(">not known<"),
            HasSubstr("5 ranges and addresses, 3 single clients, seen 5 s ago"),
            HasSubstr("and 1 that end later")));
}

TEST_F(StatusPageTest, GroupsAreAsGoodAsTheirMembers) {
  Add("a", ReplicationHealth::kHealthy);
  Add("b", ReplicationHealth::kError);
  pool_.images[0].volume_id = "volume-a";
  pool_.images[0].last_sync = 1790000000;
  pool_.images[1].volume_id = "volume-b";
  pool_.images[1].last_sync = 1780000000;
  auto seen = std::make_shared<WatchSnapshot>();
  seen->pools = {pool_};
  seen->groups = {{"group-good", {"volume-a"}},
                  {"group-bad", {"volume-a", "volume-b", "volume-c"}}};
  page_.watch = seen;
  const std::string html = RenderStatusPage(page_);
  EXPECT_LT(html.find("group-bad"), html.find("group-good"));
  EXPECT_THAT(html,
              AllOf(HasSubstr("Volume groups: 2"), HasSubstr(">1 in error<"),
                    HasSubstr(">1 not seen<"), HasSubstr("2026-05-28")));
}

TEST_F(StatusPageTest, ShowsClustersThatNobodyHasNamed) {
  page_.clusters = {{"site-a", {"10.0.0.1:6789"}, "", false},
                    {"spare", {"10.0.0.2:6789"}, "tenant1", false},
                    {"site-b", {"10.0.0.3:6789"}, "", true}};
  EXPECT_THAT(Render(), AllOf(HasSubstr("Clusters of config.json: 3"),
                              HasSubstr("1 pool watched"),
                              HasSubstr("no call has named it yet"),
                              HasSubstr("not this site's")));
}

TEST_F(StatusPageTest, LoadsNothingFromElsewhere) {
  Add("image", ReplicationHealth::kHealthy);
  EXPECT_THAT(Render(), AllOf(Not(HasSubstr("http:")), Not(HasSubstr("https:")),
                              Not(HasSubstr("src=")), Not(HasSubstr("url("))));
}

}  // namespace
}  // namespace addons::testing
