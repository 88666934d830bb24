// Metrics of the running daemon over HTTP, on simulated clusters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "base/json.h"
#include "tests/rpc/app_fixture.h"
#include "tests/rpc/raw_call.h"
#include "tests/rpc/reclaim_call.h"
#include "tests/rpc/replication_server.h"
#include "tests/testing/http_get.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Config WithMetrics() {
  Config config;
  config.serve_metrics = true;
  return config;
}

class MetricsTest : public ::testing::Test {
 protected:
  MetricsTest() : server_("a", WithMetrics()) { server_.UseRealTime(); }
  std::string Scrape() {
    const HttpAnswer answer = HttpGet(server_.metrics_url());
    EXPECT_EQ(answer.code, 200);
    return answer.body;
  }

  /// The line that tells of so many plans.
  static std::string Plans(int volumes) {
    return absl::StrCat("rbd_addons_planned_points_volumes ", volumes, "\n");
  }

  ReplicationServer server_;
};

TEST_F(MetricsTest, CountsCallsAndHowReclaimsEnd) {
  server_.AddPlain();
  server_.a.SetUsage(server_.image, 64, 16);
  server_.Start();
  EXPECT_THAT(Scrape(), HasSubstr("_reclaims_total{outcome=\"in-use\"} 0\n"));
  EXPECT_TRUE(Reclaim(server_).status.ok());
  server_.a.AddWatcher(server_.image, "10.0.0.7:0/1", 4464);
  EXPECT_TRUE(Reclaim(server_).status.ok());
  const std::string text = Scrape();
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("rbd_addons_reclaims_total{outcome=\"sparsified\"} 1\n"),
            HasSubstr("rbd_addons_reclaims_total{outcome=\"in-use\"} 1\n"),
            HasSubstr("rbd_addons_calls_total{method=\"reclaimspace."
                      "ReclaimSpaceController/ControllerReclaimSpace\","
                      "code=\"OK\"} 2\n"),
            HasSubstr("rbd_addons_operations_finished_total 2\n"),
            HasSubstr("rbd_addons_reclaim_examined_bytes_total 2"),
            Not(HasSubstr(server_.id)), Not(HasSubstr(server_.image))));
}

// A class asks for points, and its calls bring the plan.
TEST_F(MetricsTest, CountsTheVolumesWithAPlanOfPoints) {
  server_.AddMirrored();
  server_.Start();
  Ask ask;
  ask.volume_id = server_.id;
  EXPECT_THAT(Scrape(), HasSubstr(Plans(0)));
  ask.parameters["points"] = "1h*24,1d*7";
  ASSERT_TRUE(server_.Call("PromoteVolume", ask).status.ok());
  EXPECT_THAT(Scrape(), HasSubstr(Plans(1)));
  ask.parameters.clear();
  ASSERT_TRUE(server_.Call("PromoteVolume", ask).status.ok());
  EXPECT_THAT(Scrape(), HasSubstr(Plans(0)));
  ask.parameters["points"] = "1d*7";
  ASSERT_TRUE(server_.Call("EnableVolumeReplication", ask).status.ok());
  EXPECT_THAT(Scrape(), HasSubstr(Plans(1)));
  ask.parameters.clear();
  ASSERT_TRUE(server_.Call("DisableVolumeReplication", ask).status.ok());
  EXPECT_THAT(Scrape(), HasSubstr(Plans(0)));
}

// Each member has a plan of its own then.
TEST_F(MetricsTest, CountsTheMembersOfAGroupWithAPlanOfPoints) {
  server_.AddMirroredGroup();
  server_.Start();
  Ask ask;
  ask.group_id = server_.group_id;
  ask.parameters = {{"groupReplication", "members"}, {"points", "1d*7"}};
  ASSERT_TRUE(server_.Call("EnableVolumeReplication", ask).status.ok());
  EXPECT_THAT(Scrape(), HasSubstr(Plans(2)));
  ASSERT_TRUE(server_.Call("PromoteVolume", ask).status.ok());
  EXPECT_THAT(Scrape(), HasSubstr(Plans(2)));
  ask.parameters.erase("points");
  ASSERT_TRUE(server_.Call("PromoteVolume", ask).status.ok());
  EXPECT_THAT(Scrape(), HasSubstr(Plans(0)));
}

