#include "cli/completion.h"

#include <functional>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "cli/known_values.h"
#include "cli/methods.h"

namespace addons {
namespace {

using Commands = std::vector<CommandText>;

/// For a shell, between single quotes.
std::string Quote(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

/// For fish, which knows \' between single quotes.
std::string QuoteForFish(absl::string_view text) {
  return absl::StrCat(
      "'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

/// What can stand at the place of an argument.
std::vector<std::string> WordsOf(const CommandText& command) {
  std::vector<std::string> words = command.subcommands;
  for (const OptionText& option : command.options) {
    if (!option.argument) continue;
    words.insert(words.end(), option.choices.begin(), option.choices.end());
  }
  if (command.path == " call") {
    for (const auto* method : AllMethods()) words.push_back(method->name());
  }
  return words;
}

/// The kind of what a daemon knows that can stand at the place of an argument.
std::string KnownOf(const CommandText& command) {
  for (const OptionText& option : command.options) {
    if (option.argument && !option.known.empty()) return option.known;
  }
  return "";
}

std::vector<std::string> NamesOf(const CommandText& command) {
  std::vector<std::string> names;
  for (const OptionText& option : command.options) {
    if (option.argument) continue;
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

/// All subcommands, as the patterns of a case.
std::string Paths(const Commands& commands,
                  const std::function<std::string(absl::string_view)>& quote,
                  const char* between) {
  std::vector<std::string> paths;
  for (const CommandText& command : commands) {
    if (!command.path.empty()) paths.push_back(quote(command.path));
  }
  return absl::StrJoin(paths, between);
}

/// Names of options whose value is of one kind. A name means the same in each
/// subcommand.
struct Values {
  std::set<std::string> files;
  std::map<std::string, std::vector<std::string>> choices;
  std::map<std::string, std::string> known;  // kinds
  std::set<std::string> others;
};

Values ValuesOf(const Commands& commands) {
  Values values;
  for (const CommandText& command : commands) {
    for (const OptionText& option : command.options) {
      if (!option.takes_value) continue;
      for (const std::string& name : option.names) {
        if (option.is_file) {
          values.files.insert(name);
        } else if (!option.choices.empty()) {
          values.choices[name] = option.choices;
        } else if (!option.known.empty()) {
          values.known[name] = option.known;
        } else {
          values.others.insert(name);
        }
      }
    }
  }
  return values;
}

std::string AskFish(const std::string& kind) {
  return QuoteForFish(absl::StrCat("(env (commandline -opc)[1] ", kKnownVerb,
                                   " ", kind, " 2>/dev/null)"));
}

std::string FishOption(const OptionText& option) {
  std::string line;
  for (const std::string& name : option.names) {
    absl::StrAppend(&line, absl::StartsWith(name, "--") ? " -l " : " -s ",
                    name.substr(name.find_first_not_of('-')));
  }
  if (option.is_file) {
    absl::StrAppend(&line, " -r -F");
  } else if (option.takes_value) {
    absl::StrAppend(&line, " -x");
  }
  if (option.takes_value && !option.choices.empty()) {
    absl::StrAppend(&line, " -a ",
                    QuoteForFish(absl::StrJoin(option.choices, " ")));
  }
  if (!option.known.empty()) {
    absl::StrAppend(&line, " -a ", AskFish(option.known));
  }
  return absl::StrCat(line, " -d ", QuoteForFish(option.text));
}

std::string TextOf(const Commands& commands, const std::string& path) {
  for (const CommandText& command : commands) {
    if (command.path == path) return command.text;
  }
  return "";
}

/// In bash and zsh: asks the daemon; what it cannot tell is not offered.
constexpr char kAskBash[] = "\"${COMP_WORDS[0]}\" known 2>/dev/null ";
constexpr char kAskZsh[] = "${(Q)words[1]} known 2>/dev/null ";

/// "'name:text'" for _describe of zsh.
std::string Described(const std::string& name, const std::string& text) {
  return Quote(text.empty() ? name : absl::StrCat(name, ":", text));
}

}  // namespace

std::string BashCompletion(const Commands& commands) {
  const Values values = ValuesOf(commands);
  std::string script = absl::StrCat(
      "# Completion of rbd-addons for bash, made by `rbd-addons completion "
      "bash`.\n\n_rbd_addons() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} "
      "before=${COMP_WORDS[COMP_CWORD - 1]}\n"
      "  local at='' words='' known='' options='' i\n"
      "  # Bash takes --output=json for three words.\n"
      "  if [[ $word == '=' ]]; then word=''; fi\n"
      "  if [[ $before == '=' ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; "
      "fi\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"$at ${COMP_WORDS[i]}\" in\n      ",
      Paths(commands, Quote, " | "), ")\n",
      "        at+=\" ${COMP_WORDS[i]}\"\n        ;;\n    esac\n  done\n"
      "  COMPREPLY=()\n  case $before in\n    ",
      absl::StrJoin(values.files, " | "),
      ")\n      mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
      "      return\n      ;;\n");
  for (const auto& [name, choices] : values.choices) {
    absl::StrAppend(&script, "    ", name,
                    ")\n      mapfile -t COMPREPLY < <(compgen -W ",
                    Quote(absl::StrJoin(choices, " ")),
                    " -- \"$word\")\n      return\n      ;;\n");
  }
  for (const auto& [name, kind] : values.known) {
    absl::StrAppend(&script, "    ", name, ")\n",
                    kind == kKnownParameters
                        ? "      compopt -o nospace 2>/dev/null || :\n"
                        : "",
                    "      mapfile -t COMPREPLY < <(compgen -W \"$(", kAskBash,
                    kind, " || :)\" -- \"$word\")\n      return\n      ;;\n");
  }
  absl::StrAppend(&script, "    ", absl::StrJoin(values.others, " | "),
                  ")\n      return\n      ;;\n  esac\n  case $at in\n");
  for (const CommandText& command : commands) {
    absl::StrAppend(
        &script, "    ", Quote(command.path), ")\n      known='",
        KnownOf(command),
        "'\n      words=", Quote(absl::StrJoin(WordsOf(command), " ")),
        "\n      options=", Quote(absl::StrJoin(NamesOf(command), " ")),
        "\n      ;;\n");
  }
  absl::StrAppend(
      &script,
      "  esac\n  if [[ $word == -* ]]; then\n    words=$options\n"
      "  elif [[ $known ]]; then\n    words+=\" $(",
      kAskBash,
      "\"$known\" || :)\"\n  fi\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n}\n"
      "complete -F _rbd_addons rbd-addons\n");
  return script;
}

std::string ZshCompletion(const Commands& commands) {
  const Values values = ValuesOf(commands);
  std::string script = absl::StrCat(
      "#compdef rbd-addons\n"
      "# Completion of rbd-addons for zsh, made by `rbd-addons completion "
      "zsh`.\n\n_rbd-addons() {\n"
      "  local at='' known='' i\n  local -a found options\n"
      "  for ((i = 2; i < CURRENT; i++)); do\n"
      "    case \"$at ${words[i]}\" in\n      (",
      Paths(commands, Quote, "|"), ") at+=\" ${words[i]}\" ;;\n",
      "    esac\n  done\n  case ${words[CURRENT-1]} in\n    (",
      absl::StrJoin(values.files, "|"), ") _files; return ;;\n");
  for (const auto& [name, choices] : values.choices) {
    absl::StrAppend(&script, "    (", name, ") compadd -- ",
                    absl::StrJoin(choices, " "), "; return ;;\n");
  }
  for (const auto& [name, kind] : values.known) {
    absl::StrAppend(&script, "    (", name, ") compadd ",
                    kind == kKnownParameters ? "-S '' " : "", "-- ${(f)\"$(",
                    kAskZsh, kind, ")\"}; return ;;\n");
  }
  absl::StrAppend(&script, "    (", absl::StrJoin(values.others, "|"),
                  ") _message value; return ;;\n  esac\n  case $at in\n");
  for (const CommandText& command : commands) {
    absl::StrAppend(&script, "    (", Quote(command.path), ")\n      known='",
                    KnownOf(command), "'\n      found=(\n");
    for (const std::string& word : WordsOf(command)) {
      absl::StrAppend(
          &script, "        ",
          Described(word, TextOf(commands, command.path + " " + word)), "\n");
    }
    absl::StrAppend(&script, "      )\n      options=(\n");
    for (const OptionText& option : command.options) {
      if (option.argument) continue;
      for (const std::string& name : option.names) {
        absl::StrAppend(&script, "        ", Described(name, option.text),
                        "\n");
      }
    }
    absl::StrAppend(&script, "      )\n      ;;\n");
  }
  absl::StrAppend(
      &script,
      "  esac\n  if [[ ${words[CURRENT]} == -* ]]; then\n"
      "    _describe option options\n  else\n"
      "    _describe command found\n    if [[ -n $known ]]; then\n"
      "      compadd -- ${(f)\"$(",
      kAskZsh,
      "$known)\"}\n    fi\n  fi\n}\n\n"
      "if [[ ${funcstack[1]} == _rbd-addons ]]; then\n"
      "  _rbd-addons \"$@\"\nelse\n  compdef _rbd-addons rbd-addons\nfi\n");
  return script;
}

std::string FishCompletion(const Commands& commands) {
  std::string script = absl::StrCat(
      "# Completion of rbd-addons for fish, made by `rbd-addons completion "
      "fish`.\n\nfunction __rbd_addons_at\n  set -l at ''\n"
      "  set -l tokens (commandline -opc)\n  set -e tokens[1]\n"
      "  for word in $tokens\n    switch \"$at $word\"\n      case ",
      Paths(commands, QuoteForFish, " "),
      "\n        set at \"$at $word\"\n    end\n  end\n"
      "  test \"$at\" = \"$argv[1]\"\nend\n\ncomplete -c rbd-addons -f\n");
  for (const CommandText& command : commands) {
    const std::string here = absl::StrCat(
        "complete -c rbd-addons -n ",
        QuoteForFish(absl::StrCat("__rbd_addons_at \"", command.path, "\"")));
    for (const std::string& word : WordsOf(command)) {
      const std::string text = TextOf(commands, command.path + " " + word);
      absl::StrAppend(&script, here, " -a ", word,
                      text.empty() ? "" : " -d " + QuoteForFish(text), "\n");
    }
    if (const std::string kind = KnownOf(command); !kind.empty()) {
      absl::StrAppend(&script, here, " -a ", AskFish(kind), "\n");
    }
    for (const OptionText& option : command.options) {
      if (!option.argument) {
        absl::StrAppend(&script, here, FishOption(option), "\n");
      }
    }
  }
  return script;
}

}  // namespace addons
