#ifndef ADDONS_CLI_ADD_VERBS_H_
#define ADDONS_CLI_ADD_VERBS_H_

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "cli/program.h"

namespace addons {

/// What runs without a verb, too, and its other names.
inline constexpr char kStatusVerb[] = "status";
inline constexpr std::array<const char*, 2> kStatusAliases = {"list", "ls"};

/// The volumes that `command` names.
template <typename Command>
std::vector<std::string*> IdsOf(Command& command) {
  return PointersTo(command.ids);
}

/// The one that it names, unless that is a group.
template <typename Command>
std::vector<std::string*> IdOfVolume(Command& command) {
  if constexpr (requires { command.group; }) {
    if (command.group) return {};
  }
  return {&command.id};
}

/// `sub`, which has its own options already, is a verb of the administrators'
/// socket that asks with a Ceph user, for volumes by their ids.
template <typename Command>
void AddAdminVerb(
    Program& program, CLI::App& sub, const std::shared_ptr<Command>& command,
    int (*run)(const Command& command, Streams& streams),
    std::type_identity_t<std::vector<std::string*> (*)(Command& command)>
        volumes = nullptr,
    Program::MayBeWatched watched = Program::MayBeWatched::kNo) {
  AddUserOptions(sub, program.options().secrets);
  AddConnectionOptions(sub, program.options(), Sockets::kAdmin);
  program.AddVerb(
      sub,
      [&program, command, run, volumes](Streams& streams) {
        AimAtAdminSocket(program.options(), *command);
        const int code = volumes == nullptr
                             ? 0
                             : program.FindIds(volumes(*command), streams);
        return code != 0 ? code : run(*command, streams);
      },
      watched);
}

// The subcommands with their options, by subject. The program outlives them.

/// status.
void AddStatusVerb(Program& program);
/// call, methods, probe, identity, operations and cancel.
void AddDaemonVerbs(Program& program);
/// adopt, audit, check-failover, explain, doctor, gather, history and rescue.
void AddQuestionVerbs(Program& program);
/// info, enable, promote, demote, resync, disable and destination.
void AddReplicationVerbs(Program& program);
/// sync, pause and resume.
void AddCopyingVerbs(Program& program);
/// create, list and remove, below point, and verify.
void AddPointVerbs(Program& program);
/// Of verbs that read all that a volume has at a point: --point, and --rate,
/// whose default `mebibytes_per_second` gets.
void AddPointToAwait(CLI::App& command, std::string& point);
void AddReadingRate(CLI::App& command, uint64_t& mebibytes_per_second);
/// start, list, manifest and stop, below test.
void AddTestVerbs(Program& program);
/// relocate, failover and failback, below site.
void AddSiteVerbs(Program& program);
/// Fences, space and, below group, volume groups.
void AddStorageVerbs(Program& program);
/// conformance.
void AddConformanceVerb(Program& program);
/// completion and manual.
void AddHelpVerbs(Program& program);

}  // namespace addons

#endif  // ADDONS_CLI_ADD_VERBS_H_
