#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/add_verbs.h"
#include "cli/daemon_verbs.h"
#include "rpc/text.h"

namespace addons {
namespace {

using DaemonCommandPtr = std::shared_ptr<DaemonCommand>;
using RunDaemonVerb = int (*)(const DaemonCommand& command, Streams& streams);

void Finish(CLI::App& sub, const DaemonCommandPtr& command, RunDaemonVerb run,
            Program& program, Sockets sockets = Sockets::kCallers,
            Program::MayBeWatched watched = Program::MayBeWatched::kNo) {
  AddConnectionOptions(sub, program.options(), sockets);
  program.AddVerb(
      sub,
      [&program, command, run, sockets](Streams& streams) {
        if (sockets == Sockets::kAdmin) {
          AimAtAdminSocket(program.options(), *command);
        } else {
          AimAtDaemon(program.options(), *command);
        }
        return run(*command, streams);
      },
      watched);
}

/// What is wrong with what was given as an operation's id; empty: nothing.
std::string NoOperationId(const std::string& text) {
  constexpr size_t kMostShown = 20;
  uint64_t id = 0;
  if (absl::SimpleAtoi(text, &id) && id > 0) return "";
  return absl::StrCat("'", CleanLine(text, kMostShown),
                      "' is no operation's id; `rbd-addons operations` shows "
                      "them");
}

}  // namespace

void AddDaemonVerbs(Program& program) {
  const auto command = std::make_shared<DaemonCommand>();
  CLI::App& app = program.app();
  CLI::App& call =
      *app.add_subcommand("call", "Call a method and print its answer");
  call.add_option("method", command->method,
                  "Package.Service/Method, or Method where that is unambiguous")
      ->required();
  call.add_option(
      "request", command->request,
      "The request as a JSON object; - reads it from standard input");
  AddUserOptions(call, program.options().secrets);
  Finish(call, command, RunCall, program, Sockets::kBoth);

  CLI::App& methods =
      *app.add_subcommand("methods", "List the methods that can be called");
  program.AddVerb(methods, RunMethods);

  Finish(*app.add_subcommand("probe", "Ask whether the daemon is ready"),
         command, RunProbe, program);
  Finish(*app.add_subcommand("identity",
                             "Show the daemon's name and version, and what it "
                             "can do"),
         command, RunIdentity, program);
  Finish(*app.add_subcommand("operations",
                             "Show what the daemon is doing, the oldest first"),
         command, RunOperations, program, Sockets::kAdmin,
         Program::MayBeWatched::kYes);

  CLI::App& cancel =
      *app.add_subcommand("cancel", "Stop an operation of the daemon");
  cancel
      .add_option("id", command->operation_id,
                  "Its id, as 'operations' shows it")
      ->required()
      ->check(&NoOperationId);
  AddYes(cancel, command->yes, "it is stopped");
  Finish(cancel, command, RunCancel, program, Sockets::kAdmin);
}

}  // namespace addons
