#include "networkfence/preflight.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/run_bounded.h"
#include "base/status_macros.h"
#include "ceph/ceph_address.h"
#include "ceph/mirror_clients.h"
#include "ceph/pool.h"

namespace addons {
namespace {

/// Adds what of `service` lies within `ranges`.
void Note(const LiveService& service, const std::vector<Cidr>& ranges,
          Preflight* found) {
  for (const IpAddress& address : service.addresses) {
    const bool hit =
        std::any_of(ranges.begin(), ranges.end(),
                    [&](const Cidr& range) { return range.Contains(address); });
    if (!hit) continue;
    std::string text = absl::StrCat(service.name, " at ", address.Text());
    if (std::find(found->alive.begin(), found->alive.end(), text) ==
        found->alive.end()) {
      found->alive.push_back(std::move(text));
    }
  }
}

LiveService ServiceAt(std::string name, absl::string_view addresses) {
  LiveService service{std::move(name), {}};
  for (const CephAddress& address : ParseCephAddresses(addresses)) {
    service.addresses.push_back(address.ip);
  }
  return service;
}

/// rbd-mirror watches an object of each pool that it copies from or to, in the
/// pool's default namespace also when it is one of the others that it copies.
void LookForMirrors(FenceEnvironment& environment,
                    const std::shared_ptr<Cluster>& cluster,
                    const std::vector<RbdPool>& pools,
                    const std::vector<Cidr>& ranges, Preflight* found) {
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
  const auto results = RunBounded(
      environment.threads, absl::StrCat("preflight ", cluster->fsid()),
      std::move(jobs), environment.options.preflight_patience);
  for (size_t i = 0; i < pools.size(); ++i) {
    if (!results[i].has_value() || !results[i]->ok()) {
      found->unknown.push_back(
          absl::StrCat("clients of rbd-mirror in pool '", pools[i].name, "': ",
                       results[i].has_value() ? results[i]->message()
                                              : "no answer in time"));
      continue;
    }
    for (const Watcher& watcher : *clients[i]) {
      Note(ServiceAt(absl::StrCat("rbd-mirror client.", watcher.client_id),
                     watcher.address),
           ranges, found);
    }
  }
}

}  // namespace

absl::StatusOr<Preflight> LookForServices(
    FenceEnvironment& environment, const std::shared_ptr<Cluster>& cluster,
    const OsdMapView& map, const std::vector<Cidr>& ranges) {
  Preflight found;
  for (const LiveService& osd : map.osds) Note(osd, ranges, &found);
  ADDONS_ASSIGN_OR_RETURN(const std::vector<LiveService> monitors,
                          ReadQuorum(*cluster));
  for (const LiveService& monitor : monitors) Note(monitor, ranges, &found);
  const auto managers = ReadManager(*cluster);
  if (!managers.ok()) {
    found.unknown.push_back(
        absl::StrCat("manager: ", managers.status().message()));
  } else {
    for (const LiveService& manager : *managers) Note(manager, ranges, &found);
  }
  for (const std::string& own : cluster->OwnAddresses()) {
    Note(ServiceAt("this daemon", own), ranges, &found);
  }
  LookForMirrors(environment, cluster, map.pools, ranges, &found);
  return found;
}

}  // namespace addons
