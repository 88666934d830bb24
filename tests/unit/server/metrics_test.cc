#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/process_metrics.h"
#include "tests/unit/operation/table_testing.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class MetricsTest : public TableTest {
 protected:
  MetricsSources Sources() {
    MetricsSources sources{calls_,
                           table(),
                           nullptr,
                           &reclaims_,
                           &trims_,
                           [] { return uint64_t{3}; },
                           [] {
                             return HistoryStats{5, 7, 1};
                           }};
    sources.ceph_calls = [this] { return ceph_calls_; };
    sources.watch = [this] { return watched_; };
    sources.clock = &clock_;
    sources.role_changes = &role_changes_;
    sources.planned_points = [] {
      return PlannedPointCounts{11, 12, 13, 14, 15, 16, 17};
    };
    sources.connections = [this] {
      return std::vector<SocketConnections>{{"callers", connections_}};
    };
    return sources;
  }
  std::string Text() { return MetricsText(Sources()); }
  /// The value of a line without its prefix; "" when there is none.
  std::string Value(const std::string& name) {
    const std::string start = "rbd_addons_" + name + " ";
    const std::vector<std::string> lines = absl::StrSplit(Text(), '\n');
    for (const std::string& line : lines) {
      if (absl::StartsWith(line, start)) return line.substr(start.size());
    }
    return "";
  }

  CallStats calls_;
  ConnectionCounts connections_;
  ReclaimStats reclaims_;
  RoleChangeCounts role_changes_;
  TrimStats trims_;
  std::vector<CallHistogram> ceph_calls_;
  std::shared_ptr<WatchSnapshot> watched_ = std::make_shared<WatchSnapshot>();
};

TEST_F(MetricsTest, CountsCallsByMethodAndCode) {
  for (const auto code : {absl::StatusCode::kOk, absl::StatusCode::kOk,
                          absl::StatusCode::kNotFound}) {
    calls_.Started();
    calls_.Finished("identity.Identity/Probe", code, milliseconds(250));
  }
  calls_.Started();
  const std::string probe = R"({method="identity.Identity/Probe",code=)";
  EXPECT_EQ(Value("calls_total" + probe + R"("OK"})"), "2");
  EXPECT_EQ(Value("calls_total" + probe + R"("NOT_FOUND"})"), "1");
  EXPECT_EQ(Value("call_seconds_total" + probe + R"("OK"})"), "0.5");
  EXPECT_EQ(Value("calls_in_flight"), "1");
}

TEST_F(MetricsTest, SaysHowFullTheLanesAre) {
  OperationLimits limits;
  limits.control = {1, 1, 7};
  Restart(limits);
  const auto busy = NewJob();
  BackgroundCall first(table(), Spec("promote", {"other"}), Blocked(busy, 1));
  busy->started.Pass();
  BackgroundCall second(table(), Spec("demote"), Returning(2));
  ASSERT_TRUE(Eventually([&] { return table().List().size() == 2; }));
  clock_.Advance(milliseconds(1500));
  EXPECT_EQ(Value(R"(operations{lane="control",state="running"})"), "1");
  EXPECT_EQ(Value(R"(operations{lane="control",state="queued"})"), "1");
  EXPECT_EQ(Value(R"(operations{lane="bulk",state="running"})"), "0");
  EXPECT_EQ(Value(R"(operations{lane="read",state="queued"})"), "0");
  EXPECT_EQ(Value(R"(operation_oldest_seconds{lane="control"})"), "1.5");
  EXPECT_EQ(Value(R"(operation_oldest_seconds{lane="bulk"})"), "0");
  // Not yet, and the one that is queued never.
  EXPECT_EQ(Value(R"(operations_stuck{lane="control"})"), "0");
  clock_.Advance(table().limits().watchdog);
  EXPECT_EQ(Value(R"(operations_stuck{lane="control"})"), "1");
  EXPECT_EQ(Value(R"(operations_stuck{lane="bulk"})"), "0");
  EXPECT_EQ(Value(R"(lane_workers{lane="control"})"), "1");
  EXPECT_EQ(Value(R"(lane_queue_limit{lane="control"})"), "7");
}

