#ifndef ADDONS_CLI_COMPLETION_H_
#define ADDONS_CLI_COMPLETION_H_

#include <string>
#include <vector>

#include "cli/command_texts.h"

namespace addons {

// Scripts that complete the program's command line. They ask the daemon (the
// verb kKnownVerb) for pools, clusters and volumes; it need not answer.

std::string BashCompletion(const std::vector<CommandText>& commands);
std::string ZshCompletion(const std::vector<CommandText>& commands);
std::string FishCompletion(const std::vector<CommandText>& commands);

}  // namespace addons

#endif  // ADDONS_CLI_COMPLETION_H_
