#ifndef ADDONS_CLI_ADOPT_H_
#define ADDONS_CLI_ADOPT_H_

#include <chrono>
#include <string>
#include <vector>

#include "cli/many_rows.h"
#include "cli/secrets.h"
#include "cli/streams.h"
#include "rbdaddons/admin.pb.h"

namespace addons {

/// Which images a person wants to be known on this site.
struct AdoptCommand {
  std::string endpoint;
  std::vector<std::string> images;  // POOL/IMAGE, POOL/NAMESPACE/IMAGE; or
  std::string pool;                 // all mirrored ones of it
  std::string rados_namespace;      // with a pool
  std::string cluster;              // may be empty
  std::string volume_name;          // of one image
  std::string owner;                // likewise
  std::string kms_id;
  std::string encryption_type;
  bool yes = false;  // write; else only the plan is shown
  SecretsSource secrets;
  std::chrono::milliseconds timeout{};
};

/// Shows which entry each image would get, or has it written. Asks once for
/// each pool and namespace. Blocks. Returns the exit code: 0; kWouldNotWork
/// when an image that may be a volume gets no entry; kCliUsage; or the number
/// of the gRPC code.
int RunAdopt(const AdoptCommand& command, Streams& streams);

/// A line for each image, what is in the way first, and the numbers. See
/// SelectRows() for many of one reason.
std::string AdoptText(const ::rbdaddons::admin::v1::AdoptVolumesResponse& found,
                      Listing listing = Listing::kCounted);

}  // namespace addons

#endif  // ADDONS_CLI_ADOPT_H_
