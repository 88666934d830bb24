#include <array>
#include <memory>
#include <vector>

#include "cli/add_verbs.h"
#include "cli/storage_verbs.h"

namespace addons {
namespace {

using StorageCommandPtr = std::shared_ptr<StorageCommand>;

StorageCommandPtr NewCommand(StorageVerb verb) {
  auto command = std::make_shared<StorageCommand>();
  command->verb = verb;
  return command;
}

/// Those that change something may take names, and show how far they are.
Sockets SocketsOf(StorageVerb verb) {
  switch (verb) {
    case StorageVerb::kFences:
    case StorageVerb::kFenceClient:
    case StorageVerb::kGroupList:
    case StorageVerb::kGroupShow:
      return Sockets::kCallers;
    default:
      return Sockets::kBoth;
  }
}

/// What all of them end with. `names` are volumes, perhaps by name.
void Finish(CLI::App& sub, const StorageCommandPtr& command, Program& program,
            std::vector<std::string*> names = {}) {
  AddUserOptions(sub, program.options().secrets);
  AddConnectionOptions(sub, program.options(), SocketsOf(command->verb));
  program.AddVerb(
      sub,
      [&program, command, names = std::move(names)](Streams& streams) {
        AimAtDaemon(program.options(), *command);
        std::vector<std::string*> volumes = names;
        for (std::string& volume : command->volumes) {
          volumes.push_back(&volume);
        }
        const int code = program.FindIds(volumes, streams);
        return code != 0 ? code : RunStorageCommand(*command, streams);
      },
      command->verb == StorageVerb::kFences ? Program::MayBeWatched::kYes
                                            : Program::MayBeWatched::kNo);
}

void AddFenceVerbs(Program& program) {
  struct Verb {
    StorageVerb verb;
    const char* name;
    const char* text;
    bool changes;
  };
  constexpr std::array<Verb, 4> kVerbs = {{
      {StorageVerb::kFence, "fence", "Cut addresses off from a cluster", true},
      {StorageVerb::kUnfence, "unfence", "Let addresses in again", true},
      {StorageVerb::kFences, "fences", "List what is fenced", false},
      {StorageVerb::kFenceClient, "fence-client",
       "Show under which addresses the cluster knows the daemon's host", false},
  }};
  for (const Verb& verb : kVerbs) {
    const StorageCommandPtr command = NewCommand(verb.verb);
    CLI::App& sub = *program.app().add_subcommand(verb.name, verb.text);
    if (verb.changes) {
      sub.add_option("cidr", command->cidrs,
                     "Addresses or ranges, for example 10.0.0.5/32")
          ->required();
      AddParameters(sub, command->parameters, " of a NetworkFenceClass");
      AddYes(sub, command->yes, "it is done");
    }
    sub.add_option("--cluster", command->cluster, "Its id in config.json")
        ->required();
    Finish(sub, command, program);
  }
}

void AddSpaceVerbs(Program& program) {
  const StorageCommandPtr reclaim = NewCommand(StorageVerb::kReclaim);
  CLI::App& reclaim_sub = *program.app().add_subcommand(
      "reclaim", "Give space that a volume holds as zeros back to the pool");
  reclaim_sub.add_option("id", reclaim->id, kVolumeText)->required();
  AddVolumePlaceOptions(reclaim_sub, program.options());
  AddParameters(reclaim_sub, reclaim->parameters,
                ", for example sparseSize=64Ki");
  Finish(reclaim_sub, reclaim, program, {&reclaim->id});

  const StorageCommandPtr trim = NewCommand(StorageVerb::kTrim);
  CLI::App& trim_sub = *program.app().add_subcommand(
      "trim", "Give space of deleted files back, on the node of the volume");
  trim_sub.add_option("id", trim->id, kVolumeText)->required();
  AddVolumePlaceOptions(trim_sub, program.options());
  trim_sub.add_option("--path", trim->path, "Where the volume is staged")
      ->required();
  Finish(trim_sub, trim, program, {&trim->id});
}

void AddKeyVerb(Program& program) {
  const StorageCommandPtr rotate = NewCommand(StorageVerb::kRotateKey);
  CLI::App& sub = *program.app().add_subcommand(
      "rotate-key",
      "Give an encrypted volume a new key, on the node of the volume");
  sub.add_option("id", rotate->id, kVolumeText)->required();
  AddVolumePlaceOptions(sub, program.options());
  Finish(sub, rotate, program, {&rotate->id});
}

void AddGroupVerbs(Program& program) {
  struct Verb {
    StorageVerb verb;
    const char* name;
    const char* text;
    const char* id;       // what it is about; null: nothing
    const char* volumes;  // which it takes; null: none
  };
  constexpr const char* kId = "Id of the group";
  constexpr std::array<Verb, 5> kVerbs = {{
      {StorageVerb::kGroupList, "list", "List the volume groups", nullptr,
       nullptr},
      {StorageVerb::kGroupShow, "show", "Show a group and its volumes", kId,
       nullptr},
      {StorageVerb::kGroupCreate, "create", "Make a group of volumes",
       "Name of the group; the same name is the same group",
       "Id or name of a member; may be repeated"},
      {StorageVerb::kGroupModify, "set-members", "Give a group other members",
       kId, "Id or name of a member; those that are not named leave the group"},
      {StorageVerb::kGroupDelete, "delete",
       "Delete a group that has no members; volumes stay", kId, nullptr},
  }};
  CLI::App& group = *program.app().add_subcommand("group", "Volume groups");
  group.require_subcommand(1);
  for (const Verb& verb : kVerbs) {
    const StorageCommandPtr command = NewCommand(verb.verb);
    CLI::App& sub = *group.add_subcommand(verb.name, verb.text);
    if (verb.id != nullptr) {
      sub.add_option("id", command->id, verb.id)->required();
    }
    if (verb.volumes != nullptr) {
      sub.add_option("--volume", command->volumes, verb.volumes)
          ->allow_extra_args(false);
      AddVolumePlaceOptions(sub, program.options());
      AddParameters(sub, command->parameters,
                    " of a VolumeGroupReplicationClass, for example "
                    "pool=replicapool");
    }
    if (verb.verb == StorageVerb::kGroupDelete) {
      AddYes(sub, command->yes, "the group is deleted");
    }
    Finish(sub, command, program);
  }
}

}  // namespace

void AddStorageVerbs(Program& program) {
  AddFenceVerbs(program);
  AddSpaceVerbs(program);
  AddKeyVerb(program);
  AddGroupVerbs(program);
}

}  // namespace addons
