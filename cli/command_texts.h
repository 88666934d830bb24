#ifndef ADDONS_CLI_COMMAND_TEXTS_H_
#define ADDONS_CLI_COMMAND_TEXTS_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace addons {

/// An option or argument as --help has it.
struct OptionText {
  std::vector<std::string> names;  // "--output", "-o"; of an argument: "id"
  std::string text;
  bool argument = false;  // without a name
  bool required = false;
  bool takes_value = false;          // with a name, and a word after it
  bool is_file = false;              // the value is a path
  std::vector<std::string> choices;  // all that it may be; empty: anything
  std::string known;  // of KnownKinds(): what a daemon knows; empty: nothing
};

/// The program, or a subcommand, as --help has it.
struct CommandText {
  std::string path;  // " group create"; empty: the program itself
  std::string text;
  std::vector<OptionText> options;
  std::vector<std::string> subcommands;  // their names
};

/// The program and all its subcommands, parents first.
std::vector<CommandText> CommandTexts(const CLI::App& app);

}  // namespace addons

#endif  // ADDONS_CLI_COMMAND_TEXTS_H_
