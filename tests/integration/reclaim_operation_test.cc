// ControllerReclaimSpace as an operation on real clusters: limits, joining,
// giving way, and what is left when it does not come to its end.

#include <algorithm>
#include <csignal>
#include <future>
#include <vector>

#include "absl/strings/match.h"
#include "tests/cluster/reclaim_bed.h"
#include "tests/integration/command_line.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Operations = std::vector<::rbdaddons::admin::v1::Operation>;

class ReclaimOperationTest : public ReclaimBed {
 protected:
  static std::future<Reclaimed> ReclaimLater(
      const TestVolume& volume, milliseconds deadline = kDeadline,
      const Parameters& parameters = {}) {
    return std::async(std::launch::async, [&volume, deadline, parameters] {
      return Reclaim(volume, parameters, "a", deadline);
    });
  }
  static std::vector<Reclaimed> ReclaimAll(
      const std::vector<TestVolume>& volumes, milliseconds deadline) {
    std::vector<std::future<Reclaimed>> calls;
    for (const TestVolume& volume : volumes) {
      calls.push_back(ReclaimLater(volume, deadline));
    }
    std::vector<Reclaimed> answers;
    for (auto& call : calls) answers.push_back(call.get());
    return answers;
  }
};

TEST_F(ReclaimOperationTest, TwentyAtOnceAreTwoAtATimeAndAllEndWell) {
  std::vector<TestVolume> volumes;
  for (int i = 0; i < 20; ++i) volumes.push_back(MakeLongVolume(64));

  // The cluster stands still: two have begun, and the rest says that it waits.
  Stop("a", "osd");
  const std::vector<Reclaimed> stuck = ReclaimAll(volumes, seconds(6));
  Continue("a", "osd");
  for (const Reclaimed& answer : stuck) {
    EXPECT_THAT(answer.status, HasCode(Code::ABORTED));
  }
  EXPECT_EQ(std::count_if(stuck.begin(), stuck.end(),
                          [](const Reclaimed& answer) {
                            return absl::StrContains(
                                answer.status.error_message(),
                                "has been queued");
                          }),
            18);

  const size_t from = Daemon("a").Log().size();
  for (const Reclaimed& answer : ReclaimAll(volumes, kDeadline)) {
    EXPECT_THAT(answer.status, HasCode(Code::OK));
  }
  for (const TestVolume& volume : volumes) {
    EXPECT_EQ(Outcome(volume), "sparsified");
  }
  EXPECT_EQ(MostAtOnce(from), 2);
}

TEST_F(ReclaimOperationTest, RetriesJoinAndHearHowFarItIs) {
  const TestVolume volume = MakeLongVolume(1024);
  // Held when all is ready for the first object.
  Restart("a",
          {{"RBD_ADDONS_FAULTS", "rbd_sparsify_with_progress#1:hang=8000"}});
  auto first = ReclaimLater(volume);
  ASSERT_TRUE(AwaitWork(volume));
  const grpc::Status impatient =
      Reclaim(volume, {}, "a", milliseconds(1500)).status;
  EXPECT_THAT(impatient, HasCode(Code::ABORTED));
  EXPECT_THAT(impatient.error_message(),
              AllOf(HasSubstr(" % ("), HasSubstr("of 4 MiB) looked at")));
  auto second = ReclaimLater(volume);
  const Reclaimed one = first.get();
  const Reclaimed two = second.get();
  EXPECT_THAT(one.status, HasCode(Code::OK));
  EXPECT_THAT(two.status, HasCode(Code::OK));
  EXPECT_EQ(one.after, two.after);
  EXPECT_EQ(Begins(volume), 1);
  EXPECT_EQ(Outcome(volume), "sparsified");
}

TEST_F(ReclaimOperationTest, WorkOutlivesItsCallerAndTheRetryGetsTheResult) {
  const TestVolume volume = MakeLongVolume(1024);
  Restart("a",
          {{"RBD_ADDONS_FAULTS", "rbd_sparsify_with_progress#1:hang=4000"}});
  EXPECT_THAT(Reclaim(volume, {}, "a", milliseconds(2000)).status,
              HasCode(Code::ABORTED));
  ASSERT_TRUE(Eventually([&] { return Outcome(volume) == "sparsified"; }));
  const Reclaimed retry = Reclaim(volume);
  EXPECT_THAT(retry.status, HasCode(Code::OK));
  EXPECT_EQ(retry.before, 4 * kMiB);
  EXPECT_EQ(Begins(volume), 1);
}

