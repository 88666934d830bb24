#ifndef ADDONS_TESTS_CHAOS_SITES_NETWORK_H_
#define ADDONS_TESTS_CHAOS_SITES_NETWORK_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/cluster/host_network.h"

namespace addons::testing {

/// A network of this process's own, in which each site has an address, and its
/// rbd-mirror a host beside it. Only these talk to the other site, so what
/// passes between the sites can be cut off or slowed down, and nothing else.
///
///              bridge: mon, mgr, OSD of a at .1.1, of b at .2.1, the test
///                |                    |
///   host .1.2: rbd-mirror of a    host .2.2: rbd-mirror of b
class SitesNetwork {
 public:
  /// Null where this process may not make networks (it takes root). Moves the
  /// calling thread, and all that it starts from now on, to the new network: to
  /// be called before main().
  static std::unique_ptr<SitesNetwork> Make();

  /// What `testbed up` must be told.
  std::vector<std::string> BedFlags() const;

  /// A cut link drops packets without a word in both directions. Each returns
  /// false when the system refused.
  bool Cut();
  bool Mend();
  /// At 0.5 Mbit/s what the rbd-mirror of a site reads there crawls.
  bool SlowDown();
  bool SpeedUp();

  /// A further host, number `host` of network 3; returns what runs a command on
  /// it, to be put before the command.
  std::vector<std::string> AddHost(int host) {
    return network_.AddHost(HostAddress(host));
  }
  std::string HostAddress(int host) const { return network_.Address(3, host); }

 private:
  struct Site {
    std::string address;
    std::string mirror_address;
    std::string mirror_host;  // its namespace, and its port of the bridge
  };

  SitesNetwork();

  HostNetwork network_;
  Site a_;
  Site b_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CHAOS_SITES_NETWORK_H_
