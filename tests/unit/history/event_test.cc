#include "history/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

HistoryEvent Refused() {
  HistoryEvent event;
  event.time = absl::FromUnixMillis(1795000000123);
  event.until = event.time;
  event.object = "0001-0006-site-a-0000000000000001-u";
  event.image = "replicapool/csi-vol-u";
  event.verb = "promote";
  event.user = "csi-rbd";
  event.request = "7f3a91-42";
  event.code = "UNAVAILABLE";
  event.text = "waits since 45 s (request 7f3a91-42)";
  event.daemon = "default on host 'csi-0'";
  return event;
}

TEST(HistoryEventTest, IsReadAsItWasWritten) {
  HistoryEvent event = Refused();
  auto read = ParseHistoryEvent(WriteHistoryEvent(event));
  ASSERT_OK(read);
  EXPECT_EQ(*read, event);
  event.times = 12;
  event.until += absl::Minutes(3);
  read = ParseHistoryEvent(WriteHistoryEvent(event));
  ASSERT_OK(read);
  EXPECT_EQ(*read, event);
}

TEST(HistoryEventTest, WhatANewerDaemonAddsIsIgnored) {
  const auto read = ParseHistoryEvent(
      R"({"time":"2026-11-20T03:00:00.5Z","code":"OK","colour":"red",)"
      R"("text":7,"times":-3,"until":"soon"})");
  ASSERT_OK(read);
  EXPECT_EQ(read->code, "OK");
  EXPECT_EQ(read->text, "");
  EXPECT_EQ(read->times, 1U);
  EXPECT_EQ(read->until, read->time);
  EXPECT_EQ(absl::ToUnixMillis(read->time), 1795143600500);
}

TEST(HistoryEventTest, WhatIsNoneIsAnError) {
  for (const char* const text :
       {"", "nothing", "[]", "7", "{}", R"({"time":7})", R"({"time":"never"})",
        R"({"time":"2026-11-20T03:00:00Z")"}) {
    EXPECT_THAT(ParseHistoryEvent(text),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << text;
  }
}

TEST(HistoryEventTest, WhatRbdMirrorWroteIsMadeUtf8AndCut) {
  HistoryEvent event = Refused();
  event.text = "bad \xff byte\nand line" + std::string(5000, 'x');
  const std::string written = WriteHistoryEvent(event);
  EXPECT_THAT(written, Not(HasSubstr("\n")));
  EXPECT_LT(written.size(), kMostHistoryText + 500);
  const auto read = ParseHistoryEvent(written);
  ASSERT_OK(read);
  EXPECT_THAT(read->text, HasSubstr("\xEF\xBF\xBD byte\nand line"));
}

TEST(HistoryEventTest, AgesAndRequestsDoNotMakeItAnother) {
  const HistoryEvent event = Refused();
  HistoryEvent later = Refused();
  later.time += absl::Minutes(1);
  later.request = "7f3a91-57";
  later.text = "waits since 105 s (request 7f3a91-57)";
  EXPECT_TRUE(SaysTheSame(event, later));
  for (const auto change : {+[](HistoryEvent& e) { e.code = "OK"; },
                            +[](HistoryEvent& e) { e.verb = "demote"; },
                            +[](HistoryEvent& e) { e.user = "other"; },
                            +[](HistoryEvent& e) { e.object = "other"; },
                            +[](HistoryEvent& e) { e.to = "primary"; },
                            +[](HistoryEvent& e) { e.text = "is gone"; }}) {
    HistoryEvent other = Refused();
    change(other);
    EXPECT_FALSE(SaysTheSame(event, other));
  }
}

}  // namespace
}  // namespace addons::testing
