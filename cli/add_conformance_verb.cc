#include <memory>

#include "cli/add_verbs.h"
#include "cli/conformance.h"

namespace addons {
namespace {

using ConformanceCommandPtr = std::shared_ptr<ConformanceCommand>;

/// What the cases may change, and with what.
void AddSubjects(CLI::App& sub, ConformanceCommand& command) {
  sub.add_option("--volume", command.volume,
                 "Id of a volume that may be enabled, promoted, demoted and "
                 "disabled; it must not be replicated yet");
  sub.add_option("--group-volume", command.group_volumes,
                 "Id of a volume that may be put into a group that is made and "
                 "deleted; may be repeated")
      ->allow_extra_args(false);
  sub.add_option("--fence", command.range,
                 "A range that may be fenced and unfenced, as the server lists "
                 "it (198.51.100.7/32)");
  sub.add_option("--parameter", command.replication_parameters,
                 "KEY=VALUE of a VolumeReplicationClass; may be repeated")
      ->allow_extra_args(false);
  sub.add_option("--group-parameter", command.group_parameters,
                 "KEY=VALUE of a VolumeGroupReplicationClass; may be repeated")
      ->allow_extra_args(false);
  sub.add_option("--fence-parameter", command.fence_parameters,
                 "KEY=VALUE of a NetworkFenceClass; may be repeated")
      ->allow_extra_args(false);
}

}  // namespace

void AddConformanceVerb(Program& program) {
  const ConformanceCommandPtr command = std::make_shared<ConformanceCommand>();
  CLI::App& sub = *program.app().add_subcommand(
      "conformance",
      "Try a CSI-Addons server, of whoever, against the specification. Changes "
      "only what is given for it");
  AddSubjects(sub, *command);
  sub.add_option("--only", command->only,
                 "Only these cases, by their ids or how those begin; may be "
                 "repeated")
      ->allow_extra_args(false);
  sub.add_option("--skip", command->skip,
                 "Not these cases, likewise: differences that are meant")
      ->allow_extra_args(false);
  sub.add_flag("--list", command->list, "Print the cases, and try none");
  sub.add_option("--junit", command->junit_file,
                 "A file for the results as JUnit's XML");
  AddUserOptions(sub, program.options().secrets);
  AddConnectionOptions(sub, program.options(), Sockets::kCallers);
  program.AddVerb(sub, [&program, command](Streams& streams) {
    AimAtDaemon(program.options(), *command);
    command->secrets.required = false;
    return RunConformance(*command, streams);
  });
}

}  // namespace addons
