// Verbs that are misspelt.

#include "cli/verb_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/streams.h"

namespace addons {
namespace {

using ::testing::HasSubstr;

TEST(LettersBetweenTest, CountsLetters) {
  EXPECT_EQ(LettersBetween("promote", "promote"), 0U);
  EXPECT_EQ(LettersBetween("promte", "promote"), 1U);
  EXPECT_EQ(LettersBetween("promotee", "promote"), 1U);
  EXPECT_EQ(LettersBetween("pramote", "promote"), 1U);
  EXPECT_EQ(LettersBetween("pormote", "promote"), 1U) << "two are swapped";
  EXPECT_EQ(LettersBetween("", "info"), 4U);
  EXPECT_EQ(LettersBetween("info", ""), 4U);
}

TEST(NearestNameTest, TakesTheOneThatIsNear) {
  const std::vector<std::string> names = {"promote", "probe",          "demote",
                                          "info",    "check-failover", "ls"};
  EXPECT_EQ(NearestName("promte", names), "promote");
  EXPECT_EQ(NearestName("prob", names), "probe");
  EXPECT_EQ(NearestName("check", names), "check-failover");
  EXPECT_EQ(NearestName("inf", names), "info");
  EXPECT_EQ(NearestName("l", names), "ls");
  EXPECT_EQ(NearestName("helicopter", names), "");
  EXPECT_EQ(NearestName("", names), "");
  EXPECT_EQ(NearestName(std::string(100000, 'p'), names), "");
}

TEST(NearestNameTest, ABeginningThatTwoHaveNamesNone) {
  EXPECT_EQ(NearestName("check", {"check-failover", "check-something"}), "");
}

/// The error line of a command that is not understood.
std::string ErrorOf(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "rbd-addons");
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunCli(arguments, in, out, err), kCliUsage) << out.str();
  EXPECT_EQ(out.str(), "");
  return err.str();
}

TEST(UnknownVerbTest, IsNamedWithTheNearestOne) {
  EXPECT_EQ(ErrorOf({"promte", "0001-x"}),
            "unknown verb 'promte'; did you mean 'promote'?\n");
  EXPECT_EQ(ErrorOf({"statsu", "--json"}),
            "unknown verb 'statsu'; did you mean 'status'?\n");
  EXPECT_EQ(ErrorOf({"helicopter"}),
            "unknown verb 'helicopter'; rbd-addons --help has all of them\n");
}

TEST(UnknownVerbTest, VerbsBelowOthersToo) {
  EXPECT_EQ(ErrorOf({"group", "craete"}),
            "unknown verb 'group craete'; did you mean 'group create'?\n");
  EXPECT_EQ(ErrorOf({"site", "xyz", "pool"}),
            "unknown verb 'site xyz'; rbd-addons site --help has all of "
            "them\n");
}

TEST(UnknownVerbTest, ShowsNoControlCharacters) {
  EXPECT_EQ(ErrorOf({"\x1b[2Jinfo"}).find('\x1b'), std::string::npos);
}

TEST(UnknownVerbTest, OptionsAndArgumentsAreNoVerbs) {
  EXPECT_THAT(ErrorOf({"status", "--nonsense"}), HasSubstr("--nonsense"));
  EXPECT_THAT(ErrorOf({"completion", "tcsh"}), HasSubstr("tcsh"));
}

TEST(UnknownVerbTest, WithoutADaemonNoVerbIsWrongUse) {
  EXPECT_THAT(ErrorOf({}), HasSubstr("subcommand is required"));
}

}  // namespace
}  // namespace addons
