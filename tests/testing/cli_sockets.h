#ifndef ADDONS_TESTS_TESTING_CLI_SOCKETS_H_
#define ADDONS_TESTS_TESTING_CLI_SOCKETS_H_

#include <set>
#include <string>
#include <vector>

namespace addons::testing {

/// The options with which `rbd-addons VERB ...` finds a daemon that is not
/// where it is by default.
inline std::vector<std::string> SocketArguments(
    const std::string& verb, const std::string& endpoint,
    const std::string& admin_endpoint) {
  static const std::set<std::string> kAdmin = {
      "adopt",      "audit",  "cancel",  "check-failover", "doctor",
      "explain",    "gather", "history", "list",           "ls",
      "operations", "pause",  "point",   "rescue",         "resume",
      "status",     "sync",   "test",    "verify"};
  static const std::set<std::string> kBoth = {
      "call",  "demote", "disable", "destination", "enable",
      "fence", "info",   "promote", "reclaim",     "resync",
      "site",  "trim",   "unfence", "rotate-key"};
  std::vector<std::string> arguments;
  if (kAdmin.count(verb) == 0) arguments = {"--endpoint", endpoint};
  if (kAdmin.count(verb) + kBoth.count(verb) > 0) {
    arguments.insert(arguments.end(), {"--admin-endpoint", admin_endpoint});
  }
  return arguments;
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_CLI_SOCKETS_H_
