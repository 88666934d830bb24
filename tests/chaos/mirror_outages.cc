#include "tests/chaos/mirror_outages.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <iostream>
#include <stop_token>
#include <vector>

#include "absl/strings/match.h"
#include "base/clock.h"
#include "base/json.h"

namespace addons::testing {

using nlohmann::json;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AnyOf;
using ::testing::Each;

namespace {

/// How long a move may take when nothing is in its way any more.
constexpr seconds kMove = minutes(6);
/// Shorter than the settle time.
constexpr seconds kLooksAlive{60};

}  // namespace

std::string MirrorOutagesTest::ReportTime(const std::string& site,
                                          const std::string& of,
                                          const TestVolume& volume) {
  const json status = ParseJson(Status(site, volume));
  if (!status.is_object()) return "";
  if (of == site) return status.value("last_update", "");
  for (const json& peer : status.value("peer_sites", json::array())) {
    const std::string time = peer.value("last_update", "");
    if (!time.empty()) return time;
  }
  return "";
}

bool MirrorOutagesTest::PeerReportsADemotion(const std::string& site,
                                             const TestVolume& volume) {
  const json status = ParseJson(Status(site, volume));
  return status.is_object() && status.contains("peer_sites") &&
         status["peer_sites"].dump().find("remote image is not primary") !=
             std::string::npos &&
         !ReportTime(site, Other(site), volume).empty();
}

void MirrorOutagesTest::StartAndForget(const std::string& site,
                                       const TestVolume& volume) {
  StartMirrorDaemon(site);
  EXPECT_TRUE(Eventually(
      [&] {
        return ReportTime(Other(site), site, volume).empty() &&
               ReportTime(site, site, volume).empty();
      },
      seconds(40)))
      << "the reports of before were not removed, or new ones came too soon";
}

void MirrorOutagesTest::DieBeforeItReports(const std::string& site,
                                           const TestVolume& volume) {
  for (int tries = 0; tries < 5; ++tries) {
    EndMirrorDaemon(site, MirrorEnd::kKilled);
    StartMirrorDaemon(site);
    const bool forgotten = Eventually(
        [&] { return ReportTime(Other(site), site, volume).empty(); },
        seconds(20));
    EndMirrorDaemon(site, MirrorEnd::kKilled);
    if (forgotten && ReportTime(Other(site), site, volume).empty() &&
        ReportTime(site, site, volume).empty()) {
      return;
    }
  }
  ADD_FAILURE() << "rbd-mirror of " << site << " always reported too soon";
}

void MirrorOutagesTest::MoveWithoutTheTargetsMirror(MirrorEnd how,
                                                    seconds watch) {
  Make(2, 0);
  Application& rests = *applications_[0];
  Application& works = *applications_[1];
  const Applications both = {&rests, &works};
  EndMirrorDaemon("b", how);
  // What is written from here on is on site a alone.
  const uint64_t before = rests.workload->acknowledged();
  ASSERT_TRUE(
      Eventually([&] { return rests.workload->acknowledged() > before + 3; }));
  const uint64_t written = Rest(rests);
  for (Application* each : both) {
    Want(*each->resource, "a", Role::kSecondary);
    Create(*each->resource, "b", Role::kPrimary);
  }
  AtOnce(both,
         [&](Application& each) { ExpectWaits(*each.resource, "b", watch); });
  if (HasFailure()) return;
  // Unless a call that is under way has just been given up.
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(rests.resource->on("b").Get().status.message,
                             "rbd-mirror of this site is down");
  }));
  const uint64_t last = Rest(works);
  // By now the operator comes back to a after minutes only.
  works.resource->on("a").RestartOperator();
  StartMirrorDaemon("b");
  AtOnce(both, [&](Application& each) {
    ArriveByMove(each, "b", &each == &rests ? written : last, kMove);
  });
}

void MirrorOutagesTest::MoveWithoutTheSourcesMirror(MirrorEnd how,
                                                    seconds watch) {
  // Nothing of the pool is sent by itself.
  Application& works = MakeOne(ScheduleNotDue(), {});
  EndMirrorDaemon("a", how);
  Want(*works.resource, "a", Role::kSecondary);
  Create(*works.resource, "b", Role::kPrimary);
  ExpectWaits(*works.resource, "b", watch);
  if (HasFailure()) return;
  const uint64_t last = Rest(works);
  works.resource->on("a").RestartOperator();
  ArriveByMove(works, "b", last, kMove);
  StartMirrorDaemon("a");
}

