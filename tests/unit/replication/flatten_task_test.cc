#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "replication/steps/parent.h"
#include "tests/testing/recorded_ceph.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;

/// One task, as the manager lists it.
std::string Task(const std::string& action, const std::string& pool,
                 const std::string& rados_namespace, const std::string& image) {
  return R"({"id":"1","progress":0.25,"refs":{"action":")" + action +
         R"(","pool_name":")" + pool + R"(","pool_namespace":")" +
         rados_namespace + R"(","image_name":")" + image + R"("}})";
}

bool Queued(const std::string& list, const std::string& spec) {
  const auto task = FindFlattenTask(list, spec);
  EXPECT_OK(task);
  return task.ok() && task->has_value();
}

TEST(FlattenTaskTest, OnlyTheImagesOwnFlatteningCounts) {
  EXPECT_TRUE(Queued("[" + Task("flatten", "p", "", "i") + "]", "p/i"));
  EXPECT_TRUE(Queued("[" + Task("flatten", "p", "n", "i") + "]", "p/n/i"));
  EXPECT_FALSE(Queued("[]", "p/i"));
  EXPECT_FALSE(Queued("[" + Task("remove", "p", "", "i") + "]", "p/i"));
  // The one ends in the other's name.
  EXPECT_FALSE(Queued("[" + Task("flatten", "xp", "", "i") + "]", "p/i"));
  EXPECT_FALSE(Queued("[" + Task("flatten", "p", "n", "i") + "]", "p/i"));
}

TEST(FlattenTaskTest, ProgressIsTheTasks) {
  const auto task = FindFlattenTask("[" + Task("remove", "p", "", "i") + "," +
                                        Task("flatten", "p", "", "i") + "]",
                                    "p/i");
  ASSERT_OK(task);
  ASSERT_TRUE(task->has_value());
  EXPECT_EQ((*task)->progress, 0.25);
}

TEST(FlattenTaskTest, ProgressIsFromZeroToOne) {
  for (const auto& [written, read] :
       {std::pair("1e300", 1.0), std::pair("-0.5", 0.0), std::pair("2", 1.0)}) {
    const auto task = FindFlattenTask(
        std::string(R"([{"progress":)") + written +
            R"(,"refs":{"action":"flatten","pool_name":"p","image_name":"i"}}])",
        "p/i");
    ASSERT_OK(task);
    ASSERT_TRUE(task->has_value());
    EXPECT_EQ((*task)->progress, read) << written;
  }
}

TEST(FlattenTaskTest, AnUnknownShapeIsNoEmptyQueue) {
  for (const char* const list :
       {"", "{}", "7", "[7]", "[{}]", R"([{"refs":7}])", R"([{"refs":{}}])",
        R"([{"refs":{"action":7}}])", R"([{"refs":{"action":"flatten"}}])"}) {
    const auto task = FindFlattenTask(list, "p/i");
    EXPECT_EQ(task.status().code(), absl::StatusCode::kInternal) << list;
    EXPECT_THAT(task.status().message(), HasSubstr("rbd task list"));
  }
}

class RecordedTaskTest : public ::testing::TestWithParam<std::string> {};

TEST_P(RecordedTaskTest, AnEmptyQueue) {
  EXPECT_FALSE(Queued(Recorded(GetParam(), "rbd-task/list-none.json"),
                      "replicapool/child"));
}

INSTANTIATE_TEST_SUITE_P(Releases, RecordedTaskTest,
                         ::testing::ValuesIn(RecordedReleases()), ReleaseName);

TEST(RecordedFlatteningTest, IsFoundWithItsProgress) {
  // 18.2.7 has no such record: Debian's manager does not survive a flatten.
  for (const char* const release : {"16.2.15", "20.2.4"}) {
    const auto task = FindFlattenTask(
        Recorded(release, "rbd-task/list-flatten.json"), "replicapool/child");
    ASSERT_OK(task);
    ASSERT_TRUE(task->has_value()) << release;
    EXPECT_TRUE((*task)->progress.has_value()) << release;
  }
}

}  // namespace
}  // namespace addons::testing
