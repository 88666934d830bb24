#include "networkfence/auto_unfence.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/image_name.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/blocklist_commands.h"
#include "ceph/ceph_address.h"
#include "ceph/cluster_services.h"
#include "ceph/errors.h"
#include "node/kernel_clients.h"

namespace addons {
namespace {

// One per address and fence of this node.
constexpr size_t kMaxRemembered = 1024;

/// Whether `map` blocks just what `entry` does, until the same moment. INTERNAL
/// when it does not show what it blocks.
absl::StatusOr<bool> Has(const OsdMapView& map, const BlocklistEntry& entry) {
  if (!map.blocklist.has_value()) {
    return absl::InternalError("an old OSD map does not show what it blocks");
  }
  const auto& entries = map.blocklist->entries;
  return std::find(entries.begin(), entries.end(), entry) != entries.end();
}

/// When `entry`, which the map of the epoch `newest` has, came into the map, by
/// the monitors' time. nullopt: the monitors do not keep the map before it any
/// more, or do not count maps. It asks them about twenty times, each within the
/// deadline of a monitor command.
absl::StatusOr<std::optional<absl::Time>> FindBeginning(
    Cluster& cluster, const BlocklistEntry& entry, const OsdMapView& newest) {
  uint64_t without = 0;  // the last map that is known not to have it
  bool seen = false;     // that one was looked at
  uint64_t with = newest.epoch;
  absl::Time begins = newest.modified;
  while (without + 1 < with) {
    const uint64_t middle = without + (with - without) / 2;
    const auto map = ReadOldOsdMap(cluster, middle);
    if (CephErrno(map.status()) == ENOENT) {
      without = middle;
      continue;
    }
    ADDONS_RETURN_IF_ERROR(map.status());
    if (map->epoch != middle) {
      return absl::InternalError(
          "the monitor shows another OSD map than asked");
    }
    ADDONS_ASSIGN_OR_RETURN(const bool has, Has(*map, entry));
    if (has) {
      with = middle;
      begins = map->modified;
    } else {
      without = middle;
      seen = true;
    }
  }
  if (!seen) return std::nullopt;
  return begins;
}

void Record(const FenceEnvironment& environment, const FenceTarget& target,
            const std::vector<BlocklistKey>& keys, const absl::Status& status) {
  if (environment.history == nullptr) return;
  HistoryEvent event;
  event.object = NameOf(target);
  event.verb = "lift the automatic fence of";
  for (const BlocklistKey& key : keys) {
    absl::StrAppend(&event.verb, " ", key.argument);
  }
  event.user = target.user->id;
  environment.history->AddAnswered(std::move(event), status);
}

/// Whether `client` is fenced by `entry`, or may be: an old kernel does not
/// tell its address or its cluster.
bool MayBeFencedBy(const BlocklistEntry& entry, const std::string& fsid,
                   const KernelClient& client) {
  if (!client.fsid.empty() && client.fsid != fsid) return false;
  const auto address = CephAddress::Parse(client.address);
  return !address.has_value() || entry.Range().Contains(address->ip);
}

/// OK: nothing that this node's kernel has mapped was fenced by `entry`.
absl::Status NothingWouldWrite(const LinuxRoots& roots, const std::string& fsid,
                               const BlocklistEntry& entry) {
  ADDONS_ASSIGN_OR_RETURN(const std::vector<KernelClient> clients,
                          ListKernelClients(roots));
  std::vector<std::string> devices;
  for (const KernelClient& client : clients) {
    if (!MayBeFencedBy(entry, fsid, client)) continue;
    devices.push_back(absl::StrCat(
        "/dev/", client.device, " (image ",
        Quoted(RbdSpec(client.pool, client.rados_namespace, client.image)),
        ")"));
  }
  if (devices.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the kernel of this node still has devices mapped, which would write "
      "again without the lock: ",
      absl::StrJoin(devices, ", "),
      "; restart the node, or end their users and unmap them (`rbd device "
      "unmap -o force DEVICE`)"));
}

}  // namespace

std::chrono::seconds AutoUnfence::NotAutomatic(std::chrono::seconds expiry) {
  constexpr std::chrono::seconds kApart = 3 * kExpirySlack;
  const bool looks_automatic =
      expiry > kAutomaticExpiry - kApart && expiry < kAutomaticExpiry + kApart;
  return looks_automatic ? kAutomaticExpiry + kApart : expiry;
}

bool AutoUnfence::MayBeAutomatic(absl::Duration left) {
  return left <= absl::FromChrono(kAutomaticExpiry + kExpirySlack);
}

absl::StatusOr<bool> AutoUnfence::IsDue(Cluster& cluster, const FenceView& view,
                                        const BlocklistEntry& entry,
                                        SteadyTime now) {
  if (!entry.until.has_value()) return false;
  if (!MayBeAutomatic(*entry.until - view.map.modified)) return false;
  ADDONS_ASSIGN_OR_RETURN(const std::optional<absl::Time> begins,
                          FindBeginning(cluster, entry, view.map));
  if (!begins.has_value()) {
    Log().warn(
        "a fence of this node stays: whether ceph-csi made it automatically is "
        "not known, because the monitors keep no OSD map from before it; where "
        "nobody wants it, unfence {} entry={}",
        entry.Range().Text(), entry.key);
    return false;
  }
  const absl::Duration lasts = *entry.until - *begins;
  if (absl::AbsDuration(lasts - absl::FromChrono(kAutomaticExpiry)) >
      absl::FromChrono(kExpirySlack)) {
    return false;
  }
  if (view.map.modified - *begins >= absl::FromChrono(kCoolDown)) return true;
  const MutexLock lock(mutex_);
  if (first_seen_.size() >= kMaxRemembered) first_seen_.clear();
  const auto it =
      first_seen_.try_emplace(absl::StrCat(cluster.fsid(), " ", entry.key, " ",
                                           absl::ToUnixMicros(*entry.until)),
                              now);
  return now - it.first->second >= kCoolDown;
}

absl::Status AutoUnfence::Run(OperationContext& context,
                              FenceEnvironment& environment,
                              const FenceTarget& target,
                              const std::vector<Cidr>& addresses) {
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<Cluster> cluster,
                          ConnectCluster(environment, target));
  ADDONS_ASSIGN_OR_RETURN(
      const RangeTurns::TurnRef turn,
      environment.turns.Await(context, cluster->fsid(), addresses));
  ADDONS_ASSIGN_OR_RETURN(const FenceRounds::View view,
                          environment.rounds.Look(cluster));
  std::vector<BlocklistKey> due;
  for (const Cidr& address : addresses) {
    const BlocklistEntry* const entry = view->list.FindRange(address);
    if (entry == nullptr) continue;
    ADDONS_ASSIGN_OR_RETURN(const bool is_due, IsDue(*cluster, *view, *entry,
                                                     context.clock().Now()));
    if (!is_due) continue;
    const absl::Status safe =
        NothingWouldWrite(environment.options.roots, cluster->fsid(), *entry);
    if (!safe.ok()) {
      Log().warn("the automatic fence of this node stays entry={}: {}",
                 entry->key, Quoted(safe.message()));
      continue;
    }
    due.push_back(KeyOf(*entry));
  }
  if (due.empty()) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  for (const BlocklistKey& key : due) {
    Log().info("lifting the automatic fence of this node cluster={} entry={}",
               Quoted(target.cluster_id.text()), key.argument);
  }
  absl::Status removed = FirstError(RemoveEntries(*cluster, due));
  Record(environment, target, due, removed);
  return removed;
}

}  // namespace addons
