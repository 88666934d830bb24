// --help, the completions and the manual page say the same.

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/known_values.h"
#include "cli/methods.h"
#include "cli/program.h"

namespace addons {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::string Printed(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "rbd-addons");
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunCli(arguments, in, out, err), 0) << err.str();
  return out.str();
}

/// What --help shows of one subcommand.
struct Shown {
  std::vector<std::string> path;  // {"group", "create"}
  std::set<std::string> options;  // "--output", "-o"
  std::string text;
};

/// The names below "Subcommands:".
std::vector<std::string> Subcommands(const std::string& help) {
  std::vector<std::string> names;
  bool here = false;
  for (const absl::string_view line : absl::StrSplit(help, '\n')) {
    if (line == "Subcommands:") {
      here = true;
    } else if (here && line.size() > 2 && line[2] != ' ') {
      // Other names stand behind a comma.
      names.emplace_back(line.substr(2, line.find_first_of(" ,", 2) - 2));
    } else if (line.empty()) {
      here = false;
    }
  }
  return names;
}

std::set<std::string> OptionsIn(const std::string& help) {
  static const std::regex kLine("^  (-[-a-z,]+)");
  std::set<std::string> names;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(help, '\n'))) {
    std::smatch match;
    if (!std::regex_search(line, match, kLine)) continue;
    // Those of many verbs stand on one line: "-o,--output, --json".
    static const std::regex kSeveral("  -[-a-z,]+(, -[-a-z,]+)*,?");
    const std::string named =
        std::regex_match(line, kSeveral) ? line : match.str(1);
    for (const absl::string_view name :
         absl::StrSplit(named, absl::ByAnyChar(", "), absl::SkipEmpty())) {
      names.emplace(name);
    }
  }
  return names;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the subcommands
void Append(const std::vector<std::string>& path, std::vector<Shown>* all) {
  std::vector<std::string> arguments = path;
  arguments.emplace_back("--help");
  const std::string help = Printed(arguments);
  all->push_back({path, OptionsIn(help), help});
  for (const std::string& name : Subcommands(help)) {
    std::vector<std::string> below = path;
    below.push_back(name);
    Append(below, all);
  }
}

std::vector<Shown> AllThatHelpShows() {
  std::vector<Shown> all;
  Append({}, &all);
  return all;
}

std::string PathText(const Shown& shown) {
  std::string text;
  for (const std::string& name : shown.path) absl::StrAppend(&text, " ", name);
  return text;
}

std::string Between(const std::string& text, const std::string& begin,
                    const std::string& end) {
  const size_t from = text.find(begin);
  if (from == std::string::npos) return "";
  return text.substr(from, text.find(end, from + begin.size()) - from);
}

TEST(HelpTest, ShowsNestedVerbsAndOptions) {
  const std::vector<Shown> all = AllThatHelpShows();
  EXPECT_THAT(all, SizeIs(::testing::Gt(30U)));
  std::set<std::string> paths;
  for (const Shown& shown : all) {
    paths.insert(PathText(shown));
    EXPECT_THAT(shown.options, Contains("--help")) << PathText(shown);
  }
  EXPECT_THAT(paths, Contains(" group create"));
  EXPECT_THAT(paths, Contains(" site failover"));
}

