#include "tests/chaos/sites_network.h"

#include <sched.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tests/cluster/privileges.h"

namespace addons::testing {
namespace {

bool Succeeds(const std::string& command) {
  return std::system(command.c_str()) == 0;  // NOLINT(concurrency-mt-unsafe)
}

/// With a rule, packets are dropped where they leave: a sender that waits for
/// an answer is told nothing, as on a link that is cut.
bool ChangeRule(const std::string& what, const std::string& from,
                const std::string& to) {
  return Succeeds(
      absl::StrCat("ip rule ", what, " from ", from, " to ", to, " blackhole"));
}

}  // namespace

std::unique_ptr<SitesNetwork> SitesNetwork::Make() {
  if (!CanMakeNamespaces(CLONE_NEWNS | CLONE_NEWNET) ||
      unshare(CLONE_NEWNET) != 0 || !Succeeds("ip link set lo up")) {
    return nullptr;
  }
  return std::unique_ptr<SitesNetwork>(new SitesNetwork());
}

SitesNetwork::SitesNetwork() : network_(HostNetwork::Family::kIPv4, "true") {
  int number = 0;
  for (Site* site : {&a_, &b_}) {
    ++number;
    site->address = network_.Address(number, 1);
    site->mirror_address = network_.Address(number, 2);
    network_.AddBridgeAddress(site->address);
    site->mirror_host = network_.AddHost(site->mirror_address).back();
  }
}

std::vector<std::string> SitesNetwork::BedFlags() const {
  return {"--address", absl::StrCat(a_.address, " ", b_.address),
          "--mirror-netns", absl::StrCat(a_.mirror_host, " ", b_.mirror_host)};
}

bool SitesNetwork::Cut() {
  return ChangeRule("add", a_.address, b_.mirror_address) &&
         ChangeRule("add", b_.address, a_.mirror_address);
}

bool SitesNetwork::Mend() {
  const bool one = ChangeRule("del", a_.address, b_.mirror_address);
  return ChangeRule("del", b_.address, a_.mirror_address) && one;
}

bool SitesNetwork::SlowDown() {
  bool done = true;
  for (const Site* site : {&a_, &b_}) {
    const std::string& port = site->mirror_host;
    const Site& other = site == &a_ ? b_ : a_;
    done &= Succeeds(
        absl::StrCat("tc qdisc add dev ", port, " root handle 1: htb default 1",
                     " && tc class add dev ", port,
                     " parent 1: classid 1:1 htb rate 1gbit quantum 60000",
                     " && tc class add dev ", port,
                     " parent 1: classid 1:2 htb rate 500kbit quantum 1600",
                     " && tc filter add dev ", port,
                     " parent 1: protocol ip u32 match ip src ", other.address,
                     "/32 flowid 1:2"));
  }
  return done;
}

bool SitesNetwork::SpeedUp() {
  bool done = true;
  for (const Site* site : {&a_, &b_}) {
    done &=
        Succeeds(absl::StrCat("tc qdisc del dev ", site->mirror_host, " root"));
  }
  return done;
}

}  // namespace addons::testing