TEST_F(MetricsTest, CountsOperations) {
  EXPECT_EQ(Run(Spec("promote"), Returning(1)).ok(), true);
  const auto job = NewJob();
  BackgroundCall call(table(), Spec("promote"), Waiting(job));
  job->started.Pass();
  ASSERT_TRUE(table().Cancel(table().List().at(0).id).ok());
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(Value("operations_started_total"), "2");
  EXPECT_EQ(Value("operations_finished_total"), "2");
  EXPECT_EQ(Value("operations_cancelled_total"), "1");
  EXPECT_EQ(Value("operations_superseded_total"), "0");
  table().Drain(milliseconds(0));
  EXPECT_FALSE(Run(Spec("promote"), Returning(1)).ok());
  EXPECT_EQ(Value(R"(calls_refused_total{reason="stopping"})"), "1");
  EXPECT_EQ(Value(R"(calls_refused_total{reason="waiting"})"), "0");
  EXPECT_EQ(Value(R"(calls_refused_total{reason="lane"})"), "0");
  for (const char* name : {"calls_joined_total", "calls_kept_result_total",
                           "calls_conflict_total"}) {
    EXPECT_EQ(Value(name), "0") << name;
  }
}

TEST_F(MetricsTest, CountsWhatBecameOfConnections) {
  connections_ = {9, 1, 2, 3, 4, 5};
  EXPECT_EQ(Value(R"(connections_accepted_total{socket="callers"})"), "9");
  const auto closed = [this](const std::string& reason) {
    return Value(R"(connections_closed_total{socket="callers",reason=")" +
                 reason + R"("})");
  };
  EXPECT_EQ(closed("silent"), "1");
  EXPECT_EQ(closed("foreign"), "2");
  EXPECT_EQ(closed("dropped"), "3");
  EXPECT_EQ(closed("unread"), "4");
  EXPECT_EQ(Value(R"(connections_delayed_total{socket="callers"})"), "5");
}

TEST_F(MetricsTest, BucketsOfCephCallsAreCumulative) {
  CallHistogram call;
  call.call = "rbd_open";
  call.count = 6;
  call.failures = 2;
  call.sum = std::chrono::duration<double>(70.5);
  call.buckets[0] = 1;  // within 1 ms
  call.buckets[2] = 3;  // within 5 ms
  call.buckets.back() = 2;
  ceph_calls_ = {call};
  const auto bucket = [this](const std::string& bound) {
    return Value(R"(ceph_call_duration_seconds_bucket{call="rbd_open",le=")" +
                 bound + R"("})");
  };
  EXPECT_EQ(bucket("0.001"), "1");
  EXPECT_EQ(bucket("0.0025"), "1");
  EXPECT_EQ(bucket("0.005"), "4");
  EXPECT_EQ(bucket("60"), "4");
  EXPECT_EQ(bucket("+Inf"), "6");
  EXPECT_EQ(Value(R"(ceph_call_duration_seconds_count{call="rbd_open"})"), "6");
  EXPECT_EQ(Value(R"(ceph_call_duration_seconds_sum{call="rbd_open"})"),
            "70.5");
  EXPECT_EQ(Value(R"(ceph_call_failures_total{call="rbd_open"})"), "2");
}

TEST_F(MetricsTest, EveryOutcomeIsThereFromTheStart) {
  reclaims_.Count(ReclaimOutcome::kInUse);
  reclaims_.AddExaminedBytes(4096);
  trims_.Count(TrimOutcome::kNotProved);
  trims_.AddTrimmedBytes(uint64_t{5} << 30);
  for (const auto& [outcome, count] :
       std::map<std::string, std::string>{{"sparsified", "0"},
                                          {"interrupted", "0"},
                                          {"in-use", "1"},
                                          {"secondary", "0"},
                                          {"snapshots", "0"},
                                          {"migrating", "0"},
                                          {"erasure-coded", "0"},
                                          {"other-daemon", "0"},
                                          {"stopped", "0"},
                                          {"failed", "0"}}) {
    EXPECT_EQ(Value("reclaims_total{outcome=\"" + outcome + "\"}"), count)
        << outcome;
  }
  for (const auto& [outcome, count] :
       std::map<std::string, std::string>{{"trimmed", "0"},
                                          {"unsupported", "0"},
                                          {"not-proved", "1"},
                                          {"stopped", "0"},
                                          {"failed", "0"}}) {
    EXPECT_EQ(Value("trims_total{outcome=\"" + outcome + "\"}"), count)
        << outcome;
  }
  EXPECT_EQ(Value("reclaim_examined_bytes_total"), "4096");
  EXPECT_EQ(Value("trimmed_bytes_total"), "5368709120");
}

