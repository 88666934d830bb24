#include "networkfence/find_services.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/run_bounded.h"
#include "base/status_macros.h"
#include "ceph/ceph_address.h"
#include "ceph/mirror_clients.h"
#include "ceph/pool.h"

namespace addons {
namespace {

LiveService ServiceAt(std::string name, absl::string_view addresses) {
  LiveService service{std::move(name), {}};
  for (const CephAddress& address : ParseCephAddresses(addresses)) {
    service.addresses.push_back(address.ip);
  }
  return service;
}

/// rbd-mirror watches an object of each pool that it copies from or to, in the
/// pool's default namespace also when it is one of the others that it copies.
void FindMirrors(BoundedThreads& threads,
                 const std::shared_ptr<Cluster>& cluster,
                 const std::vector<RbdPool>& pools,
                 std::chrono::milliseconds patience, ServicesFound* found) {
  std::vector<std::function<absl::Status()>> jobs;
  std::vector<std::shared_ptr<std::vector<Watcher>>> clients;
  for (const RbdPool& pool : pools) {
    clients.push_back(std::make_shared<std::vector<Watcher>>());
    jobs.push_back([cluster, id = pool.id, watchers = clients.back()]() {
      ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> opened,
                              cluster->OpenPool(id, "", Access::kRead));
      ADDONS_ASSIGN_OR_RETURN(*watchers, ListMirrorClients(*opened));
      return absl::OkStatus();
    });
  }
  // Not the threads of the barrier: those may all hang on a dead OSD.
  const auto results =
      RunBounded(threads, absl::StrCat("services ", cluster->fsid()),
                 std::move(jobs), patience);
  for (size_t i = 0; i < pools.size(); ++i) {
    if (!results[i].has_value() || !results[i]->ok()) {
      found->unknown.push_back(
          absl::StrCat("clients of rbd-mirror in pool '", pools[i].name, "': ",
                       results[i].has_value() ? results[i]->message()
                                              : "no answer in time"));
      continue;
    }
    for (const Watcher& watcher : *clients[i]) {
      found->alive.push_back(
          ServiceAt(absl::StrCat("rbd-mirror client.", watcher.client_id),
                    watcher.address));
    }
  }
}

}  // namespace

absl::StatusOr<ServicesFound> FindMonitors(Cluster& cluster) {
  ServicesFound found;
  ADDONS_ASSIGN_OR_RETURN(found.alive, ReadQuorum(cluster));
  if (auto managers = ReadManager(cluster); managers.ok()) {
    std::move(managers->begin(), managers->end(),
              std::back_inserter(found.alive));
  } else {
    found.unknown.push_back(
        absl::StrCat("manager: ", managers.status().message()));
  }
  return found;
}

ServicesFound FindServices(BoundedThreads& threads,
                           const std::shared_ptr<Cluster>& cluster,
                           const OsdMapView& map, ServicesFound monitors,
                           std::chrono::milliseconds patience) {
  ServicesFound found = std::move(monitors);
  found.alive.insert(found.alive.begin(), map.osds.begin(), map.osds.end());
  for (const std::string& own : cluster->OwnAddresses()) {
    found.alive.push_back(ServiceAt("this daemon", own));
  }
  FindMirrors(threads, cluster, map.pools, patience, &found);
  return found;
}

std::vector<std::string> Covered(const ServicesFound& services,
                                 const std::vector<Cidr>& ranges) {
  std::vector<std::string> covered;
  for (const LiveService& service : services.alive) {
    for (const IpAddress& address : service.addresses) {
      const bool hit = std::any_of(
          ranges.begin(), ranges.end(),
          [&](const Cidr& range) { return range.Contains(address); });
      if (!hit) continue;
      std::string text = absl::StrCat(service.name, " at ", address.Text());
      // Clients of rbd-mirror are found once in each pool.
      if (std::find(covered.begin(), covered.end(), text) == covered.end()) {
        covered.push_back(std::move(text));
      }
    }
  }
  return covered;
}

}  // namespace addons
