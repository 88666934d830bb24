// The commands of monitor and manager: schedules, flatten tasks, lists.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "ceph/blocklist.h"
#include "ceph/blocklist_commands.h"
#include "nlohmann/json.hpp"
#include "tests/contract/contract_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_P(ContractTest, ScheduleIsListedUnderPoolNamespaceAndImageId) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  for (int i = 0; i < 2; ++i) {  // twice is the same as once
    ASSERT_OK(Schedule(
        "add", Spec(kStanding),
        {{"interval", "60m"}, {"start_time", "2026-11-20T03:00:00Z"}}));
  }
  const nlohmann::json listed = ScheduleOf(Spec(kStanding));
  const std::string key =
      absl::StrCat(bed().PoolId(kA), "//", IdOf(kA, kStanding));
  ASSERT_TRUE(listed.contains(key)) << listed.dump();
  EXPECT_EQ(listed[key]["name"], Spec(kStanding));
  ASSERT_EQ(listed[key]["schedule"].size(), 1U);
  EXPECT_EQ(listed[key]["schedule"][0]["interval"], "1h");
  EXPECT_EQ(listed[key]["schedule"][0]["start_time"], "03:00:00+00:00");

  ASSERT_OK(Schedule("remove", Spec(kStanding)));
  EXPECT_FALSE(ScheduleOf(Spec(kStanding)).contains(key));
  EXPECT_OK(Schedule("remove", Spec(kStanding)))
      << "an absent one may be removed";
}

TEST_P(ContractTest, ScheduleWithoutStartTimeHasNull) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  ASSERT_OK(Schedule("add", Spec(kStanding), {{"interval", "7m"}}));
  const nlohmann::json listed = ScheduleOf(absl::StrCat(bed().PoolName(), "/"));
  ASSERT_OK(Schedule("remove", Spec(kStanding), {{"interval", "7m"}}));
  const std::string key =
      absl::StrCat(bed().PoolId(kA), "//", IdOf(kA, kStanding));
  ASSERT_TRUE(listed.contains(key)) << listed.dump();
  ASSERT_EQ(listed[key]["schedule"].size(), 1U);
  EXPECT_EQ(listed[key]["schedule"][0]["interval"], "7m");
  EXPECT_TRUE(listed[key]["schedule"][0]["start_time"].is_null());
}

// And where its offset has to be taken off, it is added.
TEST_P(ContractTest, AStartTimeOfAnotherZoneIsKeptAsGivenWithoutItsDate) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const nlohmann::json item = {{"interval", "1d"},
                               {"start_time", "2026-11-20T03:00:00+09:00"}};
  ASSERT_OK(Schedule("add", Spec(kStanding), item));
  const nlohmann::json listed = ScheduleOf(Spec(kStanding));
  ASSERT_OK(Schedule("remove", Spec(kStanding), item));
  const std::string key =
      absl::StrCat(bed().PoolId(kA), "//", IdOf(kA, kStanding));
  ASSERT_TRUE(listed.contains(key)) << listed.dump();
  EXPECT_EQ(listed[key]["schedule"][0]["start_time"], "03:00:00+09:00");
}

// Releases answer that it is wrong, or OK.
TEST_P(ContractTest, AScheduleWithoutAnIntervalIsKeptAndCanBeRemoved) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto added = Schedule("add", Spec(kStanding), {{"interval", "0m"}});
  const nlohmann::json listed = ScheduleOf(Spec(kStanding));
  const auto removed =
      Schedule("remove", Spec(kStanding), {{"interval", "0d"}});
  const nlohmann::json after = ScheduleOf(Spec(kStanding));
  const std::string key =
      absl::StrCat(bed().PoolId(kA), "//", IdOf(kA, kStanding));
  ASSERT_TRUE(listed.contains(key)) << listed.dump() << added.status();
  EXPECT_EQ(listed[key]["schedule"][0]["interval"], "0d");
  EXPECT_OK(removed);
  EXPECT_FALSE(after.contains(key)) << after.dump();
  EXPECT_TRUE(added.ok() || CephErrno(added.status()) == EINVAL)
      << added.status();
}

/// What the manager keeps of the schedules of kStanding's image; "": nothing.
std::string Kept(Pool& pool, const std::string& image_id) {
  const auto kept = pool.ReadOmapKey("rbd_mirror_snapshot_schedule",
                                     absl::StrCat(pool.id(), "//", image_id));
  return kept.ok() ? kept->value_or("") : "";
}

TEST_P(ContractTest, ScheduleIsKeptInThePoolBeforeTheManagerAnswers) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto pool = OpenPool(kA, Access::kRead);
  const std::string id = IdOf(kA, kStanding);
  const std::string key = absl::StrCat(bed().PoolId(kA), "//", id);
  const std::vector<std::map<std::string, std::string>> items = {
      {{"interval", "7m"}},
      {{"interval", "2h"}, {"start_time", "2026-11-20T03:00:00Z"}}};
  for (const auto& item : items) {
    ASSERT_OK(Schedule("add", Spec(kStanding), item));
    // As it is listed.
    EXPECT_EQ(ParseJson(Kept(*pool, id)),
              ScheduleOf(Spec(kStanding))[key]["schedule"]);
  }
  ASSERT_OK(Schedule("remove", Spec(kStanding), items[0]));
  EXPECT_EQ(ParseJson(Kept(*pool, id)),
            ScheduleOf(Spec(kStanding))[key]["schedule"]);
  ASSERT_OK(Schedule("remove", Spec(kStanding), items[1]));
  EXPECT_EQ(Kept(*pool, id), "");
}