TEST_F(MetricsTest, CountsTheTimesThatCopyingWasEnded) {
  EXPECT_EQ(Value("copying_stops_total"), "3");
}

TEST_F(MetricsTest, CountsChangesOfRolesByVerbAndForce) {
  role_changes_.Count(RoleVerb::kPromote, Force::kYes);
  role_changes_.Count(RoleVerb::kPromote, Force::kYes);
  role_changes_.Count(RoleVerb::kDemote, Force::kNo);
  std::map<std::string, std::string> counts;
  for (const char* const verb :
       {"enable", "promote", "demote", "disable", "resync"}) {
    for (const char* const forced : {"true", "false"}) {
      const std::string labels =
          absl::StrCat("verb=\"", verb, "\",forced=\"", forced, "\"");
      const std::string count =
          Value(absl::StrCat("role_changes_total{", labels, "}"));
      ASSERT_NE(count, "") << labels;
      if (count != "0") counts[labels] = count;
    }
  }
  EXPECT_THAT(counts, UnorderedElementsAre(
                          Pair(R"(verb="promote",forced="true")", "2"),
                          Pair(R"(verb="demote",forced="false")", "1")));
}

TEST_F(MetricsTest, CountsTheEventsOfTheHistory) {
  EXPECT_EQ(Value("history_events_written_total"), "5");
  EXPECT_EQ(Value("history_events_dropped_total"), "7");
}

TEST_F(MetricsTest, CountsWhatCameOfThePlansOfPoints) {
  EXPECT_EQ(Value("planned_points_total{outcome=\"made\"}"), "11");
  EXPECT_EQ(Value("planned_points_total{outcome=\"failed\"}"), "12");
  EXPECT_EQ(Value("planned_points_total{outcome=\"read\"}"), "13");
  EXPECT_EQ(Value("planned_points_total{outcome=\"compared\"}"), "14");
  EXPECT_EQ(Value("planned_points_volumes"), "15");
  EXPECT_EQ(Value("planned_points_failing_volumes"), "16");
  EXPECT_EQ(Value("planned_points_unread_volumes"), "17");
}

TEST_F(MetricsTest, WhatAComparisonFoundIsTheImages) {
  WatchedPool pool;
  pool.cluster_id = "site-b";
  pool.pool = "p";
  pool.seen_at = clock_.Now();
  WatchedImage image;
  image.image = "whole";
  image.proof.point = "night";
  image.proof.made = 1234567;
  pool.images.push_back(image);
  image.image = "trimmed";
  image.proof.not_cleared_bytes = 4096;
  pool.images.push_back(image);
  image.image = "unproven";
  image.proof = {};
  pool.images.push_back(image);
  watched_->pools = {pool};
  const std::string where = R"(cluster="site-b",pool="p",namespace="",image=)";
  EXPECT_EQ(Value("replication_compared_point_timestamp_seconds{" + where +
                  "\"whole\"}"),
            "1234567");
  EXPECT_EQ(Value("replication_compared_point_timestamp_seconds{" + where +
                  "\"unproven\"}"),
            "");
  EXPECT_EQ(Value("replication_not_cleared_bytes{" + where + "\"trimmed\"}"),
            "4096");
  EXPECT_EQ(Value("replication_not_cleared_bytes{" + where + "\"whole\"}"), "");
}

TEST_F(MetricsTest, WhatIsNotServedIsNotThere) {
  MetricsSources sources = Sources();
  sources.reclaims = nullptr;
  sources.trims = nullptr;
  sources.ceph_calls = nullptr;
  sources.evictions = nullptr;
  sources.role_changes = nullptr;
  sources.planned_points = nullptr;
  sources.history = nullptr;
  const std::string text = MetricsText(sources);
  for (const char* part : {"reclaim", "trim", "ceph_call", "copying", "history",
                           "role_changes", "planned_points"}) {
    EXPECT_THAT(text, Not(HasSubstr(std::string("rbd_addons_") + part)));
  }
  EXPECT_THAT(text, HasSubstr("rbd_addons_build_info{version=\""));
}

