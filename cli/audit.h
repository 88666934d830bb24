#ifndef ADDONS_CLI_AUDIT_H_
#define ADDONS_CLI_AUDIT_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/many_rows.h"
#include "cli/secrets.h"
#include "cli/streams.h"
#include "rbdaddons/admin.pb.h"

namespace addons {

/// What can be looked at, as the command line calls it, and all of it.
inline constexpr char kAuditAll[] = "all";
std::vector<std::string> AuditKinds();

/// What a person asks about a pool.
struct AuditCommand {
  std::string endpoint;
  std::string kind = kAuditAll;  // one of AuditKinds()
  std::string pool;
  std::string cluster;                 // may be empty
  uint32_t fence_ends_within = 86400;  // seconds
  bool repair = false;                 // what the daemon may repair of it
  bool yes = false;                    // do not ask before
  SecretsSource secrets;
  std::chrono::milliseconds timeout{};
};

/// Asks, and prints what was found. To repair it shows on the error stream what
/// was found and what the daemon would do about it, asks a person, has it done
/// and prints what came of each. Blocks. Returns the exit code: 0;
/// kWouldNotWork when a repair failed; kCliUsage, also when nobody said yes; or
/// the number of the gRPC code.
int RunAudit(const AuditCommand& command, Streams& streams);

/// `kind` is one of AuditKinds().
void SetAuditKind(const std::string& kind,
                  ::rbdaddons::admin::v1::AuditPoolRequest* request);

/// What was found, a paragraph for each, or a line that nothing was. See
/// SelectRows() for many of one reason.
std::string AuditText(const ::rbdaddons::admin::v1::AuditPoolRequest& request,
                      const ::rbdaddons::admin::v1::AuditPoolResponse& found,
                      Listing listing = Listing::kCounted);

/// What came of repairs, a line for each, likewise.
std::string RepairsText(const ::rbdaddons::admin::v1::RepairPoolResponse& done,
                        Listing listing = Listing::kCounted);

}  // namespace addons

#endif  // ADDONS_CLI_AUDIT_H_
