// The status page, from made-up data.

#include "server/status_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/testing/html_faults.h"
#include "tests/unit/server/page_testing.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kEvil[] = "<script>'\"&</script>";

class StatusPageTest : public ::testing::Test {
 protected:
  /// A primary in this state.
  WatchedImage& Add(const std::string& name,
                    CopyState copy = CopyState::kInStep) {
    WatchedImage image;
    image.image = name;
    image.role = WatchedRole::kPrimary;
    image.copy = copy;
    image.health = copy == CopyState::kInStep   ? ReplicationHealth::kHealthy
                   : copy == CopyState::kBroken ? ReplicationHealth::kError
                                                : ReplicationHealth::kDegraded;
    pool_.images.push_back(image);
    return pool_.images.back();
  }
  void Watch(std::vector<WatchedPool> pools) {
    auto seen = std::make_shared<WatchSnapshot>();
    for (WatchedPool& pool : pools) {
      const std::vector<WatchedImage> images = std::move(pool.images);
      pool.images.clear();
      const size_t left_out = pool.total;
      pool.total = 0;
      for (const WatchedImage& image : images) Keep(image, &pool);
      pool.total += left_out;
      seen->pools.push_back(std::move(pool));
    }
    seen->fences = fences_;
    seen->groups = groups_;
    page_.watch = std::move(seen);
  }
  std::string Render() {
    Watch({pool_});
    return Checked(RenderStatusPage(page_));
  }
  static std::string Checked(std::string html) {
    EXPECT_THAT(HtmlFaults::Of(html), IsEmpty());
    return html;
  }
  /// The names of the volumes that are shown, in their order.
  std::string Shown(const std::string& query) {
    page_.query = query;
    const std::string html = Render();
    std::string shown;
    for (size_t at = html.find("\"><b>"); at != std::string::npos;
         at = html.find("\"><b>", at + 1)) {
      if (html.rfind("<td data-l=\"volume\"", at) < html.rfind("<tr", at) ||
          html.rfind("<td data-l=\"volume\"", at) == std::string::npos) {
        continue;
      }
      const size_t begin = at + 5;
      absl::StrAppend(&shown, shown.empty() ? "" : " ",
                      html.substr(begin, html.find('<', begin) - begin));
    }
    return shown;
  }
  void FallSilent(seconds silent) {
    WatchedFences cluster;
    cluster.cluster_id = "site-a";
    cluster.unseen = "Failed to run 'osd blocklist ls': (110)";
    cluster.seen_at = page_.now - silent;
    cluster.silent_since = page_.now - silent;
    fences_ = {cluster};
    pool_.seen_at = page_.now - silent;
    pool_.unseen = "Failed to connect: (110) Connection timed out";
  }

  StatusPage page_ = EmptyPage();
  WatchedPool pool_ = EmptyPool(page_);
  std::vector<WatchedFences> fences_;
  std::vector<WatchedGroup> groups_;
};