TEST_F(MetricsTest, AnswersWhileTheClusterHangs) {
  server_.Hold("rbd.mirror_image_status_get");
  server_.AddMirrored();
  server_.Start();
  auto demote = std::async(std::launch::async, [this] {
    return server_.Call("DemoteVolume").status;
  });
  server_.AwaitHeld();
  EXPECT_THAT(
      Scrape(),
      AllOf(
          HasSubstr(
              "rbd_addons_operations{lane=\"control\",state=\"running\"} 1\n"),
          HasSubstr("rbd_addons_calls_in_flight 1\n")));
  server_.Release();
  EXPECT_TRUE(demote.get().ok());
}

TEST_F(MetricsTest, WhatAClientInventsIsNoLabel) {
  server_.Start();
  for (const char* method : {"/identity.Identity/Invented", "/invented.x/Y"}) {
    EXPECT_EQ(RawCall(server_.Channel(), method, "").status.error_code(),
              grpc::StatusCode::UNIMPLEMENTED);
  }
  EXPECT_THAT(Scrape(), AllOf(Not(HasSubstr("nvented")),
                              HasSubstr("rbd_addons_calls_in_flight 0\n")));
}

TEST_F(MetricsTest, ScrapingDoesNotDisturbAShutdown) {
  server_.AddMirrored();
  server_.Hold("rbd_mirror_image_demote");
  server_.Start();
  const std::string url = server_.metrics_url();
  std::atomic<bool> ended{false};
  std::atomic<int> scraped{0};
  std::jthread scraper([&] {
    while (!ended) {
      if (HttpGet(url).code == 200) ++scraped;
    }
  });
  auto demote = std::async(std::launch::async, [this] {
    return server_.Call("DemoteVolume").status;
  });
  server_.AwaitHeld();
  auto shutdown = std::async(std::launch::async,
                             [this] { return server_.Shutdown(seconds(20)); });
  // It is drained now, which can be watched.
  const int before = scraped;
  const auto limit = std::chrono::steady_clock::now() + seconds(20);
  while (scraped < before + 3 && std::chrono::steady_clock::now() < limit) {
    std::this_thread::yield();
  }
  EXPECT_GE(scraped, before + 3);
  server_.Release();
  EXPECT_TRUE(shutdown.get());
  demote.get();
  EXPECT_EQ(HttpGet(url).code, 0);
  server_.Stop();
  ended = true;
}

class MetricsPortTest : public AppFixture {};

TEST_F(MetricsPortTest, NothingIsServedUnlessAsked) {
  ASSERT_OK(Start());
  EXPECT_EQ(app_->metrics_url(), "");
}

TEST_F(MetricsPortTest, ATakenPortKeepsTheDaemonFromStarting) {
  config_.serve_metrics = true;
  config_.metrics.path = "/m";
  ASSERT_OK(Start());
  const std::string url = app_->metrics_url();
  EXPECT_THAT(log_.text(), HasSubstr("metrics url=" + url));
  Config second = config_;
  second.socket_path = dir_.File("second");
  second.admin_socket_path = dir_.File("second-admin");
  second.metrics.port = static_cast<uint16_t>(std::stoi(HttpTarget(url).port));
  AppParts parts;
  parts.clusters = std::make_unique<ScriptedClusters>(connect_);
  EXPECT_THAT(App::Create(second, std::move(parts)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(url), HasSubstr("--metricsport"))));
  EXPECT_FALSE(std::filesystem::exists(second.socket_path));
  EXPECT_EQ(HttpGet(url).code, 200);
}

TEST_F(MetricsPortTest, APageHasAnIcon) {
  config_.serve_metrics = true;
  ASSERT_OK(Start());
  const std::string url = app_->metrics_url();
  const std::string base = url.substr(0, url.rfind('/'));
  const HttpAnswer icon = HttpGet(base + "/favicon.ico");
  EXPECT_EQ(icon.code, 200);
  EXPECT_THAT(icon.headers, HasSubstr("Content-Type: image/x-icon"));
  EXPECT_GT(icon.body.size(), 100U);
  // The page lets its browser ask for it.
  EXPECT_THAT(HttpGet(base + "/").headers, HasSubstr("img-src 'self'"));
}

TEST_F(MetricsPortTest, ANodeServesTrimsAndNoReclaims) {
  config_.modes = {.controller = false, .node = true};
  config_.serve_metrics = true;
  ASSERT_OK(Start());
  EXPECT_THAT(
      HttpGet(app_->metrics_url()).body,
      AllOf(HasSubstr("rbd_addons_trims_total{outcome=\"trimmed\"} 0\n"),
            Not(HasSubstr("rbd_addons_reclaims_total"))));
}

Config WatchedOften() {
  Config config = WithMetrics();
  config.watch_interval = std::chrono::milliseconds(10);
  return config;
}