TEST_F(ReclaimOperationTest, AFailoverDoesNotWaitForIt) {
  const TestVolume volume = MakeReplicatedVolume({}, {"--size", "128M"});
  FillHollow(volume);
  Synchronize("a", volume);
  // The object under way takes its time; the next one is not begun.
  Restart("a",
          {{"RBD_ADDONS_FAULTS", "rbd_sparsify_with_progress#1:hang=8000"}});
  auto reclaim = ReclaimLater(volume, kDeadline, {{"withSnapshots", "true"}});
  ASSERT_TRUE(AwaitWork(volume));
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  EXPECT_FALSE(IsPrimary("a", volume));
  const grpc::Status ended = reclaim.get().status;
  EXPECT_THAT(ended, HasCode(Code::ABORTED));
  EXPECT_THAT(ended.error_message(), HasSubstr("demote"));
}

TEST_F(ReclaimOperationTest, AnAdministratorSeesHowFarItIsAndStopsIt) {
  const TestVolume volume = MakeLongVolume(3072);
  const uint64_t digest = Digest("a", volume);
  const double stopped = Ended("stopped");
  auto call = ReclaimLater(volume);
  Operations running;
  ASSERT_TRUE(Eventually([&] {
    running = ListedOperations(Daemon("a"));
    return running.size() == 1 && running[0].done() > 0;
  }));
  EXPECT_EQ(running[0].verb(), "sparsify");
  EXPECT_THAT(running[0].object(), HasSubstr(volume.id_a));
  EXPECT_EQ(running[0].step(), "sparsifying");
  EXPECT_EQ(running[0].total(), 12 * kMiB);
  EXPECT_LT(running[0].done(), running[0].total());
  EXPECT_THAT(
      RbdAddons(Daemon("a"), {"operations"}).out,
      AllOf(HasSubstr("  changing  sparsify  "), HasSubstr("% of 12582912 "),
            HasSubstr("lane bulk: 1 of 4 running")));

  const auto begin = std::chrono::steady_clock::now();
  const CliResult cancelled =
      CancelOperation(Daemon("a"), running[0].operation_id());
  EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  EXPECT_THAT(cancelled.out, HasSubstr("was asked to stop"));
  const Reclaimed answer = call.get();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(5));
  // After an error the operator would begin it again at once.
  EXPECT_THAT(answer.status, HasCode(Code::OK));
  EXPECT_EQ(answer.after, std::nullopt);
  EXPECT_EQ(ListedOperations(Daemon("a")).size(), 0U);
  EXPECT_EQ(Ended("stopped"), stopped + 1);
  EXPECT_EQ(Outcome(volume), "");
  EXPECT_EQ(Digest("a", volume), digest);
  ExpectLeft(volume);
  EXPECT_EQ(CancelOperation(Daemon("a"), running[0].operation_id()).code,
            static_cast<int>(Code::NOT_FOUND));

  EXPECT_THAT(ReclaimAtLast(volume), HasCode(Code::OK));
  EXPECT_EQ(Begins(volume), 2);
  EXPECT_EQ(Outcome(volume), "sparsified");
}

TEST_F(ReclaimOperationTest, AShutdownStopsItCleanly) {
  const TestVolume volume = MakeLongVolume(3072);
  auto call = ReclaimLater(volume);
  ASSERT_TRUE(AwaitWork(volume));
  Daemon("a").Stop(SIGTERM);
  EXPECT_THAT(call.get().status, HasCode(Code::ABORTED));
  ExpectLeft(volume);
  ASSERT_TRUE(Daemon("a").Start());
  EXPECT_THAT(ReclaimAtLast(volume), HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "sparsified");
}

TEST_F(ReclaimOperationTest, AKilledDaemonLosesOnlyTime) {
  const TestVolume volume = MakeLongVolume(3072);
  const uint64_t digest = Digest("a", volume);
  auto call = ReclaimLater(volume);
  ASSERT_TRUE(Eventually([&] { return Begins(volume) == 1; }));
  Restart("a");
  EXPECT_THAT(call.get().status, HasCode(Code::UNAVAILABLE));
  EXPECT_NE(Lockers(volume), "");
  // It waits until Ceph has forgotten the killed one.
  EXPECT_THAT(ReclaimAtLast(volume), HasCode(Code::OK));
  EXPECT_EQ(Outcome(volume), "sparsified");
  EXPECT_EQ(Begins(volume), 2);
  EXPECT_EQ(Digest("a", volume), digest);
  ExpectLeft(volume);
}

}  // namespace
}  // namespace addons::testing