TEST_F(StatusPageTest, EscapesWhatOthersWrote) {
  pool_.cluster_id = kEvil;
  pool_.pool = kEvil;
  pool_.rados_namespace = kEvil;
  pool_.schedules_unseen = kEvil;
  pool_.peers = {kEvil};
  WatchedImage& image = Add(kEvil, CopyState::kBroken);
  image.message = kEvil;
  image.state = kEvil;
  image.volume_name = kEvil;
  image.volume_id = kEvil;
  image.claim = kEvil;
  groups_ = {{kEvil, {kEvil}}};
  WatchedFences fences;
  fences.cluster_id = kEvil;
  fences.unseen = kEvil;
  fences.seen_at = page_.now;
  fences.silent_since = page_.now;
  fences.fences = {{kEvil, kPageNow}};
  fences_ = {fences};
  OperationInfo operation;
  operation.verb = kEvil;
  operation.object = absl::StrCat("volume '", kEvil, "'");
  operation.step = kEvil;
  operation.stuck = true;
  page_.operations = {operation};
  EndedOperation ended;
  ended.verb = kEvil;
  ended.object = kEvil;
  ended.status = absl::InternalError(kEvil);
  ended.ended_at = page_.now;
  page_.ended = {ended};
  page_.reclaims = {{kEvil, 1}};
  page_.clusters = {{kEvil, {kEvil}, kEvil, false}};
  page_.broken_configuration = {kEvil};
  page_.query = absl::StrCat("q=", kEvil);
  page_.configuration = kEvil;
  page_.version = kEvil;
  page_.site = kEvil;
  page_.host = kEvil;
  page_.not_ready = kEvil;
  for (const char* unseen : {"", kEvil}) {
    pool_.unseen = unseen;
    EXPECT_THAT(
        Render(),
        AllOf(HasSubstr("&lt;script&gt;&#39;&quot;&amp;&lt;/script&gt;"),
              Not(HasSubstr("<script")), Not(HasSubstr("'\"&<"))));
  }
}

TEST_F(StatusPageTest, SaysFirstWhereItIsAndWhatIsTheCase) {
  Add("x", CopyState::kLate);
  Add("y");
  EXPECT_THAT(Render(),
              AllOf(HasSubstr("<title>site-a, rbd-addons-controller-6d5f7c9b8d-"
                              "x2x7k: the copy of 1 volume is late - rbd-addons"
                              "</title>"),
                    HasSubstr("<h1><span>site-a, rbd-addons-controller-"
                              "6d5f7c9b8d-x2x7k</span> the copy of 1 volume is "
                              "late</h1>")));
  page_.host = "";
  EXPECT_THAT(Render(), HasSubstr("<h1><span>site-a</span>"));
  page_.site = "";
  EXPECT_THAT(Render(), HasSubstr("<h1>the copy of"));
}

TEST_F(StatusPageTest, TilesCountAllVolumes) {
  Add("a").lag_seconds = 100;
  Add("b", CopyState::kLate).lag_seconds = 900;
  pool_.images.back().claim = "shop/db";
  Add("c", CopyState::kBroken);
  Add("d", CopyState::kCopying);
  Add("e", CopyState::kUnknown).role = WatchedRole::kSecondary;
  page_.query = "q=nothing";  // The numbers are those of all.
  const std::string html = Render();
  EXPECT_THAT(
      html,
      AllOf(
          HasSubstr("<a href=\"?state=in-step#volumes\"><b>1 of 5</b><i>"
                    "protected: in step</i></a>"),
          HasSubstr("<a href=\"?state=late#volumes\" class=\"bad\"><b>1</b>"),
          HasSubstr("<a href=\"?state=broken#volumes\" class=\"bad\"><b>1</b>"),
          HasSubstr(
              "<a href=\"?state=unknown#volumes\" class=\"warn\"><b>1</b>"),
          HasSubstr("<a href=\"?state=copying#volumes\"><b>1</b>"),
          HasSubstr("<b>4</b><i>primary here</i>"),
          // 900 s at the look, which was 12 s ago.
          HasSubstr("<b>15 min</b><i>oldest copy: shop/db</i>")));
  EXPECT_LT(html.find("class=\"tiles\""), html.find("class=\"trouble\""));
}

TEST_F(StatusPageTest, WhereAllIsWellTheTilesAreGreen) {
  Add("a");
  EXPECT_THAT(Render(), AllOf(HasSubstr("class=\"good\"><b>1 of 1</b>"),
                              HasSubstr("<b>0</b><i>late</i>"),
                              Not(HasSubstr("<i>not known</i>")),
                              Not(HasSubstr("<i>copying</i>")),
                              HasSubstr("</span> no trouble seen</h1>")));
}

