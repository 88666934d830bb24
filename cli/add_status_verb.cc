#include <memory>

#include "cli/add_verbs.h"
#include "cli/status.h"

namespace addons {

void AddStatusVerb(Program& program) {
  const auto command = std::make_shared<StatusCommand>();
  Options& options = program.options();
  CLI::App& sub = *program.app().add_subcommand(
      kStatusVerb,
      "Show all pools and volumes under replication, as the daemon has seen "
      "them last, trouble first. Ends with 0 when all is well, or with 9. Also "
      "done without a verb");
  for (const char* const alias : kStatusAliases) sub.alias(alias);
  sub.add_option("text", command->text,
                 "Only volumes that have it in their name, id, place or "
                 "message");
  sub.add_option("--pool", command->pool, "Name of a pool: only its volumes");
  sub.add_option("--cluster", command->cluster,
                 "Only this cluster of config.json");
  sub.add_flag("--trouble", command->trouble_only,
               "Leave out volumes that are in step or being copied");
  AddConnectionOptions(sub, options, Sockets::kAdmin);
  program.AddVerb(
      sub,
      [&options, command](Streams& streams) {
        AimAtAdminSocket(options, *command);
        return RunStatus(*command, streams);
      },
      Program::MayBeWatched::kYes);
}

}  // namespace addons