TEST_P(ContractTest, SchedulesOfTheTrashAreListedWithoutAnImage) {
  EXPECT_OK(bed().ClusterFor(kA).MgrCommand(absl::StrCat(
      R"({"prefix": "rbd trash purge schedule list", "level_spec": ")",
      bed().PoolName(), R"(/"})")));
}

TEST_P(ContractTest, ScheduleOfAnAbsentImageIsInvalid) {
  EXPECT_THAT(Schedule("add", Spec("absent"), {{"interval", "5m"}}),
              AllOf(HasErrno(EINVAL), StatusIs(absl::StatusCode::kInternal,
                                               HasSubstr("does not exist"))));
}

TEST_P(ContractTest, ScheduleWithABadIntervalIsInvalid) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  EXPECT_THAT(Schedule("add", Spec(kStanding), {{"interval", "5x"}}),
              AllOf(HasErrno(EINVAL), StatusIs(absl::StatusCode::kInternal,
                                               HasSubstr("Invalid interval"))));
}

TEST_P(ContractTest, FlattenTaskOfAnImageWithoutParentIsNotFound) {
  MakeImage(kA, "plain-task");
  EXPECT_THAT(bed().ClusterFor(kA).MgrCommand(absl::StrCat(
                  R"({"prefix": "rbd task add flatten", "image_spec": ")",
                  Spec("plain-task"), R"("})")),
              HasErrno(ENOENT));
}

TEST_P(ContractTest, FlattenTaskEndsWithoutAParent) {
  if (const auto why = bed().NoFlattenTasks()) GTEST_SKIP() << *why;
  MakeImage(kA, "parent-4");
  ASSERT_OK(bed().CreateClone(kA, "parent-4", "clone-4"));
  const auto added = bed().ClusterFor(kA).MgrCommand(
      absl::StrCat(R"({"prefix": "rbd task add flatten", "image_spec": ")",
                   Spec("clone-4"), R"("})"));
  ASSERT_OK(added);
  const auto task = ParseJson(*added);
  ASSERT_TRUE(task.is_object()) << *added;
  EXPECT_EQ(task["refs"]["action"], "flatten");
  EXPECT_EQ(task["refs"]["image_name"], "clone-4");
  EXPECT_FALSE(task.value("id", "").empty());
  EXPECT_TRUE(bed().WaitFor(
      [] { return !Look(kA, "clone-4")->Parent()->has_value(); }, kCopyLimit));
  EXPECT_TRUE(bed().WaitFor(
      [] {
        const auto listed =
            bed().ClusterFor(kA).MgrCommand(R"({"prefix": "rbd task list"})");
        return listed.ok() && ParseJson(*listed).empty();
      },
      kCopyLimit));
}

TEST_P(ContractTest, UnknownManagerCommandIsInvalid) {
  EXPECT_THAT(
      bed().ClusterFor(kA).MgrCommand(R"({"prefix": "no such command"})"),
      HasErrno(EINVAL));
}

TEST_P(ContractTest, BlocklistIsOfAShapeThatIsRead) {
  const auto listed = bed().ClusterFor(kA).MonCommand(
      R"({"prefix": "osd blocklist ls", "format": "json"})");
  ASSERT_OK(listed);
  const auto list = Blocklist::Parse(*listed);
  ASSERT_OK(list) << *listed;
  EXPECT_TRUE(list->has_ranges);
  EXPECT_THAT(list->unreadable, IsEmpty());
}

// Doctor tells from it what a user may.
TEST_P(ContractTest, WhatIsNoAddressCannotBeBlocklisted) {
  for (const BlocklistKey& key :
       {BlocklistKey{true, "rbd-addons-doctor/32"},
        BlocklistKey{false, "rbd-addons-doctor/32"}}) {
    for (const std::string& command :
         {AddCommand(key, std::chrono::seconds(60)), RemoveCommand(key)}) {
      EXPECT_THAT(bed().ClusterFor(kA).MonCommand(command),
                  AllOf(HasErrno(EINVAL),
                        StatusIs(absl::StatusCode::kInternal,
                                 HasSubstr("unable to parse address"))))
          << command;
    }
  }
}

TEST_P(ContractTest, TheMonitorListsThePools) {
  const auto text = bed().ClusterFor(kA).MonCommand(
      R"({"prefix": "osd lspools", "format": "json"})");
  ASSERT_OK(text);
  bool found = false;
  for (const auto& pool : ParseJson(*text)) {
    found |= pool.at("poolnum") == bed().PoolId(kA) &&
             pool.at("poolname") == bed().PoolName();
  }
  EXPECT_TRUE(found) << *text;
}

}  // namespace
}  // namespace addons
