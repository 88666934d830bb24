#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/add_verbs.h"
#include "cli/info_table.h"
#include "cli/replication_verbs.h"

namespace addons {
namespace {

struct ReplicationVerbTexts {
  ReplicationVerb verb;
  const char* name;
  const char* text;
  const char* force;   // what it does by force; null: it has no such form
  const char* before;  // what it asks before; null: nothing
  bool parameters;
};

constexpr std::array<ReplicationVerbTexts, 6> kReplicationVerbs = {{
    {ReplicationVerb::kEnable, "enable", "Begin to replicate a volume", nullptr,
     nullptr, true},
    {ReplicationVerb::kPromote, "promote",
     "Make this site's image of a volume the primary one",
     "Without the other site: returns to the last complete copy",
     "--force or --point", true},
    {ReplicationVerb::kDemote, "demote",
     "Make this site's image of a volume a secondary one", nullptr, nullptr,
     false},
    {ReplicationVerb::kResync, "resync",
     "Bring this site's copy of a volume in step with the other site",
     "Delete it and copy anew where the two sites differ", "--force", false},
    {ReplicationVerb::kDisable, "disable", "End the replication of a volume",
     "Also of a copy whose primary is lost for good", "it ends", false},
    {ReplicationVerb::kDestination, "destination",
     "Show the id that a volume, or a group and its members, have on the other "
     "site",
     nullptr, nullptr, false},
}};

std::string IdText(const char* end) {
  return absl::StrCat(kVolumeText, "; with --group: the group's id", end);
}

void AddInfo(Program& program) {
  const auto command = std::make_shared<ReplicationCommand>();
  const auto ids = std::make_shared<std::vector<std::string>>();
  CLI::App& sub = *program.app().add_subcommand(
      "info", "Show how far the copy of a volume is, seen from this site");
  sub.add_option("id", *ids, IdText(". Several are shown as a table"))
      ->required();
  AddVolumePlaceOptions(sub, program.options(),
                        sub.add_flag("--group", command->group,
                                     "They are the ids of volume groups"));
  AddUserOptions(sub, program.options().secrets);
  AddConnectionOptions(sub, program.options(), Sockets::kBoth);
  program.AddVerb(
      sub,
      [&program, command, ids](Streams& streams) {
        AimAtDaemon(program.options(), *command);
        if (!command->group) {
          std::vector<std::string*> volumes;
          for (std::string& id : *ids) volumes.push_back(&id);
          const int code = program.FindIds(volumes, streams);
          if (code != 0) return code;
        }
        command->id = ids->front();
        return ids->size() == 1 ? RunReplicationCommand(*command, streams)
                                : RunInfoTable(*command, *ids, streams);
      },
      Program::MayBeWatched::kYes);
}

void Add(const ReplicationVerbTexts& verb, Program& program) {
  const auto command = std::make_shared<ReplicationCommand>();
  command->verb = verb.verb;
  Options& options = program.options();
  CLI::App& sub = *program.app().add_subcommand(verb.name, verb.text);
  sub.add_option("id", command->id, IdText(""))->required();
  AddVolumePlaceOptions(sub, options,
                        sub.add_flag("--group", command->group,
                                     "It is the id of a volume group"));
  if (verb.force != nullptr) {
    sub.add_flag("--force", command->force, verb.force);
  }
  if (verb.verb == ReplicationVerb::kPromote) {
    sub.add_option("--point", command->point,
                   "Then go back to this point (`point list`)");
  }
  if (verb.before != nullptr) AddYes(sub, command->yes, verb.before);
  if (verb.parameters) {
    AddParameters(sub, command->parameters,
                  " of a VolumeReplicationClass, for example "
                  "schedulingInterval=5m");
  }
  AddUserOptions(sub, options.secrets);
  AddConnectionOptions(sub, options, Sockets::kBoth);
  program.AddVerb(sub, [&program, command](Streams& streams) {
    AimAtDaemon(program.options(), *command);
    if (!command->group) {
      const int code = program.FindIds({&command->id}, streams);
      if (code != 0) return code;
    }
    return RunReplicationCommand(*command, streams);
  });
}

}  // namespace

void AddReplicationVerbs(Program& program) {
  AddInfo(program);
  for (const ReplicationVerbTexts& verb : kReplicationVerbs) Add(verb, program);
}

}  // namespace addons
