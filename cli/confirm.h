#ifndef ADDONS_CLI_CONFIRM_H_
#define ADDONS_CLI_CONFIRM_H_

#include <string>

#include "cli/streams.h"

namespace addons {

/// Asks a person, who sees the lines `loss` and, in the same line as the
/// question, `what` it is about. Only "yes" is a yes; after anything else it
/// says that nothing was changed. Blocks until a line was typed, or the input
/// has ended.
bool SaysYes(const std::string& loss, const std::string& what,
             Streams& streams);

/// Whether a change may be made: `yes` was said beforehand, or SaysYes(). The
/// line `loss` says what the change costs.
bool Confirmed(bool yes, const std::string& loss, const std::string& what,
               Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_CONFIRM_H_