TEST_F(StatusPageTest, TroubleStandsFirstThenNames) {
  Add("c-good");
  Add("b-good");
  Add("v-copying", CopyState::kCopying);
  Add("w-unknown", CopyState::kUnknown);
  Add("x-late", CopyState::kLate);
  Add("y-error", CopyState::kBroken);
  Add("z-split", CopyState::kBroken).split_brain = true;
  EXPECT_EQ(Shown(""),
            "replicapool/z-split replicapool/y-error replicapool/x-late "
            "replicapool/w-unknown replicapool/v-copying replicapool/b-good "
            "replicapool/c-good");
  EXPECT_THAT(Render(), HasSubstr("split brain of 1 volume (and 3 more)</h1>"));
}

TEST_F(StatusPageTest, OtherOrdersAreAsked) {
  for (const auto& [name, age, left] :
       std::vector<std::tuple<const char*, int, int>>{
           {"b", 10, 5}, {"c", 700, 0}, {"a", 60, 900}}) {
    WatchedImage& image = Add(name);
    image.claim = name;
    image.lag_seconds = age;
    image.bytes_remaining = left;
  }
  Add("d", CopyState::kLate).claim = "d";  // of which nothing is known
  EXPECT_EQ(Shown("sort=name"), "a b c d");
  EXPECT_EQ(Shown("sort=age"), "c a b d");
  EXPECT_EQ(Shown("sort=left"), "a b c d");
  EXPECT_EQ(Shown("sort=nonsense"), "d a b c");
  EXPECT_THAT(Render(),
              HasSubstr("<option value=\"\" selected>trouble</option>"));
}

TEST_F(StatusPageTest, TheClaimIsTheHeadline) {
  WatchedImage& image = Add("csi-vol-1");
  image.volume_id = "0001-id";
  EXPECT_EQ(Shown(""), "replicapool/csi-vol-1");
  pool_.images[0].volume_name = "pvc-1";
  EXPECT_EQ(Shown(""), "pvc-1");
  pool_.images[0].claim = "shop/db";
  EXPECT_EQ(Shown(""), "shop/db");
  // The others are there, too.
  EXPECT_THAT(Render(),
              HasSubstr("title=\"shop/db\npvc-1\nreplicapool/csi-vol-1\n"
                        "0001-id\"><b>shop/db</b></td>"));
}

TEST_F(StatusPageTest, EqualMessagesAreSaidOnceWithTheirNumber) {
  for (int i = 0; i < 3; ++i) {
    Add(absl::StrCat("late-", i), CopyState::kLate).message =
        absl::StrCat("the last copy is the state of 12:0", i, ", older");
  }
  Add("other", CopyState::kLate).message = "no schedule";
  Add("good").message = "site-b is replaying";
  const std::string html = Render();
  EXPECT_THAT(html, AllOf(HasSubstr("<b>3 volumes</b>, for example: the last "
                                    "copy is the state of 12:00, older<"),
                          Not(HasSubstr("12:01")), Not(HasSubstr("12:02")),
                          HasSubstr("\">no schedule</td>"),
                          // What needs nobody is not said.
                          Not(HasSubstr("site-b is replaying"))));
  // What most have stands first.
  EXPECT_LT(html.find("older<"), html.find("no schedule<"));
  pool_.images[3].message = "same";
  pool_.images[0].message = "same";
  EXPECT_THAT(Render(), HasSubstr("<b>2 volumes:</b> same<"));
}

TEST_F(StatusPageTest, MissingSnapshotsAreSaidOfAHealthyVolume) {
  Add("x").missed_snapshots = 2;
  EXPECT_THAT(
      Render(),
      AllOf(HasSubstr("\">2 snapshots are missing: see `rbd mirror snapshot "
                      "schedule status`<"),
            HasSubstr("snapshots of 1 volume were not taken</b>"),
            HasSubstr("<code>rbd mirror snapshot schedule status --pool "
                      "replicapool</code>")));
}

