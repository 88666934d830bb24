#ifndef ADDONS_CLI_VERB_HELP_H_
#define ADDONS_CLI_VERB_HELP_H_

#include <CLI/CLI.hpp>

namespace addons {

/// Gives each verb below `app`, which has all of them, a help that fits on a
/// screen: a line for each of its own options, the names of those that many
/// verbs have, and examples. What those options mean stands in that of `app`.
void LayOutHelp(CLI::App& app);

}  // namespace addons

#endif  // ADDONS_CLI_VERB_HELP_H_
