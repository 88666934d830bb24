#ifndef ADDONS_CLI_INFO_TABLE_H_
#define ADDONS_CLI_INFO_TABLE_H_

#include <string>
#include <vector>

#include "cli/replication_verbs.h"
#include "cli/streams.h"
#include "replication/replication.pb.h"

namespace addons {

/// "primary", "secondary", or empty: it does not tell, as of an image that is
/// not there. The contract has no field for it.
std::string RoleIn(const ::replication::GetVolumeReplicationInfoResponse& info);
/// A secondary that follows. The contract's code for it is the one of all
/// secondaries: the operator must not take one for a healthy primary.
bool IsInStep(const ::replication::GetVolumeReplicationInfoResponse& info);

/// `command`, which asks for replication info, for several volumes (or groups)
/// one after the other, and prints a line for each, also for those that cannot
/// be asked about. Blocks. Returns the exit code: 0, kCliUsage, kCliInterrupted
/// or the number of the first gRPC code that is an error.
int RunInfoTable(const ReplicationCommand& command,
                 const std::vector<std::string>& ids, Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_INFO_TABLE_H_