TEST_F(StatusPageTest, ProgressAndRateOfACopy) {
  WatchedImage& image = Add("x", CopyState::kCopying);
  image.percent = 43;
  image.bytes_remaining = int64_t{3} << 30;
  EXPECT_THAT(Render(),
              HasSubstr("<td data-l=\"copying\">43%, 3.0 GiB left</td>"));
  pool_.images[0].bytes_per_second = int64_t{16} << 20;
  EXPECT_THAT(Render(), HasSubstr("<td data-l=\"copying\">43%, 3.0 GiB left, "
                                  "16.0 MiB/s, about 3 min</td>"));
}

TEST_F(StatusPageTest, VolumesComeInPages) {
  for (int i = 0; i < 500; ++i) Add(absl::StrFormat("image-%04d", i));
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
  pool_.total = 6500;
  EXPECT_THAT(Render(),
              HasSubstr("6500 more are counted, but not kept by name"));
}

TEST_F(StatusPageTest, AQueryChoosesVolumes) {
  Add("good").volume_name = "PVC-Good";
  Add("slow", CopyState::kLate).volume_name = "slow";
  pool_.images[1].volume_id = "0001-slow-id";
  pool_.images[1].role = WatchedRole::kSecondary;
  Add("broken", CopyState::kBroken).volume_name = "broken";
  pool_.images[2].message = "it is 100% broken & <bad>";
  Add("dark", CopyState::kUnknown).claim = "team/dark";
  pool_.images[3].role = WatchedRole::kUnclear;
  Add("new", CopyState::kCopying).volume_name = "new";
  EXPECT_EQ(Shown(""), "broken slow team/dark new PVC-Good");
  EXPECT_EQ(Shown("state=trouble"), "broken slow team/dark");
  EXPECT_EQ(Shown("state=broken"), "broken");
  EXPECT_EQ(Shown("state=late"), "slow");
  EXPECT_EQ(Shown("state=unknown"), "team/dark");
  EXPECT_EQ(Shown("state=copying"), "new");
  EXPECT_EQ(Shown("state=in-step"), "PVC-Good");
  EXPECT_EQ(Shown("state=nonsense"), "broken slow team/dark new PVC-Good");
  EXPECT_EQ(Shown("role=primary"), "broken new PVC-Good");
  EXPECT_EQ(Shown("role=secondary"), "slow");
  EXPECT_EQ(Shown("role=unclear"), "team/dark");
  EXPECT_EQ(Shown("role=primary&state=in-step"), "PVC-Good");
  EXPECT_EQ(Shown("role=secondary&state=in-step"), "");
  EXPECT_EQ(Shown("q=pvc-gOOD"), "PVC-Good");
  EXPECT_EQ(Shown("q=SLOW-ID"), "slow");
  EXPECT_EQ(Shown("q=TEAM%2F"), "team/dark");
  EXPECT_EQ(Shown("q=100%25+BROKEN+%26+%3cbad%3E"), "broken");
  EXPECT_EQ(Shown("q=replicapool"), "broken slow team/dark new PVC-Good");
  EXPECT_EQ(Shown("q=nowhere"), "");
  EXPECT_THAT(Render(), HasSubstr("none is like that"));
  // What was asked stands in the form again, and in no other way.
  page_.query = "q=%22%3E%3Cscript%3E&role=secondary&state=late&sort=age";
  EXPECT_THAT(Render(), AllOf(HasSubstr("value=\"&quot;&gt;&lt;script&gt;\""),
                              HasSubstr("value=\"secondary\" selected"),
                              HasSubstr("value=\"late\" selected"),
                              HasSubstr("value=\"age\" selected"),
                              Not(HasSubstr("<script"))));
  for (const char* broken : {"q=%", "q=%2", "q=%zz", "q=%00"}) {
    page_.query = broken;
    EXPECT_THAT(Render(), HasSubstr("</html>"));
  }
}

