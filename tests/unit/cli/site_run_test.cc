#include "cli/site_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

namespace addons {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

SiteRunOptions Options(size_t at_once, milliseconds timeout) {
  SiteRunOptions options;
  options.at_once = at_once;
  options.timeout = timeout;
  options.pause = milliseconds(20);
  options.one_call = seconds(1);
  return options;
}

SiteStep Done() {
  return {SiteState::kDone, false, absl::StatusCode::kOk, "done"};
}
SiteStep Again() {
  return {SiteState::kWaiting, false, absl::StatusCode::kUnavailable, "later"};
}

TEST(SiteRunTest, AThousandNeedNoMoreThreadsThanAllowed) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  SiteRun run(
      1000, Options(4, seconds(60)),
      [&](size_t, milliseconds, const std::stop_token&) {
        most = std::max<int>(most, ++now);
        {
          const std::lock_guard<std::mutex> lock(mutex);
          threads.insert(std::this_thread::get_id());
        }
        --now;
        return Done();
      },
      [](size_t, const SiteProgress&) {});
  EXPECT_TRUE(run.Await(seconds(50)));
  EXPECT_LE(threads.size(), 4U);
  EXPECT_LE(most, 4);
  for (const SiteProgress& item : run.Progress()) {
    EXPECT_EQ(item.state, SiteState::kDone);
  }
}

TEST(SiteRunTest, WhatWaitsDoesNotHoldUpOthers) {
  SiteRun run(
      10, Options(1, milliseconds(500)),
      [](size_t i, milliseconds, const std::stop_token&) {
        return i < 3 ? Again() : Done();
      },
      [](size_t, const SiteProgress&) {});
  EXPECT_TRUE(run.Await(seconds(30)));
  const auto items = run.Progress();
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(items[i].state, i < 3 ? SiteState::kWaiting : SiteState::kDone);
  }
}

TEST(SiteRunTest, AStopEndsTheCallsAndBeginsNoOthers) {
  std::atomic<int> begun{0};
  SiteRun run(
      100, Options(2, seconds(60)),
      [&](size_t, milliseconds, const std::stop_token& stop) {
        ++begun;
        while (!stop.stop_requested()) std::this_thread::yield();
        return Again();
      },
      [](size_t, const SiteProgress&) {});
  EXPECT_FALSE(run.Await(milliseconds(50)));
  run.Stop();
  EXPECT_TRUE(run.Await(seconds(30)));
  EXPECT_LE(begun, 2);
}

TEST(SiteRunTest, TheNextCallOfAnItemComesAtOnce) {
  std::atomic<int> calls{0};
  SiteRunOptions options = Options(1, seconds(60));
  options.pause = seconds(40);
  SiteRun run(
      1, options,
      [&](size_t, milliseconds, const std::stop_token&) {
        if (++calls == 2) return Done();
        SiteStep step = Again();
        step.at_once = true;
        return step;
      },
      [](size_t, const SiteProgress&) {});
  EXPECT_TRUE(run.Await(seconds(20)));
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace addons