TEST(HelpTest, EveryMethodHasAVerb) {
  // So nobody has to write the JSON of a request in an emergency.
  const std::map<std::string, std::string> verbs = {
      {"fence.FenceController/FenceClusterNetwork", " fence"},
      {"fence.FenceController/UnfenceClusterNetwork", " unfence"},
      {"fence.FenceController/ListClusterFence", " fences"},
      {"fence.FenceController/GetFenceClients", " fence-client"},
      {"encryptionkeyrotation.EncryptionKeyRotationController/"
       "EncryptionKeyRotate",
       " rotate-key"},
      {"identity.Identity/GetIdentity", " identity"},
      {"identity.Identity/GetCapabilities", " identity"},
      {"identity.Identity/Probe", " probe"},
      {"rbdaddons.admin.v1.Operations/ListOperations", " operations"},
      {"rbdaddons.admin.v1.Operations/CancelOperation", " cancel"},
      {"rbdaddons.admin.v1.Audit/AuditPool", " audit"},
      {"rbdaddons.admin.v1.Audit/RepairPool", " audit"},
      {"rbdaddons.admin.v1.Inspection/CheckFailover", " check-failover"},
      {"rbdaddons.admin.v1.Inspection/ExplainVolume", " explain"},
      {"rbdaddons.admin.v1.Inspection/ExplainGroup", " explain"},
      // Each verb that takes a volume asks for its name.
      {"rbdaddons.admin.v1.Inspection/FindVolume", " explain"},
      {"rbdaddons.admin.v1.History/ListHistory", " history"},
      {"rbdaddons.admin.v1.Doctor/Diagnose", " doctor"},
      {"rbdaddons.admin.v1.Overview/ListStatus", " status"},
      {"rbdaddons.admin.v1.Support/DescribeDaemon", " gather"},
      {"rbdaddons.admin.v1.Rescues/DecideRescue", " rescue"},
      {"rbdaddons.admin.v1.Adoption/AdoptVolumes", " adopt"},
      {"rbdaddons.admin.v1.Copying/SyncVolume", " sync"},
      {"rbdaddons.admin.v1.Copying/AwaitSync", " sync"},
      {"rbdaddons.admin.v1.Copying/PauseVolume", " pause"},
      {"rbdaddons.admin.v1.Copying/ResumeVolume", " resume"},
      {"rbdaddons.admin.v1.Points/CreatePoint", " point create"},
      {"rbdaddons.admin.v1.Points/DigestPoint", " point create"},
      {"rbdaddons.admin.v1.Points/ListPoints", " point list"},
      {"rbdaddons.admin.v1.Points/RemovePoint", " point remove"},
      {"rbdaddons.admin.v1.Points/CreateGroupPoint", " point create"},
      {"rbdaddons.admin.v1.Points/ListGroupPoints", " point list"},
      {"rbdaddons.admin.v1.Points/RemoveGroupPoint", " point remove"},
      {"rbdaddons.admin.v1.Points/RollBack", " point rollback"},
      {"rbdaddons.admin.v1.Points/VerifyPoint", " verify"},
      {"rbdaddons.admin.v1.TestFailovers/StartTest", " test start"},
      {"rbdaddons.admin.v1.TestFailovers/ListTests", " test list"},
      {"rbdaddons.admin.v1.TestFailovers/StopTest", " test stop"},
      {"reclaimspace.ReclaimSpaceController/ControllerReclaimSpace",
       " reclaim"},
      {"reclaimspace.ReclaimSpaceNode/NodeReclaimSpace", " trim"},
      {"replication.Controller/EnableVolumeReplication", " enable"},
      {"replication.Controller/DisableVolumeReplication", " disable"},
      {"replication.Controller/PromoteVolume", " promote"},
      {"replication.Controller/DemoteVolume", " demote"},
      {"replication.Controller/ResyncVolume", " resync"},
      {"replication.Controller/GetVolumeReplicationInfo", " info"},
      {"replication.Controller/GetReplicationDestinationInfo", " destination"},
      {"volumegroup.Controller/CreateVolumeGroup", " group create"},
      {"volumegroup.Controller/ModifyVolumeGroupMembership",
       " group set-members"},
      {"volumegroup.Controller/DeleteVolumeGroup", " group delete"},
      {"volumegroup.Controller/ListVolumeGroups", " group list"},
      {"volumegroup.Controller/ControllerGetVolumeGroup", " group show"}};
  // What liveness probes ask.
  const std::set<std::string> without = {"csi.v1.Identity"};
  std::set<std::string> paths;
  for (const Shown& shown : AllThatHelpShows()) paths.insert(PathText(shown));
  for (const auto* const method : AllMethods()) {
    if (without.contains(std::string(method->service()->full_name()))) {
      continue;
    }
    const std::string name = MethodName(*method);
    const auto verb = verbs.find(name);
    ASSERT_NE(verb, verbs.end()) << name << " has no verb";
    EXPECT_THAT(paths, Contains(verb->second)) << name;
  }
}