TEST_F(StatusPageTest, LinksKeepTheQuery) {
  for (int i = 0; i < 300; ++i) {
    Add(absl::StrFormat("a&b-%04d", i), CopyState::kLate);
  }
  page_.query = "q=a%26b&state=trouble&role=primary&sort=name";
  EXPECT_THAT(
      Render(),
      AllOf(HasSubstr("href=\"?page=2&amp;q=a%26b&amp;role=primary&amp;"
                      "state=trouble&amp;sort=name#volumes\">2</a>"),
            HasSubstr("href=\"status.json?q=a%26b&amp;role=primary&amp;"
                      "state=trouble&amp;sort=name\">as JSON</a>"),
            HasSubstr("href=\"?q=a%26b&amp;role=primary&amp;state=trouble"
                      "#volumes\">copy</a>")));
}

TEST_F(StatusPageTest, WhatIsNotKnownIsNotShownAsZero) {
  Add("image");
  pool_.local_mirror_up.reset();
  pool_.peer_mirror_up.reset();
  EXPECT_THAT(Render(),
              AllOf(HasSubstr("not known"), HasSubstr("never reported"),
                    Not(HasSubstr("1970")), Not(HasSubstr(" left<"))));
  pool_.images[0].last_sync = 1790000000;
  pool_.images[0].lag_seconds = 600;
  pool_.images[0].interval_seconds = 300;
  EXPECT_THAT(Render(), HasSubstr(">10 min old, every 5 min</td>"));
}

TEST_F(StatusPageTest, APoolThatCannotBeSeenIsTrouble) {
  Add("image");
  EXPECT_THAT(Render(), AllOf(HasSubstr("no trouble seen"),
                              Not(HasSubstr("class=\"stale\""))));
  pool_.unseen = "the user is refused";
  EXPECT_THAT(
      Render(),
      AllOf(Not(HasSubstr("no trouble seen")),
            HasSubstr("<b>site-a/replicapool cannot be seen</b> <span>the user "
                      "is refused; what is shown of it is 12 s old</span>"),
            HasSubstr("<code>rbd-addons doctor</code>"),
            HasSubstr("<tr class=\"stale\">"),
            HasSubstr("<span class=\"tag old\">unknown</span>")));
}

TEST_F(StatusPageTest, ADeadClusterIsSaidFirstAndWhatIsOldIsGrey) {
  WatchedImage& fresh = Add("fresh");
  fresh.lag_seconds = 60;
  fresh.interval_seconds = 600;
  WatchedImage& aged = Add("aged");
  aged.lag_seconds = 500;
  aged.interval_seconds = 600;
  aged.message = "site-b is replaying";
  Add("split", CopyState::kBroken).split_brain = true;
  FallSilent(seconds(900));
  const std::string html = Render();
  EXPECT_THAT(
      html,
      AllOf(
          HasSubstr("</span> no monitor of site-a has answered for 15 min "
                    "(and 1 more)</h1>"),
          HasSubstr("<li class=\"bad\"><b>no monitor of site-a has answered "
                    "for 15 min</b> <span>3 volumes in 1 pool cannot be seen"),
          HasSubstr("Monitors asked: 10.0.0.1:6789, 10.0.0.2:6789</span>"
                    "<br><code>ceph -s</code> <a href=\"docs/runbooks/"
                    "cluster-silent.md\">what to do</a>"),
          // Ages run on, and what they make of a copy.
          HasSubstr(">16 min old, every 10 min</td>"),
          HasSubstr(">23 min old, every 10 min</td>"),
          HasSubstr("<span class=\"tag old\">late</span>"),
          HasSubstr("<span class=\"tag old\">unknown</span>"),
          HasSubstr("<span class=\"tag bad\">split brain</span>"),
          HasSubstr("<span class=\"dim\">said 15 min ago:</span> site-b"),
          HasSubstr("<span class=\"tag old\">reported then</span>"),
          HasSubstr("<b>3</b><i>primary here when last seen</i>")));
  // Nothing that follows from it is trouble of its own, and no number is loud.
  EXPECT_THAT(
      html,
      AllOf(Not(HasSubstr("cannot be seen</b>")), Not(HasSubstr("is late</b>")),
            Not(HasSubstr("The fences of")), Not(HasSubstr("tag good")),
            Not(HasSubstr("<tr><td data-l=\"volume\"")),
            HasSubstr("?state=late#volumes\"><b>1</b>")));
}

