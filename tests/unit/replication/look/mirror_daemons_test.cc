#include "replication/look/mirror_daemons.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

// As 16.2.15 printed it: the daemon could not reach the other site.
const char kAnswer[] =
    R"({"rbd-mirror":{"4313":{"status_stamp":"2026-11-23T16:40:05.348623+0000",)"
    R"("last_beacon":"2026-11-23T16:40:15.352587+0000","status":{"json":)"
    R"("{\"1\":{\"name\":\"replicapool\",\"callouts\":{\"3\":)"
    R"({\"level\":\"error\",\"text\":\"unable to connect to remote cluster\"}},)"
    R"(\"image_assigned_count\":0}}"}}}})";

TEST(MirrorDaemonsTest, SaysThatThePeerCannotBeReached) {
  const auto found = ParseMirrorDaemons(kAnswer, 1);
  ASSERT_OK(found);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().id, "4313");
  EXPECT_EQ(found->front().last_beacon, "2026-11-23T16:40:15.352587+0000");
  EXPECT_TRUE(found->front().cut_off);
}

TEST(MirrorDaemonsTest, SaysNothingOfOtherPools) {
  const auto found = ParseMirrorDaemons(kAnswer, 2);
  ASSERT_OK(found);
  EXPECT_TRUE(found->empty());
}

TEST(MirrorDaemonsTest, OtherCalloutsAreOthers) {
  for (const auto& [from, to] :
       {std::pair("remote cluster", "local cluster"),
        std::pair(R"(\"error)", R"(\"warning)"),
        std::pair("unable to connect", "able to connect")}) {
    const auto found =
        ParseMirrorDaemons(absl::StrReplaceAll(kAnswer, {{from, to}}), 1);
    ASSERT_OK(found);
    ASSERT_EQ(found->size(), 1U);
    EXPECT_FALSE(found->front().cut_off) << to;
  }
}

TEST(MirrorDaemonsTest, NobodyIsNobody) {
  for (const char* const answer :
       {"{}", R"({"mds":{}})", R"({"rbd-mirror":{}})"}) {
    const auto found = ParseMirrorDaemons(answer, 1);
    ASSERT_OK(found);
    EXPECT_TRUE(found->empty());
  }
}

TEST(MirrorDaemonsTest, AnotherShapeIsAnError) {
  for (
      const char* const answer :
      {"", "[]", "nothing", R"({"rbd-mirror":[]})",
       R"({"rbd-mirror":{"1":{}}})", R"({"rbd-mirror":{"1":7}})",
       R"({"rbd-mirror":{"1":{"last_beacon":7,"status":{"json":"{\"1\":{}}"}}}})",
       R"({"rbd-mirror":{"1":{"last_beacon":"t","status":{"json":"[]"}}}})"}) {
    EXPECT_THAT(ParseMirrorDaemons(answer, 1),
                StatusIs(absl::StatusCode::kInternal))
        << answer;
  }
}

}  // namespace
}  // namespace addons::testing
