// Site b follows site a, which has no rbd-mirror: nobody reports on a at b.
// What a planned move and a failover need there.

#include <chrono>
#include <string>

#include "tests/cluster/two_sites.h"
#include "tests/integration/mid_copy.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;

const bool kOneWay =
    StartBedWith({"--one-way"}) && OnBluestore({"OneWayMidCopyTest"});

class OneWayTest : public TwoSitesTest {};

TEST_F(OneWayTest, APlannedMoveNeedsNoReportOfTheSource) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "all of it");
  const uint64_t written = Digest("a", volume);
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  EXPECT_THAT(PromoteAtLast("b", volume), HasCode(Code::OK));
  EXPECT_TRUE(IsPrimary("b", volume));
  EXPECT_FALSE(IsPrimary("a", volume));
  EXPECT_EQ(Digest("b", volume), written);
}

TEST_F(OneWayTest, WithoutAnIntervalAPersonForces) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "copied");
  Synchronize("a", volume);
  Write("a", volume, "lost");
  Stop("a", "all");
  const grpc::Status waited = Promote("b", volume, false, {}, seconds(30));
  EXPECT_THAT(waited, HasCode(Code::UNAVAILABLE));
  EXPECT_THAT(
      waited.error_message(),
      AllOf(HasSubstr("one-way"), HasSubstr("rbd-addons promote ID --force")));
  EXPECT_FALSE(IsPrimary("b", volume));
  EXPECT_THAT(Promote("b", volume, true), HasCode(Code::OK));
  EXPECT_TRUE(IsPrimary("b", volume));
  EXPECT_EQ(ReadText("b", volume), "copied");
}

/// Nobody copies what is written on b, so librbd makes no mirror snapshots
/// there.
class OneWayMidCopyTest : public MidCopyTest {
 public:
  static void SetUpTestSuite() {
    StopInMidCopy({{"copy", {}}});
    SiteDies();
  }
};

TEST_F(OneWayMidCopyTest, TheLastWholeStateComesBack) {
  const Volume& made = volumes_->at("copy");
  EXPECT_THAT(Force(made.volume), HasCode(Code::OK));
  ExpectWhole(made);
}

class LongOneWayTest : public TwoSitesTest {};

// Three intervals are three minutes, and the manager begins with a new schedule
// within two.
TEST_F(LongOneWayTest, ThreeIntervalsWithoutASnapshotAreADeath) {
  const Parameters every_minute = {{"schedulingInterval", "1m"}};
  const TestVolume volume = MakeReplicatedVolume(every_minute);
  const SeenSnapshot initial = NewestSnapshot("b", volume);
  ASSERT_TRUE(
      Eventually([&] { return NewestSnapshot("b", volume).id > initial.id; },
                 seconds(150)));
  // A living primary is not forced aside, however long it is asked for.
  const auto start = steady_clock::now();
  while (steady_clock::now() - start < seconds(240)) {
    ASSERT_THAT(Promote("b", volume, false, every_minute, seconds(30)),
                HasCode(Code::UNAVAILABLE));
  }
  Write("a", volume, "copied");
  Synchronize("a", volume);
  Stop("a", "all");
  const auto died = steady_clock::now();
  grpc::Status answer;
  do {
    answer = Promote("b", volume, false, every_minute, seconds(30));
  } while (answer.error_code() == Code::UNAVAILABLE &&
           steady_clock::now() - died < seconds(400));
  ASSERT_THAT(answer, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_GE(steady_clock::now() - died, seconds(150));
  EXPECT_THAT(answer.error_message(), HasSubstr("three intervals"));
  EXPECT_THAT(Promote("b", volume, true, every_minute), HasCode(Code::OK));
  EXPECT_EQ(ReadText("b", volume), "copied");
}

}  // namespace
}  // namespace addons::testing
