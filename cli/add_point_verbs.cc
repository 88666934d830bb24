#include <array>
#include <memory>
#include <string>

#include "cli/add_verbs.h"
#include "cli/durations.h"
#include "cli/group_points.h"
#include "cli/points.h"

namespace addons {
namespace {

struct PointVerbTexts {
  PointVerb verb;
  const char* name;
  const char* text;
  bool reads;
  bool groups;
};

constexpr std::array<PointVerbTexts, 4> kPointVerbs = {{
    {PointVerb::kCreate, "create",
     "Make a point of a volume where it is primary, and read what it holds; of "
     "a group all at one instant",
     true, true},
    {PointVerb::kList, "list", "Show the points that a volume has on this site",
     false, true},
    {PointVerb::kRemove, "remove",
     "Remove a point of a volume where it is primary", false, true},
    {PointVerb::kRollback, "rollback",
     "Give a volume back what it held at a point, on both sites", false, false},
}};

void Add(const PointVerbTexts& verb, CLI::App& parent, Program& program) {
  const auto command = std::make_shared<PointCommand>();
  const auto timeout_seconds = std::make_shared<double>(kLongReadSeconds);
  command->verb = verb.verb;
  Options& options = program.options();
  CLI::App& sub = *parent.add_subcommand(verb.name, verb.text);
  sub.add_option("id", command->id, kVolumeText)->required();
  if (verb.verb == PointVerb::kRemove || verb.verb == PointVerb::kRollback) {
    sub.add_option("name", command->name, "The name of the point")->required();
  } else if (verb.verb == PointVerb::kVerify) {
    AddPointToAwait(sub, command->name);
  } else if (verb.verb == PointVerb::kCreate) {
    sub.add_option("--name", command->name,
                   "Its name; the present moment by itself");
  }
  if (verb.verb == PointVerb::kRollback) {
    sub.add_flag("--discard", command->discard,
                 "Make no point of what the volume holds now: it is lost");
    sub.add_flag("--yes", command->yes, "Do it without asking");
  }
  if (verb.reads) {
    AddReadingRate(sub, command->mebibytes_per_second);
  }
  AddVolumePlaceOptions(
      sub, options,
      verb.groups
          ? sub.add_flag("--group", command->group,
                         "It is the id of a volume group: all its members")
          : nullptr);
  AddUserOptions(sub, options.secrets);
  AddSocketOptions(sub, options, Sockets::kAdmin);
  AddTimeoutOption(sub, *timeout_seconds, kWaitText);
  program.AddVerb(sub, [&program, command, timeout_seconds](Streams& streams) {
    AimAtAdminSocket(program.options(), *command);
    command->timeout = Milliseconds(*timeout_seconds);
    if (command->group) return RunGroupPoint(*command, streams);
    const int code = program.FindIds({&command->id}, streams);
    return code != 0 ? code : RunPoint(*command, streams);
  });
}

}  // namespace

void AddPointToAwait(CLI::App& command, std::string& point) {
  command.add_option(
      "--point", point,
      "Wait for this point; the newest one that is here by itself");
}

void AddReadingRate(CLI::App& command, uint64_t& mebibytes_per_second) {
  mebibytes_per_second = kLongReadMebibytes;
  command
      .add_option("--rate", mebibytes_per_second,
                  "MiB per second to read at most; 0: as fast as it goes")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 20));
}

void AddPointVerbs(Program& program) {
  CLI::App& point = *program.app().add_subcommand(
      "point", "Points: proof that the copy of a volume is whole");
  point.require_subcommand(1);
  for (const PointVerbTexts& verb : kPointVerbs) Add(verb, point, program);
  Add({PointVerb::kVerify, "verify",
       "Read what a volume has on this site, and compare it with its newest "
       "point",
       true, false},
      program.app(), program);
}

}  // namespace addons