void MirrorOutagesTest::CleanUpAndCompare() {
  Applications moved;
  for (const auto& each : applications_) {
    if (each->at == "b") moved.push_back(each.get());
  }
  AtOnce(moved,
         [&](Application& each) { CleanUp(*each.resource, "a", kMove); });
  ExpectAllInStep();
}

void MirrorOutagesTest::DemoteAndArrive(const TestVolume& volume,
                                        uint64_t written,
                                        const Parameters& parameters) {
  EXPECT_TRUE(Eventually([&] { return Demote("a", volume).ok(); }, minutes(3)));
  if (parameters == kJournalMode) {
    // Nothing else shows it.
    EXPECT_TRUE(
        Eventually([&] { return Digest("b", volume) == written; }, minutes(3)));
    return;
  }
  EXPECT_TRUE(Eventually(
      [&] {
        const SeenSnapshot newest = NewestSnapshot("b", volume);
        return newest.demoted && newest.complete;
      },
      minutes(3)));
}

void MirrorOutagesTest::AskBoth(const TestVolume& volume,
                                const Parameters& parameters, seconds time,
                                Said* said) {
  const auto start = steady_clock::now();
  std::atomic<bool> one_said_ok{said->a || said->b};
  std::atomic<int64_t> ends{time.count()};
  const auto passed = [start] {
    return std::chrono::duration_cast<seconds>(steady_clock::now() - start)
        .count();
  };
  const auto ask = [&](const std::string& site) {
    while (passed() < ends) {
      const grpc::Status answer =
          Promote(site, volume, false, parameters, seconds(20));
      if (answer.ok()) {
        std::cerr << site << " said OK after " << passed() << " s" << std::endl;
        if (!one_said_ok.exchange(true)) {
          ends = std::min<int64_t>(ends, passed() + 30);
        }
        return true;
      }
      if (answer.error_code() != Code::UNAVAILABLE &&
          answer.error_code() != Code::ABORTED) {
        ADD_FAILURE() << site << ": code " << answer.error_code() << ": "
                      << answer.error_message();
        return false;
      }
      RealClock().SleepFor(std::chrono::milliseconds(200), std::stop_token());
    }
    return false;
  };
  std::future<bool> a;
  std::future<bool> b;
  // The target first: it is the one that may be promoted at once.
  if (!said->b) b = std::async(std::launch::async, ask, "b");
  if (!said->a) a = std::async(std::launch::async, ask, "a");
  if (a.valid()) said->a = a.get();
  if (b.valid()) said->b = b.get();
  EXPECT_FALSE(said->a && said->b) << "both sites said OK";
  EXPECT_FALSE(IsPrimary("a", volume) && IsPrimary("b", volume));
}

void MirrorOutagesTest::ExpectOnePrimary(const TestVolume& volume,
                                         const Said& said, uint64_t written) {
  ASSERT_NE(said.a, said.b);
  const std::string primary = said.a ? "a" : "b";
  EXPECT_TRUE(IsPrimary(primary, volume));
  EXPECT_FALSE(IsPrimary(Other(primary), volume));
  EXPECT_EQ(Digest(primary, volume), written);
  Write(primary, volume, "and on");
}

void MirrorOutagesTest::AskBothBesideARestartedMirror() {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "the last word");
  const uint64_t written = Digest("a", volume);
  DemoteAndArrive(volume, written, {});
  EndMirrorDaemon("b", MirrorEnd::kKilled);
  RealClock().SleepFor(seconds(40), std::stop_token());
  StartAndForget("b", volume);
  Said said;
  AskBoth(volume, {}, minutes(5), &said);
  ExpectOnePrimary(volume, said, written);
}

