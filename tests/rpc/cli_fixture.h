#ifndef ADDONS_TESTS_RPC_CLI_FIXTURE_H_
#define ADDONS_TESTS_RPC_CLI_FIXTURE_H_

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "tests/rpc/replication_server.h"
#include "tests/testing/cli_sockets.h"

namespace addons::testing {

/// The command line through the socket, on simulated clusters.
class CliVerbTest : public ::testing::Test {
 protected:
  explicit CliVerbTest(const std::string& site = "a", const Config& config = {})
      : server_(site, config) {}

  int Run(std::vector<std::string> arguments, const std::string& typed = "") {
    const FakeSite& site = server_.site();
    dir_.Write(
        "secrets.json",
        absl::StrCat(R"({"userID": ")", site.user()->id, R"(", "userKey": ")",
                     site.user()->key.Reveal(), R"("})"));
    const std::vector<std::string> sockets = SocketArguments(
        arguments.front(), server_.endpoint(), server_.admin_endpoint());
    arguments.insert(arguments.begin(), "rbd-addons");
    arguments.insert(arguments.end(), sockets.begin(), sockets.end());
    arguments.insert(arguments.end(),
                     {"--secrets-file", dir_.File("secrets.json")});
    std::istringstream in(typed);
    out_.str("");
    err_.str("");
    return RunCli(arguments, in, out_, err_);
  }
  int Calls(const std::string& call) {
    return server_.world.CountCalls(server_.site().name(), call);
  }

  const TempDir dir_;
  ReplicationServer server_;
  std::ostringstream out_;
  std::ostringstream err_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_RPC_CLI_FIXTURE_H_
