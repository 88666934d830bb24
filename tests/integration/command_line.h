#ifndef ADDONS_TESTS_INTEGRATION_COMMAND_LINE_H_
#define ADDONS_TESTS_INTEGRATION_COMMAND_LINE_H_

#include <google/protobuf/util/json_util.h>

#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "rbdaddons/admin.pb.h"
#include "tests/cluster/daemon_process.h"
#include "tests/testing/cli_sockets.h"

namespace addons::testing {

struct CliResult {
  int code = 0;
  std::string out;
  std::string err;
};

/// `rbd-addons` with the daemon's sockets.
inline CliResult RbdAddons(const DaemonProcess& daemon,
                           std::vector<std::string> arguments) {
  const std::vector<std::string> sockets =
      SocketArguments(arguments.front(), "unix://" + daemon.socket(),
                      "unix://" + daemon.admin_socket());
  arguments.insert(arguments.begin(), "rbd-addons");
  arguments.insert(arguments.end(), sockets.begin(), sockets.end());
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  const int code = RunCli(arguments, in, out, err);
  return {code, out.str(), err.str()};
}

/// The same with a file of secrets; printed, as docs quote it.
inline CliResult ShownRbdAddons(const DaemonProcess& daemon,
                                std::vector<std::string> arguments,
                                const std::string& secrets_file) {
  const std::string verb = arguments.front();
  arguments.insert(arguments.end(), {"--secrets-file", secrets_file});
  CliResult result = RbdAddons(daemon, std::move(arguments));
  std::cout << "--- " << verb << ": " << result.code << "\n"
            << result.err << result.out;
  return result;
}

/// What `rbd-addons operations --json` lists; empty when it fails.
inline std::vector<::rbdaddons::admin::v1::Operation> ListedOperations(
    const DaemonProcess& daemon) {
  const CliResult result = RbdAddons(daemon, {"operations", "--json"});
  ::rbdaddons::admin::v1::ListOperationsResponse list;
  if (result.code != 0 ||
      !google::protobuf::util::JsonStringToMessage(result.out, &list).ok()) {
    return {};
  }
  return {list.operations().begin(), list.operations().end()};
}

/// `rbd-addons cancel ID --yes`.
inline CliResult CancelOperation(const DaemonProcess& daemon, uint64_t id) {
  return RbdAddons(daemon, {"cancel", absl::StrCat(id), "--yes"});
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_INTEGRATION_COMMAND_LINE_H_