void MirrorOutagesTest::AskBothInJournalMode(seconds watch) {
  const TestVolume volume = MakeJournaledVolume();
  // A site that has not reported before the demotion is not known to have kept
  // in step with it.
  RealClock().SleepFor(seconds(40), std::stop_token());
  Write("a", volume, "the last word");
  const uint64_t written = Digest("a", volume);
  DemoteAndArrive(volume, written, kJournalMode);
  EndMirrorDaemon("a", MirrorEnd::kKilled);
  EndMirrorDaemon("b", MirrorEnd::kKilled);
  RealClock().SleepFor(seconds(40), std::stop_token());
  StartAndForget("b", volume);
  EXPECT_TRUE(
      Eventually([&] { return PeerReportsADemotion("a", volume); }, minutes(2)))
      << Status("a", volume);
  // a hears of b, b hears nothing of a: so a first.
  Said said;
  grpc::Status answer;
  said.a = Eventually(
      [&] {
        answer = Promote("a", volume, false, kJournalMode, seconds(20));
        return answer.ok();
      },
      seconds(150));
  std::cerr << "a said " << (said.a ? "OK" : answer.error_message())
            << std::endl;
  // A site that is primary, and of which nothing is heard for the settle time,
  // looks dead.
  AskBoth(volume, kJournalMode, said.a ? kLooksAlive : watch, &said);
  if (HasFailure()) return;
  StartMirrorDaemon("a");
  AskBoth(volume, kJournalMode, said.a || said.b ? watch / 2 : minutes(5),
          &said);
  ExpectOnePrimary(volume, said, written);
}

void MirrorOutagesTest::AskTheSourceAfterTheMove(seconds watch) {
  TestVolume volume;
  uint64_t written = 0;
  for (int tries = 0; tries < 5; ++tries) {
    volume = MakeReplicatedVolume();
    Write("a", volume, "before");
    DemoteAndArrive(volume, Digest("a", volume), {});
    ASSERT_THAT(PromoteAtLast("b", volume), HasCode(Code::OK));
    EndMirrorDaemon("a", MirrorEnd::kKilled);
    // Else it has heard of the new primary.
    if (NewestSnapshot("a", volume).demoted) break;
    StartMirrorDaemon("a");
  }
  ASSERT_TRUE(NewestSnapshot("a", volume).demoted);
  Write("b", volume, "after");
  written = Digest("b", volume);
  DieBeforeItReports("b", volume);

  EXPECT_THAT(PromoteRepeatedly("a", volume, watch),
              Each(AnyOf(HasCode(Code::UNAVAILABLE), HasCode(Code::ABORTED))));
  EXPECT_FALSE(IsPrimary("a", volume));
  EXPECT_TRUE(IsPrimary("b", volume));
  StartMirrorDaemon("a");
  StartMirrorDaemon("b");
  if (HasFailure()) return;
  Rbd("b", {"mirror", "image", "snapshot", ImageSpec(volume)});
  EXPECT_TRUE(Eventually([&] { return Digest("a", volume) == written; }, kMove))
      << Status("a", volume);
  EXPECT_THAT(Promote("a", volume, false, {}, seconds(10)),
              HasCode(Code::UNAVAILABLE));
}

void MirrorOutagesTest::MoveAfterAForcedPromotion(seconds watch) {
  Make(1, 0);
  Application& moved = *applications_[0];
  const TestVolume volume = moved.images.front();
  const TestVolume forced = MakeReplicatedVolume();
  const std::string report = ReportTime("b", "b", volume);
  ASSERT_THAT(Promote("b", forced, true), HasCode(Code::OK));
  // The copying was ended for it, and goes on.
  ASSERT_TRUE(Eventually(
      [&] {
        return ReportTime("b", "b", volume) != report &&
               Status("b", volume).find("up+replaying") != std::string::npos;
      },
      minutes(4)))
      << Status("b", volume);
  Synchronize("a", volume);
  EndMirrorDaemon("a", MirrorEnd::kTerminated);
  EndMirrorDaemon("b", MirrorEnd::kTerminated);
  DieBeforeItReports("b", volume);
  const uint64_t before = moved.workload->acknowledged();
  ASSERT_TRUE(
      Eventually([&] { return moved.workload->acknowledged() > before + 3; }));
  const uint64_t written = Rest(moved);
  Want(*moved.resource, "a", Role::kSecondary);
  Create(*moved.resource, "b", Role::kPrimary);
  ExpectWaits(*moved.resource, "b", watch);
  if (HasFailure()) return;
  StartMirrorDaemon("a");
  StartMirrorDaemon("b");
  ArriveByMove(moved, "b", written, kMove);
}

}  // namespace addons::testing
