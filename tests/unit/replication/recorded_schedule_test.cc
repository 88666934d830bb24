// Schedules as the managers of every recorded release list them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ceph/errors.h"
#include "replication/steps/mirror_schedule.h"
#include "tests/fakes/test_operation_context.h"
#include "tests/testing/answering_cluster.h"
#include "tests/testing/recorded_ceph.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using absl::StrCat;
using absl::StrContains;
using std::chrono::hours;
using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

absl::StatusOr<std::vector<SnapshotSchedule>> List(
    const std::string& spec, absl::StatusOr<std::string> answer) {
  AnsweringCluster cluster;
  cluster.Answer("rbd mirror snapshot schedule list", std::move(answer));
  FakeWorld world;
  TestOperationContext context(world);
  return ListSchedules(context, ReplicationOptions(), cluster, spec);
}

absl::StatusOr<AppliedSchedules> Applied(const std::string& image_id,
                                         const std::string& spec,
                                         const std::string& answer) {
  AnsweringCluster cluster;
  cluster.Answer("rbd mirror snapshot schedule list", answer);
  return ReadAppliedSchedules(cluster, spec, image_id);
}

class RecordedScheduleTest : public ::testing::TestWithParam<std::string> {
 protected:
  absl::StatusOr<std::vector<SnapshotSchedule>> ListRecorded(
      const std::string& spec, const std::string& file) {
    return List(spec, Recorded(GetParam(), "schedule/" + file));
  }
};

TEST_P(RecordedScheduleTest, AnImagesOwn) {
  for (const char* const file :
       {"list-image.json", "list-image-beside-pool.json", "list-pool.json"}) {
    const auto schedules = ListRecorded("replicapool/still", file);
    ASSERT_OK(schedules);
    ASSERT_THAT(*schedules, SizeIs(2)) << file;
    // Releases list them in different orders.
    const size_t daily = (*schedules)[0].start_time.empty() ? 1 : 0;
    EXPECT_EQ((*schedules)[daily].interval, hours(24)) << file;
    EXPECT_EQ((*schedules)[daily].start_time, "14:00:00-05:00") << file;
    EXPECT_EQ((*schedules)[1 - daily].interval, minutes(60)) << file;
    EXPECT_EQ((*schedules)[1 - daily].start_time, "") << file;
  }
}

TEST_P(RecordedScheduleTest, NoneOrThoseOfThePoolAreNotTheImages) {
  for (const char* const file : {"list-none.json", "list-inherited.json"}) {
    const auto schedules = ListRecorded("replicapool/plain", file);
    ASSERT_OK(schedules);
    EXPECT_THAT(*schedules, IsEmpty()) << file;
  }
}

TEST_P(RecordedScheduleTest, AnImageThatIsNotMirroredHasNone) {
  for (const char* const file :
       {"no-such-image.txt", "image-not-mirrored.txt"}) {
    const auto schedules =
        List("replicapool/still",
             CephError(-EINVAL, "run",
                       Recorded(GetParam(), absl::StrCat("schedule/", file))));
    ASSERT_OK(schedules);
    EXPECT_THAT(*schedules, IsEmpty()) << file;
  }
}

TEST_P(RecordedScheduleTest, AnImagesOwnApplyToIt) {
  for (const char* const file :
       {"list-image.json", "list-image-beside-pool.json", "list-pool.json"}) {
    const std::string answer = Recorded(GetParam(), StrCat("schedule/", file));
    // "1//<image id>"
    const size_t id = answer.find("1//") + 3;
    const auto applied = Applied(answer.substr(id, answer.find('"', id) - id),
                                 "replicapool/still", answer);
    ASSERT_OK(applied);
    EXPECT_THAT(applied->own, SizeIs(2)) << file;
    EXPECT_THAT(applied->inherited,
                SizeIs(StrContains(answer, R"("replicapool/")") ? 1 : 0))
        << file;
  }
}

TEST_P(RecordedScheduleTest, ThoseOfThePoolApplyWhereThereAreNoOwn) {
  const auto applied =
      Applied("1040", "replicapool/plain",
              Recorded(GetParam(), "schedule/list-inherited.json"));
  ASSERT_OK(applied);
  EXPECT_THAT(applied->own, IsEmpty());
  ASSERT_THAT(applied->inherited, SizeIs(1));
  EXPECT_EQ(applied->inherited[0].interval, hours(6));
}

TEST_P(RecordedScheduleTest, NoneApplies) {
  const auto applied = Applied("1040", "replicapool/plain",
                               Recorded(GetParam(), "schedule/list-none.json"));
  ASSERT_OK(applied);
  EXPECT_THAT(applied->own, IsEmpty());
  EXPECT_THAT(applied->inherited, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Releases, RecordedScheduleTest,
                         ::testing::ValuesIn(RecordedReleases()), ReleaseName);

TEST(ScheduleListTest, AnUnknownShapeIsNoEmptyList) {
  for (const char* const answer :
       {"", "[]", "7", R"({"1//1040":7})", R"({"1//1040":[]})",
        R"({"1//1040":{}})", R"({"1//1040":{"schedule":[]}})",
        R"({"1//1040":{"name":7,"schedule":[]}})",
        R"({"1//1040":{"name":"p/i"}})",
        R"({"1//1040":{"name":"p/i","schedule":{}}})",
        R"({"1//1040":{"name":"p/i","schedule":[7]}})",
        R"({"1//1040":{"name":"p/i","schedule":[{}]}})",
        R"({"1//1040":{"name":"p/i","schedule":[{"interval":60}]}})",
        R"({"1//1040":{"name":"p/i","schedule":[{"interval":"2w"}]}})",
        R"({"1//1040":{"name":"p/i","schedule":
            [{"interval":"1h","start_time":7}]}})",
        R"({"1//1040":{"name":"p//i","schedule":[{"interval":"1h"}]}})",
        R"({"p/i":{"name":"p/i","schedule":[{"interval":"1h"}]}})",
        R"({"1":{"name":"p/","schedule":{"interval":"1h"}}})"}) {
    for (const absl::Status& status :
         {List("p/i", answer).status(),
          Applied("1040", "p/i", answer).status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << answer;
      EXPECT_THAT(status.message(),
                  AllOf(HasSubstr("rbd mirror snapshot schedule list"),
                        HasSubstr("p/i")));
    }
  }
}

TEST(ScheduleListTest, LevelsAboveTheImageAreNotItsOwn) {
  for (const char* const answer :
       {R"({"":{"name":"","schedule":[{"interval":"1h"}]}})",
        R"({"1":{"name":"p/","schedule":[{"interval":"1h"}]}})",
        R"({"1/n":{"name":"p/n/","schedule":[{"interval":"1h"}]}})"}) {
    const auto own = List("p/n/i", answer);
    ASSERT_OK(own);
    EXPECT_THAT(*own, IsEmpty()) << answer;
    const auto applied = Applied("1040", "p/n/i", answer);
    ASSERT_OK(applied);
    EXPECT_THAT(applied->inherited, SizeIs(1)) << answer;
  }
}

}  // namespace
}  // namespace addons::testing
