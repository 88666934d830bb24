#include <array>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/add_verbs.h"
#include "cli/copying.h"

namespace addons {
namespace {

struct CopyingVerbTexts {
  CopyingVerb verb;
  const char* name;
  const char* text;
};

constexpr std::array<CopyingVerbTexts, 3> kCopyingVerbs = {{
    {CopyingVerb::kSync, "sync",
     "Copy what was written to volumes to the other site now: make a mirror "
     "snapshot of each, and wait until the other site has it"},
    {CopyingVerb::kPause, "pause",
     "Make no mirror snapshots of volumes by schedule until they are resumed "
     "here, or promoted"},
    {CopyingVerb::kResume, "resume",
     "Put the mirror snapshot schedules back that pause has taken away"},
}};

void AddCopyingVerb(const CopyingVerbTexts& verb, Program& program) {
  const auto command = std::make_shared<CopyingCommand>();
  command->verb = verb.verb;
  CLI::App& sub = *program.app().add_subcommand(verb.name, verb.text);
  sub.add_option("id", command->ids, absl::StrCat(kVolumeText, ". Or several"))
      ->required();
  AddVolumePlaceOptions(sub, program.options());
  AddAdminVerb(program, sub, command, &RunCopying, &IdsOf);
}

}  // namespace

void AddCopyingVerbs(Program& program) {
  for (const CopyingVerbTexts& verb : kCopyingVerbs) {
    AddCopyingVerb(verb, program);
  }
}

}  // namespace addons
