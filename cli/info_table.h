#ifndef ADDONS_CLI_INFO_TABLE_H_
#define ADDONS_CLI_INFO_TABLE_H_

#include <string>
#include <vector>

#include "cli/replication_verbs.h"
#include "cli/streams.h"

namespace addons {

/// `command`, which asks for replication info, for several volumes (or groups)
/// one after the other, and prints a line for each, also for those that cannot
/// be asked about. Blocks. Returns the exit code: 0, kCliUsage, kCliInterrupted
/// or the number of the first gRPC code that is an error.
int RunInfoTable(const ReplicationCommand& command,
                 const std::vector<std::string>& ids, Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_INFO_TABLE_H_
