// The command line program rbd-addons.

#include <iostream>
#include <string>
#include <vector>

#include "cli/commands.h"

int main(int argc, char** argv) {
  return addons::RunCli(std::vector<std::string>(argv, argv + argc), std::cin,
                        std::cout, std::cerr);
}
