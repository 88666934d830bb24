#ifndef ADDONS_CLI_EXIT_CODES_H_
#define ADDONS_CLI_EXIT_CODES_H_

#include <array>

namespace addons {

struct ExitCode {
  const char* code;
  const char* meaning;
};

/// What the program ends with, as --help and the manual page say it.
inline constexpr std::array<ExitCode, 5> kExitCodes = {{
    {"0", "done, or in order"},
    {"1 to 16",
     "the number of the gRPC code that the call ended with; 14: the daemon "
     "does not answer or is starting, or what was asked needs more time"},
    {"9",
     "one of them: something is in the way of the call; also a check that was "
     "made and found that something is not in order, or would not work"},
    {"64", "wrong use, or nothing was changed because nobody said yes"},
    {"130", "interrupted with Ctrl-C"},
}};

}  // namespace addons

#endif  // ADDONS_CLI_EXIT_CODES_H_
