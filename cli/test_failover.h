#ifndef ADDONS_CLI_TEST_FAILOVER_H_
#define ADDONS_CLI_TEST_FAILOVER_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/secrets.h"
#include "cli/streams.h"
#include "rbdaddons/admin.pb.h"

namespace addons {

enum class TestVerb { kStart, kList, kStop, kManifest };

/// A person tries an application with a point of its volumes, on the site that
/// would take over.
struct TestCommand {
  TestVerb verb = TestVerb::kStart;
  std::string endpoint;               // of administrators
  std::vector<std::string> ids;       // of the volumes
  std::string point;                  // of a start; empty: the newest
  uint64_t mebibytes_per_second = 0;  // 0: as fast as it goes
  std::string cluster;                // of a list; empty: all of the site
  // Of the manifest.
  std::string space;    // the namespace of the claim
  std::string claim;    // its name; empty: that of the volume
  std::string secret;   // "namespace/name" of the driver's node stage
  std::string fs_type;  // empty: what the driver takes by itself
  bool block = false;   // a device in place of a filesystem
  SecretsSource secrets;
  std::chrono::milliseconds timeout{};  // for each call
};

/// Does it, with progress on the error stream. Several volumes are done one
/// after the other, also where one of them fails. Blocks, for hours maybe.
/// Returns the exit code: 0, kWouldNotWork where the list is not all,
/// kCliUsage, kCliInterrupted or the number of the gRPC code of the first that
/// failed.
int RunTestFailover(const TestCommand& command, Streams& streams);

/// A PersistentVolume and the claim for it, as YAML for `kubectl apply`.
std::string TestManifest(const ::rbdaddons::admin::v1::TestFailover& test,
                         const TestCommand& command);

}  // namespace addons

#endif  // ADDONS_CLI_TEST_FAILOVER_H_