class WatchedTest : public ::testing::Test {
 protected:
  WatchedTest() : server_("a", WatchedOften()) {
    server_.UseRealTime();
    server_.AddMirrored();
    server_.Start();
    const std::string metrics = server_.metrics_url();
    page_url_ = metrics.substr(0, metrics.rfind('/') + 1);
  }
  Ask Asked() const {
    Ask ask;
    ask.volume_id = server_.id;
    return ask;
  }
  /// What is served at `url` when it has `text`, or at last.
  HttpAnswer Await(const std::string& url, const std::string& text) {
    const SteadyTime give_up = RealClock().Now() + seconds(30);
    while (true) {
      HttpAnswer answer = HttpGet(url);
      if (answer.body.find(text) != std::string::npos ||
          RealClock().Now() > give_up) {
        return answer;
      }
      RealClock().SleepFor(std::chrono::milliseconds(5), std::stop_token());
    }
  }

  ReplicationServer server_;
  std::string page_url_;
};

TEST_F(WatchedTest, ShowsReplicationThatACallHasNamed) {
  EXPECT_THAT(
      Await(page_url_, "none is watched").body,
      AllOf(HasSubstr("none is watched"), Not(HasSubstr(server_.image))));
  server_.Call("GetVolumeReplicationInfo", Asked());
  const HttpAnswer page = Await(page_url_, server_.image);
  EXPECT_EQ(page.code, 200);
  EXPECT_THAT(page.headers,
              AllOf(HasSubstr("Content-Type: text/html; charset=utf-8"),
                    HasSubstr("Content-Security-Policy: default-src 'none'")));
  EXPECT_THAT(page.body, AllOf(HasSubstr(server_.image), HasSubstr("primary")));
  const HttpAnswer metrics =
      Await(server_.metrics_url(), "rbd_addons_replication_volume_info{");
  EXPECT_THAT(metrics.body, AllOf(HasSubstr(server_.id),
                                  HasSubstr("rbd_addons_replication_role{")));
  const std::string key = server_.site().user()->key.Reveal();
  for (const std::string* text : {&page.body, &metrics.body}) {
    EXPECT_THAT(*text, Not(HasSubstr(key)));
  }
}

TEST_F(WatchedTest, TheSameIsSaidToPrograms) {
  server_.Call("GetVolumeReplicationInfo", Asked());
  Await(page_url_, server_.image);
  const HttpAnswer answer = HttpGet(page_url_ + "status.json?role=primary");
  EXPECT_EQ(answer.code, 200);
  EXPECT_THAT(answer.headers,
              HasSubstr("Content-Type: application/json; charset=utf-8"));
  const auto said = ParseJson(answer.body);
  ASSERT_TRUE(said.is_object());
  ASSERT_EQ(said["volumes"].size(), 1U);
  EXPECT_EQ(said["volumes"][0]["volume_id"], server_.id);
  EXPECT_EQ(said["site"], server_.a.cluster_id());
  EXPECT_NE(said["host"], "");
  const std::string key = server_.site().user()->key.Reveal();
  EXPECT_THAT(answer.body, Not(HasSubstr(key)));
  EXPECT_EQ(
      ParseJson(
          HttpGet(page_url_ + "status.json?role=secondary").body)["volumes"]
          .size(),
      0U);
}

TEST_F(WatchedTest, RunbooksAreServedBesideThePage) {
  const HttpAnswer runbook =
      HttpGet(page_url_ + "docs/runbooks/split-brain.md");
  EXPECT_EQ(runbook.code, 200);
  EXPECT_THAT(runbook.headers, HasSubstr("Content-Type: text/plain"));
  EXPECT_THAT(runbook.body, HasSubstr("# Split brain"));
  EXPECT_EQ(HttpGet(page_url_ + "docs/alerts.md").code, 200);
  for (const char* other : {"docs/", "docs/flags.md", "docs/../config.json"}) {
    EXPECT_EQ(HttpGet(page_url_ + other).code, 404) << other;
  }
}

TEST_F(WatchedTest, NoSecretOfACallThatIsRefused) {
  Ask ask = Asked();
  ask.user_key = "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
  EXPECT_FALSE(server_.Call("GetVolumeReplicationInfo", ask).status.ok());
  const HttpAnswer page = HttpGet(page_url_);
  EXPECT_EQ(page.code, 200);
  EXPECT_THAT(page.body, AllOf(HasSubstr("none is watched"),
                               Not(HasSubstr(ask.user_key))));
}

}  // namespace
}  // namespace addons::testing
