#ifndef ADDONS_CLI_MANUAL_H_
#define ADDONS_CLI_MANUAL_H_

#include <string>
#include <vector>

#include "cli/command_texts.h"

namespace addons {

/// The manual page of the program, for man(1).
std::string ManualPage(const std::vector<CommandText>& commands,
                       const std::string& version);

}  // namespace addons

#endif  // ADDONS_CLI_MANUAL_H_