TEST_F(MetricsTest, ReplicationIsAbsentWhereItIsNotKnown) {
  WatchedPool pool;
  pool.cluster_id = "site-a";
  pool.pool = "p";
  pool.unseen = "no monitor answered";
  pool.failed_looks = 2;
  watched_->pools = {pool};
  const std::string where = R"(cluster="site-a",pool="p",namespace="")";
  EXPECT_EQ(Value("replication_look_ok{" + where + "}"), "0");
  EXPECT_EQ(Value("replication_looks_failed_total{" + where + "}"), "2");
  EXPECT_THAT(Text(), Not(HasSubstr("replication_images{")));
  EXPECT_THAT(Text(), Not(HasSubstr("replication_look_age_seconds{")));

  WatchedImage image;
  image.image = "i";
  pool.seen_at = clock_.Now();
  pool.images = {image};
  pool.total = 3;
  pool.local_mirror_up = false;
  EXPECT_THAT(Text(), Not(HasSubstr("replication_images_without_entry{")));
  pool.without_entry = 4;
  watched_->pools = {pool};
  EXPECT_EQ(Value("replication_images_without_entry{" + where + "}"), "4");
  const std::string which = where + R"(,image="i")";
  EXPECT_EQ(Value("replication_images_truncated{" + where + "}"), "2");
  EXPECT_EQ(Value("replication_rbd_mirror_up{" + where + R"(,site="local"})"),
            "0");
  EXPECT_EQ(Value("replication_image_health{" + which + "}"), "0");
  for (const char* unknown :
       {"site=\"peer\"", "replication_role{", "timestamp_seconds{",
        "interval_seconds{", "lag_ratio{", "bytes_remaining{", "volume_info{",
        "missed_snapshots{"}) {
    EXPECT_THAT(Text(), Not(HasSubstr(unknown)));
  }

  pool.images[0].role = WatchedRole::kSecondary;
  pool.images[0].last_sync = 1790000000;
  pool.images[0].lag_ratio = 2.5;
  pool.images[0].volume_id = "0001-x";
  pool.images[0].volume_name = "pvc-1";
  watched_->pools = {pool};
  EXPECT_EQ(Value("replication_role{" + which + "}"), "0");
  EXPECT_EQ(Value("replication_last_sync_timestamp_seconds{" + which + "}"),
            "1790000000");
  EXPECT_EQ(Value("replication_lag_ratio{" + which + "}"), "2.5");
  EXPECT_EQ(Value("replication_volume_info{" + which +
                  R"(,volume_id="0001-x",volume_name="pvc-1"})"),
            "1");
}

// Thousands of zeros would be most of a scrape.
TEST_F(MetricsTest, AnImageWithoutATroubleHasNoSeriesOfIt) {
  WatchedPool pool;
  pool.cluster_id = "site-a";
  pool.pool = "p";
  pool.seen_at = clock_.Now();
  pool.total = 2;
  pool.images.resize(2);
  pool.images[0].image = "well";
  pool.images[0].missed_snapshots = 0;
  pool.images[0].lag_ratio = 256.0 / 300;
  pool.images[1].image = "ill";
  pool.images[1].missed_snapshots = 2;
  pool.images[1].split_brain = true;
  watched_->pools = {pool};
  const std::string where = R"({cluster="site-a",pool="p",namespace="",image=)";
  EXPECT_EQ(Value("replication_split_brain" + where + R"("well"})"), "");
  EXPECT_EQ(Value("replication_split_brain" + where + R"("ill"})"), "1");
  EXPECT_EQ(Value("replication_missed_snapshots" + where + R"("well"})"), "");
  EXPECT_EQ(Value("replication_missed_snapshots" + where + R"("ill"})"), "2");
  EXPECT_THAT(Value("replication_lag_ratio" + where + R"("well"})"),
              ::testing::MatchesRegex("0\\.853(000*[0-9]*)?"));
}

TEST_F(MetricsTest, CountsOperationsByVerbAndStage) {
  const auto busy = NewJob();
  BackgroundCall call(table(), Spec("promote", {"other"}), Blocked(busy, 1));
  busy->started.Pass();
  clock_.Advance(milliseconds(2500));
  const std::string which = R"({verb="promote",stage="looking"})";
  EXPECT_EQ(Value("operations_by_stage" + which), "1");
  EXPECT_EQ(Value("operation_oldest_by_stage_seconds" + which), "2.5");
  EXPECT_THAT(Text(), Not(HasSubstr("stage=\"queued\"")));
}

