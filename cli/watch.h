#ifndef ADDONS_CLI_WATCH_H_
#define ADDONS_CLI_WATCH_H_

#include <chrono>
#include <functional>

#include "cli/streams.h"

namespace addons {

/// Does `run` again and again, with `pause` between, until SIGINT or SIGTERM,
/// whatever it answers: a daemon may come back. A terminal shows the last
/// result alone, else they are printed one after the other, with the time
/// before each text and YAML's --- between documents. Wrong use ends it at
/// once. Blocks. Returns the exit code.
int RunWatched(std::chrono::milliseconds pause,
               const std::function<int(Streams& streams)>& run,
               Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_WATCH_H_