TEST(HelpTest, EveryVerbThatAnswersHasTheThreeForms) {
  for (const Shown& shown : AllThatHelpShows()) {
    const std::string path = PathText(shown);
    if (path.empty() || !Subcommands(shown.text).empty()) continue;
    // They print what has one form only.
    if (path == " completion" || path == " manual" ||
        path == " kubectl-plugin" || path == " gather") {
      continue;
    }
    EXPECT_THAT(shown.options, Contains("--output")) << path;
    EXPECT_THAT(shown.options, Contains("--json")) << path;
    EXPECT_THAT(shown.options, Contains("--verbose")) << path;
  }
}

TEST(HelpTest, TheManualPageHasEveryVerbAndOption) {
  const std::string page =
      absl::StrReplaceAll(Printed({"manual"}), {{"\\-", "-"}});
  for (const Shown& shown : AllThatHelpShows()) {
    if (!Subcommands(shown.text).empty()) continue;
    const std::string path = PathText(shown).substr(1);
    const std::string part =
        Between(page, absl::StrCat(".SS \"", path, " "), "\n.S");
    EXPECT_NE(part, "") << path;
    for (const std::string& option : shown.options) {
      EXPECT_TRUE(std::regex_search(
          part, std::regex(absl::StrCat("\\.B ([-a-z]+, )*", option, "\\b"))))
          << path << " " << option;
    }
  }
  for (const ExitCode& code : kExitCodes) {
    EXPECT_THAT(page,
                HasSubstr(absl::StrCat(".B ", code.code, "\n", code.meaning)));
  }
}

TEST(HelpTest, BashCompletesEveryVerbAndOption) {
  const std::string script = Printed({"completion", "bash"});
  for (const Shown& shown : AllThatHelpShows()) {
    const std::string part =
        Between(script, absl::StrCat("\n    '", PathText(shown), "')\n"), ";;");
    EXPECT_NE(part, "") << PathText(shown);
    const std::vector<std::string> words =
        absl::StrSplit(part, absl::ByAnyChar(" '\n"));
    for (const std::string& name : Subcommands(shown.text)) {
      EXPECT_THAT(words, Contains(name)) << PathText(shown);
    }
    for (const std::string& option : shown.options) {
      EXPECT_THAT(words, Contains(option)) << PathText(shown);
    }
  }
}

TEST(HelpTest, CompletionsAskTheDaemonWhatItAloneKnows) {
  const std::string script = Printed({"completion", "bash"});
  for (const auto& [option, kind] :
       std::map<std::string, std::string>{{"--pool", "pools"},
                                          {"--cluster", "clusters"},
                                          {"--parameter", "parameters"}}) {
    EXPECT_THAT(Between(script, absl::StrCat("\n    ", option, ")\n"), ";;"),
                HasSubstr(absl::StrCat(" known 2>/dev/null ", kind, " ")))
        << option;
  }
  EXPECT_THAT(Between(script, "\n    ' promote')\n", ";;"),
              HasSubstr("known='volumes'"));
  EXPECT_THAT(Between(script, "\n    ' fence')\n", ";;"),
              HasSubstr("known=''"));
  // It is for them alone.
  EXPECT_THAT(Printed({"--help"}), Not(HasSubstr("\n  known")));
  EXPECT_THAT(Printed({"manual"}), Not(HasSubstr(".SS \"known")));
}

// Bash expands them; names come from the metadata of images.
TEST(HelpTest, OnlyWordsAreOfferedByCompletions) {
  ::rbdaddons::admin::v1::ListStatusResponse seen;
  for (const char* name : {"pvc-2", "pvc-1", "pvc-1", "", "-o", "a b", "$(a)",
                           "`a`", "a'b", "a\"b", "a\\b", "a;b", "a\nb", "*"}) {
    seen.add_volumes()->set_volume_name(name);
  }
  EXPECT_THAT(KnownIn(seen, kKnownVolumes), ElementsAre("pvc-1", "pvc-2"));
  seen.add_pools()->set_pool("pool.1");
  EXPECT_THAT(KnownIn(seen, kKnownPools), ElementsAre("pool.1"));
  EXPECT_THAT(KnownIn(seen, kKnownClusters), IsEmpty());
}

