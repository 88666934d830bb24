#include "base/json_log_line.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/log.h"

namespace addons {
namespace {

nlohmann::json Parsed(const std::string& text) {
  const std::string line =
      JsonLogLine("2026-11-24T10:00:00.000+0000", "info", text);
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  auto object = ParseJson(line);
  EXPECT_TRUE(object.is_object()) << line;
  return object;
}

TEST(JsonLogLineTest, TakesFieldsFromTheirMessage) {
  EXPECT_EQ(JsonLogLine("T", "warning",
                        "role changed volume=v from=\"being made anew\""),
            R"({"time":"T","level":"warning","message":"role changed",)"
            R"("fields":{"volume":"v","from":"being made anew"}})");
}

TEST(JsonLogLineTest, GivesBackWhatWasQuoted) {
  for (const std::string& value :
       {std::string("plain"), std::string("a b"), std::string(),
        std::string("x=y"), std::string("it's \"so\""),
        std::string("line\nfeed\ttab\x01"), std::string("back\\slash"),
        std::string("tail\\"), std::string("caf\xc3\xa9 0"),
        std::string("quote\" end=1")}) {
    const auto object =
        Parsed(absl::StrCat("m a=1 value=", Quoted(value), " z=2"));
    EXPECT_EQ(object["message"], "m");
    EXPECT_EQ(object["fields"]["a"], "1");
    EXPECT_EQ(object["fields"]["value"], value) << Quoted(value);
    EXPECT_EQ(object["fields"]["z"], "2");
  }
}

TEST(JsonLogLineTest, WhatIsNoFieldIsTheMessage) {
  for (const char* text : {"", "stopped", "use --log-level=debug or nothing",
                           "a=1 and then words", "x = 1", "n=\"open"}) {
    const auto object = Parsed(text);
    if (std::string(text) == "n=\"open") {  // cut: the rest is the value
      EXPECT_EQ(object["fields"]["n"], "\"open");
      continue;
    }
    EXPECT_EQ(object["message"], text);
    EXPECT_TRUE(object["fields"].empty()) << object;
  }
}

TEST(JsonLogLineTest, BytesThatAreNoTextStayAnObject) {
  const auto object = Parsed("bad \xff bytes\n v=\"\\xff\"");
  EXPECT_NE(object["message"].get<std::string>().find("bytes"),
            std::string::npos);
  EXPECT_EQ(object["fields"].size(), 1U);
}

TEST(JsonLogLineTest, ALineOfTheLogIsTakenApart) {
  const auto object = Parsed(
      "serving endpoint=/csi/s socket_mode=0600 socket_group=\"\" "
      "metrics=http://[::1]:9/m");
  EXPECT_EQ(object["message"], "serving");
  EXPECT_EQ(object["fields"]["socket_group"], "");
  EXPECT_EQ(object["fields"]["metrics"], "http://[::1]:9/m");
}

}  // namespace
}  // namespace addons
