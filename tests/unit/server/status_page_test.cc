// The status page, from made-up data.

#include "server/status_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
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

TEST_F(StatusPageTest, NoMoreRowsThanAPersonReads) {
  for (int i = 0; i < 700; ++i) {
    Add(absl::StrFormat("image-%04d", i), ReplicationHealth::kHealthy);
  }
  EXPECT_THAT(Render(),
              AllOf(HasSubstr("image-0499"), Not(HasSubstr("image-0500")),
                    HasSubstr("and 200 more, all in order")));
  // Not in order: some of those that are not shown are in trouble, too, or what
  // they are is not seen now.
  pool_.unseen = "timeout";
  EXPECT_THAT(Render(),
              AllOf(HasSubstr("and 200 more"), Not(HasSubstr("all in order"))));
  pool_.unseen.clear();
  pool_.by_health = {100, 600, 0};
  EXPECT_THAT(Render(), Not(HasSubstr("all in order")));
}

TEST_F(StatusPageTest, WhatIsNotKnownIsNotShownAsZero) {
  Add("image", ReplicationHealth::kHealthy);
  EXPECT_THAT(Render(),
              AllOf(HasSubstr("not known"), HasSubstr("never reported"),
                    Not(HasSubstr("1970")), Not(HasSubstr(" left<"))));
  pool_.images[0].last_sync = 1790000000;
  pool_.images[0].lag_seconds = 600;
  pool_.images[0].interval_seconds = 300;
  EXPECT_THAT(Render(), HasSubstr("10 min old (every 5 min)"));
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

TEST_F(StatusPageTest, SaysWhenNothingIsWatched) {
  EXPECT_THAT(RenderStatusPage(page_), HasSubstr("--watch-interval is 0"));
  page_.watch = std::make_shared<WatchSnapshot>();
  EXPECT_THAT(RenderStatusPage(page_), HasSubstr("nothing is watched"));
}

TEST_F(StatusPageTest, LoadsNothingFromElsewhere) {
  Add("image", ReplicationHealth::kHealthy);
  EXPECT_THAT(Render(), AllOf(Not(HasSubstr("http:")), Not(HasSubstr("https:")),
                              Not(HasSubstr("src=")), Not(HasSubstr("url("))));
}

}  // namespace
}  // namespace addons::testing
