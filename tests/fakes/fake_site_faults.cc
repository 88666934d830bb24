// What goes wrong at a site: daemons, managers and clusters that are down,
// clocks, and what an administrator puts on the blocklist.

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/fakes/fake_site.h"
#include "tests/fakes/fake_world.h"

namespace addons {

void FakeSite::SetClusterUp(bool up) {
  MutexLock lock(world_.mutex_);
  if (up && !site_.up) {
    site_.daemon.ready_at = world_.model_.now() + model::kDaemonStart;
    site_.daemon.next_report = site_.daemon.ready_at;
  }
  site_.up = up;
}

void FakeSite::SetMgrUp(bool up) {
  MutexLock lock(world_.mutex_);
  site_.mgr_up = up;
}

void FakeSite::SetMgrModuleReady(bool ready) {
  MutexLock lock(world_.mutex_);
  site_.mgr_ready = ready;
}

void FakeSite::SetMgrHasModule(bool has) {
  const MutexLock lock(world_.mutex_);
  site_.mgr_has_module = has;
}

void FakeSite::SetMirrorDaemon(DaemonState state) {
  MutexLock lock(world_.mutex_);
  world_.model_.SetDaemon(site_, state);
}

void FakeSite::ReconnectMirrorDaemon() {
  MutexLock lock(world_.mutex_);
  site_.daemon.blocklisted_until = site_.daemon.ready_at = {};
  site_.daemon.local_instance = world_.model_.NewClientId();
  site_.daemon.seen_locally = world_.model_.now();
}

void FakeSite::SetCopySpeed(double objects_per_second) {
  MutexLock lock(world_.mutex_);
  site_.daemon.objects_per_second = objects_per_second;
  for (auto& [global_id, replayer] : site_.daemon.replayers)
    replayer.budget = 0;
}

void FakeSite::SetNoticeDelay(SteadyDuration delay) {
  const MutexLock lock(world_.mutex_);
  site_.daemon.notice_delay = delay;
}

void FakeSite::SetFull(bool full) {
  const MutexLock lock(world_.mutex_);
  for (auto& [id, pool] : site_.pools) {
    for (auto& [name, space] : pool.namespaces) space.full = full;
  }
}

void FakeSite::SetOsdRelease(const std::string& release) {
  const MutexLock lock(world_.mutex_);
  site_.osd_release = release;
}

void FakeSite::SetPoolRoom(uint64_t bytes) {
  const MutexLock lock(world_.mutex_);
  site_.pool_room = bytes;
}

void FakeSite::SetManagerOf21(bool is_so) {
  MutexLock lock(world_.mutex_);
  site_.manager_of_21 = is_so;
  // As the module reads what the other one has kept.
  for (auto& [level, schedule] : site_.schedules) {
    std::set<std::pair<int64_t, std::string>> items;
    for (const auto& [minutes, start] : schedule.items) {
      const bool dated = absl::StrContains(start, "T");
      items.emplace(minutes, start.empty() || dated == is_so ? start
                             : is_so ? absl::StrCat("1970-01-01T", start)
                                     : start.substr(start.find('T') + 1));
    }
    schedule.items = std::move(items);
  }
}

void FakeSite::SetResyncAbsence(SteadyDuration duration) {
  MutexLock lock(world_.mutex_);
  site_.daemon.absence_on_resync = duration;
}

void FakeSite::SetClockSkew(std::chrono::seconds skew) {
  MutexLock lock(world_.mutex_);
  site_.clock_skew = skew;
}

void FakeSite::BlocklistClients() {
  MutexLock lock(world_.mutex_);
  for (const auto& connection : world_.connections_) {
    if (connection->site != site_.name || connection->blocklisted) continue;
    connection->blocklisted = true;
    site_.blocklist[connection->client.address] =
        world_.model_.wall() + site_.clock_skew + std::chrono::hours(1);
    for (auto& [pool_id, pool] : site_.pools) {
      for (auto& [space_name, space] : pool.namespaces) {
        for (auto& [name, image] : space.images) {
          std::erase_if(image->watches, [&](const model::Watch& watch) {
            return watch.watcher.client_id == connection->client.id;
          });
        }
      }
    }
  }
}

void FakeSite::SetNeedlessOpenBlocklists(bool on) {
  MutexLock lock(world_.mutex_);
  site_.needless_open_blocklists = on;
}

void FakeSite::SetTransientLocks(bool on) {
  MutexLock lock(world_.mutex_);
  site_.transient_locks = on;
}

void FakeSite::SetKey(const std::string& key) {
  MutexLock lock(world_.mutex_);
  site_.key = key;
}

void FakeSite::SetService(const std::string& name, const std::string& address,
                          bool alive) {
  MutexLock lock(world_.mutex_);
  for (auto& service : site_.services) {
    if (service.name != name) continue;
    service = {name, address, alive};
    return;
  }
  site_.services.push_back({name, address, alive});
}

void FakeSite::SetRangeBlocklists(bool on) {
  MutexLock lock(world_.mutex_);
  site_.range_blocklists = on;
}

void FakeSite::SetBlocklistListing(BlocklistListing listing) {
  MutexLock lock(world_.mutex_);
  site_.blocklist_listing = listing;
}

std::map<std::string, WallTime> FakeSite::Blocklist() const {
  MutexLock lock(world_.mutex_);
  std::map<std::string, WallTime> entries = site_.blocklist;
  for (const auto& [key, until] : site_.range_blocklist) {
    entries[absl::StrCat("range ", key)] = until;
  }
  return entries;
}

void FakeSite::ForgetOldMaps() {
  MutexLock lock(world_.mutex_);
  site_.old_maps.clear();
}

void FakeSite::ClearBlocklist() {
  MutexLock lock(world_.mutex_);
  site_.blocklist.clear();
  site_.range_blocklist.clear();
}

void FakeSite::AddBlocklistEntry(const std::string& key,
                                 SteadyDuration expire) {
  MutexLock lock(world_.mutex_);
  site_.BeginMap(world_.model_.wall() + site_.clock_skew);
  site_.blocklist[key] = site_.map_modified +
                         std::chrono::duration_cast<WallTime::duration>(expire);
}

void FakeSite::AddRangeBlocklistEntry(const std::string& key,
                                      SteadyDuration expire) {
  MutexLock lock(world_.mutex_);
  site_.BeginMap(world_.model_.wall() + site_.clock_skew);
  site_.range_blocklist[key] =
      site_.map_modified +
      std::chrono::duration_cast<WallTime::duration>(expire);
}

}  // namespace addons
