#include "cli/yaml.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace addons {
namespace {

using nlohmann::ordered_json;

TEST(YamlTest, StructuresAreIndentedInTheirOrder) {
  const ordered_json value = {
      {"verb", "group create"},
      {"volumes",
       {{{"id", "a"}, {"size", 5}}, {{"id", "b"}, {"tags", {"x", "z"}}}}},
      {"nested", {{1, 2}, {3}}},
      {"context", {{"pool", {{"name", "rbd"}}}}},
      {"none", ordered_json::array()},
      {"empty", ordered_json::object()},
      {"ready", true},
      {"unknown", nullptr}};
  EXPECT_EQ(ToYaml(value),
            "verb: group create\n"
            "volumes:\n"
            "  - id: a\n"
            "    size: 5\n"
            "  - id: b\n"
            "    tags:\n"
            "      - x\n"
            "      - z\n"
            "nested:\n"
            "  - - 1\n"
            "    - 2\n"
            "  - - 3\n"
            "context:\n"
            "  pool:\n"
            "    name: rbd\n"
            "none: []\n"
            "empty: {}\n"
            "ready: true\n"
            "unknown: null\n");
}

TEST(YamlTest, WhatIsNoStructureIsALine) {
  EXPECT_EQ(ToYaml(ordered_json::array()), "[]\n");
  EXPECT_EQ(ToYaml("text"), "text\n");
  EXPECT_EQ(ToYaml(-7), "-7\n");
}

// Each of these would be read as something else.
TEST(YamlTest, TextsThatLookLikeSomethingElseAreQuoted) {
  for (const std::string text :
       {"",           "1",          "1e3",        "0x1F",     "007",
        "2026-11-20", "12:30:00",   "yes",        "No",       "TRUE",
        "null",       "~",          "y",          "off",      ".inf",
        "- item",     "key: value", "a #comment", "#comment", "[x]",
        "{x}",        "&anchor",    "*alias",     "!tag",     "|",
        ">",          "%directive", "@at",        "`tick",    "'single'",
        "trailing ",  " leading",   "?",          ":",        "---",
        "a,b"}) {
    const std::string yaml = ToYaml(text);
    EXPECT_EQ(yaml.front(), '"') << text;
    EXPECT_EQ(yaml, ordered_json(text).dump() + "\n");
  }
}

TEST(YamlTest, PlainTextsStandAsTheyAre) {
  for (const std::string text :
       {"HEALTHY", "pool/image", "/var/lib", "rbd.csi.ceph.com", "a b-c_d",
        "trueish", "csi-vol-5ef79ce1"}) {
    EXPECT_EQ(ToYaml(text), text + "\n");
  }
}

TEST(YamlTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(ToYaml("a\nb\t\"\\\x1b"), "\"a\\nb\\t\\\"\\\\\\u001b\"\n");
  EXPECT_EQ(ToYaml("x\x7f"), "\"x\\u007F\"\n");
  EXPECT_EQ(ToYaml("\xC2\x85"), "\"\\u0085\"\n");      // next line
  EXPECT_EQ(ToYaml("\xE2\x80\xA8"), "\"\\u2028\"\n");  // line separator
  EXPECT_EQ(ToYaml("\xEF\xBB\xBF"), "\"\\uFEFF\"\n");  // byte order mark
  EXPECT_EQ(ToYaml("gr\xC3\xBC\xC3\x9F"), "\"gr\xC3\xBC\xC3\x9F\"\n");
}

TEST(YamlTest, BrokenTextIsReplaced) {
  EXPECT_EQ(ToYaml("a\xFF"), "\"a\xEF\xBF\xBD\"\n");
}

TEST(YamlTest, NumbersStayNumbers) {
  EXPECT_EQ(ToYaml(18446744073709551615U), "18446744073709551615\n");
  EXPECT_EQ(ToYaml(0.5), "0.5\n");
  EXPECT_EQ(ToYaml(1e300), "1.0e+300\n");
}

TEST(YamlTest, KeysAreTextsToo) {
  EXPECT_EQ(ToYaml({{"1", "one"}, {"a: b", 2}}), "\"1\": one\n\"a: b\": 2\n");
}

}  // namespace
}  // namespace addons
