#ifndef ADDONS_TESTS_CLUSTER_HOST_NETWORK_H_
#define ADDONS_TESTS_CLUSTER_HOST_NETWORK_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace addons::testing {

/// A network inside this machine: a bridge with addresses of its own, and hosts
/// (network namespaces) on it. Needs root. Names and addresses are random, and
/// nobody else's. Everything is taken down when the process ends, however it
/// does: a child waits for that.
class HostNetwork {
 public:
  enum class Family { kIPv4, kIPv6 };

  /// `also` is one more command line of bash for the end, run first.
  HostNetwork(Family family, const std::string& also);
  ~HostNetwork();
  HostNetwork(const HostNetwork&) = delete;
  HostNetwork& operator=(const HostNetwork&) = delete;

  /// The address that is number `host` of network number `network`: 10.x.N.H,
  /// or fd..:N::H. Networks are /24 (/112), all of them together /16 (/48).
  std::string Address(int network, int host) const;
  /// "10.x.N.0/24" or "fd..:N::/112".
  std::string Range(int network) const;
  /// Gives the bridge one more address: where daemons listen.
  void AddBridgeAddress(const std::string& address);
  /// A host with this address; returns what runs a command on it, to be put
  /// before the command.
  std::vector<std::string> AddHost(const std::string& address);

 private:
  std::string Masked(const std::string& address) const;

  const Family family_;
  std::string tag_;   // begins all names
  std::string base_;  // begins all addresses
  int reservation_ = -1;
  int hosts_ = 0;
  int end_pipe_ = -1;
  pid_t cleaner_ = -1;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_HOST_NETWORK_H_
