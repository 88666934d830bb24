// What a call costs does not grow with what else there is: images in the pool,
// clusters in config.json, other calls that wait.

#include <chrono>
#include <cstdlib>
#include <list>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "tests/testing/documented_calls.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

std::string UuidOf(int i) {
  return absl::StrFormat("5ef79ce1-81e8-439b-8405-%012d", i);
}

/// Two sites with so many images in the pool, mirrored to b, and so many
/// clusters in config.json.
class Surroundings : public VerbsTest {
 public:
  Surroundings(int images, int clusters) {
    AddMirrored(kSmallImage);
    for (int i = 1; i < images; ++i) {
      pair_.AddVolume(a_, UuidOf(i), 64 << 10);
      a_.EnableMirroring(MirroredPair::ImageOf(UuidOf(i)));
    }
    b_.SetCopySpeed(1e9);
    world_.Advance(minutes(4));
    for (Daemon* daemon : {&on_a_, &on_b_}) daemon->AddClusters(clusters - 1);
  }
  void TestBody() override {}
  Daemon& on_a() { return on_a_; }
  Daemon& on_b() { return on_b_; }

  size_t Mirrored() {
    const auto pool =
        pair_.cluster(b_)->OpenPool(pair_.pool_id(b_), "", Access::kRead);
    return (*pool)->MirrorStatuses()->size();
  }
  CallCounts OfInfo(Daemon& daemon) {
    world_.ClearCalls();
    EXPECT_OK(Info(daemon));
    return Made();
  }
  CallCounts OfResync() {
    world_.ClearCalls();
    EXPECT_OK(Resync(on_b_));
    return Made();
  }
  CallCounts OfPromoteAgain() {
    const ParameterMap schedule = {{"schedulingInterval", "5m"}};
    EXPECT_OK(Promote(on_a_, Force::kNo, schedule));
    world_.ClearCalls();
    EXPECT_OK(Promote(on_a_, Force::kNo, schedule));
    return Made();
  }
  CallCounts OfWaiting() {
    deadline_ = seconds(100);
    world_.ClearCalls();
    EXPECT_THAT(Promote(on_b_), StatusIs(absl::StatusCode::kUnavailable,
                                         ::testing::HasSubstr("as primary")));
    return Made();
  }
  /// So many promotions wait on b for a minute.
  CallCounts OfWaitingTogether(int volumes) {
    std::list<TestOperationContext> calls;
    for (int i = 1; i <= volumes; ++i) {
      pair_.AddJournal(b_, UuidOf(i));
      calls.emplace_back(world_).RunAgainInsteadOfWaiting();
      calls.back().SetDeadline(minutes(10));
    }
    world_.ClearCalls();
    for (int second = 0; second < 60; ++second) {
      int i = 0;
      for (TestOperationContext& call : calls) {
        EXPECT_TRUE(RunsAgain(addons::Promote(
            call, on_b_.environment(),
            {on_b_.Target(pair_.VolumeId(b_, UuidOf(++i))), Force::kNo, {}})));
      }
      world_.Advance(seconds(1));
    }
    return Made();
  }

 private:
  CallCounts Made() {
    CallCounts counts;
    for (const CallRecord& record : world_.Calls()) ++counts[record.call];
    return counts;
  }
};

constexpr int kFew = 10;

/// Several pages of a listing; thousands take minutes to make.
int Many() {
  const char* const images = std::getenv("RBD_ADDONS_SCALE_IMAGES");
  return images == nullptr ? 400 : std::atoi(images);
}

TEST(ScaleTest, TheImagesOfThePoolCostNothing) {
  Surroundings few(kFew, 1);
  const int many_images = Many();
  Surroundings many(many_images, 1);
  ASSERT_EQ(few.Mirrored(), kFew);
  ASSERT_EQ(many.Mirrored(), many_images);
  EXPECT_EQ(many.OfInfo(many.on_a()), few.OfInfo(few.on_a()));
  EXPECT_EQ(many.OfInfo(many.on_b()), few.OfInfo(few.on_b()));
  EXPECT_EQ(many.OfResync(), few.OfResync());
  EXPECT_EQ(many.OfPromoteAgain(), few.OfPromoteAgain());
  EXPECT_EQ(many.OfWaiting(), few.OfWaiting());
}

TEST(ScaleTest, TheClustersInTheConfigurationCostNothing) {
  Surroundings one(kFew, 1);
  Surroundings hundred(kFew, 100);
  EXPECT_EQ(hundred.OfInfo(hundred.on_a()), one.OfInfo(one.on_a()));
  EXPECT_EQ(hundred.OfInfo(hundred.on_b()), one.OfInfo(one.on_b()));
  EXPECT_EQ(hundred.OfResync(), one.OfResync());
  EXPECT_EQ(hundred.OfPromoteAgain(), one.OfPromoteAgain());
  EXPECT_EQ(hundred.OfWaiting(), one.OfWaiting());
}

TEST(ScaleTest, PromotionsThatWaitShareTheListingOfThePool) {
  constexpr char kListing[] = "rbd_mirror_image_global_status_list";
  constexpr char kLooking[] = "rbd.mirror_image_status_get";
  const CallCounts two = Surroundings(101, 1).OfWaitingTogether(2);
  CallCounts hundred = Surroundings(101, 1).OfWaitingTogether(100);
  EXPECT_LE(hundred[kListing], two.at(kListing));
  // Both namespaces of the pool, each 5 s once all have looked.
  EXPECT_LE(hundred[kListing], 30);
  EXPECT_EQ(hundred[kLooking], two.at(kLooking) * 50);
}

}  // namespace
}  // namespace addons::testing
