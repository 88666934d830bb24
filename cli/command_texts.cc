#include "cli/command_texts.h"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/known_values.h"

namespace addons {
namespace {

/// "TEXT:{text,json,yaml}" has three.
std::vector<std::string> ChoicesIn(const std::string& type) {
  const size_t begin = type.find('{');
  const size_t end = type.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  return absl::StrSplit(type.substr(begin + 1, end - begin - 1), ',');
}

bool IsFile(const std::string& name) {
  return absl::EndsWith(name, "-file") || name == "--keyring" ||
         name == "--path";
}

/// Of KnownKinds(); empty: of none.
std::string KnownOf(const OptionText& option) {
  const std::string& name = option.names.front();
  if (name == "--pool" || (option.argument && name == "pool")) {
    return kKnownPools;
  }
  if (name == "--cluster") return kKnownClusters;
  if (name == "--parameter") return kKnownParameters;
  const bool volume =
      option.argument && absl::StrContains(option.text, "PersistentVolume");
  return volume ? kKnownVolumes : "";
}

OptionText TextOf(const CLI::Option& option) {
  OptionText text;
  text.text = option.get_description();
  text.required = option.get_required();
  text.choices = ChoicesIn(option.get_type_name());
  for (const std::string& name : option.get_lnames()) {
    text.names.push_back(absl::StrCat("--", name));
  }
  for (const std::string& name : option.get_snames()) {
    text.names.push_back(absl::StrCat("-", name));
  }
  text.argument = text.names.empty();
  if (text.argument) {
    text.names.push_back(option.get_name());
  } else {
    text.takes_value = option.get_items_expected_max() != 0;
    text.is_file = IsFile(text.names.front());
  }
  text.known = KnownOf(text);
  return text;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the subcommands
void Append(const CLI::App& app, const std::string& path,
            std::vector<CommandText>* texts) {
  CommandText text{path, app.get_description(), {}, {}};
  for (const CLI::Option* const option : app.get_options()) {
    // Those without a group are hidden.
    if (!option->get_group().empty()) text.options.push_back(TextOf(*option));
  }
  const std::vector<const CLI::App*> subs =
      app.get_subcommands([](const CLI::App* sub) {
        return !sub->get_group().empty();  // hidden
      });
  for (const CLI::App* const sub : subs) {
    text.subcommands.push_back(sub->get_name());
  }
  texts->push_back(std::move(text));
  for (const CLI::App* const sub : subs) {
    Append(*sub, absl::StrCat(path, " ", sub->get_name()), texts);
  }
}

}  // namespace

std::vector<CommandText> CommandTexts(const CLI::App& app) {
  std::vector<CommandText> texts;
  Append(app, "", &texts);
  return texts;
}

}  // namespace addons
