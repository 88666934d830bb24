// The primary's site is gone. Forcing is allowed once it has been silent for
// the settle time, not before, and returns to the last complete snapshot.

#include <algorithm>
#include <future>
#include <regex>

#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// "2026-11-20T03:00:00Z" of a message.
bool NamesATime(const std::string& message) {
  static const std::regex time(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)");
  return std::regex_search(message, time);
}

seconds Since(steady_clock::time_point start) {
  return std::chrono::duration_cast<seconds>(steady_clock::now() - start);
}

class DisasterTest : public TwoSitesTest {};

TEST_F(DisasterTest, ForcesToTheLastCompleteSnapshotAfterTheSettleTime) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "copied");
  Synchronize("a", volume);
  Write("a", volume, "lost");
  // A site that dies before its first report is not named.
  ASSERT_TRUE(Eventually([&] { return !PeerReport("b", volume).empty(); }));

  Stop("a", "all");
  const auto died = steady_clock::now();
  const std::vector<grpc::Status> answers =
      PromoteRepeatedly("b", volume, seconds(150));
  EXPECT_THAT(answers.front(), HasCode(Code::UNAVAILABLE));
  const grpc::Status& refused = answers.back();
  ASSERT_THAT(refused, HasCode(Code::FAILED_PRECONDITION));
  // The site's last report is at most one status interval older than its death.
  EXPECT_GE(Since(died), kSettle - seconds(35));
  EXPECT_THAT(refused.error_message(),
              AllOf(HasSubstr("no sign of life"), HasSubstr("site 'site-a'")));
  EXPECT_TRUE(NamesATime(refused.error_message())) << refused.error_message();
  EXPECT_FALSE(IsPrimary("b", volume));

  const auto forced = steady_clock::now();
  EXPECT_THAT(Promote("b", volume, true), HasCode(Code::OK));
  EXPECT_LE(Since(forced), seconds(30));
  EXPECT_TRUE(IsPrimary("b", volume));
  EXPECT_EQ(ReadText("b", volume), "copied");
}

TEST_F(DisasterTest, ADemotionThatDiedWithItsSiteIsForcedPast) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "copied");
  Synchronize("a", volume);
  Stop("b", "rbd-mirror");
  Write("a", volume, "lost");
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  Stop("a", "all");
  Continue("b", "rbd-mirror");

  const std::vector<grpc::Status> answers =
      PromoteRepeatedly("b", volume, seconds(150));
  EXPECT_THAT(answers.front(), HasCode(Code::UNAVAILABLE));
  ASSERT_THAT(answers.back(), HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(answers.back().error_message(), HasSubstr("no sign of life"));
  EXPECT_THAT(Promote("b", volume, true), HasCode(Code::OK));
  EXPECT_TRUE(IsPrimary("b", volume));
  EXPECT_EQ(ReadText("b", volume), "copied");
}

/// Site a dies before the first test and stays dead.
class DeadSiteTest : public TwoSitesTest {
 public:
  static void SetUpTestSuite() {
    TwoSitesTest::SetUpTestSuite();
    volumes_ = new std::vector<TestVolume>();
    for (int i = 0; i < 3; ++i) volumes_->push_back(MakeReplicatedVolume());
    for (const TestVolume& volume : *volumes_) Write("a", volume, "whole");
    local_ = new TestVolume();
    local_->id_b = Testbed("volume", {"b", "pvc-local"});
    local_->image =
        "csi-vol-" +
        local_->id_b.substr(std::max<size_t>(36, local_->id_b.size()) - 36);
    Testbed("stop", {"a", "all"});
    died_ = steady_clock::now();
  }
  static void TearDownTestSuite() {
    delete volumes_;
    delete local_;
    TwoSitesTest::TearDownTestSuite();
  }

 protected:
  /// The settle time and one interval of b's own reports, which are the clock.
  static void WaitUntilLongDead() {
    ASSERT_TRUE(Eventually([] { return Since(died_) > kSettle + seconds(32); },
                           seconds(120)));
  }

  static std::vector<TestVolume>* volumes_;
  static TestVolume* local_;
  static steady_clock::time_point died_;
};

std::vector<TestVolume>* DeadSiteTest::volumes_ = nullptr;
TestVolume* DeadSiteTest::local_ = nullptr;
steady_clock::time_point DeadSiteTest::died_;

TEST_F(DeadSiteTest, OtherCallsAnswerQuickly) {
  // Calls that wait for the dead site are no reason to keep others waiting.
  std::vector<std::future<grpc::Status>> waiting;
  for (int i = 1; i < 3; ++i) {
    waiting.push_back(std::async(std::launch::async, [i] {
      return Promote("b", volumes_->at(i), false, {}, seconds(20));
    }));
  }
  const auto start = steady_clock::now();
  ::replication::GetVolumeReplicationInfoResponse info;
  EXPECT_THAT(Info("b", volumes_->at(1), &info), HasCode(Code::OK));
  EXPECT_THAT(Enable("b", *local_), HasCode(Code::OK));
  EXPECT_THAT(Promote("b", *local_), HasCode(Code::OK));
  std::string destination;
  EXPECT_THAT(Destination("b", volumes_->at(2), &destination),
              HasCode(Code::OK));
  EXPECT_EQ(destination, volumes_->at(2).id_a);
  EXPECT_THAT(Disable("b", *local_), HasCode(Code::OK));
  EXPECT_LE(Since(start), seconds(15));
  for (auto& call : waiting) {
    EXPECT_THAT(call.get(), HasCode(Code::UNAVAILABLE));
  }
}

// Its silence alone proves nothing: that nothing arrives is to be seen, too.
TEST_F(DeadSiteTest, ASiteThatDiedLongAgoIsRecognisedAfterTheSettleTime) {
  WaitUntilLongDead();
  const auto start = steady_clock::now();
  const grpc::Status refused = PromoteAtLast("b", volumes_->at(0));
  EXPECT_THAT(refused, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_GE(Since(start), kSettle - seconds(1));
  EXPECT_LE(Since(start), kSettle + seconds(30));
  EXPECT_THAT(refused.error_message(),
              AllOf(HasSubstr("site 'site-a'"), HasSubstr("forcing returns")));
  EXPECT_TRUE(NamesATime(refused.error_message())) << refused.error_message();
}

}  // namespace
}  // namespace addons::testing
