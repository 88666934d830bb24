#include "cli/confirm.h"

#include <istream>
#include <ostream>

namespace addons {

bool SaysYes(const std::string& loss, const std::string& what,
             Streams& streams) {
  streams.err << loss << what
              << ": type yes to go on, anything else to change nothing: "
              << std::flush;
  std::string answer;
  std::getline(streams.in, answer);
  // What a person types ends with a newline that the terminal shows.
  if (!streams.in_is_terminal) streams.err << "\n";
  if (answer == "yes") return true;
  streams.err << "nothing was changed (--yes answers beforehand)\n";
  return false;
}

bool Confirmed(bool yes, const std::string& loss, const std::string& what,
               Streams& streams) {
  return yes || SaysYes(loss + "\n", what, streams);
}

}  // namespace addons