TEST_F(StatusPageTest, AClusterThatAnswersAgainIsNotSilent) {
  Add("image");
  FallSilent(seconds(900));
  EXPECT_THAT(Render(), HasSubstr("no monitor of site-a"));
  fences_[0].silent_since.reset();
  EXPECT_THAT(Render(), AllOf(Not(HasSubstr("no monitor of site-a")),
                              HasSubstr("cannot be seen</b>")));
}

TEST_F(StatusPageTest, ADeadPeerSaysSinceWhenAndWhatToDo) {
  Add("image", CopyState::kLate).lag_seconds = 700;
  pool_.peer_mirror_up = false;
  pool_.peer_heard_at = page_.now - seconds(131);
  const std::string html = Render();
  EXPECT_THAT(
      html,
      AllOf(HasSubstr("<b>no sign of site-b for 2 min</b>"),
            HasSubstr("; the copy of 1 volume is late by now</span><br><code>"
                      "rbd mirror pool status --verbose replicapool</code> "
                      "<a href=\"docs/runbooks/rbd-mirror-down.md\">"),
            HasSubstr("<span class=\"tag old\">site-b: silent</span>"),
            HasSubstr("<span class=\"tag bad\">silent for 2 min</span>"),
            Not(HasSubstr("is late</b>"))));
  // It goes on with each page.
  page_.now += seconds(60);
  EXPECT_THAT(Render(), HasSubstr("<b>no sign of site-b for 3 min</b>"));
  // Where it has the primary, this is the site to go on with.
  pool_.images[0].role = WatchedRole::kSecondary;
  EXPECT_THAT(
      Render(),
      HasSubstr("Is the site dead? Then promote its volumes here</span><br>"
                "<code>rbd-addons check-failover --pool replicapool</code> "
                "<a href=\"docs/runbooks/disaster.md\">"));
}

TEST_F(StatusPageTest, TheSameTroubleOfSeveralPoolsIsOne) {
  Add("a", CopyState::kLate);
  Add("b", CopyState::kLate);
  std::vector<WatchedPool> pools;
  for (const char* name : {"p1", "p2", "p3", "p4", "p5"}) {
    WatchedPool pool = pool_;
    pool.pool = name;
    pools.push_back(pool);
  }
  Watch(pools);
  EXPECT_THAT(
      Checked(RenderStatusPage(page_)),
      AllOf(HasSubstr("</span> the copy of 10 volumes is late</h1>"),
            HasSubstr("in site-a/p1, site-a/p2, site-a/p3 and 2 pools more: "),
            HasSubstr("<code>rbd-addons explain p1/a</code>")));
}

TEST_F(StatusPageTest, CommandsNameWhatTheShellTakes) {
  pool_.rados_namespace = "tenant";
  Add("it's", CopyState::kBroken).split_brain = true;
  EXPECT_THAT(Render(),
              HasSubstr("<code>rbd-addons explain &#39;replicapool/tenant/it"
                        "&#39;\\&#39;&#39;s&#39;</code>"));
  pool_.images[0].volume_name = "pvc-1";
  EXPECT_THAT(Render(), HasSubstr("<code>rbd-addons explain pvc-1</code>"));
}