TEST_F(MetricsTest, TellsWhenFencesEnd) {
  WatchedFences fences;
  fences.cluster_id = "site-a";
  fences.unseen = "no monitor answered";
  watched_->fences = {fences};
  EXPECT_EQ(Value(R"(fence_look_ok{cluster="site-a"})"), "0");
  EXPECT_THAT(Text(), Not(HasSubstr("rbd_addons_fences{")));
  fences.unseen.clear();
  fences.seen_at = clock_.Now();
  fences.total = 4;
  fences.clients = 9;
  fences.fences = {{"10.0.0.1/32", 1795000000}, {"10.0.0.2/32", std::nullopt}};
  watched_->fences = {fences};
  EXPECT_EQ(Value(R"(fence_look_ok{cluster="site-a"})"), "1");
  EXPECT_EQ(Value(R"(fences{cluster="site-a"})"), "4");
  EXPECT_EQ(Value(R"(fences_truncated{cluster="site-a"})"), "2");
  EXPECT_EQ(Value(R"(blocklisted_clients{cluster="site-a"})"), "9");
  EXPECT_EQ(Value("fence_expires_timestamp_seconds{cluster=\"site-a\","
                  "range=\"10.0.0.1/32\"}"),
            "1795000000");
  EXPECT_THAT(Text(), Not(HasSubstr("10.0.0.2")));
}

TEST_F(MetricsTest, NamesTheLinkedLibrados) {
  MetricsSources sources = Sources();
  sources.librados = "16.2.15";
  EXPECT_THAT(MetricsText(sources), HasSubstr("librados=\"16.2.15\"} 1\n"));
}

TEST_F(MetricsTest, TellsWhatTheProcessTakes) {
  std::map<std::string, double> values;
  for (const prometheus::MetricFamily& family : ProcessMetrics()) {
    ASSERT_EQ(family.metric.size(), 1U) << family.name;
    values[family.name] = family.type == prometheus::MetricType::Counter
                              ? family.metric[0].counter.value
                              : family.metric[0].gauge.value;
  }
  EXPECT_EQ(values.size(), 7U);
  EXPECT_GE(values["process_threads"], 1);
  EXPECT_GE(values["process_open_fds"], 3);
  EXPECT_LE(values["process_open_fds"], values["process_max_fds"]);
  EXPECT_GT(values["process_resident_memory_bytes"], 1 << 20);
  EXPECT_GT(values["process_virtual_memory_bytes"],
            values["process_resident_memory_bytes"]);
  EXPECT_GT(values["process_start_time_seconds"], 1.7e9);
  EXPECT_LE(values["process_start_time_seconds"],
            static_cast<double>(time(nullptr)) + 1);
  // A descriptor more is one more.
  const double before = values["process_open_fds"];
  const std::ifstream open_file("/dev/null");
  for (const prometheus::MetricFamily& family : ProcessMetrics()) {
    if (family.name == "process_open_fds") {
      EXPECT_EQ(family.metric[0].gauge.value, before + 1);
    }
  }
}

// Prometheus' naming: counters end with _total, nothing else does, and each
// name comes once.
TEST_F(MetricsTest, NamesFollowTheConventions) {
  std::set<std::string> names;
  for (const prometheus::MetricFamily& family : CollectMetrics(Sources())) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_TRUE(std::regex_match(family.name,
                                 std::regex("(rbd_addons|process)_[a-z_]+")))
        << family.name;
    EXPECT_EQ(absl::EndsWith(family.name, "_total"),
              family.type == prometheus::MetricType::Counter)
        << family.name;
    EXPECT_NE(family.help, "") << family.name;
  }
  EXPECT_EQ(names.size(), 77U);
}

// The document for administrators has them all, and no others.
TEST_F(MetricsTest, TheDocumentListsThem) {
  std::set<std::string> documented;
  std::ifstream file(ADDONS_METRICS_DOCUMENT);
  for (std::string line; std::getline(file, line);) {
    std::smatch name;
    if (std::regex_search(
            line, name, std::regex("^\\| `((?:rbd_addons|process)_[a-z_]+)"))) {
      documented.insert(name[1]);
    }
  }
  std::set<std::string> served;
  for (const prometheus::MetricFamily& family : CollectMetrics(Sources())) {
    served.insert(family.name);
  }
  EXPECT_EQ(documented, served);
}

}  // namespace
}  // namespace addons::testing
