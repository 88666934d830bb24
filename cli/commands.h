#ifndef ADDONS_CLI_COMMANDS_H_
#define ADDONS_CLI_COMMANDS_H_

#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "cli/streams.h"

namespace addons {

class Program;

/// All that the program can do.
void AddAllVerbs(Program& program);

/// The program `rbd-addons`. The first argument is its name. Returns its exit
/// code.
int RunCli(const std::vector<std::string>& arguments, std::istream& in,
           std::ostream& out, std::ostream& err);

}  // namespace addons

#endif  // ADDONS_CLI_COMMANDS_H_