TEST_F(StatusPageTest, WhatIsStuckOrBrokenIsTrouble) {
  Add("csi-vol-1").volume_id = "0001-v";
  pool_.images[0].claim = "shop/db";
  OperationInfo operation;
  operation.id = 7;
  operation.verb = "demote";
  operation.object = "volume '0001-v'";
  operation.step = "demoting";
  operation.running = true;
  operation.stuck = true;
  operation.idle = std::chrono::minutes(6);
  page_.operations = {operation};
  page_.broken_configuration = {"config.json: entry 'x' has no monitors"};
  EXPECT_THAT(
      Render(),
      AllOf(HasSubstr("<li class=\"bad\"><b>operation 7 is stuck: demote of "
                      "volume &#39;shop/db&#39;</b> <span>it has been at "
                      "&#39;demoting&#39; for 6 min</span><br><code>rbd-addons "
                      "operations</code>"),
            HasSubstr("<b>configuration: config.json: entry &#39;x&#39; has no "
                      "monitors</b>"),
            HasSubstr("demoting, the same for 6 min"),
            HasSubstr("title=\"volume &#39;0001-v&#39;\">volume "
                      "&#39;shop/db&#39;</td>")));
}

TEST_F(StatusPageTest, CopiesThatCannotBeReliedOnAreTrouble) {
  Add("one");
  EXPECT_THAT(Render(), Not(HasSubstr("class=\"trouble\"")));
  Add("two", CopyState::kBroken).lacks_parent = true;
  Add("three", CopyState::kBroken).lacks_parent = true;
  Add("four", CopyState::kBroken).awaits_restore = true;
  EXPECT_THAT(
      Render(),
      AllOf(HasSubstr("the copy lacks what 2 volumes had from a parent"),
            HasSubstr("<code>rbd-addons audit clones --pool replicapool</code> "
                      "<a href=\"docs/runbooks/mirrored-clone.md\">"),
            HasSubstr("waits for a decision on 1 volume</b>"),
            HasSubstr("<code>rbd-addons rescue replicapool/four</code>"),
            Not(HasSubstr("is broken</b>"))));
  Add("six", CopyState::kBroken).proof = {"first", 1, 2, 3, 0};
  EXPECT_THAT(Render(),
              AllOf(HasSubstr("a comparison has found the copy of 1 volume "
                              "damaged</b>"),
                    HasSubstr("<code>rbd-addons explain replicapool/six</code> "
                              "<a href=\"docs/runbooks/damaged-copy.md\">"),
                    Not(HasSubstr("is broken</b>"))));
  Add("seven", CopyState::kBroken).rolls_back = true;
  EXPECT_THAT(
      Render(),
      AllOf(HasSubstr("a rollback to a point has not ended on 1 volume</b>"),
            HasSubstr("<code>rbd-addons explain replicapool/seven</code> "
                      "<a href=\"docs/runbooks/rollback-unfinished.md\">"),
            Not(HasSubstr("is broken</b>"))));
  Add("five", CopyState::kBroken);
  EXPECT_THAT(Render(),
              HasSubstr("<b>the copy of 1 volume is broken</b> <span>in "
                        "site-a/replicapool: nothing is copied of it</span>"
                        "<br><code>rbd-addons explain replicapool/five"));
}

TEST_F(StatusPageTest, ShowsWhatHasEndedByName) {
  Add("csi-vol-1").volume_id = "0001-v";
  pool_.images[0].volume_name = "pvc-1";
  EXPECT_THAT(Render(), Not(HasSubstr("id=\"ended\"")));
  EndedOperation ended;
  ended.verb = "promote";
  ended.object = "volume '<v>'";
  ended.status = absl::FailedPreconditionError("site 'b' is \"primary\"");
  ended.age = seconds(75);
  ended.ended_at = page_.now - seconds(60);
  page_.ended = {ended};
  page_.ended.push_back(ended);
  page_.ended[1].object = "volume '0001-v'";
  page_.reclaims = {{"sparsified", 2}};
  page_.reclaimed_bytes = uint64_t{3} << 20;
  EXPECT_THAT(
      Render(),
      AllOf(HasSubstr("Last operations that ended: 2"), HasSubstr("60 s ago"),
            HasSubstr(">75 s<"), HasSubstr("volume &#39;&lt;v&gt;&#39;"),
            HasSubstr("title=\"volume &#39;0001-v&#39;\">volume &#39;pvc-1"
                      "&#39;</td>"),
            HasSubstr("FAILED_PRECONDITION"),
            HasSubstr("site &#39;b&#39; is &quot;primary&quot;"),
            HasSubstr("<a href=\"#ended\">ended</a>"),
            HasSubstr("sparsified 2; freed 3.0 MiB")));
}