TEST(HelpTest, ZshCompletesEveryVerbAndOption) {
  const std::string script = Printed({"completion", "zsh"});
  for (const Shown& shown : AllThatHelpShows()) {
    const std::string part = Between(
        script, absl::StrCat("\n    ('", PathText(shown), "')\n"), ";;");
    for (const std::string& name : Subcommands(shown.text)) {
      EXPECT_THAT(part, HasSubstr(absl::StrCat("'", name, ":")));
    }
    for (const std::string& option : shown.options) {
      EXPECT_THAT(part, HasSubstr(absl::StrCat("'", option, ":")));
    }
  }
}

TEST(HelpTest, FishCompletesEveryVerbAndOption) {
  const std::string script = Printed({"completion", "fish"});
  for (const Shown& shown : AllThatHelpShows()) {
    const std::string here =
        absl::StrCat("complete -c rbd-addons -n '__rbd_addons_at \"",
                     PathText(shown), "\"' ");
    for (const std::string& name : Subcommands(shown.text)) {
      EXPECT_THAT(script, HasSubstr(absl::StrCat(here, "-a ", name, " ")));
    }
    for (const std::string& option : shown.options) {
      const bool is_long = option.size() > 2;
      const std::string word = absl::StrCat(is_long ? " -l " : " -s ",
                                            option.substr(is_long ? 2 : 1));
      bool found = false;
      for (const absl::string_view line : absl::StrSplit(script, '\n')) {
        found = found || (absl::StartsWith(line, here) &&
                          absl::StrContains(absl::StrCat(line, " "),
                                            absl::StrCat(word, " ")));
      }
      EXPECT_TRUE(found) << here << option;
    }
  }
}

TEST(HelpTest, FitsOnAScreenAndHasTwoExamplesThatAreUnderstood) {
  for (const Shown& shown : AllThatHelpShows()) {
    const std::string path = PathText(shown);
    if (path.empty() || !Subcommands(shown.text).empty()) continue;
    EXPECT_LE(std::count(shown.text.begin(), shown.text.end(), '\n'), 25)
        << shown.text;
    int examples = 0;
    for (const std::string& line : std::vector<std::string>(
             absl::StrSplit(Between(shown.text + "\n\n", "Examples:\n", "\n\n"),
                            '\n', absl::SkipEmpty()))) {
      const std::string begin = absl::StrCat("  rbd-addons", path);
      if (!absl::StartsWith(line, begin)) continue;
      ++examples;
      // What a shell makes of it.
      std::string words = line.substr(line.find("rbd-addons") + 11);
      words = words.substr(0, words.find_first_of("|>"));
      Program program;
      AddAllVerbs(program);
      EXPECT_NO_THROW(program.app().parse(words)) << line;
    }
    EXPECT_EQ(examples, 2) << shown.text;
  }
}

TEST(HelpTest, SaysWhatTheOptionsOfManyVerbsMean) {
  const std::string help = Printed({"--help"});
  EXPECT_THAT(help, HasSubstr("\n    --ceph-user  Name of a Ceph user of"));
  EXPECT_THAT(help, HasSubstr("\n    --watch  Show it again every 2"));
  const std::string info = Printed({"info", "--help"});
  const size_t common =
      info.find("\n\nCommon options (rbd-addons --help says more):\n  -h,");
  ASSERT_NE(common, std::string::npos) << info;
  EXPECT_LT(info.find("\n  --group "), common) << "its own come first";
  EXPECT_GT(info.find("\n\nExamples:\n"), common);
}

TEST(HelpTest, TheFooterNamesTheExitCodes) {
  const std::string help = Printed({"--help"});
  for (const ExitCode& code : kExitCodes) {
    EXPECT_THAT(help, HasSubstr(absl::StrCat(code.code, ": ")));
  }
}

}  // namespace
}  // namespace addons
