#include "cli/manual.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "cli/exit_codes.h"
#include "cli/secrets.h"

namespace addons {
namespace {

/// Text as troff takes it.
std::string Escaped(absl::string_view text) {
  std::string escaped =
      absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  if (absl::StartsWith(escaped, ".") || absl::StartsWith(escaped, "'")) {
    escaped.insert(0, "\\&");
  }
  return escaped;
}

std::string Item(absl::string_view name, absl::string_view text) {
  return absl::StrCat(".TP\n.B ", Escaped(name), "\n", Escaped(text), "\n");
}

/// "ID [OPTION]...", behind the name of a subcommand.
std::string ArgumentsOf(const CommandText& command) {
  std::string text;
  for (const OptionText& option : command.options) {
    if (!option.argument) continue;
    const std::string name = absl::AsciiStrToUpper(option.names.front());
    absl::StrAppend(&text, " ", option.required ? name : "[" + name + "]");
  }
  return absl::StrCat(text, " [OPTION]...");
}

std::string TextOf(const OptionText& option) {
  std::string name = absl::StrJoin(option.names, ", ");
  if (option.argument) {
    name = absl::AsciiStrToUpper(name);
  } else if (option.takes_value) {
    absl::StrAppend(&name, " VALUE");
  }
  std::string text = option.text;
  if (!option.choices.empty()) {
    absl::StrAppend(&text, " (", absl::StrJoin(option.choices, ", "), ")");
  }
  return Item(name, text);
}

std::string TextOf(const CommandText& command) {
  // Of "site" itself there is nothing to do.
  if (!command.subcommands.empty()) return "";
  std::string text = absl::StrCat(".SS \"", Escaped(command.path.substr(1)),
                                  Escaped(ArgumentsOf(command)), "\"\n",
                                  Escaped(command.text), ".\n");
  for (const OptionText& option : command.options) {
    absl::StrAppend(&text, TextOf(option));
  }
  return text;
}

std::string Environment() {
  return absl::StrCat(
      ".SH ENVIRONMENT\n",
      Item("RBD_ADDONS_CSI_ADDONS_ENDPOINT, CSI_ADDONS_ENDPOINT, CSI_ENDPOINT",
           "The socket of the daemon, in this order, where --endpoint does not "
           "say it."),
      Item("RBD_ADDONS_ADMIN_ENDPOINT",
           "The same of its administrators' socket and --admin-endpoint."),
      Item(absl::StrCat(kUserIdVariable, ", ", kUserKeyVariable),
           "The name and the key of the Ceph user, where no option says who it "
           "is."),
      Item(kSecretsFileVariable,
           "As --secrets-file, where neither an option nor the two variables "
           "say who it is."),
      Item("NO_COLOR", "Without colours, also on a terminal."));
}

}  // namespace

std::string ManualPage(const std::vector<CommandText>& commands,
                       const std::string& version) {
  std::string page = absl::StrCat(
      ".TH RBD\\-ADDONS 1 \"\" \"rbd\\-addons ", Escaped(version),
      "\"\n.SH NAME\nrbd\\-addons \\- talks to the daemon rbd\\-addonsd\n"
      ".SH SYNOPSIS\n.B rbd\\-addons\n\\fIVERB\\fR [\\fIOPTION\\fR]...\n"
      ".SH DESCRIPTION\n"
      "Asks the daemon of the CSI\\-Addons server for Ceph RBD, and has it do "
      "things, through its socket: replication, fences, space and volume "
      "groups, for a look or in an emergency without Kubernetes.\n"
      ".SH OPTIONS\n");
  for (const CommandText& command : commands) {
    if (!command.path.empty()) continue;
    for (const OptionText& option : command.options) {
      absl::StrAppend(&page, TextOf(option));
    }
  }
  absl::StrAppend(&page, ".SH VERBS\n");
  for (const CommandText& command : commands) {
    if (!command.path.empty()) absl::StrAppend(&page, TextOf(command));
  }
  absl::StrAppend(&page, ".SH \"EXIT STATUS\"\n");
  for (const ExitCode& code : kExitCodes) {
    absl::StrAppend(&page, Item(code.code, code.meaning));
  }
  absl::StrAppend(&page, Environment(),
                  ".SH \"SEE ALSO\"\n.BR rbd\\-addonsd (8)\n");
  return page;
}

}  // namespace addons