TEST_F(StatusPageTest, SaysWhenNothingIsWatched) {
  EXPECT_THAT(Checked(RenderStatusPage(page_)),
              HasSubstr("--watch-interval is 0"));
  page_.watch = std::make_shared<WatchSnapshot>();
  EXPECT_THAT(Checked(RenderStatusPage(page_)),
              AllOf(HasSubstr("so none is watched"),
                    HasSubstr("<code>rbd-addons info VOLUME</code>")));
  EXPECT_THAT(Render(), AllOf(HasSubstr("no volume is under replication</h1>"),
                              Not(HasSubstr("class=\"tiles\""))));
}

TEST_F(StatusPageTest, FencesThatEndSoonAreTrouble) {
  WatchedFences fences;
  fences.cluster_id = "site-a";
  fences.seen_at = page_.now - seconds(5);
  fences.fences = {{"10.0.0.1/32", kPageNow - 60},
                   {"10.0.0.2/32", kPageNow + 7200},
                   {"10.0.0.3/32", kPageNow + 90000},
                   {"10.0.0.4/32", std::nullopt}};
  fences.total = 5;
  fences.clients = 3;
  fences_ = {fences};
  EXPECT_THAT(
      Render(),
      AllOf(HasSubstr("the fence of 10.0.0.1/32 on site-a has ended"),
            HasSubstr("the fence of 10.0.0.2/32 on site-a ends in 2 h"),
            HasSubstr("<code>rbd-addons fence 10.0.0.2/32 --cluster site-a"
                      "</code>"),
            Not(HasSubstr("the fence of 10.0.0.3/32")),
            HasSubstr(">10.0.0.3/32<"), HasSubstr(">not known<"),
            HasSubstr("5 ranges and addresses, 3 single clients, seen 5 s ago"),
            HasSubstr("and 1 that end later")));
}

TEST_F(StatusPageTest, GroupsAreAsGoodAsTheirMembers) {
  Add("a").volume_id = "volume-a";
  pool_.images[0].claim = "shop/a";
  pool_.images[0].lag_seconds = 88;
  Add("b", CopyState::kBroken).volume_id = "volume-b";
  pool_.images[1].lag_seconds = 588;
  groups_ = {{"group-good", {"volume-a"}},
             {"group-bad", {"volume-a", "volume-b", "volume-c"}}};
  const std::string html = Render();
  EXPECT_LT(html.find("group-bad"), html.find("group-good"));
  EXPECT_THAT(html,
              AllOf(HasSubstr("Volume groups: 2"), HasSubstr(">1 broken<"),
                    HasSubstr(">1 not seen<"),
                    HasSubstr("<b>shop/a, replicapool/b</b>"),
                    HasSubstr("<td data-l=\"oldest copy\">10 min old</td>"),
                    HasSubstr("<td data-l=\"oldest copy\">100 s old</td>")));
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
  page_ = WithDeadPeer(PageOf(50), seconds(100));
  EXPECT_THAT(Checked(RenderStatusPage(page_)),
              AllOf(Not(HasSubstr("http:")), Not(HasSubstr("https:")),
                    Not(HasSubstr("src=")), Not(HasSubstr("url(")),
                    Not(HasSubstr("<script")), Not(HasSubstr(" style="))));
}

}  // namespace
}  // namespace addons::testing
