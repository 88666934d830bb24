#include <memory>
#include <string>

#include "cli/add_verbs.h"
#include "cli/command_texts.h"
#include "cli/completion.h"
#include "cli/known_values.h"
#include "cli/kubectl_plugin.h"
#include "cli/manual.h"

namespace addons {
namespace {

std::string CompletionFor(const std::string& shell, const CLI::App& app) {
  const std::vector<CommandText> commands = CommandTexts(app);
  if (shell == "zsh") return ZshCompletion(commands);
  return shell == "fish" ? FishCompletion(commands) : BashCompletion(commands);
}

}  // namespace

void AddHelpVerbs(Program& program) {
  const auto shell = std::make_shared<std::string>();
  CLI::App& completion = *program.app().add_subcommand(
      "completion", "Print a script that completes commands in a shell");
  completion.add_option("shell", *shell, "Of which shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  program.AddPlainVerb(completion, [&program, shell](Streams& streams) {
    streams.out << CompletionFor(*shell, program.app());
    return 0;
  });
  const auto known = std::make_shared<KnownCommand>();
  CLI::App& values = *program.app().add_subcommand(
      kKnownVerb, "Print what completions offer of a kind");
  values.group("");
  values.add_option("kind", known->kind, "Of which kind")
      ->required()
      ->check(CLI::IsMember(KnownKinds()));
  AddSocketOptions(values, program.options(), Sockets::kAdmin);
  program.AddPlainVerb(values, [&program, known](Streams& streams) {
    known->endpoint = program.options().admin_endpoint;
    return RunKnown(*known, streams);
  });
  CLI::App& manual =
      *program.app().add_subcommand("manual", "Print the manual page");
  program.AddPlainVerb(manual, [&program](Streams& streams) {
    streams.out << ManualPage(CommandTexts(program.app()), ADDONS_VERSION);
    return 0;
  });
  CLI::App& plugin = *program.app().add_subcommand(
      "kubectl-plugin",
      "Print the script kubectl-rbd_addons, with which `kubectl rbd-addons` "
      "runs these verbs in the controller's pod");
  program.AddPlainVerb(plugin, [](Streams& streams) {
    streams.out << KubectlPlugin();
    return 0;
  });
}

}  // namespace addons
